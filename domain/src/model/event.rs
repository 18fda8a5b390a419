//! Events of a sale, in order: for outbox entries and keyspace notifications.

use core::ffi::CStr;

use smallvec::SmallVec;

use crate::model::balances::Stock;
use crate::model::outcome::GrantView;

/// Events in order. Most changes have one.
pub type Events = SmallVec<[Event; 1]>;

/// One event of a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The kind.
    pub kind: EventKind,
    /// Index of the plan's change that causes it.
    pub change: usize,
    /// The numbers after the event.
    pub numbers: Numbers,
    /// The grant of this event, in its state after the event.
    pub grant: Option<GrantView>,
}

/// The numbers of a sale in an outbox entry. For an event of an older round's grant, the numbers
/// from `supply` on are of that round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Epoch of the change.
    pub epoch: u64,
    /// Number of the entry.
    pub rev: u64,
    /// T of the change, Unix ms.
    pub t: u64,
    /// The law: `supply = available + held + sold`.
    pub supply: u64,
    /// Units that can be granted.
    pub available: u64,
    /// Units in holds.
    pub held: u64,
    /// Units sold.
    pub sold: u64,
    /// Number of the round; 0 in a sale without rounds.
    pub round: u64,
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
    /// A hold was cancelled.
    Cancel,
    /// A deadline was moved.
    Extend,
    /// A hold expired.
    Expire,
    /// A sold grant was refunded.
    Refund,
    /// A part of a grant was given back.
    Trim,
    /// Units were added or withdrawn.
    Restock,
    /// The operator paused the sale.
    Pause,
    /// The operator resumed the sale.
    Resume,
    /// Terms of future grants changed.
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
    /// Units were offered to a waiter.
    Offer,
    /// A user left the waiting list.
    Leave,
    /// A waiter was dropped from the list.
    Dropped,
    /// No unit is available, held or at other parts.
    SoldOut,
    /// No unit is available; some are held or at other parts.
    AllHeld,
    /// Units are available again.
    Available,
}

/// The row of a kind of event.
#[derive(Debug)]
pub struct Described {
    /// The kind.
    pub kind: EventKind,
    /// The word in the outbox.
    pub name: &'static str,
    /// The keyspace notification. RECLAIM has CONFIRM's, a refused RECLAIM has none.
    pub notification: Option<&'static CStr>,
    /// The meaning, in a few words for people.
    pub about: &'static str,
}

const fn described(
    kind: EventKind,
    name: &'static str,
    notification: Option<&'static CStr>,
    about: &'static str,
) -> Described {
    Described { kind, name, notification, about }
}

/// Every kind of event, in the order in which pages list them.
pub static EVENTS: [Described; 25] = [
    described(EventKind::Init, "INIT", Some(c"seckill.init"), "a sale was created"),
    described(EventKind::Grant, "GRANT", Some(c"seckill.grant"), "a user got units"),
    described(EventKind::Confirm, "CONFIRM", Some(c"seckill.confirm"), "a held grant was paid"),
    described(
        EventKind::Reclaim,
        "RECLAIM",
        Some(c"seckill.confirm"),
        "a grant that had expired was paid late",
    ),
    described(
        EventKind::ReclaimRefused,
        "RECLAIM-REFUSED",
        None,
        "a late payment was refused: give the money back",
    ),
    described(EventKind::Cancel, "CANCEL", Some(c"seckill.cancel"), "a held grant was given back"),
    described(EventKind::Extend, "EXTEND", Some(c"seckill.extend"), "a deadline was moved"),
    described(
        EventKind::Expire,
        "EXPIRE",
        Some(c"seckill.expire"),
        "a held grant was not paid in time",
    ),
    described(EventKind::Refund, "REFUND", Some(c"seckill.refund"), "a sold grant was given back"),
    described(EventKind::Trim, "TRIM", Some(c"seckill.trim"), "a part of a grant was given back"),
    described(
        EventKind::Restock,
        "RESTOCK",
        Some(c"seckill.restock"),
        "units were added or withdrawn",
    ),
    described(EventKind::Pause, "PAUSE", Some(c"seckill.pause"), "the sale was paused"),
    described(EventKind::Resume, "RESUME", Some(c"seckill.resume"), "the sale was resumed"),
    described(EventKind::Alter, "ALTER", Some(c"seckill.alter"), "terms were changed"),
    described(
        EventKind::Import,
        "IMPORT",
        Some(c"seckill.import"),
        "a grant was entered from the database",
    ),
    described(EventKind::Round, "ROUND", Some(c"seckill.round"), "a new round began"),
    described(EventKind::Send, "SEND", Some(c"seckill.send"), "units were sent to another part"),
    described(
        EventKind::Receive,
        "RECEIVE",
        Some(c"seckill.receive"),
        "units were received from another part",
    ),
    described(EventKind::Wait, "WAIT", Some(c"seckill.wait"), "a user joined the waiting list"),
    described(
        EventKind::Offer,
        "OFFER",
        Some(c"seckill.offer"),
        "units are held for a user who waited for them",
    ),
    described(EventKind::Leave, "LEAVE", Some(c"seckill.leave"), "a user left the waiting list"),
    described(
        EventKind::Dropped,
        "DROPPED",
        Some(c"seckill.dropped"),
        "a user was dropped from the waiting list",
    ),
    described(
        EventKind::SoldOut,
        "SOLDOUT",
        Some(c"seckill.soldout"),
        "no unit is available, held or at other parts any more",
    ),
    described(
        EventKind::AllHeld,
        "ALLHELD",
        Some(c"seckill.allheld"),
        "no unit is available, but some are held or at other parts",
    ),
    described(
        EventKind::Available,
        "AVAILABLE",
        Some(c"seckill.available"),
        "units are available again",
    ),
];

impl EventKind {
    /// The word in the outbox.
    pub fn name(self) -> &'static str {
        EVENTS[self as usize].name
    }

    /// The transition into `stock`.
    pub fn into_stock(stock: Stock) -> EventKind {
        match stock {
            Stock::SoldOut => EventKind::SoldOut,
            Stock::AllHeld => EventKind::AllHeld,
            Stock::Available => EventKind::Available,
        }
    }

    /// Whether the event is a transition of the stock.
    pub fn is_transition(self) -> bool {
        matches!(self, EventKind::SoldOut | EventKind::AllHeld | EventKind::Available)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_at_its_index() {
        assert!(EVENTS.iter().enumerate().all(|(index, event)| event.kind as usize == index));
    }
}
