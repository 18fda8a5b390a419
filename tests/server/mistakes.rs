//! Every word of every call, wrong in every way. A mistake is an error that the docs list for the
//! command, and nothing in the whole data set changes, nor does any counter of an outcome.

use seckill::command::table::TABLE;
use seckill::command::vocabulary::Arg;

use super::errors::assert_listed;
use crate::support::client::{encode, words};
use crate::support::{valgrind, Conn, Reply, Server};

/// Calls that are in order, with every option of every command. Where they name a period, no round
/// ends while the test runs, and no hold runs out.
const CALLS: &[&str] = &[
    "SECKILL.INIT k 100 LIMIT 9 GRABS 9 HOLD 900000 OPENAT 100000000001 CLOSEAT 4102444800000 OUTBOX s \
     ALLOWLIST OFF MOD 2 0 1 SAMPLE 999 SALT x ADMIT 0 MASK OFF WAITLIST 9 OFFER 800000 OVERTAKE 5",
    "SECKILL.INIT new 9 DRAW PACKETS 3 MIN 2 EVERY 140737488355327 OFFSET 5 LASTS 6 CARRY",
    "SECKILL.INIT new 9 DRAW UNIFORM 1 5",
    "SECKILL.INIT new 9 DRAW EQUAL 3",
    "SECKILL.INIT new 9 DRAW LIST 4 5",
    "SECKILL.INIT new 9 PART 1 OF 3 SPLIT x TOTAL 30",
    "SECKILL.ALTER k LIMIT 8 GRABS 9 HOLD 800000 OPENAT 100000000002 CLOSEAT 0 OUTBOX s ALLOWLIST OFF MOD 0 \
     SAMPLE 1000 SALT x ADMIT 0 MASK OFF WAITLIST 8 OFFER 700000 OVERTAKE 4",
    "SECKILL.RESTOCK k 5 REQ r",
    "SECKILL.PAUSE k",
    "SECKILL.RESUME k",
    "SECKILL.AUDIT k",
    "SECKILL.ALLOW k ADD u v",
    "SECKILL.ALLOW k REMOVE u v",
    "SECKILL.DENY k ADD w",
    "SECKILL.DENY k REMOVE w",
    "SECKILL.MGRAB u 2 k l QTY 1 1 REQ both",
    "SECKILL.ROUNDS k COUNT 5",
    "SECKILL.GRAB k u QTY 1 REQ r",
    "SECKILL.GRAB k u UPTO 1",
    "SECKILL.GRAB k u QTY 1 REQ r WAIT UNTIL 4102444800000",
    "SECKILL.CONFIRM k u SEQ 1 RECLAIM",
    "SECKILL.CONFIRM k u REQ r RECLAIM",
    "SECKILL.CANCEL k u SEQ 2",
    "SECKILL.CANCEL k u REQ fence",
    "SECKILL.EXTEND k u 900000 SEQ 1",
    "SECKILL.EXTEND k u 900000 REQ r",
    "SECKILL.REFUND k u SEQ 2",
    "SECKILL.REFUND k u REQ r",
    "SECKILL.IMPORT k u 1 REQ i AT 100000000005 NODEFICIT",
    "SECKILL.STATUS k JSON",
    "SECKILL.USER k u COUNT 2",
    "SECKILL.WINNERS k 0 COUNT 2 STATE LIVE ROUND 1",
    "SECKILL.WINNERS k 0 STATE HELD",
    "SECKILL.WINNERS k 0 STATE SOLD",
    "SECKILL.WINNERS k 0 STATE CANCELLED",
    "SECKILL.WINNERS k 0 STATE EXPIRED",
    "SECKILL.WINNERS k 0 STATE REFUNDED",
    "SECKILL.WINNERS k 0 STATE ALL",
    "SECKILL.PLACE k u",
    "SECKILL.SEND p x 1 5 OWED",
    "SECKILL.RECEIVE p x 1 5",
    "SECKILL.ELSEWHERE p x 5 1",
    "SECKILL.PARTS p",
    "SECKILL.HOME u 4",
    "SECKILL.WAITERS k 0 COUNT 2",
    "SECKILL.HELP",
    "SECKILL.APPLY k 1 gu",
];

/// What stands where something else should. None is a number that a command takes.
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

/// What a call comes to: its reply, then a digest of all keys and what INFO counts.
fn ask(conn: &mut Conn, call: &Words<'_>) -> (Reply, String) {
    let calls = [encode(call), encode(&["DEBUG", "DIGEST"]), encode(&["INFO", "seckill"])];
    let replies = conn.pipeline(&calls).expect("the server lives");
    let counters = replies[2].text();
    // What the sweeper is about to do is no outcome.
    let counters = counters.lines().filter(|line| !line.contains("expiry_lag"));
    let picture = counters.fold(replies[1].to_string(), |picture, line| picture + "\n" + line);
    (replies[0].clone(), picture)
}

#[test]
fn a_mistake_is_a_listed_error_and_changes_nothing() {
    let server = Server::start();
    let mut conn = server.conn();
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
    for line in CALLS {
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

#[test]
fn every_option_of_every_command_is_among_the_calls() {
    fn tokens(arg: &Arg) -> Vec<&'static str> {
        arg.children.iter().flat_map(tokens).chain(arg.token).collect()
    }
    for spec in &TABLE {
        let calls: Vec<_> =
            CALLS.iter().filter(|call| call.split(' ').next() == Some(spec.name)).collect();
        assert!(!calls.is_empty(), "{}", spec.name);
        for token in spec.args.iter().flat_map(tokens) {
            let has = |call: &&&str| call.split(' ').any(|word| word == token);
            assert!(calls.iter().any(has), "{} {token}", spec.name);
        }
    }
}
