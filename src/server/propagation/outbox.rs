//! Appending to the outbox: the entries of a change, or neither them nor the change.
//!
//! Streams are made ready first, see [`super::stream`], and stay open while the sale is opened and
//! changed. Entries are appended to the open stream, which runs no code of other modules: never by
//! a call of XADD, and never to a stream that is missing, because the server would notify of `new`
//! in the middle. The stream id of the first goes out with the change, and every other node appends
//! the same entries under the same ids.

use std::os::raw::c_int;
use std::ptr;
use std::sync::OnceLock;

use redis_module::raw::{self, RedisModuleKey, RedisModuleStreamID, RedisModuleString};

use super::stream;
pub use super::stream::{NotTaken, Wanted};
use crate::server::ffi::api::OwnString;
use crate::server::ffi::ctx::{Ctx, Locked};
use crate::server::settings;
use seckill_domain::event::{EventKind, EVENTS};
use seckill_domain::outbox::{Entry, Field, FIELDS};
use seckill_domain::plan::{EntriesAt, Plan, StreamId};
use seckill_domain::Sale;

/// The streams of a call. Taken before its key is opened, it can be used while that is open.
#[derive(Clone, Copy)]
pub struct Outbox<'c> {
    ctx: Ctx<'c>,
    /// The arguments of the call, and their bytes.
    strings: &'c [*mut RedisModuleString],
    args: &'c [&'c [u8]],
}

/// The stream at a key, by its name.
pub struct Stream<'c> {
    pub(super) ctx: Ctx<'c>,
    pub(super) name: OwnString,
    /// The command names it as a key, so it may be made in cluster mode, too.
    pub(super) is_named: bool,
}

/// What is at a stream's key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Stream,
    Nothing,
    Other,
}

/// Those streams once they are open.
pub type OpenStreams<'c> = Vec<Option<OpenStream<'c>>>;

impl<'c> Outbox<'c> {
    pub(crate) fn new(
        ctx: Ctx<'c>,
        strings: &'c [*mut RedisModuleString],
        args: &'c [&'c [u8]],
    ) -> Self {
        Outbox { ctx, strings, args }
    }

    /// The stream of this name. `is_named`: the command names it as a key.
    pub fn stream(self, name: &[u8], is_named: bool) -> Stream<'c> {
        Stream { ctx: self.ctx, name: OwnString::new(name), is_named }
    }

    /// The argument that has these very bytes, if they are an argument's.
    fn argument(self, bytes: &[u8]) -> Option<*mut RedisModuleString> {
        let index = self.args.iter().position(|arg| ptr::eq(*arg, bytes))?;
        self.strings.get(index).copied()
    }
}

/// Makes the streams ready and opens them to append to them, or says which takes nothing. No sale
/// may be open: foreign code may run in it. `is_as_judged` looks at the sales once it has run, and
/// before a stream is open, which could not be closed any more where foreign code took it away.
pub fn open_all(
    mut wanted: Wanted<'_>,
    is_as_judged: impl FnOnce() -> bool,
) -> Result<OpenStreams<'_>, (usize, NotTaken)> {
    stream::ready(&wanted)?;
    if !is_as_judged() {
        return Err((0, NotTaken::Changed));
    }
    let mut open = OpenStreams::new();
    for (index, (stream, _)) in wanted.iter_mut().enumerate() {
        let is_wanted = stream.is_some();
        open.push(open_one(stream));
        if is_wanted && open[index].is_none() {
            // It was there and is not: its time to live was over just now, foreign code ran, and
            // nothing is known of the values of those that are open.
            open.into_iter().flatten().for_each(OpenStream::abandon);
            return Err((index, NotTaken::Changed));
        }
    }
    Ok(open)
}

/// Opens a stream, which is taken, to append to it; none if it is not there. Foreign code may run
/// in it unless the stream is ready.
pub fn open_one<'c>(stream: &mut Option<Stream<'c>>) -> Option<OpenStream<'c>> {
    let (key, found) = stream.as_ref()?.open_key();
    if found == Found::Stream {
        return Some(OpenStream { key, stream: stream.take(), first: None, len: 0 });
    }
    // SAFETY: the key was opened above and is closed once.
    unsafe { api!(RedisModule_CloseKey)(key) };
    None
}

/// A stream that entries are appended to. What was appended is taken back when this is dropped
/// before [`OpenStream::close`].
pub struct OpenStream<'c> {
    key: *mut RedisModuleKey,
    /// Taken by `close` alone.
    stream: Option<Stream<'c>>,
    /// The id of the first entry that was appended.
    first: Option<StreamId>,
    /// How many were.
    len: u64,
}

