//! Users are added to lists and removed: ALLOW, DENY and ADMIT.

use super::*;
use crate::admission::List;
use crate::model::limits::USERS_PER_EFFECT_MAX;
use serde::de::Error;
use serde::Deserializer;

/// ALLOW or DENY: users who are added to a list or removed, at most `USERS_PER_EFFECT_MAX` of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Users<'a> {
    /// `Allow` or `Deny`.
    #[serde(deserialize_with = "operators_list")]
    pub list: List,
    /// True: added; false: removed.
    pub add: bool,
    /// The users, 1 to 256 bytes each.
    #[serde(borrow, deserialize_with = "users")]
    pub users: Vec<&'a [u8]>,
}

/// Reads a list that operators may change.
fn operators_list<'de, D: Deserializer<'de>>(from: D) -> Result<List, D::Error> {
    match List::deserialize(from)? {
        List::Admitted => Err(D::Error::custom("no operator admits")),
        list => Ok(list),
    }
}

fn users<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<&'de [u8]>, D::Error> {
    wire::sequence(from, USERS_PER_EFFECT_MAX, |wire::User(user)| Some(user))
}

impl Act for Users<'_> {
    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        let (sale, Users { list, add, users }) = (checker.sale(), self);
        check(!users.is_empty() && users.iter().all(|user| sale.is_home(user)))?;
        check(!add || has_room_for(sale, *list, users.len()))
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        let list = sale.extras_mut().list_mut(self.list);
        for user in &self.users {
            match self.add {
                true => list.insert(user),
                false => list.remove(user),
            };
        }
    }
}

/// ADMIT lets a user in.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Admit<'a> {
    /// The user's id, 1 to 256 bytes.
    #[serde(with = "wire::user")]
    pub user: &'a [u8],
}

impl Act for Admit<'_> {
    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        let sale = checker.sale();
        check(sale.is_home(self.user) && has_room_for(sale, List::Admitted, 1))
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        sale.extras_mut().list_mut(List::Admitted).insert(self.user);
    }
}

fn has_room_for(sale: &Sale, list: List, users: usize) -> bool {
    let known = sale.extras.as_deref().map(|extras| extras.list(list));
    known.is_none_or(|known| known.has_room_for(users))
}
