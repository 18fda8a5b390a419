//! The picture: people in the order of their first call, and how many of each hundred paid for a
//! unit in the end.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use seckill_chart::{picture, text, Area, Drawn, INK, PALE_INK};

use crate::is_robot;

const WIDTH: i32 = 860;
const MARGIN: i32 = 24;
/// Left edge of the bars, after the marks of the axis.
const LEFT: i32 = 64;
const HEAD: i32 = 70;
const PANEL: i32 = 170;
const GRID: RGBColor = RGBColor(208, 215, 222);
const BARS: usize = 100;

const PEOPLE: RGBColor = RGBColor(9, 105, 218);
const ROBOTS: RGBColor = RGBColor(207, 34, 46);

/// Writes the picture of both sales.
pub fn write(file: &Path, people: u32, sales: &[(&str, &Vec<bool>); 2]) -> Result<(), String> {
    let height = HEAD + sales.len() as i32 * PANEL + MARGIN;
    picture(file, (WIDTH as u32, height as u32), |area| draw(area, people, sales))
}

fn draw(area: &Area<'_>, people: u32, sales: &[(&str, &Vec<bool>); 2]) -> Drawn {
    let left = HPos::Left;
    text(area, "Who has paid for a unit in the end", (MARGIN, 24), 19, INK, left)?;
    let below =
        "percent of those who asked at about one time; red: robots, which never stop clicking";
    text(area, below, (MARGIN, 48), 12, PALE_INK, left)?;
    for (number, (name, paid)) in (0..).zip(sales) {
        let top = HEAD + number * PANEL;
        text(area, name, (MARGIN, top + 12), 14, INK, left)?;
        panel(area, people, paid, top + 26, top + PANEL - 28)?;
    }
    Ok(())
}

fn panel(area: &Area<'_>, people: u32, paid: &[bool], top: i32, bottom: i32) -> Drawn {
    let group = paid.len().div_ceil(BARS).max(1);
    let width = f64::from(WIDTH - MARGIN - LEFT);
    let step = width / BARS as f64;
    for percent in [0, 50, 100] {
        let y = bottom - (bottom - top) * percent / 100;
        area.draw(&PathElement::new([(LEFT, y), (WIDTH - MARGIN, y)], GRID))?;
        text(area, &format!("{percent} %"), (LEFT - 8, y), 11, PALE_INK, HPos::Right)?;
    }
    for quarter in 0..=4 {
        let x = LEFT + (width * f64::from(quarter) / 4.0) as i32;
        let label = match quarter {
            0 => "asked first".to_owned(),
            _ => format!("number {}", paid.len() * quarter as usize / 4),
        };
        let end = if quarter == 4 { HPos::Right } else { HPos::Left };
        text(area, &label, (x, bottom + 14), 11, PALE_INK, end)?;
    }
    for (number, some) in paid.chunks(group).enumerate() {
        let share = some.iter().filter(|paid| **paid).count() as f64 / some.len() as f64;
        let left = LEFT + (number as f64 * step) as i32;
        let right = LEFT + ((number + 1) as f64 * step) as i32 - 1;
        let color = if is_robot((number * group) as u32, people) { ROBOTS } else { PEOPLE };
        let height = (share * f64::from(bottom - top)).round() as i32;
        area.draw(&Rectangle::new([(left, bottom - height), (right, bottom)], color.filled()))?;
    }
    let floor = vec![(LEFT, bottom), (WIDTH - MARGIN, bottom)];
    area.draw(&PathElement::new(floor, PALE_INK.stroke_width(1)))
}
