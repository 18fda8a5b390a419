//! Memory that a child of the server's, forked to save, needs no more.
//!
//! While the child lives, each page that the parent writes is copied. The server spares its own
//! types that: once a value is saved, the child gives its large blocks back. Of a module's values
//! it knows nothing, so we do the same: the words of the indexes, of which a grant writes a random
//! one and saving reads none, before a sale is saved, and the rest afterwards.
//!
//! It must never happen in a process that goes on with the sale. So three things must agree: this
//! is not the process that loaded the module; the server has announced, in this very process, that
//! a child began to save (it announces DUMP and DEBUG neither there nor in the parent, and a SAVE
//! in the parent by another name); and it calls itself a child. Such a child saves each key once
//! and ends; one that begins to save again is ended. Should something look at a sale nevertheless,
//! it finds zeros where numbers were: a grant of nobody or none, but no address, because only
//! blocks of plain numbers are given back.

use std::mem::size_of_val;
use std::os::raw::c_void;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use crate::server::ffi::ctx::{server_has_flag, Ctx};
use crate::server::ffi::log;
use seckill_domain::ledger::Block;
use seckill_domain::Sale;

/// The process that loaded the module, 0 before.
static HOME: AtomicU32 = AtomicU32::new(0);
/// The child that saves, in its own memory alone; 0 elsewhere.
static SAVING: AtomicU32 = AtomicU32::new(0);
/// The child that saved and gave memory back: it must not save again.
static SPENT: AtomicU32 = AtomicU32::new(0);

const NOT_SUBSCRIBED: &str =
    "the server does not announce when it saves: a fork copies more memory";

/// Subscribes to the event that a child begins to save.
pub(crate) fn follow(ctx: Ctx<'_>) {
    if ctx.subscribe(raw::REDISMODULE_EVENT_PERSISTENCE, changed) {
        HOME.store(process::id(), Ordering::Relaxed);
    } else {
        log::notice(NOT_SUBSCRIBED);
    }
}

unsafe extern "C" fn changed(
    _ctx: *mut RedisModuleCtx,
    _event: RedisModuleEvent,
    subevent: u64,
    _data: *mut c_void,
) {
    let begun = matches!(
        subevent,
        raw::REDISMODULE_SUBEVENT_PERSISTENCE_RDB_START
            | raw::REDISMODULE_SUBEVENT_PERSISTENCE_AOF_START
    );
    let before = SAVING.swap(if begun { process::id() } else { 0 }, Ordering::Relaxed);
    if before != 0 && before == process::id() {
        SPENT.store(before, Ordering::Relaxed);
    }
}

/// Whether this process is a child that saves each key once and ends.
fn is_saving() -> bool {
    let (here, home) = (process::id(), HOME.load(Ordering::Relaxed));
    if home == 0 || here == home || here != SAVING.load(Ordering::Relaxed) {
        return false;
    }
    server_has_flag(raw::REDISMODULE_CTX_FLAGS_IS_CHILD)
}

/// Saves a sale with `save`. A child gives the sale's memory back on the way.
pub(crate) fn saving(sale: &mut Sale, save: impl FnOnce(&Sale)) {
    if SPENT.load(Ordering::Relaxed) == process::id() {
        // No server does that, but another module's child might: rather no file than a wrong one.
        // SAFETY: the child of a fork ends without running what belongs to its parent.
        unsafe { libc::_exit(1) };
    }
    if !is_saving() {
        return save(sale);
    }
    sale.slots_mut().for_each(give_back);
    save(sale);
    for block in sale.blocks_mut() {
        match block {
            Block::Page(page) => give_back(page),
            Block::Places(places) => give_back(places),
            // An account has addresses in it; the words of the indexes are gone.
            Block::Accounts(_) | Block::Slots(_) => {}
        }
    }
}

/// Numbers that may become 0 at any time.
trait Plain {}

impl Plain for u8 {}
impl Plain for u32 {}
impl Plain for u64 {}

/// Gives back the pages that lie within `block` as a whole: on its first and its last one may be
/// somebody else's numbers. Its own there are zeros from now on.
fn give_back<T: Plain>(block: &mut [T]) {
    let page = page_bytes();
    let bytes = size_of_val(block);
    let start = block.as_mut_ptr().cast::<u8>();
    if bytes < page || page == 0 {
        return;
    }
    let skipped = (page - start as usize % page) % page;
    let len = bytes.saturating_sub(skipped) / page * page;
    if len > 0 {
        // SAFETY: the pages lie within the block, which is lent for writing and holds plain
        // numbers, so zeros are values like any others. A failure changes nothing.
        unsafe { libc::madvise(start.wrapping_add(skipped).cast(), len, libc::MADV_DONTNEED) };
    }
}

/// Bytes of a page of memory, 0 when the system does not say.
fn page_bytes() -> usize {
    // SAFETY: the call takes a name and answers a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_pages_are_given_back_and_nothing_beside_them() {
        let mut block = vec![7u64; 64 * 1024];
        let (before, after) = (100, 64 * 1024 - 100);
        give_back(&mut block[before..after]);
        let kept = block.iter().filter(|number| **number == 7).count();
        assert!(block[..before].iter().chain(&block[after..]).all(|number| *number == 7));
        assert!(block.iter().all(|number| [0, 7].contains(number)));
        // At most a page on either side, whatever its size on this machine.
        assert!(kept <= 200 + 2 * 8192 && kept < block.len(), "{kept}");
        give_back(&mut [7u8; 10]);
        give_back::<u32>(&mut []);
    }

    #[test]
    fn a_process_that_nobody_called_a_child_is_none() {
        assert!(!is_saving());
    }
}
