//! A sale as the server keeps it: the type, opening a key, saving, moving and freeing.

pub(super) mod datatype;
mod defrag;
pub(super) mod fork_memory;
pub(crate) mod key;
