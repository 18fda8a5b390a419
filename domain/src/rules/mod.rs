//! What the contract says of each request. Nothing here changes a sale.

pub mod decide;
pub(crate) mod grab;
pub mod multi_grab;
mod settle;
