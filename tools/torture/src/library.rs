//! A client library of clients/ instead of a raw connection. The library makes the buyers' calls
//! through its driver (clients/cases.md). It retries by itself over new connections and reports how
//! many attempts had no reply.

use std::process::Stdio;
use std::sync::atomic::Ordering;

use redis::Value as Word;
use seckill_harness::driver::Driver;
use seckill_harness::process::command;
use serde_json::{json, Value};

use crate::ask::{self, WAIT_MS};
use crate::history::{Answer, Answered, State, Try};
use crate::shared::Shared;

/// Fields of answers, in the order of replies.
const FIELDS: &str = "seq qty state deadline_ms available allowance held opens_in_ms ticket ahead \
    units_ahead unit";

/// A library, or a wrong version of it.
#[derive(Clone)]
pub struct Flavour {
    /// The command line of its driver, below clients/.
    run: [&'static str; 2],
    /// The client that it needs: environment variable and package.
    needs: [&'static str; 2],
    name: String,
}

impl Flavour {
    /// The Python library with redis-py, or a wrong version of it.
    pub fn python(name: &str) -> Flavour {
        let (run, needs) = (["python3", "python/test/driver.py"], ["-c", "import redis"]);
        Flavour { run, needs, name: name.to_owned() }
    }

    /// The Node library with ioredis.
    pub fn node() -> Flavour {
        let (run, needs) = (["node", "node/test/driver.js"], ["-e", "require('ioredis')"]);
        Flavour { run, needs, name: "ioredis".to_owned() }
    }

    pub fn is_here(&self) -> bool {
        let mut asked = command(self.run[0].as_ref());
        asked.args(self.needs).stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    }
}

pub struct Library(Driver);

struct Heard {
    /// Attempts that had no reply.
    lost: u64,
    /// `None`: the outcome is unknown.
    answer: Option<Answer>,
    /// Whether a replica has the change; `None` without a change.
    durable: Option<bool>,
}

impl Library {
    /// Starts the driver with a client for this port. The driver ends with this thread.
    pub fn start(flavour: &Flavour, port: u16) -> Result<Library, String> {
        let told = json!({
            "port": port, "flavour": flavour.name, "resp": 2, "text": false, "prefix": "",
            "on": "single",
        });
        Driver::start(&flavour.run, &told).map(Library)
    }

    /// Makes the call of a command. Returns its tries and whether its answer counts, or `None` if
    /// the library does not support the command.
    pub fn call(&mut self, shared: &Shared, line: &str) -> Option<(Vec<Try>, bool)> {
        let order = order(line)?;
        let (since, invoked) = (shared.reign(), shared.moment());
        let said = self.0.ask(&order.to_string());
        let (returned, reign) = (shared.moment(), shared.reign());
        let heard = said.and_then(|said| Heard::read(&said));
        let heard = heard.unwrap_or_else(|what| Heard {
            lost: 0,
            answer: Some(Answer::Strange(what)),
            durable: Some(true),
        });
        shared.calls.fetch_add(1 + heard.lost, Ordering::Relaxed);
        shared.answers.fetch_add(u64::from(heard.answer.is_some()), Ordering::Relaxed);
        let counts = heard.answer.is_some() && heard.durable != Some(false);
        let call = Try { since, by_library: true, ..Try::new(invoked, reign) };
        let kept = heard.durable == Some(true);
        let answered = heard.answer.map(|answer| Answered { returned, answer, kept });
        // An attempt without a reply may have changed something, or may still do so.
        let mut tries: Vec<Try> = (0..heard.lost.min(1)).map(|_| call.clone()).collect();
        tries.push(Try { answered, ..call });
        Some((tries, counts))
    }
}

fn order(line: &str) -> Option<Value> {
    let mut words = line.strip_prefix("SECKILL.")?.split(' ').peekable();
    let call = words.next()?.to_lowercase();
    let named = ["grab", "confirm", "cancel", "extend", "refund", "place"];
    if !named.contains(&call.as_str()) {
        return None;
    }
    let mut order = json!({
        "call": call, "key": words.next()?, "user": words.next()?,
        "durable": {"mark": "torture:count", "replicas": 1, "timeout_ms": WAIT_MS},
    });
    if call == "extend" {
        order["ms"] = number(words.next()?)?;
    }
    while let Some(word) = words.next() {
        // An option with several values: their number, or the values.
        let name = word.to_lowercase();
        match word {
            "KEEP" | "UNITS" => {
                words.next_if_eq(&"UNITS");
                let mut units = Vec::new();
                while let Some(unit) = words.next_if(|word| word.parse::<u64>().is_ok()) {
                    units.push(number(unit)?);
                }
                let are_named = line.contains(" UNITS ");
                order[name] = if are_named { units.into() } else { units.pop()? };
            }
            "QTY" | "UPTO" => order[name] = number(words.next()?)?,
            "REQ" => order["req"] = words.next()?.into(),
            "UNTIL" => order["until_ms"] = number(words.next()?)?,
            "WAIT" => order["call"] = "wait".into(),
            "ADJACENT" | "RECLAIM" => order[name] = true.into(),
            _ => return None,
        }
    }
    Some(order)
}

fn number(word: &str) -> Option<Value> {
    word.parse::<u64>().ok().map(Value::from)
}

impl Heard {
    /// An error is the text that is no valid answer.
    fn read(said: &Value) -> Result<Heard, String> {
        let lost = said.get("lost").and_then(Value::as_u64).unwrap_or(0);
        let answer = match said.get("error").and_then(Value::as_str) {
            Some("Unanswered") => None,
            Some(_) => return Err(said.to_string()),
            None => Some(answer(said).ok_or_else(|| said.to_string())?),
        };
        Ok(Heard { lost, answer, durable: said.get("durable").and_then(Value::as_bool) })
    }
}

/// The answer, read as the reply that it was made of.
fn answer(said: &Value) -> Option<Answer> {
    let text = |name: &str| said.get(name).and_then(Value::as_str);
    let (outcome, state) = (text("outcome"), text("state"));
    let is_live = state.and_then(|state| State::read(state.as_bytes())).is_some_and(State::is_live);
    if outcome.is_some() && said.get("won").and_then(Value::as_bool) != Some(is_live) {
        return None;
    }
    // PLACE without an entry has no ticket.
    let place = if said.get("ticket").is_some_and(Value::is_u64) { "WAITING" } else { "NONE" };
    let bulk = |text: &str| Word::BulkString(text.as_bytes().to_vec());
    let mut words = vec![bulk(outcome.unwrap_or(place))];
    // The first word of some replies is the state.
    for name in FIELDS.split(' ').filter(|name| *name != "state" || state != outcome) {
        match said.get(name) {
            Some(Value::String(word)) => words.push(bulk(word)),
            Some(Value::Number(number)) => words.push(Word::Int(number.as_i64()?)),
            _ => {}
        }
    }
    if let Some(units) = said.get("units").and_then(Value::as_array) {
        let units = units.iter().map(|unit| unit.as_i64().map(Word::Int));
        words.push(Word::Array(units.collect::<Option<_>>()?));
    }
    ask::read(&Word::Array(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_becomes_an_order() {
        let told = |line: &str| {
            let mut order = order(line)?;
            let durable = order.as_object_mut()?.remove("durable")?;
            assert_eq!(durable["replicas"], 1);
            Some(order)
        };
        let grab = |more: Value| {
            let mut all = json!({"call": "grab", "key": "k", "user": "u", "req": "r"});
            all.as_object_mut()?.extend(more.as_object()?.clone());
            Some(all)
        };
        let cases = [
            ("GRAB k u REQ r", json!({})),
            ("GRAB k u QTY 2 REQ r", json!({"qty": 2})),
            ("GRAB k u UNITS 3 4 REQ r ADJACENT", json!({"units": [3, 4], "adjacent": true})),
            ("GRAB k u REQ r WAIT UNTIL 9", json!({"call": "wait", "until_ms": 9})),
            ("CONFIRM k u REQ r KEEP UNITS 3 4", json!({"call": "confirm", "keep": [3, 4]})),
            ("CANCEL k u REQ r KEEP 2", json!({"call": "cancel", "keep": 2})),
        ];
        for (line, more) in cases {
            assert_eq!(told(&format!("SECKILL.{line}")), grab(more), "{line}");
        }
        assert_eq!(told("SECKILL.MGRAB u 2 a b REQ r"), None);
        assert_eq!(told("SECKILL.GRAB k u REQ r NEW"), None);
    }
}
