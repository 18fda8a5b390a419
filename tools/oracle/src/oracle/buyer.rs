//! The buyer's commands, and expiry by time.

use super::entries::unless_0;
use super::units::Wish;
use super::{
    Ask, Bytes, Deed, Drawing, Fence, Keeper, Moment, Oracle, Pick, Row, CONFIRMED_A_PART,
    FENCES_FORGOTTEN, FENCES_KEPT, FENCE_MS, INTEGER_MAX, LAPSES_MAX, LEFT,
};

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
            Ask::Qty(qty) => self.asked != "UPTO" && qty == self.first,
            Ask::UpTo(_) => !matches!(self.asked, "QTY" | "OFFER"),
            Ask::Unsaid => self.asked != "UPTO" && self.first == 1,
        }
    }
}

impl Oracle {
    pub(super) fn grab(
        &mut self,
        user: &[u8],
        ask: Ask,
        req: Option<&Bytes>,
        wait: Option<u64>,
        now: Moment,
    ) -> String {
        let t = self.time(now);
        let draws = self.rules.drawing != Drawing::Named;
        if draws && ask != Ask::Unsaid {
            return "ERR amount".into();
        } else if let Some(error) = self.bad_grab(ask) {
            return error.into();
        }
        let known = req.and_then(|req| self.by_req(user, req));
        if !draws && known.is_some_and(|row| !row.suits(ask) || !self.suits_wish(row)) {
            return "REQMISMATCH".into();
        }
        let is_new = known.is_none();
        let known = known.map(|row| row.seq);
        let is_fenced = req.is_some_and(|req| self.is_fenced(user, req, t));
        let waiting = req.and_then(|req| self.waiting_req(user, ask, req, t));
        let waiting = waiting.filter(|_| is_new && !is_fenced);
        if waiting.as_deref() == Some("REQMISMATCH") && !self.has_many_due(user, t) {
            return "REQMISMATCH".into();
        }
        let is_left = self.expire_own(user, now);
        if is_left && self.limits_users() {
            return "TRYAGAIN own".into();
        }
        if let Some(seq) = known {
            return self.row(seq).at(t).shown("REPLAY");
        }
        if req.is_some_and(|req| self.is_fenced(user, req, t)) {
            return "REPLAY 0 0 CANCELLED 0".into();
        }
        if let Some(waiting) = waiting {
            return waiting;
        }
        let allowance = self.allowance(user);
        let newest_live = self.rows_now(user).find(|row| row.is_live());
        if let (Some(0), Some(row)) = (allowance, newest_live) {
            return row.shown("ALREADY");
        }
        if let Some(entry) = self.waits(user, t) {
            return self.shown_place(entry.ticket);
        }
        if let Some(refusal) = self.window(t) {
            return refusal;
        }
        match self.may_ask(user) {
            Err(word) => return word.into(),
            Ok(is_first) if is_first => self.admit(user, now),
            Ok(_) => {}
        }
        let qty = match () {
            () if draws => self.draw(allowance, now),
            () if self.somebody_stands(t) => match self.behind(user, ask, allowance, now) {
                Ok((qty, passed)) => {
                    return self.grant_behind(user, qty, passed, ask, req, now);
                }
                Err(refusal) => Err(refusal),
            },
            () if self.wish.is_some() => self.amount_wished(ask, allowance, now),
            () => self.amount(ask, allowance, now),
        };
        let is_out = |refusal: &str| refusal.starts_with("SOLDOUT") || refusal.starts_with("SHORT");
        match (qty, wait, req) {
            (Ok(qty), _, _) => {
                self.drop_own(user, now);
                self.grant(user, qty, ask, req, now)
            }
            (Err(refusal), Some(until), Some(req)) if is_out(&refusal) => {
                self.join(user, ask, req, until, refusal, now)
            }
            (Err(refusal), _, _) => refusal,
        }
    }

