//! Tests two versions of the module together, as COMPATIBILITY.md promises: `make upgrade-test`.
//!
//! `SECKILL_OLDER` and `SECKILL_NEWER` name their files. If the newer version has no form of its
//! own, made_up.patch adds one, and `SECKILL_MADE_UP=1` says so.

// A test that can't continue panics with a message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable)]

mod forms;
mod mixes;

use std::path::PathBuf;

use seckill_harness::{Options, Server};

/// The setting for the version of effects that the older module knows.
const HELD_BACK: &str = "effects-version 1";
/// The default setting: the newest version of each form.
const NEWEST: &str = "effects-version 0";

/// One of the two modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Older,
    Newer,
}

const BOTH: [Version; 2] = [Version::Older, Version::Newer];

impl Version {
    fn file(self) -> PathBuf {
        let name = match self {
            Version::Older => "SECKILL_OLDER",
            Version::Newer => "SECKILL_NEWER",
        };
        let path = std::env::var_os(name).unwrap_or_else(|| panic!("{name} names a module"));
        std::fs::canonicalize(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn options(self, args: &str) -> Options {
        Options::new().module_file(&self.file()).module_args(args)
    }

    fn start(self, args: &str) -> Server {
        self.options(args).start()
    }
}
