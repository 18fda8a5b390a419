//! Altered bytes of sales with holds, fences, an outbox and a deficit.

use super::*;
use crate::oracle;
use crate::oracle::Pick;

/// A sale with grants in every state, fences, an outbox and units that are owed, and the texts of
/// its changes.
pub fn rich_sale(grabs: u64) -> (Sale, Vec<(u64, Vec<u8>)>) {
    let rules = Rules { limit: 0, hold_ms: 40, outbox: Some('s'), ..Rules::default() };
    let mut world = World::open(grabs / 2, rules, START, 500).unwrap().unwrap();
    let (mut texts, mut random) = (Vec::new(), Random(7));
    let mut step = |world: &mut World, op: Op| {
        if let Some(changes) = world.changes(&op) {
            let versions = world.sale.balances().version..;
            texts.extend(versions.zip(changes.iter().map(encoded)));
        }
        world.step(&op).unwrap();
    };
    let deeds = [
        oracle::Deed::Confirm,
        oracle::Deed::Cancel,
        oracle::Deed::Extend(70),
        oracle::Deed::Refund,
        oracle::Deed::Reclaim,
    ];
    for number in 0..grabs {
        step(&mut world, Op::Clock(START + number * 9));
        let user = format!("user:{}", number % 5).into_bytes();
        let req = (number % 3 != 1).then(|| format!("order {number}").into_bytes());
        let ask = if number % 4 == 0 { Ask::Qty(1) } else { Ask::UpTo(2) };
        step(&mut world, Op::Grab { user, ask, req });
        // Settles one of the last six grabs: some of their holds are due by now.
        for _ in 0..2 {
            let grants = &world.oracle.rows;
            let back = random.below(grants.len().min(6) as u64) as usize;
            let row = &grants[grants.len() - 1 - back];
            let (user, pick) = (row.user.clone(), Pick::Seq(row.seq));
            let deed = deeds[random.below(deeds.len() as u64) as usize];
            step(&mut world, Op::Settle { user, pick, deed });
        }
        if number % 4 == 2 {
            let (user, req) = (b"early".to_vec(), format!("fence {number}").into_bytes());
            let (pick, deed) = (Pick::Req(req), oracle::Deed::Cancel);
            step(&mut world, Op::Settle { user, pick, deed });
        }
    }
    ending().into_iter().for_each(|op| step(&mut world, op));
    (world.sale, texts)
}

/// The last operations of a full history: a late payment accepted, one refused, units owed.
fn ending() -> Vec<Op> {
    let late = |number: u64| format!("late {number}").into_bytes();
    let reclaim = |number: u64| {
        let (pick, deed) = (Pick::Req(late(number)), oracle::Deed::Reclaim);
        Op::Settle { user: late(number), pick, deed }
    };
    let grab = |number| {
        let (user, req) = (late(number), Some(late(number)));
        Op::Grab { user, ask: Ask::Qty(1), req }
    };
    let restock = |delta, req: &str| Op::Restock { delta, req: req.as_bytes().to_vec() };
    let (user, req) = (b"paid".to_vec(), b"lost".to_vec());
    let import = Op::Import { user, qty: 9, req, at: Some(5), no_deficit: false };
    vec![
        restock(9, "truck"),
        grab(1),
        grab(2),
        grab(3),
        Op::Wait(100),
        Op::Sweep(99),
        // The first late payment is accepted, the second is refused, the third changes nothing.
        reclaim(1),
        restock(-99, "back"),
        reclaim(2),
        restock(2, "last"),
        grab(4),
        grab(5),
        import,
    ]
}

#[test]
fn a_rich_sale_has_everything() {
    let (sale, texts) = rich_sale(24);
    let states: std::collections::BTreeSet<_> = (1..=sale.ledger().len())
        .map(|seq| format!("{:?}", sale.ledger().grant(seq).unwrap().state))
        .collect();
    assert_eq!(states.len(), 6, "{states:?}");
    let kinds = kinds_of(texts.iter().map(|(_, text)| text));
    let all = "Grant Sold Cancelled Refunded Forfeited Expire Extend Reclaim Import Fence Restock";
    all.split(' ').for_each(|kind| assert!(kinds.contains(kind), "no {kind} in {kinds:?}"));
    assert!(sale.balances().deficit > 0 && sale.balances().rev > 0);
    assert_eq!(rebuild::letters(&rebuild::dump(&sale)), "BKJLC");
    assert_sound(&sale, "as it is");
}

