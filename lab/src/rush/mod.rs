//! The rush measures how large an effect is: thousands of requests by many workers, with a count of
//! the answers.

pub mod cell;
pub mod count;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::buyer::Buyer;
use crate::contender::Contender;
use crate::gate::Gate;
use crate::interleave::stage::verdict;
use crate::servers::Servers;
use crate::told::{Rush, Stop, Verdict};
use cell::{Cell, Crowd, Run, RUNS_MIN};
use count::{count, Call};

/// The numbers of requests and repeats, and the time limit.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub requests: usize,
    pub repeats: usize,
    /// Every fifth request crashes at some step, and its buyer sends it again.
    pub crashes: bool,
    /// Time limit of a cell. A cell has at least [`RUNS_MIN`] repeats, if that many are planned.
    pub at_most: Duration,
}

/// Workers with their connections, which are reused for each rush.
pub struct Pool {
    workers: Vec<Buyer>,
    helper: Buyer,
    desk: Buyer,
}

impl Pool {
    /// Starts the workers; the first `with_sql` of them have a database connection.
    ///
    /// # Errors
    /// A message if the servers do not take the connections.
    pub fn new(servers: &Servers, workers: usize, with_sql: usize) -> Result<Pool, String> {
        let worker = |number| servers.buyer(Gate::Open, number < with_sql);
        let sql = with_sql > 0;
        Ok(Pool {
            workers: (0..workers).map(worker).collect::<Result<_, _>>()?,
            helper: servers.buyer(Gate::Open, sql)?,
            desk: servers.buyer(Gate::Open, sql)?,
        })
    }

    /// All repeats of one contender with this many workers.
    ///
    /// # Errors
    /// A message if the lab itself fails.
    pub fn cell(
        &mut self,
        servers: &Servers,
        contender: &Contender,
        (workers, crowd): (usize, Crowd),
        plan: Plan,
    ) -> Result<Cell, String> {
        let begin = Instant::now();
        let mut runs = Vec::new();
        let mut times = latencies()?;
        let enough = plan.repeats.min(RUNS_MIN);
        while runs.len() < plan.repeats && (runs.len() < enough || begin.elapsed() < plan.at_most) {
            let run = self.once(servers, contender, (workers, crowd), plan, &mut times, runs.len());
            runs.push(run.map_err(|stop| format!("{}: {stop:?}", contender.id))?);
        }
        Ok(Cell::of(contender, workers, crowd, &runs, &times))
    }

    fn once(
        &mut self,
        servers: &Servers,
        contender: &Contender,
        (workers, crowd): (usize, Crowd),
        plan: Plan,
        times: &mut Histogram<u64>,
        repeat: usize,
    ) -> Result<Run, Stop> {
        redis::cmd("FLUSHALL").exec(&mut self.desk.redis)?;
        servers.house.closed.store(false, Ordering::SeqCst);
        (self.desk.rush, self.helper.rush) = (contender.rush, contender.rush);
        (contender.set_up)(&mut self.desk, contender.rush.supply)?;
        let before = servers.cpu_us();
        let (next, barrier) = (AtomicUsize::new(0), Barrier::new(workers + 1));
        let job = Job { contender, crowd, plan, repeat, next: &next, barrier: &barrier };
        let (desk, helper) = (&mut self.desk, &mut self.helper);
        let buyers = &mut self.workers[..workers];
        let (began, calls, round_trips, paid, restocked) = thread::scope(|scope| {
            let at_work: Vec<_> = (buyers.iter_mut().enumerate())
                .map(|(who, buyer)| scope.spawn(move || job.work(who, buyer)))
                .collect();
            barrier.wait();
            let began = Instant::now();
            let helps = contender.helper.map(|help| {
                helper.comes("helper".into(), "helper".into(), repeat as u64);
                scope.spawn(move || (verdict(help(helper)), Instant::now()))
            });
            let (mut all, mut round_trips, mut paid) = (Vec::new(), 0, 0);
            let mut failed = None;
            for worker in at_work {
                match worker.join() {
                    Ok(Ok((calls, trips, coins))) => {
                        all.extend(calls);
                        (round_trips, paid) = (round_trips + trips, paid + coins);
                    }
                    Ok(Err(stop)) => failed = Some(stop),
                    Err(_) => failed = Some(Stop::Trouble("a worker of the lab panicked".into())),
                }
            }
            desk.house.closed.store(true, Ordering::SeqCst);
            let mut restocked = None;
            if let Some(Ok((told, at))) = helps.map(thread::ScopedJoinHandle::join) {
                if let Verdict::Restocked(units) = told? {
                    restocked = Some((units, at));
                }
            }
            failed.map_or(Ok((began, all, round_trips, paid, restocked)), Err)
        })?;
        let cpu_us = servers.cpu_us().saturating_sub(before);
        let books = (contender.books)(desk)?;
        let products = if contender.two_products { 2 } else { 1 };
        let mut run = count(began, &calls, contender.rush.supply * products, restocked, books);
        for call in &calls {
            times.saturating_record(call.took().as_micros() as u64);
        }
        if run.told < run.supply && !contender.waits_for_helper && !contender.two_products {
            desk.comes("alone".into(), "alone".into(), 1 << 40);
            let told = verdict((contender.buy)(desk))?;
            desk.script_ends()?;
            run.stuck = !matches!(told, Verdict::Won(_) | Verdict::Lost(crate::told::Reason::Shed));
        }
        (run.round_trips, run.cpu_us, run.paid) = (round_trips, cpu_us, paid);
        Ok(run)
    }
}

