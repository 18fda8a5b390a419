//! Attacks by the users of redis.conf.example: each tries every command of the server, keys of
//! others, and every way to hide a key. Also calls that ask for more memory than they send.

use std::collections::BTreeSet;
use std::fs;

use seckill_model::shorthand::effect;

use super::conf_example::{assert_refused, start};
use crate::support::calls::{self, EVERY_OPTION};
use crate::support::conf_example::{self, login, options};
use crate::support::shop::events;
use crate::support::{wait_until, Conn, Reply, Server};

/// Flag of commands that the server allows to all users.
const FOR_ALL: &str = "no_auth";

/// Calls that no user of the shop may run, with words that would do harm. Each is listed, because a
/// refused `FLUSHALL` proves nothing about `EVAL`.
const NEVER: [&str; 30] = [
    "FLUSHALL",
    "FLUSHDB",
    "SHUTDOWN NOSAVE",
    "CONFIG SET maxmemory 1",
    "CONFIG GET *",
    "CONFIG REWRITE",
    "DEBUG SLEEP 0",
    "MODULE LOAD /tmp/x.so",
    "MODULE UNLOAD seckill",
    "ACL SETUSER shop +@all",
    "ACL LIST",
    "EVAL return 0",
    "FUNCTION FLUSH",
    "SCRIPT FLUSH",
    "KEYS *",
    "SCAN 0",
    "DUMP sale:1",
    "RESTORE sale:9 0 x",
    "MIGRATE 127.0.0.1 1 sale:1 0 10",
    "COPY sale:1 sale:2",
    "RENAME sale:1 sale:2",
    "MOVE sale:1 1",
    "SWAPDB 0 1",
    "SET sale:1 x",
    "SORT sale:1 STORE sale:2",
    "REPLICAOF 127.0.0.1 1",
    "PSYNC ? -1",
    "MONITOR",
    "CLIENT KILL TYPE normal",
    "SAVE",
];

/// A command with the smallest number of arguments. Each argument is an allowed key, so that a
/// refusal concerns the command.
fn call_of(name: &str, arity: i64) -> Vec<String> {
    let mut words: Vec<String> = name.split('|').map(str::to_owned).collect();
    words.resize(words.len().max(arity.unsigned_abs() as usize), "sale:1".to_owned());
    words
}

/// Every command and subcommand of a server as a call, with its lower-case name.
fn all_commands(conn: &mut Conn) -> Vec<(String, Vec<String>)> {
    let mut calls = Vec::new();
    let all = conn.cmd("COMMAND");
    for command in all.items() {
        let subcommands = command.items()[9].items();
        let alone = std::slice::from_ref(command);
        for info in if subcommands.is_empty() { alone } else { subcommands } {
            let (name, flags) = (info.items()[0].text(), info.items()[2].items());
            if !flags.iter().any(|flag| flag.text() == FOR_ALL) {
                calls.push((name.to_ascii_lowercase(), call_of(&name, info.items()[1].int())));
            }
        }
    }
    calls
}

/// The commands that a line `user NAME ...` of the example allows.
fn allowed(example: &str, user: &str) -> BTreeSet<String> {
    let line = example.lines().find(|line| line.starts_with(&format!("user {user} ")));
    let words = line.expect("a line of that user").split(' ');
    words.filter_map(|word| word.strip_prefix('+').map(str::to_owned)).collect()
}

/// All users but admin are refused every command that the example does not name. The named commands
/// are those in the list below.
#[test]
fn users_run_what_is_named_and_nothing_else() {
    // The example disables these commands; the test enables them, so that permissions are checked.
    let doors = ["enable-debug-command yes", "enable-module-command yes"];
    let server = doors.iter().fold(options(), |options, line| options.line(line)).start();
    let calls = all_commands(&mut login(&server, "admin"));
    assert!(calls.len() > 250, "{} commands", calls.len());
    let example = conf_example::text();
    for user in ["shop", "reader", "operator", "monitoring", "replica"] {
        let (mut conn, allowed) = (login(&server, user), allowed(&example, user));
        assert!(allowed.iter().all(|name| !name.starts_with('@')), "{user}: by name only");
        for (name, call) in &calls {
            // A name without its subcommand allows all subcommands.
            let head = name.split('|').next().unwrap_or(name);
            if allowed.contains(name) || allowed.contains(head) {
                continue;
            }
            let reply = conn.ask(call).to_string();
            let is_refused = reply.starts_with("-NOPERM") || reply.contains("because of: NOPERM");
            assert!(is_refused, "{user}: {call:?}: {reply}");
        }
        let refused: Vec<&str> = NEVER.into_iter().filter(|line| !can(&allowed, line)).collect();
        assert_refused(&mut conn, &refused);
    }
    let shop = allowed(&example, "shop");
    assert!(NEVER.iter().all(|line| !can(&shop, line)), "the shop never gets these");
}

