//! Replies of GRAB, MGRAB, CONFIRM, CANCEL, EXTEND, REFUND and IMPORT.

use redis::{FromRedisValue, ParsingError, Value};

use crate::{Id, Outcome, State};

/// Words as an enum, each with its text in replies.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// All variants.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The word's text in replies.
            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            /// The value with this word.
            pub fn read(word: &[u8]) -> Option<$name> {
                $name::ALL.iter().copied().find(|known| known.word().as_bytes() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    };
}

pub(crate) use words;

impl State {
    /// Whether a grant in this state is live: the user has the units.
    pub const fn is_live(self) -> bool {
        matches!(self, State::Held | State::Sold)
    }
}

/// A reply. Fields that its word lacks are `None`; times and spans are milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The first word.
    pub outcome: Outcome,
    /// The REQ that the call was sent with; empty if it had none.
    pub req: Id,
    /// The grant's state.
    pub state: Option<State>,
    /// The grant's number in its sale.
    pub seq: Option<u64>,
    /// Units of the grant.
    pub qty: Option<u64>,
    /// Deadline of a hold in Unix ms; 0 if the grant is not held.
    pub deadline_ms: Option<u64>,
    /// Units left in the sale.
    pub available: Option<u64>,
    /// Held units of others, which may come back.
    pub held: Option<u64>,
    /// Units that the user may still have.
    pub allowance: Option<u64>,
    /// Milliseconds until the sale opens.
    pub opens_in_ms: Option<u64>,
    /// The user's number on the waiting list.
    pub ticket: Option<u64>,
    /// The number of waiters before the user.
    pub ahead: Option<u64>,
    /// The number of units that these waiters ask for.
    pub units_ahead: Option<u64>,
    /// The number of a taken unit.
    pub unit: Option<u64>,
    /// The grant's numbers; `None` in a sale without NUMBERED.
    pub units: Option<Vec<u64>>,
    /// Attempts of this call without a reply. After a refusal one of them may still arrive: cancel.
    pub lost: u32,
    /// Whether enough replicas have the grant; `None` without [`Durable`](crate::Durable).
    pub durable: Option<bool>,
}

impl Answer {
    /// Whether the user has the units.
    pub fn won(&self) -> bool {
        self.state.is_some_and(State::is_live)
    }

    /// Reads a reply; additional words at its end are ignored. `None` if it is no answer.
    pub fn read(reply: &Value) -> Option<Answer> {
        Answer::of(reply.as_sequence()?)
    }

    fn of(words: &[Value]) -> Option<Answer> {
        let (first, rest) = words.split_first()?;
        let outcome = Outcome::read(text(first)?)?;
        let mut answer = Answer {
            outcome,
            req: Id::default(),
            // No outcome of GRAB is also a state.
            state: State::read(outcome.word().as_bytes()),
            seq: None,
            qty: None,
            deadline_ms: None,
            available: None,
            held: None,
            allowance: None,
            opens_in_ms: None,
            ticket: None,
            ahead: None,
            units_ahead: None,
            unit: None,
            units: None,
            lost: 0,
            durable: None,
        };
        let mut words = rest.iter();
        for name in outcome.fields() {
            let word = words.next()?;
            match answer.number_named(name) {
                Some(field) => *field = Some(number(word)?),
                None => answer.state = Some(State::read(text(word)?)?),
            }
        }
        answer.units = words.next().and_then(units);
        Some(answer)
    }

    /// The field for a name of clients/README.md. `None`: the name is that of the state.
    fn number_named(&mut self, name: &str) -> Option<&mut Option<u64>> {
        Some(match name {
            "seq" => &mut self.seq,
            "qty" => &mut self.qty,
            "deadline_ms" => &mut self.deadline_ms,
            "available" => &mut self.available,
            "held" => &mut self.held,
            "allowance" => &mut self.allowance,
            "opens_in_ms" => &mut self.opens_in_ms,
            "ticket" => &mut self.ticket,
            "ahead" => &mut self.ahead,
            "units_ahead" => &mut self.units_ahead,
            "unit" => &mut self.unit,
            _ => return None,
        })
    }
}

impl FromRedisValue for Answer {
    fn from_redis_value(value: Value) -> Result<Answer, ParsingError> {
        Answer::read(&value).ok_or_else(|| "not an answer of seckill".into())
    }
}

/// The reply of MGRAB.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MultiAnswer {
    /// [`Outcome::Granted`] or [`Outcome::Replay`]; `None` if it was refused.
    pub outcome: Option<Outcome>,
    /// The REQ that the call was sent with.
    pub req: Id,
    /// A grant for each distinct key, in order of first mention; empty if it was refused.
    pub grants: Vec<Answer>,
    /// The first sale that refuses, counted from 0, and its answer.
    pub refusal: Option<(usize, Answer)>,
    /// `lost` of [`Answer`].
    pub lost: u32,
    /// `durable` of [`Answer`], for all grants.
    pub durable: Option<bool>,
}

impl MultiAnswer {
    /// Whether the user has the units of all sales.
    pub fn won(&self) -> bool {
        self.refusal.is_none() && self.grants.iter().all(Answer::won)
    }

    /// Reads a reply. `None` if it is no answer.
    pub fn read(reply: &Value) -> Option<MultiAnswer> {
        let words = reply.as_sequence()?;
        let (first, rest) = words.split_first()?;
        let mut answer = MultiAnswer {
            outcome: None,
            req: Id::default(),
            grants: Vec::new(),
            refusal: None,
            lost: 0,
            durable: None,
        };
        if text(first)? == b"REFUSED" {
            let [index, refusal, ..] = rest else { return None };
            answer.refusal = Some((number(index)?.try_into().ok()?, Answer::read(refusal)?));
            return Some(answer);
        }
        answer.outcome = Some(Outcome::read(text(first)?)?);
        for row in rest {
            // Each row has the elements of GRAB's reply after the first word.
            let row = [std::slice::from_ref(first), row.as_sequence()?].concat();
            answer.grants.push(Answer::of(&row)?);
        }
        (!answer.grants.is_empty()).then_some(answer)
    }
}

impl FromRedisValue for MultiAnswer {
    fn from_redis_value(value: Value) -> Result<MultiAnswer, ParsingError> {
        MultiAnswer::read(&value).ok_or_else(|| "not an answer of seckill".into())
    }
}

pub(crate) fn text(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) => Some(text.as_bytes()),
        _ => None,
    }
}

/// The unit numbers at the end of a reply or a row, in a sale with NUMBERED.
pub(crate) fn units(value: &Value) -> Option<Vec<u64>> {
    match value {
        Value::Array(units) => units.iter().map(number).collect(),
        _ => None,
    }
}

pub(crate) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => (*number).try_into().ok(),
        _ => None,
    }
}
