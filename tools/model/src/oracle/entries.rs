//! The events of a sale in order, and their outbox entries.

use std::fmt::Display;

use super::Oracle;

/// The name of the sale's key, and its id as text.
pub const KEY: &str = "k";
const ID: &str = "000000000000004d";

impl Oracle {
    /// Events of the last command in order. Repeated events in a row appear once.
    pub fn events(&self) -> Vec<&'static str> {
        let mut events = self.events.clone();
        events.dedup();
        events
    }

    /// Emits an event of a grant, with the grant's state after it.
    pub(super) fn emit_for(&mut self, seq: u64, event: &'static str) {
        self.emit_for_with(seq, event, String::new());
    }

    /// Emits an event with more fields.
    pub(super) fn emit_for_with(&mut self, seq: u64, event: &'static str, more: String) {
        let row = self.row(seq).clone();
        let mut data = number("seq", row.seq) + &number("qty", row.qty);
        data += &format!(",\"state\":\"{}\"", row.state);
        data += &number("at", row.at);
        data += &unless_0("deadline", row.deadline);
        data += &unless_0("round", row.round);
        data += &number("born", row.epoch);
        data += &more;
        if self.rules.numbered {
            data += &format!(",\"units\":{:?}", row.units).replace(' ', "");
        }
        let mut raw = format!(" user={}", row.user.escape_ascii());
        if let Some(req) = &row.req {
            raw += &format!(" req={}", req.escape_ascii());
        }
        if row.round == self.round {
            return self.emit_with(event, data, raw);
        }
        // The entry of an older round has that round's numbers; the stock state stays.
        self.tell(row.round, event, &data, &raw);
    }

    /// Emits an event, and the stock transition that it causes. `data` follows the sale's numbers.
    pub(super) fn emit_with(&mut self, event: &'static str, data: String, raw: String) {
        self.tell(self.round, event, &data, &raw);
        // With a waiting list the transition is emitted at the end of the step.
        if self.rules.list.is_none() {
            self.notice_stock();
        }
    }

    /// The stock state: `AVAILABLE`, `ALLHELD` or `SOLDOUT`.
    pub(super) fn stock_now(&self) -> &'static str {
        match (self.available(), self.may_come_back()) {
            _ if self.somebody_waits() => "ALLHELD",
            (0, 0) => "SOLDOUT",
            (0, _) => "ALLHELD",
            _ => "AVAILABLE",
        }
    }

    /// Emits a stock transition if the stock state has changed.
    pub(super) fn notice_stock(&mut self) {
        let stock = self.stock_now();
        if stock != self.stock {
            self.stock = stock;
            self.tell(self.round, stock, "", "");
        }
    }

    fn tell(&mut self, round: u64, event: &'static str, data: &str, raw: &str) {
        *self.tallies.entry(event).or_default() += 1;
        self.events.push(event);
        if self.rules.outbox.is_none() {
            return;
        }
        self.rev += 1;
        let numbers = [
            ("epoch", self.epoch),
            ("rev", self.rev),
            ("t", self.t),
            ("supply", self.supply_in(round)),
            ("available", self.available_in(round)),
            ("held", self.units_in(round, "HELD")),
            ("sold", self.units_in(round, "SOLD")),
        ];
        let numbers: String = numbers.map(|(name, value)| number(name, value)).concat();
        let data = format!("{{\"id\":\"{ID}\"{numbers}{data}}}");
        self.entries.push(format!("event={event} sale={KEY} data={data}{raw}"));
    }
}

/// A number field that is not the first of its object.
pub(super) fn number(name: &str, value: impl Display) -> String {
    format!(",\"{name}\":{value}")
}

/// A number field that is left out when it is 0.
pub(super) fn unless_0(name: &str, value: u64) -> String {
    match value {
        0 => String::new(),
        _ => number(name, value),
    }
}
