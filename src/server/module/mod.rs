//! The module as the server knows it: loading, commands and their descriptions, settings, INFO,
//! and the server's events.

mod config;
mod dispatch;
mod events;
pub mod info;
pub(crate) mod load;
mod register;
pub mod spec;
