//! The sections behind a base: what only some sales have, a tag and a byte string each.

use super::base::Stated;
use super::turn::turn_in;
use super::{put_numbers, take_all, take_number};
use crate::admission::{List, LISTS};
use crate::draw::amounts::Amounts;
use crate::memory::bytes::{put_bytes, put_varint, Reader};
use crate::model::limits::ROUND_TOTALS_MAX;
use crate::rounds::past::{Rounds, Total};
use crate::Sale;

/// Packets left, one more than there are (0: none counted); amounts in the list.
const SECTION_DRAW: u8 = 3;
/// Users of every list: those in, all places.
const SECTION_LISTS: u8 = 4;
/// What a sale with rounds keeps of them.
const SECTION_ROUNDS: u8 = 5;

impl Sale {
    /// How many sections there are, then each that has anything in it: tag and bytes.
    pub(super) fn put_sections(&self, out: &mut Vec<u8>) {
        let sections = [
            (SECTION_DRAW, self.draw_section()),
            (SECTION_LISTS, self.lists_section()),
            (SECTION_ROUNDS, self.rounds_section()),
        ];
        let written = sections.iter().filter(|(_, section)| !section.is_empty());
        put_varint(out, written.clone().count() as u64);
        for (tag, section) in written {
            out.push(*tag);
            put_bytes(out, section);
        }
    }

    fn draw_section(&self) -> Vec<u8> {
        let mut section = Vec::new();
        if self.terms.draw.is_some() {
            let packets = self.balances.packets.map_or(0, |packets| packets + 1);
            put_numbers(&mut section, [packets, self.amounts().map_or(0, Amounts::len)]);
        }
        section
    }

    fn lists_section(&self) -> Vec<u8> {
        let mut section = Vec::new();
        let sizes = LISTS.map(|list| self.list_size(list));
        if sizes.iter().any(|(_, places)| *places > 0) {
            put_numbers(&mut section, sizes.into_iter().flat_map(<[u64; 2]>::from));
        }
        section
    }

    /// The stored round, the supply of those to come, how the oldest kept begins, totals.
    fn rounds_section(&self) -> Vec<u8> {
        let mut section = Vec::new();
        let Some(rounds) = self.rounds() else { return section };
        put_numbers(&mut section, [self.balances.round, rounds.base_supply]);
        put_bytes(&mut section, &self.write_turn(0));
        for total in &rounds.totals {
            put_numbers(&mut section, [total.round, total.supply, total.sold, total.winners]);
        }
        section
    }

    /// How many users a list has, and how many places.
    pub(super) fn list_size(&self, list: List) -> (u64, u64) {
        let users = self.extras.as_deref().map(|extras| extras.list(list));
        users.map_or((0, 0), |users| (users.len(), users.places()))
    }
}

/// Reads the sections behind a base, tags ascending.
pub fn take_sections(reader: &mut Reader<'_>, sale: &mut Sale, stated: &mut Stated) -> Option<()> {
    let mut last = 0;
    for _ in 0..take_number(reader)? {
        let tag = reader.byte()?;
        let section = reader.bytes().filter(|section| !section.is_empty() && tag > last)?;
        last = tag;
        match tag {
            SECTION_DRAW => {
                let (packets, amounts) = take_all(section, take_pair)?;
                stated.balances.packets = packets.checked_sub(1);
                stated.amounts = amounts;
            }
            SECTION_LISTS => {
                take_all(section, |reader| {
                    let mut sizes = stated.lists.iter_mut();
                    sizes.try_for_each(|size| take_pair(reader).map(|pair| *size = pair))
                })?;
            }
            SECTION_ROUNDS => take_rounds(section, sale, stated)?,
            _ => return None,
        }
    }
    Some(())
}

fn take_pair(reader: &mut Reader<'_>) -> Option<(u64, u64)> {
    Some((take_number(reader)?, take_number(reader)?))
}

/// Reads the rounds of a base. The sale then stands at the beginning of the oldest one kept.
fn take_rounds(section: &[u8], sale: &mut Sale, stated: &mut Stated) -> Option<()> {
    let mut reader = Reader::new(section);
    stated.balances.round = take_number(&mut reader)?;
    let mut rounds = Rounds::default();
    rounds.base_supply = take_number(&mut reader)?;
    let oldest = turn_in(reader.bytes()?, sale.ledger.key())?;
    while !reader.is_empty() {
        let mut number = || take_number(&mut reader);
        rounds.totals.push_back(Total {
            round: number()?,
            supply: number()?,
            sold: number()?,
            winners: number()?,
        });
    }
    let rising = rounds.totals.iter().zip(rounds.totals.iter().skip(1));
    let ordered = rising.into_iter().all(|(one, next)| one.round < next.round);
    if !ordered || rounds.totals.len() >= ROUND_TOTALS_MAX || sale.terms.schedule.is_none() {
        return None;
    }
    sale.balances.round = oldest.round;
    sale.balances.supply = oldest.supply;
    sale.balances.grants = oldest.ledger.base();
    sale.ledger = oldest.ledger;
    sale.extras_mut().rounds = Some(Box::new(rounds));
    Some(())
}
