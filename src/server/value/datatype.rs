//! The type `flashsale`: its callbacks for saving, loading, measuring, digesting and freeing a
//! sale.

use std::os::raw::{c_int, c_void};
use std::ptr;
use std::slice;

use redis_module::raw::{
    self, RedisModuleDigest, RedisModuleIO, RedisModuleKeyOptCtx, RedisModuleString,
    RedisModuleTypeMethods,
};

use super::key::{self, Value};
use super::{defrag, fork_memory};
use crate::server::data_set::{counts, timer};
use crate::server::ffi::api::{bytes_of, guarded};
use crate::server::ffi::ctx::{server_has_flag, Ctx, ServerLock};
use crate::server::ffi::{log, random};
use crate::server::propagation::{epoch, APPLY};
use seckill_domain::effect::{Change, Effect};
use seckill_domain::outcome::Refused;
use seckill_domain::plan::Loader;
use seckill_domain::plan::Position;
use seckill_domain::snapshot::Piece;
use seckill_domain::Sale;

/// Version of the frame around the pieces of a dump; the pieces have a version of their own.
const ENCODING_VERSION: c_int = 1;

const NOT_CREATED: &str = "the server has a data type flashsale already, another module's: one \
    server can't have both, so seckill is not loaded";
const CUT_OFF: &str = "a sale was not loaded: its data is cut off";
const NEWER: &str = "a sale was not loaded: a newer version of the module saved it";
const UNKNOWN: &str = "a sale was not loaded: its data is altered, or of a newer version";
const UNLAWFUL: &str = "a sale was not loaded: its data breaks the law of a sale";