/// Microseconds up to an hour; a larger value counts as the largest one.
fn latencies() -> Result<Histogram<u64>, String> {
    Histogram::new_with_bounds(1, 3_600_000_000, 3).map_err(|e| e.to_string())
}

#[derive(Clone, Copy)]
struct Job<'a> {
    contender: &'a Contender,
    crowd: Crowd,
    plan: Plan,
    repeat: usize,
    next: &'a AtomicUsize,
    barrier: &'a Barrier,
}

impl Job<'_> {
    /// Handles requests until none is left.
    fn work(self, who: usize, buyer: &mut Buyer) -> Result<(Vec<Call>, u64, u64), Stop> {
        let Contender { buy, rush, two_products, .. } = *self.contender;
        (buyer.who, buyer.rush) = (who, Rush { ..rush });
        let (mut calls, mut round_trips, mut paid) = (Vec::new(), 0, 0);
        self.barrier.wait();
        loop {
            let request = self.next.fetch_add(1, Ordering::Relaxed);
            if request >= self.plan.requests {
                return Ok((calls, round_trips, paid));
            }
            let user = self.crowd.user(request);
            buyer.product = 1 + u64::from(two_products && request % 2 == 1);
            let number = (self.repeat * self.plan.requests + request) as u64;
            buyer.comes(format!("u{user}"), self.crowd.req(request), number);
            let begin = Instant::now();
            let told = match self.plan.crashes && request.is_multiple_of(5) {
                true => self.dies_and_comes_again(buyer, (request / 5 % 6) as u64)?,
                false => verdict(buy(buyer))?,
            };
            let end = Instant::now();
            buyer.script_ends()?;
            (round_trips, paid) = (round_trips + buyer.round_trips, paid + buyer.paid);
            calls.push(Call { user, begin, end, told });
        }
    }

    /// The process crashes before a step, or its answer is lost. The buyer sends the request again;
    /// units of the first try count as the buyer's.
    fn dies_and_comes_again(self, buyer: &mut Buyer, before: u64) -> Result<Verdict, Stop> {
        buyer.dies_before = Some(before);
        let lost = verdict((self.contender.buy)(buyer));
        buyer.dies_before = None;
        if !matches!(lost, Ok(_) | Err(Stop::Died)) {
            return lost;
        }
        buyer.script_ends()?;
        let (user, req, number) = (buyer.user.clone(), buyer.req.clone(), buyer.number);
        buyer.comes(user, req, number);
        buyer.resent = true;
        Ok(match verdict((self.contender.buy)(buyer))? {
            Verdict::Again(units) => Verdict::Won(units),
            told => told,
        })
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_call_of_a_minute_counts_as_a_minute() {
        let mut times = super::latencies().unwrap_or_else(|why| panic!("{why}"));
        times.saturating_record(60_000_000);
        assert!(times.max().abs_diff(60_000_000) < 60_000, "{}", times.max());
    }
}
