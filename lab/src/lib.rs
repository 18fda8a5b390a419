//! The lab: every strategy of the posts on the servers it was written for, beside the module.
//!
//! A strategy is written once (`strategies`). Two drivers run it: `interleave` plays orders of the
//! steps of a few buyers and finds the shortest that breaks it; `rush` lets thousands of requests
//! in at once and counts. `page` writes both into docs.

pub mod buyer;
pub mod contender;
pub mod facts;
pub mod gate;
pub mod host;
pub mod interleave;

pub mod page;
pub mod php;
pub mod progress;
pub mod quiet;
pub mod report;
pub mod run;
pub mod rush;
pub mod servers;
pub mod session;
pub mod sql;
pub mod strategies;
pub mod told;
pub mod wire;
