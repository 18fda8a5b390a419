//! Rebuilds the sale from its outbox alone, by the rules of the contract and without the server's
//! numbers. The first entry that can't follow the previous one is a violation.

use std::collections::{BTreeMap, HashMap};

use seckill_model::turns::{ensure, Rule, Turns};

use crate::draws::{Left, Stock};
use crate::history::{Entry, Evidence, Kind, Limits, Row, State, Terms};
use crate::seats::Seats;
use crate::waiting;

/// The history of a sale, from its outbox.
#[derive(Debug, Default)]
pub struct Story<'a> {
    /// The state after each entry, beginning with rev 1.
    pub moments: Vec<Moment>,
    /// Grants in the order of seq, from seq 1 on.
    pub tales: Vec<Tale<'a>>,
    /// The newest seq of each (user, REQ).
    orders: HashMap<(&'a str, &'a str), u64>,
    /// The rev of each restock, by its REQ.
    pub restocks: HashMap<&'a str, u64>,
    /// Who joined the waiting list, by ticket: their epoch, and the number of waiters before them.
    pub joined: HashMap<(&'a str, u64), (u64, u64)>,
    /// Waiters, if the sale has a waiting list.
    turns: Option<Turns>,
    /// Live units by round and user.
    users: HashMap<(u64, &'a str), Live>,
    epoch: u64,
    paused: bool,
    limits: Limits,
    /// Units of the current round, or of the whole sale.
    stock: Stock,
    /// Units granted beyond the supply.
    deficit: u64,
    /// The remaining amounts of a draw.
    left: Option<Left>,
    seats: Seats,
    /// The current round (0 without rounds), and the supply of each round.
    round: u64,
    base: u64,
    /// Rounds that have ended.
    over: BTreeMap<u64, Stock>,
}

/// The state after an entry.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub stock: Stock,
    pub paused: bool,
    pub limits: Limits,
    /// Change of the supply by a restock, else 0.
    pub applied: i64,
    /// Number of waiters.
    pub waiting: u64,
}

/// The entries about one grant.
#[derive(Clone, Debug)]
pub struct Tale<'a>(pub Vec<Step<'a>>);

/// An entry about a grant, and the grant after it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub entry: &'a Entry,
    pub row: &'a Row,
}

impl<'a> Tale<'a> {
    /// The first entry, which made the grant.
    pub fn first(&self) -> Step<'a> {
        self.0[0]
    }

    /// The grant in its current state.
    pub fn row(&self) -> &'a Row {
        self.0[self.0.len() - 1].row
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Live {
    units: u64,
    grants: u64,
}

impl<'a> Story<'a> {
    pub fn of(evidence: &'a Evidence) -> Result<Story<'a>, String> {
        let mut story = Story::default();
        for entry in &evidence.entries {
            let told = story.tell(entry, evidence);
            told.map_err(|why| format!("{why} Entry: {entry:?}"))?;
        }
        story.ends_as(evidence)?;
        Ok(story)
    }

    pub fn tale(&self, seq: u64) -> Option<&Tale<'a>> {
        self.tales.get((seq as usize).wrapping_sub(1))
    }

