//! Translates the oracle's commands and terms into the domain's.

use std::num::NonZeroU16;

use seckill_domain::admission::{Admission, AdmissionChange, Modulo, Sample};
use seckill_domain::draw::Draw;
use seckill_domain::parts::Split;
use seckill_domain::request::{
    self, Amount, Deed, Elsewhere, Grab, Import, Init, Kept, ListChange, Receive, Request, Restock,
    Send, Settle, Terms, TermsChange, UnitKind, Wait, Which, Wish,
};
use seckill_domain::rounds::Schedule;

use super::oracle::{self, Ask, Drawing, Op, Patch, Pick, Rules, SECRET};

pub fn init(supply: u64, rules: &Rules) -> Init {
    let amounts = rules.drawing.list();
    Init { supply, terms: terms(rules), amounts, id: 77, secret: SECRET }
}

fn terms(rules: &Rules) -> Terms {
    Terms {
        limit: rules.limit,
        grabs: rules.grabs,
        hold_ms: rules.hold_ms,
        open_at: rules.open_at,
        close_at: rules.close_at,
        outbox: rules.outbox.map(stream),
        kind: match rules.drawing {
            Drawing::Named if rules.numbered => UnitKind::Numbered,
            Drawing::Named => UnitKind::Counted,
            Drawing::Packets { packets, min } => UnitKind::Drawn(Draw::Packets { packets, min }),
            Drawing::Uniform { low, high } => UnitKind::Drawn(Draw::Uniform { low, high }),
            Drawing::Equal { packets } => UnitKind::Drawn(Draw::Equal { packets }),
            Drawing::List(amounts) => UnitKind::Drawn(Draw::list(amounts)),
        },
        schedule: rules.every.map(|every| Schedule {
            period_ms: every.period,
            offset_ms: every.offset,
            lasts_ms: every.lasts,
            carry: every.carry,
        }),
        admission: Admission {
            allowlist: rules.gates.allowlist,
            modulo: rules.gates.modulo.map(modulo),
            sample: rules.gates.sample.map(sample),
            admit: rules.gates.admit,
            mask: rules.gates.mask,
        },
        split: rules.part.map(split),
        waitlist: rules.list,
    }
}

fn split(part: oracle::Part) -> Box<Split> {
    Box::new(Split {
        part: part.number as u16,
        parts: NonZeroU16::new(part.of as u16).unwrap_or(NonZeroU16::MIN),
        id: part.split.as_bytes().into(),
        total: part.total,
    })
}

fn modulo((modulus, residues): (u64, &[u64])) -> Box<Modulo> {
    Box::new(Modulo::new(modulus, residues.to_vec()))
}

fn sample((permille, salt): (u64, &str)) -> Box<Sample> {
    Box::new(Sample { permille, salt: salt.as_bytes().into() })
}

fn terms_change(patch: &Patch) -> TermsChange {
    let gates = &patch.gates;
    TermsChange {
        limit: patch.limit,
        grabs: patch.grabs,
        hold_ms: patch.hold_ms,
        open_at: patch.open_at,
        close_at: patch.close_at,
        outbox: patch.outbox.map(stream),
        admission: AdmissionChange {
            allowlist: gates.allowlist,
            modulo: gates.modulo.map(|numbers| numbers.map(modulo)),
            sample: gates.sample.map(|share| {
                share.map(|(permille, salt)| sample((permille, salt.unwrap_or_default())))
            }),
            keeps_salt: gates.sample.flatten().is_some_and(|(_, salt)| salt.is_none()),
            admit: gates.admit,
            mask: gates.mask,
        },
        remakes_outbox: false,
        waitlist: patch.list,
    }
}

pub fn amount(ask: Ask) -> Amount {
    match ask {
        Ask::Qty(qty) => Amount::Exactly(qty),
        Ask::UpTo(qty) => Amount::UpTo(qty),
        Ask::Unsaid => Amount::Unsaid,
    }
}

/// The GRAB of a command; `None` for another command.
pub fn grab(op: &Op) -> Option<Grab<'_>> {
    let req = match op {
        Op::Grab { req, .. } | Op::Choose { req, .. } => req.as_deref(),
        Op::Join { req, .. } => Some(&req[..]),
        _ => return None,
    };
    Some(Grab { user: op.user()?, amount: amount(op.ask()?), req })
}

fn wish(wish: &oracle::Wish) -> Wish {
    match wish {
        oracle::Wish::Adjacent => Wish::Adjacent,
        oracle::Wish::These(units) => Wish::These(units.iter().map(|unit| *unit as u32).collect()),
    }
}

fn which(pick: &Pick) -> Which<'_> {
    match pick {
        Pick::Only => Which::Only,
        Pick::Seq(seq) => Which::Seq(*seq),
        Pick::Req(req) => Which::Req(req),
    }
}

fn stream(name: char) -> Box<[u8]> {
    String::from(name).into_bytes().into()
}

/// The request of a command; `None` for an event around the sale.
pub fn request(op: &Op) -> Option<Request<'_>> {
    Some(match op {
        // A repeated INIT has another id and secret.
        Op::Init { supply, rules } => {
            Request::Init(Init { id: 78, secret: [8; 16], ..init(*supply, rules) })
        }
        Op::Grab { .. } => Request::Grab(grab(op)?),
        Op::Join { until, .. } => Request::Wait(Wait { grab: grab(op)?, until: *until }),
        Op::Choose { wish: these, .. } => {
            Request::Pick(request::Pick { grab: grab(op)?, wish: wish(these), waits: false })
        }
        Op::KeepUnits { user, pick, by, units } => {
            let deed = Deed::Keep { by: *by, kept: Kept::These(units) };
            Request::Settle(Settle { user, which: which(pick), deed })
        }
        Op::Settle { user, pick, deed } => {
            let deed = match *deed {
                oracle::Deed::Confirm => Deed::Confirm { reclaim: false },
                oracle::Deed::Reclaim => Deed::Confirm { reclaim: true },
                oracle::Deed::Cancel => Deed::Cancel,
                oracle::Deed::Extend(ms) => Deed::Extend { ms },
                oracle::Deed::Refund => Deed::Refund,
                oracle::Deed::Keep(by, units) => Deed::Keep { by, kept: Kept::AtMost(units) },
            };
            Request::Settle(Settle { user, which: which(pick), deed })
        }
        Op::Import { user, qty, req, at, no_deficit } => {
            let (qty, at, no_deficit) = (*qty, *at, *no_deficit);
            Request::Import(Import { user, qty, req, at, no_deficit, units: &[] })
        }
        Op::ImportUnits { user, units, req } => {
            let qty = units.len() as u64;
            Request::Import(Import { user, qty, req, at: None, no_deficit: false, units })
        }
        Op::Restock { delta, req } => Request::Restock(Restock { delta: *delta, req }),
        Op::Pause => Request::Pause,
        Op::Resume => Request::Resume,
        Op::Alter(patch) => Request::Alter(terms_change(patch)),
        Op::Enlist { list, add, users } => {
            Request::List(ListChange { list: *list, add: *add, users })
        }
        Op::Send { split, to, total, owed } => {
            Request::Send(Send { split: split.as_bytes(), to: *to, total: *total, owed: *owed })
        }
        Op::Receive { split, from, total } => {
            Request::Receive(Receive { split: split.as_bytes(), from: *from, total: *total })
        }
        Op::Elsewhere { split, units, pass } => {
            Request::Elsewhere(Elsewhere { split: split.as_bytes(), units: *units, pass: *pass })
        }
        _ => return None,
    })
}
