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
    pub kind: EventKind,
    /// Which of its plan's changes makes it happen.
    pub change: usize,
    /// The numbers after it. Those of an older round, where it is about a grant of that round.
    pub balances: Balances,
    /// The grant that it is about, as it stands after it.
    pub grant: Option<GrantView>,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Init,
    Grant,
    Confirm,
    Reclaim,
    ReclaimRefused,
    Cancel,
    Extend,
    Expire,
    Refund,
    Restock,
    Pause,
    Resume,
    Alter,
    Import,
    /// A new round began.
    Round,
    /// None available, none held.
    SoldOut,
    /// None available, some held.
    AllHeld,
    /// Some available again.
    Available,
}

impl EventKind {
    /// The word in the outbox.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Init => "INIT",
            EventKind::Grant => "GRANT",
            EventKind::Confirm => "CONFIRM",
            EventKind::Reclaim => "RECLAIM",
            EventKind::ReclaimRefused => "RECLAIM-REFUSED",
            EventKind::Cancel => "CANCEL",
            EventKind::Extend => "EXTEND",
            EventKind::Expire => "EXPIRE",
            EventKind::Refund => "REFUND",
            EventKind::Restock => "RESTOCK",
            EventKind::Pause => "PAUSE",
            EventKind::Resume => "RESUME",
            EventKind::Alter => "ALTER",
            EventKind::Import => "IMPORT",
            EventKind::Round => "ROUND",
            EventKind::SoldOut => "SOLDOUT",
            EventKind::AllHeld => "ALLHELD",
            EventKind::Available => "AVAILABLE",
        }
    }

    /// The keyspace notification; a reclaimed grant is a confirmed one, a refused one has none.
    pub fn notification(self) -> Option<&'static CStr> {
        Some(match self {
            EventKind::Init => c"seckill.init",
            EventKind::Grant => c"seckill.grant",
            EventKind::Confirm | EventKind::Reclaim => c"seckill.confirm",
            EventKind::ReclaimRefused => return None,
            EventKind::Cancel => c"seckill.cancel",
            EventKind::Extend => c"seckill.extend",
            EventKind::Expire => c"seckill.expire",
            EventKind::Refund => c"seckill.refund",
            EventKind::Restock => c"seckill.restock",
            EventKind::Pause => c"seckill.pause",
            EventKind::Resume => c"seckill.resume",
            EventKind::Alter => c"seckill.alter",
            EventKind::Import => c"seckill.import",
            EventKind::Round => c"seckill.round",
            EventKind::SoldOut => c"seckill.soldout",
            EventKind::AllHeld => c"seckill.allheld",
            EventKind::Available => c"seckill.available",
        })
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
