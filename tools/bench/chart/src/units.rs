//! Units of each part over time: two runs of one sale side by side.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::{picture, round_step, text, Area, Drawn, INK, PALE_INK};

const WIDTH: u32 = 860;
const HEIGHT: u32 = 380;
const TOP: i32 = 74;
const BOTTOM: i32 = 340;
const PANEL: i32 = 380;
const LEFT: i32 = 60;
const GAP: i32 = 30;

const LEAST_ASKED: (f64, f64, f64) = (9.0, 105.0, 218.0);
const MOST_ASKED: (f64, f64, f64) = (207.0, 34.0, 46.0);
const GRID: RGBColor = RGBColor(208, 215, 222);

/// One sale.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The name in the legend.
    pub name: &'a str,
    /// Seconds since the start, with the units of each part.
    pub samples: &'a [(f64, Vec<u64>)],
    /// Length of the run, in seconds.
    pub seconds: f64,
}

/// Writes the picture of two runs.
pub fn write(file: &Path, title: &str, below: &str, runs: &[Run<'_>; 2]) -> Result<(), String> {
    picture(file, (WIDTH, HEIGHT), |area| draw(area, title, below, runs))
}

fn draw(area: &Area<'_>, title: &str, below: &str, runs: &[Run<'_>; 2]) -> Drawn {
    text(area, title, (20, 22), 17, INK, HPos::Left)?;
    text(area, below, (20, 42), 12, PALE_INK, HPos::Left)?;
    let seconds = runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
    let most = runs.iter().flat_map(|run| run.samples).flat_map(|(_, units)| units).max();
    let scale = Scale { seconds, units: most.copied().unwrap_or(1) as f64 };
    legend(area)?;
    for (number, run) in runs.iter().enumerate() {
        panel(area, LEFT + number as i32 * (PANEL + GAP), run, &scale)?;
    }
    Ok(())
}

/// Two short lines with their names, to the right of the title.
fn legend(area: &Area<'_>) -> Drawn {
    for (left, rank, name) in [(540, 1.0, "most"), (700, 0.0, "least")] {
        let line = [(left, 22), (left + 26, 22)];
        area.draw(&PathElement::new(line, ink(rank).stroke_width(3)))?;
        text(area, &format!("the part {name} asked"), (left + 32, 22), 12, PALE_INK, HPos::Left)?;
    }
    Ok(())
}

struct Scale {
    seconds: f64,
    units: f64,
}

impl Scale {
    fn at(&self, left: i32, seconds: f64, units: f64) -> (i32, i32) {
        let x = left + (f64::from(PANEL - 20) * seconds / self.seconds) as i32;
        (x, BOTTOM - (f64::from(BOTTOM - TOP) * units / self.units) as i32)
    }
}

fn panel(area: &Area<'_>, left: i32, run: &Run<'_>, scale: &Scale) -> Drawn {
    text(area, run.name, (left, TOP - 14), 13, INK, HPos::Left)?;
    let step = round_step(scale.units);
    for number in 0..=(scale.units / step) as u32 {
        let units = step * f64::from(number);
        let (x, y) = scale.at(left, scale.seconds, units);
        area.draw(&PathElement::new([(left, y), (x, y)], GRID))?;
        if left == LEFT {
            text(area, &format!("{units:.0}"), (left - 8, y), 11, PALE_INK, HPos::Right)?;
        }
    }
    let step = round_step(scale.seconds);
    for number in 0..=(scale.seconds / step) as u32 {
        let seconds = step * f64::from(number);
        let (x, y) = scale.at(left, seconds, 0.0);
        let label = format!("{:.0} ms", seconds * 1e3);
        text(area, &label, (x, y + 14), 11, PALE_INK, HPos::Center)?;
    }
    let ranks = ranks(run);
    for (part, rank) in ranks.iter().enumerate() {
        let shown = run.samples.iter().step_by(2);
        let line = shown.map(|(at, units)| scale.at(left, *at, units[part] as f64));
        area.draw(&PathElement::new(line.collect::<Vec<_>>(), ink(*rank).stroke_width(1)))?;
    }
    Ok(())
}

/// The demand of each part, from 0 to 1, estimated from its first grants.
fn ranks(run: &Run<'_>) -> Vec<f64> {
    let early = run.samples.get(4).or(run.samples.last());
    let Some((_, units)) = early else { return Vec::new() };
    let (least, most) = (units.iter().min(), units.iter().max());
    let (least, most) = (least.copied().unwrap_or(0) as f64, most.copied().unwrap_or(0) as f64);
    units.iter().map(|left| (most - *left as f64) / (most - least).max(1.0)).collect()
}

fn ink(rank: f64) -> RGBColor {
    let mix = |from: f64, to: f64| (from + (to - from) * rank) as u8;
    RGBColor(
        mix(LEAST_ASKED.0, MOST_ASKED.0),
        mix(LEAST_ASKED.1, MOST_ASKED.1),
        mix(LEAST_ASKED.2, MOST_ASKED.2),
    )
}
