//! The AOF: rewrites it, reads its beginning, and compares a server before and after loading it.

use std::fmt::Debug;
use std::fs;

use super::payload::restore;
use super::{wait_until, Conn, Options, Reply, Server};

/// Waits until no AOF rewrite runs or is scheduled.
#[track_caller]
pub fn wait_for_rewrite(server: &Server) {
    wait_until("the log is rewritten", || is_whole(server));
}

/// Whether no AOF rewrite runs or is scheduled.
pub fn is_whole(server: &Server) -> bool {
    let rewrites = ["aof_rewrite_in_progress", "aof_rewrite_scheduled"];
    rewrites.iter().all(|name| server.info("persistence", name) == "0")
}

/// Rewrites the AOF. If the server already rewrites it by itself, waits for the end first, because
/// the server refuses a second rewrite.
#[track_caller]
pub fn rewrite(server: &Server) {
    wait_until("the log may be rewritten", || !server.cmd("BGREWRITEAOF").is_error());
    wait_for_rewrite(server);
    assert_eq!(server.info("persistence", "aof_last_bgrewrite_status"), "ok");
}

/// The APPLYs at the beginning of an AOF that was rewritten without an RDB preamble.
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

/// Checks that `picture` is equal after the server has loaded its RDB file, its AOF, and its
/// rewritten AOF.
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

/// Checks that the sales that `fill` makes at `keys` are equal on all copies: replicas from before
/// and after, every kind of file, and RESTORE of a DUMP. `then` checks each copy.
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
