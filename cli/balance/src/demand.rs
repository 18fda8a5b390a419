//! The demand at each part: units asked for per second.

/// Demand is averaged over this many intervals: fewer would take a few calls for a change, more
/// would follow a change late.
const INTERVALS: f64 = 4.0;

/// The last reading of one part.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Its time in seconds, and the units taken and unmet until then.
    last: Option<(f64, u64, u64)>,
    /// Units a second, and the seconds over which it is an average.
    rate: f64,
    averaged: f64,
}

/// Units a second that each part is asked for, granted or not, estimated from growing counters.
#[derive(Clone, Debug)]
pub struct Demand {
    seen: Vec<Seen>,
    /// Seconds between two readings.
    interval: f64,
}

impl Demand {
    /// An empty average for `parts` parts that are read every `interval` seconds.
    pub fn new(parts: usize, interval: f64) -> Demand {
        Demand { seen: vec![Seen::default(); parts], interval }
    }

    /// Adds a reading of part `part` at second `at`: `taken` units are held or sold, `unmet` were
    /// refused so far. A counter that got smaller, by returned units or a failover, counts as no
    /// demand.
    pub fn observe(&mut self, part: usize, at: f64, taken: u64, unmet: u64) {
        let Some(seen) = self.seen.get_mut(part) else { return };
        if let Some((before, taken_before, unmet_before)) = seen.last {
            let seconds = at - before;
            if seconds <= 0.0 {
                return;
            }
            let asked = taken.saturating_sub(taken_before) + unmet.saturating_sub(unmet_before);
            let now = asked as f64 / seconds;
            // At first this is a plain average, so that no single reading has too much weight.
            seen.averaged = (seen.averaged + seconds).min(INTERVALS * self.interval).max(seconds);
            seen.rate += (now - seen.rate) * seconds / seen.averaged;
        }
        seen.last = Some((at, taken, unmet));
    }

    /// Units a second; 0 while nothing is known.
    pub fn rate(&self, part: usize) -> f64 {
        self.seen.get(part).map(|seen| seen.rate).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_demand_is_found_and_its_end_forgotten() {
        let mut demand = Demand::new(2, 0.01);
        assert_eq!(demand.rate(0), 0.0);
        for step in 0..100_u64 {
            // Half is granted, half refused.
            demand.observe(0, step as f64 * 0.01, step * 5, step * 5);
        }
        assert!((demand.rate(0) - 1_000.0).abs() < 1e-6, "{}", demand.rate(0));
        assert_eq!(demand.rate(1), 0.0);
        for step in 100..200_u64 {
            demand.observe(0, step as f64 * 0.01, 495, 495);
        }
        assert!(demand.rate(0) < 1.0, "{}", demand.rate(0));
    }

    #[test]
    fn what_comes_back_is_no_demand() {
        let mut demand = Demand::new(1, 0.01);
        demand.observe(0, 0.0, 50, 9);
        demand.observe(0, 0.01, 20, 0);
        assert_eq!(demand.rate(0), 0.0);
        demand.observe(0, 0.02, 30, 0);
        assert!(demand.rate(0) > 0.0);
    }
}
