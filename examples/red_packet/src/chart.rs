//! The picture: for each round the coins of the winners, and the use of the budget.

use std::fs;
use std::path::Path;

use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::amounts::{Kind, COINS_BOUND};
use crate::round::{Event, Played};
use seckill_chart::{picture, style, text, Area, Drawn, INK, PALE_INK};
use seckill_crowd::screen::thousands;

const WIDTH: u32 = 960;
const HEAD: u32 = 84;
const PANEL: u32 = 244;
const TITLE: u32 = 34;
const MARGIN: i32 = 24;
/// Left edge of the second chart in a panel.
const SPLIT: u32 = 520;
/// Coins of one bar.
const STEP: u64 = 4;
/// Factor for the space above the highest bar and above the budget.
const HEADROOM: f64 = 1.18;

const GRID: RGBColor = RGBColor(228, 231, 235);
const RED: RGBColor = RGBColor(196, 38, 46);
const GOLD: RGBColor = RGBColor(222, 170, 46);

/// The scale of all panels, so that they can be compared.
struct Scale {
    /// Winners of the highest bar.
    users: f64,
    budget: f64,
    seconds: f64,
}

/// Winners with this many coins: regular and new ones.
type Bars = Vec<(u64, u64)>;

/// Writes the picture.
///
/// # Errors
/// A message that says what can't be written.
pub fn write(file: &Path, event: &Event<'_>, rounds: &[Played]) -> Result<(), String> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|e| format!("No folder for the picture: {e}"))?;
    }
    let height = HEAD + PANEL * rounds.len() as u32;
    picture(file, (WIDTH, height), |area| draw(area, event, rounds))
}

fn draw(area: &Area<'_>, event: &Event<'_>, rounds: &[Played]) -> Drawn {
    let bars: Vec<Bars> = rounds.iter().map(|round| bars(event, round)).collect();
    let highest = bars.iter().flatten().map(|(regular, new)| regular + new).max();
    let longest = rounds.iter().flat_map(|round| &round.grants).map(|grant| grant.after_ms).max();
    let scale = Scale {
        users: highest.unwrap_or(0).max(1) as f64,
        budget: event.budget as f64,
        seconds: longest.unwrap_or(0).max(10) as f64 / 1000.0,
    };
    let (head, mut below) = area.split_vertically(HEAD);
    headline(&head, event)?;
    for (round, bars) in rounds.iter().zip(&bars) {
        let (panel, rest) = below.split_vertically(PANEL);
        below = rest;
        let (title, charts) = panel.split_vertically(TITLE);
        panel_title(&title, event, round)?;
        let (left, right) = charts.split_horizontally(SPLIT);
        amounts(&left, &scale, bars)?;
        payments(&right, &scale, round)?;
    }
    Ok(())
}

fn bars(event: &Event<'_>, round: &Played) -> Bars {
    let mut bars = vec![(0, 0); COINS_BOUND.div_ceil(STEP) as usize];
    for grant in &round.grants {
        let (regular, new) = &mut bars[(grant.qty / STEP) as usize];
        *match event.amounts.kind(grant.user) {
            Kind::Regular => regular,
            Kind::New => new,
        } += 1;
    }
    bars
}

fn headline(area: &Area<'_>, event: &Event<'_>) -> Drawn {
    let budget = thousands(event.budget);
    let title = format!("Red packets: {budget} coins a round, and never a coin more");
    text(area, &title, (MARGIN, 26), 21, INK, HPos::Left)?;
    let (users, clients) = (thousands(event.users.into()), event.clients);
    let below = format!(
        "up to {users} users over {clients} connections, half of them click twice; the app asks \
         for an amount, the sale keeps the budget"
    );
    text(area, &below, (MARGIN, 50), 13, PALE_INK, HPos::Left)?;
    let mut x = MARGIN;
    for (ink, what, width) in [(GOLD, "regular users", 120), (RED, "new users", 90)] {
        area.draw(&Rectangle::new([(x, 66), (x + 12, 78)], ink.filled()))?;
        text(area, what, (x + 18, 72), 13, INK, HPos::Left)?;
        x += width;
    }
    Ok(())
}

fn panel_title(area: &Area<'_>, event: &Event<'_>, round: &Played) -> Drawn {
    let line = [(MARGIN, 4), (WIDTH as i32 - MARGIN, 4)];
    area.draw(&PathElement::new(line, GRID.stroke_width(1)))?;
    let (coins, winners) = (round.paid(), thousands(round.grants.len() as u64));
    let left = match event.budget - coins {
        0 => "the whole budget".to_owned(),
        left => format!("{} left", thousands(left)),
    };
    let title = format!(
        "Round {}: {} coins paid to {winners} of {} users, {left}",
        round.number,
        thousands(coins),
        thousands(round.users.into())
    );
    text(area, &title, (MARGIN, 21), 15, INK, HPos::Left)
}