    /// The newest grant of an order. There are several if the order was sent again in a later
    /// round, after the first grant was no longer kept.
    pub fn newest(&self, user: &str, req: &str) -> Option<&Tale<'a>> {
        self.tale(*self.orders.get(&(user, req))?)
    }

    fn tell(&mut self, entry: &'a Entry, evidence: &Evidence) -> Rule {
        let rev = self.moments.len() as u64 + 1;
        ensure(entry.rev == rev, || format!("The outbox has a gap: rev {rev} should come."))?;
        ensure(entry.id == evidence.id, || "An entry of another sale is in the outbox.".into())?;
        ensure(entry.epoch >= self.epoch, || "The epoch went back.".into())?;
        self.epoch = entry.epoch;
        if let Kind::Listed(list) = &evidence.terms.kind {
            waiting::read(self.turns.get_or_insert_default(), entry, list)?;
        }
        let mut applied = 0;
        match (&entry.grant, &entry.restock) {
            (Some(row), None) => self.grant(entry, row, &evidence.terms)?,
            (None, Some((req, by))) => {
                applied = *by;
                self.restock(rev, req, applied)?;
            }
            _ => self.other(entry, &evidence.terms)?,
        }
        let round = entry.grant.as_ref().map_or(self.round, |row| row.round);
        let stock = *self.stock_of(round)?;
        ensure(stock == entry.stock, || {
            format!("The units don't add up: by the entries there are {stock:?}.")
        })?;
        let is_shared = self.left.as_ref().is_none_or(|left| left.shares(stock.available));
        ensure(is_shared, || format!("What is left can't be drawn: {:?}.", self.left))?;
        let Story { stock, paused, limits, .. } = *self;
        let waiting = self.waiting();
        self.moments.push(Moment { stock, paused, limits, applied, waiting });
        Ok(())
    }

    /// Number of waiters.
    fn waiting(&self) -> u64 {
        self.turns.as_ref().map_or(0, |turns| turns.waiting.len() as u64)
    }

    fn stock_of(&mut self, round: u64) -> Result<&mut Stock, String> {
        if round == self.round {
            return Ok(&mut self.stock);
        }
        self.over.get_mut(&round).ok_or_else(|| format!("There was no round {round}."))
    }

    /// Reads an entry that is not about a grant.
    fn other(&mut self, entry: &'a Entry, terms: &Terms) -> Rule {
        let Stock { available, held, .. } = self.stock;
        let somebody_waits = self.waiting() > 0;
        let fits = match entry.event.as_str() {
            "INIT" => {
                self.begin_sale(entry.t, terms);
                entry.rev == 1 && entry.limits == Some(terms.limits)
            }
            "ALTER" => {
                self.limits = entry.limits.unwrap_or_default();
                entry.limits.is_some()
            }
            "ROUND" => self.turn(entry, &terms.kind),
            "PAUSE" => !std::mem::replace(&mut self.paused, true),
            "RESUME" => std::mem::replace(&mut self.paused, false),
            "SOLDOUT" => !somebody_waits && available == 0 && held == 0,
            "ALLHELD" => somebody_waits || available == 0 && held > 0,
            "AVAILABLE" => !somebody_waits && available > 0,
            "WAIT" => self.join(entry),
            "LEAVE" | "DROPPED" => entry.wait.is_some(),
            _ => false,
        };
        ensure(fits, || format!("{} can't be here.", entry.event))
    }

    fn join(&mut self, entry: &'a Entry) -> bool {
        let waiting = self.turns.as_ref().map(|turns| &turns.waiting);
        let joined = entry.wait.as_ref().and_then(|waiter| {
            let ahead = waiting?.get(&waiter.ticket)?.ahead;
            Some(self.joined.insert((&waiter.user, waiter.ticket), (entry.epoch, ahead)))
        });
        joined == Some(None)
    }

    fn begin_sale(&mut self, t: u64, terms: &Terms) {
        let Terms { supply, limits, ref kind } = *terms;
        self.stock = Stock { supply, available: supply, ..Stock::default() };
        (self.base, self.limits) = (supply, limits);
        match kind {
            Kind::Plain | Kind::Listed(_) | Kind::Numbered => {}
            Kind::Drawn(draw) => self.left = Some(Left::all(draw)),
            Kind::Rounds { every_ms, .. } => self.round = t / every_ms,
        }
    }

    /// Begins a round with its supply. False if no round is due.
    fn turn(&mut self, entry: &Entry, kind: &Kind) -> bool {
        let (Some(round), Kind::Rounds { every_ms, .. }) = (entry.round, kind) else {
            return false;
        };
        let last = match self.limits.close_at {
            0 => entry.t,
            close_at => entry.t.min(close_at - 1),
        };
        let begins = round > self.round && round == last / every_ms;
        let fresh = Stock { supply: self.base, available: self.base, ..Stock::default() };
        self.over.insert(self.round, std::mem::replace(&mut self.stock, fresh));
        self.round = round;
        begins
    }

    /// Whether the sale still shows a grant: all of the current and the previous round, and holds
    /// of older rounds.
    fn is_kept(&self, row: &Row) -> bool {
        let last = self.over.last_key_value().map_or(0, |(round, _)| *round);
        row.round >= last || row.state == State::Held
    }

    fn restock(&mut self, rev: u64, req: &'a str, applied: i64) -> Rule {
        let paid = self.deficit.min(applied.max(0).unsigned_abs());
        self.deficit -= paid;
        let by = |units: u64| units.checked_add_signed(applied - paid as i64);
        let (supply, available) = (by(self.stock.supply), by(self.stock.available));
        let (Some(supply), Some(available)) = (supply, available) else {
            return Err("A restock takes more than there is.".into());
        };
        self.stock = Stock { supply, available, ..self.stock };
        self.base = self.base.saturating_add_signed(applied);
        let twice = self.restocks.insert(req, rev).is_some();
        ensure(!twice, || format!("The restock {req} was made twice."))
    }

    fn grant(&mut self, entry: &'a Entry, row: &'a Row, terms: &Terms) -> Rule {
        let before = match (entry.event.as_str(), self.tale(row.seq)) {
            ("GRANT" | "OFFER", _) | ("IMPORT", None) => {
                self.begin(entry, row, terms)?;
                None
            }
            (_, None) => return Err("An entry about a grant that was never made.".into()),
            (_, Some(tale)) => Some(known(tale, entry, row)?),
        };
        follows(entry, row, before)?;
        self.seats.read(&terms.kind, before, row)?;
        let from = before.map(|before| before.state);
        let had = before.filter(|before| before.state.is_live()).map_or(0, |before| before.qty);
        if entry.event == "IMPORT" {
            self.cover(row.qty.saturating_sub(had));
        }
        self.draw(entry, row, from)?;
        self.transfer(row, from, had)?;
        self.count(entry, row, had)?;
        let step = Step { entry, row };
        match self.tales.get_mut(row.seq as usize - 1) {
            Some(tale) => tale.0.push(step),
            None => self.tales.push(Tale(vec![step])),
        }
        Ok(())
    }

    /// Checks a new grant.
    fn begin(&mut self, entry: &Entry, row: &'a Row, terms: &Terms) -> Rule {
        let seq = self.tales.len() as u64 + 1;
        ensure(row.seq == seq, || format!("seq {seq} should come."))?;
        ensure(row.born == entry.epoch, || "A grant of another epoch was made.".into())?;
        ensure(row.round == self.round, || "A unit of another round was sold.".into())?;
        if ["GRANT", "OFFER"].contains(&entry.event.as_str()) {
            self.is_open(entry.t, &terms.kind)?;
        }
        if entry.event == "GRANT" {
            let Limits { hold_ms, .. } = self.limits;
            let due = if hold_ms == 0 { 0 } else { row.at + hold_ms };
            ensure(row.deadline == due, || format!("The deadline should be {due}."))?;
        }
        let earlier = self.newest(&row.user, &row.req);
        let twice = earlier.is_some_and(|tale| self.is_kept(tale.row()));
        ensure(!twice, || format!("DOUBLED: {} was granted {} twice.", row.user, row.req))?;
        self.orders.insert((&row.user, &row.req), seq);
        Ok(())
    }

    /// Checks that units may be sold at `t`.
    fn is_open(&self, t: u64, kind: &Kind) -> Rule {
        ensure(!self.paused, || "A unit was sold during a pause.".into())?;
        let Kind::Rounds { every_ms, lasts_ms } = *kind else { return Ok(()) };
        let begun = self.round * every_ms;
        let open = (begun..begun + lasts_ms).contains(&t);
        ensure(open, || format!("A unit was sold when the round {} was not open.", self.round))
    }

    /// Adds the missing units of an import to the deficit.
    fn cover(&mut self, qty: u64) {
        let missing = qty.saturating_sub(self.stock.available);
        self.stock.supply += missing;
        self.stock.available += missing;
        self.deficit += missing;
    }

    /// Checks that the amount of a red packet is possible.
    fn draw(&mut self, entry: &Entry, row: &Row, from: Option<State>) -> Rule {
        let (stock, qty) = (self.stock, row.qty);
        let Some(left) = &mut self.left else { return Ok(()) };
        let fits = match (from, from.is_some_and(State::is_live), row.state.is_live()) {
            (None, ..) if entry.event == "IMPORT" => true,
            (None, ..) => left.draw(qty, stock),
            (_, false, true) => left.retake(qty),
            (_, true, false) => {
                left.give_back(qty);
                true
            }
            _ => true,
        };
        ensure(fits, || format!("The amount {qty} can't be drawn now: {left:?}."))
    }

    /// Moves the units of a grant that had this many units before.
    fn transfer(&mut self, row: &Row, from: Option<State>, had: u64) -> Rule {
        let has = if row.state.is_live() { row.qty } else { 0 };
        let (taken, returned) = (has.saturating_sub(had), had.saturating_sub(has));
        // Returned units reduce a deficit first.
        let paid = self.deficit.min(returned);
        let stock = self.stock_of(row.round)?;
        let mut after = *stock;
        let place = match from {
            Some(State::Held) => &mut after.held,
            _ => &mut after.sold,
        };
        let (left, available) = (place.checked_sub(had), after.available.checked_sub(taken));
        let (Some(left), Some(available)) = (left, available) else {
            let units = had.max(taken);
            return Err(format!("OVERSOLD: {units} units are not there, only {stock:?}."));
        };
        *place = left;
        after.available = available + returned - paid;
        after.supply -= paid;
        match row.state {
            State::Held => after.held += has,
            _ => after.sold += has,
        }
        *stock = after;
        self.deficit -= paid;
        Ok(())
    }

    /// Counts the user's units. ALTER or IMPORT may put a user over the limit, but the user's own
    /// calls can't.
    fn count(&mut self, entry: &Entry, row: &'a Row, had: u64) -> Rule {
        let Limits { limit, grabs, .. } = self.limits;
        let live = self.users.entry((row.round, &row.user)).or_default();
        let has = if row.state.is_live() { row.qty } else { 0 };
        live.units = live.units + has - had;
        live.grants = live.grants + u64::from(has > 0) - u64::from(had > 0);
        let takes = ["GRANT", "OFFER", "RECLAIM"].contains(&entry.event.as_str());
        let units = limit == 0 || live.units <= limit;
        let grants = grabs == 0 || live.grants <= grabs;
        ensure(!takes || units && grants, || format!("OVER THE LIMIT: {} has {live:?}.", row.user))
    }

    /// Compares the server's final state with the outbox.
    fn ends_as(&mut self, evidence: &Evidence) -> Rule {
        let (told, rev) = (self.moments.len() as u64, evidence.rev);
        ensure(told == rev, || format!("STATUS is at rev {rev}, the outbox ends at {told}."))?;
        ensure(self.stock == evidence.stock, || {
            format!("STATUS says {:?}, the outbox {:?}.", evidence.stock, self.stock)
        })?;
        if let Some(turns) = &mut self.turns {
            waiting::ends_as(turns, evidence)?;
        }
        let (owed, shown) = (self.deficit, evidence.deficit);
        ensure(owed == shown, || format!("STATUS has a deficit of {shown}, the outbox {owed}."))?;
        let kept = self.tales.iter().map(Tale::row).filter(|row| self.is_kept(row));
        let mut listed = evidence.rows.iter();
        for row in kept.map(Some).chain([None]) {
            let shown = listed.next();
            ensure(shown == row, || format!("WINNERS has {shown:?}, the outbox {row:?}."))?;
        }
        Ok(())
    }
}

