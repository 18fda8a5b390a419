//! Settings of the operator and their values in force.

use std::sync::atomic::{AtomicU64, Ordering};

use lazy_static::lazy_static;

/// One number of the configuration.
#[derive(Debug)]
pub struct Setting {
    /// Name without the prefix `seckill.`.
    pub name: &'static str,
    /// The effect, in sentences.
    pub about: &'static str,
    /// Value if nothing sets it.
    pub default: u64,
    /// Smallest value accepted.
    pub min: u64,
    /// Largest value accepted.
    pub max: u64,
    value: AtomicU64,
}

impl Setting {
    fn new(
        (name, about): (&'static str, &'static str),
        default: u64,
        (min, max): (u64, u64),
    ) -> Setting {
        Setting { name, about, default, min, max, value: AtomicU64::new(default) }
    }

    /// The value in force.
    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }

    /// Sets the value, which is within the bounds.
    pub(super) fn set(&self, value: u64) {
        self.value.store(value, Ordering::Relaxed);
    }
}

/// Declares settings, a line each: name of the static, name for the operator, default, bounds.
macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])*
        $id:ident = $name:literal, $default:literal, $min:literal ..= $max:literal;
    )*) => {
        lazy_static! {
            $(
                $(#[doc = $doc])*
                pub static ref $id: Setting =
                    Setting::new(($name, concat!($($doc),*)), $default, ($min, $max));
            )*

            /// Every setting.
            pub static ref ALL: Vec<&'static Setting> = vec![$(&*$id),*];
        }
    };
}

settings! {
    /// Pause between two runs of background expiry, in milliseconds. The hold of a sale without
    /// calls may expire this much late.
    SWEEP_INTERVAL_MS = "sweep-interval-ms", 10, 1..=60_000;
    /// Most holds that expire in one run of background expiry.
    SWEEP_BATCH = "sweep-batch", 1000, 1..=100_000;
    /// Log lines about refused APPLY commands and entries in one second. A replica that has
    /// diverged refuses every later effect; INFO counts all of them.
    APPLY_WARNINGS_PER_SECOND = "apply-warnings-per-second", 10, 0..=1_000_000;
    /// The newest version of effects, outbox entries and snapshots that this server writes, for
    /// replicas with an older module. 0: the newest that this module knows.
    EFFECTS_VERSION = "effects-version", 0, 0..=1;
}
