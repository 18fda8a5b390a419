//! The buyer's commands, and expiry by time.

use super::entries::unless_0;
use super::units::Wish;
use super::{
    Ask, Deed, Drawing, Fence, Keeper, Op, Oracle, Pick, Reply, Row, CONFIRMED_A_PART,
    FENCES_FORGOTTEN, FENCES_KEPT, FENCE_MS, INTEGER_MAX, LAPSES_MAX, LEFT,
};

/// A GRAB in any of its forms.
#[derive(Clone, Copy)]
pub(super) struct Grab<'a> {
    pub user: &'a [u8],
    pub ask: Ask,
    pub req: Option<&'a [u8]>,
    /// With WAIT: the time until which the user waits, or 0.
    pub until: Option<u64>,
}

impl<'a> Grab<'a> {
    pub fn of(op: &'a Op) -> Option<Grab<'a>> {
        let (user, ask, req, until) = match op {
            Op::Grab { user, ask, req } => (user, *ask, req.as_deref(), None),
            Op::Join { user, ask, req, until } => (user, *ask, Some(&req[..]), Some(*until)),
            Op::Choose { user, qty, req, .. } => (user, Ask::Qty(*qty), req.as_deref(), None),
            _ => return None,
        };
        Some(Grab { user, ask, req, until })
    }
}

impl Ask {
    /// The units that it asks for.
    pub fn units(self) -> u64 {
        match self {
            Ask::Qty(units) | Ask::UpTo(units) => units,
            Ask::Unsaid => 1,
        }
    }

    /// The units to grant at most, or the refusal by the user's limit.
    pub(super) fn within(self, allowance: u64) -> Result<u64, String> {
        match self {
            Ask::UpTo(most) => Ok(most.min(allowance)),
            _ if self.units() > allowance => Err(format!("OVERLIMIT {allowance}")),
            _ => Ok(self.units()),
        }
    }
}

impl Row {
    /// The row at `t`: a due hold is expired.
    fn at(&self, t: u64) -> Row {
        match self.is_due(t) {
            true => Row { state: "EXPIRED", deadline: 0, ..self.clone() },
            false => self.clone(),
        }
    }

    /// Whether a GRAB that repeats this grant's request id asks for an equal amount.
    fn suits(&self, ask: Ask) -> bool {
        match ask {
            Ask::UpTo(_) => !matches!(self.asked, "QTY" | "OFFER"),
            _ => self.asked != "UPTO" && ask.units() == self.first,
        }
    }
}

impl Oracle {
    pub(super) fn grab(&mut self, grab: Grab<'_>) -> Reply {
        let (Grab { user, ask, req, .. }, t) = (grab, self.time());
        let draws = self.rules.drawing != Drawing::Named;
        if draws && ask != Ask::Unsaid {
            return Err("ERR amount".into());
        }
        self.check_grab(ask)?;
        let known = req.and_then(|req| self.by_req(user, req));
        if !draws && known.is_some_and(|row| !row.suits(ask) || !self.suits_wish(row)) {
            return Err("REQMISMATCH".into());
        }
        let known = known.map(|row| row.seq);
        let is_fenced = req.is_some_and(|req| self.is_fenced(user, req));
        let waiting = req.filter(|_| known.is_none() && !is_fenced);
        let waiting = waiting.and_then(|req| self.waiting_req(user, ask, req));
        if waiting.as_deref() == Some("REQMISMATCH") && !self.has_many_due(user) {
            return Err("REQMISMATCH".into());
        }
        let is_left = self.expire_own(user);
        if is_left && self.limits_users() {
            return Err("TRYAGAIN own".into());
        }
        if let Some(seq) = known {
            return Ok(self.row(seq).at(t).shown("REPLAY"));
        }
        if is_fenced {
            return Ok("REPLAY 0 0 CANCELLED 0".into());
        }
        if let Some(waiting) = waiting {
            return Ok(waiting);
        }
        let allowance = self.allowance(user).unwrap_or(INTEGER_MAX);
        let newest_live = self.rows_now(user).find(|row| row.is_live());
        if let (0, Some(row)) = (allowance, newest_live) {
            return Err(row.shown("ALREADY"));
        }
        if let Some(entry) = self.waits(user, t) {
            return Ok(self.shown_place(entry.ticket));
        }
        self.check_window()?;
        if self.may_ask(user)? {
            self.admit(user);
        }
        let qty = match () {
            () if draws => self.draw(allowance),
            () if self.somebody_stands() => match self.behind(grab, allowance) {
                Ok((qty, passed)) => return self.grant_behind(grab, qty, passed),
                Err(refusal) => Err(refusal),
            },
            () if self.wish.is_some() => self.amount_wished(ask, allowance),
            () => self.amount(ask, allowance),
        };
        let is_out = |refusal: &str| refusal.starts_with("SOLDOUT") || refusal.starts_with("SHORT");
        match qty {
            Ok(qty) => {
                self.drop_own(user);
                Ok(self.grant(grab, qty))
            }
            Err(refusal) if is_out(&refusal) => self.join(grab, refusal),
            Err(refusal) => Err(refusal),
        }
    }

