//! Terms of admission, and lists of users.

#![cfg(test)]

use super::*;
use crate::testing::SECRET;

#[test]
fn terms_of_admission_have_bounds() {
    let sample = |permille, salt| {
        let salt = vec![7; salt].into();
        let sample = Some(Box::new(Sample { permille, salt }));
        Admission { sample, ..Admission::default() }.check()
    };
    assert_eq!((sample(0, 0), sample(PERMILLE_ALL, SALT_BYTES_MAX)), (Ok(()), Ok(())));
    assert_eq!(sample(PERMILLE_ALL + 1, 0), Err(Misuse::SampleTooLarge));
    assert_eq!(sample(1, SALT_BYTES_MAX + 1), Err(Misuse::SaltTooLong));
    let modulo = |modulus, residues: &[u64]| {
        let modulo = Some(Box::new(Modulo { modulus, residues: residues.into() }));
        Admission { modulo, ..Admission::default() }.check()
    };
    let many: Vec<u64> = (0..=MOD_RESIDUES_MAX as u64).collect();
    assert_eq!((modulo(5, &[0, 4]), modulo(5000, &many[1..])), (Ok(()), Ok(())));
    assert_eq!(modulo(5, &[]), Err(Misuse::ModNoResidue));
    for residues in [&[5][..], &[2, 5], &[2, 2], &[3, 2]] {
        assert_eq!(modulo(5, residues), Err(Misuse::ModResidueTooLarge), "{residues:?}");
    }
    assert_eq!(modulo(5000, &many), Err(Misuse::ModTooManyResidues));
    assert_eq!(Modulo::new(9, vec![3, 1, 3]).residues[..], [1, 3]);
}

#[test]
fn numbers_are_divided_digit_by_digit() {
    let admits =
        |modulus, residue, user: &[u8]| Modulo::new(modulus, vec![residue]).admits(user, &SECRET);
    for (user, modulus, residue) in
        [("12345", 97, 12345 % 97), ("0", 5, 0), ("00018446744073709551617", 10, 7)]
    {
        assert!(admits(modulus, residue, user.as_bytes()), "{user}");
        assert!(!admits(modulus, (residue + 1) % modulus, user.as_bytes()), "{user}");
    }
    // An id that is not a number is hashed: about equally many go to each residue.
    let named = |residue| {
        let users = (0..3000).map(|number| format!("user{number}"));
        users.filter(|user| admits(3, residue, user.as_bytes())).count()
    };
    assert_eq!([0, 1, 2].map(named).iter().sum::<usize>(), 3000);
    assert!([0, 1, 2].map(named).iter().all(|count| (900..1100).contains(count)));
    // Another sale hashes ids in another way, so nobody can choose one that passes.
    let first = Modulo::new(3, vec![0]);
    let share = |secret| {
        let users = (0..100).map(|number| format!("user{number}"));
        users.map(|user| first.admits(user.as_bytes(), secret)).collect::<Vec<_>>()
    };
    assert_ne!(share(&SECRET), share(&[7; 16]));
}

#[test]
fn a_sample_is_a_share_that_clicking_does_not_change() {
    let sample = |permille, salt: &[u8]| Sample { permille, salt: salt.into() };
    let users: Vec<String> = (0..20_000).map(|n| format!("user{n}")).collect();
    let share = |sample: &Sample| -> Vec<bool> {
        users.iter().map(|user| sample.admits(user.as_bytes(), &SECRET)).collect()
    };
    let (small, large) = (share(&sample(100, b"")), share(&sample(300, b"")));
    let count = |share: &[bool]| share.iter().filter(|is_in| **is_in).count();
    assert!((1800..2200).contains(&count(&small)), "{}", count(&small));
    assert!((5700..6300).contains(&count(&large)), "{}", count(&large));
    assert!(small.iter().zip(&large).all(|(small, large)| large >= small));
    assert_ne!(small, share(&sample(100, b"x")));
    let elsewhere = |user: &String| sample(100, b"").admits(user.as_bytes(), &[7; 16]);
    assert_ne!(small, users.iter().map(elsewhere).collect::<Vec<_>>(), "another sale");
    assert_eq!(count(&share(&sample(0, b""))), 0);
    assert_eq!(count(&share(&sample(1000, b""))), users.len());
}

#[test]
fn a_million_users_are_compact_and_found() {
    let mut users = Users::new([1, 2]);
    let name = |number: u32| format!("user:{number:012}");
    for number in 0..1_000_000 {
        assert!(users.insert(name(number).as_bytes()));
    }
    assert_eq!(users.len(), 1_000_000);
    for number in (0..1_000_000).step_by(997) {
        assert!(users.contains(name(number).as_bytes()));
        assert!(!users.contains(name(number + 1_000_000).as_bytes()));
    }
    let mut in_order = (0u32..).zip(users.iter_from(0));
    assert!(in_order.all(|(number, (_, listed))| listed.user == name(number).as_bytes()));
    assert_eq!(users.iter_from(0).count(), 1_000_000);
    let bytes = users.heap_bytes() / 1_000_000;
    assert!(bytes < 36, "{bytes} bytes a user of 17");
}

