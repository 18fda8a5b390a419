//! The machine: all that touches the server's C API, and all the unsafe code there is.
//!
//! It knows sales but no command: the table of commands is handed in by whoever loads the module.

#[macro_use]
pub(crate) mod ffi;

pub(crate) mod call;
pub(crate) mod data_set;
pub mod module;
pub(crate) mod propagation;
pub mod settings;
pub(crate) mod sweeper;
pub(crate) mod value;
