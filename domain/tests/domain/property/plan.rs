//! A generated step, and the operation that it becomes in the state of the sale at that moment.

use seckill_domain::limits::TIME_MS_MAX;

use super::super::oracle::{
    Ask, Bytes, Deed, Drawing, Op, Oracle, Patch, Pick, Row, Wish, FENCE_MS, INTEGER_MAX,
};
use super::super::world::World;
use super::START;

/// The only split of these sales.
pub(super) const SPLIT: &str = "a split\0";

/// A number, or its distance from a number of the sale.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    Exactly(u64),
    FromAvailable(i64),
    FromAllowance(i64),
    FromRoom(i64),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Tick {
    Forward(u64),
    Back(u64),
    FromOpen(i64),
    FromClose(i64),
    FromDeadline(i64),
    FromFence(i64),
    FromRound(u64, i64),
    FromClosing(i64),
    To(u64),
}

/// The grant of an action. The state of the sale at that moment turns it into a user and a pick.
#[derive(Clone, Debug)]
pub(super) enum Aim {
    /// The grant with this number modulo the grants that there are, named by seq, by request id if
    /// it has one, or not at all.
    At(usize, u8),
    /// A user and a pick, whether or not the user has that grant.
    Blind(Bytes, Pick),
}

/// One generated step; the state of the sale then decides which operation it becomes.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    Grab {
        user: Bytes,
        upto: bool,
        size: Size,
        req: Option<Bytes>,
    },
    Settle {
        aim: Aim,
        deed: Deed,
    },
    /// An IMPORT of a grant that is known, with its quantity or one beside it.
    Reimport {
        at: usize,
        more: u64,
    },
    Import {
        user: Bytes,
        size: Size,
        req: Bytes,
        at: Option<u64>,
        no_deficit: bool,
    },
    Restock {
        withdraws: bool,
        size: Size,
        req: Bytes,
    },
    /// A SEND to a part, with OWED or without, or a RECEIVE from it: this many units more.
    Move {
        sends: bool,
        peer: u64,
        size: Size,
        owed: bool,
    },
    Sweep(usize),
    Tick(Tick),
    Plain(Op),
}

pub(super) fn shifted(number: u64, by: i64) -> u64 {
    number.saturating_add_signed(by)
}

impl Size {
    /// A quantity as a parser lets it through.
    pub(super) fn settle(self, oracle: &Oracle, user: &[u8]) -> u64 {
        let number = match self {
            Size::Exactly(number) => number,
            Size::FromAvailable(by) => shifted(oracle.available(), by),
            Size::FromAllowance(by) => shifted(oracle.allowance(user).unwrap_or(1), by),
            Size::FromRoom(by) => shifted(INTEGER_MAX - oracle.supply, by),
        };
        number.clamp(1, INTEGER_MAX)
    }
}

impl Tick {
    pub(super) fn settle(self, world: &World) -> u64 {
        let rules = world.oracle.rules;
        let clock = match self {
            Tick::Forward(by) => world.clock.saturating_add(by),
            Tick::Back(by) => world.clock.saturating_sub(by),
            Tick::FromOpen(by) => shifted(rules.open_at, by),
            Tick::FromClose(by) => shifted(rules.close_at, by),
            Tick::FromDeadline(by) => {
                world.oracle.next_deadline().map_or(world.clock, |next| shifted(next, by))
            }
            Tick::FromFence(by) => {
                let oldest = world.oracle.fences.first();
                oldest.map_or(world.clock, |fence| shifted(fence.at + FENCE_MS, by))
            }
            Tick::FromRound(others, by) => {
                let start = world.oracle.start_after(others, world.clock);
                start.map_or(world.clock, |start| shifted(start, by))
            }
            Tick::FromClosing(by) => {
                world.oracle.close_of(world.clock).map_or(world.clock, |close| shifted(close, by))
            }
            Tick::To(clock) => clock,
        };
        // The oracle walks from round to round.
        let last = if rules.every.is_some() { START + 1_000_000 } else { TIME_MS_MAX };
        clock.clamp(1, last)
    }
}

impl Aim {
    pub(super) fn settle(&self, oracle: &Oracle) -> (Bytes, Pick) {
        let (number, how) = match self {
            Aim::At(number, how) if !oracle.rows.is_empty() => (number, how),
            Aim::At(..) => return (b"a".to_vec(), Pick::Only),
            Aim::Blind(user, pick) => return (user.clone(), pick.clone()),
        };
        let row = &oracle.rows[number % oracle.rows.len()];
        let pick = match (how, &row.req) {
            (0, _) => Pick::Only,
            (1 | 2, Some(req)) => Pick::Req(req.clone()),
            _ => Pick::Seq(row.seq),
        };
        (row.user.clone(), pick)
    }
}

/// Some of `these` numbers, one for each set bit of `which`; the first one if no bit is set.
fn some_of(these: &[u64], which: u64) -> Vec<u32> {
    let of = these.iter().enumerate().filter(|(place, _)| which >> (place % 64) & 1 == 1);
    let mut some: Vec<u32> = of.map(|(_, unit)| *unit as u32).collect();
    some.extend(these.first().map(|unit| *unit as u32).filter(|_| some.is_empty()));
    let start = which as usize % some.len().max(1);
    some.rotate_left(start);
    some
}

