//! Background expiry: holds expire on keys that get no commands, wherever the key is moved, and
//! without long pauses.

use seckill_domain::effect::{Change, Effect};
use seckill_model::shorthand::effect;

use crate::support::bulk::grow;
use crate::support::client::encode;
use crate::support::shop::{
    assert_whole, counter, entries, number, state_of, wait_for_clock, wait_for_no_holds,
};
use crate::support::valgrind::slowed;
use crate::support::{logs, wait_until, Conn, Options, ReplicationStream, Server};

/// Milliseconds of a hold, long enough for a command on its key before.
const HOLD_MS: u32 = 300;

/// Waits until the node has no holds, without a command on any key.
#[track_caller]
fn wait_until_settled(server: &Server, what: &str) {
    let holds = || server.info("seckill", "seckill_holds");
    wait_until(&format!("holds are settled after {what}"), || holds() == "0");
}

/// Waits until the node counts `holds` with deadline `due`. After a reload it also counts those of
/// the old data until a thread has freed them. No hold is missing before its deadline, which on a
/// busy machine may be over already.
#[track_caller]
fn wait_until_counted(conn: &mut Conn, holds: u64, due: i64, what: &str) {
    wait_until(&format!("{holds} are counted after {what}"), || {
        let counted = conn.info("seckill", "seckill_holds").parse::<u64>().expect("a number");
        let is_over = conn.clock_ms() >= due;
        assert!(is_over || counted >= holds, "{counted} of {holds} after {what}");
        is_over || counted == holds
    });
}

/// Creates a sale with one hold. Returns its deadline.
fn hold_one(conn: &mut Conn) -> i64 {
    assert_eq!(conn.call(&format!("SECKILL.INIT k 5 HOLD {}", slowed(HOLD_MS))), "+OK");
    let grant = conn.cmd("SECKILL.GRAB k a");
    assert_eq!(grant.items()[3].text(), "HELD");
    grant.items()[4].int()
}

/// A command on the key, then the key's database and name.
const MOVES: [(&[&str], &str, &str); 8] = [
    (&["RENAME k l"], "0", "l"),
    (&["RENAMENX k l", "SECKILL.INIT k 1"], "0", "l"),
    (&["MOVE k 3"], "3", "k"),
    (&["SWAPDB 0 5"], "5", "k"),
    (&["RENAME k l", "MOVE l 2", "SWAPDB 2 7"], "7", "l"),
    (&["DEBUG RELOAD"], "0", "k"),
    (&["SWAPDB 0 1", "DEBUG RELOAD", "SWAPDB 1 2"], "2", "k"),
    (&["BGREWRITEAOF", "EXPIRE k 1000", "PERSIST k"], "0", "k"),
];

#[test]
fn a_hold_runs_out_wherever_its_key_goes() {
    let (server, replica) = Server::pair();
    for (how, db, key) in MOVES {
        let mut conn = server.conn();
        let due = hold_one(&mut conn);
        for line in how {
            let reply = conn.cmd(line);
            assert!(!reply.is_error(), "{line}: {reply}");
        }
        wait_until_counted(&mut conn, 1, due, &format!("{how:?}"));
        wait_until_settled(&server, &format!("{how:?}"));
        assert_eq!(conn.call(&format!("SELECT {db}")), "+OK");
        assert_eq!(state_of(&mut conn, key, "a"), "EXPIRED", "{how:?}");
        assert_eq!(counter(&mut conn, key, "expired"), 1, "{how:?}");
        replica.wait_in_sync(&server);
        let mut far = replica.conn();
        assert_eq!(far.call(&format!("SELECT {db}")), "+OK");
        let digest = format!("DEBUG DIGEST-VALUE {key}");
        assert_eq!(far.call(&digest), conn.call(&digest), "{how:?}");
        assert_eq!(conn.call("FLUSHALL"), "+OK");
    }
    replica.assert_took_all();
}

#[test]
fn a_restored_hold_runs_out() {
    let (server, mut conn) = Server::start().with_conn();
    let due = hold_one(&mut conn);
    let payload = conn.cmd("DUMP k").bytes().to_vec();
    assert_eq!(conn.call("DEL k"), "1");
    for key in ["k", "copy"] {
        let restore: [&[u8]; 4] = [b"RESTORE", key.as_bytes(), b"0", &payload];
        assert_eq!(conn.ask(&restore).to_string(), "+OK");
    }
    wait_until_counted(&mut conn, 2, due, "RESTORE");
    wait_until_settled(&server, "RESTORE");
    for key in ["k", "copy"] {
        assert_eq!(state_of(&mut conn, key, "a"), "EXPIRED");
        server.assert_sound(key);
    }
}