    /// Grants units while others wait; waiters are served in the same step.
    fn grant_behind(&mut self, grab: Grab<'_>, qty: u64, passed: Option<u64>) -> Reply {
        self.check_wish(qty)?;
        self.flush_lapses();
        self.drop_own(grab.user);
        if passed.is_some() {
            self.change();
        }
        let reply = self.grant(grab, qty);
        self.list.reserved = qty;
        self.serve(false);
        self.list.reserved = 0;
        self.list.freed = false;
        // This grant passes the head; offers to other waiters were made before it.
        if let Some(head) = passed {
            self.pass(head, u64::MAX);
        }
        Ok(reply)
    }

    /// Fails if the sale is not open.
    fn check_window(&self) -> Result<(), String> {
        let t = self.time();
        match self.opens_at(t) {
            at if self.rules.close_at != 0 && at >= self.rules.close_at => Err("CLOSED".into()),
            at if t < at => Err(format!("NOTOPEN {}", at - t)),
            _ if self.paused => Err("PAUSED".into()),
            _ => Ok(()),
        }
    }

    /// The units for `ask`, or the refusal. Due holds of others are expired if needed.
    pub(super) fn amount(&mut self, ask: Ask, allowance: u64) -> Result<u64, String> {
        let (wanted, takes_less) = (ask.within(allowance)?, matches!(ask, Ask::UpTo(_)));
        // More than can exist is refused at once. UPTO takes what is available.
        let can_be = takes_less || wanted <= self.available() + self.units("HELD");
        let is_many = can_be && self.expire_until(self.round, |it| it.available() >= wanted);
        match self.available() {
            left if is_many && (left == 0 || !takes_less) => Err("TRYAGAIN others".into()),
            0 => Err(format!("SOLDOUT {}", self.may_come_back())),
            left if wanted > left && !takes_less => Err(format!("SHORT {left}")),
            left => Ok(wanted.min(left)),
        }
    }

    fn grant(&mut self, grab: Grab<'_>, qty: u64) -> String {
        self.change();
        let hold_ms = self.rules.hold_ms;
        let draws = self.rules.drawing != Drawing::Named;
        let asked = if draws || matches!(grab.ask, Ask::UpTo(_)) { "UPTO" } else { "QTY" };
        self.take_amount(qty, true);
        let seq = self.add(Row {
            user: grab.user.to_vec(),
            qty,
            state: if hold_ms == 0 { "SOLD" } else { "HELD" },
            at: self.t,
            deadline: if hold_ms == 0 { 0 } else { self.t + hold_ms },
            req: grab.req.map(<[u8]>::to_vec),
            asked: if grab.req.is_some() { asked } else { "" },
            units: self.choose(qty),
            ..Row::default()
        });
        self.last_grant_at = self.t;
        self.emit_for(seq, "GRANT");
        format!("{} {LEFT}", self.row(seq).shown("GRANTED"))
    }

    /// Adds a grant of the current round. Returns its seq.
    pub(super) fn add(&mut self, row: Row) -> u64 {
        let seq = self.rows.len() as u64 + 1;
        let (first, first_units) = (row.qty, row.units.clone());
        let (epoch, round) = (self.epoch, self.round);
        self.rows.push(Row { seq, first, first_units, epoch, round, ..row });
        seq
    }

