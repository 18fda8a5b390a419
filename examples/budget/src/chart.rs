//! The picture: used units over time, with reserved units on top.

use std::path::Path;
use std::time::Duration;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use seckill_chart::{picture, round_step, text, Area, Drawn, INK, PALE_INK};

use crate::{Play, Sample};

const WIDTH: i32 = 860;
const HEIGHT: i32 = 380;
const MARGIN: i32 = 24;
const LEFT: i32 = 72;
const TOP: i32 = 84;
const BOTTOM: i32 = HEIGHT - 56;
const GRID: RGBColor = RGBColor(208, 215, 222);
const USED: RGBColor = RGBColor(9, 105, 218);
const RESERVED: RGBColor = RGBColor(191, 135, 0);
const KILLED: RGBColor = RGBColor(207, 34, 46);

pub fn write(
    file: &Path,
    options: &Play,
    samples: &[Sample],
    killed: &[Duration],
) -> Result<(), String> {
    let size = (WIDTH as u32, HEIGHT as u32);
    picture(file, size, |area| draw(area, options, samples, killed))
}

fn draw(area: &Area<'_>, options: &Play, samples: &[Sample], killed: &[Duration]) -> Drawn {
    let title = format!("One budget, {} workers", options.workers);
    text(area, &title, (MARGIN, 24), 19, INK, HPos::Left)?;
    let below = "Each reserves 1,000 for a call, and keeps what the call cost. Red: a process of \
                 workers is killed.";
    text(area, below, (MARGIN, 48), 12, PALE_INK, HPos::Left)?;
    let end = samples.last().map_or(1.0, |sample| sample.at.as_secs_f64()).max(0.1);
    let width = f64::from(WIDTH - MARGIN - LEFT);
    let x = |at: Duration| LEFT + (width * at.as_secs_f64() / end) as i32;
    let height = f64::from(BOTTOM - TOP);
    let y = |units: u64| BOTTOM - (height * units as f64 / f64::from(options.budget)) as i32;
    for quarter in 0..=4_u64 {
        let units = u64::from(options.budget) * quarter / 4;
        area.draw(&PathElement::new([(LEFT, y(units)), (WIDTH - MARGIN, y(units))], GRID))?;
        let label = format!("{:.1} M", units as f64 / 1e6);
        text(area, &label, (LEFT - 8, y(units)), 11, PALE_INK, HPos::Right)?;
    }
    let step = round_step(end);
    for second in (0..).map(|number| f64::from(number) * step).take_while(|at| *at <= end) {
        let at = x(Duration::from_secs_f64(second));
        text(area, &format!("{second} s"), (at, BOTTOM + 26), 11, PALE_INK, HPos::Center)?;
    }
    let layer = |of: &dyn Fn(&Sample) -> u64| {
        let line = samples.iter().map(|sample| (x(sample.at), y(of(sample))));
        let ends = [(x(samples[samples.len() - 1].at), BOTTOM), (LEFT, BOTTOM)];
        line.chain(ends).collect::<Vec<_>>()
    };
    if !samples.is_empty() {
        let all = layer(&|sample| sample.used + sample.reserved);
        area.draw(&Polygon::new(all, RESERVED.filled()))?;
        area.draw(&Polygon::new(layer(&|sample| sample.used), USED.filled()))?;
    }
    for at in killed {
        let place = x(*at);
        area.draw(&PathElement::new([(place, BOTTOM + 4), (place, BOTTOM + 14)], KILLED))?;
    }
    for (number, (name, color)) in (0..).zip([("Reserved", RESERVED), ("Used", USED)]) {
        let (left, top) = (LEFT + 12 + number * 96, TOP - 14);
        area.draw(&Rectangle::new([(left, top - 5), (left + 10, top + 5)], color.filled()))?;
        text(area, name, (left + 16, top), 12, INK, HPos::Left)?;
    }
    Ok(())
}
