//! A sale with and without a waiting list. 10,000 people ask for 1,000 units, and a third of those
//! who get one don't pay. Without a list a unit that comes back goes to anybody who clicks at that
//! time. Both runs are checked: no unit is sold twice, and with the list no payer is passed over.
//!
//! ```text
//! make demo-waitlist
//! cargo run --release -p waiting_list -- --people 20000 --units 3000
//! ```

mod chart;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::builder::RangedI64ValueParser;
use clap::Parser;
use redis::{Connection, Value};
use seckill_client::{Answer, Event, Outcome};
use seckill_harness::program::{exit, module_file, Server};

/// Sells units to people, some of whom don't pay, and draws who has paid in the end.
#[derive(Parser)]
struct Options {
    /// People who ask, one after the other
    #[arg(long, default_value_t = 10_000, value_parser = from_to(1, 100_000))]
    people: u32,
    /// Units for sale
    #[arg(long, default_value_t = 1_000, value_parser = from_to(1, 100_000))]
    units: u32,
    /// Length of an unpaid hold, in ms
    #[arg(long, default_value_t = 300, value_parser = from_to(50, 60_000))]
    hold_ms: u32,
    /// File for the picture
    #[arg(long, value_name = "FILE", default_value = "target/waiting-list.svg")]
    svg: PathBuf,
}

fn from_to(least: i64, most: i64) -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(least..=most)
}

/// Longest time of a sale.
const PATIENCE: Duration = Duration::from_secs(120);

/// One person in this many is a robot that clicks all the time; robots come late.
const ROBOTS: u32 = 20;

/// Other people click once in the time in which a robot clicks this many times.
const CLICKS: u32 = 200;

type Told<T> = Result<T, String>;

fn main() -> ExitCode {
    exit(run(&Options::parse()))
}

fn run(options: &Options) -> Told<()> {
    let server = Server::start(&module_file(None)?, &["--save", ""])?;
    let mut conn = server.connect()?;
    let without = Sale::open(&mut conn, "without", options, false)?.sell(&mut conn)?;
    let with = Sale::open(&mut conn, "with", options, true)?.sell(&mut conn)?;
    check_order(&with, options)?;
    for (name, paid) in [("without a list", &without), ("with a list", &with)] {
        println!("{name}: {}", summary(paid, options));
    }
    chart::write(
        &options.svg,
        options.people,
        &[("Without a list", &without), ("With one", &with)],
    )?;
    println!("{} shows who has one", options.svg.display());
    Ok(())
}

/// A pseudo-random number that decides what a person does.
fn drawn(person: u32, salt: u32) -> u32 {
    let mixed = (u64::from(person) << 32 | u64::from(salt)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as u32
}

/// Whether this person is a robot that clicks all the time. Robots pay, because they resell.
pub fn is_robot(person: u32, people: u32) -> bool {
    person >= people - people / ROBOTS
}

fn pays(person: u32, people: u32) -> bool {
    is_robot(person, people) || !drawn(person, 0).is_multiple_of(3)
}

struct Sale<'o> {
    key: &'static str,
    options: &'o Options,
    has_list: bool,
    /// Users who have paid.
    paid: Vec<bool>,
    /// Users who had a unit and did not pay; they don't ask again.
    gone: Vec<bool>,
}

