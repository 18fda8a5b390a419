//! Generators: sales, and plans of operations on them.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use seckill_domain::limits::{REQ_BYTES_MAX, TIME_MS_MAX, USER_BYTES_MAX};

use super::super::oracle::{
    Bytes, Deed, Drawing, Every, GatePatch, Gates, Keeper, List, Op, Part, Patch, Pick, Rules,
    HOLD_MAX, INTEGER_MAX,
};
use super::plan::{Aim, Plan, Size, Tick, SPLIT};
use super::START;

/// Bytes that have tripped programs before.
pub(super) fn hostile(len_max: usize) -> impl Strategy<Value = Bytes> {
    let known: Vec<Bytes> = vec![
        b"a".to_vec(),
        b"ab".to_vec(),
        b":".to_vec(),
        b"g".to_vec(),
        b"\0".to_vec(),
        b"\r\n".to_vec(),
        b"%s%n".to_vec(),
        b"Gq2r3:".to_vec(),
        vec![0xff; 3],
        vec![0xff; len_max],
        vec![b'a'; len_max],
    ];
    prop_oneof![12 => select(known), 1 => vec(any::<u8>(), 1..=len_max)]
}

/// A number of the contract, likely at an edge.
pub(super) fn number() -> impl Strategy<Value = u64> {
    let edges = vec![0, 1, 2, 3, 10, INTEGER_MAX / 2, INTEGER_MAX - 1, INTEGER_MAX];
    prop_oneof![4 => 0..6u64, 2 => select(edges), 1 => 0..=INTEGER_MAX]
}

pub(super) fn size() -> impl Strategy<Value = Size> {
    prop_oneof![
        4 => number().prop_map(Size::Exactly),
        2 => (-2..=2i64).prop_map(Size::FromAvailable),
        2 => (-1..=1i64).prop_map(Size::FromAllowance),
        1 => (-1..=1i64).prop_map(Size::FromRoom),
    ]
}

pub(super) fn moment() -> impl Strategy<Value = u64> {
    let edges = vec![0, 1, START - 1, START, TIME_MS_MAX, TIME_MS_MAX + 1, INTEGER_MAX];
    prop_oneof![3 => START..START + 60, 1 => select(edges)]
}

pub(super) fn rules() -> impl Strategy<Value = Rules> {
    let hold = prop_oneof![
        4 => Just(0u64),
        8 => 1..30u64,
        1 => select(vec![HOLD_MAX - 1, HOLD_MAX]),
    ];
    let outbox = prop_oneof![2 => Just(None), 1 => select(vec![Some('s'), Some('z')])];
    let open_at = prop_oneof![2 => Just(0), 1 => moment()];
    let close_at = prop_oneof![2 => Just(0), 1 => moment()];
    let grabs = prop_oneof![2 => Just(0), 2 => 1..4u64, 1 => number()];
    (number(), grabs, hold, open_at, close_at, outbox).prop_map(
        |(limit, grabs, hold_ms, open_at, close_at, outbox)| Rules {
            limit,
            grabs,
            hold_ms,
            open_at,
            close_at,
            outbox,
            ..Rules::default()
        },
    )
}

pub(super) fn drawing() -> impl Strategy<Value = Drawing> {
    let listed: Vec<&'static [u64]> = vec![&[4, 1, 2, 3, 2, 1], &[7], &[1, 1, 1], &[], &[3, 0]];
    prop_oneof![
        2 => (1..7u64, 1..4u64).prop_map(|(packets, min)| Drawing::Packets { packets, min }),
        2 => (1..6u64, 0..9u64).prop_map(|(low, more)| Drawing::Uniform { low, high: low + more }),
        2 => (1..7u64).prop_map(|packets| Drawing::Equal { packets }),
        3 => select(listed).prop_map(Drawing::List),
        1 => (number(), number()).prop_map(|(low, high)| Drawing::Uniform { low, high }),
        1 => (0..7u64, number()).prop_map(|(packets, min)| Drawing::Packets { packets, min }),
    ]
}

pub(super) fn every() -> impl Strategy<Value = Every> {
    let period = select(vec![40u64, 100, 1000, 400_000]);
    let offset = select(vec![0u64, 7, START - 1, START, START + 30]);
    (period, offset, 1..=4u64, any::<bool>()).prop_map(|(period, offset, quarters, carry)| {
        let lasts = if quarters == 1 { 1 } else { period * quarters / 4 };
        Every { period, offset, lasts, carry }
    })
}

