//! Memory of the server, so that it counts for `used_memory` and `maxmemory`; of the system where
//! there is no server (tests, benches).

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

/// The allocator of the module.
///
/// The first allocation of the process decides, for good, whether memory comes from the server:
/// each block must go back to its source. A server sets its function pointers while loading, before
/// any of our code allocates, so in a server all memory is the server's.
pub struct ServerAlloc;

const UNDECIDED: u8 = 0;
const SERVER: u8 = 1;
const SYSTEM: u8 = 2;

static SOURCE: AtomicU8 = AtomicU8::new(UNDECIDED);

/// Alignment that every allocator of a server gives. A block that needs no more alignment is the
/// server's own, from its first byte on.
pub(crate) const ALIGN_MAX: usize = 8;

/// Whether memory is the server's.
pub fn is_servers() -> bool {
    match SOURCE.load(Ordering::Relaxed) {
        SERVER => true,
        SYSTEM => false,
        _ => decide(),
    }
}

#[cold]
fn decide() -> bool {
    let has_server = offered!(RedisModule_Alloc).is_some()
        && offered!(RedisModule_Calloc).is_some()
        && offered!(RedisModule_Realloc).is_some()
        && offered!(RedisModule_Free).is_some();
    let source = if has_server { SERVER } else { SYSTEM };
    match SOURCE.compare_exchange(UNDECIDED, source, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => has_server,
        Err(earlier) => earlier == SERVER,
    }
}

// SAFETY: every block goes back to where it came from, see `SOURCE`. The server's functions have
// malloc's contract, and a block that needs more alignment than they give comes from `wide`.
unsafe impl GlobalAlloc for ServerAlloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_servers() {
            note_block();
            // SAFETY: the caller keeps the contract of `alloc`, which is System's too.
            return unsafe { System.alloc(layout) };
        }
        if layout.align() > ALIGN_MAX {
            return wide::alloc(layout);
        }
        // SAFETY: the size is not 0 by the contract of `alloc`.
        unsafe { api!(RedisModule_Alloc)(layout.size()).cast() }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !is_servers() {
            // SAFETY: the block came from System, see `SOURCE`.
            return unsafe { System.dealloc(block, layout) };
        }
        if layout.align() > ALIGN_MAX {
            // SAFETY: a block of this layout came from `wide::alloc`.
            return unsafe { wide::free(block) };
        }
        // SAFETY: the block came from the server's `RedisModule_Alloc`, `Calloc` or `Realloc`.
        unsafe { api!(RedisModule_Free)(block.cast()) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_servers() {
            note_block();
            // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is System's too.
            return unsafe { System.alloc_zeroed(layout) };
        }
        if layout.align() > ALIGN_MAX {
            let block = wide::alloc(layout);
            if !block.is_null() {
                // SAFETY: the block has at least this many bytes.
                unsafe { ptr::write_bytes(block, 0, layout.size()) };
            }
            return block;
        }
        // Large zeroed blocks come from fresh pages, which need no clearing.
        // SAFETY: the size is not 0 by the contract of `alloc_zeroed`.
        unsafe { api!(RedisModule_Calloc)(1, layout.size()).cast() }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !is_servers() {
            // SAFETY: the block came from System, see `SOURCE`.
            return unsafe { System.realloc(block, layout, size) };
        }
        if layout.align() > ALIGN_MAX {
            // SAFETY: a block of this layout came from `wide::alloc`; the caller keeps the
            // contract of `realloc`.
            return unsafe { wide::realloc(block, layout, size) };
        }
        // SAFETY: the block came from the server, and the new size is not 0.
        unsafe { api!(RedisModule_Realloc)(block.cast(), size).cast() }
    }
}

/// Blocks with more alignment than the server promises. Such blocks are rare. A larger block is
/// allocated, and the word before the aligned address holds the block's start.
mod wide {
    use super::{ptr, Layout};

    const WORD: usize = size_of::<*mut u8>();

    pub fn alloc(layout: Layout) -> *mut u8 {
        let Some(size) = layout.size().checked_add(layout.align() + WORD) else {
            return ptr::null_mut();
        };
        // SAFETY: the size is not 0.
        let start: *mut u8 = unsafe { api!(RedisModule_Alloc)(size).cast() };
        if start.is_null() {
            return start;
        }
        let skipped = start.wrapping_add(WORD).align_offset(layout.align()) + WORD;
        // SAFETY: at most `align + WORD` bytes are skipped, so the block and the word before it
        // lie within what was allocated; the word is aligned because the block is.
        unsafe {
            let block = start.add(skipped);
            block.cast::<*mut u8>().sub(1).write(start);
            block
        }
    }

