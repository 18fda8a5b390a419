//! What docs/migrate.md shows is what runs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{output, root};

/// A framework's proxy in place of a client is a mistake to mend, not an answer that was lost.
#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_client_of_another_type_is_a_mistake() {
    let program = "require $argv[1];
        try { (new Seckill\\Sale(fn () => new stdClass(), 'sale:goods'))->grab('a', 'order-1'); }
        catch (Throwable $why) { echo get_class($why); }";
    let mut php = Command::new("php");
    php.args(["-r", program, "--"]).arg(root().join("clients/php/src/Seckill.php"));
    assert_eq!(output(&mut php).0, "TypeError");
}

/// What docs/migrate.md shows as a replacement is in the programs that run.
#[test]
fn replacements_are_those_that_run() {
    let read = |path: PathBuf| fs::read_to_string(path).expect("a page");
    let page = read(root().join("docs/migrate.md"));
    for (language, file) in [("php", "after.php"), ("java", "After.java")] {
        let flat = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
        let program = flat(&read(root().join("examples/migrate").join(file)));
        let blocks = page.split("```").skip(1).step_by(2);
        let blocks = blocks.filter_map(|block| block.strip_prefix(&format!("{language}\n")));
        let is_ours = |block: &&str| block.contains("grab") || block.contains("Seckill");
        let shown: Vec<_> = blocks.filter(|block| is_ours(block)).map(flat).collect();
        assert!(shown.len() >= 5, "{language}: {}", shown.len());
        for block in shown {
            assert!(program.contains(block.trim()), "not in {file}:\n{block}");
        }
    }
}

/// The calls that the page shows have options that their programs know.
#[test]
fn calls_are_those_that_the_programs_take() {
    let folder = root().join("examples/migrate");
    let shared = fs::read_to_string(folder.join("carry.php")).expect("carry.php");
    let page = fs::read_to_string(root().join("docs/migrate.md")).expect("a page");
    let calls: Vec<_> = page.lines().filter(|line| line.starts_with("php examples/")).collect();
    assert!(calls.len() >= 6, "one for each family: {calls:?}");
    for call in calls {
        let program = call.split(' ').nth(1).expect("a program");
        let source = fs::read_to_string(root().join(program)).expect(program);
        let options = call.split(' ').filter_map(|word| word.strip_prefix("--"));
        for option in options {
            let named = format!("'{option}'");
            assert!(source.contains(&named) || shared.contains(&named), "--{option} of {call}");
        }
    }
}