/// After a restart the holds of RDB file and AOF expire, also overdue ones.
#[test]
fn a_restart_goes_on_where_it_stopped() {
    let logged = || Options::new().line("appendonly yes").line("appendfsync always");
    let plain = logged().line("aof-use-rdb-preamble no");
    for (options, saves, rewrites) in [
        (Options::new(), true, false),
        (logged(), false, false),
        (logged(), false, true),
        (plain, false, true),
    ] {
        let (mut server, mut conn) = options.start().with_conn();
        hold_one(&mut conn);
        conn.check(&[("SECKILL.ALTER k HOLD 10 LIMIT 2", "+OK")]);
        conn.cmd("SECKILL.GRAB k a");
        if rewrites {
            logs::rewrite(&server);
        }
        server.stop(saves);
        server.start_again();
        wait_until_settled(&server, "a restart");
        let mut conn = server.conn();
        assert_eq!(counter(&mut conn, "k", "expired"), 2);
        assert_eq!(number(&mut conn, "k", "available"), 5);
        server.assert_took_all();
        server.assert_sound("k");
    }
}

/// A deleted key costs only a check. A new sale with its name is another sale.
#[test]
fn a_key_that_is_gone_costs_nothing() {
    let (server, mut conn) = Options::new().line("maxmemory-policy noeviction").start().with_conn();
    for how in ["FLUSHALL", "DEL k", "UNLINK k", "SET k text", "FLUSHDB ASYNC", "PEXPIRE k 1"] {
        let deadline = hold_one(&mut conn);
        assert!(!conn.cmd(how).is_error(), "{how}");
        wait_until_settled(&server, how);
        let has_sale = || server.info("seckill", "seckill_sales") != "0";
        wait_until("the sale is freed", || !has_sale());
        if how == "DEL k" {
            assert_eq!(conn.call("SECKILL.INIT k 1 HOLD 900000"), "+OK");
            conn.cmd("SECKILL.GRAB k a");
        }
        wait_for_clock(&mut conn, deadline + 50);
        wait_until("no hint is left", || server.info("seckill", "seckill_sweeper_backlog") == "0");
        if how == "DEL k" {
            assert_eq!(state_of(&mut conn, "k", "a"), "HELD", "the new sale's hold is its own");
        }
        assert_eq!(conn.call("FLUSHALL"), "+OK");
    }
    assert!(!server.log().contains("failed inside"));
}

/// With the longest interval holds stay; a shorter interval works at once.
#[test]
fn the_interval_can_be_changed_at_any_time() {
    let (server, mut conn) = Server::sleeping().with_conn();
    conn.check(&[("SECKILL.INIT k 5 HOLD 20", "+OK")]);
    conn.cmd("SECKILL.GRAB k a");
    let due = number(&mut conn, "k", "next_deadline");
    wait_for_clock(&mut conn, due + 250);
    assert_eq!(state_of(&mut conn, "k", "a"), "HELD");
    assert_eq!(server.info("seckill", "seckill_sweeper_backlog"), "1");
    assert_eq!(conn.call("CONFIG SET seckill.sweep-interval-ms 5"), "+OK");
    wait_until_settled(&server, "CONFIG SET");
    assert!(server.info("seckill", "seckill_expiry_lag_max_ms").parse::<i64>().expect("ms") >= 250);
}

/// A batch limits the holds of one run: with a batch of one, many holds still all expire.
#[test]
fn the_smallest_batch_gets_there() {
    let server = Options::new().module_args("sweep-batch 1 sweep-interval-ms 1").start();
    let mut conn = server.conn();
    conn.check(&[("SECKILL.INIT k 500 HOLD 50 LIMIT 0 OUTBOX s", "+OK")]);
    for step in 0..200 {
        conn.cmd(&format!("SECKILL.GRAB k u{step}"));
    }
    wait_for_no_holds(&server, "k");
    assert_eq!(server.info("seckill", "seckill_expired"), "200");
    assert_whole(&entries(&mut conn, "s"));
    server.assert_sound("k");
}

