//! `SECKILL.APPLY key version effect [effect ...]`: what replicas and logs are sent. It carries
//! what was decided and judges nothing; what can't be applied as a whole changes nothing.

use super::access::KEY;
use super::errors;
use super::pipeline;
use super::vocabulary::{self, Arg, ArgKind, Spec, FIRST};
use crate::server::call::Call;
use crate::server::ffi::random;
use crate::server::module::info;
use crate::server::value::key::Slot;
use seckill_domain::effect::{decode_version, Change, Changes};
use seckill_domain::limits::EFFECTS_PER_APPLY_MAX;
use seckill_domain::outcome::Refused;
use seckill_domain::plan::Plan;
use seckill_domain::Sale;

pub const SPEC: Spec = Spec {
    name: "SECKILL.APPLY",
    handler: run,
    arity: -4,
    flags: "write",
    acl: "write slow admin dangerous",
    keys: vocabulary::CHANGES,
    summary: "Applies changes that a primary decided; replicas and append-only files use it",
    complexity: "O(N) where N is the number of effects; a piece of a rewritten sale counts \
            as many as it has grants",
    since: FIRST,
    tips: &[],
    args: &[
        vocabulary::KEY,
        Arg::new("version", ArgKind::Str).about("the one that the effects follow, in base 36"),
        Arg::new("effect", ArgKind::Str).multiple().about("one change; 1000 at most"),
    ],
    reply: "`OK`: all effects were applied.",
    internal: true,
    errors: &[errors::APPLY_REFUSED, errors::NO_SALE, errors::WRONG_TYPE],
    example: r#"SECKILL.APPLY drop 1z "\x00\x00\x00\x05alice\x01\x03o-7\x00\x02\x00""#,
};

/// What happened, unless it was a base, and when the sweeper of a promoted node must look at the
/// sale.
type Applied<'a> = (Option<Plan<'a>>, Option<u64>);

fn run(call: &mut Call<'_>) {
    let applied = parse(call.args())
        .map_err(|refused| (refused, errors::APPLY_REFUSED))
        .and_then(|(version, changes)| apply(call, version, changes));
    match applied {
        Ok((plan, look_at)) => {
            call.signal_modified(KEY);
            if let Some(deadline) = look_at {
                call.watch(KEY, deadline);
            }
            if let Some(plan) = &plan {
                pipeline::notify_events(call, KEY, plan);
            }
            call.reply().ok();
        }
        Err((refused, error)) => {
            info::apply_refused(refused);
            call.reply().error(error);
        }
    }
}

/// The version that the first effect follows, and all effects.
fn parse<'a>(args: &'a [&'a [u8]]) -> Result<(u64, Changes<'a>), Refused> {
    let [_, version, effects @ ..] = args else {
        return Err(Refused::Unknown);
    };
    if effects.is_empty() || effects.len() > EFFECTS_PER_APPLY_MAX {
        return Err(Refused::Unknown);
    }
    let version = decode_version(version).ok_or(Refused::Unknown)?;
    let changes = effects.iter().map(|effect| Change::decode(effect)).collect::<Result<_, _>>()?;
    Ok((version, changes))
}

/// Applies all changes or none, and replicates them. Refusals come with the error to reply.
fn apply<'a>(
    call: &mut Call<'_>,
    version: u64,
    changes: Changes<'a>,
) -> Result<Applied<'a>, (Refused, &'static str)> {
    let refusal = |refused| (refused, errors::APPLY_REFUSED);
    let mut key = call.open(KEY);
    match key.slot() {
        Slot::Sale(sale) => {
            let holds = sale.holds_len();
            let plan = sale.apply(version, changes).map_err(refusal)?;
            info::holds_changed(holds, sale.holds_len());
            // A replica has no sweeper, so what rounds leave is given back here, step by step.
            sale.shed();
            let look_at = sale.next_look();
            drop(key);
            call.replicate_verbatim();
            return Ok((Some(plan), look_at));
        }
        Slot::Foreign => return Err((Refused::Place, errors::WRONG_TYPE)),
        Slot::Missing => drop(key),
    }
    let (mut sale, plan) = create(version, changes).map_err(|refused| match refused {
        Refused::Place => (refused, errors::NO_SALE),
        _ => refusal(refused),
    })?;
    let look_at = sale.next_look();
    // The server tells of the new key, in which foreign code may change the sale.
    call.replicate_verbatim();
    call.open(KEY).fill(sale);
    Ok((plan, look_at))
}

/// A sale begins with an INIT or with the base of a rewritten log, which follow nothing.
fn create(version: u64, mut changes: Changes<'_>) -> Result<(Sale, Option<Plan<'_>>), Refused> {
    let Some(change) = changes.pop().filter(|_| changes.is_empty()) else {
        return Err(Refused::Place);
    };
    let made = Sale::create(change, random::hash_key())?;
    if version != 0 {
        return Err(Refused::Gap);
    }
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_must_be_readable() {
        let pause = &b"\0\0\x0a"[..];
        let args = [&b"k"[..], b"1z", &b"\0\0\0\x05alice\0\x01\0"[..], pause];
        let (version, changes) = parse(&args).unwrap();
        assert_eq!((version, changes.len()), (71, 2));
        let wrong: [&[&[u8]]; 6] = [
            &[b"k"],
            &[b"k", b"1"],
            &[b"k", b"01", pause],
            &[b"k", b"-1", pause],
            &[b"k", b"1", pause, b"Z"],
            &[b"k", b"1", b""],
        ];
        for args in wrong {
            assert_eq!(parse(args).err(), Some(Refused::Unknown), "{args:?}");
        }
        let mut many = vec![pause; EFFECTS_PER_APPLY_MAX + 3];
        (many[0], many[1]) = (b"k", b"1");
        assert!(parse(&many).is_err());
        assert!(parse(&many[..many.len() - 1]).is_ok());
    }
}
