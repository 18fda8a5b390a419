//! Appending to the outbox: entries first, then the change, or neither.
//!
//! Entries are appended to the opened stream, never by a call of XADD: a call would run other
//! modules' callbacks in the middle, and its propagation could not be taken back. They are
//! replicated with their explicit ids, together with the change.

use std::os::raw::c_int;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use redis_module::raw::{
    self, RedisModuleCtx, RedisModuleKey, RedisModuleStreamID, RedisModuleString,
};

use super::replicate::create_string;
use seckill_domain::outbox::{Entry, FIELDS_INLINE};

/// Why the entries could not be appended. Nothing of them is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// The stream is missing and the server is a cluster node: its slot may be moving.
    NotHere,
    /// The key holds something else, or the stream takes no more entries.
    Refused,
}

/// Appends entries. Taken from a call before its key is opened; it touches the stream alone.
#[derive(Clone, Copy)]
pub struct Outbox {
    ctx: *mut RedisModuleCtx,
}

/// Entries that were appended and are still to be replicated.
pub struct Appended {
    ctx: *mut RedisModuleCtx,
    stream: *mut RedisModuleString,
    entries: Vec<(RedisModuleStreamID, Vec<*mut RedisModuleString>)>,
    /// There was no stream before these entries.
    is_new: bool,
}

impl Outbox {
    pub(super) fn new(ctx: *mut RedisModuleCtx) -> Outbox {
        Outbox { ctx }
    }

    /// Appends all `entries` to the stream at `key`, or none.
    pub fn append(self, key: &[u8], entries: &[Entry]) -> Result<Appended, NotTaken> {
        let stream = create_string(self.ctx, key);
        let mut appended = Appended { ctx: self.ctx, stream, entries: Vec::new(), is_new: false };
        let mode = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;
        // SAFETY: the context is alive during the call and the name until `appended` is dropped.
        let open = unsafe { api!(RedisModule_OpenKey)(self.ctx, stream, mode as c_int) };
        let outcome = self.append_all(open, entries, &mut appended);
        // SAFETY: the key was opened above and is closed once.
        unsafe { api!(RedisModule_CloseKey)(open) };
        outcome.map(|()| appended)
    }

    /// Takes entries back that were appended by this very command and not yet replicated.
    pub fn withdraw(self, appended: Appended) {
        let mode = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;
        // SAFETY: the context is alive during the call and the name until `appended` is dropped;
        // the key is closed once.
        unsafe {
            let open = api!(RedisModule_OpenKey)(self.ctx, appended.stream, mode as c_int);
            appended.delete(open, appended.entries.len());
            api!(RedisModule_CloseKey)(open);
        }
    }

    /// The names and the values of an entry; the values are to be freed.
    fn pairs(self, entry: &Entry) -> Vec<*mut RedisModuleString> {
        let mut strings = Vec::with_capacity(2 * FIELDS_INLINE);
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = 0;
        for (name, value) in entry.fields() {
            strings.push(name_string(&mut names, name, &mut next));
            strings.push(create_string(self.ctx, value));
        }
        strings
    }

    fn append_all(
        self,
        open: *mut RedisModuleKey,
        entries: &[Entry],
        appended: &mut Appended,
    ) -> Result<(), NotTaken> {
        // SAFETY: the key is open.
        let is_new = match unsafe { api!(RedisModule_KeyType)(open) } as isize {
            raw::REDISMODULE_KEYTYPE_STREAM => false,
            raw::REDISMODULE_KEYTYPE_EMPTY if is_cluster(self.ctx) => {
                return Err(NotTaken::NotHere)
            }
            raw::REDISMODULE_KEYTYPE_EMPTY => true,
            _ => return Err(NotTaken::Refused),
        };
        appended.is_new = is_new;
        for entry in entries {
            let mut strings = self.pairs(entry);
            let mut id = RedisModuleStreamID { ms: 0, seq: 0 };
            // SAFETY: the key is open for writing, the strings are pairs and alive, and the server
            // copies what it keeps.
            let status = unsafe {
                let auto_id = raw::REDISMODULE_STREAM_ADD_AUTOID as c_int;
                let (start, pairs) = (strings.as_mut_ptr(), strings.len() / 2);
                api!(RedisModule_StreamAdd)(open, auto_id, &mut id, start, pairs as libc::c_long)
            };
            appended.entries.push((id, strings));
            if status as isize != raw::REDISMODULE_OK {
                appended.delete(open, appended.entries.len() - 1);
                return Err(NotTaken::Refused);
            }
        }
        Ok(())
    }
}

