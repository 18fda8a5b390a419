//! Memory that a forked child of the server no longer needs while it saves.
//!
//! While the child lives, each page that the parent writes is copied. For its own types the server
//! avoids copies: once a value is saved, the child gives its large blocks back. The server can't
//! give back blocks of a module's values, so this module does. Before a sale is saved, the child
//! gives back the words of the indexes. A grant writes a random word of them, and saving reads
//! none. The other blocks follow after the save.
//!
//! A process that goes on with the sale must never give its memory back. So three conditions must
//! hold. The process is not the one that loaded the module. The server has announced in the process
//! that a child began to save. For DUMP and DEBUG it announces nothing, and for SAVE another event
//! in the parent. And the server's flags say that the process is a child. A child of this kind
//! saves each key once and exits. If it begins to save again, it is ended. A read of a sale
//! afterwards would find zeros in place of numbers, for example no grant. No read finds a wrong
//! address, because only blocks of plain numbers are given back.

use std::mem::size_of_val;
use std::os::raw::c_void;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use redis_module::raw::{self, RedisModuleCtx, RedisModuleEvent};

use crate::server::ffi::ctx::{server_has_flag, Ctx};
use crate::server::ffi::log;
use seckill_domain::ledger::Block;
use seckill_domain::Sale;

/// The process that loaded the module; 0 before.
static HOME: AtomicU32 = AtomicU32::new(0);
/// The child that saves, set only in its own memory; 0 elsewhere.
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
        // No server saves twice in one child, but another module's child might. Such a child ends
        // here, because its file would be wrong.
        // SAFETY: `_exit` ends the forked child without running exit handlers of its parent.
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
            Block::Offsets(offsets) => give_back(offsets),
            // Accounts hold addresses; the words of the indexes are given back already.
            Block::Accounts(_) | Block::Slots(_) => {}
        }
    }
}

/// A number that may become 0 at any time.
trait Plain {}

impl Plain for u8 {}
impl Plain for u32 {}
impl Plain for u64 {}

/// Gives back the pages that lie entirely within `block`: its first and last page may hold numbers
/// of others. The given-back numbers are zeros from now on.
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
        // At most a page on either side is kept, whatever the page size of this machine.
        assert!(kept <= 200 + 2 * 8192 && kept < block.len(), "{kept}");
        give_back(&mut [7u8; 10]);
        give_back::<u32>(&mut []);
    }

    #[test]
    fn a_process_that_nobody_called_a_child_is_none() {
        assert!(!is_saving());
    }
}
