//! `SECKILL.AUDIT key`: recounts everything from the grants and compares.

use super::pipeline;
use super::vocabulary::{self, Spec};
use crate::server::call::{Call, Reply};
use seckill_domain::audit::Audit;

pub const SPEC: Spec = Spec {
    name: "SECKILL.AUDIT",
    arity: 2,
    acl: "read slow admin",
    summary: "Recounts a sale from its grants and compares",
    complexity: "O(N) where N is the number of grants",
    reply: "A map (a flat array in RESP2): `ok` 1 or 0, `grants`, `winners`, `supply`, \
        `available`, `held`, `sold` as counted, and `differences`, an array of `[field, stored, \
        counted]` that is empty when all is well.",
    example: "SECKILL.AUDIT drop",
    ..vocabulary::reader(run)
};

fn run(call: &mut Call<'_>) {
    pipeline::show(call, Ok(()), |sale, (), reply| write(&sale.audit(), reply));
}

fn write(audit: &Audit, reply: Reply<'_>) {
    let numbers = [
        ("ok", u64::from(audit.differences.is_empty())),
        ("grants", audit.grants),
        ("winners", audit.winners),
        ("supply", audit.supply),
        ("available", audit.available),
        ("held", audit.held),
        ("sold", audit.sold),
    ];
    reply.map(numbers.len() + 1);
    for (name, number) in numbers {
        reply.bulk(name);
        reply.number(number);
    }
    reply.bulk("differences");
    reply.array(audit.differences.len());
    for difference in &audit.differences {
        reply.array(3);
        reply.bulk(difference.field);
        reply.number(difference.stored);
        reply.number(difference.counted);
    }
}
