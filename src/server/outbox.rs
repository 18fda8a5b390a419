//! Appending to the outbox: entries first, then the change, or neither.
//!
//! Opening a stream whose time to live is over, making one, and asking about one can all run code of
//! other modules, which may call any command. So a stream is made [`ready`] while no sale is open.
//! After that it is opened beside the sale and entries are appended to the open stream, which runs
//! nothing: never by a call of XADD, and never to a stream that is missing, because the server would
//! tell of `new` in the middle. Entries are replicated with their ids, together with the change.

use std::mem;
use std::os::raw::c_int;
use std::ptr;
use std::slice;
use std::sync::{Mutex, PoisonError};

use redis_module::raw::{
    self, RedisModuleCallReply, RedisModuleCtx, RedisModuleKey, RedisModuleStreamID,
    RedisModuleString,
};

use super::call::bytes_of;
use super::replicate::create_string;
use crate::sale::outbox::{Entry, FIELDS_INLINE};

/// Why entries can't be appended. Nothing of them is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// The stream is missing and must not be made here: the server is a cluster node, and the slot
    /// may be moving.
    NotHere,
    /// The key holds something else, or the stream takes no more entries.
    Refused,
    /// Foreign code took the stream away while it was made.
    Changed,
}

/// The streams of a call. Taken before its key is opened, it can be used while that is open.
#[derive(Clone, Copy)]
pub struct Outbox {
    ctx: *mut RedisModuleCtx,
}

impl Outbox {
    pub(super) fn new(ctx: *mut RedisModuleCtx) -> Outbox {
        Outbox { ctx }
    }

    /// The stream of this name. `is_named`: the command names it as a key.
    pub fn stream(self, name: &[u8], is_named: bool) -> Stream {
        Stream { ctx: self.ctx, name: create_string(self.ctx, name), is_named }
    }
}

/// The stream at a key, by its name.
pub struct Stream {
    ctx: *mut RedisModuleCtx,
    name: *mut RedisModuleString,
    /// The command names it as a key, so it may be made in cluster mode, too.
    is_named: bool,
}

/// What is at a stream's key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Stream,
    Nothing,
    Other,
}

impl Stream {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the name lives as long as this struct and nobody changes it.
        unsafe { bytes_of(self.name) }
    }

    /// Opens the key for writing; it is to be closed.
    fn open_key(&self) -> *mut RedisModuleKey {
        let mode = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;
        // SAFETY: the context is alive during the call and the name as long as this struct.
        unsafe { api!(RedisModule_OpenKey)(self.ctx, self.name, mode as c_int) }
    }

    /// Looks at the key. Foreign code may run in it.
    fn look(&self) -> Found {
        let key = self.open_key();
        let found = found_at(key);
        // SAFETY: the key was opened above and is closed once.
        unsafe { api!(RedisModule_CloseKey)(key) };
        found
    }

    /// Makes an empty stream, here and, by commands that replicate themselves, everywhere. Foreign
    /// code may run in it, and in the end there may be no stream.
    fn make(&self) {
        let group = c"seckill".as_ptr();
        // SAFETY: the context and the name are alive and the format names what follows it.
        let made = unsafe {
            let (create, last, mkstream) =
                (c"CREATE".as_ptr(), c"$".as_ptr(), c"MKSTREAM".as_ptr());
            let format = c"!csccc".as_ptr();
            let call = api!(RedisModule_Call);
            call(self.ctx, c"XGROUP".as_ptr(), format, create, self.name, group, last, mkstream)
        };
        // A group that was there by now is not ours to destroy.
        if !is_refused(made) {
            // SAFETY: as above.
            let destroyed = unsafe {
                let (destroy, format) = (c"DESTROY".as_ptr(), c"!csc".as_ptr());
                let call = api!(RedisModule_Call);
                call(self.ctx, c"XGROUP".as_ptr(), format, destroy, self.name, group)
            };
            free(destroyed);
        }
        free(made);
    }

    /// Whether the stream has room for `count` more entries: its last id may be near the end of all
    /// ids. Foreign code may run in it.
    fn has_room(&self, count: usize) -> bool {
        // SAFETY: the context and the name are alive and the format names what follows it.
        let reply = unsafe {
            let (stream, format) = (c"STREAM".as_ptr(), c"cs".as_ptr());
            api!(RedisModule_Call)(self.ctx, c"XINFO".as_ptr(), format, stream, self.name)
        };
        let has_room = !is_refused(reply) && takes(proto(reply), count as u64);
        free(reply);
        has_room
    }

    /// Opens the stream to append to it. Nothing if it is not there, which after [`ready`] means
    /// that foreign code ran while it was opened.
    pub fn open(self) -> Option<OpenStream> {
        let key = self.open_key();
        let open = OpenStream { key, stream: Some(self), entries: Vec::new() };
        (found_at(key) == Found::Stream).then_some(open)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the name was created for this struct and is freed once.
        unsafe { api!(RedisModule_FreeString)(self.ctx, self.name) };
    }
}

