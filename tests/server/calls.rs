//! The calls from which every test that says "every command" takes its list, and that these lists
//! are the module's table.

use seckill::command::table::TABLE;
use seckill::command::vocabulary::{Arg, Spec};

use crate::support::calls::ONE_EACH;

/// Calls that are in order, with every option of every command. Where they name a period, no round
/// ends while a test runs, and no hold runs out.
pub const EVERY_OPTION: &[&str] = &[
    "SECKILL.INIT k 100 LIMIT 9 GRABS 9 HOLD 900000 OPENAT 100000000001 CLOSEAT 4102444800000 OUTBOX s \
     ALLOWLIST OFF MOD 2 0 1 SAMPLE 999 SALT x ADMIT 0 MASK OFF WAITLIST 9 OFFER 800000 OVERTAKE 5",
    "SECKILL.INIT new 9 DRAW PACKETS 3 MIN 2 EVERY 140737488355327 OFFSET 5 LASTS 6 CARRY",
    "SECKILL.INIT new 9 DRAW UNIFORM 1 5",
    "SECKILL.INIT new 9 DRAW EQUAL 3",
    "SECKILL.INIT new 9 DRAW LIST 4 5",
    "SECKILL.INIT new 9 PART 1 OF 3 SPLIT x TOTAL 30",
    "SECKILL.INIT n 9 NUMBERED",
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
    "SECKILL.GRAB n u QTY 1 ADJACENT REQ r",
    "SECKILL.GRAB n v UNITS 5 REQ r",
    "SECKILL.GRAB k u QTY 1 REQ r WAIT UNTIL 4102444800000",
    "SECKILL.CONFIRM k u SEQ 1 RECLAIM",
    "SECKILL.CONFIRM k u REQ r RECLAIM",
    "SECKILL.CONFIRM k u REQ r KEEP 1",
    "SECKILL.CONFIRM n v REQ r KEEP UNITS 5",
    "SECKILL.CANCEL k u SEQ 2 KEEP 1",
    "SECKILL.CANCEL n v REQ r KEEP UNITS 5",
    "SECKILL.CANCEL k u SEQ 2",
    "SECKILL.CANCEL k u REQ fence",
    "SECKILL.EXTEND k u 900000 SEQ 1",
    "SECKILL.EXTEND k u 900000 REQ r",
    "SECKILL.REFUND k u SEQ 2 KEEP 1",
    "SECKILL.REFUND n v REQ r KEEP UNITS 5",
    "SECKILL.REFUND k u SEQ 2",
    "SECKILL.REFUND k u REQ r",
    "SECKILL.IMPORT k u 1 REQ i AT 100000000005 NODEFICIT",
    "SECKILL.IMPORT n u 1 UNITS 7 REQ i",
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
    "SECKILL.UNITS n 1 COUNT 2",
    "SECKILL.UNIT n 1",
    "SECKILL.HELP",
    "SECKILL.HELP GRAB",
    "SECKILL.APPLY k 1 gu",
];

/// The entry of the table that a call belongs to.
pub fn spec_of(call: &str) -> &'static Spec {
    let name = call.split(' ').next().unwrap_or_default();
    TABLE.iter().find(|spec| spec.name == name).expect("a command of the table")
}

/// Whether the call is one of those that callers change a sale by.
pub fn changes_a_sale(call: &str) -> bool {
    let spec = spec_of(call);
    spec.flags.starts_with("write") && !spec.internal
}

#[test]
fn every_command_has_its_call() {
    let names: Vec<_> = TABLE.iter().map(|spec| spec.name).collect();
    let called: Vec<_> = ONE_EACH.iter().map(|call| spec_of(call).name).collect();
    assert_eq!(called, names);
    for call in ONE_EACH {
        let key = call.split(' ').position(|word| word == "@");
        let spec = spec_of(call).keys.first();
        let at = spec.map(|key| key.pos as usize + usize::from(key.counted));
        assert_eq!(key, at, "{call}");
    }
}

#[test]
fn every_option_of_every_command_is_among_the_calls() {
    fn tokens(arg: &Arg) -> Vec<&'static str> {
        arg.children.iter().flat_map(tokens).chain(arg.token).collect()
    }
    for spec in &TABLE {
        let calls: Vec<_> =
            EVERY_OPTION.iter().filter(|call| call.split(' ').next() == Some(spec.name)).collect();
        assert!(!calls.is_empty(), "{}", spec.name);
        for token in spec.args.iter().flat_map(tokens) {
            let has = |call: &&&str| call.split(' ').any(|word| word == token);
            assert!(calls.iter().any(has), "{} {token}", spec.name);
        }
    }
}
