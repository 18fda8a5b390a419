//! The waiting list: a plain list that is always searched from its beginning.

use super::buyer::Grab;
use super::entries::{number, unless_0};
use super::{Ask, Bytes, ListPatch, ListRules, Oracle, Reply, Row, HOLD_MAX, INTEGER_MAX};

/// Most offers and drops of one step.
const STEP_MAX: usize = 64;

const LIST_MAX: u64 = 10_000_000;

/// Whether INIT and ALTER accept these terms.
pub(super) fn is_possible(rules: ListRules) -> bool {
    rules.max <= LIST_MAX && rules.offer_ms <= HOLD_MAX
}

pub(super) fn after(old: Option<ListRules>, patch: &ListPatch) -> Option<ListRules> {
    let was = old.unwrap_or(ListRules { max: 0, offer_ms: 0, overtake: 16 });
    let new = ListRules {
        max: patch.max.unwrap_or(was.max),
        offer_ms: patch.offer_ms.unwrap_or(was.offer_ms),
        overtake: patch.overtake.unwrap_or(was.overtake),
    };
    (old.is_some() || new.max > 0).then_some(new)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub ticket: u64,
    pub user: Bytes,
    pub req: Bytes,
    pub qty: u64,
    pub at: u64,
    pub until: u64,
    /// Number of times that the entry was passed while it was the head.
    pub passed: u64,
    /// Number of entries before it when it joined.
    ahead: u64,
    /// Number of later requests that were served before it and count as overtaking.
    overtaken: u64,
}

/// The waiting list, and counts of its events.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    entries: Vec<Entry>,
    last_ticket: u64,
    pub offers: u64,
    pub dropped: u64,
    /// Units of a grant that comes after the waiters, though its event is before their offers.
    pub reserved: u64,
    /// Users who joined in the current command; they are served in a later step.
    pub joined: Option<u64>,
    /// Whether the current command has freed units or removed a waiter.
    pub freed: bool,
    /// The largest OVERTAKE so far.
    overtake_max: u64,
    /// An entry that was overtaken too often.
    unfair: Option<Entry>,
}

impl Oracle {
    pub fn waiters(&self) -> &[Entry] {
        &self.list.entries
    }

    /// Whether the list has a valid entry.
    pub(super) fn anybody_stands(&self) -> bool {
        self.list.entries.iter().any(|entry| self.why_over(entry, self.time()).is_none())
    }

    /// Whether a waiter comes before a GRAB. Ended entries count, too, if more of them are first
    /// than one step drops.
    pub(super) fn somebody_stands(&self) -> bool {
        self.anybody_stands() || self.list.entries.len() > STEP_MAX + 1
    }

    pub(super) fn somebody_waits(&self) -> bool {
        !self.list.entries.is_empty()
    }

    /// The list's numbers in STATUS; `None` without a list.
    pub fn list_numbers(&self) -> Option<[u64; 7]> {
        let rules = self.rules.list?;
        let units: u64 = self.list.entries.iter().map(|entry| entry.qty).sum();
        let since = self.list.entries.first().map_or(0, |entry| entry.at);
        let is_offer = |row: &&Row| row.state == "HELD" && row.asked == "OFFER";
        let offered = self.rows.iter().filter(is_offer).count() as u64;
        let (waiting, units) = (self.list.entries.len() as u64, units.min(INTEGER_MAX));
        Some([rules.max, self.offer_ms(), rules.overtake, waiting, units, since, offered])
    }

    fn offer_ms(&self) -> u64 {
        match self.rules.list {
            Some(list) if list.offer_ms > 0 => list.offer_ms,
            _ => self.rules.hold_ms,
        }
    }

    fn overtake(&self) -> u64 {
        self.rules.list.map_or(0, |list| list.overtake)
    }

