//! A split sale in memory, with the balancer's own functions (`seckill-balance`).
//!
//! `sim` sells 1,000,000 units at full load and counts the replies to buyers. The other modules
//! search all orders of actions in a small split. Balancers read, send, wait and notify. Messages
//! come late, twice or never. Failovers lose changes, a part is lost and repaired, units are
//! refunded, and a split is created again under its keys.
//!
//! * `part` is a part as the contract describes it.
//! * `state` is the state, `action` the possible actions, `act` their effect.
//! * `laws` must hold in every state, `settled` once no more faults occur.
//! * `search` has the searched settings, and the builds that are broken on purpose.

mod act;
mod action;
mod laws;
mod part;
mod repair;
pub mod search;
mod settled;
pub mod sim;
mod state;

pub const PARTS: usize = 3;

/// All pairs of parts: from and to.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..PARTS).flat_map(|from| (0..PARTS).map(move |to| (from, to)))
}

/// Builds that are broken on purpose, to check that the laws find them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Broken {
    /// RECEIVE adds its total instead of raising the part's total to it.
    ReceiveAdds,
    /// A command for another split is accepted.
    NoSplitId,
    /// RECEIVE is sent before the replica has the SEND.
    NoWait,
    /// A SEND of the current total is not replicated, so WAIT returns at once.
    RepeatLeavesNoTrace,
    /// WAIT is trusted after a SEND that did not do what was requested.
    WaitAfterNothing,
    /// The balancer reads "all is sold" by two commands for each part.
    ReadApart,
    /// ELSEWHERE is accepted from any pass, not only from the current one.
    NoPass,
    /// A lost part is created again with its share.
    LostPartGetsShare,
    /// A lost part is created again command by command, not in one transaction.
    RepairInSteps,
}

/// A setting: the split whose states are searched.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Units of the split.
    pub total: u8,
    /// Most units sent in total.
    pub moves: u8,
    /// Number of balancers, 1 or 2.
    pub balancers: usize,
    /// Number of passes that may report their result.
    pub passes: u8,
    pub refunds: u8,
    /// Number of messages that come late or twice.
    pub late: u8,
    pub failovers: u8,
    /// Number of parts that are lost.
    pub losses: u8,
    /// Number of times that the split is deleted and created again.
    pub renewals: u8,
    pub broken: Option<Broken>,
    /// Units made twice are an error, even in a build that allows it.
    pub strict: bool,
}

/// Only purchases.
const QUIET: Config = Config {
    total: 2,
    moves: 0,
    balancers: 1,
    passes: 0,
    refunds: 0,
    late: 0,
    failovers: 0,
    losses: 0,
    renewals: 0,
    broken: None,
    strict: false,
};

impl Config {
    /// Whether a unit made twice is an error. Without WAIT a failover can make one.
    fn is_strict(&self) -> bool {
        self.strict || !self.is(Broken::NoWait)
    }

    fn is(&self, broken: Broken) -> bool {
        self.broken == Some(broken)
    }
}