#[test]
fn every_field_of_every_effect_at_every_edge() {
    let (sale, _) = rich_sale(24);
    let numbers: Vec<String> =
        (0..=sale.ledger().len() + 1).chain(EDGES).map(|edge| edge.to_string()).collect();
    let shapes = [
        "Gd#:new",
        "Gd#q#:new",
        "Gd5t#:new",
        "Cs#",
        "Xs#",
        "Fs#",
        "Ns#",
        "Ys#",
        "Vs#",
        "Vs#t#",
        "Ys#e#",
        "Es#d1",
        "Es#d99",
        "Es24d#",
        "Es#d#",
        "Es9d5t#",
        "D:#",
        "D:9,#",
        "D:#,#",
        "Dt#:24",
        "Mq#a1r3:reqnew",
        "Mq1a#r3:reqnew",
        "Wr3t#:reqnew",
        "Wr4:lost",
        "Ah#t#",
        "A:s",
        "A:zz",
        "Al#:other",
    ];
    apply_shapes(&sale, &shapes, &numbers);
    let said = ["Gd5q1r3:reqnew", "Cs9", "Es9d99", "D:9,24", "Mq1a1r3:reqnew", "Wr3:reqnew", "Vs9"];
    let taken = apply_at_edges(&sale, said.map(effect));
    assert!(taken > 50, "{taken} taken");
}

/// Effects of one APPLY change grants that earlier effects have changed.
#[test]
fn effects_of_one_apply_see_each_other() {
    let rules = Rules { limit: 0, hold_ms: 40, ..Rules::default() };
    let mut world = World::open(4, rules, START, 500).unwrap().unwrap();
    for user in ["a", "b"] {
        let user = user.as_bytes().to_vec();
        let req = Some(b"r".to_vec());
        world.step(&Op::Grab { user, ask: Ask::Qty(2), req }).unwrap();
    }
    let cases: [(&[&str], bool); 22] = [
        (&["Cs1", "Fs1"], true),
        (&["Cs1", "Cs1"], false),
        (&["Cs1", "Xs1"], false),
        (&["Xs1", "Xs1"], false),
        (&["Xs1", "Ys1"], false),
        (&["Xs1", "Vs1", "Fs1"], true),
        (&["D:1", "Ys1"], true),
        (&["D:1", "Ns1", "Ys1"], false),
        (&["D:1", "Ns1", "Vs1"], true),
        (&["D:1", "gnew", "Ys1"], false),
        (&["D:1", "gnew", "Vs1"], true),
        (&["D:1,2"], true),
        (&["D:1,1"], false),
        (&["D:1", "D:1"], false),
        (&["D:3"], false),
        (&["D:1", "Es1d9"], false),
        (&["Es1d9", "Es1d5", "D:1"], true),
        (&["Gd5:new", "Cs3"], false),
        (&["Ma1r1:xu", "Ma1r1:xu"], false),
        (&["Ma1r1:xu", "Gr1:xu"], false),
        (&["Wr1:xu", "Wr1:xu", "Gd9r1:xu"], false),
        (&["D:1,2", "Wr1:xu", "Gd9r1:xu"], true),
    ];
    for (texts, taken) in cases {
        let mut sale = world.sale.clone();
        let (how, version) = (format!("{texts:?}"), sale.balances().version);
        let texts: Vec<Vec<u8>> = texts.iter().map(effect).collect();
        let all: Vec<&Vec<u8>> = texts.iter().collect();
        assert_eq!(try_apply(&mut sale, version, &all, &how), taken, "{how}");
        assert_sound(&sale, &how);
    }
}
