//! The append-only file: rewriting it, reading its head, and comparing a loaded server with the one
//! before.

use std::fmt::Debug;
use std::fs;

use super::payload::restore;
use super::{wait_until, Conn, Options, Reply, Server};

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
    let folder = fs::read_dir(server.folder().join("appendonlydir")).expect("the log's folder");
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

/// The sales that `fill` makes at `keys` are the same on replicas that came before and after it, in
/// every file, and restored from a payload; `then` is what must hold in the end.
#[track_caller]
pub fn assert_same_everywhere(keys: &[&str], fill: impl Fn(&mut Conn), then: impl Fn(&Server)) {
    let picture = |server: &Server| keys.iter().map(|key| server.whole(key)).collect::<Vec<_>>();
    for preamble in ["yes", "no"] {
        let preamble = format!("aof-use-rdb-preamble {preamble}");
        let options = Options::new().line("appendonly yes").line(&preamble);
        let mut server = options.module_args("sweep-interval-ms 60000").start();
        let replica = |line: &str| Options::new().line(line).start();
        let replicas = [replica(""), replica("repl-diskless-load swapdb")];
        let mut conn = server.conn();
        replicas[0].follow(&server);
        fill(&mut conn);
        replicas[1].follow(&server);
        let before = picture(&server);
        for replica in replicas {
            replica.wait_in_sync(&server);
            assert_eq!(picture(&replica), before, "on a replica");
            replica.assert_took_all();
        }
        assert_survives(&server, picture);
        for key in keys {
            let payload = conn.cmd(&format!("DUMP {key}")).bytes().to_vec();
            assert_eq!(conn.call(&format!("DEL {key}")), "1");
            let restored = conn.pipeline(&[restore(key, &payload)]).expect("a reply").remove(0);
            assert_eq!(restored.to_string(), "+OK");
        }
        assert_eq!(picture(&server), before, "from a payload");
        server.stop(false);
        server.start_again();
        assert_eq!(picture(&server), before, "after a restart");
        then(&server);
        server.assert_took_all();
        keys.iter().for_each(|key| server.assert_sound(key));
    }
}
