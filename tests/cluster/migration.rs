//! Moves the slot of a sale between primaries while buyers buy. Every server version can move keys
//! one by one; then sale and stream are on different nodes for a short time. Newer servers move a
//! whole slot, Redis and Valkey by different commands.

use std::sync::atomic::Ordering;

use crate::buyers::{Run, SALE, STREAM};
use crate::check::{assert_law, assert_same, check};
use crate::nodes::Cluster;
use crate::routed::Routed;
use crate::support::{wait_until, Server};

const SUPPLY: i64 = 6000;
const LIMIT: i64 = 3;
const USERS: u64 = 5000;
const MOVES: usize = 12;
/// Answers between two steps of a move, so that every step meets calls.
const CALLS_BETWEEN: u64 = 300;

/// A way to move a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    SaleFirst,
    StreamFirst,
    Together,
    /// By one command of Redis 8.4 or newer.
    RedisWhole,
    /// By one command of Valkey 9 or newer.
    ValkeyWhole,
}

/// All ways that this server supports.
pub fn ways(server: &Server) -> Vec<How> {
    let mut ways = vec![How::SaleFirst, How::StreamFirst, How::Together];
    for (name, how) in
        [("cluster|migration", How::RedisWhole), ("cluster|migrateslots", How::ValkeyWhole)]
    {
        if server.call(&format!("COMMAND INFO {name}")) != "[nil]" {
            ways.push(how);
        }
    }
    ways
}

/// One move of a slot.
pub struct Move<'a> {
    pub cluster: &'a Cluster,
    pub slot: i64,
    /// The sale and its stream.
    pub keys: [&'a str; 2],
    pub from: &'a Server,
    pub to: &'a Server,
    /// Node ids of the old and the new owner.
    pub ids: [String; 2],
    /// Lets buyers buy for a short time.
    pub let_buy: &'a dyn Fn(),
}

impl Move<'_> {
    /// Moves the slot and waits until all nodes know the new owner.
    pub fn make(&self, how: How) {
        match how {
            How::RedisWhole | How::ValkeyWhole => self.as_a_whole(how),
            _ => self.piece_by_piece(how),
        }
        self.settle();
    }

    /// Waits for some time in which buyers may get only TRYAGAIN.
    fn let_try(&self) {
        let before = self.from.clock_ms();
        wait_until("some milliseconds are over", || self.from.clock_ms() > before + 20);
    }

    fn migrate(&self, keys: &str) {
        let line = format!("MIGRATE 127.0.0.1 {} \"\" 0 20000 KEYS {keys}", self.to.port());
        let words: Vec<&str> = line.split(' ').map(|w| if w == "\"\"" { "" } else { w }).collect();
        assert_eq!(self.from.conn().ask(&words).to_string(), "+OK", "{line}");
    }

    fn piece_by_piece(&self, how: How) {
        let (slot, [from_id, to_id], [sale, stream]) = (self.slot, &self.ids, self.keys);
        let importing = format!("CLUSTER SETSLOT {slot} IMPORTING {from_id}");
        assert_eq!(self.to.call(&importing), "+OK");
        let migrating = format!("CLUSTER SETSLOT {slot} MIGRATING {to_id}");
        assert_eq!(self.from.call(&migrating), "+OK");
        (self.let_buy)();
        match how {
            How::SaleFirst => [sale, stream].map(|key| self.one_key(key)),
            How::StreamFirst => [stream, sale].map(|key| self.one_key(key)),
            _ => [self.migrate(&format!("{sale} {stream}")), ()],
        };
        (self.let_buy)();
        for node in [self.to, self.from] {
            assert_eq!(node.call(&format!("CLUSTER SETSLOT {slot} NODE {to_id}")), "+OK");
        }
    }

    fn one_key(&self, key: &str) {
        self.migrate(key);
        self.let_try();
    }

    fn as_a_whole(&self, how: How) {
        let (slot, [_, to_id]) = (self.slot, &self.ids);
        let (node, line) = match how {
            How::RedisWhole => (self.to, format!("CLUSTER MIGRATION IMPORT {slot} {slot}")),
            _ => (self.from, format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {to_id}")),
        };
        let reply = node.cmd(&line);
        assert!(!reply.is_error(), "{line}: {reply}");
    }

    /// Waits until all nodes name the new owner and buyers get answers there.
    fn settle(&self) {
        let ranges = |server: &Server| server.cmd("CLUSTER SLOTS").items().to_vec();
        let owner = |server: &Server| {
            let ranges = ranges(server);
            let holds = ranges.iter().find(|range| {
                (range.items()[0].int()..=range.items()[1].int()).contains(&self.slot)
            });
            holds.map(|range| range.items()[2].items()[1].int())
        };
        for node in &self.cluster.nodes {
            wait_until("all know the new owner", || owner(node) == Some(i64::from(self.to.port())));
        }
        (self.let_buy)();
    }
}

