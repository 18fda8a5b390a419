//! What happened, in the order in which it happened: for the outbox and for notifications.

use super::core::Stock;

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
    pub fn notification(self) -> Option<&'static str> {
        Some(match self {
            Event::Init => "seckill.init",
            Event::Grant => "seckill.grant",
            Event::Confirm | Event::Reclaim => "seckill.confirm",
            Event::ReclaimRefused => return None,
            Event::Cancel => "seckill.cancel",
            Event::Extend => "seckill.extend",
            Event::Expire => "seckill.expire",
            Event::Refund => "seckill.refund",
            Event::Restock => "seckill.restock",
            Event::Pause => "seckill.pause",
            Event::Resume => "seckill.resume",
            Event::Alter => "seckill.alter",
            Event::Import => "seckill.import",
            Event::Round => "seckill.round",
            Event::SoldOut => "seckill.soldout",
            Event::AllHeld => "seckill.allheld",
            Event::Available => "seckill.available",
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
