//! Ids that a change may carry.

use crate::limits::{REQ_BYTES_MAX, USER_BYTES_MAX};
use crate::Sale;

/// Whether it can be the id of a user.
pub(super) fn is_user(user: &[u8]) -> bool {
    (1..=USER_BYTES_MAX).contains(&user.len())
}

/// Whether it can be the id of a request.
pub(super) fn is_req(id: &[u8]) -> bool {
    (1..=REQ_BYTES_MAX).contains(&id.len())
}

/// Whether it can be the id of a request and the user has no grant for it yet.
pub(super) fn is_new_req(sale: &Sale, user: &[u8], id: &[u8]) -> bool {
    is_req(id) && sale.ledger.by_req(user, id).is_none()
}
