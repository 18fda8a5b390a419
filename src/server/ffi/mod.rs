//! The server's C API as safe types: functions, memory, contexts, the log.

#[macro_use]
pub(super) mod api;

pub(crate) mod alloc;
pub(super) mod ctx;
pub(super) mod log;
pub(crate) mod random;
