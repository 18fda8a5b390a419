//! The line of docs/parts.md that computes a user's part, in every installed language. Each must
//! agree with the module for 1000 users.

use std::num::NonZeroU16;
use std::process::{Command, Stdio};

use seckill_domain::parts::home_of;

use crate::support::skip;

const PAGE: &str = include_str!("../../docs/parts.md");
const PARTS: u16 = 16;

/// Names of all lengths and in several scripts.
fn users() -> Vec<String> {
    let user = |number: usize| match number % 5 {
        0 => number.to_string(),
        1 => format!("user:{number:012}"),
        2 => format!("用户-{number}"),
        3 => format!("zoë.{number}@example.com"),
        _ => "x".repeat(1 + number % 200),
    };
    (0..1000).map(user).collect()
}

/// Checks the parts that a program prints, one a line. Its users are the lines of a file.
fn check(language: &str, line: &str, program: &str, args: &[&str], code: &str, file: &str) {
    assert!(PAGE.contains(&format!("| `{line}` |")), "{language}: the page has another line");
    let folder = tempfile::tempdir().expect("a folder");
    let lines = folder.path().join("users");
    std::fs::write(&lines, users().join("\n")).expect("a writable folder");
    let source = folder.path().join(file);
    let code = code.replace("LINE", line).replace("PARTS", &PARTS.to_string());
    std::fs::write(&source, code).expect("a writable folder");
    let output =
        Command::new(program).args(args).arg(&source).arg(&lines).stdin(Stdio::null()).output();
    let Ok(output) = output else { return skip(&format!("{program} is not here")) };
    let told = String::from_utf8_lossy(&output.stdout);
    let problems = String::from_utf8_lossy(&output.stderr);
    if problems.contains("crc32 is not a function") {
        return skip(&format!("{program} has no crc32 yet"));
    }
    let parts = NonZeroU16::new(PARTS).expect("some parts");
    let homes: Vec<String> =
        users().iter().map(|user| home_of(user.as_bytes(), parts).to_string()).collect();
    assert_eq!(told.lines().collect::<Vec<_>>(), homes, "{language}: {problems}");
}

#[test]
fn php() {
    let code = "<?php $parts = PARTS; foreach (explode(\"\\n\", file_get_contents($argv[1])) as \
                $user) { echo LINE, \"\\n\"; }";
    check("PHP", "crc32($user) % $parts", "php", &[], code, "homes.php");
}

#[test]
fn python() {
    let code = "import sys, zlib\nparts = PARTS\nfor user in open(sys.argv[1], \
                encoding='utf-8').read().split('\\n'):\n    print(LINE)\n";
    check("Python", "zlib.crc32(user.encode()) % parts", "python3", &[], code, "homes.py");
}

#[test]
fn node() {
    let code = "const zlib = require('zlib'), parts = PARTS;\n\
                for (const user of require('fs').readFileSync(process.argv[2], 'utf8')\
                .split('\\n')) console.log(LINE);";
    check("Node", "zlib.crc32(user) % parts", "node", &[], code, "homes.js");
}

#[test]
fn java() {
    let line = "CRC32 c = new CRC32(); c.update(user.getBytes(UTF_8)); c.getValue() % parts";
    let (before, value) = line.rsplit_once("; ").expect("a value");
    let code = "import static java.nio.charset.StandardCharsets.UTF_8;\n\
                import java.nio.file.*;\nimport java.util.zip.CRC32;\n\
                public class Homes { public static void main(String[] args) throws Exception {\n\
                long parts = PARTS;\n\
                for (String user : Files.readString(Path.of(args[0])).split(\"\\n\")) {\n\
                BEFORE; System.out.println(VALUE); } } }";
    let code = code.replace("BEFORE", before).replace("VALUE", value);
    check("Java", line, "java", &[], &code, "Homes.java");
}

#[test]
fn go() {
    let code = "package main\nimport (\"fmt\"; \"hash/crc32\"; \"os\"; \"strings\")\n\
                func main() {\nparts := PARTS\nbytes, _ := os.ReadFile(os.Args[1])\n\
                for _, user := range strings.Split(string(bytes), \"\\n\") {\n\
                fmt.Println(LINE)\n}\n}\n";
    let line = "crc32.ChecksumIEEE([]byte(user)) % uint32(parts)";
    check("Go", line, "go", &["run"], code, "homes.go");
}
