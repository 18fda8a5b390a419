//! seckill: a Redis module that makes overselling impossible.

pub mod command;
pub mod server;

use command::load;
use server::alloc::ServerAlloc;

redis_module::redis_module! {
    name: "seckill",
    version: 100,
    allocator: (ServerAlloc, ServerAlloc),
    data_types: [],
    init: load,
}
