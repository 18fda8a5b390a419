//! `SECKILL.AUDIT key`: recounts everything from the grants and compares.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::errors;
use super::pipeline::KEY;
use super::vocabulary::{self, Spec};
use crate::server::call::Call;
use crate::server::reply::Reply;
use crate::server::value::key::NoSale;
use crate::server::walk::{Answer, Walk};
use seckill_domain::audit::{Audit, AuditWalk};
use seckill_domain::Sale;

pub const SPEC: Spec = Spec {
    name: "SECKILL.AUDIT",
    arity: 2,
    acl: "read slow admin",
    summary: "Recounts a sale from its grants and compares",
    complexity: "O(N) where N is the number of grants",
    reply: "A map (a flat array in RESP2): `ok` 1 or 0, `grants`, `winners`, `supply`, \
        `available`, `held`, `sold` as counted, `units`, how many numbers live grants have, in a \
        sale with NUMBERED, `differences`, an array of `[field, stored, \
        counted]` that is empty when all is well, and `version`, the sale's when the audit began \
        and when it ended. It goes over the sale in steps of a few milliseconds, between which \
        others are served and the sale may change: that is no difference. In a transaction or a \
        script it is one step.",
    errors: &[errors::NO_SALE, errors::WRONG_TYPE, errors::BEING_CHANGED],
    example: "SECKILL.AUDIT drop",
    ..vocabulary::reader(run)
};

fn run(call: &mut Call<'_>) {
    call.in_steps(KEY, Box::new(Auditing(None)));
}

/// Grants, users or waiters that one step counts.
const STEP: u64 = 256;

/// The token of the next walk of this process.
static WALKS: AtomicU64 = AtomicU64::new(1);

/// An audit; none until it has begun.
struct Auditing(Option<AuditWalk>);

impl Walk for Auditing {
    fn step(&mut self, sale: Result<&mut Sale, NoSale>) -> Option<Answer> {
        let sale = match sale {
            Ok(sale) => sale,
            Err(why) => return Some(refused(why.into())),
        };
        let begun = || sale.begin_audit(WALKS.fetch_add(1, Relaxed));
        let walk = self.0.get_or_insert_with(begun);
        if !walk.is_of(sale) {
            return Some(refused(errors::BEING_CHANGED));
        }
        let audit = sale.audit_some(walk, STEP)?;
        Some(Box::new(move |reply| write(&audit, reply)))
    }

    fn abandon(&mut self, sale: Option<&mut Sale>) {
        if let Some((walk, sale)) = self.0.as_mut().zip(sale) {
            sale.end_audit(walk);
        }
    }

    fn free_some(&mut self) -> bool {
        self.0.as_mut().is_some_and(AuditWalk::free_some)
    }
}

fn refused(error: &'static str) -> Answer {
    Box::new(move |reply| reply.error(error))
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
    reply.map(numbers.len() + 2 + usize::from(audit.units.is_some()));
    for (name, number) in numbers {
        reply.bulk(name);
        reply.number(number);
    }
    if let Some(units) = audit.units {
        reply.bulk("units");
        reply.number(units);
    }
    reply.bulk("differences");
    reply.array(audit.differences.len());
    for difference in &audit.differences {
        reply.array(3);
        reply.bulk(difference.field);
        reply.number(difference.stored);
        reply.number(difference.counted);
    }
    reply.bulk("version");
    reply.array(audit.version.len());
    audit.version.iter().for_each(|version| reply.number(*version));
}