/// Creates a sale in a cluster before any buyer starts.
pub fn open_sale(cluster: &Cluster, init: &str) {
    let mut client = Routed::new(&cluster.ports());
    for line in [format!("XGROUP CREATE {STREAM} shop 0 MKSTREAM"), init.to_owned()] {
        assert_eq!(client.cmd(&line).to_string(), "+OK", "{line}");
    }
}

#[test]
#[ignore = "starts six servers: make cluster-test"]
fn a_slot_moves_while_it_sells() {
    let cluster = Cluster::start(15_000);
    let init = format!("SECKILL.INIT {SALE} {SUPPLY} LIMIT {LIMIT} HOLD 300 OUTBOX {STREAM}");
    open_sale(&cluster, &init);
    let run = Run::new(cluster.ports(), USERS, false);
    let slot = cluster.slot(SALE);
    let mut owner = cluster.first_owner(slot);
    let ways = ways(&cluster.nodes[0]);
    let let_buy = || {
        let calls = run.calls.load(Ordering::SeqCst) + CALLS_BETWEEN;
        wait_until("buyers are served", || run.calls.load(Ordering::SeqCst) >= calls);
    };
    let history = run.during(|| {
        for number in 0..MOVES {
            let (how, next) = (ways[number % ways.len()], (owner + 1) % 3);
            let (from, to) = (&cluster.nodes[owner], &cluster.nodes[next]);
            let ids = [cluster.id(owner), cluster.id(next)];
            let keys = [SALE, STREAM];
            let step = Move { cluster: &cluster, slot, keys, from, to, ids, let_buy: &let_buy };
            step.make(how);
            let status = Routed::new(&cluster.ports()).cmd(&format!("SECKILL.STATUS {SALE}"));
            assert_law(&status);
            owner = next;
        }
    });
    let mut client = Routed::new(&cluster.ports());
    wait_until("no hold is left", || {
        client.cmd(&format!("SECKILL.STATUS {SALE}")).field("held").int() == 0
    });
    let found = check(&mut client, &history, LIMIT);
    let calls = run.calls.load(Ordering::SeqCst);
    println!(
        "migration: {MOVES} moves by {ways:?}: {calls} calls, {} grants, {} told to buyers, {} \
         lost, 0 doubled; {}; a buyer waited {} ms at most",
        found.grants,
        found.told,
        found.lost,
        history.detours,
        history.longest.as_millis()
    );
    assert_eq!((found.lost, found.unheard), (0, 0), "nothing is lost by moving");
    assert!(found.told > 1000 && history.detours.asked > 0 && history.detours.moved > 0);
    assert_same(&cluster.nodes[owner], &cluster.nodes[owner + 3]);
    for number in (0..3).filter(|number| *number != owner) {
        assert_eq!(cluster.nodes[number].info("seckill", "seckill_sales"), "0", "it moved away");
    }
}
