//! What pictures share: how they are written, their inks, and texts placed by their middle.

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

/// Writes a picture of this size, drawn on white.
///
/// # Errors
/// A sentence.
pub fn picture(
    file: &Path,
    size: (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<(), String> {
    let area = SVGBackend::new(file, size).into_drawing_area();
    let drawn = area.fill(&WHITE).and_then(|()| draw(&area)).and_then(|()| area.present());
    drawn.map_err(|e| format!("The picture can't be drawn: {e}"))
}

/// Writes `text`; `h` says which end of it is at `at`, whose height is that of its middle.
///
/// # Errors
/// The backend's.
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
