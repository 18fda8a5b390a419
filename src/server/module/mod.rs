//! The module as the server knows it: loading, commands and their descriptions, settings, INFO,
//! and the events that the server tells of.

pub mod config;
mod docs;
pub(crate) mod entry;
mod events;
pub(crate) mod info;
pub(crate) mod load;
pub mod register;