/// A name and its string.
struct Name(&'static str, *mut RedisModuleString);

// SAFETY: only the server's one thread makes and uses these strings.
unsafe impl Send for Name {}

/// Names of fields as strings of the server, in the order of their first use. They are kept for
/// good: an entry has twenty, and making them anew took a seventh of its time.
static NAMES: Mutex<Vec<Name>> = Mutex::new(Vec::new());

/// The string of a name. Fields come in the same order each time, so `next` is nearly always where
/// it is kept.
#[inline]
fn name_string(
    names: &mut Vec<Name>,
    name: &'static str,
    next: &mut usize,
) -> *mut RedisModuleString {
    let is_it = |known: &Name| ptr::eq(known.0, name);
    let place = match names.get(*next) {
        Some(expected) if is_it(expected) => *next,
        _ => names.iter().position(is_it).unwrap_or(names.len()),
    };
    if place == names.len() {
        names.push(Name(name, create_string(ptr::null_mut(), name.as_bytes())));
    }
    *next = place + 1;
    names[place].1
}

impl Appended {
    /// Deletes the first `count` entries, which were appended to the open key.
    fn delete(&self, open: *mut RedisModuleKey, count: usize) {
        for (id, _) in self.entries.iter().take(count) {
            let mut id = RedisModuleStreamID { ms: id.ms, seq: id.seq };
            // SAFETY: the key is open for writing and the id is one that it gave.
            unsafe { api!(RedisModule_StreamDelete)(open, &mut id) };
        }
        if self.is_new && count > 0 {
            // SAFETY: the key is open for writing.
            unsafe { api!(RedisModule_DeleteKey)(open) };
        }
    }

    /// Replicates every entry with its id.
    pub(super) fn replicate(&self) {
        for (id, strings) in &self.entries {
            let id = format!("{}-{}", id.ms, id.seq);
            // SAFETY: the context is alive, the format names one string, one buffer with its
            // length and one vector with its length, and the server copies all of them.
            unsafe {
                api!(RedisModule_Replicate)(
                    self.ctx,
                    c"XADD".as_ptr(),
                    c"sbv".as_ptr(),
                    self.stream,
                    id.as_ptr(),
                    id.len(),
                    strings.as_ptr(),
                    strings.len(),
                );
            }
        }
    }

    /// Tells who watches the stream.
    pub(super) fn signal(&self) {
        // SAFETY: the context and the name are alive.
        unsafe { api!(RedisModule_SignalModifiedKey)(self.ctx, self.stream) };
    }

    /// Notifies of the new entries, as XADD would.
    pub(super) fn notify(&self) {
        let class = raw::REDISMODULE_NOTIFY_STREAM as c_int;
        for _ in &self.entries {
            // SAFETY: the context and the name are alive and the text ends in NUL.
            unsafe {
                api!(RedisModule_NotifyKeyspaceEvent)(
                    self.ctx,
                    class,
                    c"xadd".as_ptr(),
                    self.stream,
                )
            };
        }
    }
}

impl Drop for Appended {
    fn drop(&mut self) {
        let values = self.entries.iter().flat_map(|(_, pairs)| pairs.iter().skip(1).step_by(2));
        for string in values.chain(std::iter::once(&self.stream)) {
            // SAFETY: each of these was created for this struct and is freed once.
            unsafe { api!(RedisModule_FreeString)(self.ctx, *string) };
        }
    }
}

fn is_cluster(ctx: *mut RedisModuleCtx) -> bool {
    // SAFETY: the context is alive during the call.
    let flags = unsafe { api!(RedisModule_GetContextFlags)(ctx) };
    flags & raw::REDISMODULE_CTX_FLAGS_CLUSTER as c_int != 0
}
