//! The lab: every strategy of the posts on real servers, compared with the module.
//!
//! Each strategy is written once (`strategies`) and run in two ways. `interleave` plays orders of
//! the steps of a few buyers and finds the shortest failing one. `rush` sends thousands of requests
//! at once and counts. `page` writes both results into docs.

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
