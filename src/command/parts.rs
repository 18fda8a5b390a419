//! `SECKILL.PARTS key`: what a balancer must know of a part, read in one step.

use super::vocabulary::{self, Spec};
use super::{errors, pipeline};
use crate::server::call::{Call, Reply};
use seckill_domain::Sale;

pub const SPEC: Spec = Spec {
    name: "SECKILL.PARTS",
    arity: 2,
    summary: "Shows what a part of a split has, sent and received, in one step",
    complexity: "O(N) where N is the number of parts that it has exchanged units with",
    reply: "`[id, part, parts, put_in, available, held, deficit, elsewhere, pass, [[peer, sent, \
        received] ...]]`: the split and its part; its share and the restocks applied (negative \
        where more was withdrawn); what it has and owes; what the other parts may still have, and \
        the pass that told so; a row for each part that it has exchanged units with, in order.",
    errors: &[errors::NO_SALE, errors::WRONG_TYPE, errors::NOT_A_PART],
    example: "SECKILL.PARTS sale:phone:{p0}",
    ..vocabulary::reader(run)
};

fn run(call: &mut Call<'_>) {
    pipeline::show(call, Ok(()), |sale, (), reply| write(sale, reply));
}

fn write(sale: &Sale, out: Reply<'_>) {
    let Some(part) = sale.part() else {
        return out.error(errors::NOT_A_PART);
    };
    let (balances, escrow) = (sale.balances(), part.escrow);
    out.array(10);
    out.bytes(&part.split.id);
    out.number(part.split.part.into());
    out.number(part.split.parts.get().into());
    out.int(escrow.put_in);
    for number in [balances.available, balances.held, balances.deficit] {
        out.number(number);
    }
    out.number(balances.elsewhere);
    out.number(escrow.pass);
    out.array(part.pairs.len());
    for pair in part.pairs {
        out.array(3);
        out.number(pair.peer.into());
        out.number(pair.sent);
        out.number(pair.received);
    }
}
