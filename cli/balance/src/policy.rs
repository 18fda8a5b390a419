//! Plans the moves of units between parts: a pure function of the parts' units and demand.
//!
//! Deficits are filled first, then parts with the oldest waiters, then parts with demand. A part
//! below its share of all units left gets the missing units from the parts furthest above their
//! share. Shares follow demand. A move is at most half of the difference between two parts, so the
//! giver is never poorer than the receiver afterwards.

/// The state of a part that the policy uses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Units that it can sell.
    pub available: u64,
    /// Units under way to the part.
    pub incoming: u64,
    /// Units promised beyond what it owns.
    pub deficit: u64,
    /// Units that its waiting list asks for.
    pub waiting_units: u64,
    /// Time at which the first waiter joined, Unix ms; 0: no waiters.
    pub waiting_since: u64,
    /// Units a second that it is asked for, granted or not.
    pub demand: f64,
    /// Units a second that it had to refuse.
    pub unmet: f64,
    /// Whether this part sends nothing for now.
    pub keeps: bool,
}

impl Load {
    fn expected(&self) -> u64 {
        self.available + self.incoming
    }
}

/// Times of the balancer, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Time from one reading of the parts to the next.
    pub interval: f64,
    /// Time of a message and its answer.
    pub round_trip: f64,
}

impl Timing {
    /// Time for which a part's units must last without a move: the next readings may come late or
    /// fail.
    fn horizon(&self) -> f64 {
        4.0 * self.interval + 2.0 * self.round_trip
    }
}

/// Units that are to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// The giver.
    pub from: usize,
    /// The part that gets the units.
    pub to: usize,
    /// Number of units, at least 1.
    pub units: u64,
}

/// With fewer units than this in each part, the rest is gathered in one.
const GATHER_BELOW: u64 = 4;
/// Two parts are level if their difference is below this fraction of their units.
const LEVEL: f64 = 0.1;
/// The tighter fraction for the last pass before the stock runs out.
const LEVEL_AT_LAST: f64 = 0.02;

/// Plans the moves for the current state.
pub fn plan(parts: &[Load], timing: &Timing) -> Vec<Transfer> {
    let mut planner = Planner { parts: parts.to_vec(), moves: Vec::new() };
    planner.pay_deficits();
    planner.serve_lists();
    let left: u64 = planner.parts.iter().map(Load::expected).sum();
    let demand: f64 = planner.parts.iter().map(|part| part.demand).sum();
    // If the stock runs out within a round trip, units under way would only be missing at the
    // buyers' parts.
    if demand > 0.0 && left as f64 / demand >= timing.round_trip {
        match planner.is_stuck(timing) || left < GATHER_BELOW * parts.len() as u64 {
            true => planner.gather(left),
            false => planner.level(left as f64 / demand, timing),
        }
    }
    planner.moves
}

struct Planner {
    parts: Vec<Load>,
    moves: Vec<Transfer>,
}

impl Planner {
    fn transfer(&mut self, from: usize, to: usize, units: u64) {
        self.parts[from].available -= units;
        self.parts[to].incoming += units;
        match self.moves.iter_mut().find(|one| (one.from, one.to) == (from, to)) {
            Some(known) => known.units += units,
            None => self.moves.push(Transfer { from, to, units }),
        }
    }

    /// Units that a part can give: none while it has a deficit or waiters, or while its units would
    /// not arrive.
    fn spare(&self, part: usize) -> u64 {
        let one = &self.parts[part];
        let is_free = one.deficit == 0 && one.waiting_units == 0 && !one.keeps;
        one.available * u64::from(is_free)
    }

    /// Parts that can give, ordered by `surplus`, largest first.
    fn givers(&self, surplus: impl Fn(&Load) -> f64) -> Vec<usize> {
        let mut givers: Vec<usize> =
            (0..self.parts.len()).filter(|part| self.spare(*part) > 0).collect();
        givers.sort_by(|a, b| surplus(&self.parts[*b]).total_cmp(&surplus(&self.parts[*a])));
        givers
    }

