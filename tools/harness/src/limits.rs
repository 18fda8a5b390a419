//! Raises the limit of open files. Every connection needs one, and shells often allow only 1,024.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

/// Open files besides the connections: the log, libraries, the poll handles.
const OTHER_FILES: u64 = 256;

/// Allows `connections` sockets in this process and in a redis-server that it starts, because a
/// child inherits the limit.
pub fn allow_connections(connections: usize) -> Result<(), String> {
    let wanted = connections as u64 + OTHER_FILES;
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|limit| limit >= wanted) {
        return Ok(());
    }
    // Without privileges only the soft limit can be raised, up to the hard one. Root can raise
    // both.
    let maximum = now.maximum.map(|limit| limit.max(wanted));
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).map_err(|_| {
        format!(
            "{connections} connections need {wanted} open files, and this system allows {}. \
             Use fewer --clients or raise the limit (ulimit -n).",
            now.maximum.unwrap_or_default()
        )
    })
}
