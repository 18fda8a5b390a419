//! seckill: a Redis module that makes overselling impossible.

pub mod command;
mod server;

server::module::load::module! { name: "seckill", version: 100, load: command::load }
