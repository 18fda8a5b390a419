//! The decisions of the balancer of a split sale, without a server, a clock or I/O. The program
//! `seckill split balance`, the simulation and the exhaustive proof use them.
//!
//! * `reading` is a part as its PARTS replied.
//! * `settle` finds units under way, duplicated units, and the end of the stock.
//! * `demand` averages the demand at each part; `policy` plans the moves of units.

mod demand;
pub mod policy;
mod reading;
mod settle;

pub use demand::Demand;
pub use policy::{plan, Load, Timing, Transfer};
pub use reading::{share, Reading};
pub use settle::{made_twice, tell, totals, under_way, Told, Totals, UnderWay};
