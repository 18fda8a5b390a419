//! Where bytes lie: append-only pages, numbers as bytes and a reader of them.

pub mod bytes;
pub mod pages;
