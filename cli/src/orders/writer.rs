//! The statements of the order writer, for any database, and the one transaction that stores
//! entries.
//!
//! Every order is stored exactly once, because:
//! - `entries` has the unique key (id, epoch, rev), so an entry that is delivered again changes
//!   nothing.
//! - An order moves only to an entry with a greater (epoch, rev), so entries may come in any order.
//! - A number of a numbered sale is one row of `units`, which moves by that rule, so it belongs to
//!   one order.
//! - `epochs` has the first rev of each epoch. An epoch that began at rev R means that Redis lost
//!   all entries of older epochs from R on and continued without them.

use std::collections::{BTreeMap, BTreeSet};

use super::database::{bytes, insert, int, text, Database, Value};
use super::entry::{Entry, Grant};
use super::names::Names;
use super::units;
use crate::connect::Failure;

/// The result of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Entries that the database did not have.
    pub new: u64,
    /// Whether the batch showed that Redis has lost entries.
    pub lost: bool,
}

/// The columns that the statements need, for each table and for the view, beside those of
/// [`ORDER`].
const TABLES: [(&str, &[&str]); 6] = [
    ("sales", &["id", "name", "stream"]),
    ("epochs", &["id", "epoch", "first_rev"]),
    ("entries", &["id", "epoch", "rev", "event", "born", "seq"]),
    ("orders", &["lost"]),
    ("units", &["id", "number", "born", "seq", "state", "epoch", "rev"]),
    ("kept", &["id", "epoch", "rev", "event", "born", "seq"]),
];

/// The value of a column, from an entry, its grant, and the quantity that was asked for.
type Column = fn(&Entry, &Grant, u64) -> Value;

/// The columns of an order that an entry fills.
const ORDER: [(&str, Column); 13] = [
    ("id", |entry, _, _| text(&entry.id)),
    ("born", |_, grant, _| int(grant.born)),
    ("seq", |_, grant, _| int(grant.seq)),
    ("user_id", |_, grant, _| bytes(&grant.user)),
    ("qty", |_, grant, _| int(grant.qty)),
    ("asked", |_, _, asked| int(asked)),
    ("state", |_, grant, _| text(&grant.state)),
    ("at", |_, grant, _| int(grant.at)),
    ("deadline", |_, grant, _| int(grant.deadline)),
    ("req", |_, grant, _| bytes(&grant.req)),
    ("epoch", |entry, _, _| int(entry.epoch)),
    ("rev", |entry, _, _| int(entry.rev)),
    ("units", |_, grant, _| units::text_of(grant)),
];

/// Checks that the tables exist and have our columns, and creates missing tables if allowed. If a
/// table of another kind has such a name, nothing is created.
///
/// # Errors
/// The error of the database; also when a table is missing or not ours.
pub fn prepare(
    database: &mut dyn Database,
    names: &Names,
    may_create: bool,
) -> Result<(), Failure> {
    let mut missing = Vec::new();
    for (table, needed) in TABLES {
        let columns = database.columns(table)?;
        let named = || names.fill(&format!("@{table}"), database.dialect().quote);
        let of_orders = ORDER.iter().filter(|_| table == "orders").map(|(name, _)| name);
        let mut needed = of_orders.chain(needed);
        if columns.is_empty() {
            missing.push(named());
        } else if let Some(lacks) = needed.find(|name| !columns.iter().any(|c| c == *name)) {
            return Err(Failure::lasting(format!(
                "{} is there and is not of seckill orders: it has no column {lacks}. Nothing was \
                 made; choose other names with --table-prefix or --schema",
                named()
            )));
        }
    }
    match missing.first() {
        None => Ok(()),
        Some(_) if may_create => database.run(database.dialect().schema),
        Some(one) => Err(Failure::lasting(format!(
            "there is no {one}: make the tables from what --print-schema prints"
        ))),
    }
}

/// The new epochs that may take back entries of other epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// None: the server may be a failed primary that came back.
    None,
    /// The operator has checked which server is the primary, and names its epoch.
    Epoch(u64),
    /// Any: the server is the primary by Sentinel's or the cluster's word, or there is no other.
    Any,
}

