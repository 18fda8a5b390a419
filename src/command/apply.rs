//! `SECKILL.APPLY key position effect [effect ...]`: the command for replicas and AOFs. The command
//! carries the primary's changes. It decides nothing, and applies all of them or none.

use std::mem;

use super::change::{self, Source, Stop};
use super::errors;
use super::vocabulary::{self, Arg, ArgKind, Spec};
use crate::server::call::Call;
use crate::server::ffi::random;
use crate::server::module::info;
use crate::server::value::key::NoSale;
use seckill_domain::decide::Decision;
use seckill_domain::effect::{Change, Changes};
use seckill_domain::limits::EFFECTS_PER_APPLY_MAX;
use seckill_domain::outcome::{Outcome, Refused};
use seckill_domain::plan::{Plan, Position};
use seckill_domain::Sale;

pub const SPEC: Spec = Spec {
    name: "SECKILL.APPLY",
    arity: -4,
    // An INIT's effect holds the secret of its sale, which a replica's SLOWLOG and MONITOR would
    // show.
    flags: "write no-monitor no-slowlog",
    acl: "write slow admin dangerous",
    keys: vocabulary::CHANGES,
    summary: "Applies changes that a primary decided; replicas and append-only files use it",
    complexity: "O(N) where N is the number of effects; a piece of a rewritten sale counts \
            as many as it has grants",
    args: &[
        vocabulary::KEY,
        Arg::new("position", ArgKind::Str).about(
            "the version that the effects follow, in base 36; behind colons, if they have outbox \
                entries, the form of these and the stream id of the first",
        ),
        Arg::new("effect", ArgKind::Str).multiple().about("one change; 1000 at most"),
    ],
    reply: "`OK`: all effects were applied.",
    internal: true,
    errors: &[errors::APPLY_REFUSED, errors::NO_SALE, errors::WRONG_TYPE],
    example: r#"SECKILL.APPLY drop 1z "\x00\x00\x00\x05alice\x01\x03o-7\x00\x02\x00""#,
    ..vocabulary::operator(run)
};

/// The reason of a refusal, and the error to reply.
struct Refusal(Refused, &'static str);

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        Refusal(refused, errors::APPLY_REFUSED)
    }
}

fn run(call: &mut Call<'_>) {
    let parsed = parse(call.args()).map_err(Refusal::from);
    match parsed.and_then(|(position, changes)| apply(call, position, changes)) {
        Ok(()) => call.reply().ok(),
        Err(Refusal(refused, error)) => {
            info::apply_refused(refused);
            call.reply().error(error);
        }
    }
}

/// The position and the effects.
fn parse<'a>(args: &'a [&'a [u8]]) -> Result<(Position, Changes<'a>), Refused> {
    let [_, position, effects @ ..] = args else {
        return Err(Refused::Unknown);
    };
    if effects.is_empty() || effects.len() > EFFECTS_PER_APPLY_MAX {
        return Err(Refused::Unknown);
    }
    let position = Position::decode(position).ok_or(Refused::Unknown)?;
    let changes = effects.iter().map(|effect| Change::decode(effect)).collect::<Result<_, _>>()?;
    Ok((position, changes))
}

/// Applies all changes or none, and replicates them.
fn apply(call: &mut Call<'_>, position: Position, mut changes: Changes<'_>) -> Result<(), Refusal> {
    let (now, source) = (call.now(), Source::Elsewhere(position.entries.map(|entries| entries.id)));
    let mut refused = None;
    let made = change::one(call, &now, source, None, |sale| {
        let plan = sale.check(position.version, mem::take(&mut changes));
        let plan = plan.and_then(|plan| must_agree(sale, &plan, position).map(|()| plan));
        refused = plan.as_ref().err().copied();
        Ok(Decision { outcome: Outcome::Done, plan: plan.ok() })
    });
    match made {
        Ok(_) => refused.map_or(Ok(()), |refused| Err(refused.into())),
        Err(Stop::NoSale(NoSale::Missing)) => begin(call, position, changes, source),
        Err(Stop::NoSale(NoSale::Foreign)) => Err(Refusal(Refused::Key, errors::WRONG_TYPE)),
        Err(Stop::NotTaken(_)) => Err(Refused::Gap.into()),
    }
}

/// The sale and the command must agree on whether there are entries.
fn must_agree(sale: &Sale, plan: &Plan<'_>, position: Position) -> Result<(), Refused> {
    match sale.outbox_after(plan).is_some() == position.entries.is_some() {
        true => Ok(()),
        false => Err(Refused::Law),
    }
}

/// Creates the sale of an INIT, or of the base of a rewritten AOF; no version comes before these.
fn begin(
    call: &mut Call<'_>,
    position: Position,
    changes: Changes<'_>,
    source: Source,
) -> Result<(), Refusal> {
    let (mut sale, plan) = create(position, changes).map_err(|refused| match refused {
        Refused::Key => Refusal(refused, errors::NO_SALE),
        _ => Refusal::from(refused),
    })?;
    if let Some(plan) = &plan {
        must_agree(&sale, plan, position)?;
    }
    if !call.is_of_primary() {
        sale.arrive();
    }
    let begun = change::begin(call, sale, plan.as_ref(), false, source);
    begun.map_err(|_| Refusal::from(Refused::Key))
}

fn create(
    position: Position,
    mut changes: Changes<'_>,
) -> Result<(Sale, Option<Plan<'_>>), Refused> {
    let Some(change) = changes.pop().filter(|_| changes.is_empty()) else {
        return Err(Refused::Key);
    };
    let (sale, plan) = Sale::create(change, random::hash_key())?;
    if position.version != 0 {
        return Err(Refused::Gap);
    }
    match plan.is_none() && position.entries.is_some() {
        true => Err(Refused::Law),
        false => Ok((sale, plan)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_must_be_readable() {
        let pause = &b"\0\0\x0a"[..];
        let args = [&b"k"[..], b"1z", &b"\0\0\0\x05alice\0\x01\0"[..], pause];
        let (position, changes) = parse(&args).unwrap();
        assert_eq!((position.version, changes.len()), (71, 2));
        let wrong: [&[&[u8]]; 7] = [
            &[b"k"],
            &[b"k", b"1"],
            &[b"k", b"01", pause],
            &[b"k", b"-1", pause],
            &[b"k", b"1:2:7-7", pause],
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
