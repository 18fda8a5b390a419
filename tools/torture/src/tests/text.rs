//! Histories as text: an entry of the outbox or a call a line.
//!
//! ```text
//! 1002 GRANT 1/2/0 2 HELD qty=2
//! > GRAB 2 lost=18: GRANTED 2 2 HELD 1102 1
//! ```
//!
//! An entry has its time and event, the available, held and sold units, then its grant's seq and
//! state, and fields. A grant's fields stay until they are changed.
//!
//! A call has its command, the number of its user and REQ (or the REQ alone), and its reply as the
//! server sends it; `-` for none. Each call is answered before the next one is sent, unless
//! `invoked` and `returned` say otherwise. `lost` is the time of an earlier try without a reply.

use redis::Value;

use super::{EPOCH, HOLD_MS, LIMITS};
use crate::ask::read;
use crate::check::{check, Verdict};
use crate::draws::Stock;
use crate::history::{
    Answer, Answered, Deed, Entry, Evidence, Keeper, Limits, Op, Promise, Reign, Row, State, Terms,
    Try, Waiter,
};

/// The terms of a sale, its setting's promise, and what happens.
#[derive(Clone)]
pub struct History {
    pub terms: Terms,
    pub promise: Promise,
    pub text: String,
}

impl History {
    pub fn of(terms: Terms, text: &str) -> History {
        History { terms, promise: Promise::Everything, text: text.to_owned() }
    }

    /// Replaces a part, which must be there once. An empty part is the end.
    #[track_caller]
    pub fn with(&self, part: &str, new: &str) -> History {
        let text = if part.is_empty() {
            format!("{}\n{new}", self.text)
        } else {
            assert_eq!(self.text.matches(part).count(), 1, "{part}");
            self.text.replace(part, new)
        };
        History { text, ..self.clone() }
    }

    /// Checks that this is found.
    #[track_caller]
    pub fn finds(&self, what: &str) -> Verdict {
        assert_finds(&self.evidence(), what)
    }

    #[track_caller]
    pub fn is_right(&self) -> Verdict {
        let verdict = check(&self.evidence());
        assert_eq!(verdict.violations, Vec::<String>::new());
        verdict
    }

    pub fn evidence(&self) -> Evidence {
        let mut sale = Evidence {
            terms: self.terms.clone(),
            promise: self.promise,
            ops: Vec::new(),
            reigns: vec![Reign { began: 0, epoch_from: EPOCH }],
            entries: Vec::new(),
            rows: Vec::new(),
            stock: Stock::default(),
            deficit: 0,
            id: "sale".to_owned(),
            rev: 0,
            waiting: Vec::new(),
        };
        for line in self.text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[0] {
                ">" => sale.ops.push(op(&sale, line)),
                "reign" => {
                    let (began, epoch_from) = (number(words[1]), number(words[2]));
                    sale.reigns.push(Reign { began, epoch_from });
                }
                _ => {
                    let entry = entry(&mut sale, line);
                    sale.stock = entry.stock;
                    sale.entries.push(entry);
                }
            }
        }
        sale
    }
}

/// Checks that this is found.
#[track_caller]
pub fn assert_finds(evidence: &Evidence, what: &str) -> Verdict {
    let verdict = check(evidence);
    let is_found = verdict.violations.iter().any(|violation| violation.contains(what));
    assert!(is_found, "{what}: {:#?}", verdict.violations);
    verdict
}

/// The value of `name=value` in a line.
fn text<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("{word} is no number"))
}

fn numbers(list: &str) -> Vec<u64> {
    list.split([',', '/']).map(number).collect()
}

fn entry(sale: &mut Evidence, line: &str) -> Entry {
    let words: Vec<&str> = line.split(' ').collect();
    let field = |name| text(line, name).map(number);
    let [available, held, sold] = numbers(words[2])[..] else { panic!("no numbers: {line}") };
    let supply = field("supply").unwrap_or(available + held + sold);
    let epoch = sale.reigns.last().map_or(EPOCH, |reign| reign.epoch_from);
    sale.rev += 1;
    let mut entry = Entry {
        event: words[1].to_owned(),
        id: text(line, "id").unwrap_or("sale").to_owned(),
        epoch: field("epoch").unwrap_or(epoch),
        rev: sale.rev,
        t: number(words[0]),
        stock: Stock { supply, available, held, sold },
        grant: None,
        returned: field("returned").unwrap_or(0),
        restock: None,
        limits: field("limit").map(|limit| Limits { limit, ..LIMITS }),
        round: None,
        wait: field("ticket").map(|ticket| Waiter {
            ticket,
            user: text(line, "user").map_or(format!("u{}", ticket + 1), str::to_owned),
            req: text(line, "req").map_or(format!("o{}", ticket + 1), str::to_owned),
            qty: field("qty").unwrap_or(1),
            until: 0,
            reason: text(line, "reason").unwrap_or_default().to_owned(),
        }),
    };
    match (words[1], words.get(3).map(|word| word.parse())) {
        ("INIT", _) => entry.limits = Some(sale.terms.limits),
        ("ROUND", _) => entry.round = field("round"),
        ("RESTOCK", _) => entry.restock = Some((words[3].into(), words[4].parse().unwrap())),
        (_, Some(Ok(seq))) => entry.grant = Some(grant(sale, &entry, line, seq)),
        _ => {}
    }
    entry
}