impl<'c> Stream<'c> {
    /// Opens the key for writing and says what is there. It is to be closed.
    pub(super) fn open_key(&self) -> (*mut RedisModuleKey, Found) {
        let mode = (raw::REDISMODULE_READ | raw::REDISMODULE_WRITE) as c_int;
        // SAFETY: the name is alive as long as this struct.
        let key = unsafe { api!(RedisModule_OpenKey)(self.ctx.raw(), self.name.raw(), mode) };
        // SAFETY: the key is open.
        let found = match unsafe { api!(RedisModule_KeyType)(key) } as isize {
            raw::REDISMODULE_KEYTYPE_STREAM => Found::Stream,
            raw::REDISMODULE_KEYTYPE_EMPTY => Found::Nothing,
            _ => Found::Other,
        };
        (key, found)
    }

    /// Opens the stream to append what another node has appended, created if it is missing. Foreign
    /// code may run in it, after which `is_as_judged` looks at the sale, see [`open_all`].
    pub fn open_to_follow(self, is_as_judged: impl FnOnce() -> bool) -> Option<OpenStream<'c>> {
        let mut stream = Some(self);
        open_one(&mut stream).or_else(|| {
            stream.as_ref()?.make_to_follow();
            is_as_judged().then(|| open_one(&mut stream)).flatten()
        })
    }
}

impl<'c> OpenStream<'c> {
    /// Appends all entries of `plan`, which is for `sale`, or none. Runs no foreign code: the
    /// stream is there. `arg`: which argument of the call names the sale.
    pub fn append(
        &mut self,
        outbox: Outbox<'_>,
        arg: usize,
        sale: &Sale,
        plan: &Plan<'_>,
    ) -> Result<(), NotTaken> {
        let mut has_all = true;
        each_entry(outbox, arg, sale, plan, |strings| {
            let id = self.first.map(|first| first.after(self.len));
            let added = has_all.then(|| self.add(id, strings)).flatten();
            has_all &= added.is_some();
            self.first = self.first.or(added);
            self.len += u64::from(added.is_some());
        });
        if !has_all {
            self.take_back();
            return Err(NotTaken::Refused);
        }
        Ok(())
    }

    /// Appends the entries of `plan` as another node did, the first with the id `first`. Answers
    /// how many the stream did not take.
    pub fn follow(
        &mut self,
        outbox: Outbox<'_>,
        arg: usize,
        sale: &Sale,
        plan: &Plan<'_>,
        first: StreamId,
    ) -> u64 {
        let mut index = 0;
        each_entry(outbox, arg, sale, plan, |strings| {
            let added = self.add(Some(first.after(index)), strings);
            index += 1;
            self.len += u64::from(added.is_some());
        });
        index - self.len
    }

    /// Appends an entry under this id, or the server's own choice when there is none; `Some(None)`
    /// is an id that can't be. Answers the id if the stream took it.
    fn add(&mut self, id: Option<Option<StreamId>>, strings: &mut Strings) -> Option<StreamId> {
        let (flags, StreamId { ms, seq }) = match id {
            None => (raw::REDISMODULE_STREAM_ADD_AUTOID as c_int, StreamId { ms: 0, seq: 0 }),
            Some(id) => (0, id?),
        };
        let mut id = RedisModuleStreamID { ms, seq };
        // SAFETY: the key is open for writing and holds a stream, the strings are pairs and alive,
        // and the server copies what it keeps.
        let status = unsafe {
            let (start, count) = (strings.pairs.as_mut_ptr(), strings.len as libc::c_long);
            api!(RedisModule_StreamAdd)(self.key, flags, &mut id, start.cast(), count)
        };
        let is_added = status as isize == raw::REDISMODULE_OK;
        is_added.then_some(StreamId { ms: id.ms, seq: id.seq })
    }

    /// Deletes what was appended.
    fn take_back(&mut self) {
        let Some(first) = self.first.take() else { return };
        for StreamId { ms, seq } in (0..self.len).filter_map(|index| first.after(index)) {
            let mut id = RedisModuleStreamID { ms, seq };
            // SAFETY: the key is open for writing and the id is one that it gave.
            unsafe { api!(RedisModule_StreamDelete)(self.key, &mut id) };
        }
        self.len = 0;
    }

    /// Closes the stream: what was appended stays and is to be replicated.
    pub fn close(mut self) -> Option<Appended<'c>> {
        let (first, len) = (self.first.take(), self.len);
        self.stream.take().map(|stream| Appended { stream, first, len })
    }

    /// Leaves the stream open for good, and its name with it. For one whose value may be gone:
    /// closing looks at it. That takes a key whose time to live is over between two lines of ours,
    /// and a server whose time does not stand still there: Redis 7.0 in a timer.
    pub fn abandon(mut self) {
        self.key = ptr::null_mut();
    }
}

