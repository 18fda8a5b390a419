//! The waiting list: memory of an entry, and the time to join, leave, ask for the place and get an
//! offer, in a short and a long list. Also how long other clients wait while very many units come
//! back.

use std::time::Instant;

use seckill_crowd::screen::thousands;

use super::growth::NOOP;
use super::Bench;
use crate::contenders::{MODULE, REQ, SALE, USER};
use crate::control::Control;
use crate::figures::{p999, BYTES, HUNDREDTH_NS, MIDDLE_NS, MS, NS, PERCENTILES, ROUND_TRIP_US};
use crate::load::{numbered, random, send, Request, PIPELINED};
use crate::pings::{Pings, IDLE};
use crate::rows::{beside, Bar, Row, Rows, DIRECT};

const MEMORY: &str = "memory of an entry of a waiting list";
const RETURN: &str = "PING while units come back";

/// A second short list, called by turns with the others: it shows how much two equal lists differ.
const TWIN: &str = "another of the same length";

/// The operations on a list.
const DEEDS: [&str; 4] = [PLACE, "leaving", "joining", "an offer"];
const PLACE: &str = "PLACE";

/// Calls of one turn are repeated this often for each list.
const TURNS: usize = 5;

/// The name of the case for an operation with this many waiters.
fn case(deed: &str, waiting: u64) -> String {
    format!("{deed}, {waiting} waiting")
}

/// Entries of the short list.
const FEW: u64 = 1_000;

/// Number of waiters while this many units come back.
const CROWD: u64 = 100_000;
const RETURNED: u64 = 10_000;
/// Rounds whose PINGs are put together, so that p99.9 is exact enough.
const RETURNS: usize = 5;

const WAITING: &str = "*4\r\n$7\r\nWAITING";
/// Bytes of the user id and request id of an entry.
const IDS: usize = USER.len() + REQ.len();

pub fn run(bench: &mut Bench) -> Result<(), String> {
    let [_, many, _] = bench.plan.sizes;
    for round in 0..bench.plan.few_rounds {
        bench.step("a waiting list, short and long", round);
        deeds(bench, many, round == 0)?;
    }
    for round in 0..bench.plan.few_rounds {
        bench.step(RETURN, round);
        returns(bench)?;
    }
    Ok(())
}

/// A sale whose only unit is taken, with this many waiters.
pub(super) fn filled(bench: &Bench, waiting: u64) -> Result<Control, String> {
    let mut control = bench.server_with_noop(&[], &[])?;
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
    for turn in 0..TURNS {
        in_nanoseconds(bench, &mut lists, turn)?;
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
            if !list.round_trips.is_empty() {
                let took = p999(&mut std::mem::take(&mut list.round_trips));
                bench.figures.add(&case(place, list.waiting), who, ROUND_TRIP_US, took);
            }
            for (deed, command) in measured {
                let case = case(deed, list.waiting);
                bench.figures.add(&case, who, US, list.control.p999_us(command)?);
            }
        }
    }
    Ok(())
}

/// Times PLACE by the clock of a module that calls it. In the short list also times a no-op
/// command, which is the cost of a call itself.
fn in_nanoseconds(
    bench: &mut Bench,
    lists: &mut [(&str, List)],
    turn: usize,
) -> Result<(), String> {
    // All three lists get equal users. Each turn has other users.
    let calls = (bench.plan.calls + turn as u64).to_string();
    for (number, (who, list)) in lists.iter_mut().enumerate() {
        let users = list.waiting.to_string();
        let mut time = |who: &str, command: &str| -> Result<(), String> {
            let words = ["NOOP.TIME", SALE, command, &users, &calls];
            let (middle, hundredth, thousandth) = list.control.ask(&words)?;
            let case = case(PLACE, list.waiting);
            for (unit, took) in [(MIDDLE_NS, middle), (HUNDREDTH_NS, hundredth), (NS, thousandth)] {
                bench.figures.add(&case, who, unit, took);
            }
            Ok(())
        };
        time(who, "SECKILL.PLACE")?;
        if number == 0 {
            time(NOOP, "NOOP.PLACE")?;
        }
    }
    Ok(())
}

/// A list with its waiters.
struct List {
    control: Control,
    waiting: u64,
    users: Vec<u64>,
    /// Microseconds of each PLACE, measured by its client.
    round_trips: Vec<f64>,
    /// The last number that was used for an id.
    last: u64,
    /// The user who holds the unit, and the request id.
    holder: (String, String),
}

