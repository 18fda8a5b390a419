//! Changes and sales as bytes.

pub mod effect;
pub(crate) mod lists;
pub(crate) mod rows;
pub mod snapshot;
pub(crate) mod wire;
