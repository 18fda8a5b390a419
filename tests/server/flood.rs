//! Hash flooding. Buyers choose their ids, so ids that collide in a known hash must cost no more
//! than others. The test compares the server's time for a GRAB.

use std::fmt::Write;

use siphasher::sip::SipHasher13;

use crate::support::client::encode;
use crate::support::{Options, Random};

const BATCH: usize = 1000;
/// Largest allowed ratio between crafted and random ids. Colliding ids would need hundreds of times
/// as long; smaller differences are noise of a busy machine.
const RATIO_MAX: f64 = 3.0;
const ATTEMPTS: usize = 4;

/// A family of ids that collide in some hash.
type Family = (&'static str, fn(usize) -> Vec<Vec<u8>>);

const FAMILIES: [Family; 6] = [
    ("in sequence", in_sequence),
    ("with a common head of 200 bytes", common_head),
    ("of the same bytes in another order", same_bytes),
    ("equal under h * 31 + byte, in all 64 bits", equal_polynomial),
    ("equal under FNV-1a in all 32 bits", equal_fnv),
    ("equal under SipHash without a key in the leading bits", equal_siphash),
];

/// Random digit ids of equal lengths, at least long enough to differ.
fn random_ids(like: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut random = Random(7);
    let id = |like: &Vec<u8>| {
        let digits =
            (0..like.len().div_ceil(16).max(1)).map(|_| format!("{:016x}", random.number()));
        let mut id = digits.collect::<String>().into_bytes();
        id.truncate(like.len().max(16));
        id
    };
    like.iter().map(id).collect()
}

fn in_sequence(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| number.to_string().into_bytes()).collect()
}

fn common_head(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| format!("{}{number:016}", "x".repeat(200)).into_bytes()).collect()
}

/// The sums of bytes are equal: each bit is a one and a zero in either order.
fn same_bytes(count: usize) -> Vec<Vec<u8>> {
    combinations(count, b"01", b"10")
}

/// `Aa` and `BB` have an equal value of h * 31 + byte, and so have all strings made of them.
fn equal_polynomial(count: usize) -> Vec<Vec<u8>> {
    combinations(count, b"Aa", b"BB")
}

/// All strings made of 20 pieces, each one of two.
fn combinations(count: usize, zero: &[u8], one: &[u8]) -> Vec<Vec<u8>> {
    let piece = |number: usize, bit: usize| if number >> bit & 1 == 1 { one } else { zero };
    (0..count).map(|number| (0..20).flat_map(|bit| piece(number, bit).to_vec()).collect()).collect()
}

fn fnv(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Multicollisions (Joux, 2004): 20 pairs of pieces that lead from one state to one next state.
fn equal_fnv(count: usize) -> Vec<Vec<u8>> {
    let mut state = 0x811c_9dc5;
    let mut stages: Vec<[[u8; 8]; 2]> = Vec::new();
    let mut random = Random(11);
    for _ in 0..20 {
        let mut seen = std::collections::HashMap::new();
        loop {
            let piece = random.number().to_le_bytes();
            let next = fnv(state, &piece);
            if let Some(other) = seen.insert(next, piece).filter(|other| *other != piece) {
                stages.push([other, piece]);
                state = next;
                break;
            }
        }
    }
    let id = |number: usize| {
        let pieces = stages.iter().enumerate().map(|(bit, pair)| pair[number >> bit & 1]);
        pieces.flatten().collect()
    };
    (0..count).map(id).collect()
}

/// The index uses the leading bits of SipHash-1-3. With key 0 these ids share five bits and come in
/// descending order, the worst case for a sorted table.
fn equal_siphash(count: usize) -> Vec<Vec<u8>> {
    let hash = |id: &Vec<u8>| SipHasher13::new().hash(id);
    let ids = (0..).map(|number: usize| number.to_string().into_bytes());
    let mut ids: Vec<Vec<u8>> = ids.filter(|id| hash(id) >> 59 == 0).take(count).collect();
    ids.sort_by_key(|id| std::cmp::Reverse(hash(id)));
    ids
}

/// Average microseconds of server time for a GRAB. Each of `ids` is a user and its REQ, and each
/// order is sent again at the end.
fn us_per_grab(ids: &[Vec<u8>]) -> f64 {
    let (server, mut conn) = Options::new().line("latency-tracking no").start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 100000000 LIMIT 1"), "+OK");
    for outcome in ["GRANTED", "REPLAY"] {
        for batch in ids.chunks(BATCH) {
            let req = |id: &[u8]| id[id.len().saturating_sub(128)..].to_vec();
            let call = |id: &Vec<u8>| encode(&[&b"SECKILL.GRAB"[..], b"k", id, b"REQ", &req(id)]);
            let calls: Vec<Vec<u8>> = batch.iter().map(call).collect();
            for reply in conn.pipeline(&calls).expect("the server lives") {
                assert_eq!(reply.items()[0].bytes(), outcome.as_bytes());
            }
        }
    }
    server.assert_sound("k");
    let stats = conn.info("commandstats", "cmdstat_SECKILL.GRAB");
    let field = stats.split(',').find_map(|field| field.strip_prefix("usec_per_call="));
    field.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no time in {stats}"))
}

/// Checks that every family of `count` ids needs about the time of random ids. Prints the times.
pub fn flood(count: usize) {
    let mut report = String::new();
    for (name, family) in FAMILIES {
        let ids = family(count);
        let (mut flooded, mut plain) = (f64::MAX, f64::MAX);
        for _ in 0..ATTEMPTS {
            flooded = flooded.min(us_per_grab(&ids));
            plain = plain.min(us_per_grab(&random_ids(&ids)));
            if flooded < plain * RATIO_MAX {
                break;
            }
        }
        let _ = writeln!(report, "{count} ids {name}: {flooded} us, random ids {plain} us");
        assert!(flooded < plain * RATIO_MAX, "{report}");
    }
    eprint!("{report}");
}

#[test]
fn crafted_ids_cost_no_more_than_others() {
    flood(100_000);
}

#[test]
fn the_families_are_what_they_say() {
    let polynomial = |id: &Vec<u8>| {
        id.iter().fold(0_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(*byte)))
    };
    let ids = equal_polynomial(1000);
    assert!(ids.iter().all(|id| polynomial(id) == polynomial(&ids[0])));
    let ids = equal_fnv(1000);
    assert!(ids.iter().all(|id| fnv(0x811c_9dc5, id) == fnv(0x811c_9dc5, &ids[0])));
    for (name, family) in FAMILIES {
        let mut ids = family(5000);
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 5000, "{name}: all differ");
    }
}