fn can(allowed: &BTreeSet<String>, line: &str) -> bool {
    let mut words = line.split(' ').map(str::to_ascii_lowercase);
    let (head, next) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    allowed.contains(&head) || allowed.contains(&format!("{head}|{next}"))
}

/// Two sales: one that the users of the example may use, and one that they may not.
fn with_two_sales() -> (Server, Conn) {
    let server = start();
    let mut admin = login(&server, "admin");
    admin.check(&[
        ("SECKILL.INIT sale:1 100 LIMIT 50", "+OK"),
        ("SECKILL.INIT other:1 100 LIMIT 50", "+OK"),
        ("XADD other:stream 1-1 a b", "'1-1'"),
    ]);
    (server, admin)
}

/// The digest of all data that a user of the example must not reach.
fn foreign(admin: &mut Conn) -> String {
    let mut fields = Vec::new();
    for key in ["other:1", "other:stream", "other:new"] {
        fields.push(admin.call(&format!("EXISTS {key}")));
    }
    let status = admin.cmd("SECKILL.STATUS other:1");
    fields.extend(["version", "epoch", "rev"].map(|name| status.field(name).to_string()));
    fields.push(admin.call("XLEN other:stream"));
    fields.join(" ")
}

#[test]
fn keys_of_others_stay_out_of_reach() {
    let (server, mut admin) = with_two_sales();
    let before = foreign(&mut admin);
    let (mut shop, mut operator) = (login(&server, "shop"), login(&server, "operator"));
    let by_shop = [
        "SECKILL.MGRAB u 2 sale:1 other:1",
        "SECKILL.MGRAB u 2 other:1 sale:1 QTY 1 REQ r",
        "SECKILL.MGRAB u 3 sale:1 sale:1 other:1",
        "SECKILL.APPLY sale:1 1 gu",
    ];
    assert_refused(&mut shop, &by_shop);
    // Every command of the table with a key, by every user.
    let all: Vec<String> = calls::with_key("other:1").collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    for user in ["shop", "reader", "operator", "monitoring"] {
        assert_refused(&mut login(&server, user), &all);
    }
    let by_operator = [
        "SECKILL.INIT other:new 5",
        "SECKILL.INIT sale:2 5 OUTBOX other:stream",
        "SECKILL.INIT sale:2 5 LIMIT 1 outbox other:new",
        "SECKILL.INIT sale:2 5 SAMPLE 9 SALT OUTBOX OUTBOX other:stream",
        "SECKILL.INIT sale:2 5 MOD 2 0 1 OUTBOX other:stream MASK",
        "SECKILL.ALTER sale:1 OUTBOX other:stream",
        "SECKILL.ALTER sale:1 SALT OUTBOX SAMPLE 9 OutBox other:stream",
        "SECKILL.APPLY sale:1 1 gu",
        "DEL other:1",
    ];
    assert_refused(&mut operator, &by_operator);
    assert_eq!(foreign(&mut admin), before);
    let status = admin.cmd("SECKILL.STATUS sale:1");
    assert_eq!((status.field("version"), status.field("outbox")), (Reply::Int(1), Reply::Nil));
}

