//! Compares a page with its Chinese version: equal sections with equal code, commands, options and
//! figures, row by row in tables. Only comments in code are translated.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// `make lab` writes both of its pages from one run, with translated schedules.
const WRITTEN_TOGETHER: &str = "lab.md";

/// A page and its Chinese version, as paths in the repository.
fn twins() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Every page has a Chinese version: a missing one fails here.
    let pages = fs::read_dir(root.join("docs")).expect("docs");
    let names = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| name.ends_with(".md") && name != WRITTEN_TOGETHER);
    let docs = names.map(|name| (format!("docs/{name}"), format!("docs/zh/{name}")));
    docs.chain([("README.md".to_owned(), "README.zh-CN.md".to_owned())]).collect()
}

/// The part of a page between two headings.
#[derive(Debug, Default)]
struct Section {
    heading: String,
    /// Blocks of code, without their comments.
    code: Vec<String>,
    /// Each row of its tables, then all other text as one part.
    parts: Vec<String>,
}

impl Section {
    fn level(&self) -> usize {
        self.heading.chars().take_while(|letter| *letter == '#').count()
    }
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut prose = String::new();
    let mut in_code = false;
    for line in text.lines() {
        let section = sections.last_mut().unwrap();
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            if in_code {
                section.code.push(line.trim().to_owned());
            }
        } else if in_code {
            let is_comment = ["# ", "// "].iter().any(|c| line.trim_start().starts_with(c));
            let block = section.code.last_mut().unwrap();
            block.push('\n');
            block.push_str(if is_comment { "(a comment)" } else { line });
        } else if line.starts_with('#') {
            section.parts.push(std::mem::take(&mut prose));
            sections.push(Section { heading: line.to_owned(), ..Section::default() });
        } else if line.starts_with('|') {
            section.parts.push(line.to_owned());
        } else {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    sections.last_mut().unwrap().parts.push(prose);
    sections
}

/// The spans between backticks, and the other text.
fn split_code(text: &str) -> (BTreeSet<&str>, String) {
    let spans = text.split('`').skip(1).step_by(2).collect();
    let rest = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    (spans, without_targets(&rest))
}

/// The text with links replaced by their labels.
fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push(' ');
        kept.push_str(part.split_once(')').map_or("", |(_, behind)| behind));
    }
    kept
}

/// All numbers without thousands separators, sorted as text.
fn figures(text: &str) -> Vec<String> {
    let inner = |letter: char| letter.is_ascii_digit() || letter == ',' || letter == '.';
    let numbers = text.split(|letter| !inner(letter));
    let numbers = numbers.map(|number| number.replace(',', "").trim_matches('.').to_owned());
    let mut numbers: Vec<_> = numbers.filter(|number| !number.is_empty()).collect();
    numbers.sort_unstable();
    numbers
}

/// Words in capitals: commands, options, outcomes, states. English has plurals of them.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let words = words.map(|word| word.strip_suffix('s').unwrap_or(word));
    let is_name = |word: &&str| word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase());
    words.filter(is_name).collect()
}

/// Adds the differences between a text and its translation to `found`.
fn compare(place: &str, english: &str, chinese: &str, found: &mut Vec<String>) {
    // A span of code may continue on the next line.
    let [english, chinese] = [english, chinese].map(|text| text.replace('\n', " "));
    let ((spans, rest), (spans_zh, rest_zh)) = (split_code(&english), split_code(&chinese));
    for (what, words, words_zh) in
        [("between backticks", spans, spans_zh), ("in capitals", names(&rest), names(&rest_zh))]
    {
        let lacks: Vec<_> = words.difference(&words_zh).collect();
        let adds: Vec<_> = words_zh.difference(&words).collect();
        if words != words_zh {
            found.push(format!("{what}: Chinese lacks {lacks:?}, adds {adds:?}: {place}"));
        }
    }
    let [numbers, numbers_zh] = [figures(&rest), figures(&rest_zh)];
    if numbers != numbers_zh {
        found.push(format!("figures: English {numbers:?}, Chinese {numbers_zh:?}: {place}"));
    }
}

#[test]
fn both_languages_say_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let twins = twins();
    assert!(twins.len() > 8, "the pages are found: {twins:?}");
    let mut found = Vec::new();
    for (page, page_zh) in twins {
        let read = |page: &str| fs::read_to_string(root.join(page)).expect(page);
        let (text, text_zh) = (read(&page), read(&page_zh));
        let (all, all_zh) = (sections(&text), sections(&text_zh));
        let levels = |sections: &[Section]| sections.iter().map(Section::level).collect::<Vec<_>>();
        if levels(&all) != levels(&all_zh) {
            found.push(format!("{page} and {page_zh} have other headings"));
            continue;
        }
        for (section, section_zh) in all.iter().zip(&all_zh) {
            let place = format!("{page} {}, {page_zh} {}", section.heading, section_zh.heading);
            if section.code != section_zh.code {
                found.push(format!("blocks of code differ: {place}"));
            }
            if section.parts.len() != section_zh.parts.len() {
                found.push(format!("one has more rows in tables: {place}"));
            }
            compare(&place, &section.heading, &section_zh.heading, &mut found);
            for (part, part_zh) in section.parts.iter().zip(&section_zh.parts) {
                let line = part.lines().find(|line| !line.is_empty()).unwrap_or_default();
                compare(&format!("{place}: {line}"), part, part_zh, &mut found);
            }
        }
    }
    assert!(
        found.is_empty(),
        "A page and its Chinese twin differ. Change both:\n{}",
        found.join("\n")
    );
}

/// A page and its Chinese version link to each other.
#[test]
fn each_twin_links_to_the_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (page, page_zh) in twins() {
        let name = page.trim_start_matches("docs/");
        let (to_zh, to_en) = match name {
            "README.md" => ("(README.zh-CN.md)".to_owned(), "(README.md)".to_owned()),
            _ => (format!("(zh/{name})"), format!("(../{name})")),
        };
        let read = |page: &str| fs::read_to_string(root.join(page)).expect(page);
        assert!(read(&page).contains(&to_zh), "{page} does not link to {page_zh}");
        assert!(read(&page_zh).contains(&to_en), "{page_zh} does not link to {page}");
    }
}

/// Each page is in the menu of the site.
#[test]
fn each_page_is_in_the_menu_of_the_site() {
    let menu = Path::new(env!("CARGO_MANIFEST_DIR")).join("site/.vitepress/navigation.js");
    let menu = fs::read_to_string(menu).expect("the menu");
    let pages = twins()
        .into_iter()
        .filter_map(|(page, _)| Some(page.strip_prefix("docs/")?.strip_suffix(".md")?.to_owned()));
    let missing: Vec<_> = pages.filter(|page| !menu.contains(&format!("['{page}',"))).collect();
    assert!(missing.is_empty(), "navigation.js does not list {missing:?}");
}
