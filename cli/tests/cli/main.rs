//! The program `seckill` as its users start it, against real servers.

mod exporter;
mod program;
