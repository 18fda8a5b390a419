//! The attempts of one call: decides which replies are final and which are retried.

use std::thread;
use std::time::{Duration, Instant};

use redis::{Cmd, ErrorKind, Value};

use crate::link::{code, refusal};
use crate::tables::MISTAKES;
use crate::{Error, Id, Link, SaleError, Unanswered};

/// Codes of a server that is not the primary, or not ready yet.
const ELSEWHERE: [&str; 4] = ["READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN"];
/// A server without a free connection says this to a new one, and executes nothing.
const FULL: &str = "max number of clients";
/// After this error nobody knows what was executed.
const UNSURE: &str = "internal error";
const PAUSE: Duration = Duration::from_millis(50);

/// Called after each attempt.
pub type OnAttempt = Box<dyn FnMut(&Attempt<'_>) + Send>;

/// Limits of a call.
pub struct Options {
    /// Timeout of one call, including all attempts and pauses; 2 seconds.
    pub timeout: Duration,
    /// Most attempts of one call; 5.
    pub attempts: u32,
    /// Called after each attempt.
    pub on_attempt: Option<OnAttempt>,
    /// Makes answers say whether replicas have the grant.
    pub durable: Option<Durable>,
}

impl Default for Options {
    fn default() -> Options {
        Options { timeout: Duration::from_secs(2), attempts: 5, on_attempt: None, durable: None }
    }
}

/// Conditions of a durable answer.
#[derive(Clone, Debug)]
pub struct Durable {
    /// The key of a counter; in a cluster it is in the sale's slot.
    pub mark: String,
    /// Number of replicas that must have the grant.
    pub replicas: u32,
    /// Time to wait for replicas, in addition to the call's own.
    pub timeout: Duration,
}

/// One attempt, for metrics and traces.
#[derive(Clone, Debug)]
pub struct Attempt<'a> {
    /// The command, without `SECKILL.`.
    pub name: &'a str,
    /// The first word of the answer or of the error; `LOST` without a reply.
    pub outcome: &'a str,
    /// Attempts of this call without a reply so far.
    pub lost: u32,
    /// Time that the attempt took.
    pub took: Duration,
}

/// The result of one attempt.
pub(crate) enum Came {
    Replies(Vec<Value>),
    Refused(SaleError),
    Lost(String),
}

/// Sends the commands once. Connections that can't be used again are closed.
pub(crate) fn attempt(
    link: &mut impl Link,
    key: &[u8],
    commands: &[Cmd],
    within: Duration,
) -> Came {
    let came = match link.send(key, commands, within) {
        Ok(replies) => match replies.iter().find_map(refusal) {
            Some((code, text)) => Came::Refused(SaleError { code, text }),
            None => Came::Replies(replies),
        },
        // The server may refuse the connection itself, before anything is sent.
        Err(error) => match code(&error) {
            Some(code) => {
                let text = error.detail().unwrap_or_default().to_owned();
                Came::Refused(SaleError { code: code.to_owned(), text })
            }
            None if error.kind() == ErrorKind::AuthenticationFailed => {
                Came::Refused(SaleError { code: "NOAUTH".into(), text: error.to_string() })
            }
            None => Came::Lost(error.to_string()),
        },
    };
    match &came {
        Came::Refused(error)
            if !ELSEWHERE.contains(&error.code.as_str()) && !error.text.starts_with(FULL) => {}
        Came::Replies(_) => {}
        _ => link.drop_connections(),
    }
    came
}

/// Whether this error can't be avoided by a retry.
pub(crate) fn is_mistake(error: &SaleError, link: &impl Link) -> bool {
    let passes =
        error.code == "ERR" && [FULL, UNSURE].iter().any(|text| error.text.starts_with(text));
    (MISTAKES.contains(&error.code.as_str()) && !passes)
        || (!link.is_cluster() && ["MOVED", "ASK"].contains(&error.code.as_str()))
}

/// A call, retried until there is an answer.
pub(crate) struct Call<'a> {
    pub name: &'static str,
    pub key: &'a [u8],
    pub req: &'a Id,
    pub commands: &'a [Cmd],
    /// Time at which all attempts must be over.
    pub ends: Instant,
    /// Time that the server blocks in each attempt.
    pub wait: Duration,
    /// Earlier attempts of this call without a reply.
    pub lost: u32,
    /// The call had an answer before, so an error does not mean that nothing changed.
    pub happened: bool,
}

/// An answer, all replies of its attempt, and the number of attempts without a reply.
pub(crate) struct Told<T> {
    pub value: T,
    pub replies: Vec<Value>,
    pub lost: u32,
}

impl Call<'_> {
    /// `read` returns the answer and its word; `None` if the reply is no valid answer.
    pub fn ask<T>(
        &self,
        link: &mut impl Link,
        options: &mut Options,
        read: impl Fn(&Value) -> Option<(T, &'static str)>,
    ) -> Result<Told<T>, Error> {
        let (mut lost, mut why) = (self.lost, String::from("no time was left"));
        for made in 0..options.attempts {
            let pause = PAUSE * made;
            if self.ends.saturating_duration_since(Instant::now()) <= pause {
                break;
            }
            thread::sleep(pause);
            let begun = Instant::now();
            let left = self.ends.saturating_duration_since(begun);
            let within = if made + 1 == options.attempts { left } else { left / 2 };
            let came = attempt(link, self.key, self.commands, within + self.wait);
            let read = match &came {
                Came::Replies(replies) => replies.first().and_then(&read),
                _ => None,
            };
            let word = match (&came, &read) {
                (_, Some((_, word))) => *word,
                (Came::Refused(error), _) => error.code.as_str(),
                _ => "LOST",
            };
            lost += u32::from(word == "LOST");
            if let Some(told) = &mut options.on_attempt {
                told(&Attempt { name: self.name, outcome: word, lost, took: begun.elapsed() });
            }
            match (came, read) {
                (Came::Replies(replies), Some((value, _))) => {
                    return Ok(Told { value, replies, lost });
                }
                (Came::Replies(replies), None) => {
                    // A late reply must not be read as the reply to another call.
                    link.drop_connections();
                    why = format!("no answer of seckill: {:?}", replies.first());
                }
                (Came::Refused(error), _) if is_mistake(&error, link) => {
                    if lost == 0 && !self.happened {
                        return Err(Error::Sale(error));
                    }
                    // The error says nothing about earlier attempts.
                    return Err(self.unanswered(lost, format!("{} {}", error.code, error.text)));
                }
                (Came::Refused(error), _) => why = format!("{} {}", error.code, error.text),
                (Came::Lost(text), _) => why = text,
            }
        }
        Err(self.unanswered(lost, why))
    }

    fn unanswered(&self, lost: u32, why: String) -> Error {
        Error::Unanswered(Unanswered { req: self.req.clone(), lost, why })
    }
}
