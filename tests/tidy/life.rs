//! The life of one GRAB in ARCHITECTURE.md: each function that it names is in the file that it
//! names, and there are as many as it says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What stands between backticks; `a::{b, c}` is `a::b` and `a::c`.
fn spans(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let expanded = |span: &str| match span.split_once('{').zip(span.split_once('}')) {
        None => vec![span.to_owned()],
        Some(((before, inner), (_, after))) => {
            let inner = inner.split('}').next().unwrap().split(',');
            inner.map(|one| format!("{before}{}{after}", one.trim())).collect()
        }
    };
    spans.flat_map(expanded).collect()
}

/// The files of a row: one that is not a path from the top is in a folder above an earlier one.
fn files(cell: &str, root: &Path) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for name in spans(cell) {
        let folders = files.iter().flat_map(|file| Path::new(file).ancestors().skip(1));
        let places = folders.map(|folder| folder.join(&name));
        let path = [name.clone().into()].into_iter().chain(places);
        let found = path.into_iter().find(|path| root.join(path).is_file());
        files.push(found.unwrap_or_else(|| panic!("no {name} in {cell}")).display().to_string());
    }
    files
}

#[test]
fn the_life_of_a_grab_names_what_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let (_, life) = page.split_once("\n## The life of one GRAB\n").unwrap();
    let life = life.split("\n## ").next().unwrap();
    let (mut all_files, mut all) = (BTreeSet::new(), BTreeSet::new());
    for row in life.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').collect();
        let (files, groups) = (files(cells[1], root), cells[2].split(';'));
        assert_eq!(files.len(), groups.clone().count(), "files, and functions of each: {row}");
        for (file, group) in files.iter().zip(groups) {
            let code = fs::read_to_string(root.join(file)).unwrap();
            for name in spans(group) {
                let name = name.rsplit("::").next().unwrap().to_owned();
                let is_there =
                    ['(', '<'].iter().any(|end| code.contains(&format!("fn {name}{end}")));
                assert!(is_there, "{file} has no function {name}");
                all.insert((file.clone(), name));
            }
            all_files.insert(file.clone());
        }
    }
    let said = format!("{} files and {} functions", all_files.len(), all.len());
    assert!(life.contains(&said), "the page doesn't say {said}");
}
