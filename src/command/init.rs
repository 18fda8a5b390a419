//! `SECKILL.INIT key supply [option ...]`: creates a sale. Its options are those of [`terms`].

use super::args::{Args, Parsed};
use super::change::{self, Source};
use super::options;
use super::pipeline::KEY;
use super::terms::Options;
use super::vocabulary::{self, Spec};
use super::{errors, pipeline, terms};
use crate::server::call::Call;
use crate::server::ffi::random;
use crate::server::value::key::NoSale;
use seckill_domain::decide::decide_new;
use seckill_domain::outcome::Misuse;
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
        Misuse::WindowEmpty.text(),
        Misuse::DrawListTooLong.text(),
        Misuse::DrawSupplyTooSmall.text(),
        Misuse::DrawRangeEmpty.text(),
        Misuse::DrawSumDiffers.text(),
        Misuse::DrawListRepeats.text(),
        Misuse::DrawTakesNoLimit.text(),
        Misuse::LastsOutOfRange.text(),
        Misuse::ModNoResidue.text(),
        Misuse::ModResidueTooLarge.text(),
        Misuse::ModTooManyResidues.text(),
        errors::MIN_NEEDS_PACKETS,
        errors::UNIFORM_NEEDS_TWO,
        errors::RESERVED,
        errors::SALT_NEEDS_SAMPLE,
        errors::NEEDS_EVERY,
        errors::NEEDS_WAITLIST,
        errors::PART_INCOMPLETE,
        Misuse::PartOutOfRange.text(),
        Misuse::ShareAboveTotal.text(),
        Misuse::PartTakesNoDraw.text(),
        Misuse::OfferNeedsTime.text(),
        Misuse::WaitlistTakesNoDraw.text(),
        Misuse::NumberedTakesNoDraw.text(),
        Misuse::TooManyUnits.text(),
        errors::WRONG_TYPE,
        Misuse::SaleExists.text(),
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
        true if draw.is_some() => return Err(Misuse::NumberedTakesNoDraw.text().into()),
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
    let (plan, sale) = decided.map_err(Misuse::text)?;
    if sale.terms().outbox.as_deref().is_some_and(|name| call.args().get(KEY) == Some(&name)) {
        return Err(errors::OUTBOX_REFUSED);
    }
    change::begin(call, sale, Some(&plan), true, Source::Caller)?;
    Ok(())
}
