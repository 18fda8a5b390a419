//! How a change reaches those who must know of it: replicas and the log, streams, listeners.

pub(super) mod epoch;
pub(crate) mod outbox;
pub(super) mod replicate;
mod stream;
