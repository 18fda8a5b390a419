//! Buyers who call their own part, and reads of the parts meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crc::{Crc, CRC_32_ISO_HDLC};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use redis::{Connection, Pipeline, Value};
use seckill_client::Answer;
use seckill_random::Random;

use crate::cluster::{units, Cluster};
use crate::{told, Told};

/// The CRC-32 that every language has.
const CRC_32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const BUYERS: u64 = 4;
/// Calls of a buyer's client in one write.
const AT_ONCE: usize = 64;
const LOOK_EVERY: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(120);

/// A sale, and the rush on it.
pub struct Rush<'c> {
    pub cluster: &'c Cluster,
    pub keys: Vec<String>,
    /// The node of each part.
    pub nodes: Vec<usize>,
    pub units: u64,
}

/// The answers to the buyers, and the counts of a rush.
#[derive(Default)]
pub struct Outcome {
    pub granted: u64,
    /// Answers SOLDOUT above 0 while other parts had units.
    pub too_early: u64,
    pub seconds: f64,
    /// Seconds since the start, with the units for sale in each part.
    pub samples: Vec<(f64, Vec<u64>)>,
}

#[derive(Default)]
struct Heard {
    granted: AtomicU64,
    too_early: AtomicU64,
    is_over: AtomicBool,
}

impl Heard {
    fn hear(&self, told: &Answer) -> Told<()> {
        match (told.outcome, told.held) {
            (seckill_client::Outcome::Granted, _) => {
                self.granted.fetch_add(1, Ordering::Relaxed);
            }
            (seckill_client::Outcome::SoldOut, Some(held)) => {
                self.too_early.fetch_add(u64::from(held > 0), Ordering::Relaxed);
            }
            _ => return Err(format!("A buyer was told {told:?}")),
        }
        Ok(())
    }
}

impl Rush<'_> {
    /// Lets buyers buy until all units are sold.
    pub fn run(&self) -> Told<Outcome> {
        let (told, started) = (Heard::default(), Instant::now());
        let heard = &told;
        let samples = thread::scope(|scope| {
            let buyers: Vec<_> =
                (1..=BUYERS).map(|seed| scope.spawn(move || self.buy(seed, heard))).collect();
            let samples = self.watch(heard, started);
            heard.is_over.store(true, Ordering::Relaxed);
            for buyer in buyers {
                buyer.join().map_err(|_| "A buyer failed")??;
            }
            samples
        })?;
        Ok(Outcome {
            granted: told.granted.into_inner(),
            too_early: told.too_early.into_inner(),
            seconds: samples.last().map_or(0.0, |(at, _)| *at),
            samples,
        })
    }

    /// The part with the most calls gets three times as many as the one with the fewest.
    fn draw(&self, random: &mut Random) -> (usize, String) {
        loop {
            let user = format!("user-{}", random.below(1_000_000));
            let home = CRC_32.checksum(user.as_bytes()) as usize % self.keys.len();
            let asked = 500 + 1_000 * home as u64 / self.keys.len().max(2) as u64;
            if random.below(1_500) < asked {
                return (home, user);
            }
        }
    }

    fn buy(&self, seed: u64, heard: &Heard) -> Told<()> {
        let (mut conns, mut random) = (self.cluster.connect()?, Random(seed));
        while !heard.is_over.load(Ordering::Relaxed) {
            let mut calls: Vec<Pipeline> = conns.iter().map(|_| Pipeline::new()).collect();
            for _ in 0..AT_ONCE {
                let (home, user) = self.draw(&mut random);
                calls[self.nodes[home]].cmd("SECKILL.GRAB").arg(&self.keys[home]).arg(user);
            }
            for (calls, conn) in calls.iter().zip(&mut conns) {
                if calls.is_empty() {
                    continue;
                }
                let replies: Vec<Answer> = calls.query(conn).map_err(told)?;
                for reply in replies {
                    heard.hear(&reply)?;
                }
            }
        }
        Ok(())
    }

    /// Reads all parts until nothing is left.
    fn watch(&self, heard: &Heard, started: Instant) -> Told<Vec<(f64, Vec<u64>)>> {
        let (mut conns, mut samples) = (self.cluster.connect()?, Vec::new());
        let share = self.units.div_ceil(self.keys.len() as u64);
        let (view, style) = (MultiProgress::new(), "{msg:9} {bar:50.blue} {pos:>7}");
        let style = ProgressStyle::with_template(style).map_err(|e| e.to_string())?;
        let bar = |part: usize| {
            let bar = ProgressBar::new(2 * share).with_style(style.clone());
            view.add(bar).with_message(format!("part {part}"))
        };
        let bars: Vec<ProgressBar> = (0..self.keys.len()).map(bar).collect();
        let mut line = Instant::now();
        loop {
            let at = started.elapsed();
            let left = self.look(&mut conns)?;
            for (bar, left) in bars.iter().zip(&left) {
                bar.set_position(*left);
            }
            let granted = heard.granted.load(Ordering::Relaxed);
            if bars[0].is_hidden() && line.elapsed() > Duration::from_secs(1) {
                line = Instant::now();
                println!("{:.1} s: {granted} of {} sold", at.as_secs_f64(), self.units);
            }
            samples.push((at.as_secs_f64(), left));
            if granted >= self.units {
                return view.clear().map(|()| samples).map_err(|e| e.to_string());
            }
            if heard.is_over.load(Ordering::Relaxed) || at > PATIENCE {
                return Err(format!("{granted} of {} sold in {PATIENCE:?}", self.units));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    fn look(&self, conns: &mut [Connection]) -> Told<Vec<u64>> {
        let mut left = vec![0; self.keys.len()];
        for (node, conn) in conns.iter_mut().enumerate() {
            let here: Vec<usize> = (0..left.len()).filter(|p| self.nodes[*p] == node).collect();
            let mut pipe = redis::pipe();
            for part in &here {
                pipe.cmd("SECKILL.PARTS").arg(&self.keys[*part]);
            }
            let replies: Vec<Value> = match here.is_empty() {
                true => Vec::new(),
                false => pipe.query(conn).map_err(told)?,
            };
            for (part, reply) in here.iter().zip(&replies) {
                left[*part] = units(reply)?.0;
            }
        }
        Ok(left)
    }
}