/// A batch limits the holds of one run over all sales. Expiries of one sale are one command, never
/// in a transaction with another sale's, because an AOF could lose both.
#[test]
fn a_batch_is_the_most_that_a_round_settles() {
    let commands = expired_by_commands("");
    assert_eq!(commands.iter().sum::<usize>(), 20, "{commands:?}");
    assert!(commands.iter().all(|expired| *expired <= 7), "{commands:?}");
    assert_eq!((commands[0], commands[1]), (7, 7), "each sale has its turn: {commands:?}");
    // All units of one sale are offered at once: more than a batch, although each offer is a hold.
    assert_eq!(expired_by_commands("WAITLIST 10 OFFER 900000"), [10, 10]);
}

/// Two sales with these terms, each with 10 due holds. Returns the number of expiries of each
/// command.
fn expired_by_commands(terms: &str) -> Vec<usize> {
    let server = Options::new().module_args("sweep-batch 7 sweep-interval-ms 60000").start();
    let mut conn = server.conn();
    for key in ["a", "b"] {
        assert_eq!(conn.call(&format!("SECKILL.INIT {key} 10 HOLD 1500 LIMIT 0 {terms}")), "+OK");
        (0..10).for_each(|_| assert!(!conn.cmd(&format!("SECKILL.GRAB {key} u")).is_error()));
        for user in 0..if terms.is_empty() { 0 } else { 10 } {
            let waits = format!("['WAITING' {} {user} {user}]", user + 1);
            assert_eq!(conn.call(&format!("SECKILL.GRAB {key} w{user} REQ r WAIT")), waits);
        }
    }
    let due = conn.clock_ms() + 1510;
    wait_for_clock(&mut conn, due);
    let mut stream = ReplicationStream::attach(&server);
    assert_eq!(conn.call("CONFIG SET seckill.sweep-interval-ms 1"), "+OK");
    wait_until("all have expired", || server.info("seckill", "seckill_expired") == "20");
    let taken = stream.taken(&server);
    let expired = |words: &Vec<Vec<u8>>| {
        assert_eq!(words[0], b"SECKILL.APPLY", "a transaction");
        words[3..].iter().map(|effect| expired_by(effect)).sum()
    };
    taken.iter().map(expired).collect()
}

/// Sales with holds of one deadline are handled one by one, and soon.
#[test]
fn many_sales_that_are_due_at_once_take_many_turns() {
    const SALES: usize = 1500;
    let (server, mut conn) = Server::sleeping().with_conn();
    for sale in 0..SALES {
        conn.check(&[(&format!("SECKILL.INIT sale{sale} 5"), "+OK")]);
        let name = format!("sale{sale}");
        let words = [b"SECKILL.APPLY", name.as_bytes(), b"1", &effect("Gd1:u")];
        assert_eq!(conn.ask(&words).to_string(), "+OK");
    }
    let last_due = number(&mut conn, &format!("sale{}", SALES - 1), "next_deadline");
    wait_for_clock(&mut conn, last_due);
    // INFO counts no further than 1000.
    assert_eq!(server.info("seckill", "seckill_sweeper_backlog"), "1000");
    let mut stream = ReplicationStream::attach(&server);
    let begun = conn.clock_ms();
    assert_eq!(conn.call("CONFIG SET seckill.sweep-interval-ms 10"), "+OK");
    wait_until_settled(&server, "all");
    let took = conn.clock_ms() - begun;
    assert!(took < i64::from(slowed(1000)), "{SALES} sales took {took} ms");
    let taken = stream.taken(&server);
    assert!(taken.iter().all(|words| words[0] == b"SECKILL.APPLY"), "a transaction");
    assert_eq!(taken.len(), SALES);
    assert_eq!(server.info("seckill", "seckill_sweeper_backlog"), "0");
}