    /// # Safety
    /// `block` came from `alloc` of this module and is not used again.
    pub unsafe fn free(block: *mut u8) {
        // SAFETY: `alloc` wrote where the block began into the word before it.
        unsafe {
            let start = block.cast::<*mut u8>().sub(1).read();
            api!(RedisModule_Free)(start.cast());
        }
    }

    /// # Safety
    /// As for `free`; `layout` is the one that the block was allocated with.
    pub unsafe fn realloc(block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return ptr::null_mut();
        };
        let moved = alloc(wanted);
        if !moved.is_null() {
            // SAFETY: both blocks have at least this many bytes and are different ones.
            unsafe {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                free(block);
            }
        }
        moved
    }
}

/// Blocks are counted in unit tests only.
#[cfg(not(test))]
#[inline(always)]
fn note_block() {}

#[cfg(test)]
use counted::note_block;

/// Allocations of a test's own thread.
#[cfg(test)]
pub(crate) mod counted {
    use std::cell::Cell;

    thread_local! {
        static COUNT: Cell<u64> = const { Cell::new(0) };
    }

    pub(crate) fn note_block() {
        COUNT.set(COUNT.get() + 1);
    }

    /// The result of `body` and the number of blocks it allocated. Neither growing nor freeing a
    /// block counts: the block was counted when it was allocated.
    pub(crate) fn blocks<T>(body: impl FnOnce() -> T) -> (T, u64) {
        let before = COUNT.get();
        let result = body();
        (result, COUNT.get() - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seckill_domain::admission::{Admission, List, Modulo, Sample};
    use seckill_domain::outcome::{Mask, Outcome};
    use seckill_domain::request::{Amount, Grab, ListChange, Request, Terms};
    use seckill_model::sales::{at, created, run};

    #[test]
    fn allocations_are_counted() {
        assert_eq!(counted::blocks(|| vec![1u8; 100]).1, 1);
        assert_eq!(counted::blocks(|| vec![0u64; 100]).1, 1);
        assert_eq!(counted::blocks(|| 5).1, 0);
    }

    #[test]
    fn without_a_server_memory_is_the_systems() {
        let block = vec![1u8; 1000];
        assert_eq!(block.len(), 1000);
        assert!(!is_servers());
    }

    /// Far more buyers are refused than win: a refusal allocates no block.
    #[test]
    fn a_refusal_allocates_nothing() {
        let users: Vec<Vec<u8>> = (0..5000).map(|n| format!("user:{n}").into_bytes()).collect();
        let users: Vec<&[u8]> = users.iter().map(Vec::as_slice).collect();
        let gate = |admission: Admission| {
            let mut sale = created(100_000, Terms { admission, ..Terms::default() });
            let allow = ListChange { list: List::Allow, add: true, users: &users };
            run(&mut sale, &Request::List(allow), 2);
            let first = Grab { user: users[0], amount: Amount::Unsaid, req: None };
            run(&mut sale, &Request::Grab(first), 2);
            let deny = ListChange { list: List::Deny, add: true, users: &users[1000..] };
            run(&mut sale, &Request::List(deny), 2);
            sale
        };
        let open = Admission::default();
        let listed = Admission { allowlist: true, ..open.clone() };
        let modulo = Some(Box::new(Modulo::new(1000, vec![999])));
        let numbers = Admission { modulo, ..open.clone() };
        let sample = Some(Box::new(Sample { permille: 0, salt: b"salt"[..].into() }));
        let share = Admission { sample, ..open.clone() };
        let first = Admission { admit: 1, mask: true, ..open.clone() };
        let mut paused = gate(open.clone());
        run(&mut paused, &Request::Pause, 2);
        let cases = [
            (gate(listed), "not listed", Outcome::Denied),
            (gate(open.clone()), "user:4999", Outcome::Denied),
            (gate(numbers.clone()), "123456", Outcome::Denied),
            (gate(numbers), "user:2", Outcome::Denied),
            (gate(share), "user:2", Outcome::Busy),
            (gate(first), "user:2", Outcome::Masked { is_denied: false, shown: Mask::SoldOut }),
            (paused, "user:2", Outcome::Paused),
        ];
        for (mut sale, user, outcome) in cases {
            for req in [None, Some(&b"order"[..])] {
                let grab = Grab { user: user.as_bytes(), amount: Amount::Exactly(1), req };
                let request = Request::Grab(grab);
                let (shown, blocks) = counted::blocks(|| {
                    let decision = sale.decide(&request, &at(2)).unwrap();
                    assert!(decision.changes().is_empty());
                    sale.count(&decision.outcome, Amount::Unsaid);
                    decision
                });
                assert_eq!(shown.outcome, outcome);
                assert_eq!(blocks, 0, "{outcome:?} of {user}");
            }
        }
    }
}
