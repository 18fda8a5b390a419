//! Repairs a lost part from its peers and from the orders in the database.

use std::collections::BTreeMap;
use std::fs;

use tempfile::NamedTempFile;

use super::{program, stream, NAME, OUTBOX, SHARE, SUPPLY, TERMS};
use crate::nodes::Cluster;
use crate::routed::Routed;
use crate::support::shop::{entry, Entry};

/// Paid orders in the form of a database that followed the outbox: user and units by REQ.
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

/// Repairs the part by `seckill split repair`; returns the number of imported orders.
#[track_caller]
pub fn repair(cluster: &Cluster, part: usize) -> usize {
    let paid = paid(&mut Routed::new(&cluster.ports()), part);
    let mut list = String::from("user,qty,req\n");
    for (req, (user, qty)) in &paid {
        list += &format!("{user},{qty},{req}\n");
    }
    let file = NamedTempFile::new().expect("a file");
    fs::write(file.path(), list).expect("the shop's list");
    let sold = file.path().to_str().expect("a name");
    let supply = SUPPLY.to_string();
    let beginning = ["--supply", &supply, "--outbox", OUTBOX, "--sold", sold];
    let terms: Vec<&str> = TERMS.split(' ').collect();
    let words = [&["repair", NAME], &beginning[..], &terms].concat();
    let told = program::run(&cluster.ports(), &words);
    let begins = format!("part {part}: {SHARE} units put in, ");
    assert!(told.starts_with(&begins) && told.ends_with("; it sells\n"), "{told}");
    paid.len()
}
