//! Compares the buyers' answers with the final state of all parts.

use std::collections::HashMap;
use std::fmt;

use super::buyers::{History, Order};
use super::view::View;
use super::{key, program, stream, ID, LIMIT, LOST, NAME, PARTS, SHARE, SUPPLY};
use crate::check::{check_end, entries_of, rows_of, Row};
use crate::nodes::Cluster;
use crate::routed::Routed;
use crate::support::shop::{assert_whole, Entry};
use crate::support::Reply;

/// Counts of a split whose parts all obey the law.
pub struct Found {
    sold: i64,
    grants: usize,
    kept: usize,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found { sold, grants, kept } = self;
        write!(
            f,
            "{sold} units of {SUPPLY} sold by {grants} grants, {kept} answers kept by a replica, \
             0 made, 0 lost, 0 over the limit, no SOLDOUT 0 before the last unit was sold"
        )
    }
}

/// Checks the whole split.
#[track_caller]
pub fn judge(cluster: &Cluster, history: &History, views: &[View]) -> Found {
    let mut client = Routed::new(&cluster.ports());
    let (mut sold, mut grants) = (0, 0);
    let mut by_user: HashMap<String, i64> = HashMap::new();
    for part in 0..PARTS.get().into() {
        let rows = rows_of(&mut client, &key(part));
        check_outbox(&mut client, part, rows.len());
        check_told(history, part, &rows);
        for row in rows.values().filter(|row| row.state == "SOLD") {
            sold += row.qty;
            *by_user.entry(row.user.clone()).or_default() += row.qty;
        }
        grants += rows.len();
        let audit = client.cmd(&format!("SECKILL.AUDIT {}", key(part)));
        assert_eq!(audit.field("ok"), Reply::Int(1), "{}: {audit}", key(part));
    }
    assert_eq!(sold, SUPPLY, "all is sold, and nothing that was not there");
    let over = by_user.iter().find(|(_, units)| **units > LIMIT);
    assert_eq!(over, None, "a user is over the limit");
    check_pairs(views);
    check_sold_out(history);
    let whole = format!("OK: {SUPPLY} units put in, 0 under way\n");
    assert_eq!(program::run(&cluster.ports(), &["audit", NAME]), whole);
    let is_kept = |order: &&Order| order.told.is_kept;
    Found { sold, grants, kept: history.orders.values().filter(is_kept).count() }
}

/// Checks that every sent unit was received once, and that no part has other units.
#[track_caller]
fn check_pairs(views: &[View]) {
    for (from, view) in views.iter().enumerate() {
        assert_eq!((view.put_in, view.deficit, view.elsewhere), (SHARE, 0, 0), "part {from}");
        for (to, peer) in views.iter().enumerate() {
            assert_eq!(view.sent[to], peer.received[from], "from part {from} to part {to}");
        }
    }
}

/// Checks that no grant is lost that a replica had. A lost part must have all paid orders again.
#[track_caller]
fn check_told(history: &History, part: usize, rows: &HashMap<String, Row>) {
    for (req, Order { told, .. }) in history.orders.iter().filter(|(_, one)| one.part == part) {
        let row = rows.get(req).filter(|row| (&row.user, row.qty) == (&told.user, told.qty));
        let stands = match row {
            Some(row) if told.state == "HELD" && row.state == "EXPIRED" => true,
            Some(row) => row.state == told.state || told.in_doubt.as_ref() == Some(&row.state),
            None => part == LOST && told.state != "SOLD",
        };
        let found = row.map(|row| row.state.as_str());
        assert!(stands || !told.is_kept, "{req} of part {part}: {told:?}, but it is {found:?}");
    }
}

/// Checks that the outbox has one entry for each grant, from the first change to the last.
#[track_caller]
fn check_outbox(client: &mut Routed, part: usize, grants: usize) {
    let entries = entries_of(client, &stream(part));
    let is = |event: &'static str| move |one: &Entry| one.text("event") == event;
    let begins = entries.iter().rposition(is("INIT")).expect("a beginning");
    assert_eq!(begins > 0, part == LOST, "part {part} was made again");
    let (before, since) = entries.split_at(begins);
    for life in [before, since] {
        assert_whole(life);
        assert!(life.first().is_none_or(|one| one.number("rev") == 1), "from the beginning on");
        assert!(life.iter().all(|one| one.text("sale") == key(part)));
    }
    let entered = since.iter().filter(|one| is("GRANT")(one) || is("IMPORT")(one)).count();
    assert_eq!(entered, grants, "one entry a grant in part {part} of {ID}");
    check_end(client, &key(part), &stream(part));
}

/// Checks that no unit moved after a buyer was told that nothing will come back.
#[track_caller]
fn check_sold_out(history: &History) {
    let told = history.sold_out.expect("somebody was told");
    let last = history.last_change.expect("somebody bought");
    assert!(last < told, "SOLDOUT 0 was told {:?} too early", last - told);
}
