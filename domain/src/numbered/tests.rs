//! Users whose ids are a prefix and a number, written and read again, and what is refused.

#![cfg(test)]

use super::*;
use crate::bytes::Reader;
use crate::limits::USER_BYTES_MAX;
use crate::outcome::State;
use crate::record::{self, Record};

fn row(user: &[u8], at: u64) -> Record<'_> {
    Record { user, req: None, qty: 1, state: State::Sold, at, deadline: 0, prev: 0 }
}

/// Users and times as rows, their times counted from 5; `None` when they can't be.
fn numbered(users: &[(Vec<u8>, u64)]) -> Option<Numbered<'_>> {
    let mut numbered = Numbered::like(&row(&users[0].0, 5), 5, users.len());
    let records = users.iter().map(|(user, at)| {
        let mut record = Vec::new();
        record::write(&mut record, &row(user, *at), 4);
        record
    });
    let records: Vec<Vec<u8>> = records.collect();
    let (some, others) = records.split_at(records.len() / 2);
    numbered.push_all(some.iter().map(Vec::as_slice), 4)?;
    numbered.push_all(others.iter().map(Vec::as_slice), 4)?;
    Some(numbered)
}

/// Users and times, written and read again; `None` when they can't be written so.
fn again(users: &[(Vec<u8>, u64)]) -> Option<Vec<(Vec<u8>, u64)>> {
    let numbered = numbered(users)?;
    let mut piece = Vec::new();
    numbered.write(&mut piece);
    for len in 0..piece.len() {
        assert!(Rows::read(&mut Reader::new(&piece[..len]), users.len()).is_none(), "{len}");
    }
    let rows = Rows::read(&mut Reader::new(&piece), users.len()).unwrap();
    let latest = users.iter().map(|(_, at)| at - 5).max().unwrap();
    assert!(rows.are_within(latest) && (latest == 0 || !rows.are_within(latest - 1)));
    let pairs = rows.iter().map(|(number, time)| {
        let mut user = Vec::new();
        rows.put_user(&mut user, number);
        (user, 5 + time)
    });
    Some(pairs.collect())
}

fn users(texts: &[&str]) -> Vec<(Vec<u8>, u64)> {
    texts.iter().zip(5..).map(|(text, at)| (text.as_bytes().to_vec(), at)).collect()
}

#[test]
fn numbers_of_any_length_come_back() {
    let long = "x".repeat(USER_BYTES_MAX - 2);
    let (nine, ten) = (format!("{long}9"), format!("{long}10"));
    for texts in [
        &["user:000012345678", "user:000000000000", "user:999999999999"][..],
        &["7", "10", "999999999999999999", "0"],
        &["a07", "a99"],
        &["0"],
        &["999999999999999999", "000000000000000000"],
        &["12345678901234567890", "12000000000000000000"],
        &["u-1", "u-12345678", "u-123456789", "u-1234567890123456"],
        &[nine.as_str(), ten.as_str()],
        &["customer1", "customer1000000", "customer12345678"],
        &["customer:12345678", "customer:123456789", "customer:1"],
    ] {
        let users = users(texts);
        assert_eq!(again(&users), Some(users), "{texts:?}");
    }
    let mut far = users(&["1", "2", "3"]);
    far[1].1 = 1 << 47;
    assert_eq!(again(&far), Some(far));
}

#[test]
fn other_users_are_not_written_so() {
    for texts in [
        &["a7", "b7"][..],
        &["a7", "a"],
        &["a", "a7"],
        &["a07", "a7"],
        &["a7", "a07"],
        &["a7", "a1234567890123456789"],
        &["a7", "a7x"],
        &["a7", "a12345/78"],
        &["a7", "a1234:678"],
        &["12345678901234567890", "13000000000000000000"],
        &["customer7", "customes7"],
        &["customer:7", "customer;7"],
        &["user:7", "users7"],
    ] {
        assert_eq!(again(&users(texts)), None, "{texts:?}");
    }
    let mut early = users(&["1", "2"]);
    early[1].1 = 4;
    assert_eq!(again(&early), None);
}

#[test]
fn altered_rows_are_refused_or_users_of_lawful_length() {
    let all = users(&["user:0008", "user:0009", "user:1234"]);
    let numbered = numbered(&all).unwrap();
    let mut piece = Vec::new();
    numbered.write(&mut piece);
    for place in 0..piece.len() {
        for byte in 0..=u8::MAX {
            let mut altered = piece.clone();
            altered[place] = byte;
            let Some(rows) = Rows::read(&mut Reader::new(&altered), 3) else { continue };
            assert_eq!(rows.iter().count(), 3);
            for (number, _) in rows.iter() {
                let mut user = Vec::new();
                rows.put_user(&mut user, number);
                assert!((1..=USER_BYTES_MAX).contains(&user.len()));
            }
        }
    }
}
