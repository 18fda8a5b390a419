//! The shell: all code that touches the server's C API, and all unsafe code.
//!
//! The shell knows sales but no command: `module::load` gets the table of commands as an
//! argument.

/// The server's C API as safe types: functions, memory, contexts, the log.
#[macro_use]
pub(crate) mod ffi {
    #[macro_use]
    pub(super) mod api;

    pub(crate) mod alloc;
    pub(super) mod ctx;
    pub(super) mod log;
    pub(crate) mod random;
}

pub(crate) mod call;

/// State of a data set as a whole: the deadlines of its keys and its counters.
pub(crate) mod data_set {
    pub(crate) mod counts;
    pub(super) mod deadlines;
    pub(crate) mod timer;
}

/// The module as the server sees it: loading, commands and their descriptions, settings, INFO, and
/// event callbacks.
pub mod module {
    mod advice;
    mod cluster;
    mod config;
    pub(super) mod dispatch;
    mod events;
    pub mod info;
    pub(crate) mod load;
    mod register;
    pub mod spec;
}

/// Propagation of a change: to streams, to replicas and to the AOF.
pub(crate) mod propagation {
    pub(super) mod epoch;
    pub(crate) mod outbox;
    pub(crate) mod stream;

    /// The command that carries effects to replicas and into the AOF.
    pub(super) const APPLY: &std::ffi::CStr = c"SECKILL.APPLY";
}

pub(crate) mod reply;
pub mod settings;
pub(crate) mod sweeper;

/// A sale as the server keeps it: the type, opening a key, saving, moving and freeing.
pub(crate) mod value {
    pub(super) mod datatype;
    mod defrag;
    pub(super) mod fork_memory;
    pub(crate) mod key;
}

pub(crate) mod walk;
