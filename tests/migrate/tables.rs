//! A number and a table of orders in a database.

use std::process::Command;

use seckill_harness::mariadb::MariaDb;
use seckill_harness::wait::holds_in_time;

use crate::{output, root, Move};

/// Each row takes longer than a hold of 1 ms.
const SLOW_ROWS: &str = "CREATE TRIGGER shop.slow BEFORE INSERT ON shop.orders
    FOR EACH ROW SET NEW.user = IF(SLEEP(0.1), NEW.user, NEW.user)";

/// Runs SQL, and gives the first column of the last statement's rows.
fn sql(database: &MariaDb, statements: &[&str]) -> String {
    let program = "$pdo = new PDO(getenv('DSN'), 'root');
        foreach (array_slice($argv, 1) as $sql) { $rows = $pdo->query($sql); }
        echo implode(' ', $rows->fetchAll(PDO::FETCH_COLUMN));";
    let mut php = Command::new("php");
    php.env("DSN", dsn(database)).args(["-r", program, "--"]).args(statements);
    let (said, went_well) = output(&mut php);
    assert!(went_well, "{said}");
    said
}

fn dsn(database: &MariaDb) -> String {
    let url = database.url("shop");
    let socket = url.split_once("socket=").expect("a socket").1;
    format!("mysql:unix_socket={socket}")
}

/// 002 and 004: a stock column and a table of orders.
#[test]
#[ignore = "needs PHP and MariaDB: make migrate-test"]
fn sql_tables() {
    let database = MariaDb::start().unwrap();
    sql(
        &database,
        &[
            "CREATE DATABASE shop",
            "CREATE TABLE shop.seckill (seckill_id int PRIMARY KEY, number int)",
            "CREATE TABLE shop.orders (id varchar(64) PRIMARY KEY, user varchar(64),
                at timestamp DEFAULT '2018-02-05 18:54:21')",
            "INSERT INTO shop.seckill VALUES (1, 3), (2, 50)",
            "INSERT INTO shop.orders (id, user) VALUES ('order-1', 'lin'), ('order-2', 'wei')",
        ],
    );
    let dsn = format!("{};dbname=shop", dsn(&database));
    let options = [
        &format!("--dsn={dsn}") as &str,
        "--stock=seckill.number",
        "--where=seckill_id = 1",
        "--orders=SELECT user, id, 1, UNIX_TIMESTAMP(at) * 1000 FROM orders",
        "--sale=sale:goods",
        "--terms=HOLD 60000",
    ];
    let shop = Move::of("sql.php", &options);
    for _ in 0..2 {
        shop.run(&[]);
        assert_eq!(shop.books("sale:goods"), [5, 3, 0, 2, 0]);
    }
    let stock = || sql(&database, &["SELECT number FROM shop.seckill ORDER BY seckill_id"]);
    assert_eq!(stock(), "0 50", "the other product is left alone");
    let told = shop.new.call("SECKILL.GRAB sale:goods lin REQ order-1");
    assert!(told.starts_with("['REPLAY' 1 1 'SOLD'"), "{told}");
    let page = |user, order| {
        let mut php = Command::new("php");
        php.env("REDIS_PORT", shop.new.port().to_string()).env("DSN", &dsn);
        let page = root().join("examples/migrate/after.php");
        output(php.arg(page).args(["sql", "sale:goods", user, order])).0
    };
    let orders = || sql(&database, &["SELECT id FROM shop.orders ORDER BY id"]);
    assert!(page("mei", "order-3").contains("success"));
    assert!(page("mei", "order-4").contains("ALREADY"));
    assert_eq!(orders(), "order-1 order-2 order-3");
    // A row that takes longer than its hold is an order without a unit, and does not stay.
    sql(&database, &[SLOW_ROWS]);
    shop.new.call("SECKILL.ALTER sale:goods HOLD 1");
    assert!(page("gao", "order-5").contains("fail: late"));
    assert_eq!(orders(), "order-1 order-2 order-3");
    // Nor does one whose page died behind it.
    sql(&database, &["INSERT INTO shop.orders (id, user) VALUES ('order-5', 'gao')"]);
    assert!(page("gao", "order-5").contains("fail: late"));
    assert_eq!(orders(), "order-1 order-2 order-3");
    let books = || shop.books("sale:goods");
    assert!(holds_in_time(|| books() == [5, 2, 0, 3, 0]), "{:?}", books());
    shop.run(&["--back=yes"]);
    assert_eq!(stock(), "2 50");
    assert!(!shop.try_run(shop.new.port(), &["--back=yes"]).1, "it is back already");
}
