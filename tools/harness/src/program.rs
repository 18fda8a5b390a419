//! What the examples share: a redis-server of their own with the module, and nothing left behind.
//!
//! Each example uses a part of it, so what one of them leaves unused is no mistake.
#![allow(dead_code)]

pub mod limits;
pub mod link;
pub mod mariadb;
pub mod server;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use server::Server;

/// Connections of a server besides those of a crowd.
const OTHER_CLIENTS: usize = 32;

/// What a program ends with: 0, or 1 and the sentence that says why.
pub fn exit(outcome: Result<(), String>) -> ExitCode {
    exit_told(outcome.map(|()| true))
}

/// The same of a program that has said itself what went wrong, if something did.
pub fn exit_told(outcome: Result<bool, String>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(sentence) => {
            eprintln!("FAILED: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// The module file next to this example's own binary, or the one that the caller or
/// `SECKILL_MODULE` names; always absolute, because redis-server takes no other.
///
/// # Errors
/// A sentence that says where it was looked for.
pub fn module_file(named: Option<PathBuf>) -> Result<PathBuf, String> {
    let file = match named.or_else(|| std::env::var_os("SECKILL_MODULE").map(PathBuf::from)) {
        Some(file) => file,
        None => beside_this_example()?,
    };
    file.canonicalize().map_err(|_| {
        format!("There is no module at {}. Build it with: cargo build --release", file.display())
    })
}

/// A server for a crowd of so many connections, durable as a shop would have it: what is answered
/// is in the log file, synced every second.
///
/// # Errors
/// As [`Server::start`].
pub fn server_for_crowd(module: &Path, connections: usize) -> Result<Server, String> {
    let max_clients = (connections + OTHER_CLIENTS).to_string();
    Server::start(
        module,
        &["--appendonly", "yes", "--maxclients", &max_clients, "--tcp-backlog", "4096"],
    )
}

/// `target/<profile>/examples/rush` lies one folder below `target/<profile>/libseckill.so`.
fn beside_this_example() -> Result<PathBuf, String> {
    let name = format!("{}seckill{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let here = std::env::current_exe().map_err(|e| format!("Where am I? {e}"))?;
    let folder = here.parent().and_then(|examples| examples.parent());
    folder.map(|folder| folder.join(name)).ok_or_else(|| "Name the module with --module".into())
}
