//! TLS for a database, from the parameters of its URL. The parameters have the names of
//! PostgreSQL's URLs (`sslmode`, `sslrootcert`, `sslcert`, `sslkey`) or of MySQL's (`ssl-mode`,
//! `ssl-ca`, `ssl-cert`, `ssl-key`).
//!
//! A certificate is always checked. With a CA file it must name the host only in the modes
//! `verify-full` and `VERIFY_IDENTITY`. Without a CA file it must name the host in every mode,
//! because anybody can get a certificate from an authority that the system trusts.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use mysql::{ClientIdentity, SslOpts};
use percent_encoding::percent_decode_str;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// The TLS options of the URL.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Whether there is TLS, and then whether the certificate must name the host.
    names_host: Option<bool>,
    /// The CA file that is trusted instead of the system's authorities.
    authority: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

impl Tls {
    /// The URL without its TLS parameters, and these parameters.
    ///
    /// # Errors
    /// An error message if a parameter has a wrong value.
    pub fn of(url: &str) -> Result<(String, Tls), String> {
        let Some((base, query)) = url.split_once('?') else {
            return Ok((url.to_owned(), Tls::default()));
        };
        let (mut tls, mut mode, mut rest) = (Tls::default(), None, Vec::new());
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "sslmode" | "ssl-mode" => mode = Some(value),
                "sslrootcert" | "ssl-ca" => tls.authority = Some(value.into()),
                "sslcert" | "ssl-cert" => tls.certificate = Some(value.into()),
                "sslkey" | "ssl-key" => tls.key = Some(value.into()),
                _ => rest.push(pair),
            }
        }
        if tls.certificate.is_some() != tls.key.is_some() {
            return Err("--database: a certificate and its key go together".into());
        }
        let has_files = tls.authority.is_some() || tls.certificate.is_some();
        let by_authority = Some(tls.authority.is_none());
        tls.names_host = match mode.map(|mode| mode.to_lowercase().replace('_', "-")).as_deref() {
            None if !has_files => None,
            None | Some("require" | "required" | "verify-ca") => by_authority,
            Some("verify-full" | "verify-identity") => Some(true),
            Some("disable" | "disabled") if !has_files => None,
            Some("disable" | "disabled") => {
                return Err("--database: certificates are of no use without TLS".into());
            }
            Some(other) => {
                return Err(format!(
                    "--database: \"{other}\" protects nothing; there are disable, require, \
                     verify-ca and verify-full (DISABLED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY)"
                ));
            }
        };
        let url = match rest.is_empty() {
            true => base.to_owned(),
            false => format!("{base}?{}", rest.join("&")),
        };
        Ok((url, tls))
    }

    /// Whether TLS is used.
    pub fn is_on(&self) -> bool {
        self.names_host.is_some()
    }

    /// TLS options for the MySQL client, which reads the files itself.
    ///
    /// # Errors
    /// An error message if no certificate authority is trusted.
    pub fn for_mysql(&self) -> Result<Option<SslOpts>, String> {
        let Some(names_host) = self.names_host else { return Ok(None) };
        let authority = match &self.authority {
            Some(file) => file.clone(),
            None => openssl_probe::probe().cert_file.ok_or(NO_AUTHORITIES)?,
        };
        // The library's own message would not name the file.
        fs::metadata(&authority).map_err(|e| format!("{}: {e}", authority.display()))?;
        let identity = self.certificate.clone().zip(self.key.clone());
        let options = SslOpts::default()
            .with_root_cert_path(Some(authority))
            .with_client_identity(identity.map(|(cert, key)| ClientIdentity::new(cert, key)))
            .with_danger_skip_domain_validation(!names_host);
        Ok(Some(options))
    }

    /// TLS options for the PostgreSQL client.
    ///
    /// # Errors
    /// An error message if a file can't be read or no certificate authority is trusted.
    pub fn for_postgres(&self) -> Result<Option<ClientConfig>, String> {
        let Some(names_host) = self.names_host else { return Ok(None) };
        let mut roots = RootCertStore::empty();
        match &self.authority {
            Some(file) => {
                for authority in certificates(file)? {
                    roots.add(authority).map_err(|e| format!("{}: {e}", file.display()))?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        if roots.is_empty() {
            return Err(NO_AUTHORITIES.into());
        }
        let roots = Arc::new(roots);
        let checked = WebPkiServerVerifier::builder(Arc::clone(&roots)).build();
        let checked = checked.map_err(|e| format!("--database: {e}"))?;
        let config = match names_host {
            true => ClientConfig::builder().with_root_certificates(roots),
            false => ClientConfig::builder()
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyName(checked))),
        };
        let config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(file)) => {
                let key = PrivateKeyDer::from_pem_file(file)
                    .map_err(|e| format!("{}: {e}", file.display()))?;
                config
                    .with_client_auth_cert(certificates(certificate)?, key)
                    .map_err(|e| format!("{}: {e}", certificate.display()))?
            }
            _ => config.with_no_client_auth(),
        };
        Ok(Some(config))
    }
}

const NO_AUTHORITIES: &str =
    "--database: this system has no authorities that it trusts; name one (sslrootcert, ssl-ca)";

fn certificates(file: &PathBuf) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let all: Vec<_> = read.map_err(|e| format!("{}: {e}", file.display()))?;
    match all.is_empty() {
        true => Err(format!("{}: there is no certificate in it", file.display())),
        false => Ok(all),
    }
}

/// Checks a certificate as usual, but accepts another host's name.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        use CertificateError::{NotValidForName, NotValidForNameContext};
        match self.0.verify_server_cert(certificate, others, name, ocsp, now) {
            Err(Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. })) => {
                Ok(ServerCertVerified::assertion())
            }
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::Tls;

    fn of(url: &str) -> (String, Option<bool>) {
        let (url, tls) = Tls::of(url).expect("a URL");
        (url, tls.names_host)
    }

    #[test]
    fn modes_mean_what_they_mean_in_the_urls_of_both_databases() {
        for (query, left, names_host) in [
            ("", "", None),
            ("?socket=/a", "?socket=/a", None),
            ("?sslmode=disable", "", None),
            ("?ssl-mode=DISABLED&socket=/a", "?socket=/a", None),
            ("?sslmode=require", "", Some(true)),
            ("?sslmode=require&sslrootcert=/ca", "", Some(false)),
            ("?ssl-mode=REQUIRED&ssl-ca=%2Fca", "", Some(false)),
            ("?sslmode=verify-ca", "", Some(true)),
            ("?ssl-mode=VERIFY_CA&ssl-ca=/ca", "", Some(false)),
            ("?sslmode=verify-full&sslrootcert=/ca&a=b", "?a=b", Some(true)),
            ("?ssl-mode=VERIFY_IDENTITY", "", Some(true)),
            ("?sslrootcert=/ca", "", Some(false)),
        ] {
            let (url, found) = of(&format!("postgres://u@h/d{query}"));
            assert_eq!((url, found), (format!("postgres://u@h/d{left}"), names_host), "{query}");
        }
    }

    #[test]
    fn what_protects_nothing_is_refused() {
        for query in [
            "sslmode=prefer",
            "sslmode=allow",
            "ssl-mode=PREFERRED",
            "sslmode=",
            "sslmode=disable&sslrootcert=/ca",
            "sslcert=/c",
            "ssl-key=/k",
        ] {
            assert!(Tls::of(&format!("mysql://u@h/d?{query}")).is_err(), "{query}");
        }
    }
}
