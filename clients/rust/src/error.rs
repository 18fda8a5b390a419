//! Errors: the results of a call that got no answer.

use std::fmt;

use crate::Id;

/// The result of a call that got no answer.
#[derive(Debug)]
pub enum Error {
    /// The server refused the call, and nothing has happened.
    Sale(SaleError),
    /// Whether the call was executed is unknown.
    Unanswered(Unanswered),
    /// The program is wrong; nothing was sent.
    Usage(&'static str),
}

/// The server refused the call, would do so again, and nothing has happened.
#[derive(Debug)]
pub struct SaleError {
    /// The error's first word.
    pub code: String,
    /// The text after the code.
    pub text: String,
}

/// No reply came: whether the call was executed is unknown, or the server can't execute it for now.
/// Send the call again with this REQ: no unit is taken twice.
#[derive(Debug)]
pub struct Unanswered {
    /// The REQ to ask again with; empty if the call had none.
    pub req: Id,
    /// Attempts without a reply.
    pub lost: u32,
    /// Why the last attempt failed.
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
