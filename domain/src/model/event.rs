//! What happens, in the order in which it happens: for the outbox and for notifications.

use core::ffi::CStr;

use smallvec::SmallVec;

use crate::model::balances::{Balances, Stock};
use crate::model::outcome::GrantView;

/// Events in order. Most changes have one.
pub type Events = SmallVec<[Event; 1]>;

/// One thing that happens to a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// Which of its plan's changes makes it happen.
    pub change: usize,
    /// The numbers after it.
    pub numbers: Numbers,
    /// The grant that it is about, as it stands after it.
    pub grant: Option<GrantView>,
}

/// The numbers of a sale that an entry of the outbox shows. Those from `supply` on are of an older
/// round, where the event is about a grant of that round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// The run of the primary that made the last change.
    pub epoch: u64,
    /// Numbers the entries of the sale.
    pub rev: u64,
    /// The T of the last change, Unix ms.
    pub t: u64,
    /// The law: `supply = available + held + sold`.
    pub supply: u64,
    /// Units that nobody has.
    pub available: u64,
    /// Units in holds.
    pub held: u64,
    /// Units sold.
    pub sold: u64,
    /// The round, 0 in a sale without rounds.
    pub round: u64,
}

impl Numbers {
    /// Those of a sale that stands at `balances`; with `older`, of a round of it that is over.
    #[inline]
    pub fn of(balances: &Balances, older: Option<&Balances>) -> Numbers {
        let Balances { epoch, rev, t, .. } = *balances;
        let Balances { supply, available, held, sold, round, .. } = *older.unwrap_or(balances);
        Numbers { epoch, rev, t, supply, available, held, sold, round }
    }
}

/// Kinds of events. The order is that of [`EVENTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The sale was created.
    Init,
    /// Units were granted.
    Grant,
    /// A hold was paid.
    Confirm,
    /// An expired grant was sold after all.
    Reclaim,
    /// A late payment was refused for good.
    ReclaimRefused,
    /// A hold was given back.
    Cancel,
    /// A deadline was moved.
    Extend,
    /// A hold ran out.
    Expire,
    /// A sold grant was taken back.
    Refund,
    /// Units were added or withdrawn.
    Restock,
    /// The operator paused the sale.
    Pause,
    /// The operator let it sell again.
    Resume,
    /// Terms of grants to come changed.
    Alter,
    /// A grant that Redis lost was entered again.
    Import,
    /// A new round began.
    Round,
    /// Units were sent to another part of the split.
    Send,
    /// Units were received from another part of the split.
    Receive,
    /// A user joined the waiting list.
    Wait,
    /// Units were offered to the one who waited for them.
    Offer,
    /// A user left the waiting list.
    Leave,
    /// An entry of the waiting list was dropped.
    Dropped,
    /// None available, none held, none at other parts.
    SoldOut,
    /// None available, some held or at other parts.
    AllHeld,
    /// Some available again.
    Available,
}

/// Every kind of event, in the order in which pages list them.
pub const EVENTS: [EventKind; 24] = [
    EventKind::Init,
    EventKind::Grant,
    EventKind::Confirm,
    EventKind::Reclaim,
    EventKind::ReclaimRefused,
    EventKind::Cancel,
    EventKind::Extend,
    EventKind::Expire,
    EventKind::Refund,
    EventKind::Restock,
    EventKind::Pause,
    EventKind::Resume,
    EventKind::Alter,
    EventKind::Import,
    EventKind::Round,
    EventKind::Send,
    EventKind::Receive,
    EventKind::Wait,
    EventKind::Offer,
    EventKind::Leave,
    EventKind::Dropped,
    EventKind::SoldOut,
    EventKind::AllHeld,
    EventKind::Available,
];

impl EventKind {
    /// The word in the outbox.
    pub fn name(self) -> &'static str {
        self.described().0
    }

    /// The keyspace notification; a reclaimed grant is a confirmed one, a refused one has none.
    pub fn notification(self) -> Option<&'static CStr> {
        self.described().1
    }

    /// What happened, in a few words for people.
    pub fn about(self) -> &'static str {
        self.described().2
    }

    /// Word in the outbox, keyspace notification, what happened.
    fn described(self) -> (&'static str, Option<&'static CStr>, &'static str) {
        match self {
            EventKind::Init => ("INIT", Some(c"seckill.init"), "a sale was created"),
            EventKind::Grant => ("GRANT", Some(c"seckill.grant"), "a user got units"),
            EventKind::Confirm => ("CONFIRM", Some(c"seckill.confirm"), "a held grant was paid"),
            EventKind::Reclaim => {
                ("RECLAIM", Some(c"seckill.confirm"), "a grant that had expired was paid late")
            }
            EventKind::ReclaimRefused => {
                ("RECLAIM-REFUSED", None, "a late payment came in vain: give the money back")
            }
            EventKind::Cancel => ("CANCEL", Some(c"seckill.cancel"), "a held grant was given back"),
            EventKind::Extend => ("EXTEND", Some(c"seckill.extend"), "a deadline was moved"),
            EventKind::Expire => {
                ("EXPIRE", Some(c"seckill.expire"), "a held grant was not paid in time")
            }
            EventKind::Refund => ("REFUND", Some(c"seckill.refund"), "a sold grant was given back"),
            EventKind::Restock => {
                ("RESTOCK", Some(c"seckill.restock"), "units were added or withdrawn")
            }
            EventKind::Pause => ("PAUSE", Some(c"seckill.pause"), "the sale was paused"),
            EventKind::Resume => ("RESUME", Some(c"seckill.resume"), "the sale was resumed"),
            EventKind::Alter => ("ALTER", Some(c"seckill.alter"), "terms were changed"),
            EventKind::Import => {
                ("IMPORT", Some(c"seckill.import"), "a grant was entered from the database")
            }
            EventKind::Round => ("ROUND", Some(c"seckill.round"), "a new round began"),
            EventKind::Send => ("SEND", Some(c"seckill.send"), "units were sent to another part"),
            EventKind::Receive => {
                ("RECEIVE", Some(c"seckill.receive"), "units were received from another part")
            }
            EventKind::Wait => ("WAIT", Some(c"seckill.wait"), "a user joined the waiting list"),
            EventKind::Offer => {
                ("OFFER", Some(c"seckill.offer"), "units are held for a user who waited for them")
            }
            EventKind::Leave => ("LEAVE", Some(c"seckill.leave"), "a user left the waiting list"),
            EventKind::Dropped => {
                ("DROPPED", Some(c"seckill.dropped"), "an entry of the waiting list was dropped")
            }
            EventKind::SoldOut => {
                ("SOLDOUT", Some(c"seckill.soldout"), "now nothing is available, held or elsewhere")
            }
            EventKind::AllHeld => {
                let about = "now nothing is available, but some is held or at other parts";
                ("ALLHELD", Some(c"seckill.allheld"), about)
            }
            EventKind::Available => {
                ("AVAILABLE", Some(c"seckill.available"), "now something is available again")
            }
        }
    }

    /// The transition into `stock`.
    pub fn into_stock(stock: Stock) -> EventKind {
        match stock {
            Stock::SoldOut => EventKind::SoldOut,
            Stock::AllHeld => EventKind::AllHeld,
            Stock::Available => EventKind::Available,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_at_its_place() {
        assert!(EVENTS.iter().enumerate().all(|(place, kind)| *kind as usize == place));
    }
}