/// The grant before the entry, if the entry is about it. An IMPORT restores all units of the grant.
/// Other entries lack only the units that they report as returned.
fn known<'a>(tale: &Tale<'a>, entry: &Entry, row: &Row) -> Result<&'a Row, String> {
    let known = tale.row();
    let (qty, had) = match entry.event.as_str() {
        "IMPORT" => (tale.first().row.qty, &tale.first().row.units),
        _ => (known.qty.saturating_sub(entry.returned), &known.units),
    };
    let Row { state, deadline, ref units, .. } = *row;
    let same = Row { qty, state, deadline, units: units.clone(), ..known.clone() } == *row;
    let is_it = same && units.iter().all(|unit| had.contains(unit));
    ensure(is_it, || format!("The grant was another one: {known:?}.")).map(|()| known)
}

/// Whether the event is possible for the grant and leaves the state in the entry.
fn follows(entry: &Entry, row: &Row, before: Option<&Row>) -> Rule {
    use State::{Cancelled, Expired, Held, Refunded, Sold};
    let (from, due) = before.map_or((None, 0), |row| (Some(row.state), row.deadline));
    let in_time = entry.t < due;
    let fits = match (entry.event.as_str(), from, row.state) {
        ("GRANT" | "OFFER", None, Held) => row.deadline > entry.t,
        ("GRANT", None, Sold) => true,
        ("CONFIRM", Some(Held), Sold) | ("CANCEL", Some(Held), Cancelled) => in_time,
        ("EXTEND", Some(Held), Held) => in_time && row.deadline > due,
        ("EXPIRE", Some(Held), Expired) => !in_time,
        ("RECLAIM", Some(Expired), Sold) | ("REFUND", Some(Sold), Refunded) => true,
        ("RECLAIM-REFUSED", Some(Expired), Expired) => true,
        ("IMPORT", None | Some(Held | Expired | Cancelled), Sold) => true,
        ("TRIM", Some(Held), Held) => in_time && row.deadline == due,
        ("TRIM", Some(Sold), Sold) => true,
        _ => false,
    };
    let returns = match entry.event.as_str() {
        "TRIM" => entry.returned > 0 && row.qty > 0,
        "CONFIRM" => row.qty > 0,
        _ => entry.returned == 0,
    };
    let event = &entry.event;
    ensure(returns, || format!("{event} can't give {} units back.", entry.returned))?;
    ensure(fits, || format!("{event} can't make {before:?} a grant that is {:?}.", row.state))
}
