//! The event, its rounds as promised, and their results.

use redis::Client;
use serde_json::Value;

use crate::amounts::Amounts;
use seckill_crowd::plan::Click;
use seckill_crowd::sale::{Audit, Row};
use seckill_crowd::wire::Reply;

/// Number of rounds.
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

/// A round: the crowd's answers, and the server's data about it.
pub struct Round {
    /// The number of the round, from 1.
    pub number: u64,
    /// Time of the opening in Unix ms of the server.
    pub opened_at: u64,
    pub users: u32,
    pub answers: Vec<(Click, Reply)>,
    /// Number of answers to calls before the opening; they are the first ones.
    pub early: usize,
    /// Clicks that were not sent because the round had ended.
    pub unsent: u64,
    /// Number of reads of STATUS during the rush.
    pub looks: u64,
    pub rows: Vec<Row>,
    pub status: Value,
    /// `[round, supply, sold, winners]`, the newest first.
    pub totals: Vec<[u64; 4]>,
    pub audit: Audit,
}

/// A checked round.
pub struct Played {
    pub number: u64,
    pub users: u32,
    /// The grants in the order of seq.
    pub grants: Vec<Grant>,
}

impl Played {
    /// Sum of paid coins.
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
    /// Coins left after the grant.
    pub available: u64,
    /// Milliseconds since the opening.
    pub after_ms: u64,
}

impl Event<'_> {
    /// The terms that the answers are checked against.
    pub fn terms(&self) -> Terms {
        let lasts_ms = u64::from(self.lasts_ms);
        Terms { budget: self.budget, lasts_ms, amounts: self.amounts }
    }
}
