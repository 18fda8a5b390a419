//! Changes and sales as bytes.

pub mod effect;
pub(crate) mod further;
pub(crate) mod json;
pub(crate) mod lists;
pub mod position;
pub(crate) mod rows;
pub mod snapshot;
