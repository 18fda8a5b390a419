//! Tells the sale anew from its outbox alone, by the rules of the contract and not by the server's
//! numbers: who has what after each entry. The first entry that can't follow the one before it is
//! a violation.

use std::collections::HashMap;

use crate::history::{Entry, Evidence, Row, State, Stock, Terms};

/// What the outbox says has happened.
#[derive(Debug, Default)]
pub struct Story {
    /// What was so after each entry; the first is that of rev 1.
    pub moments: Vec<Moment>,
    /// Grants in order of seq, from seq 1 on.
    pub tales: Vec<Tale>,
    /// The seq of each (user, REQ).
    pub orders: HashMap<(String, String), u64>,
    /// The rev of each restock, by its REQ.
    pub restocks: HashMap<String, u64>,
    users: HashMap<String, Live>,
    epoch: u64,
    paused: bool,
    stock: Stock,
}

/// What was so after an entry.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub stock: Stock,
    pub paused: bool,
    /// By how much a restock changed the supply, else 0.
    pub applied: i64,
}

/// The life of one grant.
#[derive(Clone, Debug)]
pub struct Tale {
    /// As it stands now.
    pub row: Row,
    pub steps: Vec<Step>,
}

/// An entry about a grant, and the grant after it.
#[derive(Clone, Debug)]
pub struct Step {
    pub rev: u64,
    pub epoch: u64,
    pub event: String,
    pub state: State,
    pub deadline: u64,
}

/// What a user has.
#[derive(Clone, Copy, Debug, Default)]
struct Live {
    units: u64,
    grants: u64,
}

type Told = Result<(), String>;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Told {
    if holds {
        Ok(())
    } else {
        Err(what())
    }
}

impl Story {
    /// Tells all entries.
    ///
    /// # Errors
    /// The first thing that can't be, as a sentence with its rev.
    pub fn of(evidence: &Evidence) -> Result<Story, String> {
        let mut story = Story::default();
        for entry in &evidence.entries {
            let told = story.tell(entry, evidence);
            told.map_err(|why| format!("{why} Entry: {entry:?}"))?;
        }
        story.ends_as(evidence)?;
        Ok(story)
    }

    fn tell(&mut self, entry: &Entry, evidence: &Evidence) -> Told {
        let rev = self.moments.len() as u64 + 1;
        ensure(entry.rev == rev, || format!("The outbox has a gap: rev {rev} should come."))?;
        ensure(entry.id == evidence.id, || "An entry of another sale is in the outbox.".into())?;
        ensure(entry.epoch >= self.epoch, || "The epoch went back.".into())?;
        self.epoch = entry.epoch;
        let mut applied = 0;
        match (&entry.grant, &entry.restock) {
            (Some(row), None) => self.grant(entry, row, &evidence.terms)?,
            (None, Some((req, by))) => {
                applied = *by;
                self.restock(rev, req, applied)?;
            }
            _ => self.other(entry, &evidence.terms)?,
        }
        ensure(self.stock == entry.stock, || {
            format!("The units don't add up: by the entries there are {:?}.", self.stock)
        })?;
        self.moments.push(Moment { stock: self.stock, paused: self.paused, applied });
        Ok(())
    }

    /// Entries that are not about a grant.
    fn other(&mut self, entry: &Entry, terms: &Terms) -> Told {
        let Stock { available, held, .. } = self.stock;
        let fits = match entry.event.as_str() {
            "INIT" => {
                self.stock =
                    Stock { supply: terms.supply, available: terms.supply, ..Stock::default() };
                entry.rev == 1
            }
            "PAUSE" => !std::mem::replace(&mut self.paused, true),
            "RESUME" => std::mem::replace(&mut self.paused, false),
            "SOLDOUT" => available == 0 && held == 0,
            "ALLHELD" => available == 0 && held > 0,
            "AVAILABLE" => available > 0,
            _ => false,
        };
        ensure(fits, || format!("{} can't be here.", entry.event))
    }

    fn restock(&mut self, rev: u64, req: &str, applied: i64) -> Told {
        let by = |units: u64| units.checked_add_signed(applied);
        let (supply, available) = (by(self.stock.supply), by(self.stock.available));
        let (Some(supply), Some(available)) = (supply, available) else {
            return Err("A restock takes more than there is.".into());
        };
        self.stock = Stock { supply, available, ..self.stock };
        let twice = self.restocks.insert(req.to_owned(), rev).is_some();
        ensure(!twice, || format!("The restock {req} was made twice."))
    }

    fn grant(&mut self, entry: &Entry, row: &Row, terms: &Terms) -> Told {
        let is_new = entry.event == "GRANT";
        let before = match is_new {
            true => {
                self.begin(entry, row, terms)?;
                None
            }
            false => Some(self.known(row)?.clone()),
        };
        follows(entry, row, before.as_ref())?;
        self.transfer(row.qty, before.map(|before| before.state), row.state)?;
        let was_live = before_is_live(self.tales.get(row.seq as usize - 1), is_new);
        self.count(row, was_live, terms)?;
        let step = Step {
            rev: entry.rev,
            epoch: entry.epoch,
            event: entry.event.clone(),
            state: row.state,
            deadline: row.deadline,
        };
        let tale = &mut self.tales[row.seq as usize - 1];
        tale.row = row.clone();
        tale.steps.push(step);
        Ok(())
    }

