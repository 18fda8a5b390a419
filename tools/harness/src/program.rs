//! What programs share that start servers: which server and which module, and how they end.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::process::Server;

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

/// The server to start: what `SECKILL_TEST_SERVER` names, or the one on the path. A wrapper script
/// must `exec` it, because the process started here is the one that is killed.
pub fn server_program() -> OsString {
    std::env::var_os("SECKILL_TEST_SERVER").unwrap_or_else(|| "redis-server".into())
}

/// The module file next to this program's own binary, or the one that the caller or
/// `SECKILL_MODULE` names; always absolute, because redis-server takes no other.
///
/// # Errors
/// A sentence that says where it was looked for.
pub fn module_file(named: Option<PathBuf>) -> Result<PathBuf, String> {
    let file = match named.or_else(|| std::env::var_os("SECKILL_MODULE").map(PathBuf::from)) {
        Some(file) => file,
        None => beside_this_program()?,
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

/// Programs lie beside the module, benches and tests in a folder below it that has one too.
fn beside_this_program() -> Result<PathBuf, String> {
    let name = format!("{}seckill{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let here = std::env::current_exe().map_err(|e| format!("Where am I? {e}"))?;
    Ok(here.with_file_name(name))
}
