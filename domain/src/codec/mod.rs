//! Changes and sales as bytes.

pub mod effect;
pub(crate) mod further;
pub(crate) mod lists;
pub(crate) mod rows;
pub mod snapshot;
