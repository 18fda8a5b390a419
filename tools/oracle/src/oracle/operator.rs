//! The operator's commands.

use super::entries::number;
use super::{
    Bytes, Moment, Oracle, Patch, Restocked, Row, Rules, INTEGER_MAX, LEFT, RESTOCKS_KNOWN,
};

impl Oracle {
    pub(super) fn init_again(&self, supply: u64, rules: Rules) -> String {
        match (supply, rules) {
            _ if rules.refusal_of(supply).is_some() => {
                rules.refusal_of(supply).unwrap_or_default().into()
            }
            same if same == self.told => "OK".into(),
            _ => "SALEEXISTS".into(),
        }
    }

    pub(super) fn restock(&mut self, delta: i64, req: &[u8], now: Moment) -> String {
        if self.rules.drawing.packets().is_some() {
            return "ERR fixed".into();
        }
        let known = self.restocks.iter().rev().take(RESTOCKS_KNOWN);
        if let Some(restock) = known.clone().find(|restock| restock.req == req) {
            return match restock.delta == delta {
                true => restock.reply.clone(),
                false => "REQMISMATCH".into(),
            };
        }
        if self.rules.numbered && delta < 0 {
            return "ERR negative".into();
        }
        let size = delta.unsigned_abs();
        let applied = if delta > 0 {
            let paid = size.min(self.deficit);
            if self.supply + (size - paid) > INTEGER_MAX || !self.has_room_for(delta) {
                return "ERR supply".into();
            }
            if !Oracle::fits_numbers(self.supply + size, self.rules.numbered) {
                return "ERR numbers".into();
            }
            self.deficit -= paid;
            self.supply += size - paid;
            delta
        } else {
            let withdrawn = size.min(self.available());
            self.supply -= withdrawn;
            -(withdrawn as i64)
        };
        self.change(now);
        self.list.freed = true;
        self.base = self.base.saturating_add_signed(applied);
        self.put_in(applied);
        let reply = format!("{applied} {LEFT}");
        self.restocks.push(Restocked { req: req.to_vec(), delta, reply: reply.clone() });
        let data = number("delta", delta) + &number("applied", applied);
        self.emit_with("RESTOCK", data, format!(" req={}", req.escape_ascii()));
        reply
    }

    pub(super) fn pause(&mut self, paused: bool, now: Moment) -> String {
        if self.paused != paused {
            self.paused = paused;
            self.change(now);
            self.emit(if paused { "PAUSE" } else { "RESUME" });
        }
        "OK".into()
    }

    pub(super) fn alter(&mut self, patch: &Patch, now: Moment) -> String {
        let old = self.rules;
        let new = Rules { list: self.list_after(&patch.list), ..old.after(patch) };
        if old.outbox.is_some() && new.outbox != old.outbox {
            return "ERR outbox".into();
        }
        if let Some(refusal) = new.refusal() {
            return refusal.into();
        }
        let offer_ms = new.list.map_or(0, |list| list.offer_ms);
        if self.somebody_waits() && offer_ms == 0 && new.hold_ms == 0 {
            return "ERR list".into();
        }
        if new != old {
            self.rules = new;
            self.change(now);
            self.emit_terms("ALTER");
        }
        "OK".into()
    }

    pub(super) fn import(
        &mut self,
        user: &[u8],
        qty: u64,
        req: &Bytes,
        at: Option<u64>,
        no_deficit: bool,
        now: Moment,
    ) -> String {
        let units = &self.wished();
        if self.rules.drawing.packets().is_some() {
            return "ERR fixed".into();
        }
        if self.rules.every.is_some() {
            return "ERR rounds".into();
        }
        if let Some(error) = self.bad_import(units, qty) {
            return error.into();
        }
        let known = self.by_req(user, req).cloned();
        let t = self.time(now);
        if known.is_none() && self.qty_waiting(user, req, t).is_some_and(|waits| waits != qty) {
            return "REQMISMATCH".into();
        }
        let has = match &known {
            Some(row) if !self.repeats_import(row, units, qty) => return "REQMISMATCH".into(),
            Some(row) if matches!(row.state, "SOLD" | "REFUNDED") => return row.shown("REPLAY"),
            Some(row) if row.is_live() => row.qty,
            _ => 0,
        };
        if let Err(refusal) = self.missing(qty.saturating_sub(has), no_deficit) {
            return refusal;
        }
        let units = match self.import_units(units, known.as_ref(), now) {
            Ok(units) => units,
            Err(taken) => return taken,
        };
        if known.is_none() {
            self.drop_own_of(user, req, now);
        }
        if let Some(row) = known {
            // The quantity at the time of the grant; for numbered units the held and the named
            // numbers.
            let qty = if units.is_empty() { qty } else { units.len() as u64 };
            self.cover(qty - has);
            let changed = &mut self.rows[row.seq as usize - 1];
            (changed.qty, changed.units) = (qty, units);
            self.move_to(row.seq, "SOLD", "IMPORT", now);
            return self.row(row.seq).shown("REPLAY");
        }
        self.cover(qty);
        self.change(now);
        let seq = self.rows.len() as u64 + 1;
        self.rows.push(Row {
            seq,
            user: user.to_vec(),
            qty,
            first: qty,
            state: "SOLD",
            at: at.unwrap_or(self.t),
            deadline: 0,
            req: Some(req.clone()),
            asked: "ANY",
            epoch: self.epoch,
            round: self.round,
            refused: false,
            first_units: units.clone(),
            units,
        });
        self.emit_for(seq, "IMPORT");
        self.list.freed = true;
        self.leave_paid(user, req);
        format!("{} {LEFT}", self.row(seq).shown("GRANTED"))
    }

    /// The missing units, if a deficit is allowed and can be counted.
    fn missing(&self, qty: u64, no_deficit: bool) -> Result<u64, String> {
        let available = self.available();
        let missing = qty.saturating_sub(available);
        if missing > 0 && no_deficit {
            return Err(format!("SHORT {available}"));
        }
        if self.supply + missing > INTEGER_MAX || self.deficit + missing > INTEGER_MAX {
            return Err("ERR supply".into());
        }
        Ok(missing)
    }

    /// Adds missing units to the deficit.
    fn cover(&mut self, qty: u64) {
        let missing = qty.saturating_sub(self.available());
        self.supply += missing;
        self.deficit += missing;
    }
}