    /// A grant that was not there before.
    fn begin(&mut self, entry: &Entry, row: &Row, terms: &Terms) -> Told {
        let seq = self.tales.len() as u64 + 1;
        ensure(row.seq == seq, || format!("seq {seq} should come."))?;
        ensure(row.born == entry.epoch, || "A grant of another epoch was made.".into())?;
        ensure(!self.paused, || "A unit was sold during a pause.".into())?;
        let due = if terms.hold_ms == 0 { 0 } else { row.at + terms.hold_ms };
        ensure(row.deadline == due, || format!("The deadline should be {due}."))?;
        let twice = self.orders.insert((row.user.clone(), row.req.clone()), seq).is_some();
        ensure(!twice, || format!("DOUBLED: {} was granted {} twice.", row.user, row.req))?;
        self.tales.push(Tale { row: row.clone(), steps: Vec::new() });
        Ok(())
    }

    /// The grant as it stood, if the entry is about the same one.
    fn known(&self, row: &Row) -> Result<&Row, String> {
        let known = self.tales.get((row.seq as usize).wrapping_sub(1)).map(|tale| &tale.row);
        let known = known.ok_or("An entry about a grant that was never made.")?;
        let same = Row { state: row.state, deadline: row.deadline, ..known.clone() } == *row;
        if same {
            Ok(known)
        } else {
            Err(format!("The grant was another one: {known:?}."))
        }
    }

    fn transfer(&mut self, qty: u64, from: Option<State>, to: State) -> Told {
        let short = || format!("OVERSOLD: {qty} units are not there, only {:?}.", self.stock);
        if !to.is_live() && !from.is_some_and(State::is_live) {
            // Refused for good: the units were back before.
            return Ok(());
        }
        let mut stock = self.stock;
        let from = match from {
            Some(State::Held) => &mut stock.held,
            Some(State::Sold) => &mut stock.sold,
            _ => &mut stock.available,
        };
        *from = from.checked_sub(qty).ok_or_else(short)?;
        match to {
            State::Held => stock.held += qty,
            State::Sold => stock.sold += qty,
            _ => stock.available += qty,
        }
        self.stock = stock;
        Ok(())
    }

    /// What the user has now; more than the limit only if it was not this entry that gave it.
    fn count(&mut self, row: &Row, was_live: bool, terms: &Terms) -> Told {
        let live = self.users.entry(row.user.clone()).or_default();
        match (was_live, row.state.is_live()) {
            (false, true) => (live.units, live.grants) = (live.units + row.qty, live.grants + 1),
            (true, false) => (live.units, live.grants) = (live.units - row.qty, live.grants - 1),
            _ => return Ok(()),
        }
        let units = terms.limit == 0 || live.units <= terms.limit;
        let grants = terms.grabs == 0 || live.grants <= terms.grabs;
        ensure(units && grants, || format!("OVER THE LIMIT: {} has {live:?}.", row.user))
    }

    /// The server shows what its outbox says.
    fn ends_as(&self, evidence: &Evidence) -> Told {
        let (told, rev) = (self.moments.len() as u64, evidence.rev);
        ensure(told == rev, || format!("STATUS is at rev {rev}, the outbox ends at {told}."))?;
        ensure(self.stock == evidence.stock, || {
            format!("STATUS says {:?}, the outbox {:?}.", evidence.stock, self.stock)
        })?;
        for (i, tale) in self.tales.iter().enumerate() {
            let listed = evidence.rows.get(i);
            ensure(listed == Some(&tale.row), || {
                format!("WINNERS has {listed:?}, the outbox {:?}.", tale.row)
            })?;
        }
        let more = evidence.rows.get(self.tales.len());
        ensure(more.is_none(), || format!("WINNERS has {more:?}, the outbox does not."))
    }
}

fn before_is_live(tale: Option<&Tale>, is_new: bool) -> bool {
    !is_new && tale.is_some_and(|tale| tale.row.state.is_live())
}

/// Whether the event may happen to a grant that stands so, and leaves it as the entry says.
fn follows(entry: &Entry, row: &Row, before: Option<&Row>) -> Told {
    use State::{Cancelled, Expired, Held, Refunded, Sold};
    let (from, due) = before.map_or((None, 0), |row| (Some(row.state), row.deadline));
    let in_time = entry.t < due;
    let fits = match (entry.event.as_str(), from, row.state) {
        ("GRANT", None, Held) => row.deadline > entry.t,
        ("GRANT", None, Sold) => true,
        ("CONFIRM", Some(Held), Sold) | ("CANCEL", Some(Held), Cancelled) => in_time,
        ("EXTEND", Some(Held), Held) => in_time && row.deadline > due,
        ("EXPIRE", Some(Held), Expired) => !in_time,
        ("RECLAIM", Some(Expired), Sold) | ("REFUND", Some(Sold), Refunded) => true,
        ("RECLAIM-REFUSED", Some(Expired), Expired) => true,
        _ => false,
    };
    let event = &entry.event;
    ensure(fits, || format!("{event} can't make {before:?} a grant that is {:?}.", row.state))
}
