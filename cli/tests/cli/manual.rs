//! The manual page lists exactly the program's commands and options.

use std::collections::BTreeSet;

use super::program::run;

const PAGE: &str = include_str!("../../../packaging/seckill.1");

/// The first words of the lines in one section of `--help`.
fn listed(help: &str, part: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != part).skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

/// Commands and options of the subcommand `words` and of all its subcommands.
fn all_of(words: &[&str], commands: &mut BTreeSet<String>, options: &mut BTreeSet<String>) {
    let ran = run(&[words, &["--help"]].concat());
    let help = String::from_utf8(ran.stdout).expect("text");
    let long = help.split_whitespace().filter(|word| word.starts_with("--"));
    options.extend(long.map(|word| word.trim_end_matches([',', ';', ']']).to_owned()));
    for command in listed(&help, "Commands:") {
        if command != "help" {
            all_of(&[words, &[&command]].concat(), commands, options);
        }
        commands.insert(command);
    }
}

#[test]
fn it_has_all_commands_and_options() {
    let (mut commands, mut options) = (BTreeSet::new(), BTreeSet::new());
    all_of(&[], &mut commands, &mut options);
    assert!(commands.len() > 10 && options.len() > 20, "{commands:?} {options:?}");
    let page = PAGE.replace("\\-", "-");
    let words: BTreeSet<&str> =
        page.split(|c: char| c.is_whitespace() || "(),;".contains(c)).collect();
    let missing: Vec<_> =
        commands.iter().chain(&options).filter(|name| !words.contains(name.as_str())).collect();
    assert_eq!(missing, Vec::<&String>::new(), "missing in packaging/seckill.1");
}
