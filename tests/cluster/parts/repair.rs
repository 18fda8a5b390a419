//! A part that is lost is made again, from its peers and from what the database knows.

use std::collections::BTreeMap;

use super::view::{read, View};
use super::{init, key, stream, ID, PARTS};
use crate::nodes::Cluster;
use crate::routed::Routed;
use crate::support::client::{encode, words};
use crate::support::shop::{entry, Entry};
use crate::support::Reply;

/// Orders that are paid, as a database has them that followed the outbox: user and units by REQ.
fn paid(client: &mut Routed, part: usize) -> BTreeMap<String, (String, i64)> {
    let mut paid = BTreeMap::new();
    let all = client.cmd(&format!("XRANGE {} - +", stream(part)));
    let entries: Vec<Entry> = all.items().iter().map(entry).collect();
    for one in entries.iter().filter(|one| one.has("req") && one.has("seq")) {
        let req = one.text("req").to_owned();
        match one.text("state") {
            "SOLD" => paid.insert(req, (one.text("user").to_owned(), one.number("qty"))),
            _ => paid.remove(&req),
        };
    }
    paid
}

/// Makes it again in one transaction; how many orders were imported.
#[track_caller]
pub fn repair(cluster: &Cluster, part: usize) -> usize {
    let mut client = Routed::new(&cluster.ports());
    let paid = paid(&mut client, part);
    let key = key(part);
    let mut lines = vec!["MULTI".to_owned(), init(part, 0), format!("SECKILL.PAUSE {key}")];
    for (req, (user, qty)) in &paid {
        lines.push(format!("SECKILL.IMPORT {key} {user} {qty} REQ {req}"));
    }
    lines.push(format!("SECKILL.RESTOCK {key} {} REQ share", super::SHARE));
    let others = (0..usize::from(PARTS.get())).filter(|peer| *peer != part);
    let peers: Vec<(usize, View)> = others.map(|peer| (peer, read(&mut client, peer))).collect();
    for (peer, view) in &peers {
        lines.push(format!("SECKILL.RECEIVE {key} {ID} {peer} {}", view.sent[part]));
    }
    for (peer, view) in &peers {
        lines.push(format!("SECKILL.SEND {key} {ID} {peer} {} OWED", view.received[part]));
    }
    lines.extend([format!("SECKILL.RESUME {key}"), "EXEC".to_owned()]);
    // Whoever has the slot: asking for the key says so.
    client.cmd(&format!("EXISTS {key}"));
    let node = &cluster.nodes[cluster.with_port(client.owner)];
    let commands: Vec<Vec<u8>> = lines.iter().map(|line| encode(&words(line))).collect();
    let replies = node.conn().pipeline(&commands).expect("replies");
    let done = replies.last().expect("that of EXEC");
    assert!(!done.is_error() && !done.items().iter().any(Reply::is_error), "{done}");
    paid.len()
}