impl Trust {
    /// # Errors
    /// An error message if it is neither an epoch nor `any`.
    pub fn read(word: &str) -> Result<Trust, String> {
        match word {
            "any" => Ok(Trust::Any),
            number => number.parse().map(Trust::Epoch).map_err(|_| "an epoch, or any".into()),
        }
    }

    fn includes(self, epoch: u64) -> bool {
        match self {
            Trust::None => false,
            Trust::Epoch(named) => named == epoch,
            Trust::Any => true,
        }
    }
}

/// Stores all `entries` of a stream in one transaction.
///
/// # Errors
/// The database's error. Then nothing is written, unless the connection broke during the commit:
/// the caller writes these entries again. Also an error if a new epoch that is not trusted takes
/// back entries that the database has.
pub fn write(
    database: &mut dyn Database,
    stream: &[u8],
    entries: &[Entry],
    trust: Trust,
) -> Result<Written, Failure> {
    database.run(database.dialect().begin)?;
    let written = take_in(database, stream, entries, trust)?;
    database.run("COMMIT")?;
    Ok(written)
}

fn take_in(
    database: &mut dyn Database,
    stream: &[u8],
    entries: &[Entry],
    trust: Trust,
) -> Result<Written, Failure> {
    let dialect = database.dialect();
    // Every transaction takes these locks first, in the order of the ids. So two writers never
    // judge one sale together, and never deadlock.
    let sales: BTreeMap<&str, &[u8]> =
        entries.iter().map(|entry| (entry.id.as_str(), entry.sale.as_slice())).collect();
    let rows = sales.iter().map(|(id, name)| vec![text(id), bytes(name), bytes(stream)]);
    insert(database, "@sales (id, name, stream)", rows, dialect.name_sale)?;

    let mut doubted = Vec::new();
    for (id, name) in &sales {
        let epochs = Epochs::of(database, id, entries)?;
        epochs.is_one_history(id, name, trust)?;
        if !epochs.new.is_empty() {
            epochs.judge(database, id, name, trust)?;
            epochs.store(database, id)?;
        }
        if !epochs.new.is_empty() || epochs.has_old {
            doubted.push(*id);
        }
    }
    let columns = "@entries (id, epoch, rev, event, born, seq)";
    let new = insert(database, columns, entries.iter().map(row_of), dialect.take_in)?;
    move_orders(database, entries)?;
    units::follow(database, entries)?;
    let mut lost = 0;
    for id in doubted {
        lost += change(database, MARK_LOST, id)?;
        change(database, CLOSE_HELD, id)?;
        change(database, units::FREE_CLOSED, id)?;
    }
    Ok(Written { new, lost: lost > 0 })
}

/// The epochs of one sale.
struct Epochs {
    /// Epochs that the database knows, each with its first rev.
    known: BTreeMap<u64, u64>,
    /// Epochs of the batch that begin earlier than the database knows: first and last rev.
    new: BTreeMap<u64, (u64, u64)>,
    /// All epochs of the batch, in the same way.
    seen: BTreeMap<u64, (u64, u64)>,
    /// The batch has entries of an epoch that is over.
    has_old: bool,
}

impl Epochs {
    fn of(database: &mut dyn Database, id: &str, batch: &[Entry]) -> Result<Epochs, Failure> {
        let asked = "SELECT epoch, first_rev FROM @epochs WHERE id = ";
        let asked = format!("{asked}{}", (database.dialect().place)(1));
        let rows = database.rows(&asked, &[text(id)])?;
        let known: BTreeMap<u64, u64> = rows
            .into_iter()
            .filter_map(|row| <[Value; 2]>::try_from(row).ok())
            .map(|[epoch, first]| (epoch.number(), first.number()))
            .collect();
        let mut seen: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for Entry { epoch, rev, .. } in batch.iter().filter(|entry| entry.id == id) {
            let (first, last) = seen.entry(*epoch).or_insert((*rev, *rev));
            (*first, *last) = ((*first).min(*rev), (*last).max(*rev));
        }
        let newest = known.keys().chain(seen.keys()).max().copied();
        let has_old = seen.keys().any(|epoch| Some(*epoch) != newest);
        let is_new = |epoch: &u64, first: u64| known.get(epoch).is_none_or(|known| first < *known);
        let mut new = seen.clone();
        new.retain(|epoch, (first, _)| is_new(epoch, *first));
        Ok(Epochs { known, new, seen, has_old })
    }

