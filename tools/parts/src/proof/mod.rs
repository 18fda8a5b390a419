//! All orders of what can happen to a small split sale: parts of one split, balancers that read,
//! send, wait and tell, messages that come late, twice or never, failovers that lose a tail, a part
//! that is lost and repaired, refunds, and a split that is made again under the same keys.
//!
//! * `part` is a part as the contract describes it.
//! * `state` is everything at one moment, `action` what can happen next, `act` what comes of it.
//! * `laws` says what must hold in every state, `settled` what must hold once it is quiet.
//! * `search` has the settings that are searched, and the builds that are broken on purpose.

mod act;
mod action;
mod laws;
mod part;
mod repair;
pub mod search;
mod settled;
mod state;

/// Parts of the split.
pub const PARTS: usize = 3;

/// Builds that are broken on purpose, to see that the laws find them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Broken {
    /// RECEIVE adds its total instead of raising to it.
    ReceiveAdds,
    /// A command of another split is taken.
    NoSplitId,
    /// RECEIVE is sent before the replica has the SEND.
    NoWait,
    /// A SEND of the present total is not replicated, so WAIT returns at once.
    RepeatLeavesNoTrace,
    /// WAIT is trusted after a SEND that could not do what was asked.
    WaitAfterNothing,
    /// The balancer reads "all is sold" by two commands a part.
    ReadApart,
    /// ELSEWHERE is accepted from any pass, not only from the current one.
    NoPass,
    /// A lost part is made again with its share.
    LostPartGetsShare,
    /// A lost part is made again command by command, not in one transaction.
    RepairInSteps,
}

/// The split whose states are searched.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    pub name: &'static str,
    /// Units of the split.
    pub total: u8,
    /// Units that may be sent in all.
    pub moves: u8,
    /// How many balancers there are, 1 or 2.
    pub balancers: usize,
    /// How often a pass may report its findings.
    pub passes: u8,
    pub refunds: u8,
    /// Messages that come late or a second time.
    pub late: u8,
    pub failovers: u8,
    /// Parts that are lost.
    pub losses: u8,
    /// How often the split is removed and made again.
    pub renewals: u8,
    pub broken: Option<Broken>,
    /// Nothing may be made twice, even though something is broken that lets it happen.
    pub strict: bool,
}

impl Config {
    /// Nothing happens but buying.
    pub const QUIET: Config = Config {
        name: "",
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

    /// Whether a unit made twice is wrong. Without WAIT a failover can make one.
    fn is_strict(&self) -> bool {
        self.strict || !self.is(Broken::NoWait)
    }

    fn is(&self, broken: Broken) -> bool {
        self.broken == Some(broken)
    }
}