fn grant(sale: &mut Evidence, entry: &Entry, line: &str, seq: u64) -> Row {
    let state = line.split(' ').nth(4).and_then(|word| State::read(word.as_bytes()));
    let state = state.unwrap_or_else(|| panic!("no state: {line}"));
    if sale.rows.len() < seq as usize {
        sale.rows.push(Row {
            seq,
            user: format!("u{seq}"),
            qty: 1,
            state,
            at: entry.t,
            deadline: entry.t + HOLD_MS,
            req: format!("o{seq}"),
            born: entry.epoch,
            round: sale.entries.iter().rev().find_map(|entry| entry.round).unwrap_or(0),
            units: Vec::new(),
        });
    }
    let row = &mut sale.rows[seq as usize - 1];
    row.state = state;
    row.deadline = if state == State::Held { row.deadline } else { 0 };
    for (name, value) in line.split(' ').filter_map(|word| word.split_once('=')) {
        match name {
            "user" => row.user = value.to_owned(),
            "req" => row.req = value.to_owned(),
            "qty" => row.qty = number(value),
            "deadline" => row.deadline = number(value),
            "round" => row.round = number(value),
            "units" => row.units = numbers(value),
            _ => {}
        }
    }
    row.clone()
}

fn op(sale: &Evidence, line: &str) -> Op {
    let (call, reply) = line.split_once(": ").unwrap_or_else(|| panic!("no reply: {line}"));
    let words: Vec<&str> = call.split(' ').collect();
    let field = |name| text(call, name).map(number);
    let invoked = field("invoked").unwrap_or(10 * (sale.ops.len() as u64 + 1));
    let returned = field("returned").unwrap_or(invoked + 5);
    let kept = !words.contains(&"unkept");
    let answered = (reply != "-").then(|| Answered { returned, answer: answer(reply), kept });
    let reign = sale.reigns.len() as u64 - 1;
    let by_library = words.contains(&"library");
    let last = Try { answered, by_library, ..Try::new(invoked, reign) };
    let lost = field("lost").map(|invoked| Try::new(invoked, reign));
    let (user, req) = match words[2].parse::<u64>() {
        Ok(who) => (format!("u{who}"), format!("o{who}")),
        Err(_) => (String::new(), words[2].replace('_', " ")),
    };
    Op {
        thread: 0,
        deed: deed(&words),
        user: text(call, "user").map_or(user, str::to_owned),
        req: text(call, "req").map_or(req, str::to_owned),
        tries: lost.into_iter().chain([last]).collect(),
    }
}

fn deed(words: &[&str]) -> Deed {
    use Deed::{
        Alter, Cancel, Confirm, Grab, Import, Mgrab, Pause, Place, Refund, Restock, Resume,
    };
    let all = [Grab, Mgrab, Confirm, Cancel, Refund, Import, Place, Restock, Alter, Pause, Resume];
    let deed = all.into_iter().find(|deed| format!("{deed:?}").to_uppercase() == words[1]);
    let kept = words.iter().position(|word| *word == "KEEP").map(|at| number(words[at + 1]));
    match (deed, kept) {
        (Some(deed), None) => deed,
        (Some(Confirm), Some(units)) => Deed::Keep(Keeper::Confirm, units),
        (Some(Cancel), Some(units)) => Deed::Keep(Keeper::Cancel, units),
        (Some(Refund), Some(units)) => Deed::Keep(Keeper::Refund, units),
        _ => panic!("no call: {words:?}"),
    }
}

fn answer(reply: &str) -> Answer {
    let word = |word: &str| match (word.parse(), word.strip_prefix("units=")) {
        (Ok(number), _) => Value::Int(number),
        (_, Some(list)) => {
            Value::Array(numbers(list).into_iter().map(|unit| Value::Int(unit as i64)).collect())
        }
        _ => Value::BulkString(word.as_bytes().to_vec()),
    };
    match reply {
        "OK" => Answer::Done,
        "ELSEWHERE" => Answer::Elsewhere,
        _ => read(&Value::Array(reply.split(' ').map(word).collect()))
            .unwrap_or_else(|| Answer::Strange(reply.to_owned())),
    }
}
