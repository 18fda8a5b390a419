//! The programs in docs/migrate*.md are equal to those that run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{files, output, pages, root, Move};

/// The session's user and order, and a dummy for the shop's database.
const PREPEND: &str = r#"<?php
session_save_path(getenv('SESSIONS'));
session_id(bin2hex(getenv('BUYER')));
session_start();
$_SESSION['user'] = getenv('BUYER');
if (getenv('ORDER')) {
    $redis = new Redis();
    $place = 'order:' . getenv('SALE') . ':';
    try {
        $redis->connect('127.0.0.1', (int) getenv('PORT'));
        $place .= json_decode($redis->rawCommand('SECKILL.STATUS', getenv('SALE'), 'JSON'))->id;
    } catch (RedisException) {
        // The page is told so, too.
    }
    $_SESSION[$place] = $_SESSION["$place:0"] = getenv('ORDER');
}
session_write_close();
class Shop
{
    public function prepare() { return $this; }
    public function execute() { return getenv('WORKS') !== 'no'; }
    public function rowCount() { return 0; }
    public function beginTransaction() {}
    public function commit() {}
}
"#;

/// A whole page as shown, with the names of this test: `counter SALE USER [ORDER [COINS|no]]`.
/// Without ORDER it uses the order of the user's session.
pub fn command(port: u16, words: &[&str], dsn: Option<&str>) -> Command {
    let [family, sale, user, more @ ..] = words else { panic!("{words:?}") };
    let pages = root().join("examples/migrate/pages");
    let mut page = fs::read_to_string(pages.join(format!("{family}.php"))).expect(family);
    let client = format!("'{}'", root().join("clients/php/Seckill.php").display());
    let more_or = |at: usize, other| more.get(at).copied().unwrap_or(other);
    let mut names = vec![
        ("__DIR__ . '/Seckill.php'", client),
        ("'sale:try'", format!("'{sale}'")),
        ("6390", port.to_string()),
    ];
    if page.contains("new PDO") {
        let from = page.find("new PDO").expect("a database");
        let call = &page[from..from + page[from..].find(";\n").expect("its end")];
        let shop = dsn.map_or("new Shop()".to_owned(), |dsn| format!("new PDO('{dsn}', 'root')"));
        page = page.replace(&call.to_owned(), &shop);
    }
    if *family == "coins" {
        names.push(("mt_rand(1, 1000)", more_or(1, "1").to_owned()));
    }
    for (name, ours) in names {
        assert!(page.contains(name), "{name} in {family}.php");
        page = page.replace(name, &ours);
    }
    let folder = files().join(port.to_string());
    fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::write(&file, text).expect("a file");
        file
    };
    let (page, prepend) = (write("page.php", &page), write("prepend.php", PREPEND));
    let mut php = Command::new("php");
    php.args(["-d", &format!("auto_prepend_file={}", prepend.display())])
        .args([
            "-d",
            "session.use_cookies=0",
            "-d",
            "error_log=/dev/null",
            "-d",
            "display_errors=1",
        ])
        .env("SESSIONS", &folder)
        .envs([("BUYER", *user), ("SALE", sale), ("ORDER", more_or(0, ""))])
        .env("PORT", port.to_string())
        .env("DB_PASSWORD", "")
        .env("WORKS", more_or(1, "yes"))
        .arg(page);
    php
}

/// A framework's proxy instead of a client is reported as an error of the program, not as a lost
/// answer.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_client_of_another_type_is_a_mistake() {
    let program = "require $argv[1];
        try { (new Seckill\\Sale(fn () => new stdClass(), 'sale:goods'))->grab('a', 'order-1'); }
        catch (Throwable $why) { echo get_class($why); }";
    let mut php = Command::new("php");
    php.args(["-r", program, "--"]).arg(root().join("clients/php/Seckill.php"));
    assert_eq!(output(&mut php).0, "TypeError");
}

/// Each new page in docs/migrate*.md is equal to the program that runs.
#[test]
fn replacements_are_those_that_run() {
    let read = |path: PathBuf| fs::read_to_string(path).expect("a page");
    let shown = pages().concat();
    let flat = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let examples = root().join("examples/migrate");
    let pages =
        fs::read_dir(examples.join("pages")).expect("pages").map(|file| file.unwrap().path());
    let pages = pages.chain([examples.join("GoodsSale.php")]).collect();
    for (language, files) in [("php", pages), ("java", vec![examples.join("After.java")])] {
        let programs: Vec<_> = files.into_iter().map(|file| flat(&read(file))).collect();
        let blocks = shown.split("```").skip(1).step_by(2);
        let blocks = blocks.filter_map(|block| block.strip_prefix(&format!("{language}\n")));
        let is_ours = |block: &&str| {
            language == "java" || block.contains("sale->") || block.contains("Seckill")
        };
        let replacements: Vec<_> = blocks.filter(|block| is_ours(block)).map(flat).collect();
        assert!(replacements.len() >= 5, "{language}: {}", replacements.len());
        for block in replacements {
            let block = block.trim();
            assert!(programs.iter().any(|p| p.contains(block)), "in none of them:\n{block}");
        }
    }
}

