//! A rush on a split sale: millions of calls a second, each answered by the buyer's part. A
//! balancer reads, decides and sends over a network with delay.
//!
//! Time advances in ticks that are short compared with a message. A seed always gives the same
//! rush.

mod network;

use seckill_balance::{plan, Demand, Load, Reading, Timing};
use seckill_random::Random;

use network::{Message, Network};

const TICK: f64 = 20e-6;
/// A run ends after this many seconds; units left then count as unsold.
const SECONDS_MAX: f64 = 5.0;

#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub parts: usize,
    pub units: u64,
    /// Calls a second, each for one unit, over all parts.
    pub calls: f64,
    /// The load of a part is from `1 - skew` to `1 + skew` times the average, spread evenly.
    pub skew: f64,
    /// Seconds between two passes of the balancer; `None`: no balancer.
    pub interval: Option<f64>,
    /// Seconds from a message to its reply.
    pub round_trip: f64,
    pub seed: u64,
}

impl Setting {
    /// The setting of the promised figures: 1,000,000 units, 5,000,000 calls a second, and a load
    /// with skew 0.5.
    pub fn rush(parts: usize, interval: Option<f64>) -> Setting {
        let (units, calls) = (1_000_000, 5e6);
        Setting { parts, units, calls, skew: 0.5, interval, round_trip: 0.5e-3, seed: 1 }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Calls until the last unit was sold.
    pub calls: u64,
    /// Buyers who got SOLDOUT while units were on other parts or in flight.
    pub told_too_early: u64,
    pub moved: u64,
    pub transfers: u64,
    pub unsold: u64,
    /// Seconds until the last unit was sold.
    pub seconds: f64,
    /// Units of each part, with the time in seconds, every `SAMPLE`.
    pub samples: Vec<(f64, Vec<u64>)>,
}

impl Outcome {
    /// Percentage of calls that got SOLDOUT too early.
    pub fn too_early_percent(&self) -> f64 {
        100.0 * self.told_too_early as f64 / self.calls.max(1) as f64
    }

    /// Units that moved, in percent of all.
    pub fn moved_percent(&self, units: u64) -> f64 {
        100.0 * self.moved as f64 / units as f64
    }
}

/// Seconds between two samples for the picture.
const SAMPLE: f64 = 1e-3;

pub fn run(setting: &Setting) -> Outcome {
    let mut rush = Rush::new(setting);
    let mut outcome = Outcome::default();
    let mut tick = 0_u64;
    loop {
        let now = tick as f64 * TICK;
        if now >= outcome.samples.len() as f64 * SAMPLE {
            let units = rush.parts.iter().map(|part| part.reading.available).collect();
            outcome.samples.push((now, units));
        }
        rush.deliver(now, &mut outcome);
        let left = rush.left();
        if left == 0 || now > SECONDS_MAX {
            outcome.seconds = now;
            outcome.unsold = left;
            return outcome;
        }
        rush.buy(left, &mut outcome);
        tick += 1;
    }
}

struct Part {
    reading: Reading,
    unmet: u64,
    calls_per_tick: f64,
}

struct Rush<'s> {
    setting: &'s Setting,
    parts: Vec<Part>,
    network: Network,
    random: Random,
    demand: Demand,
}

