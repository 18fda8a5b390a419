//! `seckill split repair`: the repair of a lost part, and its obstacles.

use std::fs;
use std::path::{Path, PathBuf};

use seckill_harness::{Options, Reply, Server};
use tempfile::TempDir;

use super::program::run;
use super::split::{create, refused, sell_the_rest, split, users_of, ONCE};

const TERMS: [&str; 4] = ["--supply", "4001", "LIMIT", "0"];

/// The words of a repair with the shop's list.
fn repair<'a>(list: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let file = list.to_str().expect("a name");
    [&["repair", "s", "--sold", file], more, &TERMS].concat()
}

/// Sells this many units of a part.
#[track_caller]
fn sell(server: &Server, part: i64, units: &[i64]) {
    let users = users_of(server, part);
    for (user, units) in users.iter().zip(units) {
        let grab = format!("SECKILL.GRAB s:{{p{part}}} {user} QTY {units} REQ o-{user}");
        assert_eq!(server.cmd(&grab).items()[0].text(), "GRANTED");
    }
}

/// The shop's orders, in the format that `winners` writes.
#[track_caller]
fn list(server: &Server, folder: &TempDir) -> PathBuf {
    let file = folder.path().join("sold.csv");
    fs::write(&file, split(server, &["winners", "s"])).expect("a file");
    file
}

/// put_in, available, held, deficit of a part.
#[track_caller]
fn part(server: &Server, part: usize) -> Vec<i64> {
    let parts = server.cmd(&format!("SECKILL.PARTS s:{{p{part}}}"));
    parts.items()[3..7].iter().map(Reply::int).collect()
}

/// Part 0 has sold 300 units, received 50, and sent 120, of which 100 have arrived.
#[track_caller]
fn with_part_0_in_use(server: &Server) {
    create(server);
    sell(server, 0, &[100, 150, 50]);
    for (line, reply) in [
        ("SEND s:{p0} s 1 100", "[100 601]"),
        ("RECEIVE s:{p1} s 0 100", "[100 1100]"),
        ("SEND s:{p2} s 0 50", "[50 950]"),
        ("RECEIVE s:{p0} s 2 50", "[50 651]"),
        ("SEND s:{p0} s 3 20", "[20 631]"),
    ] {
        assert_eq!(server.call(&format!("SECKILL.{line}")), reply, "{line}");
    }
}

#[test]
fn a_lost_part_is_made_of_what_the_others_and_the_shop_know() {
    let (server, folder) = (Options::new().start(), TempDir::new().expect("a folder"));
    with_part_0_in_use(&server);
    split(&server, &["alter", "s", "LIMIT", "500"]);
    let sold = list(&server, &folder);
    assert_eq!(server.call("DEL s:{p0}"), "1");
    let others = ["--supply", "4001", "LIMIT", "1"];
    let file = sold.to_str().expect("a name");
    let wrong = refused(&server, &[&["repair", "s", "--sold", file], &others[..]].concat());
    assert!(wrong.contains("s:{p1} began with other terms: give --supply"), "{wrong}");
    assert_eq!(server.call("EXISTS s:{p0}"), "0");
    let told = split(&server, &repair(&sold, &[]));
    let made = "part 0: 1001 units put in, 300 sold, 651 available, 0 promised beyond what is \
                there; it sells\n";
    assert_eq!(told, made);
    assert_eq!(part(&server, 0), [1001, 651, 0, 0]);
    let parts = server.cmd("SECKILL.PARTS s:{p0}");
    let pairs: Vec<Vec<i64>> = parts.items()[9]
        .items()
        .iter()
        .map(|pair| pair.items().iter().map(Reply::int).collect())
        .collect();
    assert_eq!(pairs, [[1, 100, 0], [2, 0, 50]]);
    assert_eq!(server.cmd("SECKILL.STATUS s:{p0}").field("limit").int(), 500);
    // Between two commands of a repair the part has more units than it owns, so there is one
    // transaction.
    assert!(server.info("commandstats", "cmdstat_exec").starts_with("calls=1,"));
    assert_eq!(split(&server, &["audit", "s"]), "OK: 4001 units put in, 0 under way\n");
    // A buyer who retries a request from before the repair gets its grant.
    let user = &users_of(&server, 0)[0];
    let again = server.cmd(&format!("SECKILL.GRAB s:{{p0}} {user} QTY 100 REQ o-{user}"));
    assert_eq!(again.items()[0].text(), "REPLAY");
    assert_eq!(split(&server, &repair(&sold, &[])), "no part is missing\n");
    // A part that is lost again is created again.
    assert_eq!(server.call("DEL s:{p0} s:{p1}"), "2");
    split(&server, &repair(&sold, &[]));
    assert_eq!(part(&server, 0), [1001, 751, 0, 0]);
    assert_eq!(part(&server, 1), [1000, 1000, 0, 0]);
    assert_eq!(split(&server, &["audit", "s"]), "OK: 4001 units put in, 0 under way\n");
}

