//! What happened, in order, and what the outbox is told of it.

use super::{Gates, Oracle};

/// The name of the sale's key, and its id as it is shown.
pub const KEY: &str = "k";
const ID: &str = "000000000000004d";

impl Oracle {
    /// What the last command made happen, in order; the same event several times in a row once.
    pub fn events(&self) -> Vec<&'static str> {
        let mut events = self.events.clone();
        events.dedup();
        events
    }

    /// The entries that the last command wrote: names and values, bytes escaped.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// An event that is told with nothing but the numbers.
    pub(super) fn happen(&mut self, event: &'static str) {
        self.happen_with(event, String::new());
    }

    /// An event of a grant, as it stands after it.
    pub(super) fn happen_to(&mut self, seq: u64, event: &'static str) {
        let row = self.row(seq).clone();
        let fields = format!(
            " seq={} user={} qty={} state={} at={} deadline={} req={} born={} round={}",
            row.seq,
            row.user.escape_ascii(),
            row.qty,
            row.state,
            row.at,
            row.deadline,
            row.req.as_deref().unwrap_or_default().escape_ascii(),
            row.epoch,
            row.round
        );
        if row.round == self.round {
            return self.happen_with(event, fields);
        }
        // An older round has numbers of its own, and its stock is nobody's news.
        *self.tallies.entry(event).or_default() += 1;
        self.tell(row.round, event, &fields);
    }

    /// An event that is told with the terms.
    pub(super) fn happen_with_terms(&mut self, event: &'static str) {
        let rules = &self.rules;
        let mut fields = format!(
            " limit={} grabs={} hold_ms={} open_at={} close_at={} outbox={}",
            rules.limit,
            rules.grabs,
            rules.hold_ms,
            rules.open_at,
            rules.close_at,
            rules.outbox.map(String::from).unwrap_or_default()
        );
        fields += &rules.drawing.text();
        if let Some(every) = rules.every {
            fields += &format!(
                " every_ms={} offset_ms={} lasts_ms={} carry={}",
                every.period,
                every.offset,
                every.lasts,
                u64::from(every.carry)
            );
        }
        let gates = &rules.gates;
        if *gates != Gates::default() {
            fields += &format!(
                " allowlist={} mod={} sample={} admit={} mask={}",
                u64::from(gates.allowlist),
                gates.modulo.map_or(0, |(modulus, _)| modulus),
                gates.sample.map_or(1000, |(permille, _)| permille),
                gates.admit,
                u64::from(gates.mask)
            );
        }
        self.happen_with(event, fields);
    }

    /// An event, and the transition that it caused.
    pub(super) fn happen_with(&mut self, event: &'static str, fields: String) {
        *self.tallies.entry(event).or_default() += 1;
        self.tell(self.round, event, &fields);
        let stock = match (self.available(), self.units("HELD")) {
            (0, 0) => "SOLDOUT",
            (0, _) => "ALLHELD",
            _ => "AVAILABLE",
        };
        if stock != self.stock {
            self.stock = stock;
            self.tell(self.round, stock, "");
        }
    }

    fn tell(&mut self, round: u64, event: &'static str, fields: &str) {
        self.events.push(event);
        if self.rules.outbox.is_none() {
            return;
        }
        self.rev += 1;
        self.entries.push(format!(
            "event={event} sale={KEY} id={ID} epoch={} rev={} t={} supply={} available={} held={} \
             sold={}{fields}",
            self.epoch,
            self.rev,
            self.t,
            self.supply_in(round),
            self.available_in(round),
            self.units_in(round, "HELD"),
            self.units_in(round, "SOLD")
        ));
    }
}
