//! Every connection costs a file handle; a shell often grants only 1,024 of them.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

/// Files that are open besides the connections: the log, libraries, the poll handles.
const OTHER_FILES: u64 = 256;

/// Makes room for `connections` sockets in this process and, because a child inherits the limit,
/// in a redis-server that it starts.
///
/// # Errors
/// A sentence with the limit, if the system does not allow that many.
pub fn allow_connections(connections: usize) -> Result<(), String> {
    let wanted = connections as u64 + OTHER_FILES;
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|limit| limit >= wanted) {
        return Ok(());
    }
    // Without privileges only the soft limit can move, up to the hard one; root moves both.
    let maximum = now.maximum.map(|limit| limit.max(wanted));
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).map_err(|_| {
        format!(
            "{connections} connections need {wanted} open files, and this system allows {}. \
             Use fewer --clients or raise the limit (ulimit -n).",
            now.maximum.unwrap_or_default()
        )
    })
}