/// Numbers and words that server and module might parse differently. Then a key could pass the
/// permissions and still be used.
#[test]
fn no_spelling_hides_a_key() {
    let (server, mut admin) = with_two_sales();
    let before = foreign(&mut admin);
    let (mut shop, mut operator) = (login(&server, "shop"), login(&server, "operator"));
    for count in ["0", "1", "+2", "02", " 2", "2 ", "2.0", "0x2", "-2", "", "4294967298", "1e0"] {
        for tail in [&["sale:1", "other:1"][..], &["sale:1", "other:1", "QTY", "1"]] {
            let mut call = vec!["SECKILL.MGRAB", "u", count];
            call.extend(tail);
            let reply = shop.ask(&call);
            assert!(reply.is_error(), "{call:?}: {reply}");
        }
    }
    for options in [
        "OUTBOX sale:s OUTBOX other:stream",
        "OUTBOX other:stream OUTBOX sale:s",
        "LIMIT OUTBOX OUTBOX other:stream",
        "SALT OUTBOX OUTBOX other:stream",
        "SAMPLE 9 SALT OUTBOX OUTBOX other:stream",
        "OUTBOX OUTBOX other:stream",
        "DRAW LIST OUTBOX OUTBOX other:stream",
        "MOD OUTBOX 1 OUTBOX other:stream",
        "OUTBOX",
        "OUTBO other:stream",
    ] {
        for line in
            [format!("SECKILL.INIT sale:3 5 {options}"), format!("SECKILL.ALTER sale:1 {options}")]
        {
            let reply = operator.cmd(&line);
            assert!(reply.is_error(), "{line}: {reply}");
        }
    }
    // The server compares words up to their first NUL, so it would look at a key HOLD.
    let user = "ACL SETUSER tricky on >pw ~sale:* ~HOLD* -@all +seckill.alter";
    assert_eq!(admin.call(user), "+OK");
    let mut tricky = server.conn();
    assert_eq!(tricky.call("AUTH tricky pw"), "+OK");
    let call = "SECKILL.ALTER sale:1 SAMPLE 9 SALT outbox\0 HOLD 5 OUTBOX other:s";
    let words: Vec<&str> = call.split(' ').collect();
    assert!(tricky.ask(&words).is_error());
    assert_eq!(foreign(&mut admin), before);
    assert_eq!(admin.call("EXISTS sale:3 sale:s OUTBOX"), "0");
    assert_eq!(admin.cmd("SECKILL.STATUS sale:1").field("version"), Reply::Int(1));
}

/// A user who may only read a stream can't create a sale that writes to it. After another user has
/// created it, buyers cause entries without permission for the stream.
#[test]
fn an_outbox_needs_the_permission_to_write() {
    let (server, mut admin) = with_two_sales();
    let grant = "ACL SETUSER creator on >pw ~sale:* %R~other:* -@all +seckill.init +seckill.alter";
    assert_eq!(admin.call(grant), "+OK");
    let mut creator = server.conn();
    assert_eq!(creator.call("AUTH creator pw"), "+OK");
    let calls =
        ["SECKILL.INIT sale:2 5 OUTBOX other:stream", "SECKILL.ALTER sale:1 OUTBOX other:stream"];
    assert_refused(&mut creator, &calls);
    assert_eq!(admin.call("XLEN other:stream"), "1");
    assert_eq!(creator.call("SECKILL.INIT sale:2 5 OUTBOX sale:2:orders"), "+OK");
    // Only %W for the stream: the sale needs no more.
    assert_eq!(admin.call("ACL SETUSER creator %W~log:*"), "+OK");
    assert_eq!(creator.call("SECKILL.INIT sale:4 5 OUTBOX log:4"), "+OK");
    let mut shop = login(&server, "shop");
    for sale in ["sale:2", "sale:4"] {
        let reply = shop.cmd(&format!("SECKILL.GRAB {sale} u"));
        assert_eq!(reply.items()[0].text(), "GRANTED");
    }
    assert_refused(
        &mut shop,
        &["XADD log:4 * event GRANT", "XRANGE sale:2:orders - +", "DEL log:4"],
    );
    assert_eq!(events(&mut admin, "log:4"), ["INIT", "GRANT"]);
}

/// Neither a transaction nor a script gives users further permissions.
#[test]
fn detours_lead_nowhere() {
    let (server, mut admin) = with_two_sales();
    let before = foreign(&mut admin);
    let mut shop = login(&server, "shop");
    assert_eq!(shop.call("MULTI"), "+OK");
    assert_eq!(shop.call("SECKILL.GRAB sale:1 u"), "+QUEUED");
    assert_refused(&mut shop, &["SECKILL.APPLY sale:1 1 gu", "SECKILL.GRAB other:1 u"]);
    assert!(shop.call("EXEC").starts_with("-EXECABORT"));
    assert_eq!(admin.call("ACL SETUSER shop +eval"), "+OK");
    for call in [
        "'SECKILL.GRAB','other:1','u'",
        "'SECKILL.MGRAB','u','2','sale:1','other:1'",
        "'SECKILL.APPLY','sale:1','1','gu'",
        "'SECKILL.INIT','sale:2','5'",
        "'SECKILL.RESTOCK','sale:1','5','REQ','r'",
    ] {
        let script = format!("return redis.call({call})");
        // Once with the key declared, and once without.
        for keys in [&["0"][..], &["1", "sale:1"]] {
            let mut words = vec!["EVAL", &script];
            words.extend(keys);
            let reply = shop.ask(&words);
            assert!(reply.is_error(), "{call}: {reply}");
        }
    }
    assert_eq!(foreign(&mut admin), before);
    assert_eq!(admin.cmd("SECKILL.STATUS sale:1").field("version"), Reply::Int(1));
}

