//! How many slots a shard has.

/// Words of the smallest shard.
pub(super) const SLOTS_MIN: usize = 16;
/// Words behind the last home position, for keys displaced past it.
const SLACK_SLOTS_MAX: usize = 32;

/// Slots that are somebody's home position; the rest is slack.
pub(super) fn homes_in(slots: usize) -> usize {
    slots - (slots / 8).min(SLACK_SLOTS_MAX)
}

/// Whether a shard with so many home positions takes no more than its `keys`.
pub(super) fn is_full(keys: usize, homes: usize) -> bool {
    // 3/4 of the home positions: beyond it runs grow past the cache line they begin in.
    keys * 4 >= homes * 3
}

/// The next larger size: two steps to a doubling, both size classes of jemalloc, so that nothing is
/// lost between what is asked for and what is given. With smaller steps each key is moved more
/// often as the index grows, with larger ones more slots are empty.
pub(super) fn next_slots(slots: usize) -> usize {
    match slots.is_power_of_two() {
        true => slots + slots / 2,
        false => slots.next_power_of_two(),
    }
}

/// Slots of the smallest shard whose home positions are enough.
fn least_slots(is_enough: impl Fn(usize) -> bool) -> usize {
    let mut slots = SLOTS_MIN;
    while !is_enough(homes_in(slots)) {
        slots = next_slots(slots);
    }
    slots
}

/// Slots of the smallest shard that is not full with `keys` keys.
pub(super) fn slots_for(keys: usize) -> usize {
    least_slots(|homes| !is_full(keys, homes))
}

/// Slots of the smallest shard that `keys` keys fill to 3/5 at the most: what a half begins with.
pub(super) fn slots_for_half(keys: usize) -> usize {
    least_slots(|homes| homes * 3 >= keys * 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_the_size_classes_of_the_allocator() {
        let mut slots = SLOTS_MIN;
        let mut seen = vec![];
        while slots <= 64 {
            seen.push(slots * 8);
            slots = next_slots(slots);
        }
        assert_eq!(seen, [128, 192, 256, 384, 512]);
    }
}