    pub(super) fn settle(&mut self, user: &[u8], pick: &Pick, deed: Deed) -> Reply {
        self.check_keep(deed)?;
        let mine: Vec<u64> = self.rows_of(user).map(|row| row.seq).collect();
        let seq = match pick {
            Pick::Only if mine.len() > 1 => return Err("AMBIGUOUS".into()),
            Pick::Only => mine.first().copied(),
            Pick::Seq(seq) => mine.into_iter().find(|its| its == seq),
            Pick::Req(req) => self.by_req(user, req).map(|row| row.seq),
        };
        let t = self.time();
        let deed = seq.map_or(Ok(deed), |seq| self.counted(deed, &self.row(seq).at(t)))?;
        let is_left = self.expire_own(user);
        Ok(match (seq, deed, pick) {
            (Some(seq), Deed::Reclaim, _) if self.row(seq).at(t).state == "EXPIRED" => {
                if is_left && (self.row(seq).is_due(t) || self.limits_users()) {
                    return Err("TRYAGAIN own".into());
                }
                self.reclaim(seq)?;
                self.row(seq).stands()
            }
            (Some(seq), _, _) => {
                if !self.row(seq).is_due(t) {
                    self.do_deed(seq, deed);
                }
                self.row(seq).at(t).stands()
            }
            (None, Deed::Cancel, Pick::Req(req)) => {
                self.leave(user, req);
                self.fence(user, req);
                "CANCELLED 0 0 0".into()
            }
            _ => "NOGRANT 0 0 0".into(),
        })
    }

    fn do_deed(&mut self, seq: u64, deed: Deed) {
        let t = self.time();
        let row = self.row(seq).clone();
        match (deed, row.state) {
            (Deed::Confirm | Deed::Reclaim, "HELD") => self.move_to(seq, "SOLD", "CONFIRM"),
            (Deed::Cancel, "HELD") => self.move_to(seq, "CANCELLED", "CANCEL"),
            (Deed::Refund, "SOLD") => self.move_to(seq, "REFUNDED", "REFUND"),
            (Deed::Keep(Keeper::Confirm, left), "HELD") => self.keep(seq, left, "SOLD"),
            (Deed::Keep(Keeper::Cancel, left), "HELD") if left < row.qty => {
                self.keep(seq, left, "HELD");
            }
            (Deed::Keep(Keeper::Refund, left), "SOLD") if left < row.qty => {
                self.keep(seq, left, "SOLD");
            }
            (Deed::Extend(ms), "HELD") if t + ms > row.deadline => {
                self.change();
                self.rows[seq as usize - 1].deadline = t + ms;
                self.emit_for(seq, "EXTEND");
            }
            _ => {}
        }
    }

    /// Reduces a live grant to this many units.
    fn keep(&mut self, seq: u64, left: u64, state: &'static str) {
        self.change();
        let row = &mut self.rows[seq as usize - 1];
        let returned = row.qty.saturating_sub(left);
        row.qty -= returned;
        if let Some(Wish::These(units)) = &self.wish {
            row.units.retain(|unit| units.contains(unit));
        }
        // Without a REQ no retry can repeat the first quantity.
        row.first = if row.req.is_some() { row.first } else { row.qty };
        let event = if row.state == state { "TRIM" } else { "CONFIRM" };
        row.state = state;
        if state == "SOLD" {
            row.deadline = 0;
        }
        self.pay_off(returned);
        self.list.freed = true;
        if event == "CONFIRM" && returned > 0 {
            *self.tallies.entry(CONFIRMED_A_PART).or_default() += 1;
        }
        self.emit_for_with(seq, event, unless_0("returned", returned));
    }

    /// A late payment. Fails if the caller must retry: the call expired as many holds as it may.
    fn reclaim(&mut self, seq: u64) -> Result<(), String> {
        let row = self.row(seq).clone();
        if row.refused {
            return Ok(());
        }
        let (round, qty) = (row.round, row.qty);
        let left = self.allowance_in(round, &row.user);
        let most = self.available_in(round) + self.units_in(round, "HELD");
        let permitted = left.is_none_or(|left| qty <= left) && qty <= most;
        if permitted && self.rules.numbered {
            self.expire_owners(&row.units);
        } else if permitted && self.expire_until(round, |oracle| oracle.is_free(round, qty)) {
            return Err("TRYAGAIN others".into());
        }
        if permitted && self.is_free(round, qty) && self.check_free(&row.units).is_ok() {
            self.take_amount(qty, false);
            self.move_to(seq, "SOLD", "RECLAIM");
        } else {
            self.change();
            self.list.freed = true;
            self.rows[seq as usize - 1].refused = true;
            self.emit_for(seq, "RECLAIM-REFUSED");
        }
        Ok(())
    }