impl Drop for OpenStream<'_> {
    fn drop(&mut self) {
        if !self.key.is_null() {
            self.take_back();
            // SAFETY: the key was opened for this struct and is closed once.
            unsafe { api!(RedisModule_CloseKey)(self.key) };
        }
    }
}

/// Entries that were appended.
pub struct Appended<'c> {
    stream: Stream<'c>,
    first: Option<StreamId>,
    len: u64,
}

impl Appended<'_> {
    /// Where the first one is and in which form all are, unless another node gave its id.
    pub(crate) fn place(&self) -> Option<EntriesAt> {
        self.first.map(|id| EntriesAt { form: settings::entry_form(), id })
    }

    /// Signals to who watches the stream.
    pub(crate) fn signal(&self) {
        let Stream { ctx, name, .. } = &self.stream;
        // SAFETY: the name is alive.
        unsafe { api!(RedisModule_SignalModifiedKey)(ctx.raw(), name.raw()) };
    }

    /// Notifies of the new entries, as XADD would.
    pub(crate) fn notify(&self) {
        let class = raw::REDISMODULE_NOTIFY_STREAM as c_int;
        let Stream { ctx, name, .. } = &self.stream;
        for _ in 0..self.len {
            // SAFETY: the name is alive and the text ends in NUL.
            unsafe {
                let event = c"xadd".as_ptr();
                api!(RedisModule_NotifyKeyspaceEvent)(ctx.raw(), class, event, name.raw())
            };
        }
    }
}

/// Where the data of an entry is written before the server copies it: kept between calls.
static DATA: Locked<Vec<u8>> = Locked::new(Vec::new());

/// Lends `add` the strings of each entry of `plan`, in order.
fn each_entry(
    outbox: Outbox<'_>,
    arg: usize,
    sale: &Sale,
    plan: &Plan<'_>,
    mut add: impl FnMut(&mut Strings),
) {
    let Some(name) = outbox.strings.get(arg) else { return };
    DATA.with(outbox.ctx.lock(), |data| {
        sale.each_entry(plan, data, |entry| add(&mut Strings::of(outbox, *name, entry)));
    });
}

/// Names and values of an entry as strings of the server.
struct Strings {
    pairs: [[*mut RedisModuleString; 2]; FIELDS.len()],
    /// How many of these pairs there are.
    len: usize,
    /// Values that were created for this entry alone.
    own: [OwnString; FIELDS.len()],
}

impl Strings {
    #[inline]
    fn of(outbox: Outbox<'_>, sale: *mut RedisModuleString, entry: &Entry<'_>) -> Strings {
        let words = WORDS.get_or_init(Words::new);
        let mut strings = Strings {
            pairs: [[ptr::null_mut(); 2]; FIELDS.len()],
            len: 0,
            own: [const { OwnString::NONE }; FIELDS.len()],
        };
        strings.pair(words, Field::Event, words.events[entry.event as usize].raw());
        strings.pair(words, Field::Sale, sale);
        strings.bytes(words, Field::Data, None, entry.data);
        let raw = [
            (Field::User, entry.user),
            (Field::Req, entry.req),
            (Field::Outbox, entry.outbox),
            (Field::Split, entry.split),
        ];
        for (field, value) in raw {
            if let Some(value) = value {
                strings.bytes(words, field, outbox.argument(value), value);
            }
        }
        strings
    }

    #[inline]
    fn pair(&mut self, words: &Words, field: Field, value: *mut RedisModuleString) {
        self.pairs[self.len] = [words.fields[field as usize].raw(), value];
        self.len += 1;
    }

    /// A value that is `known` as a string, or becomes one for this entry.
    #[inline]
    fn bytes(
        &mut self,
        words: &Words,
        field: Field,
        known: Option<*mut RedisModuleString>,
        bytes: &[u8],
    ) {
        let value = known.unwrap_or_else(|| {
            let own = &mut self.own[field as usize];
            *own = OwnString::new(bytes);
            own.raw()
        });
        self.pair(words, field, value);
    }
}

/// Words of ours as strings of the server, which are kept for good.
struct Words {
    fields: [OwnString; FIELDS.len()],
    events: [OwnString; EVENTS.len()],
}

// SAFETY: whoever uses these strings has the server's lock, see `each_entry`, and nobody changes
// or frees one.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

static WORDS: OnceLock<Words> = OnceLock::new();

impl Words {
    fn new() -> Words {
        Words {
            fields: FIELDS.map(|field| OwnString::new(field.name().as_bytes())),
            events: EVENTS.map(|event: EventKind| OwnString::new(event.name().as_bytes())),
        }
    }
}