pub(super) fn modulo() -> impl Strategy<Value = (u64, &'static [u64])> {
    let sets: Vec<(u64, &'static [u64])> =
        vec![(2, &[1]), (3, &[0, 2]), (1, &[0]), (INTEGER_MAX, &[5]), (2, &[2]), (3, &[])];
    select(sets)
}

pub(super) fn sample() -> impl Strategy<Value = (u64, &'static str)> {
    (select(vec![0u64, 400, 700, 999, 1001]), select(vec!["", "s", "another salt"]))
}

pub(super) fn gates() -> impl Strategy<Value = Gates> {
    let rarely = |weight| prop::bool::weighted(weight);
    let modulo = prop::option::weighted(0.2, modulo());
    let sample = prop::option::weighted(0.2, sample());
    let admit = prop_oneof![2 => Just(0), 2 => 1..5u64];
    (rarely(0.3), modulo, sample, admit, any::<bool>()).prop_map(
        |(allowlist, modulo, sample, admit, mask)| Gates { allowlist, modulo, sample, admit, mask },
    )
}

pub(super) fn gate_patch() -> impl Strategy<Value = GatePatch> {
    let option = prop::option::of;
    (gates(), option(any::<bool>()), option(any::<bool>()), 0..32u8).prop_map(
        |(gates, allowlist, mask, named)| {
            let is_named = |bit: u8| named >> bit & 1 == 1;
            GatePatch {
                allowlist,
                modulo: is_named(0).then_some(gates.modulo),
                sample: is_named(1).then(|| {
                    gates.sample.map(|(permille, salt)| (permille, is_named(3).then_some(salt)))
                }),
                admit: is_named(2).then_some(gates.admit),
                mask,
            }
        },
    )
}

pub(super) fn part() -> impl Strategy<Value = Part> {
    let total = prop_oneof![4 => Just(INTEGER_MAX), 1 => number()];
    (0..4u64, 1..4u64, total).prop_map(|(number, of, total)| {
        // Number 3 stays 3: no split of at most three parts has it.
        let number = if number == 3 { 3 } else { number % of };
        Part { number, of, split: SPLIT, total }
    })
}

pub(super) fn moves() -> impl Strategy<Value = Plan> {
    let peer = prop_oneof![8 => 0..3u64, 1 => number()];
    (any::<bool>(), peer, size(), prop::bool::weighted(0.3))
        .prop_map(|(sends, peer, size, owed)| Plan::Move { sends, peer, size, owed })
}

pub(super) fn elsewhere() -> impl Strategy<Value = Op> {
    let split = prop_oneof![9 => Just(SPLIT), 1 => Just("another")];
    (split, number(), 0..9u64).prop_map(|(split, units, pass)| Op::Elsewhere { split, units, pass })
}

/// A sale with draws, rounds, admission, or all of them, and a supply that mostly fits.
pub(super) fn special() -> impl Strategy<Value = (u64, Rules)> {
    let drawing = prop_oneof![2 => Just(Drawing::Named), 3 => drawing()];
    let every = prop::option::of(every());
    let gates = prop_oneof![2 => Just(Gates::default()), 1 => gates()];
    (rules(), drawing, every, gates, 0..20u64, number()).prop_map(
        |(rules, drawing, every, gates, more, number)| {
            let (mut limit, mut grabs) = (rules.limit, rules.grabs);
            let supply = match drawing {
                Drawing::Named => number,
                Drawing::Packets { packets, min } => packets.saturating_mul(min) + more,
                Drawing::Uniform { high, .. } => high.saturating_mul(2) + more,
                Drawing::Equal { packets } => packets + more,
                Drawing::List(amounts) => amounts.iter().sum::<u64>() + more / 18,
            };
            if drawing != Drawing::Named {
                grabs = grabs.clamp(1, 3);
            }
            if drawing != Drawing::Named && more > 0 {
                // A drawn amount has no limit: INIT refuses it.
                limit = 0;
            }
            let is_list = matches!(drawing, Drawing::List(_));
            // A list that repeats is refused.
            let every = every.filter(|_| !is_list || more == 0);
            (supply.min(INTEGER_MAX), Rules { limit, grabs, drawing, every, gates, ..rules })
        },
    )
}

/// The arguments of INIT.
pub(super) fn sale() -> impl Strategy<Value = (u64, Rules)> {
    let parts = (number(), rules(), part());
    let parts =
        parts.prop_map(|(supply, rules, part)| (supply, Rules { part: Some(part), ..rules }));
    let numbered = (0..14u64, rules(), gates(), any::<bool>());
    let numbered = numbered.prop_map(|(supply, rules, gates, is_open)| {
        let gates = if is_open { Gates::default() } else { gates };
        (supply, Rules { numbered: true, gates, ..rules })
    });
    prop_oneof![3 => (number(), rules()), 3 => special(), 2 => parts, 2 => numbered]
}

pub(super) fn patch() -> impl Strategy<Value = Patch> {
    let gates = prop_oneof![2 => Just(GatePatch::default()), 1 => gate_patch()];
    (rules(), 1..64u8, gates).prop_map(|(rules, named, gates)| {
        let given = |bit: u8, number: u64| (named >> bit & 1 == 1).then_some(number);
        Patch {
            limit: given(0, rules.limit),
            grabs: given(1, rules.grabs),
            hold_ms: given(2, rules.hold_ms),
            open_at: given(3, rules.open_at),
            close_at: given(4, rules.close_at),
            outbox: rules.outbox.filter(|_| named >> 5 & 1 == 1),
            gates,
            ..Patch::default()
        }
    })
}

pub(super) fn tick() -> impl Strategy<Value = Tick> {
    prop_oneof![
        4 => (0..20u64).prop_map(Tick::Forward),
        2 => (0..50u64).prop_map(Tick::Back),
        2 => (-1..=1i64).prop_map(Tick::FromOpen),
        2 => (-1..=1i64).prop_map(Tick::FromClose),
        6 => (-1..=1i64).prop_map(Tick::FromDeadline),
        1 => (-1..=1i64).prop_map(Tick::FromFence),
        2 => (0..4u64, -1..=1i64).prop_map(|(others, by)| Tick::FromRound(others, by)),
        1 => (-1..=1i64).prop_map(Tick::FromClosing),
        1 => moment().prop_map(Tick::To),
    ]
}

pub(super) fn aim() -> impl Strategy<Value = Aim> {
    let req = hostile(REQ_BYTES_MAX).prop_map(Pick::Req);
    let seq = prop_oneof![0..9u64, number()].prop_map(Pick::Seq);
    let pick = prop_oneof![2 => Just(Pick::Only), 2 => req, 1 => seq];
    let blind = (hostile(USER_BYTES_MAX), pick).prop_map(|(user, pick)| Aim::Blind(user, pick));
    let at = (any::<usize>(), 0..4u8).prop_map(|(number, how)| Aim::At(number, how));
    prop_oneof![4 => at, 1 => blind]
}

pub(super) fn settle() -> impl Strategy<Value = Plan> {
    let ms = prop_oneof![4 => 1..40u64, 1 => select(vec![HOLD_MAX - 1, HOLD_MAX])];
    let keeper = select(vec![Keeper::Confirm, Keeper::Cancel, Keeper::Refund]);
    let units = prop_oneof![8 => 1..4u64, 1 => number().prop_map(|units| units.max(1))];
    let deed = prop_oneof![
        4 => Just(Deed::Confirm),
        4 => Just(Deed::Reclaim),
        4 => Just(Deed::Cancel),
        3 => Just(Deed::Refund),
        2 => ms.prop_map(Deed::Extend),
        6 => (keeper, units).prop_map(|(by, units)| Deed::Keep(by, units)),
    ];
    (aim(), deed).prop_map(|(aim, deed)| Plan::Settle { aim, deed })
}

pub(super) fn import() -> impl Strategy<Value = Plan> {
    let (user, req) = (hostile(USER_BYTES_MAX), hostile(REQ_BYTES_MAX));
    let at = prop::option::of(prop_oneof![moment(), Just(TIME_MS_MAX)]);
    let new =
        (user, size(), req, at, any::<bool>()).prop_map(|(user, size, req, at, no_deficit)| {
            Plan::Import { user, size, req, at: at.map(|at| at.min(TIME_MS_MAX)), no_deficit }
        });
    let known = (any::<usize>(), prop_oneof![4 => Just(0), 1 => 1..3u64])
        .prop_map(|(at, more)| Plan::Reimport { at, more });
    prop_oneof![1 => new, 2 => known]
}

pub(super) fn enlist() -> impl Strategy<Value = Op> {
    const FF: &[u8] = &[0xff; 3];
    let sets: Vec<&'static [&'static [u8]]> = vec![
        &[b"a"],
        &[b"ab", b":"],
        &[b"a", FF, b"g", b"a"],
        &[b"\0", b"\r\n", b"Gq2r3:", b"%s%n", b"a", b"ab"],
    ];
    let list = select(vec![List::Allow, List::Allow, List::Deny]);
    (list, prop::bool::weighted(0.6), select(sets)).prop_map(|(list, add, users)| Op::Enlist {
        list,
        add,
        users,
    })
}

