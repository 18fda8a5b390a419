//! A sale at its largest number of grants or entries. The test starts there, by the base of a
//! rewritten AOF in a late round, because 4,000,000,000 grants would take too long.

use seckill_domain::decide::decide_new;
use seckill_domain::effect::Change;
use seckill_domain::limits::{GRANTS_MAX, REV_LAST};
use seckill_domain::request::{Init, Now, Terms};
use seckill_domain::rounds::Schedule;
use seckill_domain::snapshot::Piece;
use seckill_domain::waitlist::WaitTerms;
use seckill_model::rebuild;

use crate::support::shop::{counter, number, state_of, wait_for_clock};
use crate::support::valgrind::slowed;
use crate::support::{wait_until, Options, Server};

const FULL: &str = "-ERR a sale has at most 4294967295 grants";
/// A round that lasts longer than the test.
const PERIOD_MS: u64 = 1_000_000_000_000;

const VERSION: usize = 0;
const REV: usize = 1;
const GRANTS: usize = 11;
const GRANTS_BEFORE: usize = 39;

/// The effect that creates a sale under `terms`, with other numbers at these indexes of its base.
fn begun(clock_ms: u64, supply: u64, terms: Terms, others: &[(usize, u64)]) -> Vec<u8> {
    let init = Init { supply, terms, amounts: Vec::new(), id: 1, secret: [7; 16] };
    let (_, sale) =
        decide_new(&init, &Now { clock_ms, node_epoch: clock_ms }, [1, 2]).expect("a sale");
    let base = rebuild::dump(&sale).swap_remove(0);
    let (head, mut numbers) = rebuild::numbers_of(&base);
    for (place, other) in others {
        assert_eq!(numbers[*place], u64::from(*place <= REV), "at {place}");
        numbers[*place] = *other;
    }
    let altered = rebuild::base_with(&head, &numbers);
    let piece = Piece::decode(&altered).expect("a base");
    let mut effect = Vec::new();
    Change::untimed(piece).encode(&mut effect);
    effect
}

#[test]
fn the_last_grant_is_made_and_none_after_it() {
    let (server, replica) = (Options::new().line("appendonly yes").start(), Server::start());
    replica.follow(&server);
    let mut conn = server.conn();
    let clock_ms = server.clock_ms() as u64;
    let schedule =
        Schedule { period_ms: PERIOD_MS, offset_ms: 0, lasts_ms: PERIOD_MS, carry: false };
    let terms = Terms { limit: 0, schedule: Some(schedule), ..Terms::default() };
    let grants = GRANTS_MAX - 2;
    let others = [(VERSION, grants + 1), (GRANTS, grants), (GRANTS_BEFORE, grants)];
    let effect = begun(clock_ms, 9, terms, &others);
    let words: [&[u8]; 4] = [b"SECKILL.APPLY", b"k", b"0", &effect];
    assert_eq!(conn.ask(&words).to_string(), "+OK");
    conn.check(&[
        ("SECKILL.INIT other 9 LIMIT 0", "+OK"),
        ("SECKILL.GRAB k a QTY 2 REQ o", "['GRANTED' 4294967294 2 'SOLD' 0 7]"),
        ("SECKILL.MGRAB b 2 other k", "['GRANTED' [1 1 'SOLD' 0 8] [4294967295 1 'SOLD' 0 6]]"),
    ]);
    let digests = || ["k", "other"].map(|key| server.digest(key));
    let before = digests();
    for line in ["GRAB k c", "GRAB k a QTY 1", "GRAB k c UPTO 3 REQ p", "MGRAB c 2 other k"] {
        assert_eq!(conn.call(&format!("SECKILL.{line}")), FULL, "{line}");
    }
    assert_eq!(digests(), before);
    conn.check(&[
        ("SECKILL.GRAB k a QTY 2 REQ o", "['REPLAY' 4294967294 2 'SOLD' 0]"),
        ("SECKILL.REFUND k b", "['REFUNDED' 4294967295 1 0]"),
        ("SECKILL.GRAB k c QTY 8", "['SHORT' 7]"),
    ]);
    assert_eq!(number(&mut conn, "k", "grants"), 4_294_967_295);
    assert_eq!(counter(&mut conn, "other", "attempts"), 1);
    replica.wait_in_sync(&server);
    assert_eq!(replica.digest("k"), server.digest("k"));
    assert_eq!(conn.call("DEBUG LOADAOF"), "+OK");
    assert_eq!(replica.digest("k"), server.digest("k"));
    server.assert_sound("k");
    assert_eq!(server.info("seckill", "seckill_apply_refused"), "0");
}

/// A batch of expiries that would need too many entries is made smaller. Background expiry retries
/// a sale that it could not change after a second, with or without calls.
#[test]
fn the_sweeper_comes_back_to_a_sale_near_its_last_entry() {
    let (server, mut conn) = Server::sleeping().with_conn();
    let waitlist = Some(WaitTerms { max: 1, offer_ms: 900_000, overtake: 0 });
    let mut hold_two = |key: &str, rev: u64| {
        let outbox = Some(format!("{key}:outbox").into_bytes().into());
        let terms = Terms { hold_ms: slowed(300).into(), waitlist, outbox, ..Terms::default() };
        let effect = begun(server.clock_ms() as u64, 2, terms, &[(REV, rev)]);
        let words: [&[u8]; 4] = [b"SECKILL.APPLY", key.as_bytes(), b"0", &effect];
        assert_eq!(conn.ask(&words).to_string(), "+OK");
        let deadlines = ["a", "b"].map(|user| {
            let granted = conn.cmd(&format!("SECKILL.GRAB {key} {user}"));
            granted.items()[4].int()
        });
        let waits = conn.call(&format!("SECKILL.GRAB {key} w REQ r WAIT UNTIL 0"));
        assert_eq!(waits, "['WAITING' 1 0 0]");
        (number(&mut conn, key, "rev") as u64, deadlines[1])
    };
    // One entry is left after this: two holds need two, so none is left for an offer.
    let entries = hold_two("other", 1).0 - 1;
    let (rev, due) = hold_two("k", REV_LAST - 1 - entries);
    assert_eq!(rev, REV_LAST - 1);
    assert_eq!(conn.call("DEL other"), "1");
    wait_for_clock(&mut conn, due);
    let begins = server.clock_ms();
    assert_eq!(conn.call("CONFIG SET seckill.sweep-interval-ms 1"), "+OK");
    let backlog = || server.info("seckill", "seckill_sweeper_backlog");
    wait_until("the sweeper has looked", || backlog() == "0");
    assert_eq!(number(&mut conn, "k", "held"), 2);
    assert_eq!(conn.call("CONFIG SET seckill.sweep-batch 1"), "+OK");
    wait_until("a hold is over", || server.info("seckill", "seckill_expired") == "1");
    assert!(server.clock_ms() >= begins + 900, "it is left alone for a while");
    assert_eq!(["a", "w"].map(|user| state_of(&mut conn, "k", user)), ["EXPIRED", "HELD"]);
    server.assert_sound("k");
}