/// Draws the number of users for each amount.
fn amounts(area: &Area<'_>, scale: &Scale, bars: &Bars) -> Drawn {
    let coins = 0.0..COINS_BOUND as f64;
    let mut chart = ChartBuilder::on(area)
        .margin_left(MARGIN)
        .margin_right(16)
        .margin_top(6)
        .margin_bottom(10)
        .x_label_area_size(42)
        .y_label_area_size(62)
        .build_cartesian_2d(coins, 0.0..scale.users * HEADROOM)?;
    mesh(&mut chart, [&format!("coins a user got (a bar: {STEP})"), "users"], &|x| {
        format!("{x:.0}")
    })?;
    let bar = |(place, low, high): (usize, u64, u64), ink: RGBColor| {
        let from = place as f64 * STEP as f64;
        let corners = [(from, low as f64), (from + STEP as f64, high as f64)];
        let mut bar = Rectangle::new(corners, ink.filled());
        bar.set_margin(0, 0, 1, 0);
        bar
    };
    let seen = bars.iter().enumerate();
    let regular = seen.clone().filter(|(_, (regular, _))| *regular > 0);
    chart.draw_series(regular.map(|(place, (regular, _))| bar((place, 0, *regular), GOLD)))?;
    let new = seen.filter(|(_, (_, new))| *new > 0);
    chart.draw_series(
        new.map(|(place, (regular, new))| bar((place, *regular, regular + new), RED)),
    )?;
    Ok(())
}

/// Draws the paid coins over time in milliseconds.
fn payments(area: &Area<'_>, scale: &Scale, round: &Played) -> Drawn {
    let end = scale.seconds * 1.04;
    let mut chart = ChartBuilder::on(area)
        .margin_right(MARGIN)
        .margin_top(6)
        .margin_bottom(10)
        .x_label_area_size(42)
        .y_label_area_size(88)
        .build_cartesian_2d(0.0..end, 0.0..scale.budget * HEADROOM)?;
    let axes = ["seconds after the opening", "coins paid"];
    mesh(&mut chart, axes, &|x| format!("{x:.2}"))?;
    let curve = curve(round, end);
    let mut under = curve.clone();
    under.extend([(end, 0.0), (0.0, 0.0)]);
    chart.draw_series([Polygon::new(under, RED.mix(0.12))])?;
    chart.draw_series([PathElement::new(curve, RED.stroke_width(2))])?;
    let budget = [(0.0, scale.budget), (end, scale.budget)];
    chart.draw_series([PathElement::new(budget, INK.stroke_width(1))])?;
    let (place, how) = outcome(round, scale);
    chart.draw_series([Circle::new(place, 4, RED.filled())])?;
    let above = |h| style(12, INK).pos(Pos::new(h, VPos::Bottom));
    let left = (end * 0.01, scale.budget * 1.035);
    chart.draw_series([Text::new("budget", left, above(HPos::Left))])?;
    let right = (end, place.1 + scale.budget * 0.035);
    chart.draw_series([Text::new(how, right, above(HPos::Right))])?;
    Ok(())
}

/// The last payment: its time, the coins until then, and its label.
fn outcome(round: &Played, scale: &Scale) -> ((f64, f64), String) {
    let last_ms = round.grants.last().map_or(0, |grant| grant.after_ms);
    let (seconds, paid) = (last_ms as f64 / 1000.0, round.paid() as f64);
    let how = match paid == scale.budget {
        true => format!("all paid after {seconds:.2} s"),
        false => format!("{} left", thousands((scale.budget - paid) as u64)),
    };
    ((seconds, paid), how)
}

/// Steps of one millisecond: the time, and the coins paid until then.
fn curve(round: &Played, end: f64) -> Vec<(f64, f64)> {
    let mut steps: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    let mut paid = 0.0;
    for grant in &round.grants {
        let at = grant.after_ms as f64 / 1000.0;
        paid += grant.qty as f64;
        match steps.last_mut() {
            Some(last) if last.0 == at => last.1 = paid,
            _ => steps.push((at, paid)),
        }
    }
    steps.push((end, paid));
    steps
}

type Chart<'a, 'b, X, Y> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, Y>>;

/// Axes with their names, and horizontal lines at the marks of the second axis.
fn mesh<X, Y>(
    chart: &mut Chart<'_, '_, X, Y>,
    [x, y]: [&str; 2],
    x_label: &dyn Fn(&f64) -> String,
) -> Drawn
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(PALE_INK)
        .x_labels(11)
        .y_labels(5)
        .x_label_formatter(x_label)
        .y_label_formatter(&|y| thousands(*y as u64))
        .label_style(style(12, PALE_INK))
        .axis_desc_style(style(13, INK))
        .x_desc(x)
        .y_desc(y)
        .draw()
}
