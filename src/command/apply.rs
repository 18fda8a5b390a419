//! `SECKILL.APPLY key position effect [effect ...]`: what replicas and logs are sent. It carries
//! what was decided and judges nothing; what can't be applied as a whole changes nothing.

use super::errors;
use super::pipeline::KEY;
use super::pipeline::{self, Committed};
use super::vocabulary::{self, Arg, ArgKind, Spec, FIRST};
use crate::server::call::Call;
use crate::server::data_set::counts::{self, Load};
use crate::server::ffi::random;
use crate::server::module::info;
use crate::server::propagation::outbox::{Appended, OpenStream, Outbox, Stream};
use crate::server::value::key::Slot;
use seckill_domain::effect::{Change, Changes};
use seckill_domain::limits::EFFECTS_PER_APPLY_MAX;
use seckill_domain::outcome::Refused;
use seckill_domain::plan::{Plan, Position, StreamId};
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
};

/// What happened, unless it was a base, and what was committed.
type Applied<'a, 'c> = (Option<Plan<'a>>, Committed<'c>);

/// Why nothing was applied, and the error to reply.
type Refusal = (Refused, &'static str);

fn run(call: &mut Call<'_>) {
    let applied = parse(call.args())
        .map_err(refusal)
        .and_then(|(position, changes)| apply(call, position, changes));
    match applied {
        Ok((plan, committed)) => {
            pipeline::signal(call, KEY, &committed);
            if let Some(plan) = &plan {
                pipeline::notify(call, KEY, plan, &committed);
            }
            call.reply().ok();
        }
        Err((refused, error)) => {
            info::apply_refused(refused);
            call.reply().error(error);
        }
    }
}

fn refusal(refused: Refused) -> Refusal {
    (refused, errors::APPLY_REFUSED)
}

/// Where the effects belong, and all of them.
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
fn apply<'a, 'c>(
    call: &mut Call<'c>,
    position: Position,
    changes: Changes<'a>,
) -> Result<Applied<'a, 'c>, Refusal> {
    let outbox = call.outbox();
    let mut key = call.open(KEY);
    let (plan, committed) = match key.slot() {
        Slot::Sale(sale) => {
            let plan = sale.check(position.version, changes).map_err(refusal)?;
            let committed = match stream_of(sale, outbox, &plan, position)? {
                None => {
                    let committed = commit(sale, &plan);
                    drop(key);
                    committed
                }
                Some((stream, first)) => {
                    drop(key);
                    commit_with(call, &plan, stream, first)?
                }
            };
            (plan, committed)
        }
        Slot::Foreign => return Err((Refused::Place, errors::WRONG_TYPE)),
        Slot::Missing => {
            drop(key);
            return begin(call, position, changes);
        }
    };
    call.replicate_verbatim();
    Ok((Some(plan), committed))
}

/// Where the entries of a plan go, and the id of the first. The sale and the command must agree
/// whether there are any.
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

/// Commits a plan whose entries go to `stream`. The sale is closed: opening the stream may run
/// foreign code.
fn commit_with<'c>(
    call: &mut Call<'c>,
    plan: &Plan<'_>,
    stream: Stream<'c>,
    first: StreamId,
) -> Result<Committed<'c>, Refusal> {
    let outbox = call.outbox();
    let open =
        stream.open_to_follow(|| pipeline::same_sale(&mut call.open(KEY), Some(plan)).is_some());
    let mut key = call.open(KEY);
    let Some(sale) = pipeline::same_sale(&mut key, Some(plan)) else {
        // Nothing is known of the stream either.
        open.into_iter().for_each(OpenStream::abandon);
        return Err(refusal(Refused::Gap));
    };
    let entries = append(outbox, open, sale, plan, first);
    Ok(Committed { entries, ..commit(sale, plan) })
}

/// Appends the entries as the primary did, as far as the stream takes them: it is the sale that
/// must not be lost.
fn append<'c>(
    outbox: Outbox<'c>,
    mut stream: Option<OpenStream<'c>>,
    sale: &Sale,
    plan: &Plan<'_>,
    first: StreamId,
) -> Option<Appended<'c>> {
    info::outbox_refused(match &mut stream {
        Some(stream) => stream.follow(outbox, KEY, sale, plan, first),
        None => plan.events.len() as u64,
    });
    stream.and_then(OpenStream::close)
}

fn commit<'c>(sale: &mut Sale, plan: &Plan<'_>) -> Committed<'c> {
    let before = Load::of(sale);
    sale.commit(plan);
    counts::changed(before, Load::of(sale));
    // A replica has no sweeper, so what rounds leave is given back here, step by step.
    sale.shed();
    Committed { look_at: sale.next_look(), ..Committed::default() }
}

/// Makes the sale that begins with the changes. It begins with an INIT or with the base of a
/// rewritten log, which follow nothing.
fn begin<'a, 'c>(
    call: &mut Call<'c>,
    position: Position,
    changes: Changes<'a>,
) -> Result<Applied<'a, 'c>, Refusal> {
    let (mut sale, plan) = create(position, changes).map_err(|refused| match refused {
        Refused::Place => (refused, errors::NO_SALE),
        _ => refusal(refused),
    })?;
    let outbox = call.outbox();
    let mut committed = Committed { look_at: sale.next_look(), ..Committed::default() };
    if let Some(plan) = &plan {
        if let Some((stream, first)) = stream_of(&sale, outbox, plan, position)? {
            let mut is_free = || matches!(call.open(KEY).slot(), Slot::Missing);
            let open = stream.open_to_follow(&mut is_free);
            if !is_free() {
                open.into_iter().for_each(OpenStream::abandon);
                return Err(refusal(Refused::Place));
            }
            committed.entries = append(outbox, open, &sale, plan, first);
        }
    }
    // The server notifies of the new key, in which foreign code may change the sale or have it go
    // elsewhere, and its deadline with it.
    call.replicate_verbatim();
    call.watch(KEY, committed.look_at.take());
    call.open(KEY).fill(sale);
    Ok((plan, committed))
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