impl<'o> Sale<'o> {
    fn open(
        conn: &mut Connection,
        key: &'static str,
        options: &'o Options,
        has_list: bool,
    ) -> Told<Sale<'o>> {
        let mut init = redis::cmd("SECKILL.INIT");
        init.arg(key).arg(options.units).arg("HOLD").arg(options.hold_ms);
        if has_list {
            init.arg("WAITLIST").arg(options.people).arg("OUTBOX").arg("events");
        }
        init.query::<()>(conn).map_err(told)?;
        let nobody = vec![false; options.people as usize];
        Ok(Sale { key, options, has_list, paid: nobody.clone(), gone: nobody })
    }

    /// Runs the sale. Returns the users who have paid in the end.
    fn sell(mut self, conn: &mut Connection) -> Told<Vec<bool>> {
        let everybody: Vec<u32> = (0..self.options.people).collect();
        self.ask(conn, &everybody)?;
        let started = Instant::now();
        let mut last = "0".to_owned();
        for look in 1.. {
            if self.sold(conn)? == u64::from(self.options.units) {
                return Ok(self.paid);
            }
            if started.elapsed() > PATIENCE {
                return Err(format!("{}: not sold out in {PATIENCE:?}", self.key));
            }
            if self.has_list {
                self.read_offers(conn, &mut last)?;
            } else {
                let people = self.options.people;
                let clicks = |person: &u32| {
                    is_robot(*person, people) || drawn(*person, look).is_multiple_of(CLICKS)
                };
                let asking: Vec<u32> = (0..people).filter(clicks).collect();
                self.ask(conn, &asking)?;
            }
        }
        Ok(self.paid)
    }

    fn sold(&self, conn: &mut Connection) -> Told<u64> {
        let status: Vec<Value> =
            redis::cmd("SECKILL.STATUS").arg(self.key).query(conn).map_err(told)?;
        let pairs = status.chunks(2).map(|pair| (text(pair.first()), pair.get(1)));
        let sold = pairs.into_iter().find(|(name, _)| name == "sold").and_then(|(_, sold)| sold);
        match sold {
            Some(Value::Int(sold)) => Ok(*sold as u64),
            other => Err(format!("STATUS says {other:?}")),
        }
    }

    /// Sends a GRAB for each user who wants a unit and has none. A user who gets one pays or does
    /// not.
    fn ask(&mut self, conn: &mut Connection, people: &[u32]) -> Told<()> {
        let wants = |person: &&u32| {
            let person = **person as usize;
            !self.paid[person] && !self.gone[person]
        };
        let asking: Vec<u32> = people.iter().filter(wants).copied().collect();
        for some in asking.chunks(1000) {
            let mut pipe = redis::pipe();
            for person in some {
                let grab = pipe.cmd("SECKILL.GRAB").arg(self.key).arg(person);
                grab.arg("REQ").arg("order");
                if self.has_list {
                    grab.arg("WAIT");
                }
            }
            let answers: Vec<Answer> = pipe.query(conn).map_err(told)?;
            let granted = some.iter().zip(answers);
            let granted: Vec<u32> = granted
                .filter(|(_, answer)| answer.outcome == Outcome::Granted)
                .map(|(person, _)| *person)
                .collect();
            self.settle(conn, &granted)?;
        }
        Ok(())
    }

    /// Pays for the users who do pay.
    fn settle(&mut self, conn: &mut Connection, granted: &[u32]) -> Told<()> {
        let mut pipe = redis::pipe();
        let mut paying = Vec::new();
        for person in granted {
            if pays(*person, self.options.people) {
                pipe.cmd("SECKILL.CONFIRM").arg(self.key).arg(person).arg("REQ").arg("order");
                paying.push(*person);
            } else {
                self.gone[*person as usize] = true;
            }
        }
        if paying.is_empty() {
            return Ok(());
        }
        let answers: Vec<Answer> = pipe.query(conn).map_err(told)?;
        for (person, answer) in paying.iter().zip(answers) {
            if answer.outcome != Outcome::Sold {
                return Err(format!("{person} paid in time and has {answer:?}"));
            }
            self.paid[*person as usize] = true;
        }
        Ok(())
    }

    /// Reads the outbox as a shop does: users with an offer pay or do not.
    fn read_offers(&mut self, conn: &mut Connection, last: &mut String) -> Told<()> {
        let mut read = redis::cmd("XRANGE");
        read.arg("events").arg(format!("({last}")).arg("+").arg("COUNT").arg(1000);
        let entries: Vec<(String, Event)> = read.query(conn).map_err(told)?;
        let mut offered = Vec::new();
        for (id, entry) in entries {
            *last = id;
            if entry.event == "OFFER" {
                let user = entry.user.and_then(|user| user.to_string().parse().ok());
                offered.push(user.ok_or("an OFFER to nobody")?);
            }
        }
        self.settle(conn, &offered)
    }
}

/// Checks that with the list exactly the first people who would pay have a unit.
fn check_order(paid: &[bool], options: &Options) -> Told<()> {
    let payers = (0..options.people).filter(|person| pays(*person, options.people));
    let first: Vec<u32> = payers.take(options.units as usize).collect();
    let have: Vec<u32> = (0..options.people).filter(|person| paid[*person as usize]).collect();
    match first == have {
        true => Ok(()),
        false => Err("with the list somebody was passed over".into()),
    }
}

fn summary(paid: &[bool], options: &Options) -> String {
    let robots = (0..options.people).filter(|person| is_robot(*person, options.people));
    let robots = robots.filter(|person| paid[*person as usize]).count();
    let sold = paid.iter().filter(|paid| **paid).count();
    let last = paid.iter().rposition(|paid| *paid).map_or(0, |place| place + 1);
    format!("{sold} units are paid for, {robots} of them by robots; the last one by number {last}")
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::BulkString(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}

fn told(error: redis::RedisError) -> String {
    format!("The server says: {error}")
}
