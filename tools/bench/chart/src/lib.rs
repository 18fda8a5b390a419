//! Shared parts of charts: writing files, colours, and text placed by its centre.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub mod units;

pub const INK: RGBColor = RGBColor(31, 35, 40);
pub const PALE_INK: RGBColor = RGBColor(89, 99, 110);

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

pub fn style<'a>(size: i32, ink: RGBColor) -> TextStyle<'a> {
    let style = TextStyle::from(("sans-serif", size).into_font());
    TextStyle { color: ink.to_backend_color(), ..style }
}

/// Writes a picture of this size on a white background.
pub fn picture(
    file: &Path,
    size: (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<(), String> {
    let area = SVGBackend::new(file, size).into_drawing_area();
    let drawn = area.fill(&WHITE).and_then(|()| draw(&area)).and_then(|()| area.present());
    drawn.map_err(|e| format!("The picture can't be drawn: {e}"))
}

/// Writes `text`. `at` is its vertical centre and, as `h` says, its left end, centre or right end.
pub fn text(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    size: i32,
    ink: RGBColor,
    h: HPos,
) -> Drawn {
    let style = style(size, ink).pos(Pos::new(h, VPos::Center));
    area.draw(&Text::new(text.to_owned(), at, style))
}

/// The distance between marks of an axis from 0 to `most`: 1, 2 or 5 times a power of ten, with at
/// most five marks beside 0.
#[must_use]
pub fn round_step(most: f64) -> f64 {
    let decade = 10_f64.powf((most / 5.0).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    steps.into_iter().find(|step| most / step <= 5.0).unwrap_or(most)
}