pub(super) fn plan() -> impl Strategy<Value = Plan> {
    let req = || hostile(REQ_BYTES_MAX);
    let grab = (hostile(USER_BYTES_MAX), any::<bool>(), size(), prop::option::of(req()))
        .prop_map(|(user, upto, size, req)| Plan::Grab { user, upto, size, req });
    let restock = (any::<bool>(), size(), req()).prop_map(|(withdraws, size, req)| Plan::Restock {
        withdraws,
        size,
        req,
    });
    let init = sale().prop_map(|(supply, rules)| Op::Init { supply, rules });
    prop_oneof![
        30 => grab,
        24 => settle(),
        5 => import(),
        3 => (0..4usize).prop_map(Plan::Sweep),
        8 => restock,
        14 => tick().prop_map(Plan::Tick),
        2 => select(vec![Op::Pause, Op::Resume]).prop_map(Plan::Plain),
        // RESUME is more frequent than PAUSE, so that most sales are open most of the time.
        2 => Just(Plan::Plain(Op::Resume)),
        3 => patch().prop_map(|patch| Plan::Plain(Op::Alter(patch))),
        3 => enlist().prop_map(Plan::Plain),
        10 => moves(),
        2 => elsewhere().prop_map(Plan::Plain),
        1 => init.prop_map(Plan::Plain),
        1 => select(vec![Op::Promote, Op::Rewrite, Op::Restore]).prop_map(Plan::Plain),
    ]
}
