//! One sale and its calls.

use std::time::Instant;

use redis::{cmd, Cmd, Value};
use serde_json::{Map, Value as Json};

use crate::answer::number;
use crate::attempts::{Call, Told};
use crate::{
    slot, Answer, Error, Id, Keep, Link, MultiAnswer, Options, Orders, OrdersOptions, Place, Row,
    State, Units, User,
};

/// Rows in a page of WINNERS.
const PAGE: u64 = 1000;

/// One sale with its own connections.
pub struct Sale<L> {
    link: L,
    key: Id,
    options: Options,
}

impl<L: Link> Sale<L> {
    /// The sale at this key.
    pub fn new(link: L, key: impl Into<Id>) -> Sale<L> {
        Sale { link, key: key.into(), options: Options::default() }
    }

    /// This sale with other options.
    #[must_use]
    pub fn with(mut self, options: Options) -> Sale<L> {
        self.options = options;
        self
    }

    /// Asks for units. If `req` is empty, a new one is made for all attempts.
    ///
    /// # Errors
    /// Errors if there is no answer; so for all calls of a sale.
    pub fn grab(
        &mut self,
        user: impl Into<Id>,
        req: impl Into<Id>,
        units: Units<'_>,
    ) -> Result<Answer, Error> {
        let mut command = self.command("SECKILL.GRAB", user);
        units.ask(&mut command);
        self.change("GRAB", command, req.into().or_new()?)
    }

    /// GRAB with WAIT: a grant, or a place on the waiting list, with or without a time limit (Unix
    /// ms).
    ///
    /// # Errors
    /// When there is no answer.
    pub fn wait(
        &mut self,
        user: impl Into<Id>,
        req: impl Into<Id>,
        qty: i64,
        until_ms: Option<i64>,
    ) -> Result<Answer, Error> {
        let mut command = self.command("SECKILL.GRAB", user);
        Units::Qty(qty).ask(&mut command);
        command.arg("WAIT");
        if let Some(until) = until_ms {
            command.arg("UNTIL").arg(until);
        }
        self.change("GRAB", command, req.into().or_new()?)
    }

