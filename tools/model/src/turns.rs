//! Checks the waiting list by outbox entries alone. Nobody is served before an earlier waiter, a
//! head is passed at most OVERTAKE times, every offer ends, and a waiter gets no second offer.
//!
//! `make sim` and `make torture` check each history with it (its tests are in
//! `tools/torture/src/tests/waiting.rs`), and the bound on overtaking: an entry
//! is passed at most OVERTAKE times for each entry that was before it when it joined, and for
//! itself.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Milliseconds that an offer is valid.
    pub offer_ms: u64,
    pub overtake: u64,
    /// Unix ms; 0 for never.
    pub close_at: u64,
}

/// The fields of an outbox entry that concern waiters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told<'a> {
    pub event: &'a str,
    pub t: u64,
    /// Units after the entry: available ones, and those that may come back by expiry or cancel.
    pub available: u64,
    pub held: u64,
    /// INIT and ALTER: the terms from now on.
    pub terms: Option<Terms>,
    /// The ticket in WAIT, OFFER, LEAVE and DROPPED, else 0.
    pub ticket: u64,
    pub user: &'a [u8],
    pub req: &'a [u8],
    pub qty: u64,
    pub until: u64,
    /// The grant's deadline; 0 for none.
    pub deadline: u64,
    pub reason: &'a str,
}

/// A waiter, known from the outbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiter {
    pub user: Vec<u8>,
    pub req: Vec<u8>,
    pub qty: u64,
    pub until: u64,
    /// Number of waiters before it when it joined.
    pub ahead: u64,
    /// Number of times that it was passed while it was the head.
    pub passed: u64,
    /// Number of later waiters that were served before it and count as overtaking.
    pub overtaken: u64,
}

/// The grant of a GRAB whose step may still have offers.
#[derive(Clone, Copy, Debug)]
struct Grabbed {
    t: u64,
    qty: u64,
    is_held: bool,
}

/// The waiting list, rebuilt from the outbox.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    pub waiting: BTreeMap<u64, Waiter>,
    pub offers: u64,
    pub dropped: u64,
    terms: Terms,
    /// The largest OVERTAKE so far.
    overtake_most: u64,
    /// `None` while it is unknown.
    last_ticket: Option<u64>,
    available: u64,
    held: u64,
    grabbed: Option<Grabbed>,
}

/// `Ok`, or a message that says how a rule is broken.
pub type Rule = Result<(), String>;

/// Fails with the message `what` if a rule does not hold.
pub fn ensure(holds: bool, what: impl FnOnce() -> String) -> Rule {
    match holds {
        true => Ok(()),
        false => Err(what()),
    }
}

impl Turns {
    /// Starts from the current waiters. Earlier passes are unknown.
    pub fn begun(
        terms: Terms,
        [available, held]: [u64; 2],
        waiting: impl Iterator<Item = (u64, Waiter)>,
    ) -> Turns {
        let overtake_most = terms.overtake;
        let ahead = |(ahead, (ticket, waiter))| (ticket, Waiter { ahead, ..waiter });
        let waiting = (0..).zip(waiting).map(ahead).collect();
        Turns { waiting, terms, overtake_most, available, held, ..Turns::default() }
    }

    /// Reads the next entry. Fails with the first broken rule.
    pub fn read(&mut self, told: &Told<'_>) -> Rule {
        if !["OFFER", "DROPPED"].contains(&told.event) {
            self.end()?;
        }
        match told.event {
            "INIT" | "ALTER" => {
                if told.event == "INIT" {
                    self.last_ticket = Some(0);
                }
                self.terms = told.terms.unwrap_or_default();
                self.overtake_most = self.overtake_most.max(self.terms.overtake);
            }
            "WAIT" => self.join(told)?,
            "OFFER" => self.offer(told)?,
            "LEAVE" => drop(self.leave(told)?),
            "DROPPED" => self.drop_entry(told)?,
            "GRANT" if !self.waiting.is_empty() => self.grant(told)?,
            _ => {}
        }
        (self.available, self.held) = (told.available, told.held);
        Ok(())
    }

    fn join(&mut self, told: &Told<'_>) -> Rule {
        let highest = self.waiting.last_key_value().map_or(0, |(ticket, _)| *ticket);
        let is_next = match self.last_ticket {
            Some(last) => told.ticket == last + 1,
            None => told.ticket > highest,
        };
        ensure(is_next, || format!("ticket {} is not the next.", told.ticket))?;
        let twice = self.waiting.values().any(|waiter| waiter.user == told.user);
        ensure(!twice, || "A user waits twice.".into())?;
        self.last_ticket = Some(told.ticket);
        let waiter = Waiter {
            user: told.user.to_vec(),
            req: told.req.to_vec(),
            qty: told.qty,
            until: told.until,
            ahead: self.waiting.len() as u64,
            ..Waiter::default()
        };
        self.waiting.insert(told.ticket, waiter);
        Ok(())
    }

    /// Removes the entry from the list and returns it.
    fn leave(&mut self, told: &Told<'_>) -> Result<Waiter, String> {
        let gone = self.waiting.remove(&told.ticket);
        let gone = gone.ok_or_else(|| {
            format!("{}: ticket {} does not wait any more.", told.event, told.ticket)
        })?;
        let is_it = (&gone.user[..], &gone.req[..]) == (told.user, told.req)
            && (gone.qty, gone.until) == (told.qty, told.until);
        ensure(is_it, || format!("The entry was another one: {gone:?}."))?;
        Ok(gone)
    }