    /// Gives `units` units to `to`, from the part with the most available units first.
    fn fill(&mut self, to: usize, mut units: u64) {
        for from in self.givers(|part| part.available as f64) {
            let some = units.min(self.spare(from));
            if from != to && some > 0 {
                self.transfer(from, to, some);
                units -= some;
            }
        }
    }

    fn pay_deficits(&mut self) {
        for to in 0..self.parts.len() {
            let part = self.parts[to];
            self.fill(to, part.deficit.saturating_sub(part.expected()));
        }
    }

    /// Serves waiting lists, the list with the oldest waiter first.
    fn serve_lists(&mut self) {
        let waits = |part: &usize| self.parts[*part].waiting_units > 0;
        let mut waiting: Vec<usize> = (0..self.parts.len()).filter(waits).collect();
        waiting.sort_by_key(|part| self.parts[*part].waiting_since);
        for to in waiting {
            let part = self.parts[to];
            let owed = part.deficit + part.waiting_units;
            self.fill(to, owed.saturating_sub(part.expected()));
        }
    }

    /// Whether nothing is granted although units are left: each part has fewer than its buyers ask
    /// for.
    fn is_stuck(&self, timing: &Timing) -> bool {
        let granted: f64 = self.parts.iter().map(|part| part.demand - part.unmet).sum();
        granted * timing.interval < 0.5
            && self.parts.iter().any(|part| part.unmet > 0.0 && part.available > 0)
    }

    /// Fills parts that run out before the horizon, the earliest first. `lasts` is the time in
    /// seconds for which all units left would last if they were shared by demand.
    fn level(&mut self, lasts: f64, timing: &Timing) {
        let horizon = timing.horizon();
        let lack = |part: &Load| part.demand * lasts - part.expected() as f64;
        let time_left = |part: &Load| part.expected() as f64 / part.demand;
        let is_short =
            |part: &Load| part.demand > 0.0 && time_left(part) < horizon && lack(part) >= 1.0;
        let mut short: Vec<usize> =
            (0..self.parts.len()).filter(|part| is_short(&self.parts[*part])).collect();
        short.sort_by(|a, b| time_left(&self.parts[*a]).total_cmp(&time_left(&self.parts[*b])));
        let surplus = |part: &Load| part.available as f64 - part.demand * lasts;
        let level = if lasts < 2.0 * timing.interval { LEVEL_AT_LAST } else { LEVEL };
        for to in short {
            for from in self.givers(surplus) {
                let (giver, taker) = (self.parts[from], self.parts[to]);
                let (above, below) = (surplus(&giver), lack(&taker));
                let differ = above + below;
                let is_level = differ < level * (giver.available + taker.expected()) as f64;
                // The smaller of `above` and `below` is at most half of the difference.
                let units = above.min(below).floor();
                if below < 1.0 {
                    break;
                }
                if from != to && units >= 1.0 && !is_level {
                    self.transfer(from, to, self.spare(from).min(units as u64));
                }
            }
        }
    }

    /// Gathers the last units at the few parts with the most demand. The demand of a part that has
    /// units counts double, so that units don't move back and forth.
    fn gather(&mut self, left: u64) {
        let weight = |part: &Load| part.demand * if part.expected() > 0 { 2.0 } else { 1.0 };
        let mut asked: Vec<usize> =
            (0..self.parts.len()).filter(|part| self.parts[*part].demand > 0.0).collect();
        asked.sort_by(|a, b| weight(&self.parts[*b]).total_cmp(&weight(&self.parts[*a])));
        let is_short = |part: &Load| part.unmet > 0.0 && part.available > 0;
        let places = match self.parts.iter().any(is_short) {
            true => 1,
            false => left.div_ceil(GATHER_BELOW) as usize,
        };
        asked.truncate(places);
        let others = (0..self.parts.len()).filter(|part| !asked.contains(part));
        for from in others.collect::<Vec<usize>>() {
            let poorest = asked.iter().min_by_key(|part| self.parts[**part].expected());
            if let (Some(to), units @ 1..) = (poorest.copied(), self.spare(from)) {
                self.transfer(from, to, units);
            }
        }
    }
}

#[cfg(test)]
mod tests;
