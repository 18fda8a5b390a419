//! What the benches share.

pub mod callgrind;
