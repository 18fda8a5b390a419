//! `SECKILL.INIT key supply [option ...]`: creates a sale. Its options are those of [`terms`].

use super::args::{Args, Parsed};
use super::change::{self, Source};
use super::options;
use super::pipeline::KEY;
use super::terms::Options;
use super::vocabulary::{self, Spec};
use super::{errors, misuse, pipeline, terms};
use crate::server::call::Call;
use crate::server::ffi::random;
use crate::server::value::key::NoSale;
use seckill_domain::decide::decide_new;
use seckill_domain::request::{Init, Request, Terms, UnitKind};

pub const SPEC: Spec = Spec {
    name: "SECKILL.INIT",
    arity: -3,
    flags: "write deny-oom",
    keys: options::CREATES,
    summary: "Creates a sale; the same call again changes nothing",
    args: terms::INIT_ARGS,
    reply:
        "`OK`: the sale is there, created now or by an INIT with the same arguments. Don't give \
        its key a time to live: EXPIRE deletes a sale with all its grants and open holds, and no \
        entry of the outbox tells of it. CLOSEAT ends a sale.",
    errors: &[
        errors::WINDOW_EMPTY,
        errors::DRAW_LIST_TOO_LONG,
        errors::DRAW_SUPPLY_TOO_SMALL,
        errors::DRAW_RANGE_EMPTY,
        errors::DRAW_SUM_DIFFERS,
        errors::DRAW_LIST_REPEATS,
        errors::DRAW_TAKES_NO_LIMIT,
        errors::LASTS_OUT_OF_RANGE,
        errors::MOD_NO_RESIDUE,
        errors::MOD_RESIDUE_TOO_LARGE,
        errors::MOD_TOO_MANY_RESIDUES,
        errors::MIN_NEEDS_PACKETS,
        errors::UNIFORM_NEEDS_TWO,
        errors::SALT_NEEDS_SAMPLE,
        errors::NEEDS_EVERY,
        errors::NEEDS_WAITLIST,
        errors::PART_INCOMPLETE,
        errors::PART_OUT_OF_RANGE,
        errors::SHARE_ABOVE_TOTAL,
        errors::PART_TAKES_NO_DRAW,
        errors::OFFER_NEEDS_TIME,
        errors::WAITLIST_TAKES_NO_DRAW,
        errors::NUMBERED_TAKES_NO_DRAW,
        errors::TOO_MANY_UNITS,
        errors::WRONG_TYPE,
        errors::SALE_EXISTS,
        errors::NO_RANDOMNESS,
    ],
    example: "SECKILL.INIT drop 100 LIMIT 2",
    ..vocabulary::operator(run)
};

fn run(call: &mut Call<'_>) {
    let init = match parse(call.args()) {
        Ok(init) => init,
        Err(error) => return error.reply(call.reply()),
    };
    if call.open(KEY).sale().err() != Some(NoSale::Missing) {
        return pipeline::run(call, Ok(Request::Init(init)));
    }
    match create(call, &init) {
        Ok(()) => call.reply().ok(),
        Err(error) => call.reply().error(error),
    }
}

fn parse(args: &[&[u8]]) -> Parsed<Init> {
    let mut args = Args::after_key(args);
    let supply = args.number(&terms::SUPPLY)?;
    let options = Options::of_init(&mut args)?;
    let Options { change, draw, amounts, schedule, split, numbered, .. } = options;
    let kind = match numbered {
        true if draw.is_some() => return Err(errors::NUMBERED_TAKES_NO_DRAW.into()),
        true => UnitKind::Numbered,
        false => draw.into(),
    };
    // Red packets default to one for each user, whatever its amount.
    let usual = match draw {
        None => Terms { kind, ..Terms::default() },
        Some(_) => Terms { limit: 0, grabs: 1, kind, ..Terms::default() },
    };
    let split = split.map(Box::new);
    let terms = Terms { schedule, split, ..usual.altered(&change) };
    // Draws are keyed by the secret, so a sale can't be created without one.
    let id = random::id().ok_or(errors::NO_RANDOMNESS)?;
    let secret = random::secret().ok_or(errors::NO_RANDOMNESS)?;
    Ok(Init { supply, terms, amounts, id, secret })
}

/// Creates the sale at a missing key.
fn create(call: &mut Call<'_>, init: &Init) -> Result<(), &'static str> {
    let decided = decide_new(init, &call.now(), random::hash_key());
    let (plan, sale) = decided.map_err(misuse::text)?;
    if sale.terms().outbox.as_deref().is_some_and(|name| call.args().get(KEY) == Some(&name)) {
        return Err(errors::OUTBOX_REFUSED);
    }
    change::begin(call, sale, Some(&plan), true, Source::Caller)?;
    Ok(())
}