impl Rush<'_> {
    fn new(setting: &Setting) -> Rush<'_> {
        let mut random = Random(setting.seed);
        let part = |at: usize, weight: f64| {
            let units = seckill_balance::share(setting.units, setting.parts, at);
            let none = vec![0; setting.parts];
            let (sent, received) = (none.clone(), none);
            let reading = Reading {
                put_in: units as i64,
                available: units,
                sent,
                received,
                ..Reading::default()
            };
            let calls_per_tick = setting.calls * TICK * weight / setting.parts as f64;
            Part { reading, unmet: 0, calls_per_tick }
        };
        let weights = weights(setting, &mut random);
        let parts = weights.into_iter().enumerate().map(|(at, weight)| part(at, weight)).collect();
        let mut network = Network::default();
        if setting.interval.is_some() {
            network.send(0.0, Message::Read);
        }
        let demand = Demand::new(setting.parts, setting.interval.unwrap_or(1.0));
        Rush { setting, parts, network, random, demand }
    }

    /// Units that can be sold now or later.
    fn left(&self) -> u64 {
        let here: u64 = self.parts.iter().map(|part| part.reading.available).sum();
        here + self.network.under_way
    }

    fn buy(&mut self, mut left: u64, outcome: &mut Outcome) {
        for part in &mut self.parts {
            let calls = poisson(part.calls_per_tick, &mut self.random);
            let granted = calls.min(part.reading.available);
            part.reading.available -= granted;
            part.unmet += calls - granted;
            left -= granted;
            outcome.calls += calls;
            if left > 0 {
                outcome.told_too_early += calls - granted;
            }
        }
    }

    fn deliver(&mut self, now: f64, outcome: &mut Outcome) {
        while let Some(message) = self.network.due(now) {
            match message {
                Message::Read => self.read(now),
                Message::Decide(readings) => self.decide(now, &readings),
                Message::Send { from, to, total } => self.send(now, (from, to, total), outcome),
                Message::Receive { from, to, total } => self.receive(from, to, total),
            }
        }
    }

    /// Sends a read to all parts at once; the replies come half a round trip later.
    fn read(&mut self, now: f64) {
        let readings = self.parts.iter().map(|part| (part.reading.clone(), part.unmet)).collect();
        let half = self.setting.round_trip / 2.0;
        self.network.send(now + half, Message::Decide(readings));
        let interval = self.setting.interval.unwrap_or(SECONDS_MAX);
        self.network.send(now + interval, Message::Read);
    }

    fn decide(&mut self, now: f64, readings: &[(Reading, u64)]) {
        let half = self.setting.round_trip / 2.0;
        let interval = self.setting.interval.unwrap_or(SECONDS_MAX);
        let timing = Timing { interval, round_trip: self.setting.round_trip };
        let parts: Vec<Reading> = readings.iter().map(|(reading, _)| reading.clone()).collect();
        let mut loads = Vec::with_capacity(parts.len());
        for (at, (reading, unmet)) in readings.iter().enumerate() {
            let taken = reading.taken().unwrap_or_default();
            self.demand.observe(at, now - half, taken, *unmet);
            let demand = self.demand.rate(at);
            loads.push(Load { available: reading.available, demand, ..Load::default() });
        }
        for one in seckill_balance::under_way(&parts) {
            loads[one.to].incoming += one.units;
        }
        for one in plan(&loads, &timing) {
            let total = parts[one.from].sent[one.to] + one.units;
            let (from, to) = (one.from, one.to);
            self.network.send(now + half, Message::Send { from, to, total });
        }
    }

    /// Sends units on. The reply to SEND takes half a round trip, the WAIT for a replica a whole
    /// one, and the way to the other part another half.
    fn send(&mut self, now: f64, (from, to, total): (usize, usize, u64), outcome: &mut Outcome) {
        let source = &mut self.parts[from].reading;
        let units = total.saturating_sub(source.sent[to]).min(source.available);
        if units == 0 {
            return;
        }
        source.available -= units;
        source.sent[to] += units;
        let total = source.sent[to];
        self.network.under_way += units;
        outcome.moved += units;
        outcome.transfers += 1;
        let arrives = now + 2.0 * self.setting.round_trip;
        self.network.send(arrives, Message::Receive { from, to, total });
    }

    fn receive(&mut self, from: usize, to: usize, total: u64) {
        let peer = &mut self.parts[to].reading;
        let units = total.saturating_sub(peer.received[from]);
        peer.received[from] += units;
        peer.available += units;
        self.network.under_way -= units;
    }
}

/// The load of each part relative to the average, in random order.
fn weights(setting: &Setting, random: &mut Random) -> Vec<f64> {
    let steps = setting.parts.saturating_sub(1).max(1) as f64;
    let weight = |at: usize| 1.0 - setting.skew + 2.0 * setting.skew * at as f64 / steps;
    let mut weights: Vec<f64> = (0..setting.parts).map(weight).collect();
    random.shuffle(&mut weights);
    weights
}

/// A random number of calls with this mean (Knuth, 1969).
fn poisson(mean: f64, random: &mut Random) -> u64 {
    let limit = (-mean).exp();
    let (mut count, mut product) = (0, 1.0);
    loop {
        product *= random.number() as f64 / u64::MAX as f64;
        if product <= limit {
            return count;
        }
        count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_promised_of_a_rush_is_kept() {
        let one = |interval, seed| {
            let run = run(&Setting { seed, ..Setting::rush(64, interval) });
            assert_eq!(run.unsold, 0);
            assert!(run.moved_percent(1_000_000) <= 14.0, "{}", run.moved);
            run.too_early_percent()
        };
        let early = |interval| (1..=3).map(|seed| one(interval, seed)).fold(0.0, f64::max);
        let (none, slow, fast) = (early(None), early(Some(0.02)), early(Some(0.005)));
        assert!(none > 45.0 && slow <= 1.2 && fast <= 1.0, "{none} {slow} {fast}");
    }
}
