//! Reads entries of an outbox for a worker, by a consumer group.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use redis::{cmd, Cmd, Value};

use crate::answer::text;
use crate::attempts::{attempt, is_mistake, Came};
use crate::{decode, Error, Event, Id, Link, SaleError, Unanswered};

const COUNT: u32 = 100;
/// Consecutive failures before the caller gets an error.
const ATTEMPTS: u32 = 5;
const TIMEOUT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);

/// Options of reading.
#[derive(Clone, Debug)]
pub struct OrdersOptions {
    /// Age of other readers' pending entries that are taken over; 60 seconds.
    pub idle: Duration,
    /// Time that one call waits for new entries; 1 second.
    pub block: Duration,
    /// Whether to wait for new entries when all are read.
    pub follow: bool,
}

impl Default for OrdersOptions {
    fn default() -> OrdersOptions {
        let (idle, block) = (Duration::from_secs(60), Duration::from_secs(1));
        OrdersOptions { idle, block, follow: true }
    }
}

/// An entry of the outbox.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Order {
    /// The id in the stream.
    pub id: String,
    /// `None` if the entry was trimmed before anybody read it.
    pub event: Option<Event>,
}

/// The kind of entries to read next.
enum Stage {
    /// Pending entries of this reader, after the last id.
    Own,
    /// Old pending entries of other readers, from this cursor on.
    Left(String),
    New,
}

/// Entries of an outbox, each at least once. A repeated entry has an equal (id, epoch, rev) in its
/// data. Acknowledge each by [`Orders::ack`].
///
/// After an [`Error::Unanswered`] reading can continue.
pub struct Orders<L> {
    link: L,
    stream: Id,
    group: String,
    name: String,
    options: OrdersOptions,
    stage: Stage,
    /// The last returned id of own and new entries.
    last: String,
    /// Time of the last check for other readers' entries.
    looked: Option<Instant>,
    has_group: bool,
    is_over: bool,
    failures: u32,
    ready: VecDeque<Order>,
    /// Trimmed entries of this reader that were already returned without fields.
    trimmed: HashSet<String>,
}

impl<L: Link> Orders<L> {
    /// Reads `stream` as the reader `name` of `group`. Creates a missing group.
    pub fn new(
        link: L,
        stream: &str,
        group: &str,
        name: &str,
        options: OrdersOptions,
    ) -> Orders<L> {
        Orders {
            link,
            stream: stream.into(),
            group: group.to_owned(),
            name: name.to_owned(),
            options,
            stage: Stage::Own,
            last: "0".into(),
            looked: None,
            has_group: false,
            is_over: false,
            failures: 0,
            ready: VecDeque::new(),
            trimmed: HashSet::new(),
        }
    }

    /// Acknowledges this order.
    ///
    /// # Errors
    /// An error if there is no reply; then the order may be delivered again.
    pub fn ack(&mut self, order: &Order) -> Result<(), Error> {
        let mut command = cmd("XACK");
        command.arg(self.stream.as_ref()).arg(&self.group).arg(&order.id);
        for _ in 1..ATTEMPTS {
            match self.send(&command, TIMEOUT / ATTEMPTS) {
                Err(Error::Unanswered(_)) => std::thread::sleep(PAUSE),
                other => return other.map(|_| ()),
            }
        }
        self.send(&command, TIMEOUT / ATTEMPTS).map(|_| ())
    }

    fn send(&mut self, command: &Cmd, within: Duration) -> Result<Value, Error> {
        let commands = std::slice::from_ref(command);
        let (lost, why) = match attempt(&mut self.link, self.stream.as_ref(), commands, within) {
            Came::Replies(replies) => return Ok(replies.into_iter().next().unwrap_or(Value::Nil)),
            Came::Refused(error) if error.code == "NOGROUP" => {
                // The stream was deleted, or a failover lost the group.
                self.has_group = false;
                (0, format!("{} {}", error.code, error.text))
            }
            Came::Refused(error) if is_mistake(&error, &self.link) => {
                return Err(Error::Sale(error));
            }
            Came::Refused(SaleError { code, text }) => (0, format!("{code} {text}")),
            Came::Lost(why) => (1, why),
        };
        Err(Error::Unanswered(Unanswered { req: Id::default(), lost, why }))
    }

