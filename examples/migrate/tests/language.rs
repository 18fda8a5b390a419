//! `--lang zh`: the output of break, try and the moving programs, in Chinese.

use std::fs;
use std::process::Command;

use crate::{output, root, Move, LATE};

/// Calls of a program that show text to its user.
const TELLS: [&str; 4] = ["fail(", "echo ", "print(", "fwrite(STDERR, "];

/// Fails if a message has no Chinese text in the table.
#[test]
fn each_message_has_its_chinese() {
    let folder = root().join("examples/migrate");
    let table = fs::read_to_string(folder.join("lang.php")).unwrap();
    let table = table.replace("\\'", "'").replace("'\n            . '", "");
    let mut seen = 0;
    for folder in [folder.clone(), folder.join("break")] {
        for file in fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            let is_program = file.extension().is_some_and(|end| end == "php");
            if !is_program || file.ends_with("lang.php") {
                continue;
            }
            let source = fs::read_to_string(&file).unwrap().replace("\\n", "\n");
            for said in TELLS.iter().flat_map(|tells| source.split(tells).skip(1)) {
                let said = said.split(";\n").next().unwrap_or(said);
                for piece in said.split(['"', '\'', '{', '}', '\n']).flat_map(plain) {
                    assert!(table.contains(piece), "{}: {piece}", file.display());
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 40, "{seen} pieces of messages are found");
}

/// Texts of at least three words in a piece of a program.
fn plain(piece: &str) -> Vec<&str> {
    let code = [" . ", " ?? ", "=>", "||", "&&", "->", ") :", " ? ", "(int)", "//", "fn ("];
    if code.iter().any(|sign| piece.contains(sign)) {
        return Vec::new();
    }
    let mut texts: Vec<&str> = piece.split('$').collect();
    for text in texts.iter_mut().skip(1) {
        *text = text.split_once(' ').map_or("", |(_, behind)| behind);
    }
    let is_told = |text: &&str| text.split(' ').filter(|word| word.len() > 1).count() >= 3;
    texts.into_iter().map(str::trim).filter(is_told).collect()
}

/// Three English words in a row, which no reply and no option has.
fn english_in(told: &str) -> Option<String> {
    let is_word = |word: &&str| word.len() > 1 && word.bytes().all(|b| b.is_ascii_lowercase());
    told.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        words.windows(3).find(|three| three.iter().all(is_word)).map(|_| line.to_owned())
    })
}

#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_move_and_its_way_back_in_chinese() {
    let chinese = "--lang=zh";
    let options = ["--counter=goods", "--counts=down", "--sale=sale:goods", "--terms=LIMIT 1"];
    let shop = Move::of("counter.php", &options);
    let missing = shop.end(&[chinese]);
    assert_eq!(missing, ("没有键 goods\n".to_owned(), 1));
    shop.old.call("SET goods 7");
    let moved = shop.run(&[chinese]);
    let state = "状态 state paused，总数 supply 7，剩余 available 7，预占 held 0，已售 sold 0，欠货 deficit 0";
    assert!(moved.starts_with("已搬：") && moved.contains("从现在起来的人"), "{moved}");
    let opened = state.replace("paused", "open");
    assert!(moved.contains(&opened), "{moved}");
    let again = shop.run(&[chinese]);
    assert!(again.starts_with("以前已经搬过，这次什么都没动"), "{again}");
    let (other, code) = shop.end(&[chinese, "--terms=LIMIT 2"]);
    assert!(code == 1 && other.contains("什么都没做"), "{other}");
    assert!(other.contains("带 --terms 'LIMIT 1'，这一行是 带 --terms 'LIMIT 2'"), "{other}");
    shop.old.call("SET goods 5");
    let (late, code) = shop.end(&[chinese]);
    assert!(code == LATE && late.contains("迟到：旧程序在搬迁之后改了 goods"), "{late}");
    let booked = shop.run(&[chinese, "--late=2"]);
    assert!(booked.contains("已从活动里扣掉 2 件") && booked.contains("又设回 0"), "{booked}");
    let back = shop.run(&[chinese, "--back=yes", "--late=2"]);
    assert!(back.contains("已退回：状态 state paused"), "{back}");
    for told in [&moved, &again, &other, &late, &booked, &back] {
        assert_eq!(english_in(told), None, "{told}");
    }
    // The default is English; an unknown language is an error.
    assert!(shop.end(&[]).0.contains("was taken back") || shop.end(&["--back=yes"]).1 == 1);
    assert_eq!(shop.end(&["--lang=fr"]), ("--lang is zh or en\n".to_owned(), 1));
}

#[test]
#[ignore = "needs PHP: make migrate-test"]
fn a_program_breaks_in_chinese() {
    let run = |words: &[&str]| {
        let mut php = Command::new("php");
        output(php.arg("examples/migrate/break.php").args(words).current_dir(root())).0
    };
    let demo1 = ["lab/php/003-printed.php", "--units", "1", "--set", "SET goods 1"];
    let told = run(&[&demo1[..], &["--lang", "zh"]].concat());
    assert!(told.ends_with("库存 1 件，2 人里有 2 人返回“抢到”\n"), "{told}");
    assert!(told.contains("A 看到：{"), "{told}");
    let dies = ["lab/php/000-2-printed.php", "--units", "1", "--set", "RPUSH award:100 1"];
    let told = run(&[&dies[..], &["--dies", "yes", "--lang=zh"]].concat());
    assert!(told.contains("A 的进程崩溃") && told.contains("A 什么也没有看到"), "{told}");
    assert_eq!(english_in(&told), None, "{told}");
}
