//! The append-only file: rewriting it, reading what it begins with, and checking that what a
//! server loads is what it had.

use std::fmt::Debug;
use std::fs;

use super::{wait_until, Reply, Server};

/// Waits until no rewrite runs and none is to come.
#[track_caller]
pub fn wait_for_rewrite(server: &Server) {
    wait_until("the log is rewritten", || is_whole(server));
}

/// Whether no rewrite of the log runs and none is to come.
pub fn is_whole(server: &Server) -> bool {
    let rewrites = ["aof_rewrite_in_progress", "aof_rewrite_scheduled"];
    rewrites.iter().all(|name| server.info("persistence", name) == "0")
}

/// Rewrites the log. The server may be about it by itself, with a log that has grown: then it takes
/// no second one before the first is done.
#[track_caller]
pub fn rewrite(server: &Server) {
    wait_until("the log may be rewritten", || !server.cmd("BGREWRITEAOF").is_error());
    wait_for_rewrite(server);
    assert_eq!(server.info("persistence", "aof_last_bgrewrite_status"), "ok");
}

/// The APPLYs that the log begins with since it was rewritten without a snapshot in front.
pub fn rewritten_applies(server: &Server) -> Vec<Reply> {
    let folder = fs::read_dir(server.dir().join("appendonlydir")).expect("the log's folder");
    let mut files = folder.flatten().map(|file| file.path());
    let base = files.find(|path| path.to_string_lossy().contains(".base."));
    let bytes = fs::read(base.expect("a base")).expect("a readable base");
    let mut rest = &bytes[..];
    let mut applies = Vec::new();
    while !rest.is_empty() {
        let command = Reply::read(&mut rest).expect("a command");
        if command.items()[0].text() == "SECKILL.APPLY" {
            applies.push(command);
        }
    }
    applies
}

/// `picture` is the same after the server has loaded its dump, its log of effects, and its log as
/// it is rewritten.
#[track_caller]
pub fn assert_survives<P: PartialEq + Debug>(server: &Server, picture: impl Fn(&Server) -> P) {
    let before = picture(server);
    for load in ["DEBUG RELOAD", "DEBUG LOADAOF"] {
        assert_eq!(server.call(load), "+OK");
        assert_eq!(picture(server), before, "after {load}");
    }
    rewrite(server);
    assert_eq!(server.call("DEBUG LOADAOF"), "+OK");
    assert_eq!(picture(server), before, "from a rewritten log");
    server.assert_took_all();
}
