//! Reads sales and orders in a form that is equal in every run.

use serde_json::Value;

use super::client::Conn;
use super::reply::{Reply, MOMENTS};
use super::server::Server;
use super::wait::wait_until;

/// The counters of a sale that are not 0.
#[track_caller]
pub fn counters(conn: &mut Conn, key: &str) -> String {
    let counters = conn.cmd(&format!("SECKILL.STATUS {key}")).field("counters");
    let counters = counters.pairs().into_iter().filter(|(_, number)| number.int() != 0);
    counters.map(|(name, number)| format!("{name} {number}")).collect::<Vec<_>>().join(" ")
}

#[track_caller]
pub fn number(conn: &mut Conn, key: &str, field: &str) -> i64 {
    conn.cmd(&format!("SECKILL.STATUS {key}")).field(field).int()
}

#[track_caller]
pub fn counter(conn: &mut Conn, key: &str, name: &str) -> i64 {
    conn.cmd(&format!("SECKILL.STATUS {key}")).field("counters").field(name).int()
}

/// Waits until the server's clock has come to `moment`.
#[track_caller]
pub fn wait_for_clock(conn: &mut Conn, moment: i64) {
    wait_until("the clock comes to the moment", || conn.clock_ms() >= moment);
}

/// Waits until a sale has no holds. Only reads that expire nothing are used.
#[track_caller]
pub fn wait_for_no_holds(server: &Server, key: &str) {
    let mut conn = server.conn();
    wait_until(&format!("{key} has no holds"), || number(&mut conn, key, "held") == 0);
}

/// The stored state of the user's newest grant.
#[track_caller]
pub fn state_of(conn: &mut Conn, key: &str, user: &str) -> String {
    let rows = conn.cmd(&format!("SECKILL.USER {key} {user}")).items()[2].clone();
    rows.items().first().map_or_else(String::new, |row| row.items()[3].text())
}

/// An entry of an outbox: its id, its fields in order, and its parsed data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: String,
    pub fields: Vec<(String, String)>,
    data: Value,
}

impl Entry {
    /// Whether the entry has a field, or a key in its data, of this name.
    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(field, _)| field == name) || self.data.get(name).is_some()
    }

    /// The field of this name, or the string of this name in its data.
    #[track_caller]
    pub fn text(&self, name: &str) -> &str {
        let field = self.fields.iter().find(|(field, _)| field == name);
        let value = field.map(|(_, value)| value.as_str());
        let value = value.or_else(|| self.data.get(name)?.as_str());
        value.unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    /// The number of this name in its data.
    #[track_caller]
    pub fn number(&self, name: &str) -> i64 {
        let number = self.data.get(name).and_then(Value::as_i64);
        number.unwrap_or_else(|| panic!("no number {name} in {self:?}"))
    }

    /// `name=value` for each field, with `T` for times, `ID` for the sale's id, and no quotes in
    /// the data.
    pub fn line(&self) -> String {
        let shown = |(name, value): &(String, String)| match name.as_str() {
            "data" => format!("data={}", self.shown_data(value)),
            _ => format!("{name}={value}"),
        };
        self.fields.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    fn shown_data(&self, data: &str) -> String {
        let data = data.replace(self.text("id"), "ID");
        let words = data.split_inclusive([',', ':', '}']).map(|word| {
            let bare = word.trim_end_matches([',', ':', '}']);
            match bare.parse::<u64>() {
                Ok(number) if MOMENTS.contains(&number) => word.replace(bare, "T"),
                _ => word.replace('"', ""),
            }
        });
        words.collect()
    }
}

#[track_caller]
pub fn entries(conn: &mut Conn, stream: &str) -> Vec<Entry> {
    let all = conn.cmd(&format!("XRANGE {stream} - +"));
    all.items().iter().map(entry).collect()
}

/// Parses an entry of a reply of XRANGE or XREAD.
#[track_caller]
pub fn entry(reply: &Reply) -> Entry {
    let fields = reply.items()[1].pairs().into_iter().map(|(name, value)| (name, value.text()));
    let fields: Vec<(String, String)> = fields.collect();
    let data = fields.iter().find(|(name, _)| name == "data").map(|(_, data)| data.as_str());
    let data = serde_json::from_str(data.unwrap_or("{}")).expect("JSON");
    Entry { id: reply.items()[0].text(), fields, data }
}

#[track_caller]
pub fn events(conn: &mut Conn, stream: &str) -> Vec<String> {
    entries(conn, stream).iter().map(|entry| entry.text("event").to_owned()).collect()
}

/// Checks the rules of the outbox of one sale: consecutive revs, epochs and T that never decrease,
/// and the law of units in every entry.
#[track_caller]
pub fn assert_whole(entries: &[Entry]) {
    for (before, after) in entries.iter().zip(entries.iter().skip(1)) {
        assert_eq!(after.number("rev"), before.number("rev") + 1, "{before:?} {after:?}");
        assert!(after.number("epoch") >= before.number("epoch"), "{before:?} {after:?}");
        assert!(after.number("t") >= before.number("t"), "{before:?} {after:?}");
    }
    for entry in entries {
        let [supply, available, held, sold] =
            ["supply", "available", "held", "sold"].map(|name| entry.number(name));
        assert_eq!(supply, available + held + sold, "{entry:?}");
    }
}
