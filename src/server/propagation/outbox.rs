//! Appending to the outbox: entries first, then the change, or neither.
//!
//! The stream is there by now, see [`super::stream`]. It is opened beside the sale and entries are
//! appended to the open stream, which runs no code of other modules: never by a call of XADD, and
//! never to a stream that is missing, because the server would tell of `new` in the middle. Entries
//! are replicated with their ids, together with the change.

use std::mem;
use std::os::raw::c_int;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use redis_module::raw::{self, RedisModuleKey, RedisModuleStreamID, RedisModuleString};

use smallvec::SmallVec;

use super::stream::{found_at, Found};
pub use super::stream::{ready, NotTaken, Stream};
use crate::server::ffi::api::create_string;
use crate::server::ffi::ctx::Ctx;
use seckill_domain::outbox::{Entry, FIELDS_INLINE};

/// The streams of a call. Taken before its key is opened, it can be used while that is open.
#[derive(Clone, Copy)]
pub struct Outbox<'c> {
    ctx: Ctx<'c>,
}

impl<'c> Outbox<'c> {
    pub(crate) fn new(ctx: Ctx<'c>) -> Self {
        Outbox { ctx }
    }

    /// The stream of this name. `is_named`: the command names it as a key.
    pub fn stream(self, name: &[u8], is_named: bool) -> Stream<'c> {
        Stream { ctx: self.ctx, name: create_string(name), is_named }
    }
}

/// Opens the streams, which are ready, to append to them. Nothing if one of them is not there.
pub fn open_all<'c>(
    streams: impl Iterator<Item = Option<Stream<'c>>>,
) -> Option<SmallVec<[Option<OpenStream<'c>>; 1]>> {
    let mut open = SmallVec::new();
    for stream in streams {
        match stream.map(Stream::open) {
            None => open.push(None),
            Some(Some(stream)) => open.push(Some(stream)),
            Some(None) => {
                // Foreign code ran, and nothing is known of the values of those that are open.
                open.into_iter().flatten().for_each(mem::forget::<OpenStream>);
                return None;
            }
        }
    }
    Some(open)
}

/// A stream that entries are appended to. What was appended is taken back when this is dropped
/// before [`OpenStream::close`].
pub struct OpenStream<'c> {
    key: *mut RedisModuleKey,
    /// Taken by `close` alone.
    stream: Option<Stream<'c>>,
    entries: Vec<Written>,
}

/// An entry that was appended, and its names and values; the values are its own.
struct Written {
    id: RedisModuleStreamID,
    strings: Vec<*mut RedisModuleString>,
}

impl Drop for Written {
    fn drop(&mut self) {
        for value in self.strings.iter().skip(1).step_by(2) {
            // SAFETY: each value was created for this entry and is freed once.
            unsafe { api!(RedisModule_FreeString)(ptr::null_mut(), *value) };
        }
    }
}

impl<'c> Stream<'c> {
    /// Opens the stream to append to it. Nothing if it is not there, which after [`ready`] means
    /// that foreign code ran while it was opened.
    pub fn open(self) -> Option<OpenStream<'c>> {
        let key = self.open_key();
        let open = OpenStream { key, stream: Some(self), entries: Vec::new() };
        (found_at(key) == Found::Stream).then_some(open)
    }
}

impl<'c> OpenStream<'c> {
    /// Appends all `entries`, or none. Runs no foreign code: the stream is there.
    pub fn append(&mut self, entries: &[Entry]) -> Result<(), NotTaken> {
        let before = self.entries.len();
        for entry in entries {
            let mut written =
                Written { id: RedisModuleStreamID { ms: 0, seq: 0 }, strings: pairs(entry) };
            // SAFETY: the key is open for writing and holds a stream, the strings are pairs and
            // alive, and the server copies what it keeps.
            let status = unsafe {
                let auto_id = raw::REDISMODULE_STREAM_ADD_AUTOID as c_int;
                let (start, pairs) = (written.strings.as_mut_ptr(), written.strings.len() / 2);
                let count = pairs as libc::c_long;
                api!(RedisModule_StreamAdd)(self.key, auto_id, &mut written.id, start, count)
            };
            if status as isize != raw::REDISMODULE_OK {
                self.take_back(before);
                return Err(NotTaken::Refused);
            }
            self.entries.push(written);
        }
        Ok(())
    }

    /// Deletes what was appended after the first `kept` entries.
    fn take_back(&mut self, kept: usize) {
        for written in self.entries.drain(kept..) {
            let mut id = written.id;
            // SAFETY: the key is open for writing and the id is one that it gave.
            unsafe { api!(RedisModule_StreamDelete)(self.key, &mut id) };
        }
    }

    /// Closes the stream: what was appended stays and is to be replicated.
    pub fn close(mut self) -> Option<Appended<'c>> {
        let entries = mem::take(&mut self.entries);
        self.stream.take().map(|stream| Appended { stream, entries })
    }
}

impl Drop for OpenStream<'_> {
    fn drop(&mut self) {
        self.take_back(0);
        // SAFETY: the key was opened for this struct and is closed once.
        unsafe { api!(RedisModule_CloseKey)(self.key) };
    }
}

/// Entries that were appended and are still to be replicated.
pub struct Appended<'c> {
    stream: Stream<'c>,
    entries: Vec<Written>,
}

impl Appended<'_> {
    /// Replicates every entry with its id.
    pub(crate) fn replicate(&self) {
        for Written { id, strings } in &self.entries {
            let id = format!("{}-{}", id.ms, id.seq);
            // SAFETY: the name is alive, the format names one string, one buffer with its
            // length and one vector with its length, and the server copies all of them.
            unsafe {
                api!(RedisModule_Replicate)(
                    self.stream.ctx.raw(),
                    c"XADD".as_ptr(),
                    c"sbv".as_ptr(),
                    self.stream.name,
                    id.as_ptr(),
                    id.len(),
                    strings.as_ptr(),
                    strings.len(),
                );
            }
        }
    }

    /// Tells who watches the stream.
    pub(crate) fn signal(&self) {
        let Stream { ctx, name, .. } = self.stream;
        // SAFETY: the name is alive.
        unsafe { api!(RedisModule_SignalModifiedKey)(ctx.raw(), name) };
    }

    /// Notifies of the new entries, as XADD would.
    pub(crate) fn notify(&self) {
        let (class, stream) = (raw::REDISMODULE_NOTIFY_STREAM as c_int, &self.stream);
        for _ in &self.entries {
            // SAFETY: the name is alive and the text ends in NUL.
            unsafe {
                let event = c"xadd".as_ptr();
                api!(RedisModule_NotifyKeyspaceEvent)(stream.ctx.raw(), class, event, stream.name)
            };
        }
    }
}

/// The names and the values of an entry; the values are to be freed.
fn pairs(entry: &Entry) -> Vec<*mut RedisModuleString> {
    let mut strings = Vec::with_capacity(2 * FIELDS_INLINE);
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let mut next = 0;
    for (name, value) in entry.fields() {
        strings.push(name_string(&mut names, name, &mut next));
        strings.push(create_string(value));
    }
    strings
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
        names.push(Name(name, create_string(name.as_bytes())));
    }
    *next = place + 1;
    names[place].1
}
