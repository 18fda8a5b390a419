//! `seckill orders` against real databases, killed at every point.

mod killed;
mod lost;
mod proxy;
mod sentinels;
mod shop;

use super::program::run;

#[test]
fn it_prints_the_tables_that_it_needs() {
    for (url, words) in [
        ("mysql://root@localhost/shop", "user_id VARBINARY(256) NOT NULL"),
        ("mariadb://root@localhost/shop", "user_id VARBINARY(256) NOT NULL"),
        ("postgres://shop@localhost/shop", "user_id BYTEA NOT NULL"),
    ] {
        let printed = run(&["orders", "--database", url, "--print-schema"]);
        assert_eq!(printed.status.code(), Some(0));
        let text = String::from_utf8(printed.stdout).expect("text");
        assert!(text.contains(words), "{text}");
        assert_eq!(text.matches("CREATE TABLE IF NOT EXISTS").count(), 4);
    }
}

#[test]
fn it_says_what_it_can_not_do() {
    for (words, code, said) in [
        (&["--database", "sqlite://x", "--stream", "s"][..], 1, "seckill: --database: mysql://"),
        (&["--database", "postgres://x/y"], 2, "--stream"),
        (&["--stream", "s"], 2, "--database"),
        (&["--database", "postgres://x/y", "--stream", "s", "--batch", "0"], 2, "--batch"),
        (&["--database", "postgres://x/y", "--stream", "s", "--redis", "x"], 2, "--redis"),
    ] {
        let ended = run(&[&["orders"], words].concat());
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), errors.contains(said)), (Some(code), true), "{errors}");
    }
}