/// The page's Java compiles. The client's core needs no Redis client library.
#[test]
#[ignore = "needs a JDK: make migrate-test"]
fn java_compiles() {
    let folder = files().join("java");
    fs::create_dir_all(&folder).expect("a folder");
    let mut javac = Command::new("javac");
    javac.current_dir(root()).arg("-d").arg(folder);
    javac.args(["-sourcepath", "clients/java/core/src/main/java", "examples/migrate/After.java"]);
    let Ok(output) = javac.output() else {
        eprintln!("skipped: there is no javac here");
        return;
    };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
}

/// A refused user takes no connection of the shop's pool; a winner takes one for the row.
#[test]
#[ignore = "needs a JDK: make migrate-test"]
fn java_takes_a_connection_for_winners_alone() {
    let folder = files().join("pool");
    fs::create_dir_all(&folder).expect("a folder");
    let program = r#"
import example.seckill.Link;
import example.seckill.Sale;
import java.lang.reflect.Proxy;
import java.util.List;
import javax.sql.DataSource;

public class Pool {
    public static void main(String[] words) throws Exception {
        DataSource shop = (DataSource) Proxy.newProxyInstance(Pool.class.getClassLoader(),
            new Class<?>[] {DataSource.class}, (proxy, method, values) -> {
                throw new java.sql.SQLException("took a connection");
            });
        for (List<Object> reply : List.<List<Object>>of(List.of("SOLDOUT", 0L), List.of("PAUSED"),
                List.of("ALREADY", 1L, 1L, "SOLD", 0L), List.of("GRANTED", 1L, 1L, "HELD", 9L, 0L))) {
            Link link = (key, commands, within) -> List.of(reply);
            try {
                System.out.print(reply.get(0) + " "
                    + new After(new Sale(link, "sale:goods")).sql(shop, "lin", "order-1") + "; ");
            } catch (java.sql.SQLException why) {
                System.out.print(reply.get(0) + " " + why.getMessage() + "; ");
            }
        }
    }
}
"#;
    let file = folder.join("Pool.java");
    fs::write(&file, program).expect("a program");
    let mut javac = Command::new("javac");
    javac.current_dir(root()).arg("-d").arg(&folder);
    javac.args(["-sourcepath", "clients/java/core/src/main/java"]);
    let (told, went_well) = output(javac.args(["examples/migrate/After.java"]).arg(&file));
    assert!(went_well, "{told}");
    let (told, _) = output(Command::new("java").arg("-cp").arg(&folder).arg("Pool"));
    let refused = "SOLDOUT false; PAUSED false; ALREADY false; ";
    assert_eq!(told, format!("{refused}GRANTED took a connection; "));
}

/// The commands on the page have only options of their programs.
#[test]
fn calls_are_those_that_the_programs_take() {
    let folder = root().join("examples/migrate");
    let shared = fs::read_to_string(folder.join("carry.php")).expect("carry.php");
    let page = pages().concat();
    let calls: Vec<_> = page.lines().filter(|line| line.starts_with("php examples/")).collect();
    assert!(calls.len() >= 6, "one for each family: {calls:?}");
    for call in calls {
        let program = call.split(' ').nth(1).expect("a program");
        let source = fs::read_to_string(root().join(program)).expect(program);
        let options = call.split(' ').filter_map(|word| word.strip_prefix("--"));
        for option in options {
            let named = format!("'{option}'");
            assert!(source.contains(&named) || shared.contains(&named), "--{option} of {call}");
        }
    }
}

/// The redis-cli lines of each page are valid calls. A sale that they name may be missing, if a
/// program creates it.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn lines_of_redis_cli_are_calls() {
    let mut calls = 0;
    for page in pages() {
        let server = seckill_harness::server::Server::start();
        for line in page.lines().filter_map(|line| line.strip_prefix("redis-cli -p 6390 ")) {
            let line = line.split(" | ").next().unwrap_or(line);
            let told = server.call(line);
            let is_refused = told.starts_with('-') && !told.contains("NOSALE");
            assert!(!is_refused, "{line}: {told}");
            calls += 1;
            server.call("DEL sale:try");
        }
    }
    assert!(calls > 15, "they are found: {calls}");
}

