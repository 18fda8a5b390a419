//! The waiting list: a plain list that is always searched from its beginning.

use super::entries::number;
use super::{Ask, Bytes, Moment, Oracle, LAPSES_MAX};

/// Most offers and drops of one step.
const STEP_MAX: usize = 64;

/// Most entries of a list.
const LIST_MAX: u64 = 10_000_000;

/// WAITLIST, OFFER, OVERTAKE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListRules {
    pub max: u64,
    /// 0: the length of HOLD.
    pub offer_ms: u64,
    pub overtake: u64,
}

/// The terms of the waiting list that an ALTER names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListPatch {
    pub max: Option<u64>,
    pub offer_ms: Option<u64>,
    pub overtake: Option<u64>,
}

impl ListRules {
    pub(super) fn is_possible(&self) -> bool {
        self.max <= LIST_MAX && self.offer_ms <= super::HOLD_MAX
    }
}

/// A waiter.
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
}

/// The waiting list, and counts of its events.
#[derive(Clone, Debug, Default)]
pub struct List {
    pub entries: Vec<Entry>,
    pub last_ticket: u64,
    pub offers: u64,
    pub dropped: u64,
    /// Units of a grant that comes after the waiters, although the grant's event is before their
    /// offers.
    pub reserved: u64,
    /// Users who joined in the current command; they are served in a later step.
    pub joined: Option<u64>,
    /// Whether the current command has freed units or removed a waiter.
    pub freed: bool,
    /// All cases of overtaking, to check their bound: the ticket of the passed head, and the ticket
    /// of the passing waiter, or 0 for a GRAB.
    pub passes: Vec<(u64, u64)>,
    /// For each ticket, the number of entries before it when it joined.
    pub joined_behind: Vec<(u64, u64)>,
    /// For each ticket, the length of `passes` when it joined.
    pub joined_at: std::collections::BTreeMap<u64, usize>,
    /// For each ticket, the length of `passes` when it left.
    pub left: Vec<(u64, usize)>,
    /// The largest OVERTAKE so far.
    pub overtake_max: u64,
}

impl Oracle {
    /// The waiters, in order.
    pub fn waiters(&self) -> &[Entry] {
        &self.list.entries
    }

    /// Whether the list has a valid entry at `t`.
    pub(super) fn anybody_stands(&self, t: u64) -> bool {
        self.list.entries.iter().any(|entry| self.why_over(entry, t).is_none())
    }

    /// Whether a waiter comes before a GRAB. Ended entries count, too, if more of them are first
    /// than one step drops.
    pub(super) fn somebody_stands(&self, t: u64) -> bool {
        self.anybody_stands(t) || self.list.entries.len() > STEP_MAX + 1
    }

    /// Whether anybody is on the list.
    pub(super) fn somebody_waits(&self) -> bool {
        !self.list.entries.is_empty()
    }

    /// The list's numbers in STATUS; `None` without a list.
    pub fn list_numbers(&self) -> Option<[u64; 7]> {
        let rules = self.rules.list?;
        let units: u64 = self.list.entries.iter().map(|entry| entry.qty).sum();
        let units = units.min(super::INTEGER_MAX);
        let since = self.list.entries.first().map_or(0, |entry| entry.at);
        let is_offer = |row: &&super::Row| row.state == "HELD" && row.asked == "OFFER";
        let offered = self.rows.iter().filter(is_offer).count() as u64;
        let waiting = self.list.entries.len() as u64;
        let offer = self.offer_ms();
        Some([rules.max, offer, rules.overtake, waiting, units, since, offered])
    }

    pub(super) fn offer_ms(&self) -> u64 {
        match self.rules.list {
            Some(list) if list.offer_ms > 0 => list.offer_ms,
            _ => self.rules.hold_ms,
        }
    }

