//! A plain GRAB in one step.
//!
//! Nearly every winner of a plain sale asks for one unit, has none yet, and nothing stands against
//! it. Deciding, trying and applying such a grant as any change goes costs several times as much as
//! what it comes to, and it is what a rush consists of. So it is judged and made here at once. It
//! must come to the same as [`Sale::decide`] and [`Sale::commit`] do: the tests of the domain
//! compare the two at every GRAB that they make.

use super::effect::{Change, Effect, Granting};
use super::ledger::Found;
use super::limits::GRANTS_MAX;
use super::outcome::{Outcome, Standing};
use super::request::{Amount, Grab, Now};
use super::terms::Terms;
use super::Sale;

/// A grant that was made at once.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// The version that its change followed.
    pub version: u64,
    /// What is left.
    pub available: u64,
    pub grant: Standing,
    elapsed_ms: u64,
    epoch: Option<u64>,
    hold_ms: u64,
}

impl Served {
    /// What the user is told.
    pub fn outcome(&self) -> Outcome {
        Outcome::Granted { grant: self.grant, available: self.available }
    }

    /// The change that it was, for whoever follows the sale.
    pub fn change<'a>(&self, grab: &Grab<'a>) -> Change<'a> {
        let (qty, hold_ms) = (self.grant.qty, self.hold_ms);
        let granting = Granting { user: grab.user, req: None, qty, hold_ms, found: None };
        let effect = Effect::Grant(granting);
        Change { elapsed_ms: self.elapsed_ms, epoch: self.epoch, effect }
    }
}

impl Sale {
    /// Judges the GRAB of a user who was looked up and makes its grant, if that is all there is to
    /// it. `None` when it is not: then nothing has changed.
    #[inline]
    pub fn serve(&mut self, grab: &Grab<'_>, found: Found, now: &Now) -> Option<Served> {
        let (t, is_plain) = (self.time(now), grab.amount == Amount::Unsaid && grab.req.is_none());
        if !is_plain || !found.is_stranger() || !self.is_open_to_all(t) {
            return None;
        }
        let (elapsed_ms, epoch) = self.stamp(now)?;
        let (user, hold_ms, found) = (grab.user, self.terms.hold_ms, Some(found));
        let granting = Granting { user, req: None, qty: 1, hold_ms, found };
        let (state, deadline) = granting.state_at(t);
        let (version, mut core) = (self.core.version, self.core);
        core.begin_at(elapsed_ms, epoch).ok()?;
        core.place(1, state).ok()?;
        core.last_grant_at = core.t;
        if !core.is_lawful() {
            return None;
        }
        self.core = core;
        self.run = now.run;
        self.record(&granting);
        debug_assert_eq!(self.core.grants, self.ledger.len());
        let grant = Standing { seq: core.grants, qty: 1, state, deadline };
        Some(Served { version, available: core.available, grant, elapsed_ms, epoch, hold_ms })
    }

    /// Whether whoever has no grant gets one unit at `t`, and nothing else happens: nobody is let
    /// in or kept out, nothing is drawn, no hold lapses, and some units are left afterwards.
    #[inline]
    fn is_open_to_all(&self, t: u64) -> bool {
        let Terms { open_at, close_at, schedule, draw, outbox, .. } = &self.terms;
        self.core.available > 1
            && self.core.grants < GRANTS_MAX
            && t >= *open_at
            && (t < *close_at || *close_at == 0)
            && !self.ledger.holds().are_due(t)
            && schedule.is_none()
            && draw.is_none()
            && outbox.is_none()
            && self.extras.is_none()
            && self.awaits == 0
            && !self.paused
    }
}
