//! The counts of one rush.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::interleave::judge::is_refusal;
use crate::rush::cell::Run;
use crate::told::{Books, Reason, Verdict};

/// One request, from its sending to its answer.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub user: usize,
    pub begin: Instant,
    pub end: Instant,
    pub told: Verdict,
}

impl Call {
    pub fn took(&self) -> Duration {
        self.end - self.begin
    }

    fn units(&self) -> u64 {
        match self.told {
            Verdict::Won(units) => units,
            _ => 0,
        }
    }
}

/// Counts everything that follows from the answers and the final data.
pub fn count(
    began: Instant,
    calls: &[Call],
    stock: u64,
    restocked: Option<(u64, Instant)>,
    books: Books,
) -> Run {
    let supply = stock + restocked.map_or(0, |(units, _)| units);
    let told: u64 = calls.iter().map(Call::units).sum();
    let mut wins: Vec<&Call> = calls.iter().filter(|call| call.units() > 0).collect();
    wins.sort_by_key(|call| call.begin);
    // Units of winners, by the time when their request began.
    let mut taken: Vec<(Instant, u64)> = Vec::with_capacity(wins.len());
    for call in &wins {
        let before = taken.last().map_or(0, |(_, units)| *units);
        taken.push((call.begin, before + call.units()));
    }
    let taken_before = |moment: Instant| match taken.partition_point(|(begin, _)| *begin < moment) {
        0 => 0,
        at => taken[at - 1].1,
    };
    let there = |moment: Instant| match restocked {
        Some((units, at)) if at < moment => stock + units,
        _ => stock,
    };
    let refusals = || calls.iter().filter(|call| is_refusal(Some(call.told)));
    let wrong = || refusals().filter(|call| taken_before(call.end) < there(call.begin));
    let first_no = wrong().map(|call| call.end).min();
    let inversions = wins.iter().filter(|call| first_no.is_some_and(|no| call.begin > no)).count();
    let mut by_user: HashMap<usize, u64> = HashMap::new();
    for call in &wins {
        *by_user.entry(call.user).or_default() += 1;
    }
    let last_win = wins.iter().map(|call| call.end).max();
    let end = calls.iter().map(|call| call.end).max().unwrap_or(began);
    // The thread that opens the gate may be the last to start its own requests.
    let began = calls.iter().map(|call| call.begin).min().unwrap_or(began);
    let lost =
        |reason| calls.iter().filter(|call| call.told == Verdict::Lost(reason)).count() as u64;
    let records = books.records.unwrap_or(told);
    Run {
        requests: calls.len() as u64,
        supply,
        told,
        winners: wins.len() as u64,
        undersold: if first_no.is_some() { supply.saturating_sub(told) } else { 0 },
        no_record: told.saturating_sub(records),
        no_winner: records.saturating_sub(told),
        users_with_two: by_user.values().filter(|wins| **wins > 1).count() as u64,
        counter: books.counter,
        wrong_refusals: wrong().count() as u64,
        inversions: inversions as u64,
        in_then_out: lost(Reason::SoldOutInside),
        errors: lost(Reason::Error),
        hangs: lost(Reason::Hangs),
        stuck: false,
        seconds: (end - began).as_secs_f64(),
        sold_out_ms: last_win.map_or(0.0, |end| (end - began).as_secs_f64() * 1e3),
        ..Run::default()
    }
}