    /// The reason why an entry has ended at `t`, if it has.
    fn why_over(&self, entry: &Entry, t: u64) -> Option<&'static str> {
        if self.rules.close_at != 0 && t >= self.rules.close_at {
            Some("closed")
        } else if entry.until != 0 && t >= entry.until {
            Some("until")
        } else {
            None
        }
    }

    pub(super) fn entry_of(&self, user: &[u8]) -> Option<&Entry> {
        self.list.entries.iter().find(|entry| entry.user == user)
    }

    /// The entry of a user on the list at `t`.
    pub(super) fn waits(&self, user: &[u8], t: u64) -> Option<&Entry> {
        self.entry_of(user).filter(|entry| self.why_over(entry, t).is_none())
    }

    /// The reply `[WAITING, ticket, ahead, units ahead]`.
    pub(super) fn shown_place(&self, ticket: u64) -> String {
        let ahead = self.list.entries.iter().filter(|entry| entry.ticket < ticket);
        let units: u64 = ahead.clone().map(|entry| entry.qty).sum();
        format!("WAITING {ticket} {} {}", ahead.count(), units.min(INTEGER_MAX))
    }

    pub fn place(&self, user: &[u8], clock: u64) -> Option<String> {
        self.waits(user, self.t.max(clock)).map(|entry| self.shown_place(entry.ticket))
    }

    /// The reply to a GRAB with this request id if its user is waiting.
    pub(super) fn waiting_req(&self, user: &[u8], ask: Ask, req: &[u8]) -> Option<String> {
        let entry = self.waits(user, self.time()).filter(|entry| entry.req == req)?;
        let is_exact = !matches!(ask, Ask::UpTo(_));
        match is_exact && ask.units() == entry.qty && !self.wants_these() {
            true => Some(self.shown_place(entry.ticket)),
            false => Some("REQMISMATCH".into()),
        }
    }

    /// The units for a GRAB after all waiters are served, and the head that it passes.
    pub(super) fn behind(
        &self,
        grab: Grab<'_>,
        allowance: u64,
    ) -> Result<(u64, Option<u64>), String> {
        let (wanted, t) = (grab.ask.within(allowance)?, self.time());
        let refusal = format!("SOLDOUT {}", self.may_come_back().max(1));
        // The state after all waiters are served.
        let mut trial = self.clone();
        let waits = |entry: &Entry| entry.user != grab.user || self.why_over(entry, t).is_none();
        trial.list.entries.retain(waits);
        if !trial.serve(false) {
            return Err(refusal);
        }
        let there = trial.available();
        let qty = if matches!(grab.ask, Ask::UpTo(_)) { wanted.min(there) } else { wanted };
        if qty == 0 || qty > there {
            return Err(refusal);
        }
        let Some(head) = trial.head() else { return Ok((qty, None)) };
        let due_of_others = trial.rows.iter().any(|row| row.is_due(t));
        if due_of_others || head.passed >= self.overtake() {
            return Err(refusal);
        }
        Ok((qty, Some(head.ticket)))
    }

    /// Counts that a request passes the head: the entry of ticket `by`, or a GRAB, which comes
    /// after all tickets.
    pub(super) fn pass(&mut self, head: u64, by: u64) {
        let overtake = self.overtake();
        let list = &mut self.list;
        list.overtake_max = list.overtake_max.max(overtake);
        for entry in list.entries.iter_mut().filter(|it| (head..by).contains(&it.ticket)) {
            entry.passed += u64::from(entry.ticket == head);
            entry.overtaken += 1;
            if entry.overtaken > list.overtake_max * (entry.ahead + 1) {
                list.unfair = Some(entry.clone());
            }
        }
    }

    /// Checks the bound on overtaking: a waiter is passed at most OVERTAKE times for each entry
    /// that was before theirs when they joined, and for their own. Passing an entry whose units
    /// can't come back is not counted.
    pub fn check_overtaking(&self) -> Result<(), String> {
        let unfair = self.list.unfair.as_ref();
        unfair.map_or(Ok(()), |entry| Err(format!("overtaken too often: {entry:?}")))
    }

    /// Drops the user's ended entry, which makes room on the list.
    pub(super) fn drop_own(&mut self, user: &[u8]) {
        let Some(entry) = self.entry_of(user).cloned() else { return };
        if let Some(why) = self.why_over(&entry, self.time()) {
            self.drop_entry(&entry, why);
        }
    }

    /// The reply to a GRAB that gets no units: with WAIT its user joins.
    pub(super) fn join(&mut self, grab: Grab<'_>, refusal: String) -> Reply {
        let Grab { user, ask, req: Some(req), until: Some(until) } = grab else {
            return Err(refusal);
        };
        let (qty, t) = (ask.units(), self.time());
        let max = self.rules.list.map_or(0, |list| list.max);
        if max == 0 || (until != 0 && until <= t) {
            return Err(refusal);
        }
        if qty > self.supply {
            return Err(format!("SHORT {}", self.available()));
        }
        let over = self.list.entries.iter().filter(|entry| self.why_over(entry, t).is_some());
        let over = over.count().min(STEP_MAX + 1);
        if (self.list.entries.len() - over) as u64 >= max {
            return Err("BUSY".into());
        }
        self.drop_own(user);
        self.change();
        self.list.last_ticket += 1;
        let (ticket, ahead) = (self.list.last_ticket, self.list.entries.len() as u64);
        let (user, req, at) = (user.to_vec(), req.to_vec(), self.t);
        let entry = Entry { ticket, user, req, qty, at, until, passed: 0, ahead, overtaken: 0 };
        self.tell_entry("WAIT", &entry, "");
        self.list.entries.push(entry);
        self.list.joined = Some(ticket);
        Ok(self.shown_place(ticket))
    }

    /// A user with this request id leaves the list.
    pub(super) fn leave(&mut self, user: &[u8], req: &[u8]) {
        let entry = self.waits(user, self.time()).filter(|entry| entry.req == req).cloned();
        if let Some(entry) = entry {
            self.change();
            self.take_off(&entry, "LEAVE", "cancelled");
        } else if self.entry_of(user).is_some_and(|entry| entry.req == req) {
            self.drop_own(user);
        }
    }

    pub(super) fn take_off(&mut self, entry: &Entry, event: &'static str, why: &str) {
        self.list.freed = true;
        self.tell_entry(event, entry, why);
        self.list.entries.retain(|other| other.ticket != entry.ticket);
    }

    fn tell_entry(&mut self, event: &'static str, entry: &Entry, why: &str) {
        let mut data = number("ticket", entry.ticket) + &number("qty", entry.qty);
        data += &unless_0("until", entry.until);
        if !why.is_empty() {
            data += &format!(",\"reason\":\"{why}\"");
        }
        let raw = format!(" user={} req={}", entry.user.escape_ascii(), entry.req.escape_ascii());
        self.emit_with(event, data, raw);
    }

    fn drop_entry(&mut self, entry: &Entry, why: &str) {
        self.flush_lapses();
        self.change();
        self.list.dropped += 1;
        self.take_off(entry, "DROPPED", why);
    }

    /// The first waiter whose units are available or may come back.
    fn head(&self) -> Option<&Entry> {
        let is_held = self.rules.hold_ms > 0;
        let reserved = if is_held { 0 } else { self.list.reserved };
        let most = self.available() + reserved + self.may_come_back();
        self.earlier().find(|entry| entry.qty <= most)
    }

    /// The entries from before the current command.
    fn earlier(&self) -> impl Iterator<Item = &Entry> {
        self.list.entries.iter().filter(|entry| Some(entry.ticket) != self.list.joined)
    }

    /// The entry that is served next, and the head if it passes the head.
    fn next_served(&self) -> Option<(Entry, Option<u64>)> {
        let head = self.head()?;
        let there = self.available() + self.list.reserved;
        if head.qty <= there || self.why_over(head, self.time()).is_some() {
            return Some((head.clone(), None));
        }
        if head.passed >= self.overtake() {
            return None;
        }
        let next = self.earlier().find(|entry| entry.qty <= there)?;
        Some((next.clone(), Some(head.ticket)))
    }

    /// Serves waiters, up to the bound of a step. Returns whether none is left to serve.
    pub(super) fn serve(&mut self, lapses: bool) -> bool {
        let t = self.time();
        let mut made = 0;
        self.flush_lapses();
        while !self.paused && t >= self.rules.open_at {
            let Some((entry, passed)) = self.next_served() else {
                // The expiry of a due hold may free units for waiters.
                let may_lapse = lapses && self.head().is_some();
                let Some(seq) = self.due(|_| may_lapse).first().copied() else { return true };
                if !self.expire_other(seq) {
                    return true;
                }
                continue;
            };
            if made == STEP_MAX {
                return false;
            }
            let is_barred = self.is_barred(&entry.user);
            let why = self.why_over(&entry, t).or(is_barred.then_some("denied"));
            let is_own = |row: &Row| row.user == entry.user && row.round == self.round;
            let ends_own = why.is_none() && self.limits_users();
            if let Some(seq) = self.due(|row| ends_own && is_own(row)).first().copied() {
                if !lapses || !self.expire_other(seq) {
                    return false;
                }
                continue;
            }
            let is_above = self.allowance(&entry.user).is_some_and(|units| entry.qty > units);
            match why.or(is_above.then_some("limit")) {
                Some(why) => self.drop_entry(&entry, why),
                None => self.offer(&entry, passed),
            }
            made += 1;
        }
        true
    }

    /// Drops ended entries, also those that no step has reached.
    pub(super) fn drop_over(&mut self, made: usize) {
        let why = |entry: &Entry| Some((entry.clone(), self.why_over(entry, self.time())?));
        let over = self.list.entries.iter().filter_map(why);
        let over: Vec<_> = over.take(STEP_MAX.saturating_sub(made)).collect();
        over.iter().for_each(|(entry, why)| self.drop_entry(entry, why));
    }

    /// Offers and drops so far.
    pub(super) fn list_work(&self) -> usize {
        (self.list.offers + self.list.dropped) as usize
    }

    fn offer(&mut self, entry: &Entry, passed: Option<u64>) {
        self.flush_lapses();
        self.change();
        if let Some(head) = passed {
            self.pass(head, entry.ticket);
        }
        let seq = self.add(Row {
            user: entry.user.clone(),
            qty: entry.qty,
            state: "HELD",
            at: self.t,
            deadline: self.t + self.offer_ms(),
            req: Some(entry.req.clone()),
            asked: "OFFER",
            units: self.lowest(entry.qty),
            ..Row::default()
        });
        self.last_grant_at = self.t;
        self.list.offers += 1;
        let data = number("ticket", entry.ticket) + &unless_0("until", entry.until);
        self.emit_for_with(seq, "OFFER", data);
        self.list.entries.retain(|other| other.ticket != entry.ticket);
    }
}
