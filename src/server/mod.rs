//! The machine: all that touches the server's C API, and all the unsafe code there is.
//!
//! It knows sales but no command: the table of commands is handed in by whoever loads the module.

#[macro_use]
mod api;

pub mod ahead;
pub mod alloc;
mod answers;
pub mod call;
mod child;
pub mod config;
pub mod datatype;
mod defrag;
mod docs;
pub mod entry;
pub mod events;
mod filter;
mod glance;
mod hints;
pub mod info;
pub mod key;
mod listeners;
pub mod load;
mod locked;
pub mod log;
#[cfg(feature = "noop")]
mod noop;
pub mod outbox;
mod prefetch;
pub mod random;
pub mod register;
pub mod replicate;
pub mod reply;
pub mod run;
pub mod sweeper;
mod tally;
pub mod text;
mod value;
mod whereabouts;
