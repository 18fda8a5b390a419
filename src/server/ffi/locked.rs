//! What belongs to the server: reached only with the server's lock in hand.
//!
//! The server runs one callback of ours at a time, but not always on the same thread: another
//! module may call our commands from a thread of its own while it holds the lock. So nothing of
//! the server's may be `thread_local`.

use std::cell::RefCell;
use std::marker::PhantomData;

/// The word that the server's lock is held for as long as this is there. It stays on its thread.
#[derive(Clone, Copy)]
pub struct ServerLock<'c>(PhantomData<(&'c (), *const ())>);

impl ServerLock<'_> {
    /// # Safety
    /// The code that this is lent to runs inside a call that the server made under its lock. All
    /// callbacks are such calls but two: the one that frees a value, which may come on any thread,
    /// and those in a forked child, whose copy of the state nobody else uses.
    pub(crate) unsafe fn held() -> Self {
        ServerLock(PhantomData)
    }
}

/// A value that is reached with the server's lock alone.
pub(crate) struct Locked<T>(RefCell<T>);

// SAFETY: `with` asks for the word that the lock is held, so one thread at a time gets at the
// value, and `T` may go from thread to thread.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub(crate) const fn new(value: T) -> Locked<T> {
        Locked(RefCell::new(value))
    }

    /// Lends the value. `body` must call nothing that can run a callback of ours.
    pub(crate) fn with<R>(&self, _lock: ServerLock<'_>, body: impl FnOnce(&mut T) -> R) -> R {
        body(&mut self.0.borrow_mut())
    }
}
