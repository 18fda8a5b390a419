//! Moving the blocks of a sale together when the server defragments its memory.

use std::mem::{self, ManuallyDrop};
use std::os::raw::{c_int, c_ulong, c_void};

use redis_module::raw::{self, RedisModuleDefragCtx, RedisModuleString, RedisModuleTypeDefragFunc};

use super::key::Value;
use crate::server::ffi::alloc;
use crate::server::ffi::api::guarded;
use seckill_domain::ledger::Block;
use seckill_domain::Sale;

// A value is moved as one block, and the server aligns a block only this far.
const _: () = assert!(align_of::<Value>() <= alloc::ALIGN_MAX);

/// The type's callback, if the server defragments and the memory is the server's.
pub(crate) fn callback() -> RedisModuleTypeDefragFunc {
    match offered!(RedisModule_DefragAlloc) {
        Some(_) if alloc::is_servers() => Some(defrag),
        _ => None,
    }
}

/// Moves the remaining blocks of a sale. A large sale is done in several calls: the cursor is the
/// number of blocks done, and returning 1 asks for another call.
unsafe extern "C" fn defrag(
    ctx: *mut RedisModuleDefragCtx,
    _key: *mut RedisModuleString,
    value: *mut *mut c_void,
) -> c_int {
    guarded(0, || {
        let done = cursor(ctx);
        if done == 0 {
            // SAFETY: the value is a boxed sale, whose struct may be moved like any other.
            unsafe { *value = moved(ctx, *value) };
        }
        // SAFETY: the server lends the value to this callback alone.
        let sale = unsafe { &mut *(*value).cast::<Sale>() };
        for (number, block) in sale.blocks_mut().enumerate().skip(done) {
            if number > done && must_stop(ctx) && set_cursor(ctx, number) {
                return 1;
            }
            match block {
                Block::Page(page) => move_vec(ctx, page),
                Block::Offsets(offsets) => move_vec(ctx, offsets),
                Block::Accounts(accounts) => move_vec(ctx, accounts),
                Block::Slots(slots) => {
                    let mut words = mem::take(slots).into_vec();
                    move_vec(ctx, &mut words);
                    *slots = words.into_boxed_slice();
                }
            }
        }
        0
    })
}

/// Blocks done in earlier calls; 0 if the sale is done in one call.
fn cursor(ctx: *mut RedisModuleDefragCtx) -> usize {
    let mut cursor: c_ulong = 0;
    // SAFETY: the context is alive during the callback; the cursor is ours.
    let status = unsafe { api!(RedisModule_DefragCursorGet)(ctx, &mut cursor) };
    if status as isize == raw::REDISMODULE_OK {
        cursor as usize
    } else {
        0
    }
}

/// False if the server wants the sale done in one call.
fn set_cursor(ctx: *mut RedisModuleDefragCtx, done: usize) -> bool {
    // SAFETY: the context is alive during the callback.
    let status = unsafe { api!(RedisModule_DefragCursorSet)(ctx, done as c_ulong) };
    status as isize == raw::REDISMODULE_OK
}

fn must_stop(ctx: *mut RedisModuleDefragCtx) -> bool {
    // SAFETY: the context is alive during the callback.
    unsafe { api!(RedisModule_DefragShouldStop)(ctx) != 0 }
}

/// Moves the elements of a vector to a better block of memory, if the server offers one.
fn move_vec<T>(ctx: *mut RedisModuleDefragCtx, vec: &mut Vec<T>) {
    const { assert!(align_of::<T>() <= alloc::ALIGN_MAX) };
    if vec.capacity() == 0 {
        return;
    }
    let mut taken = ManuallyDrop::new(mem::take(vec));
    let (start, len, capacity) = (taken.as_mut_ptr(), taken.len(), taken.capacity());
    // SAFETY: the block is the server's own, as `callback` and the alignment make sure. Moved or
    // not, it is one block of this capacity whose first `len` elements are there; its old
    // address is forgotten.
    *vec = unsafe { Vec::from_raw_parts(moved(ctx, start.cast()).cast(), len, capacity) };
}

/// The address of a block after the server was asked to move it.
///
/// # Safety
/// `block` is a block of the server's, and nothing refers to its old address afterwards.
unsafe fn moved(ctx: *mut RedisModuleDefragCtx, block: *mut c_void) -> *mut c_void {
    // SAFETY: the context is alive during the callback; the rest is the caller's word.
    let moved = unsafe { api!(RedisModule_DefragAlloc)(ctx, block) };
    if moved.is_null() {
        block
    } else {
        moved
    }
}
