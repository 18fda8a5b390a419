//! Every word of every call is replaced, removed or repeated. The reply is an error that the docs
//! list for the command. No data and no counter of an outcome changes.

use super::errors::assert_listed;
use crate::support::calls::EVERY_OPTION;
use crate::support::client::{encode, words};
use crate::support::{valgrind, Conn, Reply, Server};

/// Wrong words for an argument. No command accepts any of them as a number.
const WRONG: [&[u8]; 8] =
    [b"", b"1\0", b" 1", b"-1", b"01", b"1.5", b"9007199254740992", b"\xff%s"];

type Words<'a> = Vec<&'a [u8]>;

/// The call with one error, in every way: a word replaced, missing, repeated or swapped with the
/// next one; the end cut off; an option repeated; further words added.
fn spoiled<'a>(call: &Words<'a>, huge: &'a [u8]) -> Vec<Words<'a>> {
    let mut all = Vec::new();
    for place in 1..call.len() {
        for wrong in WRONG.iter().copied().chain([huge]) {
            let mut one = call.clone();
            one[place] = wrong;
            all.push(one);
        }
        all.push([&call[..place], &call[place + 1..]].concat());
        all.push([&call[..=place], &call[place..]].concat());
        all.push(call[..place].to_vec());
        // The part from an option to the end once more.
        all.push([&call[..], &call[place..]].concat());
        let mut swapped = call.clone();
        swapped.swap(place, call.len().min(place + 2) - 1);
        all.push(swapped);
    }
    for further in ["COLOUR", "LIMIT", "REQ", "SEQ", "COUNT", "STATE", "DRAW", "MOD", "OUTBOX"] {
        all.push([&call[..], &[further.as_bytes()]].concat());
    }
    all
}

/// Sends a call. Returns its reply, with a digest of all keys and the counters of INFO.
fn ask(conn: &mut Conn, call: &Words<'_>) -> (Reply, String) {
    let calls = [encode(call), encode(&["DEBUG", "DIGEST"]), encode(&["INFO", "seckill"])];
    let replies = conn.pipeline(&calls).expect("the server lives");
    let counters = replies[2].text();
    // The expiry lag is not the count of an outcome.
    let counters = counters.lines().filter(|line| !line.contains("expiry_lag"));
    let picture = counters.fold(replies[1].to_string(), |picture, line| picture + "\n" + line);
    (replies[0].clone(), picture)
}

#[test]
fn a_mistake_is_a_listed_error_and_changes_nothing() {
    let (server, mut conn) = Server::start().with_conn();
    conn.check(&[
        ("SET string x", "+OK"),
        ("SECKILL.INIT k 100 LIMIT 9 HOLD 900000 OUTBOX s", "+OK"),
        ("SECKILL.INIT l 100 LIMIT 9", "+OK"),
        ("SECKILL.INIT p 50 PART 0 OF 2 SPLIT x TOTAL 100", "+OK"),
    ]);
    for req in ["r", "r2", "r3"] {
        assert!(!conn.cmd(&format!("SECKILL.GRAB k u REQ {req}")).is_error());
    }
    let huge = vec![b'9'; 1 << 20];
    // A slow server gets fewer calls, spread over all kinds and places.
    let step = if valgrind::is_on() { 9 } else { 1 };
    let (mut calls, mut mistakes) = (0, 0);
    let mut before = ask(&mut conn, &words("PING")).1;
    for line in EVERY_OPTION {
        for call in spoiled(&words(line), &huge).into_iter().step_by(step) {
            calls += 1;
            let shown = || {
                let word = |word: &&[u8]| word[..word.len().min(40)].escape_ascii().to_string();
                call.iter().map(word).collect::<Vec<_>>().join(" ")
            };
            let (reply, after) = ask(&mut conn, &call);
            if !reply.is_error() {
                // INIT may have created a sale at another key, perhaps with a huge name.
                let makes = line.starts_with("SECKILL.INIT") && call[1] != b"k";
                before = if makes { ask(&mut conn, &vec![b"DEL", call[1]]).1 } else { after };
                continue;
            }
            mistakes += 1;
            let text = reply.to_string();
            if !text.starts_with("-ERR wrong number of arguments for ") {
                assert_listed(line, &text);
            }
            let is_apply = line.starts_with("SECKILL.APPLY");
            assert!(
                after == before || is_apply && same_but_refused(&after, &before),
                "{}",
                shown()
            );
            before = after;
        }
    }
    assert!(calls * step > 2500 && mistakes > calls / 2, "{mistakes} of {calls}");
    for key in ["k", "l", "p"] {
        server.assert_sound(key);
    }
}

/// Whether only the counter of refused APPLYs has changed.
fn same_but_refused(after: &str, before: &str) -> bool {
    let others = |picture: &str| -> Vec<String> {
        let lines = picture.lines().filter(|line| !line.contains("apply_refused"));
        lines.map(str::to_owned).collect()
    };
    others(after) == others(before)
}
