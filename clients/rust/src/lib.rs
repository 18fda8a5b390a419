//! Buys from seckill, a Redis and Valkey module for flash sales.
//!
//! ```no_run
//! use seckill_client::{Error, Sale, Servers, Units};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut sale = Sale::new(Servers::one("redis://127.0.0.1/")?, "sale:phone");
//! match sale.grab("alice", "order-1", Units::One) {
//!     Ok(answer) if answer.won() => println!("order-1 has unit {:?}", answer.seq),
//!     Ok(answer) => println!("no unit: {}", answer.outcome),
//!     Err(Error::Unanswered(told)) => println!("ask again with REQ {}", told.req),
//!     Err(mistake) => return Err(mistake.into()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A call returns an [`Answer`], won or not, or an [`Error`]. All attempts of one call have one
//! REQ, so no unit is taken twice. A [`Sale`] has its own connection: use one in each thread.
//!
//! Programs with their own connections, also asynchronous ones, can read replies by
//! `FromRedisValue` of [`Answer`]. Or they make [`Sale`] use these connections by a [`Link`].

mod answer;
mod attempts;
mod error;
mod id;
mod link;
mod orders;
mod rows;
mod sale;
mod servers;
mod tables;
mod units;

pub use answer::{Answer, MultiAnswer};
pub use attempts::{Attempt, Durable, OnAttempt, Options};
pub use error::{Error, SaleError, Unanswered};
pub use id::{home, Id};
pub use link::{slot, Link};
pub use orders::{Order, Orders, OrdersOptions};
pub use rows::{decode, Event, Place, Row, User};
pub use sale::{Sale, Winners};
pub use servers::Servers;
pub use tables::{Outcome, State};
pub use units::{Keep, Units};