/// The shop has sold more units than the part can have had. The missing units are owed, and the
/// balancer delivers them.
#[test]
fn what_the_shop_sold_beyond_it_is_owed() {
    let (server, folder) = (Options::new().start(), TempDir::new().expect("a folder"));
    with_part_0_in_use(&server);
    let user = &users_of(&server, 0)[0];
    let sold = folder.path().join("sold.csv");
    let rows = format!("req,at,state,user,qty\na,,SOLD,{user},990\nb,,HELD,{user},5\n");
    assert_eq!(server.call("DEL s:{p0}"), "1");
    // In another spelling all units would be for sale again.
    fs::write(&sold, rows.replace("SOLD", "sold")).expect("a file");
    let told = refused(&server, &repair(&sold, &[]));
    assert!(told.contains("line 2 has the state \"sold\": is it SOLD?"), "{told}");
    assert_eq!(server.call("EXISTS s:{p0}"), "0");
    fs::write(&sold, rows).expect("a file");
    split(&server, &repair(&sold, &[]));
    assert_eq!(part(&server, 0), [1001, 0, 0, 39]);
    split(&server, &ONCE);
    assert_eq!(part(&server, 0), [1001, 0, 0, 0]);
    assert_eq!(split(&server, &["audit", "s"]), "OK: 4001 units put in, 0 under way\n");
}

#[test]
fn what_was_stopped_half_way_goes_on() {
    let (server, folder) = (Options::new().start(), TempDir::new().expect("a folder"));
    with_part_0_in_use(&server);
    let sold = list(&server, &folder);
    let rows = fs::read_to_string(&sold).expect("the list");
    assert_eq!(server.call("DEL s:{p0}"), "1");
    // A row that contradicts another one.
    let row = rows.lines().find(|row| row.contains(",150,")).expect("a row");
    let broken = folder.path().join("broken.csv");
    fs::write(&broken, format!("{rows}{}\n", row.replace(",150,", ",7,"))).expect("a file");
    let told = refused(&server, &repair(&broken, &[]));
    assert!(told.contains("s:{p0} is paused and not repaired: SECKILL.IMPORT"), "{told}");
    assert!(told.contains("REQMISMATCH"), "{told}");
    let user = &users_of(&server, 0)[5];
    assert_eq!(server.call(&format!("SECKILL.GRAB s:{{p0}} {user}")), "['PAUSED']");
    // A user without the right to RESUME makes all but the last step of a repair.
    let rule = "on >pw ~* -@all +@seckill +multi +exec -seckill.resume";
    let commands = ["init", "pause", "alter", "import", "restock", "receive", "send", "parts"];
    let named: Vec<String> = commands.iter().map(|name| format!("+seckill.{name}")).collect();
    let rule = rule.replace("+@seckill", &format!("+seckill.home {}", named.join(" ")));
    server.call(&format!("ACL SETUSER b {rule} +seckill.status"));
    let url = format!("redis://b:pw@127.0.0.1:{}/", server.port());
    let output = run(&[&["split", "--redis", &url], &repair(&sold, &[])[..]].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("NOPERM") && told.contains("repair it again"), "{told}");
    assert_eq!(server.call(&format!("SECKILL.GRAB s:{{p0}} {user}")), "['PAUSED']");
    assert!(split(&server, &repair(&sold, &[])).ends_with("it sells\n"));
    assert_eq!(part(&server, 0), [1001, 651, 0, 0]);
    assert_eq!(server.cmd(&format!("SECKILL.GRAB s:{{p0}} {user}")).items()[0].text(), "GRANTED");
}

