//! What happened, in the order in which it happened: for the outbox and for notifications.

use core::ffi::CStr;

use super::balances::Stock;

/// One thing that happened to a sale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
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

impl Event {
    /// The word in the outbox.
    pub fn name(self) -> &'static str {
        match self {
            Event::Init => "INIT",
            Event::Grant => "GRANT",
            Event::Confirm => "CONFIRM",
            Event::Reclaim => "RECLAIM",
            Event::ReclaimRefused => "RECLAIM-REFUSED",
            Event::Cancel => "CANCEL",
            Event::Extend => "EXTEND",
            Event::Expire => "EXPIRE",
            Event::Refund => "REFUND",
            Event::Restock => "RESTOCK",
            Event::Pause => "PAUSE",
            Event::Resume => "RESUME",
            Event::Alter => "ALTER",
            Event::Import => "IMPORT",
            Event::Round => "ROUND",
            Event::SoldOut => "SOLDOUT",
            Event::AllHeld => "ALLHELD",
            Event::Available => "AVAILABLE",
        }
    }

    /// The keyspace notification; a reclaimed grant is a confirmed one, a refused one is not told.
    pub fn notification(self) -> Option<&'static CStr> {
        Some(match self {
            Event::Init => c"seckill.init",
            Event::Grant => c"seckill.grant",
            Event::Confirm | Event::Reclaim => c"seckill.confirm",
            Event::ReclaimRefused => return None,
            Event::Cancel => c"seckill.cancel",
            Event::Extend => c"seckill.extend",
            Event::Expire => c"seckill.expire",
            Event::Refund => c"seckill.refund",
            Event::Restock => c"seckill.restock",
            Event::Pause => c"seckill.pause",
            Event::Resume => c"seckill.resume",
            Event::Alter => c"seckill.alter",
            Event::Import => c"seckill.import",
            Event::Round => c"seckill.round",
            Event::SoldOut => c"seckill.soldout",
            Event::AllHeld => c"seckill.allheld",
            Event::Available => c"seckill.available",
        })
    }

    /// The transition into `stock`.
    pub fn into_stock(stock: Stock) -> Event {
        match stock {
            Stock::SoldOut => Event::SoldOut,
            Stock::AllHeld => Event::AllHeld,
            Stock::Available => Event::Available,
        }
    }
}
