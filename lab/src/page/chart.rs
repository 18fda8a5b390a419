//! The chart: oversold and unsold units by number of workers, and decisions a second beside them.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use seckill_chart::{picture, text, Area, Drawn, INK, PALE_INK};

use crate::report::Report;
use crate::rush::cell::Cell;
use crate::rush::cell::Crowd;
use crate::strategies::ALL;

const LINE: i32 = 17;
/// Height of a line of a name.
const NAME_LINE: i32 = 13;
const TOP: i32 = 62;
/// Horizontal positions: the end of names, the zero line of bars, the longest bar, and the start of
/// speeds.
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
/// A message that says what failed.
pub fn draw(report: &Report, file: &Path) -> Result<(), String> {
    let ids: Vec<&str> = (ALL.iter().map(|one| one.id))
        .filter(|id| report.cells.iter().any(|cell| cell.id == *id))
        .collect();
    let rows = rows(&ids);
    let height = (bottom(&rows) + 30) as u32;
    picture(file, (WIDTH, height), |area| chart(area, report, &rows))
}

/// A strategy's row of the picture: its name, in several lines if it is long, and its upper edge.
struct Row<'r> {
    id: &'r str,
    name: Vec<String>,
    top: i32,
}

impl Row<'_> {
    fn height(&self) -> i32 {
        LINE.max(NAME_LINE * self.name.len() as i32 + 4)
    }
}

fn rows<'r>(ids: &[&'r str]) -> Vec<Row<'r>> {
    let mut top = TOP;
    let row = |&id: &&'r str| {
        let row = Row { id, name: broken(&name(id), NAME_MAX), top };
        top += row.height();
        row
    };
    ids.iter().map(row).collect()
}

fn bottom(rows: &[Row<'_>]) -> i32 {
    rows.last().map_or(TOP, |row| row.top + row.height())
}

fn chart(area: &Area<'_>, report: &Report, rows: &[Row<'_>]) -> Drawn {
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
        area.draw(&PathElement::new([(x, TOP - 8), (x, bottom(rows))], PALE))?;
        let label = if units > 0.0 { format!("+{units}") } else { format!("{units}") };
        text(area, &label, (x, TOP - 18), 11, PALE_INK, HPos::Center)?;
    }
    let fastest = speeds(report).fold(1.0, f64::max);
    for row in rows {
        let (id, middle) = (row.id, row.top + row.height() / 2);
        let first = middle - NAME_LINE * (row.name.len() as i32 - 1) / 2;
        for (at, part) in row.name.iter().enumerate() {
            text(area, part, (20, first + NAME_LINE * at as i32), 11, INK, HPos::Left)?;
        }
        let y = middle - LINE / 2;
        for cell in of(report, id) {
            let place = match cell.workers {
                ..=8 => 1,
                9..=50 => 6,
                _ => 11,
            };
            // A sale of coins is scaled down to one of 100 units.
            let scale = 100.0 / (cell.supply as f64).clamp(100.0, f64::MAX);
            bar(area, y + place, cell.oversold.middle * scale, TOO_MANY)?;
            bar(area, y + place, -cell.undersold.middle * scale, TOO_FEW)?;
        }
        match of(report, id).filter(|cell| cell.workers <= 50).last().map(Cell::steady_speed) {
            Some(Some(speed)) => {
                let end = SPEED + (speed.middle / fastest * 220.0) as i32;
                area.draw(&Rectangle::new([(SPEED, y + 3), (end, y + 14)], FAST.filled()))?;
                let label = format!("{:.0}", speed.middle);
                text(area, &label, (end + 5, middle), 11, PALE_INK, HPos::Left)?;
            }
            Some(None) => text(area, "varies", (SPEED, middle), 11, PALE_INK, HPos::Left)?,
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

/// The id and source of a row as in the page's table. The module's rows are named by their
/// commands.
fn name(id: &str) -> String {
    let row = ALL.iter().find(|one| one.id == id);
    let what = row.map_or("", |one| if one.is_ours() { one.steps } else { one.seed });
    format!("{id}  {what}")
}

/// Letters in a line of a name.
const NAME_MAX: usize = 40;

/// A text in lines of at most `most` letters, broken at spaces.
fn broken(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let fits = |line: &String| line.chars().count() + 1 + word.chars().count() <= most;
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if fits(line) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Logarithmic length with a sign, so that one picture can have one and thousands of units.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_loses_a_letter() {
        for row in ALL {
            let lines = broken(&name(row.id), NAME_MAX);
            assert_eq!(lines.join(" "), name(row.id));
            assert!(lines.iter().all(|line| line.chars().count() <= NAME_MAX), "{lines:?}");
        }
    }
}