/// Creates the type.
pub(crate) fn register(ctx: Ctx<'_>) -> Result<(), &'static str> {
    // A COPY would double the stock: without a copy callback the server refuses it.
    let mut methods = RedisModuleTypeMethods {
        version: u64::from(raw::REDISMODULE_TYPE_METHOD_VERSION),
        rdb_load: Some(rdb_load),
        rdb_save: Some(rdb_save),
        aof_rewrite: Some(aof_rewrite),
        digest: Some(digest),
        free: Some(free),
        mem_usage2: Some(mem_usage),
        free_effort2: Some(free_effort),
        defrag: defrag::callback(),
        mem_usage: None,
        aux_load: None,
        aux_save: None,
        aux_save_triggers: 0,
        free_effort: None,
        unlink: None,
        copy: None,
        unlink2: Some(unlink),
        copy2: None,
        aux_save2: None,
    };
    // SAFETY: the name ends in NUL, and the server copies the methods.
    let created = unsafe {
        let name = c"flashsale".as_ptr();
        api!(RedisModule_CreateDataType)(ctx.raw(), name, ENCODING_VERSION, &mut methods)
    };
    if created.is_null() {
        return Err(NOT_CREATED);
    }
    key::set_type_handle(created);
    Ok(())
}

/// The sale behind a value.
///
/// # Safety
/// `value` is a value of the type and nobody changes it during `'v`.
unsafe fn sale_of<'v>(value: *const c_void) -> &'v Sale {
    // SAFETY: values of the type are boxed, the sale first; the rest is the caller's word.
    unsafe { &*value.cast::<Sale>() }
}

unsafe extern "C" fn free(value: *mut c_void) {
    // A sale owns plain bytes alone, so it may be freed by a thread of the server's.
    // SAFETY: the server frees a value once, when no key holds it any more.
    guarded((), || unsafe { key::free(value) });
}

/// The value leaves its key: the key is deleted, or the value moves to another key, which is a
/// second event.
unsafe extern "C" fn unlink(ctx: *mut RedisModuleKeyOptCtx, value: *const c_void) {
    guarded((), || {
        // SAFETY: a value of the type is a boxed `Value`, which the server holds meanwhile.
        unsafe { &*value.cast::<Value>() }.leave_key();
        // SAFETY: the context and its name are alive during the callback; the server changes its
        // data under its lock.
        unsafe {
            let name = api!(RedisModule_GetKeyNameFromOptCtx)(ctx);
            let db = api!(RedisModule_GetDbIdFromOptCtx)(ctx);
            let lock = ServerLock::held();
            timer::change(lock, |deadlines| deadlines.remove(db, bytes_of(name)));
        }
    });
}

unsafe extern "C" fn mem_usage(
    _ctx: *mut RedisModuleKeyOptCtx,
    value: *const c_void,
    _samples: usize,
) -> usize {
    guarded(0, || {
        // SAFETY: the server asks about a value that it holds, and changes nothing meanwhile.
        let sale = unsafe { sale_of(value) };
        // The allocator rounds the box up, which matters for a small sale.
        // SAFETY: the value is a block of the server's from its first byte on, see `alloc`.
        let boxed = unsafe { api!(RedisModule_MallocSize)(value.cast_mut()) };
        sale.memory_bytes() - size_of::<Sale>() + boxed
    })
}

unsafe extern "C" fn free_effort(_ctx: *mut RedisModuleKeyOptCtx, value: *const c_void) -> usize {
    // SAFETY: as for `mem_usage`.
    guarded(1, || unsafe { sale_of(value) }.memory_blocks())
}

unsafe extern "C" fn digest(digest: *mut RedisModuleDigest, value: *mut c_void) {
    guarded((), || {
        // SAFETY: as for `mem_usage`.
        let sale = unsafe { sale_of(value) };
        let mut bytes = Vec::new();
        for piece in sale.pieces() {
            bytes.clear();
            piece.encode(&mut bytes);
            // SAFETY: the digest is alive during the callback; the buffer is as long as said.
            unsafe {
                let (start, len) = (bytes.as_mut_ptr(), bytes.len());
                api!(RedisModule_DigestAddStringBuffer)(digest, start.cast(), len)
            };
        }
        // One ordered sequence: without its end the digest would stay all zeros.
        // SAFETY: as above.
        unsafe { api!(RedisModule_DigestEndSequence)(digest) };
    });
}

unsafe extern "C" fn rdb_save(io: *mut RedisModuleIO, value: *mut c_void) {
    guarded_writing(|| {
        // SAFETY: the server lends the value to this callback alone.
        let sale = unsafe { &mut *value.cast::<Sale>() };
        fork_memory::saving(sale, |sale| save_pieces(io, sale));
    });
}

fn save_pieces(io: *mut RedisModuleIO, sale: &Sale) {
    let mut bytes = Vec::new();
    for piece in sale.pieces().chain([sale.refusals_piece()]) {
        bytes.clear();
        piece.encode(&mut bytes);
        save(io, &bytes);
    }
    if !sale.is_whole() && is_child() {
        save(io, OF_FILE);
    }
    // An empty string ends the pieces; without it an interrupted save is never loaded.
    save(io, &[]);
}

/// Runs a callback that writes a sale into a file. A failure can't be reported, but if the forked
/// child exits early, the server keeps its old file.
fn guarded_writing(body: impl FnOnce()) {
    let written = guarded(false, || {
        body();
        true
    });
    if !written && is_child() {
        // SAFETY: `_exit` ends the forked child without running exit handlers of its parent.
        unsafe { libc::_exit(1) };
    }
}

/// Marks an incomplete sale that a child writes into a file. A replica that loads this file beside
/// its served data also gets payloads of clients meanwhile, and could not distinguish the two
/// without the mark.
const OF_FILE: &[u8] = b"~";

/// Whether this process is a forked child that writes a file.
fn is_child() -> bool {
    server_has_flag(raw::REDISMODULE_CTX_FLAGS_IS_CHILD)
}

fn save(io: *mut RedisModuleIO, bytes: &[u8]) {
    // SAFETY: the stream is alive during the callback; the server copies the bytes.
    unsafe { api!(RedisModule_SaveStringBuffer)(io, bytes.as_ptr().cast(), bytes.len()) };
}

unsafe extern "C" fn rdb_load(io: *mut RedisModuleIO, encoding_version: c_int) -> *mut c_void {
    guarded(ptr::null_mut(), || match load(io, encoding_version) {
        Ok(sale) => arrive(io, sale),
        Err(why) => {
            log::warning(why);
            ptr::null_mut()
        }
    })
}

fn load(io: *mut RedisModuleIO, encoding_version: c_int) -> Result<Sale, &'static str> {
    if encoding_version != ENCODING_VERSION {
        return Err(NEWER);
    }
    let base = Loaded::read(io)?;
    let mut is_of_file = false;
    let mut loader = Loader::start(base.bytes(), random::hash_key()).map_err(reason)?;
    loop {
        let piece = Loaded::read(io)?;
        if piece.bytes().is_empty() {
            let sale = loader.finish().map_err(reason)?;
            // The server's own file keeps an incomplete sale; a payload must be complete.
            if !sale.is_whole() && !is_of_file && !is_loading(context_of(io)) {
                return Err(UNLAWFUL);
            }
            return Ok(sale);
        }
        if piece.bytes() == OF_FILE {
            is_of_file = true;
            continue;
        }
        loader.add(piece.bytes()).map_err(reason)?;
    }
}