    /// The epoch that the operator trusts must end before a greater one begins, as in any history.
    /// If it goes on, the greater one is of an old primary that came back and was read before. What
    /// that one wrote is newer by number and would hide what this server says.
    ///
    /// # Errors
    /// If the trusted epoch goes on.
    fn is_one_history(&self, id: &str, name: &[u8], trust: Trust) -> Result<(), Failure> {
        let Trust::Epoch(named) = trust else { return Ok(()) };
        let Some((_, last)) = self.seen.get(&named) else { return Ok(()) };
        let Some((other, from)) = self.known.range(named + 1..).find(|(_, from)| *from <= last)
        else {
            return Ok(());
        };
        let name = String::from_utf8_lossy(name);
        Err(Failure::lasting(format!(
            "epoch {named} of sale {name} ({id}) is trusted and goes on to rev {last}, but the \
             database has epoch {other} from rev {from} on, of another server that was read \
             before. Nothing more is written. Keep a copy of the sale's rows, delete them, and \
             read the stream again with a new --group: see orders.md"
        )))
    }

    /// Called for a new epoch whose first rev lies before entries of another epoch. Either Redis
    /// has lost entries, or the server is a failed primary that came back, and nothing is lost.
    fn judge(
        &self,
        database: &mut dyn Database,
        id: &str,
        name: &[u8],
        trust: Trust,
    ) -> Result<(), Failure> {
        let place = database.dialect().place;
        for (epoch, (first, last)) in &self.new {
            if trust.includes(*epoch) {
                continue;
            }
            let asked = format!(
                "SELECT epoch, rev FROM @kept WHERE id = {} AND epoch < {} AND rev >= {}
                ORDER BY rev DESC LIMIT 1",
                place(1),
                place(2),
                place(3)
            );
            let rows = database.rows(&asked, &[text(id), int(*epoch), int(*first)])?;
            let taken_back = rows.first().and_then(|row| Some((row.first()?, row.get(1)?)));
            let taken_back = taken_back.map(|(epoch, rev)| (epoch.number(), rev.number()));
            // The other case: this epoch is older, and a newer one has lost some of its entries.
            let is_unknown = !self.known.contains_key(epoch);
            let newer = self.known.range(epoch + 1..).find(|(_, from)| is_unknown && *from <= last);
            let newer = newer.map(|(newer, from)| (*newer, *from));
            if let Some((other, rev)) = taken_back.or(newer) {
                let name = String::from_utf8_lossy(name);
                return Err(Failure::lasting(format!(
                    "the server's epoch {epoch} of sale {name} ({id}) begins at rev {first}, but \
                     the database has rev {rev} of epoch {other}. Either Redis has lost what came \
                     between, or this is an old primary that came back, and nothing is lost. \
                     Nothing of it is written. With --sentinel it is known which server is the \
                     primary; if it is surely this one, start again with --trust-epoch {epoch}"
                )));
            }
        }
        Ok(())
    }

    fn store(&self, database: &mut dyn Database, id: &str) -> Result<(), Failure> {
        let rows = self.new.iter();
        let rows = rows.map(|(epoch, (first, _))| vec![text(id), int(*epoch), int(*first)]);
        let tail = database.dialect().store_epoch;
        insert(database, "@epochs (id, epoch, first_rev)", rows, tail).map(drop)
    }
}

/// The newest entry of each order of a batch, by id, born and seq, with its grant and the quantity
/// that was asked for.
type Newest<'e> = BTreeMap<(&'e str, u64, u64), (&'e Entry, &'e Grant, u64)>;

