//! TLS towards databases that refuse connections without it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rcgen::KeyPair;
use seckill_harness::launch::free_port;
use seckill_harness::mariadb::MariaDb;
use seckill_harness::postgres::Postgres;
use seckill_harness::wait_until;

use super::killed::{ask, assert_equal, is_done, writer};
use super::shop::Shop;
use crate::program::Running;
use crate::tls::{authority, params};

const KEY: &str = "sale:tls";

/// Two authorities, a key, and certificates for this machine and for another host. Only one
/// authority has signed them.
fn write_certificates(folder: &Path) -> Result<(), String> {
    let write = |name: &str, text: String| {
        let file = folder.join(name);
        fs::write(&file, text).map_err(|e| e.to_string())?;
        let secret = fs::Permissions::from_mode(if name.ends_with("key") { 0o600 } else { 0o644 });
        fs::set_permissions(file, secret).map_err(|e| e.to_string())
    };
    let ours = authority("ours");
    write("ca.crt", ours.pem())?;
    write("stranger.crt", authority("stranger").pem())?;
    let key = KeyPair::generate().map_err(|e| e.to_string())?;
    for (name, host) in [("here.crt", "127.0.0.1"), ("elsewhere.crt", "elsewhere.example")] {
        let signed = params(host).signed_by(&key, &ours).map_err(|e| e.to_string())?;
        write(name, signed.pem())?;
    }
    write("server.key", key.serialize_pem())
}

/// A database that requires TLS, its TCP URL, and its names for the TLS parameters.
struct Closed {
    shop: Shop,
    url: String,
    words: [&'static str; 4],
}

const MYSQL_WORDS: [&str; 4] =
    ["ssl-mode=VERIFY_IDENTITY", "ssl-mode=VERIFY_CA", "ssl-mode=REQUIRED", "ssl-ca"];

/// A MariaDB or MySQL that requires TLS; `maker` starts it with the settings.
fn mysql_like(
    certificates: Option<(&Path, &str)>,
    maker: fn(&[&str]) -> Result<MariaDb, String>,
) -> Closed {
    let port = free_port();
    let mut settings = vec![
        "--bind-address=127.0.0.1".to_owned(),
        format!("--port={port}"),
        "--require-secure-transport=ON".to_owned(),
    ];
    if let Some((folder, certificate)) = certificates {
        for (name, file) in [("ca", "ca.crt"), ("cert", certificate), ("key", "server.key")] {
            settings.push(format!("--ssl-{name}={}", folder.join(file).display()));
        }
    }
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let shop = Shop::with_server(maker(&settings).expect("a database"));
    shop.run(&[
        "CREATE USER w@'127.0.0.1' IDENTIFIED BY 'secret' REQUIRE SSL",
        "GRANT ALL ON shop.* TO w@'127.0.0.1'",
    ]);
    let url = format!("mysql://w:secret@127.0.0.1:{port}/shop");
    Closed { shop, url, words: MYSQL_WORDS }
}

fn postgres(certificate: &str) -> (Closed, tempfile::TempDir) {
    let kept = tempfile::tempdir().expect("a folder");
    let port = free_port();
    let file = format!("ssl_cert_file=../{certificate}");
    let settings = [
        "listen_addresses=127.0.0.1",
        "ssl=on",
        &file,
        "ssl_key_file=../server.key",
        "hba_file=../hba.conf",
    ];
    let server = Postgres::start_with(port, &settings, |folder| {
        write_certificates(folder)?;
        for name in ["ca.crt", "stranger.crt"] {
            fs::copy(folder.join(name), kept.path().join(name)).map_err(|e| e.to_string())?;
        }
        let hba = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
        fs::write(folder.join("hba.conf"), hba).map_err(|e| e.to_string())
    });
    let shop = Shop::with_postgres_server(server.expect("PostgreSQL"));
    shop.run(&["CREATE USER w PASSWORD 'secret'", "GRANT ALL ON SCHEMA public TO w"]);
    let url = format!("postgres://w:secret@127.0.0.1:{port}/shop");
    let words = ["sslmode=verify-full", "sslmode=verify-ca", "sslmode=require", "sslrootcert"];
    (Closed { shop, url, words }, kept)
}

impl Closed {
    /// Asserts that the program ends with 1 and an error message that has these words.
    #[track_caller]
    fn refused(&self, query: &str, words: &str) {
        let url = format!("{}{query}", self.url);
        let (status, said) = super::ended(writer(&self.shop.redis_url(), &url, KEY, "w"));
        assert!(status == Some(1) && said.contains(words), "{query}: {said}");
    }

