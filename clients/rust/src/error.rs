//! Errors: results of a call without an answer.

use std::fmt;

use crate::Id;

/// The result of a call without an answer.
#[derive(Debug)]
pub enum Error {
    /// The server refused the call and changed nothing.
    Sale(SaleError),
    /// Whether the call was executed is unknown.
    Unanswered(Unanswered),
    /// An argument is wrong; nothing was sent.
    Usage(&'static str),
}

/// An error of the server that a retry can't avoid. Nothing was changed.
#[derive(Debug)]
pub struct SaleError {
    /// The error's first word.
    pub code: String,
    /// The text after the code.
    pub text: String,
}

/// No reply came, so the outcome is unknown; or the server can't execute the call for now. Send the
/// call again with this REQ: no unit is taken twice.
#[derive(Debug)]
pub struct Unanswered {
    /// The REQ for the repeated call; empty if the call had none.
    pub req: Id,
    /// Attempts without a reply.
    pub lost: u32,
    /// The error of the last attempt.
    pub why: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Sale(error) => write!(f, "{} {}", error.code, error.text),
            Error::Unanswered(told) => {
                write!(f, "ask again with REQ {}: {}", told.req, told.why)
            }
            Error::Usage(mistake) => f.write_str(mistake),
        }
    }
}

impl std::error::Error for Error {}
