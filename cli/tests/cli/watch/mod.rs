//! The exporter's promises: alerts that fire, a page for people, and little cost for the server.
//! The tests need programs that `make watch-test` brings.

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

/// Sends lines that all must go well.
#[track_caller]
pub fn all(server: &Server, lines: &[&str]) {
    let mut conn = server.conn();
    for line in lines {
        let reply = conn.cmd(line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }
}
