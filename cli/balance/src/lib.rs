//! What the balancer of a split sale decides, without a server, a clock or I/O: the program
//! `seckill split balance`, the simulation and the proof by exhaustion all use these functions.
//!
//! * `reading` is a part as PARTS tells of it.
//! * `settle` says what is under way, what was made twice, and when everything is sold.
//! * `demand` learns how fast each part is asked, `policy` says which units move where.

mod demand;
pub mod policy;
mod reading;
mod settle;

pub use demand::Demand;
pub use policy::{plan, Load, Timing, Transfer};
pub use reading::{share, Reading};
pub use settle::{made_twice, tell, totals, under_way, Told, Totals, UnderWay};
