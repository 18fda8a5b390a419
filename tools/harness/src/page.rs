//! Replaces generated parts of pages. Each part stands between two marks.

use std::fs;
use std::path::Path;

/// Replaces the part between the marks of a text. `None` if a mark is missing.
pub fn between(text: &str, [begin, end]: [&str; 2], part: &str) -> Option<String> {
    let (above, rest) = text.split_once(begin)?;
    let (_, below) = rest.split_once(end)?;
    Some(format!("{above}{begin}{part}{end}{below}"))
}

/// Replaces the part between the marks of a file.
pub fn write_between(file: &Path, marks: [&str; 2], part: &str) -> Result<(), String> {
    let failed = |why: &str| format!("{} is left as it was: {why}", file.display());
    let text = fs::read_to_string(file).map_err(|e| failed(&e.to_string()))?;
    let new = between(&text, marks, part);
    let new = new.ok_or_else(|| failed(&format!("it has no mark {}", marks[0].trim_end())))?;
    fs::write(file, new).map_err(|e| failed(&e.to_string()))
}