impl List {
    fn new(control: Control, waiting: u64) -> List {
        let holder = ("holder".to_owned(), "first".to_owned());
        let (users, round_trips) = ((0..waiting).collect(), Vec::new());
        List { control, waiting, users, round_trips, last: waiting, holder }
    }

    fn place(&mut self, number: u64) -> Result<(), String> {
        let user = self.users[(number % self.users.len() as u64) as usize];
        let user = numbered(USER, user);
        let start = Instant::now();
        self.control.tell(&["SECKILL.PLACE", SALE, &user])?;
        self.round_trips.push(start.elapsed().as_secs_f64() * 1e6);
        Ok(())
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

    /// A new user joins.
    fn join(&mut self) -> Result<(), String> {
        let ids = [numbered(USER, self.last), numbered(REQ, self.last)];
        self.last += 1;
        self.control.tell(&["SECKILL.GRAB", SALE, &ids[0], "REQ", &ids[1], "WAIT"])
    }
}

/// Again and again very many units come back at once to very many waiters, while one client pings.
fn returns(bench: &mut Bench) -> Result<(), String> {
    let (mut idle, mut busy) = (Pings::default(), Pings::default());
    for _ in 0..RETURNS {
        let mut control = filled(bench, CROWD)?;
        let port = control.port();
        idle.extend(Pings::alone(port)?);
        busy.extend(Pings::beside(port, || come_back(&mut control))?);
    }
    for (who, mut took) in [(IDLE, idle), (MODULE, busy)] {
        bench.figures.add(RETURN, who, MS, took.p999_ms());
    }
    Ok(())
}

/// One RESTOCK, of which all units are offered.
fn come_back(control: &mut Control) -> Result<(), String> {
    control.tell(&["SECKILL.RESTOCK", SALE, &RETURNED.to_string(), "REQ", "all"])?;
    control.wait_for_status(SALE, "offered", RETURNED)
}

pub fn rows(rows: &mut Rows<'_>) {
    let [_, many, _] = rows.plan.sizes;
    let setting = format!("{DIRECT}, {} waiting", thousands(many));
    let what = (MEMORY, "bytes, without its ids");
    rows.value(what, &setting, 60.0, (MEMORY, BYTES, 1.0), "");
    for deed in DEEDS {
        of_length(rows, (deed, "p99.9 of server time"), DIRECT, (US, "us"), 2.0);
    }
    place_rows(rows);
    let place = |who| (RETURN, who);
    let found = rows.figures.difference(MS, place(MODULE), place(IDLE));
    let idle = rows.beside(place(IDLE), MS);
    let what = ("100,000 wait, 10,000 units come back", "p99.9 of a PING, ms above idle; idle");
    let bar = Some(Bar::AtMost(10.0));
    rows.add(what, "no AOF, no replica, a PING a ms", bar, found).note = idle;
}

/// PLACE, timed by a module that calls it and by a client: both are finer than the server's
/// statistics.
fn place_rows(rows: &mut Rows<'_>) {
    let short = case(PLACE, FEW);
    let setting = format!("{DIRECT}, called {} times by a module", thousands(rows.plan.calls));
    for (percentile, unit, bar) in
        [("p99.9", NS, Some(2.0)), ("p99", HUNDREDTH_NS, None), ("p50", MIDDLE_NS, None)]
    {
        let what = (PLACE, &*format!("{percentile} by a module's clock"));
        let noop = rows.beside((&short, NOOP), unit);
        let row = of_length(rows, what, &setting, (unit, "ns"), bar);
        row.figure.push_str("; a no-op command's ns");
        row.note.push_str(&noop);
    }
    let what = (PLACE, "p99.9 of a round trip");
    of_length(rows, what, &format!("{DIRECT}, P1, c1"), (ROUND_TRIP_US, "us"), None);
}

/// The time in a long list divided by the time in a short one, with both times.
fn of_length<'r>(
    rows: &'r mut Rows<'_>,
    (deed, figure): (&str, &str),
    setting: &str,
    (unit, name): (&str, &str),
    bar: Option<f64>,
) -> &'r mut Row {
    let [_, many, _] = rows.plan.sizes;
    let [short, all] = [FEW, many].map(|waiting| case(deed, waiting));
    let what = format!("{deed}, {} waiting", thousands(many));
    let figure = format!("{figure}, divided by that with {}; {name}; control", thousands(FEW));
    let took = rows.beside((&all, MODULE), unit);
    let control = beside(rows.figures.ratio(unit, (&short, TWIN), (&short, MODULE)));
    let both = (unit, (&*all, MODULE), (&*short, MODULE));
    let row = rows.ratio((&what, &figure), setting, bar, both);
    row.note = took + &control;
    row
}
