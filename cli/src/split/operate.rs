//! Operator commands that go to all parts.

use crate::print::say;
use clap::Args;
use redis::{cmd, Value};
use seckill_balance::{share, totals, Reading};

use super::nodes::Call;
use super::parts::{advice, number, one, pairs, seckill, Split};

/// The name of the split.
#[derive(Args)]
pub struct Name {
    pub name: String,
}

/// The split, and the arguments of the module's command.
#[derive(Args)]
pub struct Words {
    pub name: String,
    /// The options, as in SECKILL.ALTER
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

#[derive(Args)]
pub struct Restock {
    pub name: String,
    /// How many units
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    units: u64,
    /// Names this restock: again with the same name it changes nothing
    #[arg(long, value_name = "ID")]
    req: String,
}

#[derive(Args)]
pub struct Destroy {
    pub name: String,
    /// The split's id, as a proof that this one is meant
    #[arg(long, value_name = "ID")]
    id: String,
}

/// Sends one command to all parts; a part that has executed it already changes nothing. A part that
/// refuses or does not answer does not keep the others from it: a PAUSE may be urgent.
///
/// # Errors
/// The error of the first part that refuses.
pub fn all(mut split: Split, name: &str, words: &[String]) -> Result<(), String> {
    let mut refused = Vec::new();
    for part in 0..split.parts {
        let key = split.key(part);
        let mut all = vec![key.as_bytes()];
        all.extend(words.iter().map(|word| word.as_bytes()));
        match split.call(part, &[seckill(name, &all)]).map(one) {
            Ok(Value::Okay) => {}
            Ok(reply) => refused.push(advice(&key, &reply)),
            Err(why) => refused.push(why),
        }
    }
    let done = split.parts - refused.len();
    if let Some(why) = refused.first() {
        return Err(format!("{why} ({done} of {} parts: OK)", split.parts));
    }
    say!("{done} parts: OK");
    Ok(())
}

/// Sends ADD or REMOVE with users, each user to their home part.
///
/// # Errors
/// The error of the first part that refuses.
pub fn users(mut split: Split, name: &str, words: &[String]) -> Result<(), String> {
    let [verb, users @ ..] = words else { return Err("give ADD or REMOVE, and users".into()) };
    let users: Vec<&[u8]> = users.iter().map(|user| user.as_bytes()).collect();
    let mut homes: Vec<Vec<&[u8]>> = vec![Vec::new(); split.parts];
    for (user, home) in users.iter().zip(split.homes(&users)?) {
        homes[home].push(user);
    }
    let mut changed = 0;
    for (part, users) in homes.iter().enumerate().filter(|(_, users)| !users.is_empty()) {
        let key = split.key(part);
        let words = [&[key.as_bytes(), verb.as_bytes()], users.as_slice()].concat();
        let reply = one(split.call(part, &[seckill(name, &words)])?);
        changed += number(&reply).ok_or_else(|| advice(&key, &reply))?;
    }
    say!("{changed} changed");
    Ok(())
}

/// Adds units. All parts are told by ELSEWHERE that units may come before the first part gets any.
///
/// # Errors
/// The error of the first part that refuses; the call sent again goes on from that part.
pub fn restock(mut split: Split, options: &Restock) -> Result<(), String> {
    let views = split.read_all()?;
    let mut pass = 1 + views.iter().map(|view| view.reading.pass).max().unwrap_or_default();
    for (part, view) in views.iter().enumerate() {
        let units = view.reading.elsewhere + options.units;
        // A later pass number is needed if a balancer has sent ELSEWHERE 0 meanwhile.
        while tell(&mut split, part, units, pass)? == 0 {
            pass += 1;
        }
    }
    for part in 0..split.parts {
        let key = split.key(part);
        let units = share(options.units, split.parts, part);
        if units > 0 {
            let (units, req) = (units.to_string(), &options.req);
            let words = [key.as_bytes(), units.as_bytes(), b"REQ", req.as_bytes()];
            let reply = one(split.call(part, &[seckill("RESTOCK", &words)])?);
            let Value::Array(_) = reply else { return Err(advice(&key, &reply)) };
        }
    }
    say!("{} units", options.units);
    Ok(())
}

/// Sends ELSEWHERE; returns the number of units that the part has noted.
fn tell(split: &mut Split, part: usize, units: u64, pass: u64) -> Result<u64, String> {
    let Call { key, cmds, .. } = split.message(part, "ELSEWHERE", &[units, pass]);
    let reply = one(split.call(part, &cmds)?);
    let Value::Array(stands) = &reply else { return Err(advice(&key, &reply)) };
    Ok(stands.first().and_then(number).unwrap_or_default() as u64)
}

/// Checks each part by its AUDIT, and the sums over all parts.
///
/// # Errors
/// An error message if one is broken.
pub fn audit(mut split: Split) -> Result<(), String> {
    let mut wrong = Vec::new();
    for part in 0..split.parts {
        let key = split.key(part);
        let reply = one(split.call(part, &[seckill("AUDIT", &[key.as_bytes()])])?);
        let fields = pairs(&reply);
        match fields.iter().find(|(name, _)| name == "ok") {
            Some((_, Value::Int(1))) => {}
            _ => wrong.push(format!("{key}: AUDIT says {reply:?}")),
        }
    }
    let views = split.read_all()?;
    let readings: Vec<Reading> = views.iter().map(|view| view.reading.clone()).collect();
    let totals = totals(&readings);
    for one in split.made_twice(&readings)? {
        let (from, to, total) = (one.from, one.to, one.total);
        wrong.push(format!(
            "part {to} received {total} units from part {from}, which sent {} fewer",
            one.units
        ));
    }
    if totals.oversold() > 0 {
        wrong.push(format!("{} units are promised that nothing covers", totals.oversold()));
    }
    match wrong.is_empty() {
        true => {
            say!("OK: {} units put in, {} under way", totals.put_in, totals.under_way);
            Ok(())
        }
        false => Err(wrong.join("\n")),
    }
}

/// Deletes all parts, part 0 last. While part 0 exists the call can be repeated. While a part is
/// missing, nothing is balanced and no part is created again.
///
/// # Errors
/// When another id is given, or a node does not answer.
pub fn destroy(mut split: Split, options: &Destroy) -> Result<(), String> {
    if split.id != options.id.as_bytes() {
        let id = String::from_utf8_lossy(&split.id);
        return Err(format!("the id of {} is {id}: nothing was removed", split.name));
    }
    for part in (0..split.parts).rev() {
        let mut unlink = cmd("UNLINK");
        unlink.arg(split.key(part));
        let reply = one(split.call(part, &[unlink])?);
        number(&reply).ok_or_else(|| advice(&split.key(part), &reply))?;
    }
    say!("{} parts removed", split.parts);
    Ok(())
}
