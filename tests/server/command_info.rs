//! The server's data about each command: arity, flags, keys, documentation, categories. Flags are
//! repeated here by hand, so that an error in the command table is found. Grammars are compared
//! with docs/commands.md.

use seckill::command::table::TABLE;
use seckill::command::vocabulary::{Arg, ArgKind};

use crate::support::calls;
use crate::support::{Conn, Options, Reply, Server};

/// Name, arity, flags, and flags of its keys; those of a second key spec follow a comma.
type Known = (&'static str, i64, &'static str, &'static str);

/// Commands that are not read-only commands of one key.
const COMMANDS: [Known; 23] = [
    ("SECKILL.INIT", -3, "write denyoom module movablekeys", "RW insert, RW insert"),
    ("SECKILL.RESTOCK", 5, "write denyoom module", "RW access update"),
    ("SECKILL.PAUSE", 2, "write module", "RW update"),
    ("SECKILL.RESUME", 2, "write module", "RW update"),
    ("SECKILL.ALTER", -3, "write module movablekeys", "RW update, RW insert"),
    ("SECKILL.REFUND", -3, "write module", "RW access update"),
    ("SECKILL.IMPORT", -6, "write denyoom module", "RW access update"),
    ("SECKILL.ALLOW", -4, "write denyoom module", "RW update"),
    ("SECKILL.DENY", -4, "write denyoom module", "RW update"),
    ("SECKILL.MGRAB", -4, "write denyoom module fast movablekeys", "RW access update, RW not_key"),
    ("SECKILL.SEND", -5, "write module", "RW access update"),
    ("SECKILL.RECEIVE", 5, "write module", "RW access update"),
    ("SECKILL.ELSEWHERE", 5, "write module", "RW access update"),
    ("SECKILL.HOME", 3, "readonly loading stale module fast", ""),
    ("SECKILL.GRAB", -3, "write denyoom module fast", "RW access update"),
    ("SECKILL.CONFIRM", -3, "write module fast", "RW access update"),
    ("SECKILL.CANCEL", -3, "write module fast", "RW access update"),
    ("SECKILL.EXTEND", -4, "write module fast", "RW access update"),
    ("SECKILL.STATUS", -2, "readonly module fast", "RO access"),
    ("SECKILL.PLACE", 3, "readonly module fast", "RO access"),
    ("SECKILL.UNIT", 3, "readonly module fast", "RO access"),
    ("SECKILL.HELP", -1, "readonly loading stale module fast", ""),
    ("SECKILL.APPLY", -4, "write module skip_monitor skip_slowlog", "RW update"),
];

/// All commands of the table. A command without a row above reads one key.
fn commands() -> impl Iterator<Item = Known> {
    TABLE.iter().map(|spec| {
        let known = COMMANDS.into_iter().find(|known| known.0 == spec.name);
        known.unwrap_or((spec.name, spec.arity.into(), "readonly module", "RO access"))
    })
}

fn words(reply: &Reply) -> String {
    reply.items().iter().map(Reply::text).collect::<Vec<_>>().join(" ")
}

fn sorted(words: &str) -> Vec<&str> {
    let mut words: Vec<&str> = words.split_whitespace().collect();
    words.sort_unstable();
    words
}

/// Whether the server has ACL categories for module commands: Redis 7.2 and newer, and every
/// Valkey.
fn has_categories(server: &Server) -> bool {
    let version = server.info("server", "redis_version");
    !version.starts_with("7.0.")
}

#[test]
fn every_command_is_registered_and_no_other() {
    let server = Server::start();
    let mut names: Vec<String> = server
        .cmd("COMMAND LIST FILTERBY MODULE seckill")
        .items()
        .iter()
        .map(|name| name.text().to_ascii_uppercase())
        .collect();
    names.sort_unstable();
    let mut known: Vec<&str> = commands().map(|command| command.0).collect();
    known.sort_unstable();
    assert_eq!(names, known);
}

#[test]
fn arity_flags_and_keys_are_known() {
    let (_server, mut conn) = Server::start().with_conn();
    for (name, arity, flags, key_flags) in commands() {
        let info = conn.cmd(&format!("COMMAND INFO {name}")).items()[0].clone();
        let info = info.items();
        assert_eq!(info[1], Reply::Int(arity), "{name}");
        // Valkey's name of the flag since 8.1.
        let said = words(&info[2]).replace("skip_commandlog", "skip_slowlog");
        assert_eq!(sorted(&said), sorted(flags), "{name}");
        let keys: Vec<i64> = (3..6).map(|place| info[place].int()).collect();
        // Clients that know no number of keys route by MGRAB's first one.
        let range = match (name, key_flags) {
            ("SECKILL.MGRAB", _) => [3, 3, 1],
            (_, "") => [0, 0, 0],
            _ => [1, 1, 1],
        };
        assert_eq!(keys, range, "{name}");
        let specs = info[8].items();
        let flags: Vec<String> = specs.iter().map(|spec| words(&spec.field("flags"))).collect();
        assert_eq!(flags.join(", "), key_flags, "{name}");
        let begins = specs.iter().map(|spec| spec.field("begin_search"));
        let begins: Vec<String> = begins.map(|begin| begin.field("spec").to_string()).collect();
        let expected = match name {
            "SECKILL.INIT" => ["['index' 1]", "['keyword' 'OUTBOX' 'startfrom' 3]"],
            "SECKILL.MGRAB" => ["['index' 2]", "['index' 3]"],
            _ => ["['index' 1]", "['keyword' 'OUTBOX' 'startfrom' 2]"],
        };
        assert_eq!(begins, expected[..specs.len()], "{name}");
    }
}

#[test]
fn keys_are_found_in_every_call() {
    let (_server, mut conn) = Server::start().with_conn();
    for call in calls::with_key("k") {
        assert_eq!(conn.call(&format!("COMMAND GETKEYS {call}")), "['k']", "{call}");
    }
    // Options in any order and case do not confuse the server, nor does a key named OUTBOX.
    for (call, keys) in [
        ("SECKILL.INIT k 5 OUTBOX s", "['k' 's']"),
        ("SECKILL.INIT k 5 limit 3 outbox s HOLD 7", "['k' 's']"),
        ("SECKILL.INIT k 5 MOD 2 0 1 OUTBOX s MASK", "['k' 's']"),
        ("SECKILL.INIT k 5 OUTBOX OUTBOX LIMIT 1", "['k' 'OUTBOX']"),
        ("SECKILL.INIT k 5 OUTBOX", "['k']"),
        ("SECKILL.INIT OUTBOX 5", "['OUTBOX']"),
        ("SECKILL.INIT OUTBOX OUTBOX", "['OUTBOX']"),
        ("SECKILL.INIT OUTBOX 5 OUTBOX s", "['OUTBOX' 's']"),
        ("SECKILL.ALTER k OUTBOX s", "['k' 's']"),
        ("SECKILL.ALTER k SALT s SAMPLE 9 Outbox s", "['k' 's']"),
        ("SECKILL.ALTER OUTBOX LIMIT 5", "['OUTBOX']"),
    ] {
        assert_eq!(conn.call(&format!("COMMAND GETKEYS {call}")), keys, "{call}");
    }
}

/// The grammar as redis-cli shows it, from the arguments in COMMAND DOCS.
fn grammar(args: &Reply, between: &str) -> String {
    let one = |arg: &Reply| {
        let text = |name: &str| arg.field(name).text();
        let pairs = arg.pairs();
        let has = |name: &str| pairs.iter().any(|(key, _)| key == name);
        let flags = if has("flags") { words(&arg.field("flags")) } else { String::new() };
        let inner = match text("type").as_str() {
            "oneof" => Some(grammar(&arg.field("arguments"), "|")),
            "block" => Some(grammar(&arg.field("arguments"), " ")),
            "pure-token" => None,
            _ => Some(text("name")),
        };
        let token = has("token").then(|| text("token"));
        let shown = [token, inner].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let shown = match flags.contains("multiple") {
            true => format!("{shown} [{shown} ...]"),
            false => shown,
        };
        if flags.contains("optional") {
            format!("[{shown}]")
        } else {
            shown
        }
    };
    args.items().iter().map(one).collect::<Vec<_>>().join(between)
}

/// The grammar from the rows of the table.
fn own_grammar(args: &[Arg], between: &str) -> String {
    let one = |arg: &Arg| {
        let inner = match arg.kind {
            ArgKind::OneOf => Some(own_grammar(arg.children, "|")),
            ArgKind::Block => Some(own_grammar(arg.children, " ")),
            ArgKind::PureToken => None,
            _ => Some(arg.name.to_owned()),
        };
        let token = arg.token.map(str::to_owned);
        let shown = [token, inner].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let shown = if arg.multiple { format!("{shown} [{shown} ...]") } else { shown };
        if arg.optional {
            format!("[{shown}]")
        } else {
            shown
        }
    };
    args.iter().map(one).collect::<Vec<_>>().join(between)
}

#[test]
fn documentation_is_complete() {
    let (_server, mut conn) = Server::start().with_conn();
    for spec in &TABLE {
        let (name, expected) = (spec.name, own_grammar(spec.args, " "));
        let docs = conn.cmd(&format!("COMMAND DOCS {name}")).items()[1].clone();
        assert!(docs.field("summary").text().len() > 10, "{name}: {docs}");
        assert!(docs.field("complexity").text().starts_with("O("), "{name}: {docs}");
        assert_eq!(docs.field("since").text(), "0.1.0", "{name}");
        assert_eq!(docs.field("group").text(), "module", "{name}");
        assert_eq!(docs.field("module").text(), "seckill", "{name}");
        let has_args = docs.pairs().iter().any(|(key, _)| key == "arguments");
        assert_eq!(has_args, !expected.is_empty(), "{name}");
        if has_args {
            assert_eq!(grammar(&docs.field("arguments"), " "), expected, "{name}");
        }
    }
}

/// Redis 7.0 has no ACL categories for module commands; from 7.2 on each command has its own.
#[test]
fn categories_are_set_where_there_are_any() {
    let (server, mut conn) = Server::start().with_conn();
    let known = has_categories(&server);
    for (name, categories) in [
        ("SECKILL.INIT", "write slow admin"),
        ("SECKILL.RESTOCK", "write slow admin"),
        ("SECKILL.PAUSE", "write slow admin"),
        ("SECKILL.RESUME", "write slow admin"),
        ("SECKILL.ALTER", "write slow admin"),
        ("SECKILL.REFUND", "write slow admin"),
        ("SECKILL.IMPORT", "write slow admin"),
        ("SECKILL.AUDIT", "read slow admin"),
        ("SECKILL.SEND", "write slow admin"),
        ("SECKILL.RECEIVE", "write slow admin"),
        ("SECKILL.ELSEWHERE", "write slow admin"),
        ("SECKILL.PARTS", "read slow"),
        ("SECKILL.UNITS", "read slow"),
        ("SECKILL.UNIT", "read fast"),
        ("SECKILL.HOME", "read fast"),
        ("SECKILL.GRAB", "write fast"),
        ("SECKILL.CONFIRM", "write fast"),
        ("SECKILL.CANCEL", "write fast"),
        ("SECKILL.EXTEND", "write fast"),
        ("SECKILL.STATUS", "read fast"),
        ("SECKILL.USER", "read slow"),
        ("SECKILL.WINNERS", "read slow"),
        ("SECKILL.HELP", "read fast"),
        ("SECKILL.APPLY", "write slow admin dangerous"),
    ] {
        let info = conn.cmd(&format!("COMMAND INFO {name}"));
        let has = words(&info.items()[0].items()[6]);
        let mut has: Vec<&str> = has.split_whitespace().filter(|one| *one != "@seckill").collect();
        let mut wanted: Vec<String> = categories.split(' ').map(|one| format!("@{one}")).collect();
        wanted.retain(|_| known);
        has.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(has, wanted, "{name}");
    }
    let told = server.log().contains("this server has no ACL categories for module commands");
    assert_eq!(told, !known, "the log says what an operator must know");
}

fn login(server: &Server, user: &str) -> Conn {
    let mut conn = server.conn();
    assert_eq!(conn.call(&format!("AUTH {user} pw")), "+OK");
    conn
}

/// ACL rules by command name work on every server, and by key pattern.
#[test]
fn permissions_hold() {
    let (server, mut conn) = Options::new().start().with_conn();
    conn.check(&[
        ("SECKILL.INIT sale:1 5", "+OK"),
        ("SECKILL.INIT other 5", "+OK"),
        ("ACL SETUSER shop on >pw ~sale:* -@all +seckill.grab +seckill.status", "+OK"),
        ("ACL SETUSER looker on >pw %R~sale:* -@all +seckill.status +seckill.grab", "+OK"),
        (
            "ACL SETUSER blind on >pw %W~sale:* -@all +seckill.pause +seckill.status +seckill.grab",
            "+OK",
        ),
    ]);
    let refused = |conn: &mut Conn, line: &str| {
        let reply = conn.call(line);
        assert!(reply.starts_with("-NOPERM"), "{line}: {reply}");
    };
    let mut shop = login(&server, "shop");
    assert_eq!(shop.call("SECKILL.GRAB sale:1 u"), "['GRANTED' 1 1 'SOLD' 0 4]");
    for line in ["SECKILL.GRAB other u", "SECKILL.INIT sale:2 1", "SECKILL.APPLY sale:1 2 gv"] {
        refused(&mut shop, line);
    }
    let mut looker = login(&server, "looker");
    assert!(!looker.cmd("SECKILL.STATUS sale:1").is_error(), "reading needs no write permission");
    refused(&mut looker, "SECKILL.GRAB sale:1 v");
    let mut blind = login(&server, "blind");
    assert_eq!(blind.call("SECKILL.PAUSE sale:1"), "+OK");
    refused(&mut blind, "SECKILL.STATUS sale:1");
    refused(&mut blind, "SECKILL.GRAB sale:1 v");
}
