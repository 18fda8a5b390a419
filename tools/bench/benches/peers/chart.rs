//! The picture: requests a second, a panel for each case, a bar for each contender.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::cases::{refusals, wins};
use crate::contenders::{
    ALREADY, FLOOR_ALREADY, FLOOR_GRANTED, FLOOR_SOLDOUT, FUNCTION, GRAB, INCR, LUA, MULTI, NOOP,
    PING, REPLAY, SADD, SOLDOUT,
};
use crate::figures::{Figures, Spread, PER_SECOND};
use crate::plan::Plan;
use crate::report::whole;
use seckill_chart::{text, Area, Drawn, INK, PALE_INK};
use seckill_crowd::screen::thousands;

const WIDTH: u32 = 860;
const MARGIN: i32 = 20;
const NAME_WIDTH: i32 = 190;
const NUMBER_WIDTH: i32 = 120;
const ROW: i32 = 22;
const TITLE: i32 = 34;
const HEAD: i32 = 66;

/// The module.
const OURS: RGBColor = RGBColor(9, 105, 218);
/// What a user would pick instead.
const PEER: RGBColor = RGBColor(154, 103, 0);
/// What bounds everybody: the server's own part of a call, and commands with less to do.
const BOUND: RGBColor = RGBColor(175, 184, 193);

struct Panel {
    title: String,
    bars: Vec<(&'static str, Spread)>,
}

/// Writes the chart; nothing when none of its cases were measured.
pub fn write(file: &Path, figures: &Figures, plan: &Plan) -> Result<(), String> {
    let panels = panels(figures, plan);
    let rows: usize = panels.iter().map(|panel| panel.bars.len()).sum();
    if rows == 0 {
        return Ok(());
    }
    let height = HEAD + panels.len() as i32 * TITLE + rows as i32 * ROW + MARGIN;
    let area = SVGBackend::new(file, (WIDTH, height as u32)).into_drawing_area();
    draw(&area, &panels).map_err(|e| format!("The chart can't be drawn: {e}"))
}

fn panels(figures: &Figures, plan: &Plan) -> Vec<Panel> {
    let middle = plan.sizes[1];
    let listed: [(String, String, &[&'static str]); 5] = [
        (
            wins::WINS.to_owned(),
            "A sale sells, no persistence".to_owned(),
            &[GRAB, FLOOR_GRANTED, SADD, MULTI, LUA, FUNCTION, NOOP, INCR, PING],
        ),
        (
            wins::AOF.to_owned(),
            "A sale sells, AOF synced every second".to_owned(),
            &[GRAB, FLOOR_GRANTED, SADD, LUA],
        ),
        (
            wins::REPLICA.to_owned(),
            "A sale sells, one replica attached".to_owned(),
            &[GRAB, SADD, LUA],
        ),
        (
            refusals::case(middle),
            format!("Nothing left, {} winners", thousands(middle)),
            &[SOLDOUT, FLOOR_SOLDOUT, ALREADY, FLOOR_ALREADY, REPLAY, LUA, NOOP, INCR],
        ),
        (
            refusals::case(refusals::ONE),
            "Nothing left, one winner".to_owned(),
            &[SOLDOUT, FLOOR_SOLDOUT, ALREADY, FLOOR_ALREADY, NOOP, INCR],
        ),
    ];
    let mut panels = Vec::new();
    for (case, title, names) in listed {
        let found = |name: &&'static str| Some((*name, figures.spread(&case, name, PER_SECOND)?));
        let bars: Vec<_> = names.iter().filter_map(found).collect();
        if !bars.is_empty() {
            panels.push(Panel { title, bars });
        }
    }
    panels
}

fn draw(area: &Area<'_>, panels: &[Panel]) -> Drawn {
    area.fill(&WHITE)?;
    let left = HPos::Left;
    text(area, "Requests a second", (MARGIN, 24), 19, INK, left)?;
    let below = "redis-benchmark, 50 connections, 32 requests in a pipeline, one core for the \
        server; line: least to most; grey: less work, as what the server alone needs";
    text(area, below, (MARGIN, 47), 12, PALE_INK, left)?;
    let rates = panels.iter().flat_map(|panel| &panel.bars).map(|(_, spread)| spread.most);
    let most = rates.fold(1.0, f64::max);
    let mut y = HEAD;
    for panel in panels {
        text(area, &panel.title, (MARGIN, y + TITLE / 2 + 4), 14, INK, left)?;
        y += TITLE;
        for (name, spread) in &panel.bars {
            bar(area, name, spread, most, y)?;
            y += ROW;
        }
    }
    area.present()
}

fn bar(area: &Area<'_>, name: &str, rate: &Spread, most: f64, y: i32) -> Drawn {
    let start = MARGIN + NAME_WIDTH;
    let room = f64::from(WIDTH as i32 - start - NUMBER_WIDTH - MARGIN);
    let place = |rate: f64| start + (room * rate / most).round() as i32;
    let middle = y + ROW / 2;
    text(area, name, (start - 8, middle), 13, INK, HPos::Right)?;
    let corners = [(start, y + 3), (place(rate.median), y + ROW - 3)];
    area.draw(&Rectangle::new(corners, color(name).filled()))?;
    let range = [(place(rate.least), middle), (place(rate.most), middle)];
    area.draw(&PathElement::new(range, INK.stroke_width(1)))?;
    let number = whole(rate.median);
    let right = place(rate.most.max(rate.median)) + 8;
    text(area, &number, (right, middle), 13, INK, HPos::Left)
}

fn color(name: &str) -> RGBColor {
    match name {
        PING | INCR | NOOP | FLOOR_GRANTED | FLOOR_SOLDOUT | FLOOR_ALREADY => BOUND,
        SADD | MULTI | LUA | FUNCTION => PEER,
        _ => OURS,
    }
}
