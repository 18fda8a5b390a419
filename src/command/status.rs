//! `SECKILL.STATUS key [JSON]`: a sale at a glance.

use serde_json::{Map, Value};

use super::args::{Args, Parsed};
use super::vocabulary::{self, Arg, Spec};
use super::{errors, pipeline};
use crate::server::call::Call;
use crate::server::reply::Reply;
use seckill_domain::status::Status;

pub const SPEC: Spec = Spec {
    name: "SECKILL.STATUS",
    arity: -2,
    flags: "readonly fast",
    acl: "read fast",
    summary: "Shows a sale at a glance",
    tips: &["nondeterministic_output"],
    args: &[vocabulary::KEY, Arg::pure("json", "JSON").optional().about("as one JSON object")],
    reply: "A map (a flat array in RESP2), or with JSON a string that holds an object with the \
        same fields: `state` (`pending`, `open`, `allheld`, `soldout`, `paused` or `closed`), \
        `supply`, `available`, `held`, `sold`, `deficit`, `winners`, `grants`, {terms of a sale}, \
        `now`, `next_deadline`, `created_at`, `last_grant_at`, \
        `id`, `epoch`, `version`, `rev`, `outbox`, `outbox_error`, `fences_dropped`, where \
        DRAW counts packets `packets` (left to draw), with EVERY `round`, `round_ends_at` and \
        `next_round_at` (0: the series is over), of a part of a split {terms of a part}, `put_in`, \
        `sent`, `received`, `elsewhere` and `unmet_units`, with WAITLIST {terms of a list}, \
        `waiting` and `waiting_units` (entries and their units), `waiting_since` (when the first \
        one joined) and `offered` (offers that stand), with NUMBERED {terms of units}, \
        and the map `counters`.",
    errors: &[errors::NO_SALE, errors::WRONG_TYPE, errors::NOT_SHOWN],
    example: "SECKILL.STATUS tickets JSON",
    ..vocabulary::reader(run)
};

fn run(call: &mut Call<'_>) {
    let (now, json) = (call.now(), parse(call.args()));
    pipeline::show(call, json, |sale, json, reply| write(&sale.status(&now), json, reply));
}

/// Whether JSON was given.
fn parse(args: &[&[u8]]) -> Parsed<bool> {
    let mut args = Args::after_key(args);
    let json = args.accept("JSON");
    args.end()?;
    Ok(json)
}

/// Both forms are made from one value, so they can't differ.
fn write(status: &Status, json: bool, reply: Reply<'_>) {
    match serde_json::to_value(status) {
        Ok(value) if json => reply.bulk(value.to_string()),
        Ok(Value::Object(fields)) => map(&fields, status.outbox.as_deref(), reply),
        _ => reply.error(errors::NOT_SHOWN),
    }
}

/// Replies `fields` as a map. The outbox's name is replied as bytes, because it need not be text.
fn map(fields: &Map<String, Value>, outbox: Option<&[u8]>, reply: Reply<'_>) {
    reply.map(fields.len());
    for (name, value) in fields {
        reply.bulk(name);
        match (name.as_str(), value) {
            ("outbox", _) => outbox.map_or_else(|| reply.null(), |bytes| reply.bulk(bytes)),
            (_, Value::Object(fields)) => map(fields, None, reply),
            (_, Value::String(text)) => reply.bulk(text),
            (_, value) => reply.int(value.as_i64().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::table::replies;
    use seckill_domain::draw::Draw;
    use seckill_domain::parts::Split;
    use seckill_domain::request::{Terms, UnitKind};
    use seckill_domain::rounds::Schedule;
    use seckill_domain::waitlist::WaitTerms;
    use seckill_model::sales::{at, created};

    #[test]
    fn the_docs_name_every_field() {
        let schedule = Schedule { period_ms: 9, offset_ms: 0, lasts_ms: 9, carry: false };
        let draw = Draw::Packets { packets: 1, min: 1 };
        let (schedule, draw) = (Some(schedule), Some(draw));
        let terms = Terms { limit: 0, schedule, kind: draw.into(), ..Terms::default() };
        let split = Split::new(0, 2, b"s", 1).ok().map(Box::new);
        let waitlist = Some(WaitTerms { max: 1, offer_ms: 1, overtake: 1 });
        let with_list = Terms { waitlist, ..Terms::default() };
        let numbered = Terms { kind: UnitKind::Numbered, ..Terms::default() };
        let reply = replies(&SPEC).join(" ");
        for terms in [terms, Terms { split, ..Terms::default() }, with_list, numbered] {
            let status = created(1, terms).status(&at(2));
            let fields = serde_json::to_value(status).unwrap();
            let fields = fields.as_object().unwrap();
            assert!(fields.len() > 25, "they are found: {fields:?}");
            for name in fields.keys() {
                assert!(reply.contains(&format!("`{name}`")), "{name}");
            }
        }
    }
}