/// A page shows a message for each state of the sale, and has one order for each round.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn pages_tell_a_user_something() {
    let shop = Move::of("counter.php", &[]);
    for family in ["counter", "order", "watch", "lists", "coins"] {
        let told = shop.after(&[family, "sale:gone", "a", "order-1"]);
        assert!(told.contains("暂时不可用"), "{family}: {told}");
        let mut php = command(1, &[family, "sale:gone", "a", "order-1"], None);
        let (told, went_well) = output(&mut php);
        assert!(went_well && told.contains("正在确认"), "{family}: {told}");
        shop.new.call("SECKILL.INIT sale:paused 5 HOLD 60000");
        shop.new.call("SECKILL.PAUSE sale:paused");
        let told = shop.after(&[family, "sale:paused", "a", "order-1"]);
        assert!(told.contains("活动暂停中"), "{family}: {told}");
    }
    let hourly = "SECKILL.INIT sale:hourly 1000 LIMIT 0 GRABS 1 EVERY 3600000 LASTS 3600000";
    shop.new.call(hourly);
    for coins in ["40", "41"] {
        let told = shop.after(&["coins", "sale:hourly", "a", "", coins]);
        assert!(told.contains("\"count\":40"), "one order a round: {told}");
    }
}

/// A refunded user can buy again: the session's order has ended, and the next click is a new one.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn who_was_paid_back_can_buy_again() {
    let shop = Move::of("counter.php", &[]);
    let families = [
        ("counter", "LIMIT 1", "秒杀成功"),
        ("order", "LIMIT 1 HOLD 60000", "秒杀成功"),
        ("watch", "LIMIT 1", "抢购成功"),
        ("lists", "LIMIT 1", "success"),
        ("coins", "LIMIT 0 GRABS 1", "抢红包成功"),
    ];
    for (family, terms, won) in families {
        let sale = format!("sale:{family}");
        shop.new.call(&format!("SECKILL.INIT {sale} 5 {terms}"));
        let click = || shop.after(&[family, &sale, "a"]);
        let first = click();
        assert!(first.contains(won), "{family}: {first}");
        let winners = format!("SECKILL.WINNERS {sale} 0");
        let held = shop.new.call(&winners);
        let order = held.split('\'').rev().nth(1).expect("an order").to_owned();
        let back = shop.new.call(&format!("SECKILL.REFUND {sale} a REQ {order}"));
        assert!(back.contains("REFUNDED"), "{family}: {held}: {back}");
        // order.php removes the row at the first click, and buys at the second.
        let told =
            format!("{}{}", click(), if family == "order" { click() } else { String::new() });
        assert!(told.contains(won), "{family}: {told}");
        assert_ne!(shop.new.call(&winners), held, "{family}: a new order");
    }
}

/// The day after, a sale is made anew at the same key: who bought yesterday has a new order, which
/// yesterday's row does not stand for.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_later_sale_at_the_same_key_has_new_orders() {
    let shop = Move::of("counter.php", &[]);
    let hold = "LIMIT 1 HOLD 60000";
    let families = [
        ("counter", "LIMIT 1", "秒杀成功"),
        ("order", hold, "秒杀成功"),
        ("watch", "LIMIT 1", "抢购成功"),
        ("lists", "LIMIT 1", "success"),
        ("coins", "LIMIT 0 GRABS 1", "抢红包成功"),
        ("a controller", hold, "秒杀成功"),
    ];
    for (family, terms, won) in families {
        let order_of_a_day = || {
            shop.new.call("DEL sale:goods");
            shop.new.call(&format!("SECKILL.INIT sale:goods 5 {terms}"));
            let told = match family {
                "a controller" => click(&shop, "sale:goods", "a", "works"),
                page => shop.after(&[page, "sale:goods", "a"]),
            };
            assert!(told.contains(won), "{family}: {told}");
            let winners = shop.new.cmd("SECKILL.WINNERS sale:goods 0");
            winners.items()[1].items()[0].items()[6].text().to_owned()
        };
        let (yesterday, today) = (order_of_a_day(), order_of_a_day());
        assert_ne!(yesterday, today, "{family}");
    }
}