impl Plan {
    pub(super) fn settle(&self, world: &World) -> Op {
        match world.oracle.rules.numbered {
            true => self.settle_numbered(world).unwrap_or_else(|| self.settle_counted(world)),
            false => self.settle_counted(world),
        }
    }

    /// `settle` with unit numbers, if units have numbers and the plan can name some. One number may
    /// not exist.
    fn settle_numbered(&self, world: &World) -> Option<Op> {
        let oracle = &world.oracle;
        let all: Vec<u64> = (1..=oracle.supply.min(12) + 1).collect();
        let of_row = |pick: &Pick, user: &Bytes| {
            let is_it = |row: &&Row| match pick {
                Pick::Only => row.user == *user,
                Pick::Seq(seq) => row.seq == *seq,
                Pick::Req(req) => row.user == *user && row.req.as_ref() == Some(req),
            };
            oracle.rows.iter().find(is_it).map(|row| row.first_units.clone())
        };
        match self {
            Plan::Grab { user, upto: true, size, req } => {
                let size = size.settle(oracle, user);
                let (user, req) = (user.clone(), req.clone());
                let wish = match size % 4 {
                    0 => Wish::Adjacent,
                    _ => Wish::These(some_of(&all, size).into_iter().map(u64::from).collect()),
                };
                let qty = match &wish {
                    Wish::Adjacent => 1 + size % 5,
                    Wish::These(units) => units.len() as u64,
                };
                Some(Op::Choose { user, qty, wish, req })
            }
            Plan::Settle { aim, deed: Deed::Keep(by, which) } => {
                let (user, pick) = aim.settle(oracle);
                let units = some_of(&of_row(&pick, &user).unwrap_or(all), *which);
                Some(Op::KeepUnits { user, pick, by: *by, units })
            }
            Plan::Reimport { at, more } => {
                let known: Vec<_> = oracle.rows.iter().filter(|row| row.req.is_some()).collect();
                let row = known.get(at % known.len().max(1))?;
                let of = if *more > 0 { &all } else { &row.first_units };
                let units = some_of(of, *at as u64);
                Some(Op::ImportUnits { user: row.user.clone(), units, req: row.req.clone()? })
            }
            Plan::Import { user, size, req, .. } => {
                let units = some_of(&all, size.settle(oracle, user));
                Some(Op::ImportUnits { user: user.clone(), units, req: req.clone() })
            }
            _ => None,
        }
    }

    fn settle_counted(&self, world: &World) -> Op {
        match self {
            Plan::Grab { user, upto, size, req } => {
                let qty = size.settle(&world.oracle, user);
                let draws = world.oracle.rules.drawing != Drawing::Named;
                let ask = match (draws, *upto) {
                    (true, _) if qty < INTEGER_MAX => Ask::Unsaid,
                    (_, true) => Ask::UpTo(qty),
                    (false, false) if qty == 3 => Ask::Unsaid,
                    (_, false) => Ask::Qty(qty),
                };
                Op::Grab { user: user.clone(), ask, req: req.clone() }
            }
            Plan::Restock { withdraws, size, req } => {
                let size = size.settle(&world.oracle, b"") as i64;
                Op::Restock { delta: if *withdraws { -size } else { size }, req: req.clone() }
            }
            Plan::Settle { aim, deed } => {
                let (user, pick) = aim.settle(&world.oracle);
                Op::Settle { user, pick, deed: *deed }
            }
            Plan::Reimport { at, more } => {
                let known = world.oracle.rows.iter().filter(|row| row.req.is_some());
                let known: Vec<_> = known.collect();
                let Some(row) = known.get(at % known.len().max(1)) else { return Op::Resume };
                let (user, req) = (row.user.clone(), row.req.clone().unwrap_or_default());
                Op::Import { user, qty: row.first + more, req, at: None, no_deficit: at % 2 == 0 }
            }
            Plan::Import { user, size, req, at, no_deficit } => Op::Import {
                user: user.clone(),
                qty: size.settle(&world.oracle, user),
                req: req.clone(),
                at: *at,
                no_deficit: *no_deficit,
            },
            Plan::Move { sends, peer, size, owed } => {
                let pairs = world.oracle.pairs();
                let pair = pairs.iter().find(|(other, ..)| other == peer);
                let (sent, received) =
                    pair.map_or((0, 0), |(_, sent, received)| (*sent, *received));
                let size = size.settle(&world.oracle, b"");
                // A third of the messages are late or repeated.
                let more = if size % 3 == 0 { 0 } else { size };
                let total = |before: u64| INTEGER_MAX.min(before + more);
                match sends {
                    true => Op::Send { split: SPLIT, to: *peer, total: total(sent), owed: *owed },
                    false => Op::Receive { split: SPLIT, from: *peer, total: total(received) },
                }
            }
            Plan::Sweep(most) => Op::Sweep(*most),
            Plan::Tick(tick) => Op::Clock(tick.settle(world)),
            Plan::Plain(Op::Alter(patch)) if world.oracle.rules.drawing.is_random() => {
                Op::Alter(Patch { limit: None, ..*patch })
            }
            Plan::Plain(op) => op.clone(),
        }
    }
}
