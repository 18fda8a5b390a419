//! Plans which units move where: a pure function of the units and the demand of the parts.
//!
//! Deficits are filled first, then parts with the oldest waiters, then parts with demand. A part
//! that is short gets what it lacks of its share of all units left, from the parts furthest above
//! their share. Shares follow demand. A move is at most half of the difference between two parts,
//! so the giver is never poorer than the receiver afterwards.

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
    /// Since when the first waiter waits; 0: no waiters.
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

/// How fast the balancer is, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Time from one reading of the parts to the next.
    pub interval: f64,
    /// A message and its answer.
    pub round_trip: f64,
}

impl Timing {
    /// How long a part has to last without help: the next looks may come late or fail.
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
    /// How many, at least 1.
    pub units: u64,
}

/// With fewer units than this in each part, the rest is gathered in one.
const GATHER_BELOW: u64 = 4;
/// Two parts that differ by less than this share of what they hold are level.
const LEVEL: f64 = 0.1;
/// The share where this is the last look before the stock runs out: a tighter threshold.
const LEVEL_AT_LAST: f64 = 0.02;

/// Plans the moves for the current state.
pub fn plan(parts: &[Load], timing: &Timing) -> Vec<Transfer> {
    let mut planner = Planner { parts: parts.to_vec(), moves: Vec::new() };
    planner.pay_deficits();
    planner.serve_lists();
    let left: u64 = planner.parts.iter().map(Load::expected).sum();
    let demand: f64 = planner.parts.iter().map(|part| part.demand).sum();
    // Units that are sold out before the message arrives would only be kept from buyers while under
    // way.
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

    /// Gives `units` units to `to`, from the richest part first.
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

    /// The oldest waits first.
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

    /// Nothing is granted though there are units: each part has too few for what it is asked for.
    fn is_stuck(&self, timing: &Timing) -> bool {
        let granted: f64 = self.parts.iter().map(|part| part.demand - part.unmet).sum();
        granted * timing.interval < 0.5
            && self.parts.iter().any(|part| part.unmet > 0.0 && part.available > 0)
    }

    /// Fills parts that run out before the horizon, the earliest first. `lasts` is how many seconds
    /// all that is left would last if it were where it is asked for.
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
                // The smaller one is at most half of their sum.
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

    /// Brings the last units to the few parts that are asked most. A part that has units already
    /// counts double, so that they don't follow each call to and fro.
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