/// A record that does not fit leaves the end of a page unused: less than one longest record.
#[test]
fn a_list_has_room_up_to_its_bound() {
    let mut users = Users::new([1, 2]);
    for room in [0, 1, 3] {
        users.leave_room_for(room);
        let has_room = |users: &Users| [0, 1, 2, 3, 4, usize::MAX].map(|it| users.has_room_for(it));
        assert_eq!(has_room(&users), [0, 1, 2, 3, 4, usize::MAX].map(|it| it <= room));
        users.end += 1;
        assert!(!users.has_room_for(room));
    }
}

#[test]
fn the_memory_of_a_list_is_that_of_its_blocks() {
    let mut users = Users::new([1, 2]);
    assert_eq!((users.heap_bytes(), users.heap_blocks()), (0, 2));
    (0..20_000_u32).for_each(|number| assert!(users.insert(&number.to_be_bytes())));
    let pages = users.pages.heap_bytes();
    assert!(pages >= 20_000 * 6 && users.index.heap_bytes() >= 20_000 * 8);
    assert_eq!(users.heap_bytes(), pages + users.index.heap_bytes());
    assert_eq!(users.heap_blocks(), users.blocks_mut().count() + 2);
    let slots: usize = users.index.blocks_mut().map(|words| words.len()).sum();
    assert!((20_000..60_000).contains(&slots));
    // From each position on, the end of a page included.
    let all: Vec<(u64, Vec<u8>)> =
        users.iter_from(0).map(|(offset, listed)| (offset, listed.user.to_vec())).collect();
    assert_eq!(all.len(), 20_000);
    for (number, (offset, user)) in all.iter().enumerate().step_by(61) {
        let (at, first) = users.iter_from(*offset).next().unwrap();
        assert_eq!((at, first.user), (*offset, &user[..]));
        assert_eq!(users.iter_from(*offset).count(), 20_000 - number);
    }
}

#[test]
fn adding_and_removing_again_takes_no_record() {
    let mut users = Users::new([1, 2]);
    assert!(users.insert(b"a") && users.insert(&[7; USER_BYTES_MAX]) && !users.insert(b"a"));
    assert_eq!(users.end, (2 * HEAD_BYTES + 1 + USER_BYTES_MAX) as u64);
    assert!(users.remove(b"a") && !users.remove(b"a") && !users.remove(b"c"));
    assert!(!users.contains(b"a") && users.insert(b"a") && users.contains(b"a"));
    assert_eq!((users.len(), users.records()), (2, 2));
    assert!(users.remove(b"a"));
    let all: Vec<bool> = users.iter_from(0).map(|(_, listed)| listed.is_in).collect();
    assert_eq!(all, [false, true]);
    assert!(users.remove(&[7; USER_BYTES_MAX]));
    assert_eq!((users.len(), users.records()), (0, 0));
}

/// The memory of an emptied list is freed in steps, and is counted until then. The list takes users
/// meanwhile. A small list is freed at once.
#[test]
fn an_emptied_list_is_freed_step_by_step() {
    let mut users = Users::new([1, 2]);
    assert!(users.insert(b"a") && users.remove(b"a"));
    assert_eq!((users.heap_bytes(), users.heap_blocks(), users.free_some()), (0, 2, false));
    let names: Vec<[u8; 4]> = (0..300_000_u32).map(u32::to_be_bytes).collect();
    assert!(names.iter().all(|name| users.insert(name)));
    let (bytes, blocks) = (users.heap_bytes(), users.heap_blocks());
    assert!(names.iter().all(|name| users.remove(name)));
    assert_eq!((users.len(), users.records(), users.end), (0, 0, 0));
    assert_eq!((users.heap_bytes() > bytes, users.heap_blocks()), (true, blocks + 2));
    assert!(users.insert(b"a") && users.contains(b"a") && !users.contains(&names[0]));
    assert_eq!(users.iter_from(0).count(), 1);
    let mut steps = 0;
    let mut is_more = true;
    while is_more {
        let before = users.heap_blocks();
        is_more = users.free_some();
        let freed = before - users.heap_blocks();
        assert!((1..=2 * FREED_BLOCKS_PER_STEP + 2).contains(&freed), "{freed} at once");
        steps += 1;
    }
    assert!(steps > 1, "{steps}");
    assert_eq!(users.heap_blocks(), users.blocks_mut().count() + 2);
    assert!(users.contains(b"a") && users.remove(b"a"));
}
