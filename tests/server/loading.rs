//! Failures to load the module. The log names the remedy, and docs/loading.md explains each line.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::server::module_path;
use crate::support::{other_module, Options, Reply, Server};

const PAGE: &str = include_str!("../../docs/loading.md");

/// Checks that the page quotes this line, with `FILE` for the module's path.
#[track_caller]
fn assert_explained(line: &str) {
    let mut is_quoted = false;
    let quotes = PAGE.lines().filter(|line| {
        is_quoted = if line.starts_with("```") { !is_quoted } else { is_quoted };
        is_quoted
    });
    let is_there = quotes.into_iter().any(|quote| quote.contains(line));
    assert!(is_there, "docs/loading.md does not explain: {line}");
}

/// Checks that a server with these options does not start and does not crash, that its log has
/// `line`, and that the page explains it.
#[track_caller]
fn assert_says(options: Options, file: &str, line: &str) {
    let log = options.try_start().err().expect("must not start");
    assert!(log.replace(file, "FILE").contains(line), "not said: {line}\n{log}");
    assert!(!log.contains("BUG REPORT"), "{log}");
    assert_explained(line);
}

/// Options with a line `loadmodule path args`.
fn loading(path: &str) -> Options {
    Options::new().without_module().line(&format!("loadmodule {path}"))
}

/// A changed copy of the module in `folder`.
fn spoiled(folder: &tempfile::TempDir, name: &str, spoil: impl FnOnce(&mut Vec<u8>)) -> String {
    let path: PathBuf = folder.path().join(name);
    let mut bytes = fs::read(module_path()).expect("the module");
    spoil(&mut bytes);
    fs::write(&path, bytes).expect("a copy of the module");
    let mode = if name == "plain.so" { 0o644 } else { 0o755 };
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its permissions");
    path.display().to_string()
}

/// A truncated file: the kernel notices that late and ends the server.
#[test]
fn a_file_that_is_cut_off_ends_the_server_and_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let half = spoiled(&folder, "half.so", |bytes| bytes.truncate(200_000));
    let log = loading(&half).try_start().err().expect("must not start");
    assert!(log.contains("crashed by signal: 7"), "{log}");
    assert_explained("crashed by signal: 7");
}

#[test]
fn a_file_that_is_no_module_here_is_explained() {
    const NO_FILE: &str = "Module FILE failed to load: FILE: cannot open shared object file: \
        No such file or directory";
    /// Offset and value of another processor in an ELF header.
    const MACHINE: (usize, u8) = (18, 0xb7);
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing.so").display().to_string();
    let foreign = spoiled(&folder, "foreign.so", |bytes| bytes[MACHINE.0] ^= MACHINE.1);
    let cut_off = spoiled(&folder, "cut-off.so", |bytes| bytes.truncate(40));
    let head = spoiled(&folder, "head.so", |bytes| bytes.truncate(100));
    let page = spoiled(&folder, "page.so", |bytes| bytes[..6].copy_from_slice(b"<html>"));
    let plain = spoiled(&folder, "plain.so", |_| ());
    for (file, line) in [
        (missing, NO_FILE),
        (foreign, NO_FILE),
        (cut_off, "FILE: file too short"),
        (head, "FILE: cannot read file data"),
        (page, "FILE: invalid ELF header"),
        (plain, "Module FILE failed to load: It does not have execute permissions."),
    ] {
        assert_says(loading(&file), &file, line);
    }
}

#[test]
fn names_that_are_taken_are_explained() {
    let (file, other) = (module_path().display().to_string(), other_module::path().display());
    let taking = |what: &str| loading(&format!("{other} {what}\nloadmodule {file}"));
    for (options, line) in [
        (
            loading(&format!("{file}\nloadmodule {file}")),
            "a module named seckill is loaded already, so this one is not: look for a second \
             loadmodule line, also in the files that are included",
        ),
        (
            taking("COMMAND seckill.grab"),
            "SECKILL.GRAB is the name of a command that is there already, another module's (MODULE \
             LIST shows them): one server can't have both, so seckill is not loaded",
        ),
        (
            taking("TYPE flashsale"),
            "the server has a data type flashsale already, another module's: one server can't have \
             both, so seckill is not loaded",
        ),
    ] {
        assert_says(options, &file, line);
    }
}

