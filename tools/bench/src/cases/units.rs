//! Numbered units: the time of a GRAB beside a script that keeps seats, in a small and a very large
//! hall with half of the seats taken. Also the memory of a free number.

use seckill_crowd::screen::thousands;
use seckill_random::Random;

use super::sale;
use super::stall::scenes::{grab_these, MOST};
use super::Bench;
use crate::contenders::{LOWEST, MODULE, NAMED, SALE, SCRIPT};
use crate::control::Control;
use crate::figures::{BYTES, US};
use crate::rows::{Rows, DIRECT};

/// Calls to a hall with half of the seats taken.
const DEEDS: [&str; 2] = [THESE, RUN];
const THESE: &str = "GRAB UNITS of four";
const RUN: &str = "GRAB QTY 4";
const WANTED: usize = 4;

const MEMORY: &str = "memory of a free number";

fn of_size(deed: &str, seats: u64) -> String {
    format!("{deed} of {seats}")
}

pub fn run(bench: &mut Bench) -> Result<(), String> {
    sale::seats(bench)?;
    for round in 0..bench.plan.few_rounds {
        bench.step("halls of which half is taken", round);
        half_taken(bench, round as u64)?;
    }
    memory(bench)
}

/// A small and a large hall, called by turns. Each grant is cancelled, so each call finds half of
/// the seats taken.
fn half_taken(bench: &mut Bench, seed: u64) -> Result<(), String> {
    let [small, _, large] = bench.plan.sizes;
    let mut halls = [HalfTaken::new(bench, small, seed)?, HalfTaken::new(bench, large, seed)?];
    // 30% of the calls run longer than the p99.9 needs.
    let calls = bench.plan.calls * 3 / 10;
    for deed in DEEDS {
        halls.iter_mut().try_for_each(|hall| hall.control.tell(&["CONFIG", "RESETSTAT"]))?;
        for _ in 0..calls {
            halls.iter_mut().try_for_each(|hall| hall.grab(deed))?;
        }
        for hall in &mut halls {
            let took = hall.control.p999_us("SECKILL.GRAB")?;
            bench.figures.add(&of_size(deed, hall.seats), MODULE, US, took);
        }
    }
    Ok(())
}

struct HalfTaken {
    control: Control,
    seats: u64,
    is_taken: Vec<bool>,
    random: Random,
    grants: u64,
}

impl HalfTaken {
    /// Takes each seat with probability one half.
    fn new(bench: &Bench, seats: u64, seed: u64) -> Result<HalfTaken, String> {
        let mut random = Random(seed);
        let is_taken: Vec<bool> = (0..seats).map(|_| random.below(2) == 0).collect();
        let mut control = bench.server(&[])?;
        control.tell(&["SECKILL.INIT", SALE, &seats.to_string(), "LIMIT", "0", "NUMBERED"])?;
        let taken = (1..=seats).zip(&is_taken).filter(|(_, is_taken)| **is_taken);
        let taken: Vec<u64> = taken.map(|(seat, _)| seat).collect();
        let grants = taken.chunks(MOST as usize).map(<[u64]>::to_vec);
        grab_these(&mut control, grants)?;
        let available = control.status(SALE, "available")?;
        match available == seats - taken.len() as u64 {
            true => Ok(HalfTaken { control, seats, is_taken, random, grants: 0 }),
            false => Err(format!("{available} of {seats} seats are free")),
        }
    }

    fn grab(&mut self, deed: &str) -> Result<(), String> {
        self.grants += 1;
        let user = format!("late:{}", self.grants);
        let mut words = vec!["SECKILL.GRAB".to_owned(), SALE.to_owned(), user.clone()];
        match deed {
            THESE => {
                words.push("UNITS".to_owned());
                words.extend(self.free_seats().iter().map(u64::to_string));
            }
            _ => words.extend(["QTY".to_owned(), WANTED.to_string()]),
        }
        let reply: Vec<redis::Value> = self.control.ask(&words)?;
        match reply.first() {
            Some(redis::Value::BulkString(word)) if word == b"GRANTED" => {
                self.control.tell(&["SECKILL.REFUND", SALE, &user])
            }
            _ => Err(format!("{deed} is answered {reply:?}")),
        }
    }

    fn free_seats(&mut self) -> Vec<u64> {
        let mut found = Vec::new();
        while found.len() < WANTED {
            let seat = 1 + self.random.below(self.seats);
            if !self.is_taken[seat as usize - 1] && !found.contains(&seat) {
                found.push(seat);
            }
        }
        found
    }
}

/// A sale with very many numbers, beside a sale with as many units without numbers.
fn memory(bench: &mut Bench) -> Result<(), String> {
    let [.., large] = bench.plan.sizes;
    let mut control = bench.server(&[])?;
    let mut bytes = |key: &str, terms: &[&str]| -> Result<f64, String> {
        control.tell(&[&["SECKILL.INIT", key, &large.to_string()], terms].concat())?;
        control.ask(&["MEMORY", "USAGE", key])
    };
    let plain = bytes("plain", &[])?;
    let numbered = bytes("named", &["NUMBERED"])?;
    bench.figures.add(MEMORY, MODULE, BYTES, (numbered - plain) / large as f64);
    Ok(())
}

pub fn rows(rows: &mut Rows<'_>) {
    for what in [NAMED, LOWEST] {
        sale::row(rows, what, sale::LOGGED, SCRIPT, 3.0);
    }
    let [few, _, many] = rows.plan.sizes;
    let setting = format!("{DIRECT}, half are taken");
    for deed in DEEDS {
        let [small, large] = [few, many].map(|seats| of_size(deed, seats));
        let what = format!("{deed}, {} numbers", thousands(many));
        let took = rows.beside((&large, MODULE), US);
        let figure = format!("p99.9 of server time, divided by that with {}; us", thousands(few));
        let both = (US, (&*large, MODULE), (&*small, MODULE));
        rows.ratio((&what, &figure), &setting, 3.0, both).note = took;
    }
    let setting = format!("{DIRECT}, {} numbers", thousands(many));
    rows.value((MEMORY, "bits"), &setting, 6.0, (MEMORY, BYTES, 1.0 / 8.0), "");
}
