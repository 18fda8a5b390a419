//! Rows of grants, places on the waiting list, and entries of the outbox.

use redis::{FromRedisValue, ParsingError, Value};
use serde_json::{Map, Value as Json};

use crate::answer::{number, text, units};
use crate::tables::ROW;
use crate::{Id, State};

/// A grant in the reply of USER or WINNERS.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The grant's number in its sale.
    pub seq: u64,
    /// The user who has the grant.
    pub user: Id,
    /// The grant's units, or its last ones.
    pub qty: u64,
    /// The state of the grant.
    pub state: State,
    /// Time of the grant, Unix ms.
    pub at_ms: u64,
    /// The deadline of a hold, Unix ms; 0 if the grant is not held.
    pub deadline_ms: u64,
    /// The REQ of the GRAB, if it had one.
    pub req: Option<Id>,
    /// The epoch of the grant.
    pub epoch: u64,
    /// The round; 0 in a sale without rounds.
    pub round: u64,
    /// The unit numbers; `None` in a sale without NUMBERED.
    pub units: Option<Vec<u64>>,
}

impl Row {
    /// Reads one row. `None` if the value is no row.
    pub fn read(row: &Value) -> Option<Row> {
        let cells = row.as_sequence()?;
        let cell = |name| cells.get(ROW.iter().position(|known| *known == name)?);
        let count = |name| number(cell(name)?);
        Some(Row {
            seq: count("seq")?,
            user: text(cell("user")?)?.into(),
            qty: count("qty")?,
            state: State::read(text(cell("state")?)?)?,
            at_ms: count("at_ms")?,
            deadline_ms: count("deadline_ms")?,
            req: text(cell("req")?).map(Id::from),
            epoch: count("epoch")?,
            round: count("round")?,
            units: cells.get(ROW.len()).and_then(units),
        })
    }

    pub(crate) fn read_all(rows: &Value) -> Option<Vec<Row>> {
        rows.as_sequence()?.iter().map(Row::read).collect()
    }
}

impl FromRedisValue for Row {
    fn from_redis_value(value: Value) -> Result<Row, ParsingError> {
        Row::read(&value).ok_or_else(|| "not a row of seckill".into())
    }
}

/// The reply of USER.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// Units that the user may still have; `None` without a limit.
    pub allowance: Option<u64>,
    /// The admission of a GRAB now: OK, DENIED or BUSY.
    pub admission: String,
    /// The newest grants, newest first.
    pub grants: Vec<Row>,
}

impl User {
    pub(crate) fn read(reply: &Value) -> Option<User> {
        let [Value::Int(allowance), admission, rows, ..] = reply.as_sequence()? else {
            return None;
        };
        Some(User {
            allowance: (*allowance).try_into().ok(),
            admission: String::from_utf8_lossy(text(admission)?).into_owned(),
            grants: Row::read_all(rows)?,
        })
    }
}

/// A place on the waiting list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The user's number.
    pub ticket: u64,
    /// The number of waiters before the user.
    pub ahead: u64,
    /// The number of units that these waiters ask for.
    pub units_ahead: u64,
}

impl Place {
    /// Reads a reply. The inner `None`: the user is not on the waiting list.
    pub(crate) fn read(reply: &Value) -> Option<Option<Place>> {
        match reply.as_sequence()? {
            [word, ..] if text(word)? == b"NONE" => Some(None),
            [word, ticket, ahead, units_ahead, ..] if text(word)? == b"WAITING" => {
                Some(Some(Place {
                    ticket: number(ticket)?,
                    ahead: number(ahead)?,
                    units_ahead: number(units_ahead)?,
                }))
            }
            _ => None,
        }
    }
}

/// An entry of the outbox. A repeated entry has an equal `id`, `epoch` and `rev` in its data.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The event: GRANT, CONFIRM, ...
    pub event: String,
    /// The sale's key at that time.
    pub sale: Id,
    /// Numbers, booleans and words, as docs/outbox.md lists them.
    pub data: Map<String, Json>,
    /// The user who has the grant.
    pub user: Option<Id>,
    /// The REQ of the grant, or of a RESTOCK.
    pub req: Option<Id>,
    /// The stream, of INIT and ALTER.
    pub outbox: Option<Id>,
    /// The split's id.
    pub split: Option<Id>,
}

impl Event {
    /// A number in the data.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.data.get(name)?.as_u64()
    }
}

impl FromRedisValue for Event {
    fn from_redis_value(fields: Value) -> Result<Event, ParsingError> {
        decode(&fields).ok_or_else(|| "not an entry of an outbox".into())
    }
}

/// Reads the fields of an outbox entry, a map or a flat list. `None` if they are no such entry.
pub fn decode(fields: &Value) -> Option<Event> {
    let mut pairs = fields.as_map_iter()?;
    let mut told = Event {
        event: String::new(),
        sale: Id::default(),
        data: Map::new(),
        user: None,
        req: None,
        outbox: None,
        split: None,
    };
    pairs.try_for_each(|(name, value)| {
        let value = text(value)?;
        match text(name)? {
            b"event" => told.event = String::from_utf8(value.to_vec()).ok()?,
            b"sale" => told.sale = value.into(),
            b"data" => told.data = serde_json::from_slice(value).ok()?,
            b"user" => told.user = Some(value.into()),
            b"req" => told.req = Some(value.into()),
            b"outbox" => told.outbox = Some(value.into()),
            b"split" => told.split = Some(value.into()),
            _ => {}
        }
        Some(())
    })?;
    (!told.event.is_empty()).then_some(told)
}
