//! Red packets: amounts that the sale draws instead of the caller.
//!
//! A draw is a keyed pseudo-random function of the sale's secret and the grant's seq: SipHash-2-4
//! (Aumasson and Bernstein, 2012), reduced to a range without bias by rejection. Earlier amounts
//! tell nothing about later ones, and two nodes can't come to different ones: the primary draws
//! while it decides and the effect carries the amount. Packets need no memory of their own: how
//! many are left and what is left for them says everything, except for a list, which is kept.
//!
//! PACKETS follows the double-mean method known from WeChat's red packets: each packet is uniform
//! up to twice the mean of what is left.

use core::hash::Hasher;
use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as SipHasher24Wide};

use super::core::Core;
use super::limits::{DRAW_AMOUNTS_MAX, GRANTS_MAX, INTEGER_MAX};
use super::outcome::Misuse;

/// What a draw's hash begins with: no other use of the secret hashes the same bytes.
const DRAW_TAG: u8 = b'd';

/// How a sale draws its amounts. Fixed at INIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// So many packets of at least `min`, uniform up to twice the mean of what is left.
    Packets { packets: u64, min: u64 },
    /// Uniform in `low..=high`, cut to what is available.
    Uniform { low: u64, high: u64 },
    /// The supply in so many equal parts; the remainder one unit each to the first ones.
    Equal { packets: u64 },
    /// The amounts of a list, in order. They are kept elsewhere; the fingerprint tells lists apart.
    List { amounts: u64, fingerprint: [u8; 16] },
}

impl Draw {
    /// A draw from this list.
    pub fn list(amounts: &[u64]) -> Draw {
        let mut hasher = SipHasher24Wide::new();
        amounts.iter().for_each(|amount| hasher.write(&amount.to_le_bytes()));
        let fingerprint = hasher.finish128().as_bytes();
        Draw::List { amounts: amounts.len() as u64, fingerprint }
    }

    /// Whether a sale of `supply` can keep what this promises. `amounts` are those of the list.
    pub fn check(&self, supply: u64, amounts: &[u64]) -> Result<(), Misuse> {
        self.check_numbers(supply)?;
        match self {
            Draw::List { .. } if amounts.contains(&0) => Err(Misuse::DrawAmountZero),
            Draw::List { .. } => {
                let sum = amounts.iter().try_fold(0u64, |sum, amount| sum.checked_add(*amount));
                let told = sum == Some(supply);
                told.then_some(()).ok_or(Misuse::DrawSumDiffers)
            }
            _ => Ok(()),
        }
    }

    /// [`Draw::check`] without the amounts of a list, which a rewritten sale no longer has.
    pub fn check_numbers(&self, supply: u64) -> Result<(), Misuse> {
        let packets = self.packets();
        match *self {
            _ if packets == Some(0) => Err(Misuse::DrawNoPackets),
            Draw::List { amounts, .. } if amounts > DRAW_AMOUNTS_MAX => {
                Err(Misuse::DrawListTooLong)
            }
            _ if packets.is_some_and(|packets| packets > GRANTS_MAX) => {
                Err(Misuse::DrawTooManyPackets)
            }
            Draw::Packets { min: 0, .. } => Err(Misuse::DrawMinZero),
            Draw::Packets { packets, min }
                if u128::from(packets) * u128::from(min) > supply.into() =>
            {
                Err(Misuse::DrawSupplyTooSmall)
            }
            Draw::Equal { packets } if packets > supply => Err(Misuse::DrawSupplyTooSmall),
            Draw::Uniform { low: 0, .. } => Err(Misuse::DrawAmountZero),
            Draw::Uniform { low, high } if low > high => Err(Misuse::DrawRangeEmpty),
            _ => Ok(()),
        }
    }

    /// How many packets there are in all; `None` when the sale counts none.
    pub fn packets(&self) -> Option<u64> {
        match *self {
            Draw::Packets { packets, .. } | Draw::Equal { packets } => Some(packets),
            Draw::List { amounts, .. } => Some(amounts),
            Draw::Uniform { .. } => None,
        }
    }

