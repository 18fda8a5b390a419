//! Active defragmentation moves the blocks of a sale, too: those of the current round, of older
//! rounds and of user lists. Readers see no change.

use seckill_model::shorthand::effect;

use super::round_end::{hourly, send_to};
use crate::support::bulk::{base36, grow};
use crate::support::shop::number;
use crate::support::{skip, wait_until, Conn, Server};

const USERS: usize = 100_000;
/// Users that are added in one call, few enough that two sales grow side by side.
const AT_ONCE: usize = 1000;

fn count(server: &Server, names: [&str; 2]) -> i64 {
    let number = |name: &str| server.info("stats", name).parse::<i64>().expect("a number");
    names.map(number).iter().sum()
}

/// Blocks that the module offered to the server, moved or not. The server has no better place for
/// the largest blocks.
fn lent(server: &Server) -> i64 {
    count(server, ["active_defrag_hits", "active_defrag_misses"])
}

/// How often defragmentation has visited a key.
fn visits(server: &Server) -> i64 {
    count(server, ["active_defrag_key_hits", "active_defrag_key_misses"])
}

/// Adds winners and list users to two sales by turns, so that their blocks alternate.
fn fill(conn: &mut Conn, is_list: bool) {
    for start in (0..USERS).step_by(AT_ONCE) {
        for key in ["k", "gone"] {
            let names = (start..start + AT_ONCE).map(|number| format!("user:{number:012}"));
            let head = match is_list {
                true => ["SECKILL.ALLOW", key, "ADD"].map(String::from),
                false => ["SECKILL.APPLY".into(), key.into(), base36(1 + start)],
            };
            let mut words = head.map(String::into_bytes).to_vec();
            words.extend(names.map(|name| match is_list {
                true => name.into_bytes(),
                false => effect(&format!("g{name}")),
            }));
            assert!(!conn.ask(&words).is_error());
        }
    }
}

/// Lets the server visit its only key, `k`. Returns the number of offered blocks of each visit.
fn defragment(server: &Server, conn: &mut Conn) -> i64 {
    let digest = server.digest("k");
    let before = (lent(server), visits(server));
    conn.check(&[("CONFIG SET activedefrag yes", "+OK")]);
    wait_until("the key was visited", || visits(server) >= before.1 + 3);
    conn.check(&[("CONFIG SET activedefrag no", "+OK")]);
    assert_eq!(server.digest("k"), digest);
    server.assert_sound("k");
    (lent(server) - before.0) / (visits(server) - before.1)
}

fn server_that_defragments() -> Option<Server> {
    let (server, mut conn) = Server::start().with_conn();
    for setting in ["ignore-bytes 1", "threshold-lower 1", "cycle-min 50", "cycle-max 75"] {
        if conn.cmd(&format!("CONFIG SET active-defrag-{setting}")).is_error() {
            return None;
        }
    }
    let is_able = !conn.cmd("CONFIG SET activedefrag yes").is_error();
    conn.cmd("CONFIG SET activedefrag no");
    let is_jemalloc = server.info("memory", "mem_allocator").starts_with("jemalloc");
    (is_able && is_jemalloc).then_some(server)
}

#[test]
fn blocks_of_older_rounds_and_of_lists_are_lent() {
    for is_list in [false, true] {
        let Some(server) = server_that_defragments() else {
            skip("this server does not defragment its memory");
            return;
        };
        let mut conn = server.conn();
        assert_eq!(conn.call("SECKILL.INIT gone 2000000"), "+OK");
        let start = hourly(&mut conn, "2000000");
        fill(&mut conn, is_list);
        if !is_list {
            send_to(&mut conn, start);
            assert_eq!(conn.call("SECKILL.RESUME k"), "+OK");
            assert_eq!(
                (number(&mut conn, "k", "round"), number(&mut conn, "k", "winners")),
                (1, 0)
            );
        }
        assert_eq!(conn.call("DEL gone"), "1");
        let blocks = defragment(&server, &mut conn);
        println!("{blocks} blocks were lent, list: {is_list}");
        assert!(blocks > 25, "{blocks} blocks were lent, list: {is_list}");
        let user = format!("user:{:012}", USERS - 1);
        let row = conn.cmd(&format!("SECKILL.USER k {user}"));
        assert_eq!(row.items()[2].items().len(), usize::from(!is_list), "{row}");
        assert_eq!(row.items()[1].text(), "OK");
        let next = conn.cmd("SECKILL.GRAB k another").items()[0].text();
        assert!(["GRANTED", "NOTOPEN"].contains(&next.as_str()), "{next}");
    }
}

/// The current round, whose blocks grow while they are moved.
#[test]
fn a_sale_can_be_sold_from_while_it_is_moved() {
    let Some(server) = server_that_defragments() else {
        skip("this server does not defragment its memory");
        return;
    };
    let mut conn = server.conn();
    for key in ["k", "gone"] {
        assert_eq!(conn.call(&format!("SECKILL.INIT {key} 2000000")), "+OK");
    }
    fill(&mut conn, false);
    conn.check(&[("DEL gone", "1"), ("CONFIG SET activedefrag yes", "+OK")]);
    grow(&mut conn, "k", USERS, 2 * USERS, |number| effect(&format!("guser:{number:012}")));
    wait_until("blocks were lent", || lent(&server) > 100);
    assert_eq!(number(&mut conn, "k", "winners"), 2 * USERS as i64);
    let already = conn.cmd(&format!("SECKILL.GRAB k user:{:012}", 7));
    assert_eq!(already.to_string(), "['ALREADY' 8 1 'SOLD' 0]");
    server.assert_sound("k");
}
