//! Writes the pages that are generated from the module's own tables: `make docs`.

mod blocks;
mod commands;
mod json;
mod language;
mod reference;
mod sessions;
mod tables;
mod text;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use language::Language;

/// Each generated file with its content.
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
    use language::{pairs, rows, CHINESE, MISSING};
    use std::collections::BTreeSet;

    /// Both pages that are generated from tables.
    fn sentences(language: Language) -> String {
        commands::markdown(language) + &reference::markdown(language)
    }

    #[test]
    fn every_sentence_has_its_chinese() {
        let page = sentences(Language::Chinese);
        let missing = page.lines().filter_map(|line| line.split_once(MISSING));
        let missing: BTreeSet<_> = missing.map(|(_, sentence)| sentence).collect();
        assert!(
            missing.is_empty(),
            "These sentences of the tables have no Chinese. Add each to \
             tools/pages/src/zh.txt, a line of English and below it one of Chinese, and run \
             `make docs`:\n{}",
            missing.into_iter().collect::<Vec<_>>().join("\n")
        );
    }

    #[test]
    fn no_chinese_is_left_over_from_a_sentence_that_changed() {
        let english = sentences(Language::English);
        for (sentence, _) in pairs() {
            assert!(
                english.contains(&sentence),
                "tools/pages/src/zh.txt translates what no table says \
                 (any more): {sentence}"
            );
        }
        let blocks = CHINESE.trim_end().split("\n\n").count();
        let blocks = blocks + rows().count();
        assert_eq!(pairs().count(), blocks, "each block has two lines");
        let all: BTreeSet<_> = pairs().map(|(sentence, _)| sentence).collect();
        assert_eq!(all.len(), blocks, "no sentence comes twice");
    }

    /// Checks that a translation keeps all commands, options, outcomes and states (words in
    /// capitals), numbers, and text between backticks.
    #[test]
    fn chinese_names_what_english_names() {
        for (english, chinese) in pairs() {
            assert_eq!(commands::named(&english), commands::named(&chinese), "{chinese}");
            assert!(!chinese.is_ascii(), "{chinese}");
        }
    }

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
