//! The lists of users that a sale keeps.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::codec::effect::{Effect, UsersChange};
use crate::model::limits::USERS_PER_EFFECT_MAX;
use crate::model::outcome::{Misuse, Outcome};
use crate::request::{ListChange, Now};
use crate::rules::decide::Decision;
use crate::Sale;

/// A list of users that a sale keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum List {
    /// Those whom ALLOWLIST lets in.
    Allow,
    /// Those who never may.
    Deny,
    /// Those whom ADMIT has let in.
    Admitted,
}

/// All lists, in the order of their numbers.
pub const LISTS: [List; 3] = [List::Allow, List::Deny, List::Admitted];

impl Sale {
    pub(crate) fn decide_list<'a>(&self, change: &ListChange<'a>, now: &Now) -> Decision<'a> {
        let known = self.extras.as_deref().map(|extras| extras.list(change.list));
        let is_in = |user: &[u8]| known.is_some_and(|users| users.contains(user));
        let mut seen = HashSet::new();
        let changed: Vec<&'a [u8]> = change
            .users
            .iter()
            .copied()
            .filter(|user| is_in(user) != change.add && seen.insert(*user))
            .collect();
        if change.add && known.is_some_and(|users| !users.has_room_for(changed.len())) {
            return Decision::misuse(Misuse::ListFull);
        }
        let effects = changed.chunks(USERS_PER_EFFECT_MAX).map(|users| {
            let (list, add) = (change.list, change.add);
            Effect::Users(UsersChange { list, add, users: users.to_vec() })
        });
        self.changes(Outcome::Changed { users: changed.len() as u64 }, effects, None, now)
    }
}
