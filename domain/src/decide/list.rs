//! ALLOW and DENY: users on the lists.

use std::collections::HashSet;

use crate::effect;
use crate::model::limits::USERS_PER_EFFECT_MAX;
use crate::model::outcome::{Misuse, Outcome};
use crate::plan::Planning;
use crate::request::ListChange;

/// Judges an ALLOW or a DENY.
pub(super) fn list<'a>(
    plan: &mut Planning<'_, 'a>,
    change: &ListChange<'a>,
) -> Result<Outcome, Misuse> {
    let known = plan.sale().extras.as_deref().map(|extras| extras.list(change.list));
    let is_in = |user: &[u8]| known.is_some_and(|users| users.contains(user));
    let mut seen = HashSet::new();
    let changed: Vec<&'a [u8]> = change
        .users
        .iter()
        .copied()
        .filter(|user| is_in(user) != change.add && seen.insert(*user))
        .collect();
    if change.add && known.is_some_and(|users| !users.has_room_for(changed.len())) {
        return Err(Misuse::ListFull);
    }
    let (list, add) = (change.list, change.add);
    changed
        .chunks(USERS_PER_EFFECT_MAX)
        .try_for_each(|users| plan.push(effect::Users { list, add, users: users.to_vec() }))?;
    Ok(Outcome::Changed { users: changed.len() as u64 })
}