    fn drop_entry(&mut self, told: &Told<'_>) -> Rule {
        let gone = self.leave(told)?;
        self.dropped += 1;
        let is_so = match told.reason {
            "until" => gone.until != 0 && gone.until <= told.t,
            "closed" => self.is_closed(told.t),
            reason => ["limit", "denied"].contains(&reason),
        };
        ensure(is_so, || format!("DROPPED without reason: {gone:?}."))
    }

    fn is_closed(&self, t: u64) -> bool {
        self.terms.close_at != 0 && self.terms.close_at <= t
    }

    /// Units that could be offered, and units that may come back. A GRAB is decided after all
    /// waiters of its step, although its entry comes first.
    fn pool(&self) -> (u64, u64) {
        let Some(Grabbed { qty, is_held, .. }) = self.grabbed else {
            return (self.available, self.available + self.held);
        };
        let there = self.available + qty;
        (there, there + self.held - if is_held { qty.min(self.held) } else { 0 })
    }

    fn offer(&mut self, told: &Told<'_>) -> Rule {
        let (there, pool) = self.pool();
        let ticket = told.ticket;
        let head = self.head(pool, told.t);
        if let Some(head) = head.filter(|head| *head < ticket) {
            self.pass(head, ticket)?;
        }
        self.nobody_fits(there, ticket, told.t)?;
        let waiter = self.leave(told)?;
        self.offers += 1;
        ensure(waiter.qty <= there, || format!("ticket {ticket} was offered what is not there."))?;
        let is_over = self.is_closed(told.t) || waiter.until != 0 && waiter.until <= told.t;
        ensure(!is_over, || format!("ticket {ticket} was offered after its end."))?;
        let due = told.t + self.terms.offer_ms;
        ensure(told.deadline == due && due > told.t, || {
            format!("ENDLESS: an offer that should end at {due} ends at {}.", told.deadline)
        })
    }

    /// A GRAB got units while others wait. Offers of its step have later entries.
    fn grant(&mut self, told: &Told<'_>) -> Rule {
        let waits = self.waiting.values().any(|waiter| waiter.user == told.user);
        ensure(!waits, || "JUMPED: a user who waits got units by a GRAB.".into())?;
        self.grabbed = Some(Grabbed { t: told.t, qty: told.qty, is_held: told.deadline != 0 });
        Ok(())
    }

    /// All entries of a GRAB's step, or of the list, are read: no waiter may be left that should
    /// have come before it.
    pub fn end(&mut self) -> Rule {
        let Some(grabbed) = self.grabbed else { return Ok(()) };
        let (there, pool) = self.pool();
        ensure(grabbed.qty <= there, || "A GRAB got what is not there.".into())?;
        self.nobody_fits(there, u64::MAX, grabbed.t)?;
        if let Some(head) = self.head(pool, grabbed.t) {
            self.pass(head, u64::MAX)?;
        }
        self.grabbed = None;
        Ok(())
    }

    /// Whether a valid entry comes before a request for this many units at `t`.
    fn is_in_the_way(&self, waiter: &Waiter, most: u64, t: u64) -> bool {
        let is_over = self.is_closed(t) || waiter.until != 0 && waiter.until <= t;
        waiter.qty <= most && !is_over
    }

    /// The lowest ticket whose units are available or may come back.
    fn head(&self, pool: u64, t: u64) -> Option<u64> {
        let mut waiting = self.waiting.iter();
        let head = waiting.find(|(_, waiter)| self.is_in_the_way(waiter, pool, t));
        head.map(|(ticket, _)| *ticket)
    }

    /// Checks that no waiter with a lower ticket could have been served completely.
    fn nobody_fits(&self, there: u64, ticket: u64, t: u64) -> Rule {
        let mut lower = self.waiting.range(..ticket);
        let passed = lower.find(|(_, waiter)| self.is_in_the_way(waiter, there, t));
        let Some((first, waiter)) = passed else { return Ok(()) };
        let who = match ticket {
            u64::MAX => "a GRAB".to_owned(),
            ticket => format!("ticket {ticket}"),
        };
        Err(format!("JUMPED: {who} got units before ticket {first}, {waiter:?}."))
    }

    /// A later ticket or a GRAB passes the head.
    fn pass(&mut self, head: u64, by: u64) -> Rule {
        let most = self.terms.overtake;
        let waiter = self.waiting.get_mut(&head);
        let Some(waiter) = waiter.filter(|waiter| waiter.passed < most) else {
            return Err(format!("STARVED: ticket {head} was passed more than {most} times."));
        };
        waiter.passed += 1;
        let overtake = self.overtake_most;
        for (ticket, waiter) in self.waiting.range_mut(head..by) {
            waiter.overtaken += 1;
            let bound = overtake.saturating_mul(waiter.ahead + 1);
            ensure(waiter.overtaken <= bound, || {
                format!("OVERTAKEN: ticket {ticket} more than {bound} times, {waiter:?}.")
            })?;
        }
        Ok(())
    }
}
