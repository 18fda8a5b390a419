//! The digest covers all replicated state: two sales have equal digests only if they are equal. All
//! tests that compare digests depend on that.

use std::collections::HashMap;

use seckill_model::shorthand::effect;

use crate::support::{Conn, Server};

const ID: &str = "identity";
const SECRET: &str = "sixteen secrets.";

/// An INIT and changes after it, as effects with fixed times.
fn script() -> Vec<String> {
    let init = format!("It1000e500s90l40g30h0o5c600000:{ID}{SECRET}");
    let effects = [
        "Gq2r3u1t5:reqalice",
        "gbob",
        "Ge501:bob",
        "Gr1:rbob",
        "Rp5a5t7:r1",
        "Rm9a9:r2",
        "P",
        "U",
        "Al41",
    ];
    std::iter::once(init).chain(effects.map(str::to_owned)).collect()
}

/// Changes of one thing each: the index of the effect, a part of its text, and the replacement.
const DIFFERENCES: [(&str, usize, &str, &str); 26] = [
    ("created_at", 0, "t1000", "t1001"),
    ("epoch of the first change", 0, "e500", "e499"),
    ("supply", 0, "s90", "s91"),
    ("limit", 0, "l40", "l39"),
    ("grabs", 0, "g30", "g31"),
    ("open_at", 0, "o5", "o6"),
    ("close_at", 0, "c600000", "c600001"),
    ("id", 0, ID, "Identity"),
    ("secret", 0, SECRET, "sixteen secrets!"),
    ("qty of a grant", 1, "q2", "q3"),
    ("request id of a grant", 1, "req", "rep"),
    ("where user and request id part", 1, "r3", "r4"),
    ("how the amount was asked for", 1, "u1", ""),
    ("time of a grant", 1, "t5", "t6"),
    ("user of a grant", 2, "gbob", "gbub"),
    ("epoch of a grant", 3, "e501", "e502"),
    ("that a grant began an epoch", 3, "Ge501:bob", "gbob"),
    ("that a grant has a request id", 4, "Gr1:rbob", "grbob"),
    ("delta of a restock", 5, "p5a5", "p6a6"),
    ("request id of a restock", 5, "r1", "r3"),
    ("T of a restock", 5, "t7", "t8"),
    ("asked of a restock that withdrew less", 6, "m9a9", "m10a9"),
    ("that the sale is paused", 8, "U", "P"),
    ("limit now", 9, "Al41", "Al42"),
    ("grabs now", 9, "Al41", "Al41g31"),
    ("window now", 9, "Al41", "Al41c600002"),
];

fn apply(conn: &mut Conn, key: &str, script: &[String]) {
    for (version, said) in script.iter().enumerate() {
        let follows = version.to_string();
        let words = [b"SECKILL.APPLY", key.as_bytes(), follows.as_bytes(), &effect(said)];
        assert_eq!(conn.ask(&words).to_string(), "+OK", "{version} {said}");
    }
}

#[test]
fn sales_that_differ_in_one_thing_have_different_digests() {
    let (server, mut conn) = Server::start().with_conn();
    let mut seen: HashMap<String, &str> = HashMap::new();
    apply(&mut conn, "k", &script());
    seen.insert(server.digest("k"), "the sale itself");
    for (what, place, part, other) in DIFFERENCES {
        let mut script = script();
        assert!(script[place].contains(part), "{what}");
        script[place] = script[place].replacen(part, other, 1);
        // The key name has the reason, because keys may have any name.
        apply(&mut conn, what, &script);
        let digest = conn.ask(&["DEBUG", "DIGEST-VALUE", what]).items()[0].text();
        if let Some(same) = seen.insert(digest, what) {
            panic!("sales that differ in {what} have the digest of {same}");
        }
    }
    let mut shorter = script();
    shorter.pop();
    apply(&mut conn, "shorter", &shorter);
    assert!(!seen.contains_key(&server.digest("shorter")), "one change less");
    let mut swapped = script();
    swapped.swap(5, 6);
    apply(&mut conn, "swapped", &swapped);
    assert!(!seen.contains_key(&server.digest("swapped")), "restocks in another order");
}

#[test]
fn equal_sales_have_equal_digests() {
    let (server, other) = (Server::start(), Server::start());
    let mut conn = server.conn();
    apply(&mut conn, "k", &script());
    apply(&mut conn, "another name", &script());
    apply(&mut other.conn(), "k", &script());
    let digest = server.digest("k");
    let named = conn.ask(&["DEBUG", "DIGEST-VALUE", "another name"]).items()[0].text();
    assert_eq!(named, digest, "the key's name is not part of the sale");
    assert_eq!(other.digest("k"), digest, "nor is what each process hashes with");
    for line in ["SECKILL.GRAB k bob QTY 40", "SECKILL.GRAB k eve QTY 80", "SECKILL.INIT k 3"] {
        conn.cmd(line);
    }
    assert_eq!(server.digest("k"), digest, "refusals are of one node");
    apply(&mut conn, "batch", &script()[..1]);
    let mut words = ["SECKILL.APPLY", "batch", "1"].map(|word| word.as_bytes().to_vec()).to_vec();
    words.extend(script()[1..].iter().map(effect));
    assert_eq!(conn.ask(&words).to_string(), "+OK");
    assert_eq!(server.digest("batch"), digest, "how changes were grouped leaves nothing");
}
