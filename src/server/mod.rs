//! The machine: all that touches the server's C API, and all the unsafe code there is.
//!
//! It knows sales but no command: the table of commands is handed in by whoever loads the module.

#[macro_use]
mod api;

pub mod alloc;
pub mod call;
mod child;
pub mod config;
mod ctx;
pub mod datatype;
mod defrag;
mod docs;
pub mod entry;
pub mod events;
mod glance;
mod hints;
pub mod info;
pub mod key;
pub mod load;
mod locked;
pub mod log;
pub mod outbox;
pub mod random;
pub mod register;
pub mod replicate;
pub mod reply;
pub mod run;
mod stream;
pub mod sweeper;
mod tally;
mod value;
mod whereabouts;
