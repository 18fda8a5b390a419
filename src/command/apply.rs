//! `SECKILL.APPLY key position effect [effect ...]`: the command for replicas and AOFs. It carries
//! the primary's changes and decides nothing; it applies all of them or none.

use super::change::{self, Source};
use super::errors;
use super::pipeline::KEY;
use super::vocabulary::{self, Arg, ArgKind, Spec};
use crate::server::call::Call;
use crate::server::ffi::random;
use crate::server::module::info;
use crate::server::propagation::outbox::{Outbox, Stream};
use crate::server::value::key::NoSale;
use seckill_domain::effect::{Change, Changes};
use seckill_domain::limits::EFFECTS_PER_APPLY_MAX;
use seckill_domain::outcome::Refused;
use seckill_domain::plan::{Plan, Position, StreamId};
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

/// Why nothing was applied, and the error to reply.
type Refusal = (Refused, &'static str);

fn run(call: &mut Call<'_>) {
    let applied = parse(call.args())
        .map_err(refusal)
        .and_then(|(position, changes)| apply(call, position, changes));
    match applied {
        Ok(()) => call.reply().ok(),
        Err((refused, error)) => {
            info::apply_refused(refused);
            call.reply().error(error);
        }
    }
}

fn refusal(refused: Refused) -> Refusal {
    (refused, errors::APPLY_REFUSED)
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
fn apply(call: &mut Call<'_>, position: Position, changes: Changes<'_>) -> Result<(), Refusal> {
    let (outbox, now) = (call.outbox(), call.now());
    let mut key = call.open(KEY);
    let sale = match key.sale() {
        Ok(sale) => sale,
        Err(NoSale::Foreign) => return Err((Refused::Place, errors::WRONG_TYPE)),
        Err(NoSale::Missing) => {
            drop(key);
            return begin(call, position, changes);
        }
    };
    let plan = sale.check(position.version, changes).map_err(refusal)?;
    let stream = stream_of(sale, outbox, &plan, position)?;
    let source = Source::Elsewhere(stream.as_ref().map(|(_, first)| *first));
    let committed = match &stream {
        None => {
            let committed = change::follow(sale, &plan, None, now.clock_ms);
            drop(key);
            committed
        }
        Some((stream, _)) => {
            drop(key);
            change::commit_one(call, &plan, None, stream, &now, source)
                .map_err(|_| refusal(Refused::Gap))?
        }
    };
    change::finish(call, &plan, &committed, source);
    Ok(())
}

/// The stream for a plan's entries, and the first entry's id. The sale and the command must agree
/// on whether there are entries.
fn stream_of<'c>(
    sale: &Sale,
    outbox: Outbox<'c>,
    plan: &Plan<'_>,
    position: Position,
) -> Result<Option<(Stream<'c>, StreamId)>, Refusal> {
    match (sale.outbox_after(plan), position.entries) {
        (None, None) => Ok(None),
        (Some(name), Some(entries)) => Ok(Some((outbox.stream(name, false), entries.id))),
        _ => Err(refusal(Refused::Law)),
    }
}

/// Creates the sale of an INIT, or of the base of a rewritten AOF; no version comes before these.
fn begin(call: &mut Call<'_>, position: Position, changes: Changes<'_>) -> Result<(), Refusal> {
    let (mut sale, plan) = create(position, changes).map_err(|refused| match refused {
        Refused::Place => (refused, errors::NO_SALE),
        _ => refusal(refused),
    })?;
    let outbox = call.outbox();
    let stream = match &plan {
        Some(plan) => stream_of(&sale, outbox, plan, position)?,
        None => None,
    };
    if !call.is_of_primary() {
        sale.arrive();
    }
    let source = Source::Elsewhere(stream.as_ref().map(|(_, first)| *first));
    let stream = stream.as_ref().map(|(stream, _)| stream);
    change::begin(call, sale, plan.as_ref(), stream, source).map_err(|_| refusal(Refused::Place))
}

fn create(
    position: Position,
    mut changes: Changes<'_>,
) -> Result<(Sale, Option<Plan<'_>>), Refused> {
    let Some(change) = changes.pop().filter(|_| changes.is_empty()) else {
        return Err(Refused::Place);
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