    /// The user's place on the waiting list; `None` if the user is not on it.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn place(&mut self, user: impl Into<Id>) -> Result<Option<Place>, Error> {
        let command = self.command("SECKILL.PLACE", user);
        self.read("PLACE", command, Place::read)
    }

    /// Marks a grant as paid. With `reclaim` takes an expired hold again if units are free. Here
    /// and in the next three calls an empty `req` means the user's only grant. With `keep`, also in
    /// `cancel` and `refund`, the user keeps that part of the grant and returns the other units.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn confirm(
        &mut self,
        user: impl Into<Id>,
        req: impl Into<Id>,
        reclaim: bool,
        keep: Option<Keep<'_>>,
    ) -> Result<Answer, Error> {
        let mut command = self.command("SECKILL.CONFIRM", user);
        if reclaim {
            command.arg("RECLAIM");
        }
        part(&mut command, keep);
        self.change("CONFIRM", command, req.into())
    }

    /// Returns a hold, leaves the waiting list, or sets a fence for a REQ.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn cancel(
        &mut self,
        user: impl Into<Id>,
        req: impl Into<Id>,
        keep: Option<Keep<'_>>,
    ) -> Result<Answer, Error> {
        let mut command = self.command("SECKILL.CANCEL", user);
        part(&mut command, keep);
        self.change("CANCEL", command, req.into())
    }

    /// Moves the deadline of a hold to at least `ms` from now.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn extend(
        &mut self,
        user: impl Into<Id>,
        ms: i64,
        req: impl Into<Id>,
    ) -> Result<Answer, Error> {
        let mut command = self.command("SECKILL.EXTEND", user);
        command.arg(ms);
        self.change("EXTEND", command, req.into())
    }

    /// Returns sold units.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn refund(
        &mut self,
        user: impl Into<Id>,
        req: impl Into<Id>,
        keep: Option<Keep<'_>>,
    ) -> Result<Answer, Error> {
        let mut command = self.command("SECKILL.REFUND", user);
        part(&mut command, keep);
        self.change("REFUND", command, req.into())
    }

    /// Asks for units of this sale and of others in its slot: all, or none. `qty` is empty, one
    /// number for all sales, or one for each sale, beginning with this one.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn mgrab(
        &mut self,
        user: impl Into<Id>,
        others: &[&str],
        req: impl Into<Id>,
        qty: &[i64],
    ) -> Result<MultiAnswer, Error> {
        let mut command = cmd("SECKILL.MGRAB");
        command.arg(user.into().as_ref()).arg(others.len() + 1).arg(self.key.as_ref()).arg(others);
        if !qty.is_empty() && qty != [1] {
            command.arg("QTY").arg(qty);
        }
        self.change("MGRAB", command, req.into().or_new()?)
    }

    /// A character for each number from `first` (1) on: `.` free, `h` held, `s` sold.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn units(&mut self, first: u64, count: u64) -> Result<String, Error> {
        let mut command = cmd("SECKILL.UNITS");
        command.arg(self.key.as_ref()).arg(first).arg("COUNT").arg(count);
        self.read("UNITS", command, |reply| {
            Some(String::from_utf8_lossy(crate::answer::text(reply)?).into_owned())
        })
    }

    /// The grant with this unit number, if any.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn unit(&mut self, unit: u64) -> Result<Option<Row>, Error> {
        let mut command = cmd("SECKILL.UNIT");
        command.arg(self.key.as_ref()).arg(unit);
        self.read("UNIT", command, |reply| match reply {
            Value::Nil => Some(None),
            row => Row::read(row).map(Some),
        })
    }

    /// The user's grants, and the units that the user may still have.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn user(&mut self, user: impl Into<Id>) -> Result<User, Error> {
        let command = self.command("SECKILL.USER", user);
        self.read("USER", command, User::read)
    }

    /// The JSON object of STATUS.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn status(&mut self) -> Result<Map<String, Json>, Error> {
        let command = self.command("SECKILL.STATUS", "JSON");
        self.read("STATUS", command, |reply| {
            serde_json::from_slice(crate::answer::text(reply)?).ok()
        })
    }

    /// Grants in the order of their numbers, read page by page. `state` is LIVE, ALL, or a
    /// [`State`]'s word; `after` is the last number of an earlier listing, or 0.
    pub fn winners(&mut self, state: &str, after: u64) -> Winners<'_, L> {
        let page = Vec::new().into_iter();
        Winners { sale: self, state: state.to_owned(), next: Some(after), page }
    }

    /// Entries of the outbox for a worker, over the connections of this sale.
    pub fn orders(
        &mut self,
        stream: &str,
        group: &str,
        name: &str,
        options: OrdersOptions,
    ) -> Orders<&mut L> {
        Orders::new(&mut self.link, stream, group, name, options)
    }

    fn command(&self, name: &str, user: impl Into<Id>) -> Cmd {
        cmd(name).arg(self.key.as_ref()).arg(user.into().as_ref()).clone()
    }

    fn read<T>(
        &mut self,
        name: &'static str,
        command: Cmd,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, Error> {
        let call = Call {
            name,
            key: self.key.as_ref(),
            req: &Id::default(),
            commands: &[command],
            ends: Instant::now() + self.options.timeout,
            wait: std::time::Duration::ZERO,
            lost: 0,
            happened: false,
        };
        let read = |reply: &Value| Some((read(reply)?, "OK"));
        Ok(call.ask(&mut self.link, &mut self.options, read)?.value)
    }

    fn change<T: Change>(
        &mut self,
        name: &'static str,
        mut command: Cmd,
        req: Id,
    ) -> Result<T, Error> {
        if !req.is_empty() {
            command.arg("REQ").arg(req.as_ref());
        }
        let durable = self.options.durable.clone();
        let is_elsewhere = |mark: &str| slot(mark.as_bytes()) != slot(self.key.as_ref());
        if self.link.is_cluster() && durable.iter().any(|durable| is_elsewhere(&durable.mark)) {
            return Err(Error::Usage("in a cluster the mark must be in the sale's slot"));
        }
        let mut call = Call {
            name,
            key: self.key.as_ref(),
            req: &req,
            commands: &[command.clone()],
            ends: Instant::now() + self.options.timeout,
            wait: std::time::Duration::ZERO,
            lost: 0,
            happened: false,
        };
        let mut told: Told<T> = call.ask(&mut self.link, &mut self.options, T::read)?;
        let mut kept = None;
        if let Some(durable) = durable.filter(|_| told.value.has_grant()) {
            // The repeated call shows that this server has the grant, and the INCR comes after it,
            // so the WAIT covers both. (After a REPLAY, which writes nothing, a WAIT alone would
            // not wait.)
            let incr = cmd("INCR").arg(&durable.mark).clone();
            let ms = u64::try_from(durable.timeout.as_millis()).unwrap_or(u64::MAX);
            let wait = cmd("WAIT").arg(durable.replicas).arg(ms).clone();
            let commands = [command, incr, wait];
            (call.commands, call.wait) = (&commands, durable.timeout);
            (call.lost, call.happened) = (told.lost, true);
            let again = call.ask(&mut self.link, &mut self.options, T::read)?;
            if !again.value.is_same(&told.value) {
                told.value = again.value;
            }
            told.lost = again.lost;
            let reached = again.replies.get(2).and_then(number);
            let is_kept = reached.is_some_and(|reached| reached >= durable.replicas.into());
            kept = told.value.has_grant().then_some(is_kept);
        }
        told.value.tell(req, told.lost, kept);
        Ok(told.value)
    }
}

