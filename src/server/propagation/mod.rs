//! How a change reaches those who must know of it: streams, replicas and logs.

pub(super) mod epoch;
pub(crate) mod outbox;
mod stream;

/// The command that carries effects to replicas and logs.
pub(super) const APPLY: &std::ffi::CStr = c"SECKILL.APPLY";
