//! The exporter's promises: alerts, the page, and its low load on the server. The tests need
//! programs that `make watch-test` installs.

mod alerts;
mod cost;
mod page;

use seckill_harness::Server;

use super::program::{seckill, Running};

/// An exporter of all sales of a server without users.
#[track_caller]
pub fn exporter(server: &Server, words: &[&str]) -> Running {
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let mut program = seckill(&["exporter", "--redis", &url, "--sale", "*"]);
    program.args(words);
    Running::start(program)
}

/// Sends commands, none of which may fail.
#[track_caller]
pub fn all(server: &Server, lines: &[&str]) {
    let mut conn = server.conn();
    for line in lines {
        let reply = conn.cmd(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
}