    /// One change that moves a grant to another state.
    pub(super) fn move_to(&mut self, seq: u64, state: &'static str, event: &'static str) {
        self.change();
        self.set_state(seq, state, event);
    }

    fn set_state(&mut self, seq: u64, state: &'static str, event: &'static str) {
        let row = &mut self.rows[seq as usize - 1];
        let (was_live, qty) = (row.is_live(), row.qty);
        // Only expired grants are marked as refused.
        (row.state, row.deadline, row.refused) = (state, 0, false);
        self.list.freed = true;
        if was_live && !row.is_live() {
            self.pay_off(qty);
            self.return_amount(qty);
        }
        self.emit_for(seq, event);
    }

    /// Due holds for which `of` is true, earliest deadline first.
    pub(super) fn due(&self, of: impl Fn(&Row) -> bool) -> Vec<u64> {
        let is_one = |row: &&Row| row.is_due(self.time()) && of(row);
        let mut due: Vec<&Row> = self.rows.iter().filter(is_one).collect();
        due.sort_by_key(|row| (row.deadline, row.seq));
        due.into_iter().map(|row| row.seq).collect()
    }

    /// Whether more of the user's own holds are due than one call may expire.
    fn has_many_due(&self, user: &[u8]) -> bool {
        self.limits_users() && self.due(|row| row.user == user).len() > LAPSES_MAX
    }

    pub(super) fn expire(&mut self, seq: u64) {
        self.begin();
        self.expired += 1;
        self.set_state(seq, "EXPIRED", "EXPIRE");
    }

    /// Expires the earliest holds, up to the limit of a call. Returns whether more are due.
    fn expire_own(&mut self, user: &[u8]) -> bool {
        let due = self.due(|row| row.user == user);
        due.iter().take(LAPSES_MAX).for_each(|seq| self.expire(*seq));
        due.len() > LAPSES_MAX
    }

    pub(super) fn limits_users(&self) -> bool {
        self.rules.limit != 0 || self.rules.grabs != 0
    }

    /// Expires a hold of another user, up to the limit of a call. False at the limit.
    pub(super) fn expire_other(&mut self, seq: u64) -> bool {
        let may = self.lapsed < LAPSES_MAX;
        if may {
            self.lapsed += 1;
            self.expire(seq);
        }
        may
    }

    /// Expires holds of a round until `enough` is true. True if the limit of a call came first.
    pub(super) fn expire_until(&mut self, round: u64, enough: impl Fn(&Oracle) -> bool) -> bool {
        for seq in self.due(|row| row.round == round) {
            if enough(self) {
                return false;
            }
            if !self.expire_other(seq) {
                return true;
            }
        }
        false
    }

    /// Background expiry: expires due holds of all rounds, earliest deadline first.
    pub(super) fn sweep(&mut self, most: usize) -> Reply {
        self.due(|_| true).into_iter().take(most).for_each(|seq| self.expire(seq));
        if self.somebody_waits() {
            let before = self.list_work();
            self.serve(true);
            self.drop_over(self.list_work() - before);
            self.list.freed = false;
        }
        Ok("OK".into())
    }

    fn is_fenced(&self, user: &[u8], req: &[u8]) -> bool {
        let is_it = |fence: &&Fence| fence.user == user && fence.req == req;
        self.fences.iter().find(is_it).is_some_and(|fence| self.time() < fence.at + FENCE_MS)
    }

    fn fence(&mut self, user: &[u8], req: &[u8]) {
        if self.is_fenced(user, req) {
            return;
        }
        self.change();
        let t = self.t;
        for _ in 0..FENCES_FORGOTTEN {
            let Some(oldest) = self.fences.first() else { break };
            let is_over = t >= oldest.at + FENCE_MS;
            if !is_over && self.fences.len() < FENCES_KEPT {
                break;
            }
            self.fences.remove(0);
            self.fences_dropped += u64::from(!is_over);
        }
        self.fences.retain(|fence| fence.user != user || fence.req != req);
        self.fences.push(Fence { user: user.to_vec(), req: req.to_vec(), at: t });
    }
}
