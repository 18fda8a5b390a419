//! Appending to the outbox. On a primary a change and its entries are all or nothing. A replica
//! applies the change and drops entries that its stream refuses.
//!
//! A change goes through four states. Each is a type that only the state before it makes:
//! [`Stream`] (closed), [`Ready`] (open, while the sale is closed), [`Open`] (with the sale),
//! [`Written`] (with the entries). Entries are appended to the open stream, never by XADD or to a
//! missing stream: the server would then notify of `new` in the middle of the change. The first
//! entry's stream id is replicated with the change, and every other node appends the entries under
//! these ids.

use std::mem::ManuallyDrop;
use std::os::raw::c_int;
use std::ptr;
use std::sync::OnceLock;

use redis_module::raw::{self, RedisModuleKey, RedisModuleStreamID, RedisModuleString};

use crate::server::ffi::api::OwnString;
use crate::server::ffi::ctx::{Ctx, Locked};
use crate::server::settings;
use seckill_domain::event::EVENTS;
use seckill_domain::outbox::{Entry, EntryVersion, Field, FIELDS};
use seckill_domain::plan::{EntriesAt, Plan, StreamId};
use seckill_domain::Sale;

/// The streams of a call. Taken before a sale's key is opened, they can be used while that key is
/// open.
#[derive(Clone, Copy)]
pub struct Outbox<'c> {
    pub(in crate::server) ctx: Ctx<'c>,
    /// The arguments of the call. They are alive as long as its context.
    pub(in crate::server) strings: &'c [*mut RedisModuleString],
    /// The arguments' bytes.
    pub(in crate::server) args: &'c [&'c [u8]],
}

/// The stream at a key, identified by the key's name.
pub struct Stream<'c> {
    pub(super) ctx: Ctx<'c>,
    pub(crate) name: OwnString,
    /// Whether the command names the key, so that the stream may be made in cluster mode, too.
    pub(super) is_named: bool,
}

/// The reason why a key has no stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NoStream {
    Nothing,
    Other,
}

impl<'c> Outbox<'c> {
    /// The stream of this name. `is_named`: the command names it as a key.
    pub fn stream(self, name: &[u8], is_named: bool) -> Stream<'c> {
        Stream { ctx: self.ctx, name: OwnString::new(name), is_named }
    }
}

/// A sale that a plan was decided for.
pub struct AsPlanned<'k>(&'k mut Sale);

impl<'k> AsPlanned<'k> {
    /// The sale at the key, if it is the unchanged sale that `plan` is for.
    #[inline(always)]
    pub fn of(sale: &'k mut Sale, plan: Option<&Plan<'_>>) -> Option<AsPlanned<'k>> {
        plan.is_none_or(|plan| plan.is_for(sale)).then_some(AsPlanned(sale))
    }

    /// A sale that has been open since the plan was decided, or a new one without a key.
    #[inline(always)]
    pub fn still(sale: &'k mut Sale) -> AsPlanned<'k> {
        AsPlanned(sale)
    }
}

/// The open stream of a change whose sale is still closed; no stream if the change has no entries.
/// No foreign code runs until the stream is closed.
///
/// Dropping it leaks the open key. The stream may have been deleted by its TTL, and RM_CloseKey
/// would read freed memory. A TTL can pass there only in a timer on Redis 7.0, where the clock
/// moves within a callback.
#[derive(Default)]
pub struct Ready<'s>(Option<ManuallyDrop<OpenStream<'s>>>);

impl<'s> Ready<'s> {
    /// Adds the sale that changes.
    #[inline(always)]
    pub fn with<'k>(self, sale: AsPlanned<'k>) -> Open<'s, 'k> {
        Open { sale: sale.0, stream: self.0.map(ManuallyDrop::into_inner) }
    }
}

/// The open stream of a change and its open sale.
pub struct Open<'s, 'k> {
    sale: &'k mut Sale,
    stream: Option<OpenStream<'s>>,
}