/// CONFIG REWRITE, which Sentinel sends at each failover, writes the loadmodule line into
/// redis.conf. A line that is already there is kept once, but a line of an included file is
/// doubled.
#[test]
fn a_configuration_that_was_rewritten_loads_the_module_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = module_path().display().to_string();
    let line = format!("loadmodule {file}");
    let included = folder.path().join("module.conf");
    fs::write(&included, &line).expect("a configuration file");
    for told in [line.clone(), format!("include {}", included.display())] {
        let server = Options::new().without_module().line(&told).start();
        assert_eq!(server.call("CONFIG REWRITE"), "+OK");
        let conf = fs::read_to_string(server.folder().join("redis.conf")).expect("the file");
        let again = Options::new().without_module().base(&conf);
        if conf.matches(&line).count() + conf.matches("module.conf").count() == 1 {
            assert_eq!(again.start().call("SECKILL.INIT k 2"), "+OK");
        } else {
            assert!(told.starts_with("include"), "{conf}");
            assert_says(again, &file, "a module named seckill is loaded already");
        }
    }
}

/// A second module file that fails to load leaves nothing behind: the loaded module still works,
/// and after its unload the second file can be loaded.
#[test]
fn a_second_load_leaves_the_first_one_alone() {
    let file = module_path().display().to_string();
    let (server, mut conn) = Options::new().line("enable-module-command yes").start().with_conn();
    assert_eq!(conn.call("SECKILL.INIT k 2"), "+OK");
    for _ in 0..3 {
        assert!(conn.cmd(&format!("MODULE LOAD {file}")).is_error());
    }
    assert_eq!(server.log().matches("a module named seckill is loaded already").count(), 3);
    assert_eq!(conn.call("SECKILL.GRAB k a"), "['GRANTED' 1 1 'SOLD' 0 1]");
    server.assert_sound("k");
}

#[test]
fn a_running_server_says_why_it_takes_no_module() {
    let server = Options::new().without_module().line("enable-module-command no").start();
    let reply = server.call(&format!("MODULE LOAD {}", module_path().display()));
    let line = "ERR MODULE command not allowed";
    assert!(reply.starts_with(&format!("-{line}")), "{reply}");
    assert_explained(line);
}

#[test]
fn settings_that_are_wrong_are_explained() {
    let file = module_path().display().to_string();
    let args = |args: &str| Options::new().module_args(args);
    let line = |line: &str| Options::new().line(line);
    let unknown = "Module Configuration detected without loadmodule directive or no ApplyConfig \
                   call: aborting";
    for (options, said) in [
        (
            args("nothing 1"),
            "loadmodule: unknown setting; there are: sweep-interval-ms, sweep-batch, \
             apply-warnings-per-second, effects-version",
        ),
        (
            args("sweep-batch"),
            "loadmodule: a setting has no value; arguments are pairs of name and value",
        ),
        (args("sweep-batch 0"), "loadmodule: sweep-batch must be an integer from 1 to 100000"),
        (args("sweep-batch 5 sweep-batch 6"), "loadmodule: sweep-batch is given twice"),
        (line("seckill.nothing 1"), unknown),
        (line("seckill.sweep-batch 1").without_module(), unknown),
        (
            line("seckill.sweep-batch 0"),
            "Issue during loading of configuration seckill.sweep-batch : argument must be between \
             1 and 100000 inclusive",
        ),
    ] {
        assert_says(options, &file, said);
    }
}

/// A server without the module reads the files of a server with a sale.
#[test]
fn data_without_the_module_is_explained_and_stays() {
    let data = |is_log: bool| {
        let mut server = Options::new().line(if is_log { "appendonly yes" } else { "" }).start();
        assert_eq!(server.call("SECKILL.INIT k 2"), "+OK");
        assert_eq!(server.call("SECKILL.GRAB k a"), "['GRANTED' 1 1 'SOLD' 0 1]");
        server.stop(!is_log);
        server
    };
    for (is_log, line) in [
        (
            false,
            "The RDB file contains module data I can't load: no matching module type 'flashsale'",
        ),
        // This line begins differently in Redis and Valkey.
        (true, "nknown command 'SECKILL.APPLY'"),
    ] {
        let mut server: Server = data(is_log);
        server.leave_module_out(true);
        let log = server.try_start_again().expect_err("must not start");
        assert!(log.contains(line), "not said: {line}\n{log}");
        assert_explained(line);
        server.leave_module_out(false);
        server.start_again();
        assert_eq!(server.cmd("SECKILL.STATUS k").field("sold"), Reply::Int(1));
        server.assert_sound("k");
    }
}