/// The context of a stream, for as long as the stream is lent.
fn context_of<'c>(io: *mut RedisModuleIO) -> Ctx<'c> {
    // SAFETY: the stream is alive during the callback and so is its context; the server loads data
    // under its lock.
    unsafe { Ctx::new(api!(RedisModule_GetContextFromIO)(io)) }
}

/// Whether the server loads its own data, or its primary's in place of its own. The server serves
/// no client meanwhile, so no payload comes from a client.
pub(crate) fn is_loading(ctx: Ctx<'_>) -> bool {
    ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_LOADING)
        && !ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING)
}

fn reason(refused: Refused) -> &'static str {
    match refused {
        Refused::Unknown | Refused::Key => UNKNOWN,
        Refused::Law | Refused::Gap => UNLAWFUL,
    }
}

/// Turns a loaded sale into a value. A sale from a payload is keyless until the server announces it
/// at its key, because the key's old value may be deleted in between.
fn arrive(io: *mut RedisModuleIO, mut sale: Sale) -> *mut c_void {
    let ctx = context_of(io);
    let lock = ctx.lock();
    let arriving = timer::arriving_counts(lock);
    epoch::look_at(lock, &mut sale, arriving.is_some() || is_loading(ctx));
    // SAFETY: the stream is alive during the callback, and so is the name that it gives, if any.
    let (name, db) =
        unsafe { (api!(RedisModule_GetKeyNameFromIO)(io), api!(RedisModule_GetDbIdFromIO)(io)) };
    if name.is_null() {
        return key::value_of(sale);
    }
    // SAFETY: as above.
    let name = unsafe { bytes_of(name) };
    if let Some(counts) = arriving {
        timer::watch_arriving(lock, db, name, &mut sale);
        return key::boxed(sale, counts).cast();
    }
    if is_loading(context_of(io)) {
        timer::watch_sale(lock, db, name, &mut sale);
        return key::value_of(sale);
    }
    let value = key::boxed(sale, counts::served());
    // SAFETY: the value was just made and nobody else has it.
    unsafe { &*value }.leave_key();
    value.cast()
}

/// A string from a dump, in the server's memory; dropping it frees the string.
struct Loaded {
    start: *mut u8,
    len: usize,
}

impl Loaded {
    fn read(io: *mut RedisModuleIO) -> Result<Loaded, &'static str> {
        let mut len = 0;
        // SAFETY: the stream is alive during the callback.
        let start = unsafe { api!(RedisModule_LoadStringBuffer)(io, &mut len) };
        // After a failed read the server returns null, because the module declared that it handles
        // errors.
        if start.is_null() {
            return Err(CUT_OFF);
        }
        Ok(Loaded { start: start.cast(), len })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the server said that this many bytes are there, and they are ours until freed.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the server allocated it for us to free, once.
        unsafe { api!(RedisModule_Free)(self.start.cast()) };
    }
}

unsafe extern "C" fn aof_rewrite(
    io: *mut RedisModuleIO,
    key: *mut RedisModuleString,
    value: *mut c_void,
) {
    guarded_writing(|| {
        // SAFETY: the server lends the value to this callback alone.
        let sale = unsafe { &mut *value.cast::<Sale>() };
        fork_memory::saving(sale, |sale| emit_pieces(io, key, sale));
    });
}

fn emit_pieces(io: *mut RedisModuleIO, key: *mut RedisModuleString, sale: &Sale) {
    let pieces = sale.pieces();
    // Each other piece adds 1 to the sale's version, so the base starts that much lower.
    let (count, at_most) = pieces.size_hint();
    debug_assert_eq!(at_most, Some(count), "the number of pieces is known");
    let others = count.saturating_sub(1) as u64;
    let mut version = sale.balances().version.saturating_sub(others);
    for piece in pieces {
        let begins = matches!(piece, Piece::Base(_));
        emit(io, key, if begins { 0 } else { version }, &Change::untimed(Effect::Piece(piece)));
        version += u64::from(!begins);
    }
}

fn emit(io: *mut RedisModuleIO, key: *mut RedisModuleString, version: u64, change: &Change<'_>) {
    let mut text = Vec::new();
    Position { version, entries: None }.encode(&mut text);
    let split = text.len();
    change.encode(&mut text);
    let (position, effect) = text.split_at(split);
    // SAFETY: the stream and the key are alive during the callback, the format names one string
    // and two buffers with their lengths, and the server copies all of them.
    unsafe {
        api!(RedisModule_EmitAOF)(
            io,
            APPLY.as_ptr(),
            c"sbb".as_ptr(),
            key,
            position.as_ptr(),
            position.len(),
            effect.as_ptr(),
            effect.len(),
        )
    };
}