impl<'s, 'k> Open<'s, 'k> {
    /// Appends the entries of `plan`. `arg` is the index of the sale's key among the arguments.
    /// `given` is the first entry's id if another node chose it. Otherwise the stream chooses the
    /// ids, and after one refusal no further entry is appended.
    #[inline(always)]
    pub fn append(
        self,
        outbox: Outbox<'_>,
        arg: usize,
        plan: &Plan<'_>,
        given: Option<StreamId>,
    ) -> Written<'s, 'k> {
        let Open { sale, mut stream } = self;
        let missed = match (&mut stream, given) {
            (Some(stream), _) => stream.append(outbox, arg, sale, plan, given),
            (None, Some(_)) => plan.events.len() as u64,
            (None, None) => 0,
        };
        Written { sale, stream, missed }
    }

    /// Appends nothing, for a change without entries.
    #[inline(always)]
    pub fn nothing(self) -> Written<'s, 'k> {
        Written { sale: self.sale, stream: self.stream, missed: 0 }
    }
}

/// A sale that has not changed yet, with the entries of its change. Dropping it deletes the
/// entries, unless their ids were given by another node.
pub struct Written<'s, 'k> {
    sale: &'k mut Sale,
    stream: Option<OpenStream<'s>>,
    /// Number of entries that the stream refused.
    pub missed: u64,
}

impl<'s, 'k> Written<'s, 'k> {
    /// Closes the stream and returns the sale, which must be changed now.
    #[inline(always)]
    pub fn close(self) -> (&'k mut Sale, Appended<'s>) {
        (self.sale, self.stream.map(OpenStream::close).unwrap_or_default())
    }
}

/// An open stream. Dropping it before [`OpenStream::close`] deletes the appended entries, unless
/// their ids were given by another node.
pub(super) struct OpenStream<'s> {
    pub(super) key: *mut RedisModuleKey,
    stream: &'s Stream<'s>,
    /// The id of the first appended entry, if the stream chose it.
    first: Option<StreamId>,
    /// The number of appended entries.
    len: u64,
}

impl Stream<'_> {
    /// Opens the stream for appending, or returns the reason why there is none.
    pub fn ready(&self) -> Result<Ready<'_>, NoStream> {
        self.open().map(|open| Ready(Some(ManuallyDrop::new(open))))
    }

    /// Whether there is nothing at the key. Foreign code may run.
    pub fn is_missing(&self) -> bool {
        self.open().err() == Some(NoStream::Nothing)
    }

    /// Opens the stream. Foreign code may run in it unless the stream is ready.
    pub(super) fn open(&self) -> Result<OpenStream<'_>, NoStream> {
        let mode = (raw::REDISMODULE_READ | raw::REDISMODULE_WRITE) as c_int;
        // SAFETY: the name is alive as long as this struct.
        let key = unsafe { api!(RedisModule_OpenKey)(self.ctx.raw(), self.name.raw(), mode) };
        let open = OpenStream { key, stream: self, first: None, len: 0 };
        // SAFETY: the key is open.
        match unsafe { api!(RedisModule_KeyType)(key) } as isize {
            raw::REDISMODULE_KEYTYPE_STREAM => Ok(open),
            raw::REDISMODULE_KEYTYPE_EMPTY => Err(NoStream::Nothing),
            _ => Err(NoStream::Other),
        }
    }
}

impl<'s> OpenStream<'s> {
    /// See [`Open::append`]. Returns the number of entries that the stream refused.
    fn append(
        &mut self,
        outbox: Outbox<'_>,
        arg: usize,
        sale: &mut Sale,
        plan: &Plan<'_>,
        given: Option<StreamId>,
    ) -> u64 {
        let Some(name) = outbox.strings.get(arg) else { return 0 };
        let mut missed = 0;
        let append_one = |entry: &Entry<'_>| {
            let (flags, id) = match given.or(self.first) {
                None => (raw::REDISMODULE_STREAM_ADD_AUTOID, Some(StreamId { ms: 0, seq: 0 })),
                Some(first) => (0, first.after(self.len + missed)),
            };
            // No id follows the largest one.
            let Some(StreamId { ms, seq }) = id else {
                missed += 1;
                return;
            };
            let (mut id, mut strings) =
                (RedisModuleStreamID { ms, seq }, Strings::of(outbox, *name, entry));
            // SAFETY: the key is open for writing and holds a stream, the strings are pairs and
            // alive, and the server copies what it keeps.
            let status = unsafe {
                let (start, count) = (strings.pairs.as_mut_ptr(), strings.len as libc::c_long);
                let flags = flags as c_int;
                api!(RedisModule_StreamAdd)(self.key, flags, &mut id, start.cast(), count)
            };
            if status as isize != raw::REDISMODULE_OK {
                missed += 1;
                return;
            }
            self.len += 1;
            if given.is_none() {
                self.first.get_or_insert(StreamId { ms: id.ms, seq: id.seq });
            }
        };
        DATA.with(outbox.ctx.lock(), |data| sale.each_entry(plan, data, append_one));
        if given.is_none() && missed > 0 {
            sale.note_outbox_failed();
        }
        missed
    }

    /// Closes the stream: the appended entries stay and are to be replicated.
    fn close(mut self) -> Appended<'s> {
        let version = EntryVersion::known_to(settings::EFFECTS_VERSION.get());
        let first = self.first.take().map(|id| EntriesAt { version, id });
        Appended { stream: Some(self.stream), first, len: self.len }
    }
}

