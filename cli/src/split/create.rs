//! `seckill split create`: the parts, with their shares.

use crate::print::{say, tell};
use clap::Args;
use redis::{cmd, Cmd, Value};
use seckill_balance::share;

use super::nodes::Nodes;
use super::parts::{advice, key, one, seckill};

/// Options: the split to make.
#[derive(Args)]
pub struct Options {
    /// The name; part 3 is the key NAME:{p3}
    pub name: String,
    /// Number of parts, 1 to 1,024; can't be changed later
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u16).range(1..=1024))]
    parts: u16,
    /// The split's id, new for each split; default: the name
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    beginning: Beginning,
}

/// The arguments that every part's INIT has in common.
#[derive(Args)]
pub struct Beginning {
    /// Units of all parts together
    #[arg(long, value_name = "N")]
    pub supply: u64,
    /// Each part has an outbox at this name and its own tag, OUTBOX:{p3}
    #[arg(long, value_name = "NAME")]
    outbox: Option<String>,
    /// The terms, as in SECKILL.INIT: LIMIT 2 HOLD 900000
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    terms: Vec<String>,
}

impl Beginning {
    /// The share of a part.
    pub fn share(&self, parts: usize, part: usize) -> u64 {
        share(self.supply, parts, part)
    }

    /// INIT of one of this many parts, with `units` to begin with.
    pub fn init(&self, name: &str, id: &[u8], (part, parts): (usize, usize), units: u64) -> Cmd {
        let mut init = cmd("SECKILL.INIT");
        init.arg(key(name, part)).arg(units).arg("PART").arg(part).arg("OF").arg(parts);
        init.arg("SPLIT").arg(id).arg("TOTAL").arg(self.supply);
        if let Some(outbox) = &self.outbox {
            init.arg("OUTBOX").arg(key(outbox, part));
        }
        init.arg(&self.terms);
        init
    }
}

/// Creates all parts, part 0 last: if part 0 exists, all parts exist or have existed. INIT of a
/// part that exists with the same terms changes nothing, so an interrupted call can be repeated.
///
/// # Errors
/// An error message that says what to do.
pub fn run(mut nodes: Nodes, options: &Options) -> Result<(), String> {
    let parts = usize::from(options.parts);
    let supply = options.beginning.supply;
    let id = options.id.as_ref().unwrap_or(&options.name).as_bytes();
    if supply < 1_000 * parts as u64 {
        tell!(
            "seckill split create: fewer than 1,000 units a part: at the end they will be hunted \
             for from part to part; see parts.md, when not to split"
        );
    }
    let first = key(&options.name, 0);
    let there = one(nodes.call(&first, 0, &[seckill("PARTS", &[first.as_bytes()])])?);
    let is_complete = matches!(there, Value::Array(_));
    for part in (0..parts).rev() {
        let key = key(&options.name, part);
        if is_complete && part > 0 {
            let reply = one(nodes.call(&key, part, &[seckill("PARTS", &[key.as_bytes()])])?);
            if !matches!(reply, Value::Array(_)) {
                return Err(advice(&key, &reply));
            }
        }
        let units = options.beginning.share(parts, part);
        let init = options.beginning.init(&options.name, id, (part, parts), units);
        let reply = one(nodes.call(&key, part, &[init])?);
        if reply != Value::Okay {
            return Err(advice(&key, &reply));
        }
    }
    say!("{} parts of {}: {} units", parts, options.name, supply);
    Ok(())
}