/// Appends KEEP, if any.
fn part(command: &mut Cmd, keep: Option<Keep<'_>>) {
    if let Some(left) = keep {
        left.ask(command);
    }
}

/// The answer to a call that changes a sale.
trait Change: Sized {
    fn read(reply: &Value) -> Option<(Self, &'static str)>;
    fn has_grant(&self) -> bool;
    fn is_same(&self, other: &Self) -> bool;
    fn tell(&mut self, req: Id, lost: u32, durable: Option<bool>);
}

impl Change for Answer {
    fn read(reply: &Value) -> Option<(Answer, &'static str)> {
        let answer = Answer::read(reply)?;
        let word = answer.outcome.word();
        Some((answer, word))
    }

    fn has_grant(&self) -> bool {
        // A fence (CANCELLED, number 0) is no grant.
        self.state.is_some_and(|state| state != State::NoGrant) && self.seq != Some(0)
    }

    fn is_same(&self, other: &Answer) -> bool {
        let grant = |answer: &Answer| (answer.seq, answer.qty, answer.state, answer.deadline_ms);
        grant(self) == grant(other) && self.units == other.units
    }

    fn tell(&mut self, req: Id, lost: u32, durable: Option<bool>) {
        (self.req, self.lost, self.durable) = (req, lost, durable);
    }
}

impl Change for MultiAnswer {
    fn read(reply: &Value) -> Option<(MultiAnswer, &'static str)> {
        let answer = MultiAnswer::read(reply)?;
        let word = answer.outcome.map_or("REFUSED", crate::Outcome::word);
        Some((answer, word))
    }

    fn has_grant(&self) -> bool {
        self.refusal.is_none()
    }

    fn is_same(&self, other: &MultiAnswer) -> bool {
        let pairs = self.grants.iter().zip(&other.grants);
        self.grants.len() == other.grants.len() && pairs.into_iter().all(|(a, b)| a.is_same(b))
    }

    fn tell(&mut self, req: Id, lost: u32, durable: Option<bool>) {
        (self.req, self.lost, self.durable) = (req, lost, durable);
    }
}

/// Grants of a sale, read page by page. The iterator ends after an error.
pub struct Winners<'a, L> {
    sale: &'a mut Sale<L>,
    state: String,
    next: Option<u64>,
    page: std::vec::IntoIter<Row>,
}

impl<L: Link> Iterator for Winners<'_, L> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Result<Row, Error>> {
        loop {
            if let Some(row) = self.page.next() {
                return Some(Ok(row));
            }
            let mut command = cmd("SECKILL.WINNERS");
            command.arg(self.sale.key.as_ref()).arg(self.next.take()?);
            command.arg("COUNT").arg(PAGE).arg("STATE").arg(&self.state);
            let page = self.sale.read("WINNERS", command, |reply| {
                let [next, rows, ..] = reply.as_sequence()? else { return None };
                Some((number(next)?, Row::read_all(rows)?))
            });
            match page {
                Ok((next, rows)) => {
                    self.next = (next > 0).then_some(next);
                    self.page = rows.into_iter();
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