/// A replica also frees the memory of an ended round without a further change.
#[test]
fn a_replica_gives_back_the_memory_of_rounds_that_are_over() {
    const GRANTS: usize = 100_000;
    let (server, replica) = Server::pair();
    let mut conn = server.conn();
    let period = i64::from(slowed(3_000));
    let closes = conn.clock_ms() + 5 * period;
    let rounds = format!("LIMIT 0 EVERY {period} OFFSET {} CLOSEAT {closes}", closes % period);
    assert_eq!(conn.call(&format!("SECKILL.INIT k 10000000 {rounds}")), "+OK");
    for part in 0..GRANTS / 1000 {
        let grab = |step| ["SECKILL.GRAB".into(), "k".into(), format!("user:{part}:{step}")];
        let calls: Vec<_> = (0..1000).map(|step| encode(&grab(step))).collect();
        conn.pipeline(&calls).expect("replies");
    }
    let memory = |server: &Server| server.cmd("MEMORY USAGE k").int();
    assert!(memory(&server) > 2_000_000, "{}", memory(&server));
    let last = number(&mut conn, "k", "round");
    wait_until("two rounds are over", || number(&mut conn, "k", "round") >= last + 2);
    replica.wait_in_sync(&server);
    // No round begins after CLOSEAT.
    wait_for_clock(&mut conn, closes);
    replica.wait_in_sync(&server);
    for node in [&server, &replica] {
        wait_until("the memory is given back", || memory(node) < 400_000);
    }
}

fn expired_by(effect: &[u8]) -> usize {
    match Change::decode(effect).expect("an effect").effect {
        Effect::Expire(expire) => expire.0.len(),
        Effect::Offer(_) => 0,
        other => panic!("{other:?}"),
    }
}

/// One huge sale does not delay small ones.
#[test]
fn small_sales_have_their_turn() {
    let (server, mut conn) = Server::sleeping().with_conn();
    let (big, small) = (20_000, 100);
    assert_eq!(conn.call("SECKILL.INIT big 1000000 LIMIT 0"), "+OK");
    grow(&mut conn, "big", 0, big, |number| effect(&format!("Gd1:user:{number}")));
    let held = effect("Gd1:u");
    for sale in 0..small {
        let name = format!("small{sale}");
        conn.check(&[(&format!("SECKILL.INIT {name} 5"), "+OK")]);
        let words = [b"SECKILL.APPLY", name.as_bytes(), b"1", &held];
        assert_eq!(conn.ask(&words).to_string(), "+OK");
    }
    assert_eq!(server.info("seckill", "seckill_holds"), (big + small).to_string());
    let last_due = number(&mut conn, &format!("small{}", small - 1), "next_deadline");
    wait_for_clock(&mut conn, last_due);
    let mut listener = server.conn();
    listener.cmd("SUBSCRIBE __keyevent@0__:seckill.expire");
    assert_eq!(conn.call("CONFIG SET notify-keyspace-events Ed"), "+OK");
    assert_eq!(conn.call("CONFIG SET seckill.sweep-interval-ms 10"), "+OK");
    let mut turns_of_big = 0;
    let mut settled = 0;
    while settled < small {
        let message = listener.read().expect("a message");
        match message.items()[2].text().as_str() {
            "big" => turns_of_big += 1,
            _ => settled += 1,
        }
    }
    assert!(turns_of_big <= 20, "big had {turns_of_big} turns before all others had theirs");
    wait_until_settled(&server, "all");
    for key in ["big", "small0", "small99"] {
        server.assert_sound(key);
    }
}

/// While writes are paused nothing expires; afterwards all due holds do. A timer that replicates
/// during the pause would crash the server.
#[test]
fn a_pause_of_writes_is_kept() {
    let (server, replica) = Server::pair();
    let mut conn = server.conn();
    conn.check(&[("SECKILL.INIT k 300 HOLD 400 OUTBOX s", "+OK")]);
    for step in 0..200 {
        conn.cmd(&format!("SECKILL.GRAB k u{step}"));
    }
    let last = conn.cmd("SECKILL.USER k u199").items()[2].items()[0].items()[5].int();
    assert_eq!(conn.call("CLIENT PAUSE 2000 WRITE"), "+OK");
    let held = number(&mut conn, "k", "held");
    assert!(held > 0, "the pause began in time");
    wait_for_clock(&mut conn, last + 500);
    assert_eq!(number(&mut conn, "k", "held"), held, "nothing expires in a pause");
    let mut buyer = server.conn();
    buyer.send(&["SECKILL.CONFIRM", "k", "u199"]).expect("sent");
    assert_eq!(buyer.read().expect("a reply, after the pause").to_string(), "['EXPIRED' 200 1 0]");
    wait_for_no_holds(&server, "k");
    assert_eq!(counter(&mut conn, "k", "expired"), 200);
    assert_whole(&entries(&mut conn, "s"));
    replica.assert_follows(&server, &["k", "s"]);
}
