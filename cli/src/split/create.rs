//! `seckill split create`: the parts, with their shares.

use clap::Args;
use redis::Value;
use seckill_balance::share;

use super::nodes::Nodes;
use super::parts::{advice, key, one, seckill};

/// What is made.
#[derive(Args)]
pub struct Options {
    /// The name; part 3 is the key NAME:{p3}
    pub name: String,
    /// Units of all parts together
    #[arg(long, value_name = "N")]
    supply: u64,
    /// How many parts, 1 to 1,024; chosen once
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u16).range(1..=1024))]
    parts: u16,
    /// The split's id, new for each split; default: the name
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Each part has an outbox at this name and its own tag, OUTBOX:{p3}
    #[arg(long, value_name = "NAME")]
    outbox: Option<String>,
    /// The terms, as SECKILL.INIT has them: LIMIT 2 HOLD 900000
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    terms: Vec<String>,
}

/// Part 0 is made last: where it is, all are, or have been. INIT of a part that is there with the
/// same terms changes nothing, so what was begun goes on.
///
/// # Errors
/// A sentence that says what to do.
pub fn run(mut nodes: Nodes, options: &Options) -> Result<(), String> {
    let parts = usize::from(options.parts);
    if options.supply < 1_000 * parts as u64 {
        eprintln!(
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
        let words = init(options, part, parts);
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let reply = one(nodes.call(&key, part, &[seckill("INIT", &words)])?);
        if reply != Value::Okay {
            return Err(advice(&key, &reply));
        }
    }
    println!("{} parts of {}: {} units", parts, options.name, options.supply);
    Ok(())
}

fn init(options: &Options, part: usize, parts: usize) -> Vec<String> {
    let id = options.id.as_ref().unwrap_or(&options.name);
    let mut words = vec![key(&options.name, part), share(options.supply, parts, part).to_string()];
    words.extend(["PART".into(), part.to_string(), "OF".into(), parts.to_string()]);
    words.extend(["SPLIT".into(), id.clone(), "TOTAL".into(), options.supply.to_string()]);
    if let Some(outbox) = &options.outbox {
        words.extend(["OUTBOX".into(), key(outbox, part)]);
    }
    words.extend(options.terms.iter().cloned());
    words
}