    /// The draw as INIT was told it, for people who read; of a list only how long it is.
    pub fn text(&self) -> String {
        match *self {
            Draw::Packets { packets, min } => format!("PACKETS {packets} MIN {min}"),
            Draw::Uniform { low, high } => format!("UNIFORM {low} {high}"),
            Draw::Equal { packets } => format!("EQUAL {packets}"),
            Draw::List { amounts, .. } => format!("LIST of {amounts}"),
        }
    }

    /// Whether amounts come from a list.
    pub fn is_list(&self) -> bool {
        matches!(self, Draw::List { .. })
    }

    /// Whether the packets left share what is available: none is left over, none goes empty.
    pub fn is_lawful(&self, core: &Core) -> bool {
        let (Some(packets), available) = (core.packets, core.available) else {
            return self.packets().is_none();
        };
        // Their supply is fixed, so nothing was ever promised beyond it.
        if core.deficit > 0 {
            return false;
        }
        let (packets_wide, available_wide) = (u128::from(packets), u128::from(available));
        match *self {
            Draw::Uniform { .. } => false,
            _ if (packets == 0) != (available == 0) => false,
            Draw::Packets { min, .. } => packets_wide * u128::from(min) <= available_wide,
            Draw::Equal { packets: all } => {
                let share = core.supply / all.max(1);
                let most = core.supply.div_ceil(all.max(1));
                packets_wide * u128::from(share) <= available_wide
                    && available_wide <= packets_wide * u128::from(most)
            }
            Draw::List { .. } => packets <= available,
        }
    }

    /// Whether a grant of `qty` can have been drawn in a sale of `supply`.
    pub fn can_draw(&self, qty: u64, supply: u64) -> bool {
        match *self {
            Draw::Packets { min, .. } => qty >= min,
            Draw::Uniform { high, .. } => (1..=high).contains(&qty),
            Draw::Equal { packets: all } => {
                let all = all.max(1);
                qty == supply / all || qty == supply.div_ceil(all)
            }
            Draw::List { .. } => qty > 0,
        }
    }

    /// Whether there is enough for the next draw, so that no due hold is needed.
    pub fn is_covered(&self, core: &Core, dice: &Dice) -> bool {
        match *self {
            Draw::Uniform { low, high } => core.available >= dice.range(low, high),
            _ => core.packets.is_some_and(|packets| packets > 0),
        }
    }

    /// The next amount; `None` when no packet or nothing is left. `first` is the list's first.
    pub fn amount(&self, core: &Core, first: Option<u64>, dice: &Dice) -> Option<u64> {
        let (packets, available) = (core.packets.unwrap_or(1), core.available);
        if packets == 0 || available == 0 {
            return None;
        }
        match *self {
            Draw::Packets { .. } if packets == 1 => Some(available),
            Draw::Packets { min, .. } => {
                // The law says that every packet left gets its minimum, so neither bound is
                // below it; twice what is available stays far below 64 bits.
                let later = (packets - 1).saturating_mul(min);
                let most = (2 * available / packets).min(available.saturating_sub(later));
                Some(dice.range(min, most.max(min)))
            }
            Draw::Uniform { low, high } => Some(dice.range(low, high).min(available)),
            // The first ones have got the remainder when what is left divides evenly.
            Draw::Equal { .. } => Some(available.div_ceil(packets)),
            Draw::List { .. } => first,
        }
    }
}

/// The draws of one grant.
#[derive(Clone, Copy, Debug)]
pub struct Dice<'s> {
    secret: &'s [u8; 16],
    seq: u64,
}

impl<'s> Dice<'s> {
    /// The draws of the grant `seq` in the sale with this secret.
    pub fn new(secret: &'s [u8; 16], seq: u64) -> Self {
        Dice { secret, seq }
    }

    /// 64 uniform bits, others for every attempt.
    fn bits(&self, attempt: u64) -> u64 {
        let mut hasher = SipHasher24::new_with_key(self.secret);
        hasher.write(&[DRAW_TAG]);
        hasher.write(&self.seq.to_le_bytes());
        hasher.write(&attempt.to_le_bytes());
        hasher.finish()
    }

