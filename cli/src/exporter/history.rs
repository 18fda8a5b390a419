//! A history of six hours for each sale, for the curves of a page that was just opened.

use std::collections::{HashMap, VecDeque};

use super::read::Snapshot;

/// Time for which a point is kept, in milliseconds: six hours.
const KEPT_MS: u64 = 6 * 60 * 60 * 1_000;

/// Pages read often; points are not closer together than this, in milliseconds.
const APART_MS: u64 = 14_000;

/// The numbers of one moment: units, and calls of GRAB so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Unix ms.
    pub at_ms: u64,
    pub available: i64,
    pub held: i64,
    pub sold: i64,
    pub attempts: u64,
}

impl Point {
    fn is_as(&self, other: &Point) -> bool {
        Point { at_ms: 0, ..*self } == Point { at_ms: 0, ..*other }
    }
}

/// The points of each sale, oldest first. While nothing changes only the first and the last point
/// are kept, so an idle sale takes no more memory.
#[derive(Default)]
pub struct History(HashMap<String, VecDeque<Point>>);

impl History {
    /// Adds a reading, and removes sales that no longer exist.
    pub fn add(&mut self, snapshot: &Snapshot) {
        let mut old = std::mem::take(&mut self.0);
        for sale in &snapshot.sales {
            let number = |field: &str| sale.numbers.get(field).copied().unwrap_or_default();
            let mut points = old.remove(&sale.name).unwrap_or_default();
            let point = Point {
                at_ms: snapshot.at_ms,
                available: number("available"),
                held: number("held"),
                sold: number("sold"),
                attempts: sale.counters.get("attempts").copied().unwrap_or_default(),
            };
            add(&mut points, point);
            self.0.insert(sale.name.clone(), points);
        }
    }

    /// The points of a sale.
    pub fn of(&self, sale: &str) -> Vec<Point> {
        self.0.get(sale).map(|points| points.iter().copied().collect()).unwrap_or_default()
    }
}

fn add(points: &mut VecDeque<Point>, point: Point) {
    while points.front().is_some_and(|first| first.at_ms + KEPT_MS < point.at_ms) {
        points.pop_front();
    }
    let is_near = |last: &Point| point.at_ms.saturating_sub(last.at_ms) < APART_MS;
    if points.back().is_some_and(is_near) {
        return;
    }
    let mut newest = points.iter().rev();
    if let (Some(last), Some(before)) = (newest.next(), newest.next()) {
        if last.is_as(&point) && before.is_as(&point) {
            points.pop_back();
        }
    }
    points.push_back(point);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(at_ms: u64, sold: i64) -> Point {
        Point { at_ms, available: 0, held: 0, sold, attempts: 0 }
    }

    #[test]
    fn rest_costs_two_points_and_old_ones_go() {
        let mut points = VecDeque::new();
        for turn in 0..9 {
            add(&mut points, at(turn * 15_000, 0));
        }
        assert_eq!(points, [at(0, 0), at(120_000, 0)]);
        add(&mut points, at(120_500, 7));
        assert_eq!(points.len(), 2, "too near");
        add(&mut points, at(135_000, 7));
        add(&mut points, at(KEPT_MS + 60_000, 7));
        assert_eq!(points, [at(120_000, 0), at(135_000, 7), at(KEPT_MS + 60_000, 7)]);
    }
}
