//! The operator's commands.

use super::entries::number;
use super::units::UNITS_MAX;
use super::waitlist::Entry;
use super::{
    Bytes, Oracle, Patch, Reply, Restocked, Row, Rules, INTEGER_MAX, LEFT, RESTOCKS_KNOWN,
};

impl Oracle {
    pub(super) fn init_again(&self, supply: u64, rules: Rules) -> Reply {
        rules.check_init(supply)?;
        Ok(if (supply, rules) == self.told { "OK" } else { "SALEEXISTS" }.into())
    }

    pub(super) fn restock(&mut self, delta: i64, req: &[u8]) -> Reply {
        if self.rules.drawing.packets().is_some() {
            return Err("ERR fixed".into());
        }
        let known = self.restocks.iter().rev().take(RESTOCKS_KNOWN);
        if let Some(restock) = known.clone().find(|restock| restock.req == req) {
            return match restock.delta == delta {
                true => Ok(restock.reply.clone()),
                false => Err("REQMISMATCH".into()),
            };
        }
        if self.rules.numbered && delta < 0 {
            return Err("ERR negative".into());
        }
        let size = delta.unsigned_abs();
        let applied = if delta > 0 {
            let paid = size.min(self.deficit);
            let has_room =
                self.rules.part.is_none() || self.moves.put_in + delta <= INTEGER_MAX as i64;
            if self.supply + (size - paid) > INTEGER_MAX || !has_room {
                return Err("ERR supply".into());
            }
            if self.rules.numbered && self.supply + size > UNITS_MAX {
                return Err("ERR numbers".into());
            }
            self.deficit -= paid;
            self.supply += size - paid;
            delta
        } else {
            let withdrawn = size.min(self.available());
            self.supply -= withdrawn;
            -(withdrawn as i64)
        };
        self.change();
        self.list.freed = true;
        self.base = self.base.saturating_add_signed(applied);
        self.moves.put_in += applied;
        let reply = format!("{applied} {LEFT}");
        self.restocks.push(Restocked { req: req.to_vec(), delta, reply: reply.clone() });
        let data = number("delta", delta) + &number("applied", applied);
        self.emit_with("RESTOCK", data, format!(" req={}", req.escape_ascii()));
        Ok(reply)
    }

    pub(super) fn pause(&mut self, paused: bool) -> Reply {
        if self.paused != paused {
            self.paused = paused;
            self.change();
            let event = if paused { "PAUSE" } else { "RESUME" };
            self.emit_with(event, String::new(), String::new());
        }
        Ok("OK".into())
    }

    pub(super) fn alter(&mut self, patch: &Patch) -> Reply {
        let old = self.rules;
        let new = old.after(patch);
        if old.outbox.is_some() && new.outbox != old.outbox {
            return Err("ERR outbox".into());
        }
        new.check()?;
        let offer_ms = new.list.map_or(0, |list| list.offer_ms);
        if self.somebody_waits() && offer_ms == 0 && new.hold_ms == 0 {
            return Err("ERR list".into());
        }
        if new != old {
            self.rules = new;
            self.change();
            let (data, raw) = new.text();
            self.emit_with("ALTER", data, raw);
        }
        Ok("OK".into())
    }

    pub(super) fn import(
        &mut self,
        user: &[u8],
        qty: u64,
        req: &Bytes,
        at: Option<u64>,
        no_deficit: bool,
    ) -> Reply {
        let units = &self.wished();
        self.check_import(units, qty)?;
        let known = self.by_req(user, req).cloned();
        let is_its = |entry: &&Entry| entry.req == *req;
        let waits = self.waits(user, self.time()).filter(is_its);
        if known.is_none() && waits.is_some_and(|entry| entry.qty != qty) {
            return Err("REQMISMATCH".into());
        }
        if known.as_ref().is_some_and(|row| !self.repeats_import(row, units, qty)) {
            return Err("REQMISMATCH".into());
        }
        let known = known.map(|row| self.without_due_numbers(row));
        let has = match &known {
            Some(row) if matches!(row.state, "SOLD" | "REFUNDED") => return Ok(row.shown("REPLAY")),
            Some(row) if row.is_live() => row.qty,
            _ => 0,
        };
        self.check_missing(qty.saturating_sub(has), no_deficit)?;
        let units = self.import_units(units, known.as_ref())?;
        if let Some(row) = known {
            // The first quantity; with numbered units the held and the named numbers.
            let qty = if units.is_empty() { qty } else { units.len() as u64 };
            self.cover(qty - has);
            let changed = &mut self.rows[row.seq as usize - 1];
            (changed.qty, changed.units) = (qty, units);
            self.move_to(row.seq, "SOLD", "IMPORT");
            return Ok(self.row(row.seq).shown("REPLAY"));
        }
        if self.entry_of(user).is_some_and(|entry| entry.req == *req) {
            self.drop_own(user);
        }
        self.cover(qty);
        self.change();
        let seq = self.add(Row {
            user: user.to_vec(),
            qty,
            state: "SOLD",
            at: at.unwrap_or(self.t),
            req: Some(req.clone()),
            asked: "ANY",
            units,
            ..Row::default()
        });
        self.emit_for(seq, "IMPORT");
        self.list.freed = true;
        if let Some(entry) = self.entry_of(user).filter(is_its).cloned() {
            self.take_off(&entry, "LEAVE", "imported");
        }
        Ok(format!("{} {LEFT}", self.row(seq).shown("GRANTED")))
    }

    /// Fails if units are missing and no deficit is allowed, or none of that size.
    fn check_missing(&self, qty: u64, no_deficit: bool) -> Result<(), String> {
        let available = self.available();
        let missing = qty.saturating_sub(available);
        if missing > 0 && no_deficit {
            return Err(format!("SHORT {available}"));
        }
        if self.supply + missing > INTEGER_MAX || self.deficit + missing > INTEGER_MAX {
            return Err("ERR supply".into());
        }
        Ok(())
    }

    /// Adds missing units to the deficit.
    fn cover(&mut self, qty: u64) {
        let missing = qty.saturating_sub(self.available());
        self.supply += missing;
        self.deficit += missing;
    }
}
