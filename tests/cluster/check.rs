//! Compares the buyers' answers with the final sales of the cluster.

use std::collections::HashMap;

use crate::buyers::{History, Told, SALE, STREAM};
use crate::routed::Routed;
use crate::support::shop::{assert_whole, entry, Entry};
use crate::support::{wait_until, Reply, Server};

/// A grant in WINNERS.
pub struct Row {
    pub seq: i64,
    pub user: String,
    pub qty: i64,
    pub state: String,
}

/// Counts that are no broken promises in themselves.
#[derive(Debug, Default)]
pub struct Found {
    /// Number of orders with an answer.
    pub told: usize,
    /// Number of these orders that the cluster lacks or has in an earlier state.
    pub lost: usize,
    /// Grants whose buyer got no answer about them.
    pub unheard: usize,
    pub grants: usize,
}

/// Checks the rules that hold after any fault, and counts lost orders.
///
/// Every row belongs to an order; seqs are consecutive; live units equal held plus sold; no user is
/// over `limit`; the outbox has each change once; AUDIT finds no difference.
#[track_caller]
pub fn check(client: &mut Routed, history: &History, limit: i64) -> Found {
    let rows = rows_of(client, SALE);
    for (place, (_, row)) in sorted(&rows).into_iter().enumerate() {
        assert_eq!(row.seq, place as i64 + 1, "seqs run without a gap");
    }
    check_sums(client, &rows, limit);
    check_outbox(client, rows.len());
    check_end(client, SALE, STREAM);
    let is_lost = |(req, told): &(&String, &Told)| {
        told.is_kept && !rows.get(*req).is_some_and(|row| stands(row, told))
    };
    Found {
        told: history.orders.values().filter(|told| told.is_kept).count(),
        lost: history.orders.iter().filter(is_lost).count(),
        unheard: rows.keys().filter(|req| !history.orders.contains_key(*req)).count(),
        grants: rows.len(),
    }
}

fn sorted(rows: &HashMap<String, Row>) -> Vec<(&String, &Row)> {
    let mut rows: Vec<_> = rows.iter().collect();
    rows.sort_by_key(|(_, row)| row.seq);
    rows
}

/// Whether a grant still has the state of the buyer's answer. A hold may have expired since then.
fn stands(row: &Row, told: &Told) -> bool {
    let same = (row.seq, row.qty, &row.user) == (told.seq, told.qty, &told.user);
    let ran_out = told.state == "HELD" && row.state == "EXPIRED";
    same && (row.state == told.state || ran_out || told.in_doubt.as_ref() == Some(&row.state))
}

/// All grants of a sale by REQ. Fails if two have one REQ.
#[track_caller]
pub fn rows_of(client: &mut Routed, sale: &str) -> HashMap<String, Row> {
    let mut rows = HashMap::new();
    let mut cursor = 0;
    loop {
        let page = client.cmd(&format!("SECKILL.WINNERS {sale} {cursor} COUNT 10000 STATE ALL"));
        for row in page.items()[1].items() {
            let text = |place: usize| row.items()[place].text();
            let number = |place: usize| row.items()[place].int();
            let (seq, user, qty, state) = (number(0), text(1), number(2), text(3));
            let before = rows.insert(text(6), Row { seq, user, qty, state });
            assert!(before.is_none(), "the order {} was granted twice", text(6));
        }
        cursor = page.items()[0].int();
        if cursor == 0 {
            return rows;
        }
    }
}

#[track_caller]
fn check_sums(client: &mut Routed, rows: &HashMap<String, Row>, limit: i64) {
    let mut by_user: HashMap<&str, i64> = HashMap::new();
    let (mut held, mut sold) = (0, 0);
    for row in rows.values() {
        match row.state.as_str() {
            "HELD" => held += row.qty,
            "SOLD" => sold += row.qty,
            _ => continue,
        }
        *by_user.entry(&row.user).or_default() += row.qty;
    }
    if limit > 0 {
        assert!(by_user.values().all(|units| *units <= limit), "a user is over the limit");
    }
    let status = client.cmd(&format!("SECKILL.STATUS {SALE}"));
    assert_law(&status);
    // Holds may expire between the two reads.
    let now = (status.field("held").int(), status.field("sold").int());
    assert!(now.1 == sold && now.0 <= held, "{held} held and {sold} sold are listed: {status}");
    let audit = client.cmd(&format!("SECKILL.AUDIT {SALE}"));
    assert_eq!(audit.field("ok"), Reply::Int(1), "{audit}");
}

/// Checks the law of units in a reply of STATUS.
#[track_caller]
pub fn assert_law(status: &Reply) {
    let [supply, available, held, sold] =
        ["supply", "available", "held", "sold"].map(|name| status.field(name).int());
    assert!(available >= 0 && held >= 0 && sold >= 0, "{status}");
    assert_eq!(supply, available + held + sold, "{status}");
}

/// All entries of an outbox.
#[track_caller]
pub fn entries_of(client: &mut Routed, stream: &str) -> Vec<Entry> {
    client.cmd(&format!("XRANGE {stream} - +")).items().iter().map(entry).collect()
}

#[track_caller]
fn check_outbox(client: &mut Routed, grants: usize) {
    let entries = entries_of(client, STREAM);
    assert_whole(&entries);
    let is_grant = |one: &&Entry| one.text("event") == "GRANT";
    assert_eq!(entries.iter().filter(is_grant).count(), grants, "one entry a grant");
    assert_eq!(entries.first().map(|one| one.number("rev")), Some(1), "from the first change on");
}

/// Checks that the outbox ends with the sale's last change. Holds may expire meanwhile.
#[track_caller]
pub fn check_end(client: &mut Routed, sale: &str, stream: &str) {
    wait_until("the outbox ends where the sale does", || {
        let status = client.cmd(&format!("SECKILL.STATUS {sale}"));
        let last = client.cmd(&format!("XREVRANGE {stream} + - COUNT 1"));
        let last = last.items().first().map(entry);
        last.is_some_and(|last| {
            let names = ["rev", "supply", "available", "held", "sold"];
            names.iter().all(|name| last.number(name) == status.field(name).int())
        })
    });
}

/// Checks that two servers have equal sales.
#[track_caller]
pub fn assert_same(primary: &Server, replica: &Server) {
    replica.wait_in_sync(primary);
    let mut conn = replica.conn();
    assert_eq!(conn.call("READONLY"), "+OK");
    let digest = |reply: Reply| reply.items()[0].text();
    for key in [SALE, STREAM] {
        let line = format!("DEBUG DIGEST-VALUE {key}");
        assert_eq!(digest(conn.cmd(&line)), primary.digest(key), "{key}");
    }
    replica.assert_took_all();
}
