//! The chart: too many and too few over concurrency, and decisions a second beside.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use seckill_chart::{picture, text, Area, Drawn, INK, PALE_INK};

use crate::report::Report;
use crate::rush::cell::Cell;
use crate::rush::cell::Crowd;
use crate::strategies::ALL;

const LINE: i32 = 17;
const TOP: i32 = 62;
/// Where names end, where nothing is too many nor too few, how far the bars reach, and where speed
/// begins.
const NAMES: i32 = 240;
const ZERO: i32 = NAMES + 210;
const REACH: i32 = 190;
const SPEED: i32 = ZERO + 260;
const WIDTH: u32 = SPEED as u32 + 330;

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
        (NAMES, 18),
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
        text(area, &name(id), (20, y + LINE / 2), 11, INK, HPos::Left)?;
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
        match of(report, id).filter(|cell| cell.workers <= 50).last().map(Cell::steady_speed) {
            Some(Some(speed)) => {
                let end = SPEED + (speed.middle / fastest * 220.0) as i32;
                area.draw(&Rectangle::new([(SPEED, y + 3), (end, y + 14)], FAST.filled()))?;
                let label = format!("{:.0}", speed.middle);
                text(area, &label, (end + 5, y + LINE / 2), 11, PALE_INK, HPos::Left)?;
            }
            Some(None) => text(area, "varies", (SPEED, y + LINE / 2), 11, PALE_INK, HPos::Left)?,
            None => {}
        }
    }
    Ok(())
}

fn of<'r>(report: &'r Report, id: &'r str) -> impl Iterator<Item = &'r Cell> {
    report.cells.iter().filter(move |cell| cell.id == id && cell.crowd == Crowd::Distinct)
}

fn speeds(report: &Report) -> impl Iterator<Item = f64> + '_ {
    let shown = report.cells.iter().filter(|cell| cell.workers <= 50);
    shown.filter_map(Cell::steady_speed).map(|speed| speed.middle)
}

/// The row and where it comes from, as the table of the page has it; the module's own by what they
/// do.
fn name(id: &str) -> String {
    let row = ALL.iter().find(|one| one.id == id);
    let what = row.map_or("", |one| if one.is_ours() { one.steps } else { one.seed });
    let name = format!("{id}  {what}");
    match name.char_indices().nth(NAME_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// Letters of a name.
const NAME_MAX: usize = 40;

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
