//! No authorities, in place of those of the web.
//!
//! The client for MySQL trusts the authorities of the crate `webpki-roots` besides the one that it
//! is told to trust. Then anybody who has a certificate of the web's could pass for a database that
//! is checked by its authority alone (`ssl-mode=VERIFY_CA`). The workspace patches that crate by
//! this one, so nobody is trusted but whom the operator names, or the system.

use rustls_pki_types::TrustAnchor;

/// No authority of the web.
pub const TLS_SERVER_ROOTS: &[TrustAnchor<'static>] = &[];
