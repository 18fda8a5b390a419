//! A server that was stopped, killed or reloaded has all acknowledged changes.

use crate::support::{wait_until, Reply, Server};

/// Fills a sale with every kind of grant: with and without request ids, one and several units,
/// users with one and with many grants, long and unusual ids. Also restocks and refusals.
pub fn fill(server: &Server, key: &str, grants: usize) {
    let mut conn = server.conn();
    assert_eq!(conn.call(&format!("SECKILL.INIT {key} 1000000 LIMIT 0 GRABS 5000")), "+OK");
    let longest = [0xfe; 256];
    for number in 0..grants {
        let (user, req) = (format!("user:{}", number * 2 / 3), format!("order-{number}"));
        let user: &[u8] = if number % 50 == 7 { &longest } else { user.as_bytes() };
        let qty = (number % 5 + 1).to_string();
        let mut args: Vec<&[u8]> = vec![b"SECKILL.GRAB", key.as_bytes(), user];
        match number % 4 {
            0 => {}
            1 => args.extend([b"QTY" as &[u8], qty.as_bytes()]),
            2 => args.extend([b"REQ" as &[u8], req.as_bytes()]),
            _ => args.extend([b"UPTO" as &[u8], qty.as_bytes(), b"REQ", req.as_bytes()]),
        }
        assert_eq!(conn.ask(&args).items()[0].text(), "GRANTED");
    }
    for number in 0..20 {
        conn.cmd(&format!("SECKILL.RESTOCK {key} {} REQ restock-{number}", 500 - number * 60));
    }
    conn.cmd(&format!("SECKILL.ALTER {key} LIMIT 7 CLOSEAT 4102444800000"));
    conn.cmd(&format!("SECKILL.PAUSE {key}"));
    conn.cmd(&format!("SECKILL.GRAB {key} somebody"));
}

/// The state that a reload must keep: the digest, all replies of reads, and the counters.
fn state(server: &Server, key: &str) -> (String, Vec<String>, Reply) {
    let counters = server.cmd(&format!("SECKILL.STATUS {key}")).field("counters");
    (server.digest(key), server.picture(key), counters)
}

#[test]
fn debug_reload_gives_the_same_sale() {
    let server = Server::start();
    fill(&server, "k", 3000);
    assert_eq!(server.call("SECKILL.INIT empty 0"), "+OK");
    let before = (state(&server, "k"), state(&server, "empty"));
    assert_eq!(server.call("DEBUG RELOAD"), "+OK");
    assert_eq!((state(&server, "k"), state(&server, "empty")), before);
    server.assert_sound("k");
    let mut conn = server.conn();
    conn.check(&[
        ("SECKILL.RESUME k", "+OK"),
        ("SECKILL.GRAB k user:1 UPTO 1 REQ order-2", "-REQMISMATCH"),
        ("SECKILL.GRAB k user:1 REQ order-2", "['REPLAY' 3 1 'SOLD' 0]"),
        ("SECKILL.GRAB k newcomer QTY 8", "['OVERLIMIT' 7]"),
    ]);
    let replay = conn.cmd("SECKILL.RESTOCK k 500 REQ restock-0");
    assert_eq!(replay.items()[0], Reply::Int(500));
    assert_eq!(conn.cmd("SECKILL.GRAB k newcomer").items()[1], Reply::Int(3001));
    server.assert_sound("k");
}

#[test]
fn a_snapshot_survives_a_kill() {
    let mut server = Server::start();
    fill(&server, "k", 1500);
    let before = state(&server, "k");
    let saved = server.cmd("LASTSAVE").int();
    wait_until("the clock of LASTSAVE moves on", || {
        server.cmd("TIME").items()[0].text().parse::<i64>().expect("seconds") > saved
    });
    assert_eq!(server.call("BGSAVE"), "+Background saving started");
    wait_until("the snapshot is written", || server.cmd("LASTSAVE").int() > saved);
    assert_eq!(server.info("persistence", "rdb_last_bgsave_status"), "ok");
    server.conn().cmd("SECKILL.RESUME k");
    server.conn().cmd("SECKILL.GRAB k after-the-snapshot");
    server.kill9();
    server.start_again();
    assert_eq!(state(&server, "k"), before, "what came after the snapshot is lost, not more");
    server.assert_sound("k");
}

/// Grants after a restart have a later epoch than all lost grants, also those of a run without any
/// saved change. So (id, epoch, seq) never names two grants.
#[test]
fn a_restart_begins_a_new_epoch() {
    let mut server = Server::start();
    server.conn().check(&[
        ("SECKILL.INIT k 9 LIMIT 0", "+OK"),
        ("SECKILL.GRAB k kept", "['GRANTED' 1 1 'SOLD' 0 8]"),
        ("SAVE", "+OK"),
    ]);
    let epoch = |server: &Server, row: usize| {
        let page = server.cmd("SECKILL.WINNERS k 0");
        page.items()[1].items()[row].items()[7].int()
    };
    let mut epochs = vec![epoch(&server, 0)];
    for run in 0..4 {
        assert_eq!(server.call("SECKILL.GRAB k lost"), "['GRANTED' 2 1 'SOLD' 0 7]");
        assert_eq!(server.call("SECKILL.GRAB k lost"), "['GRANTED' 3 1 'SOLD' 0 6]");
        assert_eq!(epoch(&server, 0), epochs[0]);
        assert_eq!(epoch(&server, 1), epoch(&server, 2), "one run has one epoch");
        if run > 0 {
            epochs.push(epoch(&server, 1));
        }
        server.kill9();
        server.start_again();
    }
    assert!(epochs.windows(2).all(|two| two[0] < two[1]), "{epochs:?}");
}

/// A payload that is restored elsewhere or twice gets its own epochs.
#[test]
fn a_restored_copy_begins_a_new_epoch() {
    let (_server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SECKILL.INIT k 9 LIMIT 0", "+OK"),
        ("SECKILL.GRAB k u", "['GRANTED' 1 1 'SOLD' 0 8]"),
    ]);
    let payload = conn.cmd("DUMP k").bytes().to_vec();
    let mut epochs = vec![conn.cmd("SECKILL.STATUS k").field("epoch").int()];
    for _ in 0..2 {
        let restore: [&[u8]; 5] = [b"RESTORE", b"k", b"0", &payload, b"REPLACE"];
        assert_eq!(conn.ask(&restore).to_string(), "+OK");
        assert_eq!(conn.call("SECKILL.GRAB k v"), "['GRANTED' 2 1 'SOLD' 0 7]");
        epochs.push(conn.cmd("SECKILL.STATUS k").field("epoch").int());
    }
    let [first, others @ ..] = &epochs[..] else { panic!("an epoch") };
    assert!(others.iter().all(|epoch| epoch > first) && others[0] != others[1], "{epochs:?}");
}