    /// Grants units while others wait; waiters are served in the same step.
    fn grant_behind(
        &mut self,
        user: &[u8],
        qty: u64,
        passed: Option<u64>,
        ask: Ask,
        req: Option<&Bytes>,
        now: Moment,
    ) -> String {
        if let Err(refusal) = self.wish.as_ref().map_or(Ok(()), |wish| self.wish_met(wish, qty)) {
            return refusal;
        }
        self.flush_lapses();
        self.drop_own(user, now);
        if passed.is_some() {
            self.change(now);
        }
        let reply = self.grant(user, qty, ask, req, now);
        self.list.reserved = qty;
        self.serve(false, now);
        self.list.reserved = 0;
        self.list.freed = false;
        // This grant passes the head; offers to other waiters were made before it.
        if let Some(head) = passed {
            self.pass(head, 0);
        }
        reply
    }

    /// The refusal that all users get at `t` because the sale is not open.
    fn window(&self, t: u64) -> Option<String> {
        let opens_at = self.opens_at(t);
        if self.rules.close_at != 0 && opens_at >= self.rules.close_at {
            return Some("CLOSED".into());
        }
        if t < opens_at {
            return Some(format!("NOTOPEN {}", opens_at - t));
        }
        self.paused.then(|| "PAUSED".into())
    }

    /// The units for `ask`, or the refusal. Due holds of others are expired if needed.
    pub(super) fn amount(
        &mut self,
        ask: Ask,
        allowance: Option<u64>,
        now: Moment,
    ) -> Result<u64, String> {
        let allowance = allowance.unwrap_or(INTEGER_MAX);
        let ask = if ask == Ask::Unsaid { Ask::Qty(1) } else { ask };
        let wanted = match ask {
            Ask::Qty(qty) if qty > allowance => return Err(format!("OVERLIMIT {allowance}")),
            Ask::Qty(qty) => qty,
            Ask::UpTo(most) => most.min(allowance),
            Ask::Unsaid => 1,
        };
        // More than can exist is refused at once. UPTO takes what is available.
        let takes_less = matches!(ask, Ask::UpTo(_));
        let can_be = takes_less || wanted <= self.available() + self.units("HELD");
        let is_many =
            can_be && self.expire_until(self.round, now, |oracle| oracle.available() >= wanted);
        let available = self.available();
        match ask {
            _ if is_many && (available == 0 || !takes_less) => Err("TRYAGAIN others".into()),
            _ if available == 0 => Err(format!("SOLDOUT {}", self.may_come_back())),
            Ask::Qty(qty) if qty > available => Err(format!("SHORT {available}")),
            _ => Ok(wanted.min(available)),
        }
    }

    fn grant(
        &mut self,
        user: &[u8],
        qty: u64,
        ask: Ask,
        req: Option<&Bytes>,
        now: Moment,
    ) -> String {
        self.change(now);
        let hold_ms = self.rules.hold_ms;
        let seq = self.rows.len() as u64 + 1;
        let draws = self.rules.drawing != Drawing::Named;
        let asked = if draws || matches!(ask, Ask::UpTo(_)) { "UPTO" } else { "QTY" };
        self.take_amount(qty, true);
        let units = self.choose(qty);
        self.rows.push(Row {
            seq,
            user: user.to_vec(),
            qty,
            first: qty,
            state: if hold_ms == 0 { "SOLD" } else { "HELD" },
            at: self.t,
            deadline: if hold_ms == 0 { 0 } else { self.t + hold_ms },
            req: req.cloned(),
            asked: if req.is_some() { asked } else { "" },
            epoch: self.epoch,
            round: self.round,
            refused: false,
            first_units: units.clone(),
            units,
        });
        self.last_grant_at = self.t;
        self.emit_for(seq, "GRANT");
        format!("{} {LEFT}", self.row(seq).shown("GRANTED"))
    }

