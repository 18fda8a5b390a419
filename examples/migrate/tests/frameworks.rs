//! The controllers of docs/migrate-more.md, unchanged, in a new app of the framework.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use seckill_harness::launch::free_port;
use seckill_harness::mariadb::MariaDb;
use seckill_harness::process::Process;
use seckill_harness::wait::wait_until;

use crate::tables::sql;
use crate::{output, root, Move};

/// The framework of Debian's package php-laravel-framework.
const LARAVEL: &str = "/usr/share/php/Illuminate/autoload.php";

/// The block of docs/migrate-more.md that begins with this comment.
fn block(begins: &str) -> String {
    let page = fs::read_to_string(root().join("docs/migrate-more.md")).expect("the page");
    let from = page.find(&format!("```text\n// {begins}")).expect(begins) + "```text\n".len();
    page[from..from + page[from..].find("```").expect("its end")].to_owned()
}

/// An app behind PHP's own web server.
struct App {
    process: Process,
    port: u16,
}

impl App {
    fn laravel(shop: &Move, database: &MariaDb) -> App {
        let process =
            Process::in_folder(&std::env::temp_dir(), "seckill-laravel").expect("a folder");
        let folder = process.folder();
        fs::create_dir_all(folder.join("bootstrap/cache")).expect("a folder");
        fs::create_dir_all(folder.join("routes")).expect("a folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.join(name), format!("<?php\n{text}")).expect(name);
        };
        let uses = "use Illuminate\\Http\\Request;\nuse Illuminate\\Support\\Facades\\Route;\n";
        write("routes/api.php", &format!("{uses}{}", block("Laravel: routes/api.php")));
        let sale = block("Both: app/sale.php").replace("6390", &shop.new.port().to_string());
        write("sale.php", &sale);
        let index = root().join("examples/migrate/tests/laravel/index.php");
        fs::copy(index, folder.join("index.php")).expect("the app");
        let files = [
            root().join("clients/php/Seckill.php"),
            root().join("examples/migrate/GoodsSale.php"),
            folder.join("sale.php"),
        ];
        let port = free_port();
        let mut php = Command::new("php");
        php.current_dir(folder)
            .args(["-S", &format!("127.0.0.1:{port}"), "index.php"])
            .env("LARAVEL", LARAVEL)
            .env("FILES", files.map(|file| file.display().to_string()).join(":"))
            .env("SOCKET", database.socket());
        process.spawn(&mut php).expect("PHP's web server");
        let app = App { process, port };
        wait_until("the app answers", || app.click("/api/nothing", "").contains("404"));
        app
    }

    /// One POST of a user with this token. Returns status and body.
    fn click(&self, path: &str, token: &str) -> String {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-X", "POST", "-w", " %{http_code}", "-H", "Accept: application/json"]);
        curl.args(["-H", &format!("Authorization: Bearer {token}")]);
        output(curl.arg(format!("http://127.0.0.1:{}{path}", self.port))).0
    }

    fn buys(&self, user: &str) -> String {
        let told = self.click("/api/goods-new/buy", &format!("token-{user}"));
        let (json, status) = told.rsplit_once(' ').expect("a status");
        assert_eq!(status, "200", "{told}\n{}", self.log());
        let mut php = Command::new("php");
        php.args(["-r", "echo json_decode($argv[1])->msg;", "--", json]);
        output(&mut php).0
    }

    fn log(&self) -> String {
        let files = fs::read_dir(self.process.folder()).expect("its folder");
        let files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
        let logs = files.iter().filter(|file| file.extension().is_some_and(|end| end == "log"));
        logs.map(|file| fs::read_to_string(file).unwrap_or_default()).collect()
    }
}

/// The steps of "In a framework": the move, sales by the controller, and the way back.
#[test]
#[ignore = "needs Laravel and MariaDB: make migrate-test"]
fn laravel() {
    assert!(Path::new(LARAVEL).exists(), "make migrate-deps installs Laravel");
    let database = MariaDb::start().unwrap();
    let tables = [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.users (id int PRIMARY KEY, api_token varchar(64) UNIQUE)",
        "CREATE TABLE shop.orders (order_no varchar(64) PRIMARY KEY, user varchar(64), goods_id int)",
        "INSERT INTO shop.users VALUES (1, 'token-a'), (2, 'token-b'), (3, 'token-c')",
    ];
    sql(&database, &tables);
    let options = ["--counter=goods", "--counts=down", "--sale=sale:goods"];
    let shop = Move::of("counter.php", &[&options[..], &["--terms=LIMIT 1 HOLD 900000"]].concat());
    shop.old.call("SET goods 3");
    assert!(shop.before("003-printed.php").contains("秒杀成功"));
    let app = App::laravel(&shop, &database);
    shop.run(&["--open=no"]);
    assert_eq!(app.buys("a"), "活动暂停中。");
    shop.new.call("SECKILL.RESUME sale:goods");
    // A second click is the same order.
    for user in ["a", "a", "b"] {
        assert_eq!(app.buys(user), "秒杀成功", "{user}");
    }
    assert_eq!(app.buys("c"), "秒杀失败,商品库存不足。");
    assert!(app.click("/api/goods-new/buy", "nobody's").ends_with(" 401"), "only with a token");
    let orders = "SELECT GROUP_CONCAT(user ORDER BY user) FROM shop.orders";
    assert_eq!(sql(&database, &[orders]), "1,2", "who the token says, once each");
    assert_eq!(shop.books("sale:goods"), [2, 0, 0, 2, 0]);
    shop.new.call("SECKILL.RESTOCK sale:goods 1 REQ one-more");
    shop.run(&["--back=yes"]);
    assert_eq!(shop.old.call("GET goods"), "'1'");
    assert_eq!(app.buys("c"), "活动暂停中。");
    assert!(shop.before("003-printed.php").contains("秒杀成功"), "the old program sells again");
}