impl Drop for OpenStream<'_> {
    fn drop(&mut self) {
        let ids =
            self.first.into_iter().flat_map(|first| (0..self.len).map(move |n| first.after(n)));
        for StreamId { ms, seq } in ids.flatten() {
            let mut id = RedisModuleStreamID { ms, seq };
            // SAFETY: the key is open for writing and the id is one that it gave.
            unsafe { api!(RedisModule_StreamDelete)(self.key, &mut id) };
        }
        // SAFETY: the key was opened for this struct and is closed once.
        unsafe { api!(RedisModule_CloseKey)(self.key) };
    }
}

/// The appended entries of one change.
#[derive(Default)]
pub struct Appended<'s> {
    /// None if there are no entries.
    pub(crate) stream: Option<&'s Stream<'s>>,
    /// Id of the first entry and version of all, unless another node gave the id.
    pub(crate) first: Option<EntriesAt>,
    /// The number of entries.
    pub(crate) len: u64,
}

/// Buffer in which an entry's data is encoded before the server copies it; kept between calls.
static DATA: Locked<Vec<u8>> = Locked::new(Vec::new());

/// Names and values of an entry as strings of the server.
struct Strings {
    pairs: [[*mut RedisModuleString; 2]; FIELDS.len()],
    /// The number of pairs.
    len: usize,
    /// Strings that were created for this entry.
    own: [OwnString; FIELDS.len()],
}

impl Strings {
    /// The fields of `entry`. `sale` is the name of its sale.
    #[inline]
    fn of(outbox: Outbox<'_>, sale: *mut RedisModuleString, entry: &Entry<'_>) -> Strings {
        let words = WORDS.get_or_init(Words::new);
        let mut strings = Strings {
            pairs: [[ptr::null_mut(); 2]; FIELDS.len()],
            len: 2,
            own: [const { OwnString::NONE }; FIELDS.len()],
        };
        // Destructured, so that the compiler finds a forgotten field.
        let Entry { event, data, user, req, outbox: named, split } = *entry;
        let field = |field: Field| words.fields[field as usize].raw();
        strings.pairs[0] = [field(Field::Event), words.events[event as usize].raw()];
        strings.pairs[1] = [field(Field::Sale), sale];
        let values = [
            (Field::Data, Some(data)),
            (Field::User, user),
            (Field::Req, req),
            (Field::Outbox, named),
            (Field::Split, split),
        ];
        for (name, bytes) in values {
            let Some(bytes) = bytes else { continue };
            // An argument of the call is a string of the server already.
            let said = outbox.args.iter().position(|arg| ptr::eq(*arg, bytes));
            let value = match said.and_then(|arg| outbox.strings.get(arg)) {
                Some(value) => *value,
                None => {
                    let own = &mut strings.own[name as usize];
                    *own = OwnString::new(bytes);
                    own.raw()
                }
            };
            strings.pairs[strings.len] = [field(name), value];
            strings.len += 1;
        }
        strings
    }
}

/// Constant words as strings of the server, kept forever.
struct Words {
    fields: [OwnString; FIELDS.len()],
    events: [OwnString; EVENTS.len()],
}

// SAFETY: these strings are used under the server's lock, see `append`, and are never changed or
// freed.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

static WORDS: OnceLock<Words> = OnceLock::new();

impl Words {
    fn new() -> Words {
        Words {
            fields: FIELDS.map(|field| OwnString::new(field.name().as_bytes())),
            events: EVENTS.each_ref().map(|event| OwnString::new(event.name.as_bytes())),
        }
    }
}
