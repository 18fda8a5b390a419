//! What is known of a data set as a whole: when to look at which key, and what is counted.

pub(crate) mod counts;
pub(super) mod deadlines;
pub(super) mod timer;
