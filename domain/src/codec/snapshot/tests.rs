//! Bases of other forms, and altered ones.

#![cfg(test)]

use super::*;
use crate::draw::Draw;
use crate::model::outcome::Refused;
use crate::request::terms::Terms;
use crate::rounds::schedule::Schedule;
use crate::testing::{created, init};

fn base_of(terms: Terms) -> Vec<u8> {
    let (_, base) = created(&init(7, terms), 5).pieces().next().unwrap();
    base
}

#[test]
fn another_form_is_refused() {
    let mut base = base_of(Terms::default());
    let (sale, _) = read_base(&base, [1, 2]).unwrap();
    assert_eq!(sale.balances().supply, 7);
    assert!(sale.extras.is_none());
    for form in [0, FORMAT_VERSION + 1, 255] {
        base[0] = form;
        assert_eq!(read_base(&base, [1, 2]).err(), Some(Refused::Unknown), "form {form}");
    }
}

#[test]
fn sections_that_are_unknown_empty_or_out_of_order_are_refused() {
    let plain = base_of(Terms::default());
    let plain = &plain[..plain.len() - 1];
    let broken: [&[u8]; 6] = [
        &[1, 9, 1, 0],
        &[1, 1, 0],
        &[2, 3, 2, 0, 0, 3, 2, 0, 0],
        &[1, 2, 3, 3, 9, 9],
        &[0, 0],
        &[1],
    ];
    for sections in broken {
        let base = [plain, sections].concat();
        assert!(read_base(&base, [1, 2]).is_err(), "{sections:?}");
    }
}

#[test]
fn a_base_with_every_section_is_refused_when_cut_or_altered_to_break_the_law() {
    let draw = Some(Draw::Packets { packets: 3, min: 2 });
    let schedule = Schedule { period_ms: 10, offset_ms: 3, lasts_ms: 5, carry: true };
    let base = base_of(Terms { limit: 0, draw, schedule: Some(schedule), ..Terms::default() });
    assert!(read_base(&base, [1, 2]).is_ok());
    for len in 0..base.len() {
        assert!(read_base(&base[..len], [1, 2]).is_err(), "{len}");
    }
    for place in 0..base.len() {
        for bit in 0..8 {
            let mut altered = base.clone();
            altered[place] ^= 1 << bit;
            if let Ok((sale, _)) = read_base(&altered, [1, 2]) {
                assert!(sale.balances().is_lawful());
                assert_eq!(sale.audit().differences, []);
            }
        }
    }
}