    #[track_caller]
    fn writes(&self, query: &str) {
        let mut redis = self.shop.connect();
        ask(&mut redis, &format!("SECKILL.GRAB {KEY} u{} REQ {}", query.len(), query.len()));
        let url = format!("{}{query}", self.url);
        let running = Running::start(writer(&self.shop.redis_url(), &url, KEY, "w"));
        wait_until("all is written", || is_done(&mut redis, &format!("{KEY}:orders")));
        assert_equal(&self.shop, &mut redis, KEY);
        assert_eq!(running.end("TERM").code(), Some(0));
    }

    #[track_caller]
    fn open_sale(&self) {
        let line = format!("SECKILL.INIT {KEY} 99 HOLD 60000 OUTBOX {KEY}:orders");
        ask(&mut self.shop.connect(), &line);
    }

    /// Checks a database whose certificate names this machine.
    #[track_caller]
    fn takes_only_tls(&self, ca: &Path) {
        let [full, authority, require, file] = self.words;
        let (ours, stranger) = (ca.join("ca.crt"), ca.join("stranger.crt"));
        let (ours, stranger) = (ours.display(), stranger.display());
        self.open_sale();
        self.refused("", "without TLS");
        self.refused(&format!("?{full}&{file}={stranger}"), "UnknownIssuer");
        self.refused(&format!("?{authority}&{file}={stranger}"), "UnknownIssuer");
        // An unknown certificate authority is refused.
        self.refused(&format!("?{require}"), "UnknownIssuer");
        self.writes(&format!("?{full}&{file}={ours}"));
        self.writes(&format!("?{require}&{file}={ours}"));
    }

    /// Checks a database whose certificate names another host.
    #[track_caller]
    fn takes_another_name_only_if_told(&self, ca: &Path) {
        let [full, authority, _, file] = self.words;
        let ours = ca.join("ca.crt");
        self.open_sale();
        self.refused(&format!("?{full}&{file}={}", ours.display()), "not valid for name");
        self.writes(&format!("?{authority}&{file}={}", ours.display()));
    }
}

#[test]
#[ignore = "takes MariaDB: make orders-test"]
fn mariadb_by_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    write_certificates(folder.path()).expect("certificates");
    let here = mysql_like(Some((folder.path(), "here.crt")), MariaDb::start_with);
    here.takes_only_tls(folder.path());
    let elsewhere = mysql_like(Some((folder.path(), "elsewhere.crt")), MariaDb::start_with);
    elsewhere.takes_another_name_only_if_told(folder.path());
}

#[test]
#[ignore = "takes MySQL 9.7: make orders-test"]
fn mysql_by_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    write_certificates(folder.path()).expect("certificates");
    let here = mysql_like(Some((folder.path(), "here.crt")), MariaDb::mysql_with);
    here.takes_only_tls(folder.path());
    // MySQL has created its own authority and a certificate that names no host.
    let own = mysql_like(None, MariaDb::mysql_with);
    own.open_sale();
    let authority = own.shop.data().join("ca.pem");
    own.refused(&format!("?{}&ssl-ca={}", MYSQL_WORDS[0], authority.display()), "certificate");
    own.writes(&format!("?{}&ssl-ca={}", MYSQL_WORDS[1], authority.display()));
}

#[test]
#[ignore = "takes PostgreSQL: make orders-test"]
fn postgres_by_tls() {
    let (here, ca) = postgres("here.crt");
    here.takes_only_tls(ca.path());
    let (elsewhere, ca) = postgres("elsewhere.crt");
    elsewhere.takes_another_name_only_if_told(ca.path());
}