    pub(super) fn settle(&mut self, user: &[u8], pick: &Pick, deed: Deed, now: Moment) -> String {
        if let Some(error) = self.bad_keep(deed) {
            return error.into();
        }
        let mine: Vec<u64> = self.rows_of(user).map(|row| row.seq).collect();
        let seq = match pick {
            Pick::Only if mine.len() > 1 => return "AMBIGUOUS".into(),
            Pick::Only => mine.first().copied(),
            Pick::Seq(seq) => mine.into_iter().find(|its| its == seq),
            Pick::Req(req) => self.by_req(user, req).map(|row| row.seq),
        };
        let t = self.time(now);
        let deed = match seq.map(|seq| self.counted(deed, &self.row(seq).at(t))) {
            Some(None) => return "ERR none kept".into(),
            Some(Some(counted)) => counted,
            None => deed,
        };
        let is_left = self.expire_own(user, now);
        match (seq, deed, pick) {
            (Some(seq), Deed::Reclaim, _) if self.row(seq).at(t).state == "EXPIRED" => {
                if is_left && (self.row(seq).is_due(t) || self.limits_users()) {
                    return "TRYAGAIN own".into();
                }
                match self.reclaim(seq, now) {
                    true => self.row(seq).stands(),
                    false => "TRYAGAIN others".into(),
                }
            }
            (Some(seq), _, _) => {
                if !self.row(seq).is_due(t) {
                    self.do_deed(seq, deed, now);
                }
                self.row(seq).at(t).stands()
            }
            (None, Deed::Cancel, Pick::Req(req)) => {
                self.leave(user, req, "cancelled", now);
                self.fence(user, req, now);
                "CANCELLED 0 0 0".into()
            }
            _ => "NOGRANT 0 0 0".into(),
        }
    }

    fn do_deed(&mut self, seq: u64, deed: Deed, now: Moment) {
        let t = self.time(now);
        let row = self.row(seq).clone();
        match (deed, row.state) {
            (Deed::Confirm | Deed::Reclaim, "HELD") => self.move_to(seq, "SOLD", "CONFIRM", now),
            (Deed::Cancel, "HELD") => self.move_to(seq, "CANCELLED", "CANCEL", now),
            (Deed::Refund, "SOLD") => self.move_to(seq, "REFUNDED", "REFUND", now),
            (Deed::Keep(Keeper::Confirm, left), "HELD") => self.keep(seq, left, "SOLD", now),
            (Deed::Keep(Keeper::Cancel, left), "HELD") if left < row.qty => {
                self.keep(seq, left, "HELD", now);
            }
            (Deed::Keep(Keeper::Refund, left), "SOLD") if left < row.qty => {
                self.keep(seq, left, "SOLD", now);
            }
            (Deed::Extend(ms), "HELD") if t + ms > row.deadline => {
                self.change(now);
                self.rows[seq as usize - 1].deadline = t + ms;
                self.emit_for(seq, "EXTEND");
            }
            _ => {}
        }
    }

