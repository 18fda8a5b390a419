//! A grant, before and after it is in the ledger.

use crate::ledger::record::ReqTag;
use crate::model::outcome::{GrantView, State};

/// A grant as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    pub seq: u64,
    pub user: &'a [u8],
    pub qty: u64,
    pub state: State,
    /// Unix ms of the grant.
    pub at: u64,
    /// Unix ms until which it was or is held; 0 when it never was.
    pub held_until: u64,
    pub req: Option<ReqTag<'a>>,
    /// The run of the primary that granted it.
    pub epoch: u64,
    /// The round in which it was granted, 0 in a sale without rounds.
    pub round: u64,
}

impl<'a> Grant<'a> {
    /// This grant's request id.
    pub fn req_id(&self) -> Option<&'a [u8]> {
        self.req.map(|req| req.id)
    }

    /// Whether it is a hold whose time is over at `t`.
    pub fn is_due(&self, t: u64) -> bool {
        self.state == State::Held && self.held_until <= t
    }

    /// The grant as replies show it, once the holds that are due at `t` have expired.
    pub fn view_at(&self, t: u64) -> GrantView {
        match self.is_due(t) {
            true => GrantView { state: State::Expired, deadline: 0, ..self.view() },
            false => self.view(),
        }
    }

    /// The grant as replies show it.
    pub fn view(&self) -> GrantView {
        let deadline = if self.state == State::Held { self.held_until } else { 0 };
        GrantView { seq: self.seq, qty: self.qty, state: self.state, deadline }
    }
}

/// A grant to append.
#[derive(Clone, Copy, Debug)]
pub struct NewGrant<'a> {
    pub user: &'a [u8],
    pub req: Option<ReqTag<'a>>,
    pub qty: u64,
    pub state: State,
    pub at: u64,
    pub held_until: u64,
    pub epoch: u64,
}
