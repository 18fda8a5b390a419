//! seckill: a Redis module that makes overselling impossible.

pub mod command;
pub mod server;

server::module::entry::module! { name: "seckill", version: 100, load: command::load }
