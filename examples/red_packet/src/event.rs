//! The hourly event: one sale with rounds, and a crowd for each round.
//!
//! In every round some users come too early, then all come at once, half of them click twice, and
//! some come after the end. Only the sale decides who is in time; no client uses a clock.

use std::thread;
use std::time::{Duration, Instant};

use redis::Connection;

use crate::check::{self, Past};
use crate::round::{Event, Played, Round, ROUNDS};
use crate::{report, watch};
use seckill_crowd::plan::{Click, Plan};
use seckill_crowd::sale;
use seckill_crowd::screen::progress_bar;
use seckill_crowd::wire::{user_name, write_command};
use seckill_crowd::{self, Rush};

/// In the last round one of this many users comes, so that coins are left.
const LAST_ROUND_SHARE: u32 = 3;
/// The break after a round in ms: for late users, and to read the round before the next one.
pub const BREAK_MS: u32 = 700;
/// Time before the opening when the first users click.
const EARLY: Duration = Duration::from_millis(250);
/// Possible error in the reading of the server's clock. So the crowd starts a little after the
/// opening, and late users a little after the end.
const CLOCKS: Duration = Duration::from_millis(5);
/// Milliseconds from INIT to the first opening.
const PREPARATION_MS: u64 = 600;
/// The order number of late users; no plan uses it.
const LATE_ORDER: u8 = 2;

impl Event<'_> {
    /// Runs all rounds; prints and checks each of them.
    ///
    /// # Errors
    /// The first thing that is wrong, as a message.
    pub fn run(&self, control: &mut Connection) -> Result<Vec<Played>, String> {
        let opening = self.init(control)?;
        let mut past = Past::default();
        let mut played = Vec::new();
        for number in 1..=ROUNDS {
            let round = self.play(control, number, opening)?;
            report::answers(self, &round);
            let grants = check::check(&round, &self.terms(), &past)?;
            let this = Played { number, users: round.users, grants };
            report::paid(self, &round, &this);
            past.add(&round, &this, self.budget);
            played.push(this);
        }
        Ok(played)
    }

    /// Creates the sale. Returns when its first round opens.
    fn init(&self, control: &mut Connection) -> Result<Opening, String> {
        let (now, read_at) = (clock(control)?, Instant::now());
        let server_ms = now + PREPARATION_MS;
        let every_ms = u64::from(self.every_ms);
        // Rounds are counted from OFFSET on. One period before the first opening makes it round 1.
        let offset = server_ms.saturating_sub(every_ms);
        let words = format!(
            "SECKILL.INIT {} {} LIMIT 0 GRABS 1 EVERY {every_ms} OFFSET {offset} LASTS {}",
            self.key, self.budget, self.lasts_ms
        );
        println!("{words}\n");
        let mut init = redis::Cmd::new();
        init.arg(words.split(' ').collect::<Vec<_>>());
        let opened: Result<String, _> = init.query(control);
        opened.map_err(|e| format!("The sale can't be opened: {e}"))?;
        Ok(Opening { server_ms, here: read_at + Duration::from_millis(PREPARATION_MS) })
    }

    fn play(
        &self,
        control: &mut Connection,
        number: u64,
        opening: Opening,
    ) -> Result<Round, String> {
        let users = match number {
            ROUNDS => self.users.div_ceil(LAST_ROUND_SHARE),
            _ => self.users,
        };
        let since_first = Duration::from_millis((number - 1) * u64::from(self.every_ms));
        let opens = opening.here + since_first;
        let ends = opens + Duration::from_millis(self.lasts_ms.into());
        let some = users.min(self.clients);

        let early = Plan::once(0..some, 0);
        let mut answers = self.send(number, early, opens - EARLY, None)?.answers;
        let early = answers.len();
        let plan = Plan::new(self.clients as usize, users);
        let planned = plan.clicks;
        let watched = watch::during(self.client, self.key, self.budget, || {
            self.send(number, plan, opens + CLOCKS, Some(ends))
        })?;
        let unsent = planned - watched.outcome.answers.len() as u64;
        answers.extend(watched.outcome.answers);
        let late = Plan::once(users - some..users, LATE_ORDER);
        answers.extend(self.send(number, late, ends + CLOCKS, None)?.answers);
        Ok(Round {
            number,
            opened_at: opening.server_ms + since_first.as_millis() as u64,
            users,
            answers,
            early,
            unsent,
            looks: watched.looks,
            rows: sale::rows(control, self.key, Some(number))?,
            status: sale::status(control, self.key)?,
            totals: totals(control, self.key)?,
            audit: sale::audit(control, self.key)?,
        })
    }

    fn send(
        &self,
        round: u64,
        plan: Plan,
        from: Instant,
        until: Option<Instant>,
    ) -> Result<seckill_crowd::Experience, String> {
        // Connects shortly before, so that connections are not idle for the whole break.
        thread::sleep(from.saturating_duration_since(Instant::now() + EARLY));
        // In the next round other users come first.
        let first = (round - 1) * u64::from(self.users / 2);
        let users = u64::from(self.users);
        let plan = plan.by(|user| ((u64::from(user) + first) % users) as u32);
        let bar = progress_bar(plan.clicks, "clicks  {per_sec}");
        let rush = Rush {
            server: self.client.get_connection_info(),
            write: &|out, click| self.write(out, round, click),
            from,
            until,
        };
        let experience = seckill_crowd::rush(&rush, plan, &bar);
        bar.finish_and_clear();
        experience
    }

    /// A request id belongs to one round.
    fn write(&self, out: &mut Vec<u8>, round: u64, click: Click) {
        let Click { user, order } = click;
        let amount = self.amounts.asked(round, click).to_string();
        let request = format!("round-{round}-{user}-{order}");
        let user = user_name(user);
        write_command(out, &["SECKILL.GRAB", self.key, &user, "UPTO", &amount, "REQ", &request]);
    }
}

/// The first opening by the server's clock and by this program's clock.
#[derive(Clone, Copy)]
struct Opening {
    server_ms: u64,
    here: Instant,
}

/// The server's clock in Unix ms.
fn clock(control: &mut Connection) -> Result<u64, String> {
    let (seconds, micros): (u64, u64) =
        redis::cmd("TIME").query(control).map_err(|e| format!("TIME failed: {e}"))?;
    Ok(seconds * 1000 + micros / 1000)
}

fn totals(control: &mut Connection, key: &str) -> Result<Vec<[u64; 4]>, String> {
    let rounds = redis::cmd("SECKILL.ROUNDS").arg(key).query(control);
    rounds.map_err(|e| format!("ROUNDS failed: {e}"))
}
