//! TLS between servers, and between Sentinels and servers, with one certificate made by `openssl`.
//! Clients connect without TLS.

use std::process::{Command, Stdio};

use seckill_harness::launch::free_port;
use tempfile::TempDir;

/// The self-signed certificate.
pub struct Tls(TempDir);

impl Tls {
    /// Makes the certificate.
    pub fn make() -> Result<Tls, String> {
        let folder = tempfile::tempdir().map_err(|e| format!("No folder: {e}"))?;
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]);
        openssl.args(["-days", "2", "-keyout", "key.pem", "-out", "certificate.pem"]);
        openssl.current_dir(&folder).stdout(Stdio::null()).stderr(Stdio::null());
        match openssl.status() {
            Ok(status) if status.success() => Ok(Tls(folder)),
            _ => Err("There is no openssl that makes a certificate.".into()),
        }
    }

    /// TLS settings of a server or a Sentinel, and its TLS port.
    pub fn settings(&self) -> (Vec<(&'static str, String)>, u16) {
        let file = |name: &str| self.0.path().join(name).display().to_string();
        let port = free_port();
        let settings = vec![
            ("tls-port", port.to_string()),
            ("tls-cert-file", file("certificate.pem")),
            ("tls-key-file", file("key.pem")),
            ("tls-ca-cert-file", file("certificate.pem")),
            ("tls-replication", "yes".to_owned()),
        ];
        (settings, port)
    }

    /// The settings as lines of a configuration file.
    pub fn lines(&self) -> Vec<String> {
        let (settings, _) = self.settings();
        settings.into_iter().map(|(name, value)| format!("{name} {value}")).collect()
    }
}
