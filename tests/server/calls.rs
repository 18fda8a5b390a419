//! The calls that tests of every command use, and a test that the list agrees with the module's
//! table.

use seckill::command::table::TABLE;
use seckill::command::vocabulary::{Arg, Spec};

use crate::support::calls::{EVERY_OPTION, ONE_EACH};

/// The entry of the table that a call belongs to.
pub fn spec_of(call: &str) -> &'static Spec {
    let name = call.split(' ').next().unwrap_or_default();
    TABLE.iter().find(|spec| spec.name == name).expect("a command of the table")
}

/// Whether callers change a sale by this call.
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