    /// Reads some entries, or goes to the next stage.
    fn fill(&mut self) -> Result<(), Error> {
        if !self.has_group {
            let mut create = cmd("XGROUP");
            create.arg("CREATE").arg(self.stream.as_ref()).arg(&self.group).arg("0");
            match self.send(create.arg("MKSTREAM"), TIMEOUT) {
                Err(Error::Sale(error)) if error.code == "BUSYGROUP" => {}
                other => _ = other?,
            }
            self.has_group = true;
        }
        match &self.stage {
            Stage::Own => {
                let after = self.last.clone();
                if self.read(&after, None)? == 0 {
                    self.stage = Stage::Left("0-0".into());
                }
            }
            Stage::Left(cursor) => {
                let cursor = cursor.clone();
                self.claim(&cursor)?;
            }
            Stage::New => {
                let block = self.options.follow.then_some(self.options.block);
                let came = self.read(">", block)?;
                self.is_over = came == 0 && !self.options.follow;
                self.failures = 0;
                let is_due = |looked: Instant| looked.elapsed() >= self.options.idle;
                if self.looked.is_none_or(is_due) {
                    self.stage = Stage::Left("0-0".into());
                }
            }
        }
        Ok(())
    }

    /// Returns the number of entries.
    fn read(&mut self, after: &str, block: Option<Duration>) -> Result<usize, Error> {
        let mut command = cmd("XREADGROUP");
        command.arg("GROUP").arg(&self.group).arg(&self.name).arg("COUNT").arg(COUNT);
        if let Some(block) = block {
            command.arg("BLOCK").arg(u64::try_from(block.as_millis()).unwrap_or(u64::MAX));
        }
        command.arg("STREAMS").arg(self.stream.as_ref()).arg(after);
        let reply = self.send(&command, TIMEOUT + block.unwrap_or_default())?;
        let entries = match &reply {
            Value::Map(streams) => streams.first().map(|(_, entries)| entries),
            Value::Array(streams) => {
                streams.first().and_then(|stream| stream.as_sequence()?.get(1))
            }
            _ => None,
        };
        let entries = entries.and_then(Value::as_sequence).unwrap_or_default();
        self.ready.extend(entries.iter().filter_map(order));
        let trimmed = self.ready.iter().filter(|order| order.event.is_none());
        self.trimmed.extend(trimmed.map(|order| order.id.clone()));
        if let Some(order) = self.ready.back() {
            self.last.clone_from(&order.id);
        }
        Ok(entries.len())
    }

    fn claim(&mut self, cursor: &str) -> Result<(), Error> {
        let idle = u64::try_from(self.options.idle.as_millis()).unwrap_or(u64::MAX);
        let mut command = cmd("XAUTOCLAIM");
        command.arg(self.stream.as_ref()).arg(&self.group).arg(&self.name).arg(idle);
        let reply = self.send(command.arg(cursor).arg("COUNT").arg(COUNT), TIMEOUT)?;
        let [next, entries, rest @ ..] = reply.as_sequence().unwrap_or_default() else {
            return Ok(());
        };
        let entries = entries.as_sequence().unwrap_or_default();
        self.ready.extend(entries.iter().filter_map(order));
        let trimmed = rest.first().and_then(Value::as_sequence).unwrap_or_default();
        for id in trimmed {
            let id = text(id).map(String::from_utf8_lossy).unwrap_or_default().into_owned();
            // Trimmed entries of this reader that it has already returned are left out.
            if !self.trimmed.remove(&id) {
                self.ready.push_back(Order { id, event: None });
            }
        }
        let next = text(next).map(String::from_utf8_lossy).unwrap_or_default().into_owned();
        if next == "0-0" {
            self.looked = Some(Instant::now());
            self.stage = Stage::New;
        } else {
            self.stage = Stage::Left(next);
        }
        Ok(())
    }
}

/// A stream entry; a trimmed one has no fields.
fn order(entry: &Value) -> Option<Order> {
    let [id, fields, ..] = entry.as_sequence()? else { return None };
    let id = String::from_utf8_lossy(text(id)?).into_owned();
    Some(Order { id, event: decode(fields) })
}

impl<L: Link> Iterator for Orders<L> {
    type Item = Result<Order, Error>;

    fn next(&mut self) -> Option<Result<Order, Error>> {
        loop {
            if let Some(order) = self.ready.pop_front() {
                self.failures = 0;
                return Some(Ok(order));
            }
            if self.is_over {
                return None;
            }
            match self.fill() {
                Ok(()) => {}
                Err(Error::Unanswered(told)) => {
                    // Entries of a lost reply are now pending for this reader.
                    self.stage = Stage::Own;
                    self.failures += 1;
                    if self.failures.is_multiple_of(ATTEMPTS) {
                        return Some(Err(Error::Unanswered(told)));
                    }
                    std::thread::sleep(PAUSE * (self.failures % ATTEMPTS));
                }
                Err(error) => {
                    self.is_over = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
