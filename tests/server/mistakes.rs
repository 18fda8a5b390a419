//! Every word of every call, wrong in every way. A mistake is an error that the docs list for the
//! command, and nothing in the whole data set changes, nor does any counter of an outcome.

use super::errors::assert_listed;
use crate::support::calls::EVERY_OPTION;
use crate::support::client::{encode, words};
use crate::support::{valgrind, Conn, Reply, Server};

/// Wrong words in the place of an argument. None is a number that a command takes.
const WRONG: [&[u8]; 8] =
    [b"", b"1\0", b" 1", b"-1", b"01", b"1.5", b"9007199254740992", b"\xff%s"];

type Words<'a> = Vec<&'a [u8]>;

/// The call with one thing wrong, in every way: a word that is something else, missing, twice, or
/// in the place of its neighbour; an end that is missing; an option twice; words too many.
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
        // From an option on to the end, once more.
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

/// The result of a call: its reply, then a digest of all keys and the counters of INFO.
fn ask(conn: &mut Conn, call: &Words<'_>) -> (Reply, String) {
    let calls = [encode(call), encode(&["DEBUG", "DIGEST"]), encode(&["INFO", "seckill"])];
    let replies = conn.pipeline(&calls).expect("the server lives");
    let counters = replies[2].text();
    // The sweeper's lag is no outcome.
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
    // A slow server is asked fewer, of every kind and in every place by turns.
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
                // A sale that INIT made at another key is in the way, and its name may be huge.
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

/// A refused APPLY is counted.
fn same_but_refused(after: &str, before: &str) -> bool {
    let others = |picture: &str| -> Vec<String> {
        let lines = picture.lines().filter(|line| !line.contains("apply_refused"));
        lines.map(str::to_owned).collect()
    };
    others(after) == others(before)
}