    /// The terms after an ALTER.
    pub(super) fn list_after(&self, patch: &ListPatch) -> Option<ListRules> {
        let new = ListRules { max: 0, offer_ms: 0, overtake: 16 };
        let old = self.rules.list.unwrap_or(new);
        let after = ListRules {
            max: patch.max.unwrap_or(old.max),
            offer_ms: patch.offer_ms.unwrap_or(old.offer_ms),
            overtake: patch.overtake.unwrap_or(old.overtake),
        };
        if self.rules.list.is_none() && after.max == 0 {
            None
        } else {
            Some(after)
        }
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

    fn entry_of(&self, user: &[u8]) -> Option<&Entry> {
        self.list.entries.iter().find(|entry| entry.user == user)
    }

    /// The entry of a user on the list at `t`.
    pub(super) fn waits(&self, user: &[u8], t: u64) -> Option<&Entry> {
        self.entry_of(user).filter(|entry| self.why_over(entry, t).is_none())
    }

    /// The reply `[WAITING, ticket, ahead, units ahead]`.
    pub(super) fn shown_place(&self, ticket: u64) -> String {
        let ahead: Vec<u64> = self
            .list
            .entries
            .iter()
            .filter(|entry| entry.ticket < ticket)
            .map(|entry| entry.qty)
            .collect();
        format!(
            "WAITING {ticket} {} {}",
            ahead.len(),
            ahead.iter().sum::<u64>().min(super::INTEGER_MAX)
        )
    }

    /// The reply of PLACE.
    pub fn place(&self, user: &[u8], clock: u64) -> Option<String> {
        self.waits(user, self.t.max(clock)).map(|entry| self.shown_place(entry.ticket))
    }

    /// The reply to a GRAB with this request id if its user is waiting.
    pub(super) fn waiting_req(&self, user: &[u8], ask: Ask, req: &[u8], t: u64) -> Option<String> {
        let entry = self.waits(user, t).filter(|entry| entry.req == req)?;
        let same = match ask {
            Ask::Qty(qty) => qty == entry.qty,
            Ask::Unsaid => entry.qty == 1,
            Ask::UpTo(_) => false,
        } && !self.wants_these();
        Some(if same { self.shown_place(entry.ticket) } else { "REQMISMATCH".into() })
    }

    /// The units for a GRAB after all waiters are served, and the head that it passes.
    pub(super) fn behind(
        &self,
        user: &[u8],
        ask: Ask,
        allowance: Option<u64>,
        now: Moment,
    ) -> Result<(u64, Option<u64>), String> {
        let t = self.time(now);
        let allowance = allowance.unwrap_or(super::INTEGER_MAX);
        let (wanted, takes_less) = match ask {
            Ask::Qty(qty) => (qty, false),
            Ask::Unsaid => (1, false),
            Ask::UpTo(qty) => (qty.min(allowance), true),
        };
        if wanted > allowance {
            return Err(format!("OVERLIMIT {allowance}"));
        }
        let refusal = format!("SOLDOUT {}", self.may_come_back().max(1));
        // The state after all waiters are served.
        let mut trial = self.clone();
        trial
            .list
            .entries
            .retain(|entry| !(entry.user == user && self.why_over(entry, t).is_some()));
        if !trial.serve(false, now) {
            return Err(refusal);
        }
        let there = trial.available();
        let qty = if takes_less { wanted.min(there) } else { wanted };
        if qty == 0 || qty > there {
            return Err(refusal);
        }
        let Some(head) = trial.head().cloned() else { return Ok((qty, None)) };
        let due_of_others = trial.rows.iter().any(|row| row.is_due(t));
        let overtake = self.rules.list.map_or(0, |list| list.overtake);
        if due_of_others || head.passed >= overtake {
            return Err(refusal);
        }
        Ok((qty, Some(head.ticket)))
    }

    /// Records that the head was passed.
    pub(super) fn pass(&mut self, ticket: u64, by: u64) {
        let overtake = self.rules.list.map_or(0, |list| list.overtake);
        self.list.overtake_max = self.list.overtake_max.max(overtake);
        self.list.passes.push((ticket, by));
        if let Some(entry) = self.list.entries.iter_mut().find(|entry| entry.ticket == ticket) {
            entry.passed += 1;
        }
    }

    /// Drops the user's ended entries, which makes room on the list.
    pub(super) fn drop_own(&mut self, user: &[u8], now: Moment) {
        let t = self.time(now);
        let gone =
            self.entry_of(user).and_then(|entry| Some((entry.ticket, self.why_over(entry, t)?)));
        if let Some((ticket, why)) = gone {
            self.drop_entry(ticket, why, now);
        }
    }

    /// A user joins.
    pub(super) fn join(
        &mut self,
        user: &[u8],
        ask: Ask,
        req: &[u8],
        until: u64,
        refusal: String,
        now: Moment,
    ) -> String {
        let t = self.time(now);
        let max = self.rules.list.map_or(0, |list| list.max);
        let qty = if let Ask::Qty(qty) = ask { qty } else { 1 };
        if max == 0 || (until != 0 && until <= t) {
            return refusal;
        }
        if qty > self.supply {
            return format!("SHORT {}", self.available());
        }
        let over = self.list.entries.iter().filter(|entry| self.why_over(entry, t).is_some());
        let over = over.count().min(STEP_MAX + 1);
        if (self.list.entries.len() - over) as u64 >= max {
            return "BUSY".into();
        }
        self.drop_own(user, now);
        self.change(now);
        self.list.last_ticket += 1;
        let ticket = self.list.last_ticket;
        let ahead = self.list.entries.len() as u64;
        self.list.joined_behind.push((ticket, ahead));
        self.list.joined_at.insert(ticket, self.list.passes.len());
        let (user, req) = (user.to_vec(), req.to_vec());
        let entry = Entry { ticket, user, req, qty, at: self.t, until, passed: 0 };
        self.tell_entry("WAIT", &entry, "");
        self.list.entries.push(entry);
        self.list.joined = Some(ticket);
        self.shown_place(ticket)
    }

    /// Removes a user's entry. False if there is none with this request id.
    pub(super) fn leave(&mut self, user: &[u8], req: &[u8], why: &str, now: Moment) -> bool {
        let t = self.time(now);
        let is_it = |entry: &&Entry| entry.req == req;
        let Some(entry) = self.waits(user, t).filter(is_it).cloned() else { return false };
        self.change(now);
        self.take_off(&entry, "LEAVE", why);
        true
    }

    /// Drops the ended entry with this request id.
    pub(super) fn drop_own_of(&mut self, user: &[u8], req: &[u8], now: Moment) {
        if self.entry_of(user).is_some_and(|entry| entry.req == req) {
            self.drop_own(user, now);
        }
    }

    /// Removes the entry of a paid request.
    pub(super) fn leave_paid(&mut self, user: &[u8], req: &[u8]) {
        let entry = self.entry_of(user).filter(|entry| entry.req == req).cloned();
        if let Some(entry) = entry {
            self.take_off(&entry, "LEAVE", "imported");
        }
    }

    /// The quantity of the entry with this request id.
    pub(super) fn qty_waiting(&self, user: &[u8], req: &[u8], t: u64) -> Option<u64> {
        self.waits(user, t).filter(|entry| entry.req == req).map(|entry| entry.qty)
    }

    fn take_off(&mut self, entry: &Entry, event: &'static str, why: &str) {
        self.list.freed = true;
        self.tell_entry(event, entry, why);
        self.remove(entry.ticket);
    }

    fn remove(&mut self, ticket: u64) {
        self.list.left.push((ticket, self.list.passes.len()));
        self.list.entries.retain(|other| other.ticket != ticket);
    }

    fn tell_entry(&mut self, event: &'static str, entry: &Entry, why: &str) {
        let mut data = number("ticket", entry.ticket) + &number("qty", entry.qty);
        if entry.until != 0 {
            data += &number("until", entry.until);
        }
        if !why.is_empty() {
            data += &format!(",\"reason\":\"{why}\"");
        }
        let raw = format!(" user={} req={}", entry.user.escape_ascii(), entry.req.escape_ascii());
        self.emit_with(event, data, raw);
    }

    fn drop_entry(&mut self, ticket: u64, why: &str, now: Moment) {
        let found = self.list.entries.iter().find(|entry| entry.ticket == ticket).cloned();
        if let Some(entry) = found {
            self.flush_lapses();
            self.change(now);
            self.list.dropped += 1;
            self.take_off(&entry, "DROPPED", why);
        }
    }

    /// Checks the bound on overtaking: a waiter is passed at most OVERTAKE times for each entry
    /// that was before theirs when they joined, and for their own. Passing an entry whose units
    /// can't come back is not counted.
    pub fn check_overtaking(&self) -> Result<(), String> {
        for (ticket, ahead) in &self.list.joined_behind {
            let past = |(head, by): &&(u64, u64)| head <= ticket && (*by == 0 || by > ticket);
            let left = self.list.left.iter().find(|(its, _)| its == ticket);
            let until = left.map_or(self.list.passes.len(), |(_, passes)| *passes);
            let joined = self.list.joined_at.get(ticket).copied().unwrap_or(0);
            let passes = self.list.passes.get(joined..until).unwrap_or_default();
            let passed = passes.iter().filter(past).count() as u64;
            if passed > self.list.overtake_max * (ahead + 1) {
                return Err(format!("{ticket} was passed {passed} times, {ahead} were before it"));
            }
        }
        Ok(())
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

    /// The entry that is served next, and whether it passes the head.
    fn next_served(&self, t: u64) -> Option<(Entry, Option<u64>)> {
        let head = self.head()?;
        let there = self.available() + self.list.reserved;
        if head.qty <= there || self.why_over(head, t).is_some() {
            return Some((head.clone(), None));
        }
        if head.passed >= self.rules.list.map_or(0, |list| list.overtake) {
            return None;
        }
        let fits = |entry: &&Entry| entry.qty <= there;
        Some((self.earlier().find(fits)?.clone(), Some(head.ticket)))
    }

    /// Serves waiters, up to the bound of a step. Returns whether none is left to serve.
    pub(super) fn serve(&mut self, lapses: bool, now: Moment) -> bool {
        let t = self.time(now);
        let (mut made, mut lapsed) = (0, 0);
        self.flush_lapses();
        while !self.paused && t >= self.rules.open_at {
            let Some((entry, passed)) = self.next_served(t) else {
                // The expiry of a due hold may free units for waiters.
                let due = self.earliest_due(t).filter(|_| lapses && lapsed < LAPSES_MAX);
                let Some(seq) = due.filter(|_| self.head().is_some()) else { return true };
                lapsed += 1;
                self.expire(seq, now);
                continue;
            };
            if made == STEP_MAX {
                return false;
            }
            let barred = self.rules.gates.allowlist && !self.allowed.contains(&entry.user)
                || self.denied.contains(&entry.user);
            if let Some(why) = self.why_over(&entry, t) {
                self.drop_entry(entry.ticket, why, now);
            } else if barred {
                self.drop_entry(entry.ticket, "denied", now);
            } else {
                let own = self.rows_now(&entry.user).filter(|row| row.is_due(t));
                let own = own.min_by_key(|row| (row.deadline, row.seq)).map(|row| row.seq);
                if let Some(seq) = own.filter(|_| self.limits_users()) {
                    if !lapses || lapsed == LAPSES_MAX {
                        return false;
                    }
                    lapsed += 1;
                    self.expire(seq, now);
                    continue;
                }
                match self.allowance(&entry.user).is_some_and(|allowance| entry.qty > allowance) {
                    true => self.drop_entry(entry.ticket, "limit", now),
                    false => self.offer(&entry, passed, now),
                }
            }
            made += 1;
        }
        true
    }

    /// Drops ended entries, also those that no step has reached.
    pub(super) fn drop_over(&mut self, made: usize, now: Moment) {
        let t = self.time(now);
        let over = self
            .list
            .entries
            .iter()
            .filter_map(|entry| Some((entry.ticket, self.why_over(entry, t)?)));
        let over: Vec<_> = over.take(STEP_MAX.saturating_sub(made)).collect();
        over.into_iter().for_each(|(ticket, why)| self.drop_entry(ticket, why, now));
    }

    /// Offers and drops so far.
    pub(super) fn list_work(&self) -> usize {
        (self.list.offers + self.list.dropped) as usize
    }

    fn offer(&mut self, entry: &Entry, passed: Option<u64>, now: Moment) {
        self.flush_lapses();
        self.change(now);
        if let Some(head) = passed {
            self.pass(head, entry.ticket);
        }
        let seq = self.rows.len() as u64 + 1;
        let units = self.lowest(entry.qty);
        self.rows.push(super::Row {
            seq,
            user: entry.user.clone(),
            qty: entry.qty,
            first: entry.qty,
            state: "HELD",
            at: self.t,
            deadline: self.t + self.offer_ms(),
            req: Some(entry.req.clone()),
            asked: "OFFER",
            epoch: self.epoch,
            round: self.round,
            refused: false,
            first_units: units.clone(),
            units,
        });
        self.last_grant_at = self.t;
        self.list.offers += 1;
        let until = if entry.until == 0 { String::new() } else { number("until", entry.until) };
        self.emit_for_with(seq, "OFFER", number("ticket", entry.ticket) + &until);
        self.remove(entry.ticket);
    }
}