/// HELP and HOME, the commands without a key, show the docs and no data of a sale.
#[test]
fn help_tells_nothing_of_sales() {
    let (server, mut admin) = with_two_sales();
    let asked = || ["HELP", "HOME alice 16"].map(|words| format!("SECKILL.{words}"));
    let told = asked().map(|call| login(&server, "operator").call(&call));
    assert_eq!(admin.call("DEL sale:1 other:1"), "2");
    assert_eq!(asked().map(|call| login(&server, "operator").call(&call)), told);
    let told = told.concat();
    assert!(!told.contains("sale:1") && !told.contains("other:1"));
    assert!(login(&server, "operator").cmd("SECKILL.HELP sale:1").is_error());
}

/// Largest growth of a server's memory by small requests, for its own buffers.
const SMALL_BYTES: u64 = 4 << 20;
/// Bytes that the allocator reserves at once.
const ADDRESS_BYTES: u64 = 16 << 20;
/// Largest growth for each byte of a large request: query buffer, arguments, stored data,
/// replication.
const FACTOR: u64 = 8;

/// Peak memory and reserved addresses of a process, in bytes.
fn peaks(server: &Server) -> [u64; 2] {
    let path = format!("/proc/{}/status", server.pid());
    let status = fs::read_to_string(path).expect("the process is there");
    ["VmHWM:", "VmPeak:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let digits: String =
            line.unwrap_or_default().chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u64>().expect("kilobytes") * 1024
    })
}

/// Small requests with the largest numbers: the module reserves no memory for announced lengths.
#[test]
fn numbers_alone_take_no_memory() {
    let (server, mut conn) = Server::start().with_conn();
    let prepare = ["SECKILL.INIT k 1000", "SECKILL.INIT r 1000 EVERY 1000", "SECKILL.GRAB k u"];
    let most = "9007199254740991";
    let calls = [
        "SECKILL.INIT a # LIMIT # GRABS # ADMIT #",
        "SECKILL.INIT b # DRAW PACKETS 4294967295",
        "SECKILL.INIT c # DRAW EQUAL 4294967295",
        "SECKILL.INIT d # DRAW PACKETS # MIN 1",
        "SECKILL.INIT e # DRAW UNIFORM 1 #",
        "SECKILL.INIT f # MOD # 1",
        "SECKILL.INIT g # EVERY # LASTS #",
        "SECKILL.GRAB a u UPTO #",
        "SECKILL.GRAB b u",
        "SECKILL.GRAB c u",
        "SECKILL.GRAB k v QTY #",
        "SECKILL.MGRAB u # k",
        "SECKILL.MGRAB u 64 k k k",
        "SECKILL.WINNERS k # COUNT 10000",
        "SECKILL.USER k u COUNT 10000",
        "SECKILL.ROUNDS r COUNT #",
    ];
    // Also each number of every option of every command.
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let largest = EVERY_OPTION.iter().flat_map(|call| {
        let words: Vec<&str> = call.split_whitespace().collect();
        let places: Vec<usize> = (0..words.len()).filter(|at| is_number(words[*at])).collect();
        places
            .into_iter()
            .map(move |at| [&words[..at], &["#"], &words[at + 1..]].concat().join(" "))
    });
    let calls: Vec<String> = calls.map(str::to_owned).into_iter().chain(largest).collect();
    // Effects and pieces that announce the largest possible length.
    let long = b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
    let mut announced: Vec<Vec<u8>> = vec![effect("Gq9007199254740991:x")];
    for tag in 0..32 {
        announced
            .extend([[&[0, 0, tag], &long[..]].concat(), [&[0, 0, tag, 1], &long[..]].concat()]);
    }
    for line in prepare {
        assert!(!conn.cmd(line).is_error(), "{line}");
    }
    let before = peaks(&server);
    for _ in 0..20 {
        for call in &calls {
            conn.cmd(&call.replace('#', most));
        }
        for effect in &announced {
            conn.ask(&[b"SECKILL.APPLY", &b"k"[..], b"2", effect]);
            conn.ask(&[b"SECKILL.APPLY", &b"n"[..], b"0", effect]);
        }
    }
    let after = peaks(&server);
    for ((before, after), most) in before.into_iter().zip(after).zip([SMALL_BYTES, ADDRESS_BYTES]) {
        assert!(after - before < most, "the server grew by {} bytes", after - before);
    }
    server.assert_sound("k");
}

