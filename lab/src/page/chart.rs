//! The chart: too many and too few over concurrency, and decisions a second beside.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use seckill_chart::{picture, text, Area, Drawn, INK, PALE_INK};

use crate::page::Report;
use crate::rush::cell::Cell;
use crate::rush::count::Crowd;
use crate::strategies::ALL;

const LINE: i32 = 17;
const TOP: i32 = 62;
/// Where nothing is too many nor too few, how far the bars reach, and where speed begins.
const ZERO: i32 = 250;
const REACH: i32 = 190;
const SPEED: i32 = 560;
const WIDTH: u32 = 860;

const TOO_MANY: RGBColor = RGBColor(207, 34, 46);
const TOO_FEW: RGBColor = RGBColor(9, 105, 218);
const FAST: RGBColor = RGBColor(110, 119, 129);
const PALE: RGBColor = RGBColor(208, 215, 222);

/// # Errors
/// A sentence.
pub fn draw(report: &Report, file: &Path) -> Result<(), String> {
    let ids: Vec<&str> = (ALL.iter().map(|one| one.id))
        .filter(|id| report.cells.iter().any(|cell| cell.id == *id))
        .collect();
    let height = (TOP + LINE * ids.len() as i32 + 30) as u32;
    picture(file, (WIDTH, height), |area| chart(area, report, &ids))
}

fn chart(area: &Area<'_>, report: &Report, ids: &[&str]) -> Drawn {
    text(
        area,
        "Units too few and too many, of 100 (c = 8, 50, 500 from top to bottom)",
        (20, 18),
        14,
        INK,
        HPos::Left,
    )?;
    text(area, "Decisions a second, c = 50", (SPEED, 18), 14, INK, HPos::Left)?;
    for units in [-100.0, -10.0, 0.0, 10.0, 100.0, 1000.0] {
        let x = ZERO + length(units);
        let bottom = TOP + LINE * ids.len() as i32;
        area.draw(&PathElement::new([(x, TOP - 8), (x, bottom)], PALE))?;
        let label = if units > 0.0 { format!("+{units}") } else { format!("{units}") };
        text(area, &label, (x, TOP - 18), 11, PALE_INK, HPos::Center)?;
    }
    let fastest = speeds(report).fold(1.0, f64::max);
    for (line, id) in ids.iter().enumerate() {
        let y = TOP + LINE * line as i32;
        text(area, id, (20, y + LINE / 2), 12, INK, HPos::Left)?;
        for cell in of(report, id) {
            let place = match cell.workers {
                ..=8 => 1,
                9..=50 => 6,
                _ => 11,
            };
            // In coins a sale of a million is shown as one of a hundred.
            let scale = 100.0 / (cell.supply as f64).clamp(100.0, f64::MAX);
            bar(area, y + place, cell.oversold.middle * scale, TOO_MANY)?;
            bar(area, y + place, -cell.undersold.middle * scale, TOO_FEW)?;
        }
        if let Some(cell) = of(report, id).filter(|cell| cell.workers <= 50).last() {
            let speed = cell.decisions_per_s.middle;
            let end = SPEED + (speed / fastest * 220.0) as i32;
            area.draw(&Rectangle::new([(SPEED, y + 3), (end, y + 14)], FAST.filled()))?;
            let label = format!("{speed:.0}");
            text(area, &label, (end + 5, y + LINE / 2), 11, PALE_INK, HPos::Left)?;
        }
    }
    Ok(())
}

fn of<'r>(report: &'r Report, id: &'r str) -> impl Iterator<Item = &'r Cell> {
    report.cells.iter().filter(move |cell| cell.id == id && cell.crowd == Crowd::Distinct)
}

fn speeds(report: &Report) -> impl Iterator<Item = f64> + '_ {
    report.cells.iter().filter(|cell| cell.workers <= 50).map(|cell| cell.decisions_per_s.middle)
}

/// From one to thousands in one picture: the logarithm, with the sign kept.
fn length(units: f64) -> i32 {
    let part = (1.0 + units.abs()).log10() / 4000f64.log10();
    (units.signum() * part * f64::from(REACH)) as i32
}

fn bar(area: &Area<'_>, y: i32, units: f64, ink: RGBColor) -> Drawn {
    if units == 0.0 {
        return Ok(());
    }
    let end = ZERO + length(units);
    area.draw(&Rectangle::new([(ZERO.min(end), y), (ZERO.max(end), y + 3)], ink.filled()))
}
