//! The picture: the server's time for each kind of call, a bar for the module and one for the Lua
//! script, on one server. Shorter is better.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use seckill_chart::{picture, text, Area, Drawn, INK, PALE_INK};

use crate::cases::sale;
use crate::contenders::{COMPARED, MODULE, SCRIPT};
use crate::figures::{Spread, SERVER_US};
use crate::report::{Report, Runs};
use crate::rows::short;

const WIDTH: u32 = 860;
const MARGIN: i32 = 20;
const NAME_WIDTH: i32 = 110;
const NUMBER_WIDTH: i32 = 60;
const ROW: i32 = 20;
const TITLE: i32 = 34;
const HEAD: i32 = 66;

const OURS: RGBColor = RGBColor(9, 105, 218);
const PEER: RGBColor = RGBColor(175, 184, 193);

struct Panel {
    title: String,
    bars: Vec<(&'static str, Spread)>,
}

pub fn write(file: &Path, runs: &Runs) -> Result<(), String> {
    // The newest Redis only, to keep the picture small. The page's table has all servers.
    let Some(run) = runs.newest_redis().or(runs.runs.first()) else { return Ok(()) };
    let panels = COMPARED.iter().map(|what| panel(run, what));
    let panels: Vec<Panel> = panels.filter(|panel| !panel.bars.is_empty()).collect();
    let rows: usize = panels.iter().map(|panel| panel.bars.len()).sum();
    let height = HEAD + panels.len() as i32 * TITLE + rows as i32 * ROW + MARGIN;
    picture(file, (WIDTH, height as u32), |area| draw(area, &run.server, &panels))
}

fn panel(run: &Report, what: &str) -> Panel {
    let case = sale::case(what, sale::LOGGED);
    let bars = [MODULE, SCRIPT]
        .into_iter()
        .filter_map(|who| Some((who, run.figures.spread((&case, who), SERVER_US)?)))
        .collect();
    let ratio = run.figures.ratio(SERVER_US, (&case, SCRIPT), (&case, MODULE));
    let title = match ratio {
        Some(ratio) => format!("{what}: {:.1} x", ratio.median),
        None => what.to_owned(),
    };
    Panel { title, bars }
}

fn draw(area: &Area<'_>, server: &str, panels: &[Panel]) -> Drawn {
    let left = HPos::Left;
    let above = format!("Server time per call in microseconds, {server}");
    text(area, &above, (MARGIN, 24), 19, INK, left)?;
    let below = "AOF everysec, 50 connections, 32 requests in a write, no replica; thin line: \
        shortest and longest round; shorter is better";
    text(area, below, (MARGIN, 47), 12, PALE_INK, left)?;
    let most = panels.iter().flat_map(|panel| &panel.bars).map(|(_, spread)| spread.most);
    let most = most.fold(0.0, f64::max);
    let mut y = HEAD;
    for panel in panels {
        text(area, &panel.title, (MARGIN, y + TITLE / 2 + 4), 14, INK, left)?;
        y += TITLE;
        for (who, spread) in &panel.bars {
            bar(area, who, spread, most, y)?;
            y += ROW;
        }
    }
    Ok(())
}

fn bar(area: &Area<'_>, who: &str, us: &Spread, most: f64, y: i32) -> Drawn {
    let start = MARGIN + NAME_WIDTH;
    let room = f64::from(WIDTH as i32 - start - NUMBER_WIDTH - MARGIN);
    let place = |us: f64| start + (room * us / most).round() as i32;
    let middle = y + ROW / 2;
    text(area, who, (start - 8, middle), 13, INK, HPos::Right)?;
    let color = if who == MODULE { OURS } else { PEER };
    let corners = [(start, y + 3), (place(us.median), y + ROW - 3)];
    area.draw(&Rectangle::new(corners, color.filled()))?;
    let range = [(place(us.least), middle), (place(us.most), middle)];
    area.draw(&PathElement::new(range, INK.stroke_width(1)))?;
    text(area, &short(us.median), (place(us.most) + 8, middle), 13, INK, HPos::Left)
}
