//! The waiting list: memory of an entry, and the time to join, leave, ask for the place and get an
//! offer, in a short and a long list.

use seckill_crowd::screen::thousands;

use super::Bench;
use crate::contenders::{MODULE, REQ, SALE, USER};
use crate::control::Control;
use crate::figures::{BYTES, US};
use crate::load::{numbered, random, send, Request, PIPELINED};
use crate::rows::{beside, Rows, DIRECT};

const MEMORY: &str = "memory of an entry of a waiting list";

/// A second short list, called by turns with the others: it shows how much two equal lists differ.
const TWIN: &str = "another of the same length";

const DEEDS: [&str; 4] = ["PLACE", "leaving", "joining", "an offer"];

fn case(deed: &str, waiting: u64) -> String {
    format!("{deed}, {waiting} waiting")
}

/// Entries of the short list.
const FEW: u64 = 1_000;

const WAITING: &str = "*4\r\n$7\r\nWAITING";
/// Bytes of the user id and request id of an entry.
const IDS: usize = USER.len() + REQ.len();

pub fn run(bench: &mut Bench) -> Result<(), String> {
    let [_, many, _] = bench.plan.sizes;
    for round in 0..bench.plan.few_rounds {
        bench.step("a waiting list, short and long", round);
        deeds(bench, many, round == 0)?;
    }
    Ok(())
}

/// A sale whose only unit is taken, with this many waiters.
pub(super) fn filled(bench: &Bench, waiting: u64) -> Result<Control, String> {
    let mut control = bench.server(&[])?;
    let max = (2 * waiting).to_string();
    let list = ["HOLD", "90000000", "WAITLIST", &max];
    control.tell(&[&["SECKILL.INIT", SALE, "1", "LIMIT", "0"], &list[..]].concat())?;
    control.tell(&["SECKILL.GRAB", SALE, "holder", "REQ", "first"])?;
    let join = Request::new(&["SECKILL.GRAB", SALE, USER, "REQ", REQ, "WAIT"], WAITING);
    send(control.port(), &join, 0..waiting, PIPELINED)?;
    Ok(control)
}

/// Two short lists and a long one, called by turns, each on its own server. The lists' lengths stay
/// constant: for each user who leaves, another one joins.
fn deeds(bench: &mut Bench, many: u64, is_first: bool) -> Result<(), String> {
    let mut empty = filled(bench, 0)?;
    let before: f64 = empty.ask(&["MEMORY", "USAGE", SALE])?;
    drop(empty);
    let mut lists = [
        (MODULE, List::new(filled(bench, FEW)?, FEW)),
        (MODULE, List::new(filled(bench, many)?, many)),
        (TWIN, List::new(filled(bench, FEW)?, FEW)),
    ];
    if is_first {
        let after: f64 = lists[1].1.control.ask(&["MEMORY", "USAGE", SALE])?;
        let entry = (after - before) / many as f64 - IDS as f64;
        bench.figures.add(MEMORY, MODULE, BYTES, entry);
    }
    // 30% of the calls run longer than the p99.9 needs.
    let calls = bench.plan.calls as usize * 3 / 10;
    type Deed = fn(&mut List, u64) -> Result<(), String>;
    let [place, leaving, joining, offer] = DEEDS;
    type Phase<'a> = (Deed, &'a [(&'a str, &'a str)]);
    let phases: [Phase<'_>; 3] = [
        (List::place, &[(place, "SECKILL.PLACE")]),
        (List::leave, &[(leaving, "SECKILL.CANCEL"), (joining, "SECKILL.GRAB")]),
        (List::offer, &[(offer, "SECKILL.CANCEL")]),
    ];
    for (seed, (ask, measured)) in (0..).zip(phases) {
        lists.iter_mut().try_for_each(|(_, list)| list.control.tell(&["CONFIG", "RESETSTAT"]))?;
        for number in random(seed, u64::from(u32::MAX)).take(calls) {
            lists.iter_mut().try_for_each(|(_, list)| ask(list, number))?;
        }
        for (who, list) in &mut lists {
            for (deed, command) in measured {
                let case = case(deed, list.waiting);
                bench.figures.add(&case, who, US, list.control.p999_us(command)?);
            }
        }
    }
    Ok(())
}

struct List {
    control: Control,
    waiting: u64,
    users: Vec<u64>,
    /// The last number that was used for an id.
    last: u64,
    /// The user who holds the unit, and the request id.
    holder: (String, String),
}

impl List {
    fn new(control: Control, waiting: u64) -> List {
        let holder = ("holder".to_owned(), "first".to_owned());
        List { control, waiting, users: (0..waiting).collect(), last: waiting, holder }
    }

    fn place(&mut self, number: u64) -> Result<(), String> {
        let user = self.users[(number % self.users.len() as u64) as usize];
        self.control.tell(&["SECKILL.PLACE", SALE, &numbered(USER, user)])
    }

    /// One waiter leaves, and another user joins.
    fn leave(&mut self, number: u64) -> Result<(), String> {
        let place = (number % self.users.len() as u64) as usize;
        let user = self.users.swap_remove(place);
        let ids = [numbered(USER, user), numbered(REQ, user)];
        self.control.tell(&["SECKILL.CANCEL", SALE, &ids[0], "REQ", &ids[1]])?;
        self.users.push(self.last);
        self.join()
    }

    /// The holder cancels, and the first waiter gets an offer.
    fn offer(&mut self, _: u64) -> Result<(), String> {
        type Page = (u64, Vec<(u64, String, u64, String, u64, u64)>);
        let (_, rows): Page = self.control.ask(&["SECKILL.WAITERS", SALE, "0", "COUNT", "1"])?;
        let (_, user, _, req, ..) = rows.into_iter().next().ok_or("nobody waits any more")?;
        let (holder, its) = std::mem::replace(&mut self.holder, (user, req));
        self.control.tell(&["SECKILL.CANCEL", SALE, &holder, "REQ", &its])?;
        self.join()
    }

    fn join(&mut self) -> Result<(), String> {
        let ids = [numbered(USER, self.last), numbered(REQ, self.last)];
        self.last += 1;
        self.control.tell(&["SECKILL.GRAB", SALE, &ids[0], "REQ", &ids[1], "WAIT"])
    }
}

pub fn rows(rows: &mut Rows<'_>) {
    let [_, many, _] = rows.plan.sizes;
    let setting = format!("{DIRECT}, {} waiting", thousands(many));
    let what = (MEMORY, "bytes, without its ids");
    rows.value(what, &setting, 60.0, (MEMORY, BYTES, 1.0), "");
    for deed in DEEDS {
        let [short, all] = [FEW, many].map(|waiting| case(deed, waiting));
        let what = format!("{deed}, {} waiting", thousands(many));
        let few = thousands(FEW);
        let figure = format!("p99.9 of server time, divided by that with {few}; us; control");
        let took = rows.beside((&all, MODULE), US);
        let control = beside(rows.figures.ratio(US, (&short, TWIN), (&short, MODULE)));
        let both = (US, (&*all, MODULE), (&*short, MODULE));
        rows.ratio((&what, &figure), DIRECT, 2.0, both).note = took + &control;
    }
}
