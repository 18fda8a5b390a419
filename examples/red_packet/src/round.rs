//! The event, its rounds as they are promised, and as they were played.

use redis::Client;
use serde_json::Value;

use crate::amounts::Amounts;
use seckill_crowd::plan::Click;
use seckill_crowd::sale::{Audit, Row};
use seckill_crowd::wire::Reply;

/// Rounds that are played.
pub const ROUNDS: u64 = 3;

/// An event and its users.
pub struct Event<'a> {
    pub client: &'a Client,
    pub key: &'a str,
    pub budget: u64,
    pub users: u32,
    pub clients: u32,
    pub every_ms: u32,
    pub lasts_ms: u32,
    pub amounts: Amounts,
}

/// A round: the answers that the crowd got, and the server's views of it.
pub struct Round {
    /// 1 is the first.
    pub number: u64,
    /// When it opened, in Unix ms of the server.
    pub opened_at: u64,
    pub users: u32,
    pub answers: Vec<(Click, Reply)>,
    /// This many of them, the first ones, were asked for before the opening.
    pub early: usize,
    /// Clicks that were never sent because the round was over.
    pub unsent: u64,
    /// How often STATUS was read while the crowd clicked.
    pub looks: u64,
    pub rows: Vec<Row>,
    pub status: Value,
    /// `[round, supply, sold, winners]`, the newest first.
    pub totals: Vec<[u64; 4]>,
    pub audit: Audit,
}

/// A round that is found to be right.
pub struct Played {
    pub number: u64,
    pub users: u32,
    /// In seq order.
    pub grants: Vec<Grant>,
}

impl Played {
    /// All coins of the round.
    pub fn paid(&self) -> u64 {
        self.grants.iter().map(|grant| grant.qty).sum()
    }
}

/// The promises of a round.
#[derive(Clone, Copy)]
pub struct Terms {
    pub budget: u64,
    pub lasts_ms: u64,
    pub amounts: Amounts,
}

/// The coins of one user in a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub seq: u64,
    pub user: u32,
    pub asked: u64,
    pub qty: u64,
    /// The coins left after it.
    pub available: u64,
    /// ms since the round opened.
    pub after_ms: u64,
}

impl Event<'_> {
    /// The terms that the answers are checked against.
    pub fn terms(&self) -> Terms {
        let lasts_ms = u64::from(self.lasts_ms);
        Terms { budget: self.budget, lasts_ms, amounts: self.amounts }
    }
}