    /// Reduces a live grant to this many units.
    fn keep(&mut self, seq: u64, left: u64, state: &'static str, now: Moment) {
        self.change(now);
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

    /// A late payment. False if the caller must retry, because the call has expired as many holds
    /// as it may.
    fn reclaim(&mut self, seq: u64, now: Moment) -> bool {
        let row = self.row(seq).clone();
        if row.refused {
            return true;
        }
        let (round, qty) = (row.round, row.qty);
        let left = self.allowance_in(round, &row.user);
        let most = self.available_in(round) + self.units_in(round, "HELD");
        let permitted = left.is_none_or(|left| qty <= left) && qty <= most;
        if permitted && self.rules.numbered {
            self.expire_owners(&row.units, now);
        } else if permitted && self.expire_until(round, now, |oracle| oracle.is_free(round, qty)) {
            return false;
        }
        if permitted && self.is_free(round, qty) && self.taken_of(&row.units).is_none() {
            self.take_amount(qty, false);
            self.move_to(seq, "SOLD", "RECLAIM", now);
        } else {
            self.change(now);
            self.list.freed = true;
            self.rows[seq as usize - 1].refused = true;
            self.emit_for(seq, "RECLAIM-REFUSED");
        }
        true
    }

    /// One change that moves a grant to another state.
    pub(super) fn move_to(
        &mut self,
        seq: u64,
        state: &'static str,
        event: &'static str,
        now: Moment,
    ) {
        self.change(now);
        self.set_state(seq, state, event);
    }

    fn set_state(&mut self, seq: u64, state: &'static str, event: &'static str) {
        let row = &mut self.rows[seq as usize - 1];
        let (was_live, qty) = (row.is_live(), row.qty);
        row.state = state;
        row.deadline = 0;
        // Only expired grants are marked as refused.
        row.refused = false;
        self.list.freed = true;
        let row = &self.rows[seq as usize - 1];
        if was_live && !row.is_live() {
            self.pay_off(qty);
            self.return_amount(qty);
        }
        self.emit_for(seq, event);
    }

    /// Due holds for which `of` is true, earliest deadline first.
    pub(super) fn due(&self, t: u64, of: impl Fn(&Row) -> bool) -> Vec<&Row> {
        let mut due: Vec<&Row> = self.rows.iter().filter(|row| row.is_due(t) && of(row)).collect();
        due.sort_by_key(|row| (row.deadline, row.seq));
        due
    }

    /// Seq of the due hold with the earliest deadline.
    pub(super) fn earliest_due(&self, t: u64) -> Option<u64> {
        self.due(t, |_| true).first().map(|row| row.seq)
    }

    /// Whether more of the user's own holds are due than one call may expire.
    fn has_many_due(&self, user: &[u8], t: u64) -> bool {
        self.limits_users() && self.due(t, |row| row.user == user).len() > LAPSES_MAX
    }

    pub(super) fn expire(&mut self, seq: u64, now: Moment) {
        self.begin(now);
        self.expired += 1;
        self.set_state(seq, "EXPIRED", "EXPIRE");
    }

    /// Expires the earliest holds, up to the limit of a call. Returns whether more are due.
    fn expire_own(&mut self, user: &[u8], now: Moment) -> bool {
        let due = self.due(self.time(now), |row| row.user == user);
        let due: Vec<u64> = due.into_iter().map(|row| row.seq).collect();
        due.iter().take(LAPSES_MAX).for_each(|seq| self.expire(*seq, now));
        due.len() > LAPSES_MAX
    }

    pub(super) fn limits_users(&self) -> bool {
        self.rules.limit != 0 || self.rules.grabs != 0
    }

    /// Expires holds of a round until `enough` is true, at most LAPSES_MAX. True if that was not
    /// enough although more are due.
    pub(super) fn expire_until(
        &mut self,
        round: u64,
        now: Moment,
        enough: impl Fn(&Oracle) -> bool,
    ) -> bool {
        let due = self.due(self.time(now), |row| row.round == round);
        for (number, seq) in
            due.into_iter().map(|row| row.seq).collect::<Vec<_>>().iter().enumerate()
        {
            if enough(self) {
                return false;
            }
            if number == LAPSES_MAX {
                return true;
            }
            self.expire(*seq, now);
        }
        false
    }

    /// Background expiry: expires due holds of all rounds, earliest deadline first.
    pub(super) fn sweep(&mut self, most: usize, now: Moment) -> String {
        let due = self.due(self.time(now), |_| true);
        let due: Vec<u64> = due.into_iter().take(most).map(|row| row.seq).collect();
        due.into_iter().for_each(|seq| self.expire(seq, now));
        if self.somebody_waits() {
            let before = self.list_work();
            self.serve(true, now);
            self.drop_over(self.list_work() - before, now);
            self.list.freed = false;
        }
        "OK".into()
    }

    fn is_fenced(&self, user: &[u8], req: &[u8], t: u64) -> bool {
        let is_it = |fence: &&Fence| fence.user == user && fence.req == req;
        self.fences.iter().find(is_it).is_some_and(|fence| t < fence.at + FENCE_MS)
    }

    fn fence(&mut self, user: &[u8], req: &[u8], now: Moment) {
        if self.is_fenced(user, req, self.time(now)) {
            return;
        }
        self.change(now);
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
