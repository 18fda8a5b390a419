//! The cutting of grants into pieces, and the check that their requests are new.

#![cfg(test)]

use super::*;
use crate::ledger::Ledger;

/// A piece ends after a number of grants or at a size, whichever is first; ids count.
#[test]
fn grants_are_cut_by_number_and_by_size() {
    const COUNT: u64 = 2500;
    for (user_len, req_len) in
        [(5, 0), (8, 8), (20, 0), (20, 21), (41, 0), (42, 0), (30, 30), (100, 0), (104, 128)]
    {
        let mut ledger = Ledger::starting([1, 2], 7, 0);
        for number in 0..COUNT {
            let user = format!("{number:0user_len$}");
            let req = format!("{number:0req_len$}");
            let req = (req_len > 0).then_some(ReqTag { id: req.as_bytes(), asked: Asked::Exactly });
            let (user, state) = (user.as_bytes(), State::Sold);
            let new = NewGrant { user, req, qty: 1, state, at: 5, deadline: 0, epoch: 1 };
            ledger.push(&new, None);
        }
        let each = user_len + req_len + STANDING_BYTES_MAX;
        let most = GRANTS_PER_PIECE_MAX.min(PIECE_BYTES_TARGET.div_ceil(each)) as u64;
        let expected: Vec<(u64, usize)> = (0..COUNT.div_ceil(most))
            .map(|part| (8 + part * most, most.min(COUNT - part * most) as usize))
            .collect();
        assert_eq!(cut(&ledger, None).collect::<Vec<_>>(), expected, "{user_len} {req_len}");
    }
    assert_eq!(cut(&Ledger::starting([1, 2], 7, 0), None).next(), None);
}

/// A repeated request id is found far apart in a piece, side by side, and in the sale; another
/// user's equal id is no repeat.
#[test]
fn a_request_that_is_there_already_is_found() {
    let (mut ledger, count) = (Ledger::starting([1, 2], 0, 0), 3 * ADDED_TOGETHER);
    let known = Some(ReqTag { id: b"known", asked: Asked::Exactly });
    let (at, deadline, state) = (5, 0, State::Sold);
    let new = NewGrant { user: b"u", req: known, qty: 1, state, at, deadline, epoch: 1 };
    ledger.push(&new, None);
    let ids: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    let are_new = |at_index: usize, user: &'static [u8], id: &[u8]| {
        let mut grants: Vec<Standing<'_>> = Vec::new();
        for (index, own) in ids.iter().enumerate() {
            let (user, id) =
                if index == at_index { (user, id) } else { (&b"u"[..], own.as_bytes()) };
            let req = Some(ReqTag { id, asked: Asked::Exactly });
            grants.push(Standing { user, req, qty: 1, state, at, deadline });
        }
        Grants { first: 2, grants }.requests_are_new(&ledger)
    };
    for index in [0, ADDED_TOGETHER - 1, ADDED_TOGETHER, count - 1] {
        assert!(are_new(index, b"u", b"new"), "{index}");
        assert!(!are_new(index, b"u", b"known"), "in the sale, {index}");
        assert!(are_new(index, b"v", b"known"), "of another user, {index}");
        assert!(!are_new(index, b"u", b"70"), "in the piece, {index}");
        assert!(are_new(index, b"v", b"70"), "of another user in the piece, {index}");
    }
    assert!(!are_new(1, b"u", b"0"), "the one before");
}