#[test]
fn what_nobody_can_know_is_asked_for() {
    let server = Options::new().start();
    create(&server);
    let nothing = [&["repair", "s", "--nothing-sold"], &TERMS[..]].concat();
    let url = format!("redis://127.0.0.1:{}/", server.port());
    let silent = run(&[&["split", "--redis", &url, "repair", "s"], &TERMS[..]].concat());
    assert_eq!(silent.status.code(), Some(2));
    split(&server, &["restock", "s", "--units", "6", "--req", "r-1"]);
    split(&server, &["pause", "s"]);
    assert_eq!(server.call("DEL s:{p2}"), "1");
    let told = refused(&server, &nothing);
    let advice = "say with --part 2 --put-in N what part 2 was given, its share of 1000";
    assert!(told.contains(advice), "{told}");
    assert_eq!(server.call("EXISTS s:{p2}"), "0");
    let words = [&["repair", "s", "--nothing-sold", "--put-in", "1001"], &TERMS[..]].concat();
    assert!(split(&server, &words).ends_with("paused as the others are\n"));
    assert_eq!(server.cmd("SECKILL.STATUS s:{p2}").field("state").text(), "paused");
    split(&server, &["resume", "s"]);
    assert_eq!(split(&server, &["audit", "s"]), "OK: 4007 units put in, 0 under way\n");
    assert!(refused(&server, &["repair", "t", "--nothing-sold", "--supply", "1"])
        .contains("t:{p1023} is missing"));
}

/// Two balancers keep running while a part is lost and repaired. Every unit is sold once.
#[test]
fn it_is_repaired_while_units_move() {
    let (server, folder) = (Options::new().start(), TempDir::new().expect("a folder"));
    create(&server);
    sell(&server, 2, &[200, 17]);
    let mut is_lost = false;
    sell_the_rest(&server, 217, || {
        let moved = || server.cmd("SECKILL.STATUS s:{p2}").field("sent").int();
        if !is_lost && moved() > 0 {
            is_lost = true;
            let sold = list(&server, &folder);
            assert_eq!(server.call("DEL s:{p2}"), "1");
            split(&server, &repair(&sold, &[]));
        }
    });
    assert!(is_lost);
    assert_eq!(split(&server, &["audit", "s"]), "OK: 4001 units put in, 0 under way\n");
}

/// Two parts had unequal shares of a restock. One number for both would make units.
#[test]
fn what_was_put_in_is_told_of_one_part() {
    let server = Options::new().start();
    create(&server);
    split(&server, &["restock", "s", "--units", "6", "--req", "r-1"]);
    assert_eq!(server.call("DEL s:{p1} s:{p2}"), "2");
    let put_in = |more: &[&'static str]| {
        [&["repair", "s", "--nothing-sold", "--put-in"], more, &TERMS].concat()
    };
    let told = refused(&server, &put_in(&["1002"]));
    assert!(told.contains("parts 1, 2 are lost") && told.contains("--part 1 --put-in"), "{told}");
    assert_eq!(server.call("EXISTS s:{p1} s:{p2}"), "0");
    split(&server, &put_in(&["1002", "--part", "1"]));
    split(&server, &put_in(&["1001", "--part", "2"]));
    assert_eq!(split(&server, &["audit", "s"]), "OK: 4007 units put in, 0 under way\n");
}

/// A sale that is over is closed, whether it is paused or not.
#[test]
fn what_was_stopped_half_way_goes_on_after_the_end() {
    let (server, folder) = (Options::new().start(), TempDir::new().expect("a folder"));
    with_part_0_in_use(&server);
    split(&server, &["alter", "s", "CLOSEAT", "100000000001"]);
    let sold = list(&server, &folder);
    let rows = fs::read_to_string(&sold).expect("the list");
    assert_eq!(server.call("DEL s:{p0}"), "1");
    let row = rows.lines().find(|row| row.contains(",150,")).expect("a row");
    let broken = folder.path().join("broken.csv");
    fs::write(&broken, rows.replace(row, &row.replace(",150,", ",0,"))).expect("a file");
    let told = refused(&server, &repair(&broken, &[]));
    assert!(told.contains("s:{p0} is paused and not repaired: SECKILL.IMPORT"), "{told}");
    assert_eq!(server.cmd("SECKILL.STATUS s:{p0}").field("state").text(), "closed");
    let told = split(&server, &repair(&sold, &[]));
    assert!(told.starts_with("part 0: 1001 units put in, 300 sold"), "{told}");
    assert_eq!(part(&server, 0), [1001, 651, 0, 0]);
}
