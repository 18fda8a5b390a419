//! Writes the pages that come from the module's own tables: `make docs`.

mod commands;
mod json;
mod language;
mod reference;
mod sessions;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use language::Language;

/// Each page and what belongs into it.
fn pages() -> [(&'static str, String); 4] {
    [
        ("commands.md", commands::markdown(Language::English)),
        ("zh/commands.md", commands::markdown(Language::Chinese)),
        ("commands.json", json::text()),
        ("reference.md", reference::markdown()),
    ]
}

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn main() -> io::Result<()> {
    pages().into_iter().try_for_each(|(name, text)| fs::write(place(name), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_up_to_date() {
        for (name, text) in pages() {
            let stored = fs::read_to_string(place(name)).unwrap_or_default();
            assert!(stored == text, "docs/{name} is stale: run `make docs` and commit it");
        }
    }
}