/// Each order of the batch once, as its newest entry has it: no statement may move a row twice.
fn move_orders(database: &mut dyn Database, entries: &[Entry]) -> Result<(), Failure> {
    let mut newest = Newest::new();
    for entry in entries {
        let Some(grant) = &entry.grant else { continue };
        let had = grant.qty + grant.returned;
        let place = newest.entry((&entry.id, grant.born, grant.seq)).or_insert((entry, grant, had));
        let asked = place.2.max(had);
        if (entry.epoch, entry.rev) > (place.0.epoch, place.0.rev) {
            (place.0, place.1) = (entry, grant);
        }
        place.2 = asked;
    }
    for order in paid(database, &newest)? {
        newest.remove(&order);
    }
    if newest.is_empty() {
        return Ok(());
    }
    let rows = newest.into_values().map(|(entry, grant, asked)| {
        ORDER.iter().map(|(_, value)| value(entry, grant, asked)).collect()
    });
    let columns = format!("@orders ({})", ORDER.map(|(name, _)| name).join(", "));
    let tail = database.dialect().move_order;
    insert(database, &columns, rows, tail).map(drop)
}

/// Orders of the batch that are HELD or expire in a newer epoch than the one that sold them. In one
/// history no paid order becomes HELD or expires, so Redis has lost the payment, and the hold was
/// extended or ran out before it was given back. The order stays SOLD, and so it is lost and
/// repaired. A RECLAIM that was refused is another event: that money is refunded.
fn paid<'e>(
    database: &mut dyn Database,
    newest: &Newest<'e>,
) -> Result<Vec<(&'e str, u64, u64)>, Failure> {
    let mut unpaid: BTreeMap<&'e str, BTreeSet<(u64, u64)>> = BTreeMap::new();
    for ((id, born, seq), (entry, grant, _)) in newest {
        if entry.epoch > *born && (entry.event == "EXPIRE" || grant.state == "HELD") {
            unpaid.entry(id).or_default().insert((*born, *seq));
        }
    }
    let mut paid = Vec::new();
    for (id, orders) in unpaid {
        let (these, values) = units::these(database, id, orders);
        let asked =
            format!("SELECT born, seq, epoch FROM @orders WHERE state = 'SOLD' AND {these}");
        for row in database.rows(&asked, &values)? {
            let Ok([born, seq, epoch]) = <[Value; 3]>::try_from(row) else { continue };
            let order = (id, born.number(), seq.number());
            let later = newest.get(&order).filter(|(entry, ..)| entry.epoch > epoch.number());
            paid.extend(later.map(|_| order));
        }
    }
    Ok(paid)
}

fn row_of(Entry { event, id, epoch, rev, grant, .. }: &Entry) -> Vec<Value> {
    let of_grant =
        |number: fn(&Grant) -> u64| grant.as_ref().map_or(Value::Null, |grant| int(number(grant)));
    let (born, seq) = (of_grant(|grant| grant.born), of_grant(|grant| grant.seq));
    vec![text(id), int(*epoch), int(*rev), text(event), born, seq]
}

/// Executes a statement whose parameter is the id of the sale.
fn change(database: &mut dyn Database, statement: &str, id: &str) -> Result<u64, Failure> {
    let statement = statement.replace(":id", &(database.dialect().place)(1));
    database.change(&statement, &[text(id)])
}

/// An order is lost if its last known entry is lost.
const MARK_LOST: &str = "UPDATE @orders AS o SET lost = TRUE
    WHERE o.id = :id AND o.lost = FALSE AND EXISTS (SELECT 1 FROM @epochs AS p
        WHERE p.id = o.id AND p.epoch > o.epoch AND p.first_rev <= o.rev)";

/// Closes holds that Redis has lost. These holds were not paid, and their units are free.
const CLOSE_HELD: &str = "UPDATE @orders AS o SET state = 'CLOSED', deadline = 0
    WHERE o.id = :id AND o.lost = TRUE AND o.state = 'HELD' AND NOT EXISTS (
        SELECT 1 FROM @kept AS k WHERE k.id = o.id AND k.born = o.born AND k.seq = o.seq)";