    /// A uniform number in `low..=high`, at most 2^53 of them. What lies beyond the last whole
    /// multiple of the range is drawn again, so that no number is favoured.
    pub fn range(&self, low: u64, high: u64) -> u64 {
        let size = high.saturating_sub(low).min(INTEGER_MAX) + 1;
        let whole = u64::MAX - u64::MAX % size;
        let mut attempt = 0;
        loop {
            let bits = self.bits(attempt);
            if bits < whole {
                return low + bits % size;
            }
            attempt += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::decide::decide_new;
    use crate::sale::outcome::{Outcome, Standing, State};
    use crate::sale::request::{Amount, Deed, Grab, Import, Init, Request, Restock, Settle, Which};
    use crate::sale::terms::Terms;
    use crate::sale::testing::{self, at, created, grab, reloaded, run, SECRET};
    use crate::sale::Sale;

    fn init(draw: Draw, amounts: &[u64], supply: u64, hold_ms: u64) -> Init {
        let terms = Terms { limit: 0, grabs: 1, hold_ms, draw: Some(draw), ..Terms::default() };
        Init { amounts: amounts.to_vec(), ..testing::init(supply, terms) }
    }

    fn sale(draw: Draw, amounts: &[u64], supply: u64, hold_ms: u64) -> Sale {
        created(&init(draw, amounts, supply, hold_ms), 1)
    }

    fn drawn(sale: &mut Sale, user: &str, clock_ms: u64) -> u64 {
        match grab(sale, user, clock_ms) {
            Outcome::Granted { grant, .. } => grant.qty,
            other => panic!("{user}: {other:?}"),
        }
    }

    fn settle(sale: &mut Sale, user: &str, deed: Deed, clock_ms: u64) -> State {
        let reclaims = deed == Deed::Confirm { reclaim: true };
        let seq = sale.ledger().grants_of(user.as_bytes()).next().map_or(0, |grant| grant.seq);
        let which = if reclaims { Which::Seq(seq) } else { Which::Only };
        let request = Request::Settle(Settle { user: user.as_bytes(), which, deed });
        match run(sale, &request, clock_ms) {
            Outcome::Stands(Standing { state, .. }) => state,
            other => panic!("{user}: {other:?}"),
        }
    }

    /// Grabs until nothing is left; the amounts in order.
    fn drained(mut sale: Sale) -> Vec<u64> {
        let mut amounts = Vec::new();
        for user in 0.. {
            let user = format!("u{user}");
            let grab = Grab { user: user.as_bytes(), amount: Amount::Unsaid, req: None };
            let decision = sale.decide(&Request::Grab(grab), &at(2));
            match decision.outcome {
                Outcome::Granted { grant, .. } => amounts.push(grant.qty),
                Outcome::SoldOut { held: 0 } => break,
                other => panic!("{other:?}"),
            }
            sale.commit(&decision.changes, 1).unwrap();
        }
        assert_eq!(sale.core().available, 0);
        assert_eq!(sale.audit().differences, []);
        amounts
    }

    #[test]
    fn packets_add_up_to_the_total_and_keep_the_minimum() {
        for packets in [1, 2, 3, 10, 57] {
            for min in [1, 2, 30] {
                for spare in [0, 1, 7, 1000, 123_456] {
                    let supply = packets * min + spare;
                    let amounts = drained(sale(Draw::Packets { packets, min }, &[], supply, 0));
                    assert_eq!(amounts.len() as u64, packets);
                    assert_eq!(amounts.iter().sum::<u64>(), supply);
                    assert!(amounts.iter().all(|amount| *amount >= min), "{amounts:?}");
                }
            }
        }
    }

    #[test]
    fn equal_parts_differ_by_one_and_the_first_are_larger() {
        assert_eq!(drained(sale(Draw::Equal { packets: 4 }, &[], 11, 0)), [3, 3, 3, 2]);
        assert_eq!(drained(sale(Draw::Equal { packets: 4 }, &[], 12, 0)), [3, 3, 3, 3]);
        assert_eq!(drained(sale(Draw::Equal { packets: 3 }, &[], 3, 0)), [1, 1, 1]);
    }

    #[test]
    fn a_list_is_drawn_in_order() {
        let list = [5, 1, 9, 1];
        assert_eq!(drained(sale(Draw::list(&list), &list, 16, 0)), list);
    }

    #[test]
    fn uniform_amounts_stay_in_range_and_the_last_is_cut() {
        let amounts = drained(sale(Draw::Uniform { low: 3, high: 9 }, &[], 1000, 0));
        let (last, others) = amounts.split_last().unwrap();
        assert!(others.iter().all(|amount| (3..=9).contains(amount)));
        assert!(*last <= 9);
        assert_eq!(amounts.iter().sum::<u64>(), 1000);
    }

    #[test]
    fn ten_million_packets_cost_nothing() {
        let packets = 10_000_000;
        let mut sale = sale(Draw::Packets { packets, min: 1 }, &[], 3 * packets, 0);
        assert!(sale.memory_bytes() < 4096);
        assert!(drawn(&mut sale, "a", 2) <= 6);
        assert_eq!(sale.core().packets, Some(packets - 1));
    }

    #[test]
    fn the_range_is_uniform() {
        let mut counts = [0u32; 7];
        for seq in 0..70_000 {
            counts[Dice::new(&SECRET, seq).range(10, 16) as usize - 10] += 1;
        }
        let chi: f64 = counts.iter().map(|n| (f64::from(*n) - 1e4).powi(2) / 1e4).sum();
        assert!(chi < 22.46, "chi-square with 6 degrees of freedom at 0.001: {chi}");
        assert_eq!(Dice::new(&SECRET, 5).range(9, 9), 9);
        assert!(Dice::new(&SECRET, 5).range(0, INTEGER_MAX) <= INTEGER_MAX);
    }

    #[test]
    fn every_position_has_the_same_mean() {
        let rounds = 4000u64;
        let mut sums = [0u64; 10];
        for round in 0..rounds {
            let mut core = Core { available: 10_000, packets: Some(10), ..Core::default() };
            let draw = Draw::Packets { packets: 10, min: 1 };
            for (place, sum) in sums.iter_mut().enumerate() {
                let dice = Dice::new(&SECRET, round * 10 + place as u64);
                let amount = draw.amount(&core, None, &dice).unwrap();
                *sum += amount;
                core.available -= amount;
                core.packets = core.packets.map(|packets| packets - 1);
            }
        }
        for sum in sums {
            let mean = sum as f64 / rounds as f64;
            assert!((mean - 1000.0).abs() < 60.0, "{mean}");
        }
    }

    #[test]
    fn what_can_not_be_kept_is_refused() {
        let big = GRANTS_MAX + 1;
        let cases = [
            (Draw::Packets { packets: 0, min: 1 }, 5, Misuse::DrawNoPackets),
            (Draw::Packets { packets: 2, min: 0 }, 5, Misuse::DrawMinZero),
            (Draw::Packets { packets: 2, min: 3 }, 5, Misuse::DrawSupplyTooSmall),
            (Draw::Packets { packets: big, min: 1 }, INTEGER_MAX, Misuse::DrawTooManyPackets),
            (Draw::Packets { packets: 2, min: INTEGER_MAX }, 5, Misuse::DrawSupplyTooSmall),
            (Draw::Equal { packets: 0 }, 5, Misuse::DrawNoPackets),
            (Draw::Equal { packets: 6 }, 5, Misuse::DrawSupplyTooSmall),
            (Draw::Uniform { low: 0, high: 5 }, 5, Misuse::DrawAmountZero),
            (Draw::Uniform { low: 6, high: 5 }, 5, Misuse::DrawRangeEmpty),
            (Draw::list(&[]), 0, Misuse::DrawNoPackets),
        ];
        for (draw, supply, misuse) in cases {
            let decision = decide_new(&init(draw, &[], supply, 0), &at(1));
            assert_eq!(decision.outcome, Outcome::Misuse(misuse), "{draw:?}");
        }
        for (list, misuse) in
            [(vec![5, 1], Misuse::DrawSumDiffers), (vec![5, 0], Misuse::DrawAmountZero)]
        {
            let decision = decide_new(&init(Draw::list(&list), &list, 5, 0), &at(1));
            assert_eq!(decision.outcome, Outcome::Misuse(misuse));
        }
        let list = vec![1; DRAW_AMOUNTS_MAX as usize + 1];
        let decision = decide_new(&init(Draw::list(&list), &list, list.len() as u64, 0), &at(1));
        assert_eq!(decision.outcome, Outcome::Misuse(Misuse::DrawListTooLong));
    }

    #[test]
    fn a_repeated_init_is_told_by_its_list() {
        let (list, other) = ([5, 1, 9, 1], [5, 1, 1, 9]);
        let mut sale = sale(Draw::list(&list), &list, 16, 0);
        drawn(&mut sale, "a", 2);
        let again = Request::Init(init(Draw::list(&list), &list, 16, 0));
        assert_eq!(run(&mut sale, &again, 3), Outcome::Done);
        let again = Request::Init(init(Draw::list(&other), &other, 16, 0));
        assert_eq!(run(&mut sale, &again, 3), Outcome::Misuse(Misuse::SaleExists));
    }

    #[test]
    fn amount_and_packet_come_back_together() {
        let list = [5, 1, 9];
        let mut sale = sale(Draw::list(&list), &list, 15, 100);
        assert_eq!(drawn(&mut sale, "a", 10), 5);
        assert_eq!(drawn(&mut sale, "b", 11), 1);
        assert_eq!(settle(&mut sale, "b", Deed::Cancel, 12), State::Cancelled);
        assert_eq!(*sale.amounts().unwrap().returned(), [9, 1]);
        // The hold of a is due: its amount is needed by nobody yet, so it expires on its own.
        assert_eq!(drawn(&mut sale, "c", 110), 9);
        assert_eq!(drawn(&mut sale, "d", 111), 1);
        assert_eq!(drawn(&mut sale, "e", 112), 5, "the due hold makes room");
        assert_eq!(grab(&mut sale, "f", 113), Outcome::SoldOut { held: 15 });
        assert_eq!(settle(&mut sale, "e", Deed::Confirm { reclaim: false }, 114), State::Sold);
        assert_eq!(settle(&mut sale, "e", Deed::Refund, 115), State::Refunded);
        assert!(reloaded(&sale).pieces().eq(sale.pieces()));
        assert_eq!(drawn(&mut sale, "f", 116), 5);
    }

    #[test]
    fn a_list_reclaims_only_that_very_amount() {
        let list = [5, 1];
        let mut sale = sale(Draw::list(&list), &list, 6, 100);
        drawn(&mut sale, "a", 10);
        assert_eq!(settle(&mut sale, "a", Deed::Confirm { reclaim: true }, 110), State::Sold);
        assert_eq!(drawn(&mut sale, "b", 111), 1);
        assert_eq!(settle(&mut sale, "a", Deed::Refund, 112), State::Refunded);
        // b's 1 expires, but c takes it before b pays; the 5 is free and does not serve.
        assert_eq!(drawn(&mut sale, "x", 211), 5);
        assert_eq!(drawn(&mut sale, "c", 212), 1);
        assert_eq!(settle(&mut sale, "x", Deed::Cancel, 213), State::Cancelled);
        assert_eq!(settle(&mut sale, "b", Deed::Confirm { reclaim: true }, 214), State::Expired);
        assert_eq!(settle(&mut sale, "c", Deed::Cancel, 215), State::Cancelled);
        assert_eq!(settle(&mut sale, "b", Deed::Confirm { reclaim: true }, 216), State::Forfeited);
    }

    #[test]
    fn packets_reclaim_only_what_leaves_the_others_their_share() {
        let mut sale = sale(Draw::Packets { packets: 3, min: 2 }, &[], 40, 100);
        let first = drawn(&mut sale, "a", 10);
        drawn(&mut sale, "b", 10);
        drawn(&mut sale, "c", 10);
        assert_eq!(settle(&mut sale, "a", Deed::Confirm { reclaim: true }, 200), State::Sold);
        assert_eq!(sale.core().packets, Some(0), "only what was needed has expired");
        assert_eq!((sale.core().sold, sale.core().available), (first, 0));
        assert_eq!(settle(&mut sale, "b", Deed::Confirm { reclaim: true }, 201), State::Sold);
        assert_eq!(settle(&mut sale, "c", Deed::Confirm { reclaim: true }, 202), State::Sold);
        assert_eq!((sale.core().sold, sale.core().available), (40, 0));
    }

    #[test]
    fn a_reclaim_that_would_strand_units_is_refused() {
        // Both packets expire and somebody takes one of another size: the last is the rest.
        let mut sale = sale(Draw::Packets { packets: 2, min: 1 }, &[], 20, 100);
        let a = drawn(&mut sale, "a", 10);
        drawn(&mut sale, "b", 10);
        let c = drawn(&mut sale, "c", 200);
        let left = 20 - c;
        let state = settle(&mut sale, "a", Deed::Confirm { reclaim: true }, 201);
        assert_eq!(state == State::Sold, a == left, "{a} of {left}");
    }

    #[test]
    fn the_supply_of_packets_is_fixed_and_no_amount_is_named() {
        let mut packets = sale(Draw::Packets { packets: 3, min: 2 }, &[], 40, 0);
        let mut uniform = sale(Draw::Uniform { low: 1, high: 2 }, &[], 40, 0);
        let restock = Request::Restock(Restock { delta: 5, req: b"r" });
        let import = Import { user: b"i", qty: 50, req: b"r", at: None, no_deficit: false };
        let fixed = Outcome::Misuse(Misuse::DrawFixesSupply);
        assert_eq!(run(&mut packets, &restock, 2), fixed);
        assert_eq!(run(&mut packets, &Request::Import(import), 2), fixed);
        assert_eq!(
            run(&mut uniform, &restock, 2),
            Outcome::Restocked { applied: 5, available: 45 }
        );
        let imported = run(&mut uniform, &Request::Import(import), 2);
        assert!(matches!(imported, Outcome::Granted { .. }), "{imported:?}");
        assert!(reloaded(&uniform).pieces().eq(uniform.pieces()));
        for amount in [Amount::Exactly(1), Amount::UpTo(1)] {
            let grab = Request::Grab(Grab { user: b"u", amount, req: None });
            let named = run(&mut uniform, &grab, 3);
            assert_eq!(named, Outcome::Misuse(Misuse::DrawTakesNoAmount));
        }
    }

    #[test]
    fn a_replay_shows_the_same_amount() {
        let mut sale = sale(Draw::Packets { packets: 3, min: 2 }, &[], 40, 0);
        let request = Request::Grab(Grab { user: b"u", amount: Amount::Unsaid, req: Some(b"r") });
        let Outcome::Granted { grant, .. } = run(&mut sale, &request, 2) else { panic!() };
        assert_eq!(run(&mut sale, &request, 3), Outcome::Replay(grant));
        let mut sale = reloaded(&sale);
        assert_eq!(run(&mut sale, &request, 3), Outcome::Replay(grant));
    }

    #[test]
    fn a_long_list_is_saved_in_bounded_pieces() {
        let list: Vec<u64> = (1..=DRAW_AMOUNTS_MAX).collect();
        let mut sale = sale(Draw::list(&list), &list, list.iter().sum(), 0);
        assert_eq!(drawn(&mut sale, "a", 2), 1);
        let pieces: Vec<_> = sale.pieces().collect();
        assert!(pieces.len() > 20 && pieces.iter().all(|(_, piece)| piece.len() < 65_536));
        assert!(reloaded(&sale).pieces().eq(pieces));
    }

    #[test]
    fn a_draw_beyond_the_limit_is_refused() {
        let list = [5, 3];
        let mut init = init(Draw::list(&list), &list, 8, 0);
        init.terms.limit = 6;
        init.terms.grabs = 0;
        let mut sale = created(&init, 1);
        assert_eq!(drawn(&mut sale, "u", 2), 5);
        assert_eq!(grab(&mut sale, "u", 3), Outcome::OverLimit { allowance: 1 });
    }

    #[test]
    fn a_broken_effect_on_a_draw_is_refused() {
        use crate::sale::effect::Change;
        let list = [5, 3];
        let mut sale = sale(Draw::list(&list), &list, 8, 0);
        let version = sale.core().version;
        for text in ["Gq3:u", "Gq8:u", "gu", "Rp1a1:r", "Mq5a1r1:ru"] {
            let change = Change::decode(text.as_bytes()).unwrap();
            assert!(sale.apply_replicated(version, &[change]).is_err(), "{text}");
        }
        let change = Change::decode(b"Gq5:u").unwrap();
        assert!(sale.apply_replicated(version, &[change]).is_ok());
    }
}