/// One click of a user at GoodsSale.php. The orders are the hash `rows`. The work `works`, `fails`,
/// or writes its order and then `throws`, `dies`, or `is slow`.
fn click(shop: &Move, sale: &str, user: &str, work: &str) -> String {
    let program = "require $argv[1]; require $argv[2];
        [, , , $port, $key, $user, $work] = $argv;
        $connect = function () use ($port) {
            $redis = new Redis(); $redis->connect('127.0.0.1', (int) $port); return $redis;
        };
        $rows = $connect();
        $write = function ($order) use ($rows, $user, $work) {
            if ($work === 'fails') { return false; }
            $rows->hSetNx('rows', $order, $user);
            if ($work === 'dies') { exit('died'); }
            if ($work === 'is slow') { usleep(50_000); }
            if ($work === 'throws') { throw new RuntimeException('no answer'); }
            return true;
        };
        $goods = new GoodsSale($connect(), new Seckill\\Sale($connect, $key), $key);
        try { echo $goods->buy($user, $write, fn ($order) => $rows->hDel('rows', $order)); }
        catch (LogicException | RuntimeException $why) { echo get_class($why); }";
    let mut php = Command::new("php");
    php.args(["-r", program, "--"]).arg(root().join("clients/php/Seckill.php"));
    php.arg(root().join("examples/migrate/GoodsSale.php"));
    output(php.args([&shop.new.port().to_string(), sale, user, work])).0
}

/// A controller without a session. All clicks of a user are one order, on every server. Failed work
/// returns the unit, and a refunded user can buy again.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_controller_without_a_session() {
    let shop = Move::of("counter.php", &[]);
    shop.new.call("SECKILL.INIT sale:goods 1 LIMIT 1 HOLD 60000");
    let click = |user: &str, work: &str| click(&shop, "sale:goods", user, work);
    assert_eq!(click("lin", "fails"), "秒杀失败,商品库存不足。");
    assert_eq!(shop.books("sale:goods"), [1, 1, 0, 0, 0], "it was given back");
    assert_eq!(click("lin", "works"), "秒杀成功");
    assert_eq!(click("lin", "works"), "秒杀成功", "the same order");
    assert_eq!(click("wei", "works"), "秒杀失败,商品库存不足。");
    let order = shop.new.call("HKEYS rows").replace(['[', ']', '\''], "");
    let back = shop.new.call(&format!("SECKILL.REFUND sale:goods lin REQ {order}"));
    assert!(back.contains("REFUNDED"), "{order}: {back}");
    assert_eq!(click("lin", "works"), "秒杀成功", "a new order");
    assert_eq!(shop.books("sale:goods"), [1, 0, 0, 1, 0]);
    assert_eq!(shop.new.call("HLEN rows"), "2", "a refunded order is a paid one, and kept");
}

/// An order is written before CONFIRM. What is not confirmed in time is taken back, and nothing is
/// given back whose order may be written.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_controller_that_dies_between_the_order_and_its_unit() {
    let shop = Move::of("counter.php", &[]);
    shop.new.call("SECKILL.INIT sale:goods 1 LIMIT 1 HOLD 60000");
    let click = |user: &str, work: &str| click(&shop, "sale:goods", user, work);
    let rows = || shop.new.call("HVALS rows");
    assert_eq!(click("lin", "throws"), "RuntimeException");
    assert_eq!((shop.books("sale:goods"), rows()), ([1, 0, 1, 0, 0], "['lin']".to_owned()));
    assert_eq!(click("wei", "works"), "秒杀失败,商品库存不足。");
    assert_eq!(click("lin", "fails"), "秒杀失败,商品库存不足。");
    assert_eq!(rows(), "[]", "the row of the click before has no unit");
    shop.new.call("SECKILL.ALTER sale:goods HOLD 1");
    assert_eq!(click("lin", "dies"), "died");
    shop.new.call("SECKILL.ALTER sale:goods HOLD 60000");
    assert_eq!(click("wei", "works"), "秒杀成功", "the hold is over");
    assert_eq!(click("lin", "works"), "秒杀失败,商品库存不足。");
    assert_eq!((shop.books("sale:goods"), rows()), ([1, 0, 0, 1, 0], "['wei']".to_owned()));
    // The hold ends while the work is done.
    shop.new.call("SECKILL.RESTOCK sale:goods 1");
    shop.new.call("SECKILL.ALTER sale:goods HOLD 1");
    assert_eq!(click("mei", "is slow"), "秒杀失败,商品库存不足。");
    assert_eq!(rows(), "['wei']");
    // A row that was lost is written by the next click.
    shop.new.call("DEL rows");
    assert_eq!(
        (click("wei", "fails"), rows()),
        ("正在确认，请再点一次".to_owned(), "[]".to_owned())
    );
    assert_eq!((click("wei", "works"), rows()), ("秒杀成功".to_owned(), "['wei']".to_owned()));
}

/// Without HOLD a unit would be sold before the work is done: no click takes one.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_controller_of_a_sale_without_a_hold() {
    let shop = Move::of("counter.php", &[]);
    shop.new.call("SECKILL.INIT sale:goods 1 LIMIT 1");
    for _ in 0..2 {
        assert_eq!(click(&shop, "sale:goods", "lin", "works"), "LogicException");
        assert_eq!(shop.books("sale:goods"), [1, 1, 0, 0, 0]);
    }
}