/// Sees to it that each of the streams is there and takes so many entries; or tells which is not.
/// All are looked at before one is made. No sale may be open: foreign code may run in it.
pub fn ready(wanted: &[(&Stream, usize)]) -> Result<(), (usize, NotTaken)> {
    // A single entry is taken or not. Of several the first ones, taken back, would have raised the
    // stream's last id for nothing.
    let is_single = wanted.iter().map(|(_, entries)| entries).sum::<usize>() == 1;
    let mut missing = Vec::new();
    for (place, (stream, _)) in wanted.iter().enumerate() {
        match stream.look() {
            Found::Stream if is_single || stream.has_room(count_for(stream, wanted)) => {}
            Found::Nothing if stream.is_named || !is_cluster(stream.ctx) => missing.push(stream),
            Found::Nothing => return Err((place, NotTaken::NotHere)),
            Found::Stream | Found::Other => return Err((place, NotTaken::Refused)),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    missing.iter().for_each(|stream| stream.make());
    // What foreign code did meanwhile is seen here.
    wanted.iter().enumerate().try_for_each(|(place, (stream, _))| match stream.look() {
        Found::Stream => Ok(()),
        Found::Nothing if is_cluster(stream.ctx) => Err((place, NotTaken::NotHere)),
        Found::Nothing => Err((place, NotTaken::Changed)),
        Found::Other => Err((place, NotTaken::Refused)),
    })
}

/// Opens the streams, which are ready, to append to them. Nothing if one of them is not there.
pub fn open_all(streams: Vec<Option<Stream>>) -> Option<Vec<Option<OpenStream>>> {
    let mut open = Vec::with_capacity(streams.len());
    for stream in streams {
        match stream.map(Stream::open) {
            None => open.push(None),
            Some(Some(stream)) => open.push(Some(stream)),
            Some(None) => {
                // Foreign code ran, and nothing is known of the values of those that are open.
                open.into_iter().flatten().for_each(mem::forget);
                return None;
            }
        }
    }
    Some(open)
}

/// How many entries one stream is to take in all.
fn count_for(stream: &Stream, wanted: &[(&Stream, usize)]) -> usize {
    let same = wanted.iter().filter(|(other, _)| other.bytes() == stream.bytes());
    same.map(|(_, entries)| entries).sum()
}

/// A stream that entries are appended to. What was appended is taken back when this is dropped
/// before [`OpenStream::close`].
pub struct OpenStream {
    key: *mut RedisModuleKey,
    /// Taken by `close` alone.
    stream: Option<Stream>,
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

impl OpenStream {
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
    pub fn close(mut self) -> Option<Appended> {
        let entries = mem::take(&mut self.entries);
        self.stream.take().map(|stream| Appended { stream, entries })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.take_back(0);
        // SAFETY: the key was opened for this struct and is closed once.
        unsafe { api!(RedisModule_CloseKey)(self.key) };
    }
}

/// Entries that were appended and are still to be replicated.
pub struct Appended {
    stream: Stream,
    entries: Vec<Written>,
}

impl Appended {
    /// Replicates every entry with its id.
    pub(super) fn replicate(&self) {
        for Written { id, strings } in &self.entries {
            let id = format!("{}-{}", id.ms, id.seq);
            // SAFETY: the context is alive, the format names one string, one buffer with its
            // length and one vector with its length, and the server copies all of them.
            unsafe {
                api!(RedisModule_Replicate)(
                    self.stream.ctx,
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
    pub(super) fn signal(&self) {
        let Stream { ctx, name, .. } = self.stream;
        // SAFETY: the context and the name are alive.
        unsafe { api!(RedisModule_SignalModifiedKey)(ctx, name) };
    }

    /// Notifies of the new entries, as XADD would.
    pub(super) fn notify(&self) {
        let (class, stream) = (raw::REDISMODULE_NOTIFY_STREAM as c_int, &self.stream);
        for _ in &self.entries {
            // SAFETY: the context and the name are alive and the text ends in NUL.
            unsafe {
                let event = c"xadd".as_ptr();
                api!(RedisModule_NotifyKeyspaceEvent)(stream.ctx, class, event, stream.name)
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
        strings.push(create_string(ptr::null_mut(), value));
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
        names.push(Name(name, create_string(ptr::null_mut(), name.as_bytes())));
    }
    *next = place + 1;
    names[place].1
}

fn found_at(key: *mut RedisModuleKey) -> Found {
    // SAFETY: the key is open.
    match unsafe { api!(RedisModule_KeyType)(key) } as isize {
        raw::REDISMODULE_KEYTYPE_STREAM => Found::Stream,
        raw::REDISMODULE_KEYTYPE_EMPTY => Found::Nothing,
        _ => Found::Other,
    }
}

fn is_cluster(ctx: *mut RedisModuleCtx) -> bool {
    // SAFETY: the context is alive during the call.
    let flags = unsafe { api!(RedisModule_GetContextFlags)(ctx) };
    flags & raw::REDISMODULE_CTX_FLAGS_CLUSTER as c_int != 0
}

/// Whether the server did not make the call, or answered with an error.
fn is_refused(reply: *mut RedisModuleCallReply) -> bool {
    // SAFETY: a reply that is there is alive.
    reply.is_null()
        || unsafe { api!(RedisModule_CallReplyType)(reply) } as isize
            == raw::REDISMODULE_REPLY_ERROR
}

/// The reply as the server would send it; nothing if there is none.
fn proto<'r>(reply: *mut RedisModuleCallReply) -> &'r [u8] {
    let mut len = 0;
    // SAFETY: the reply is alive.
    let start = unsafe { api!(RedisModule_CallReplyProto)(reply, &mut len) };
    if start.is_null() {
        return &[];
    }
    // SAFETY: the server says where the bytes are and how many; they live as long as the reply.
    unsafe { slice::from_raw_parts(start.cast(), len) }
}

fn free(reply: *mut RedisModuleCallReply) {
    if !reply.is_null() {
        // SAFETY: the reply is alive and freed once.
        unsafe { api!(RedisModule_FreeCallReply)(reply) };
    }
}

/// Whether a stream that XINFO tells so of takes `count` more entries.
fn takes(info: &[u8], count: u64) -> bool {
    const FIELD: &[u8] = b"last-generated-id\r\n";
    let place = info.windows(FIELD.len()).position(|window| window == FIELD);
    let id = place.and_then(|place| info.get(place + FIELD.len()..)).and_then(|rest| {
        let text = rest.split(|byte| *byte == b'\n').nth(1)?;
        std::str::from_utf8(text).ok()?.trim_end().split_once('-')
    });
    let Some((Ok(ms), Ok(seq))) = id.map(|(ms, seq)| (ms.parse::<u64>(), seq.parse::<u64>()))
    else {
        return false;
    };
    ms < u64::MAX || u64::MAX - seq >= count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(id: &str) -> Vec<u8> {
        let text = format!(
            "*4\r\n$6\r\nlength\r\n:1\r\n$17\r\nlast-generated-id\r\n${}\r\n{id}\r\n",
            id.len()
        );
        text.into_bytes()
    }

    #[test]
    fn the_last_id_tells_how_many_entries_a_stream_takes() {
        let last = u64::MAX;
        for id in ["0-0".to_owned(), format!("7-{last}"), format!("{}-{last}", last - 1)] {
            assert!(takes(&info(&id), 1000), "{id}");
        }
        let near = info(&format!("{last}-{}", last - 2));
        assert!(takes(&near, 2) && !takes(&near, 3));
        for told in [&b""[..], b"*0\r\n", &info("7"), &info("a-b")] {
            assert!(!takes(told, 1));
        }
    }
}
