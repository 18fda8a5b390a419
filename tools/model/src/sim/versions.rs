//! Nodes with modules of different versions. The setting `seckill.effects-version` makes newer
//! modules write forms that older ones can read.
//!
//! So far all forms have version 1. `tests/upgrade/made_up.patch` adds a newer one to a copy of the
//! sources (`make sim-upgrade`). With it newer nodes write forms that older nodes refuse.

use seckill_domain::outbox::EntryVersion;
use seckill_domain::plan::{EntriesAt, Position, StreamId};

use crate::compare::Check;
use crate::random::Random;
use crate::stored_entry::StoredEntry;

/// Replicas of a run.
pub const REPLICAS: usize = 2;

/// The version of effects that an older module can read.
pub const OLDER: u64 = 1;
/// The version of effects that a newer module can read.
pub const NEWER: u64 = 2;

/// The versions of the nodes at the start of a run.
#[derive(Clone, Copy, Debug)]
pub struct Versions {
    /// The version that each node's module knows: first the primary's, then the replicas'.
    pub knows: [u64; 1 + REPLICAS],
    /// `seckill.effects-version` on all nodes: `OLDER`, or 0 for the newest version of each module.
    pub setting: u64,
}

impl Versions {
    /// Draws the versions; in most runs all nodes are newer.
    pub fn draw(random: &mut Random) -> Versions {
        let has_older = random.once_in(3);
        let mut draw = || if has_older && random.once_in(2) { OLDER } else { NEWER };
        let knows = std::array::from_fn(|_| draw());
        let may_be_newest = knows == [NEWER; 1 + REPLICAS];
        Versions { knows, setting: if may_be_newest { 0 } else { OLDER } }
    }
}

/// Makes the domain write the forms that this setting allows. Returns the form of entries.
pub fn write_as(setting: u64) -> EntryVersion {
    EntryVersion::known_to(setting)
}

/// The version of an effect, whose first byte is the index of its form.
pub fn of_effect(text: &[u8]) -> u64 {
    match text.first() {
        // The two forms of version 1.
        Some(0 | 1) => OLDER,
        _ => NEWER,
    }
}

fn of_piece(bytes: &[u8]) -> u64 {
    match bytes.first() {
        Some(0) => OLDER,
        _ => NEWER,
    }
}

/// The version of a dump: the newest of its pieces.
pub fn of_dump(dump: &[Vec<u8>]) -> u64 {
    dump.iter().map(|piece| of_piece(piece)).max().unwrap_or(OLDER)
}

/// The version of an APPLY's content.
pub fn of_apply(position: &[u8], texts: &[Vec<u8>]) -> u64 {
    let form = position.split(|byte| *byte == b':').nth(1);
    let of_entries = if form.is_none_or(|form| form == b"1") { OLDER } else { NEWER };
    texts.iter().map(|text| of_effect(text)).max().unwrap_or(OLDER).max(of_entries)
}

/// Whether a module that can read `knows` accepts a form of `version`.
pub fn takes(knows: u64, version: u64, what: &str) -> Check {
    match version <= knows {
        true => Ok(()),
        false => Err(format!("an older module refuses {what}: it is of version {version}")),
    }
}

/// The position of an APPLY as replicated.
pub fn position(version: u64, entries: &[StoredEntry], written: EntryVersion, at: u64) -> Vec<u8> {
    let id = StreamId { ms: at, seq: version };
    let entries = (!entries.is_empty()).then_some(EntriesAt { version: written, id });
    let mut text = Vec::new();
    Position { version, entries }.encode(&mut text);
    text
}