/// The largest accepted requests need a few times their size.
#[test]
fn large_requests_take_a_few_times_their_size() {
    let users: Vec<String> = (0..100_000).map(|number| format!("{number:0>200}")).collect();
    let amounts: Vec<String> = (0..100_000).map(|_| "9007199254".to_owned()).collect();
    let keys: Vec<String> = (0..64).map(|number| format!("k{number:0>10000}")).collect();
    let with = |head: &str, tail: &[String]| -> Vec<String> {
        head.split(' ').map(str::to_owned).chain(tail.iter().cloned()).collect()
    };
    let calls = [
        with("SECKILL.ALLOW k ADD", &users),
        with("SECKILL.DENY k ADD", &users),
        with("SECKILL.ALLOW k REMOVE", &users),
        with("SECKILL.INIT list 900719925400000 DRAW LIST", &amounts),
        with("SECKILL.MGRAB u 64", &keys),
        with("SECKILL.INIT huge 5 OUTBOX", &["s".repeat(1 << 24)]),
        with("SECKILL.GRAB k", &["u".repeat(1 << 24)]),
    ];
    let mut calls = calls.map(|call| call.into_iter().map(String::into_bytes).collect()).to_vec();
    let mut apply: Vec<Vec<u8>> =
        ["SECKILL.APPLY", "grants", "1"].map(|word| word.as_bytes().to_vec()).to_vec();
    apply.extend((0..1000).map(|number| effect(&format!("g{number:0>256}"))));
    calls.push(apply);
    for call in calls {
        let (server, mut conn) = Server::start().with_conn();
        for line in ["SECKILL.INIT k 1000", "SECKILL.INIT grants 100000"] {
            assert_eq!(conn.call(line), "+OK");
        }
        let sent: usize = call.iter().map(Vec::len).sum();
        let before = peaks(&server)[0];
        conn.ask(&call);
        let grown = peaks(&server)[0] - before;
        let most = FACTOR * sent as u64 + SMALL_BYTES;
        assert!(grown < most, "{} of {sent} bytes took {grown}", call[0].escape_ascii());
    }
}

/// A replica executes its primary's effects, which contain the secret of a new sale. A user who may
/// read SLOWLOG or MONITOR does not see it.
#[test]
fn a_replica_shows_no_secret() {
    let primary = start();
    let replica = options().line("slowlog-log-slower-than 0").start();
    let mut admin = login(&replica, "admin");
    assert_eq!(admin.call(&format!("REPLICAOF 127.0.0.1 {}", primary.port())), "+OK");
    wait_until("the link is up", || {
        admin.cmd("INFO replication").text().contains("master_link_status:up")
    });
    let mut monitor = login(&replica, "admin");
    assert_eq!(monitor.call("MONITOR"), "+OK");
    let mut first = login(&primary, "admin");
    first.check(&[("SECKILL.INIT sale:1 9 SAMPLE 500", "+OK"), ("SET seen 1", "+OK")]);
    let mut seen = String::new();
    while !seen.contains("\"seen\"") {
        seen = monitor.read().expect("a call").text();
        assert!(!seen.to_uppercase().contains("APPLY"), "{seen}");
    }
    wait_until("the sale is there", || admin.call("EXISTS sale:1") == "1");
    let slow = login(&replica, "monitoring").call("SLOWLOG GET 1000");
    assert!(slow.contains("'seen'"), "calls of the primary are seen: {slow}");
    assert!(!slow.to_uppercase().contains("APPLY"), "{slow}");
}
