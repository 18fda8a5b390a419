//! Writes the pages that come from the module's own tables: `make docs`.

mod blocks;
mod commands;
mod json;
mod language;
mod reference;
mod sessions;
mod tables;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use language::Language;

/// Each file and what belongs into it.
fn pages() -> Vec<(String, String)> {
    let docs = [
        ("commands.md", commands::markdown(Language::English)),
        ("zh/commands.md", commands::markdown(Language::Chinese)),
        ("commands.json", json::text()),
        ("reference.md", reference::markdown(Language::English)),
        ("zh/reference.md", reference::markdown(Language::Chinese)),
    ];
    let docs = docs.into_iter().map(|(name, text)| (format!("docs/{name}"), text));
    let clients = tables::files().into_iter().map(|(name, text)| (format!("clients/{name}"), text));
    let cli = [("cli/src/terms.rs".to_owned(), tables::terms_of_cli())];
    docs.chain(clients).chain(cli).chain(blocks::files()).collect()
}

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn main() -> io::Result<()> {
    pages().into_iter().try_for_each(|(name, text)| fs::write(place(&name), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_elements_that_the_page_names() {
        assert!(commands::markdown(Language::English).contains(commands::ROW));
    }

    #[test]
    fn the_pages_are_up_to_date() {
        for (name, text) in pages() {
            let stored = fs::read_to_string(place(&name)).unwrap_or_default();
            assert!(
                stored == text && !text.is_empty(),
                "{name} is stale: run `make docs` and commit it"
            );
        }
    }
}