/// The jars of Debian's Spring 4.3, and those that they need.
const SPRING: [&str; 14] = [
    "spring3-core",
    "spring3-beans",
    "spring3-context",
    "spring3-aop",
    "spring3-expression",
    "spring3-web",
    "spring3-web.servlet",
    "spring3-test",
    "servlet-api",
    "jackson-databind",
    "jackson-core",
    "jackson-annotations",
    "commons-logging",
    "hamcrest-core",
];

/// The controller in Spring MVC: it sells, and a failed order is followed by a new one.
#[test]
#[ignore = "needs Spring and a JDK: make migrate-test"]
fn spring() {
    let folder = Process::in_folder(&std::env::temp_dir(), "seckill-spring").expect("a folder");
    let folder = folder.folder();
    let read = |name: &str| fs::read_to_string(root().join("examples/migrate").join(name));
    let program = read("tests/spring/Play.java").expect("the app");
    let program = program.replace("// the page's controller", &block("Spring: template"));
    fs::write(folder.join("Play.java"), program).expect("a program");
    let jars = SPRING.map(|name| format!("/usr/share/java/{name}.jar")).join(":");
    let mut javac = Command::new("javac");
    javac.current_dir(root()).args(["-parameters", "-cp", &jars, "-d"]).arg(folder);
    javac.args(["-sourcepath", "clients/java/core/src/main/java", "examples/migrate/After.java"]);
    let (told, went_well) = output(javac.arg(folder.join("Play.java")));
    assert!(went_well, "{told}");
    let options = ["--counter=goods", "--counts=down", "--sale=sale:goods"];
    let shop = Move::of("counter.php", &[&options[..], &["--terms=LIMIT 1 HOLD 900000"]].concat());
    shop.old.call("SET goods 2");
    shop.run(&[]);
    let play = |words: &[&str]| {
        let mut java = Command::new("java");
        java.args(["-cp", &format!("{jars}:{}", folder.display()), "Play"]);
        let (told, _) = output(java.arg(shop.new.port().to_string()).args(words));
        let said = told.lines().filter_map(|line| line.strip_prefix("{\"msg\":\""));
        let said: Vec<_> = said.map(|line| line.trim_end_matches("\"}").to_owned()).collect();
        (said, told)
    };
    // A sign before the user: the shop's own work fails (-), is done and its answer is lost (!), or
    // takes longer than the hold (~).
    let (said, told) = play(&["lin", "lin", "-wei", "~wei", "!wei", "gao", "wei", "gao"]);
    let (won, failed, none) = ("秒杀成功", "秒杀失败", "秒杀失败,商品库存不足。");
    assert_eq!(said, [won, won, failed, failed, "no answer", none, won, none], "{told}");
    assert!(told.contains("orders 2"), "one for each winner: {told}");
    assert_eq!(shop.books("sale:goods"), [2, 0, 0, 2, 0]);
    let order = || {
        let winners = shop.new.cmd("SECKILL.WINNERS sale:goods 0");
        winners.items()[1].items()[0].items()[6].text().to_owned()
    };
    let of_this_sale = order();
    shop.run(&["--back=yes"]);
    assert_eq!(shop.old.call("GET goods"), "'0'");
    // A later sale at the same key has other orders. Without HOLD it sells nothing.
    shop.new.call("DEL sale:goods");
    shop.new.call("SECKILL.INIT sale:goods 2 LIMIT 1");
    let (said, told) = play(&["lin", "lin"]);
    assert_eq!(said, ["this sale has no HOLD"; 2], "{told}");
    assert_eq!(shop.books("sale:goods"), [2, 2, 0, 0, 0]);
    shop.new.call("SECKILL.ALTER sale:goods HOLD 900000");
    assert_eq!(play(&["lin"]).0, [won]);
    assert_ne!(order(), of_this_sale);
}
