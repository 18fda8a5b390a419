//! TLS with a server that asks each client for a certificate.

use std::fs;
use std::process::Stdio;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use seckill_harness::launch::free_port;
use seckill_harness::{wait_until, Options, Server};

use super::exporter::number;
use super::orders::ended;
use super::program::{run, seckill, Running};

/// A certificate for this name or address. A certificate with the name of its signer is
/// self-signed.
pub fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// An authority with a self-signed certificate.
pub fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = params(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority")
}

/// A server with a TLS port beside its plain one. Its folder has the certificates of its authority,
/// and `stranger.crt` of another authority.
struct Tls {
    server: Server,
    port: u16,
}

impl Tls {
    /// The server's certificate names this host.
    #[track_caller]
    fn start(host: &str) -> Tls {
        let server = Options::new().start();
        let write = |name: &str, text: String| {
            fs::write(server.folder().join(name), text).expect("a file");
        };
        let ours = authority("ours");
        write("ca.crt", ours.pem());
        write("stranger.crt", authority("stranger").pem());
        for (name, host) in [("server", host), ("client", "client")] {
            let key = KeyPair::generate().expect("a key");
            let signed = params(host).signed_by(&key, &ours).expect("a signature");
            write(&format!("{name}.crt"), signed.pem());
            write(&format!("{name}.key"), key.serialize_pem());
        }
        let port = free_port();
        let set = format!(
            "CONFIG SET tls-cert-file server.crt tls-key-file server.key \
             tls-ca-cert-file ca.crt tls-port {port}"
        );
        assert_eq!(server.call(&set), "+OK");
        Tls { server, port }
    }

    fn file(&self, name: &str) -> String {
        self.server.folder().join(name).display().to_string()
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}/", self.port)
    }

    /// Options that trust this authority, with the client's certificate or without.
    fn words(&self, authority: &str, shows_its_own: bool) -> Vec<String> {
        let mut words = vec!["--cacert".to_owned(), self.file(authority)];
        if shows_its_own {
            words.extend(["--cert".to_owned(), self.file("client.crt")]);
            words.extend(["--key".to_owned(), self.file("client.key")]);
        }
        words
    }

    /// The exporter's message about a server that it can't reach.
    #[track_caller]
    fn refused(&self, words: &[String]) -> String {
        let mut program = seckill(&["exporter", "--sale", "s", "--redis", &self.url("rediss")]);
        program.args(words);
        let (status, told) = Running::start(program).get("/health");
        assert_eq!((status, told.lines().count()), (503, 1), "{told}");
        assert!(told.starts_with(&format!("no Redis at 127.0.0.1:{}: ", self.port)), "{told}");
        told
    }
}

/// TLS by the URL or by options, which all subcommands share.
#[test]
fn the_right_authority_and_a_certificate_of_ones_own_are_enough() {
    let tls = Tls::start("127.0.0.1");
    let words = tls.words("ca.crt", true);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let url = tls.url("rediss");
    let create = ["create", "s", "--supply", "40", "--parts", "4"];
    let output = run(&[&["split", "--redis", &url], &words[..], &create].concat());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "4 parts of s: 40 units\n");

    let url = tls.url("redis");
    let whole = [&["exporter", "--redis", &url, "--tls", "--sale", "s:*"], &words[..]].concat();
    let exporter = Running::start(seckill(&whole));
    wait_until("the parts are found", || {
        exporter.get("/metrics").1.contains("seckill_sale_supply_units{sale=\"s:{p3}\"}")
    });
    assert_eq!(number(&exporter.get("/metrics").1, "seckill_up"), 1.0);
}

/// The message is one line: the side that refused, and the reason.
#[test]
fn anybody_else_is_refused() {
    let tls = Tls::start("127.0.0.1");
    let told = tls.refused(&tls.words("stranger.crt", true));
    assert!(told.contains("invalid peer certificate: UnknownIssuer"), "{told}");
    let told = tls.refused(&tls.words("ca.crt", false));
    assert!(told.contains("received fatal alert: CertificateRequired"), "{told}");
    // An unknown certificate authority is refused.
    let told = tls.refused(&[]);
    assert!(told.contains("invalid peer certificate: UnknownIssuer"), "{told}");
    let other = Tls::start("elsewhere.example");
    let told = other.refused(&other.words("ca.crt", true));
    assert!(told.contains("not valid for name"), "{told}");
}

/// A port without TLS, and one with nothing else.
#[test]
fn the_wrong_kind_of_port_is_said() {
    let tls = Tls::start("127.0.0.1");
    let plain = format!("rediss://127.0.0.1:{}/", tls.server.port());
    for (url, said) in [
        (plain, "(does this port speak TLS?)"),
        (tls.url("redis"), "(each time? A port with TLS takes rediss://)"),
    ] {
        let exporter = Running::start(seckill(&["exporter", "--sale", "s", "--redis", &url]));
        let (status, told) = exporter.get("/health");
        assert!(status == 503 && told.contains(said), "{told}");
    }
}

/// Certificates are read at the start. So a writer ends if the server refuses its certificate, as
/// one that has expired, and its service manager starts it with the new one.
#[test]
fn who_shows_no_certificate_ends() {
    let tls = Tls::start("127.0.0.1");
    let url = tls.url("rediss");
    let mut program = seckill(&["orders", "--to", "stdout", "--stream", "s", "--redis", &url]);
    program.args(tls.words("ca.crt", false)).stdin(Stdio::piped());
    let (status, told) = ended(program);
    assert_eq!(status, Some(1), "{told}");
    assert!(told.contains("received fatal alert: CertificateRequired"), "{told}");
}

/// Options of TLS without TLS are an error, so that no secret is sent in plain text.
#[test]
fn options_of_tls_without_tls_are_a_mistake() {
    for (words, said) in [
        (&["--redis", "redis://127.0.0.1:1/", "--cacert", "x"][..], "or --tls"),
        (&["--redis", "unix:///tmp/nothing.sock", "--tls"], "--tls: a socket has none"),
        (&["--redis", "rediss://127.0.0.1:1/", "--cacert", "/nothing"], "/nothing: No such file"),
        (&["--redis", "rediss://127.0.0.1:1/#insecure"], "always verified"),
    ] {
        let output = run(&[&["exporter", "--sale", "s"], words].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(said), "{words:?}: {told}");
    }
    let alone = run(&["exporter", "--sale", "s", "--tls", "--cert", "x"]);
    assert_eq!(alone.status.code(), Some(2));
}
