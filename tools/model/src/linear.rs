//! Checks whether the replies to concurrent clients are linearizable. It searches for an order of
//! all calls in which the oracle gives every reply. No call may come before a call that was
//! answered before it was sent. This is the search of Wing and Gong; states from which no order was
//! found are remembered.
//!
//! A read must be as current as any other call. A read that shows the state before an already
//! answered change fits into no order.

use std::collections::hash_map::DefaultHasher;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};

use super::compare::expected_counters;
use super::oracle::{Answer, Bytes, Epochs, Op, Oracle, Row};

/// Numbers from here on are times or epochs: all are equal to a search without a clock.
const TIMES_FROM: u64 = 100_000_000_000;

/// Replies of calls that never change the sale or its counters.
const NO_CHANGE: [&str; 2] = ["NOGRANT 0 0 0", "REQMISMATCH"];

/// Fields of STATUS about the waiting list, in the oracle's order.
const LIST: &str = "waitlist offer_ms overtake waiting waiting_units waiting_since offered";

/// Most holds and waiters that one step of background expiry handles.
const STEP: usize = 1000;

/// Most states that a search visits. If many calls overlap there are more orders than can be tried.
/// The order of the server's MONITOR takes one or two states for each call.
const STATES_MAX: usize = 30_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// An order: the indices of the calls.
    Order(Vec<usize>),
    /// No order exists. Has the longest order that was found, and the calls that could come next.
    NoOrder(String),
    /// There are too many orders to try. Has the text of `NoOrder`.
    Undecided(String),
}

/// The call of a client: one that may change the sale, or a read. WINNERS has STATE LIVE.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant)] // A history has 200 of them.
pub enum Call {
    Change(Op),
    Status,
    User(Bytes),
    Place(Bytes),
    Winners { cursor: u64, count: u64 },
}

#[derive(Clone, Debug)]
pub struct Told {
    /// Times of sending and of the reply, all by one clock.
    pub sent: u64,
    pub answered: u64,
    pub call: Call,
    /// The elements joined by spaces, null as `nil`. For STATUS and its counters `name=value`.
    pub reply: String,
    /// Position of the call in the server's MONITOR output, or 0. The search tries this order first
    /// but does not trust it: each order must match times and replies, and other orders are tried,
    /// too.
    pub place: usize,
}

/// Searches for an order in which `sale` can have executed all calls.
pub fn linearization(sale: &Oracle, clock: u64, calls: &[Told]) -> Found {
    let (order, known) = (Vec::new(), HashSet::new());
    let mut search = Search { clock, calls, order, longest: (Vec::new(), sale.clone()), known };
    match search.goes_on(sale) {
        true => Found::Order(search.order),
        false if search.known.len() >= STATES_MAX => Found::Undecided(search.told()),
        false => Found::NoOrder(search.told()),
    }
}

struct Search<'c> {
    clock: u64,
    calls: &'c [Told],
    order: Vec<usize>,
    /// The longest order so far, and the sale after it.
    longest: (Vec<usize>, Oracle),
    /// Sets of placed calls with the sale after them, from which no order was found.
    known: HashSet<(Vec<bool>, u64)>,
}

impl Search<'_> {
    /// Whether an order of the remaining calls exists.
    fn goes_on(&mut self, sale: &Oracle) -> bool {
        if self.order.len() > self.longest.0.len() {
            self.longest = (self.order.clone(), sale.clone());
        }
        if self.order.len() == self.calls.len() {
            return true;
        }
        let taken = taken(&self.order, self.calls.len());
        let next = next(&taken, self.calls);
        if self.known.len() >= STATES_MAX || !self.known.insert((taken, self.state(sale))) {
            return false;
        }
        // A read that fits changes nothing for later calls, so it can come now.
        let fits = |at: &usize| self.reads(sale, *at);
        if let Some(at) = next.iter().copied().find(fits) {
            return self.takes(at, sale);
        }
        let calls = self.calls;
        let changes = |search: &mut Self, at: &usize| {
            let Call::Change(op) = &calls[*at].call else { return false };
            let mut after = sale.clone();
            search.answer(&mut after, op).reply == timeless(&calls[*at].reply)
                && search.takes(*at, &after)
        };
        let (first, others) = next.split_at(1);
        // Background expiry serves waiters some time after a call that lets them be served.
        first.iter().any(|at| changes(self, at))
            || self.sweeps(sale)
            || others.iter().any(|at| changes(self, at))
    }

    fn sweeps(&mut self, sale: &Oracle) -> bool {
        let mut swept = sale.clone();
        self.answer(&mut swept, &Op::Sweep(STEP)).changed && self.goes_on(&swept)
    }

    /// A hash of all state that replies depend on.
    fn state(&self, sale: &Oracle) -> u64 {
        let mut state = DefaultHasher::new();
        let waiters = sale.waiters().iter();
        let waiters = waiters.map(|it| (it.ticket, &it.user, &it.req, it.qty, it.until, it.passed));
        let lists = (&sale.rows, waiters.collect::<Vec<_>>(), &sale.fences);
        (status(sale, self.clock), format!("{lists:?}")).hash(&mut state);
        state.finish()
    }

    fn answer(&self, sale: &mut Oracle, op: &Op) -> Answer {
        let Answer { reply, changed } =
            sale.ask(op, self.clock, Epochs { node: self.clock, sale: None }, None);
        Answer { reply: timeless(&reply), changed }
    }

    fn takes(&mut self, at: usize, after: &Oracle) -> bool {
        self.order.push(at);
        let goes_on = self.goes_on(after);
        if !goes_on {
            self.order.pop();
        }
        goes_on
    }

    /// Whether the reply shows the current state. A refused change is a read, too.
    fn reads(&self, sale: &Oracle, at: usize) -> bool {
        let Told { call, reply, .. } = &self.calls[at];
        let (reply, should) = (timeless(reply), self.shown(sale, call));
        match call {
            Call::Change(_) => reply == should && NO_CHANGE.contains(&reply.as_str()),
            Call::Status => {
                let fields: HashSet<&str> = reply.split(' ').collect();
                should.split(' ').all(|field| fields.contains(field))
            }
            _ => reply == should,
        }
    }

    fn shown(&self, sale: &Oracle, call: &Call) -> String {
        match call {
            Call::Change(op) => self.answer(&mut sale.clone(), op).reply,
            Call::Status => timeless(&status(sale, self.clock)),
            Call::User(user) => timeless(&of_user(sale, user)),
            Call::Place(user) => sale.place(user, self.clock).unwrap_or_else(|| "NONE".into()),
            Call::Winners { cursor, count } => timeless(&winners(sale, *cursor, *count)),
        }
    }

    fn told(&self) -> String {
        let (order, sale) = &self.longest;
        let show = |at: usize| {
            let Told { sent, answered, call, reply, .. } = &self.calls[at];
            format!("{sent} to {answered}: {call:?}: {}", timeless(reply))
        };
        let last = order.iter().rev().take(5).rev().map(|at| show(*at));
        let next = next(&taken(order, self.calls.len()), self.calls).into_iter();
        let next = next.map(|at| {
            format!("{}\n  the oracle: {}", show(at), self.shown(sale, &self.calls[at].call))
        });
        format!(
            "{} of {} calls have an order, the last of them are:\n{}\nNone of these is next:\n{}",
            order.len(),
            self.calls.len(),
            last.collect::<Vec<_>>().join("\n"),
            next.collect::<Vec<_>>().join("\n")
        )
    }
}

fn taken(order: &[usize], calls: usize) -> Vec<bool> {
    let mut taken = vec![false; calls];
    order.iter().for_each(|at| taken[*at] = true);
    taken
}

/// Calls that may come next, MONITOR's next call first. Each was sent before the first reply to a
/// remaining call.
fn next(taken: &[bool], calls: &[Told]) -> Vec<usize> {
    let left = || (0..calls.len()).filter(|at| !taken[*at]);
    let first_answer = left().map(|at| calls[at].answered).min().unwrap_or(u64::MAX);
    let mut next: Vec<usize> = left().filter(|at| calls[*at].sent <= first_answer).collect();
    next.sort_by_key(|at| calls[*at].place);
    next
}

/// The words of a reply with `T` for each time.
fn timeless(reply: &str) -> String {
    let is_time = |number: &str| number.parse().is_ok_and(|number: u64| number >= TIMES_FROM);
    let timeless = |word: &str| match word.split_once('=') {
        Some((name, value)) if is_time(value) => format!("{name}=T"),
        None if is_time(word) => "T".into(),
        _ => word.to_owned(),
    };
    reply.split(' ').map(timeless).collect::<Vec<_>>().join(" ")
}

fn status(sale: &Oracle, clock: u64) -> String {
    let numbers = sale.numbers(clock).into_iter().chain(expected_counters(sale));
    let list = sale.list_numbers().map(|numbers| LIST.split(' ').zip(numbers));
    let numbers = numbers.chain(list.into_iter().flatten());
    let fields = numbers.map(|(name, value)| format!(" {name}={value}"));
    format!("state={}{}", sale.state(clock), fields.collect::<String>())
}

fn of_user(sale: &Oracle, user: &[u8]) -> String {
    let allowance = sale.allowance(user).map_or("-1".into(), |units| units.to_string());
    let rows = sale.rows_of(user).map(shown).collect::<String>();
    format!("{allowance} {}{rows}", sale.admission(user))
}

fn winners(sale: &Oracle, cursor: u64, count: u64) -> String {
    let last = sale.rows.len() as u64;
    let next = if cursor + count < last { cursor + count } else { 0 };
    let page = sale.rows.iter().skip(cursor as usize).take(count as usize);
    format!("{next}{}", page.filter(|row| row.is_live()).map(shown).collect::<String>())
}

/// A grant row, with a space before it.
fn shown(row: &Row) -> String {
    let Row { seq, user, qty, state, at, deadline, req, epoch, round, .. } = row;
    let req = req.as_ref().map_or("nil".into(), |req| req.escape_ascii().to_string());
    let user = user.escape_ascii();
    format!(" {seq} {user} {qty} {state} {at} {deadline} {req} {epoch} {round}")
}

#[cfg(test)]
mod tests {
    use super::super::oracle::{Ask, Deed, ListRules, Pick, Rules};
    use super::*;

    const CLOCK: u64 = 1_800_000_000_000;

    fn sale() -> Oracle {
        let list = Some(ListRules { max: 9, offer_ms: 0, overtake: 0 });
        Oracle::init(1, Rules { limit: 1, hold_ms: 1000, list, ..Rules::default() }, CLOCK, 1)
            .unwrap()
    }

    fn told(sent: u64, answered: u64, call: Call, reply: &str) -> Told {
        Told { sent, answered, call, reply: reply.into(), place: 0 }
    }

    fn grab(user: &str, req: &str) -> Call {
        let (user, req) = (user.into(), req.into());
        Call::Change(Op::Join { user, ask: Ask::Unsaid, req, until: 0 })
    }

    fn cancel(user: &str, req: &str) -> Call {
        let pick = Pick::Req(req.into());
        Call::Change(Op::Settle { user: user.into(), pick, deed: Deed::Cancel })
    }

    /// `a` has the unit; `b` waits and gets the unit when `a` cancels. PLACE of `b` runs from
    /// `sent` to `answered`.
    fn place_of_b(sent: u64, answered: u64, reply: &str) -> Found {
        let calls = [
            told(0, 10, grab("a", "1"), "GRANTED 1 1 HELD 1800000001000 0"),
            told(20, 30, grab("b", "2"), "WAITING 1 0 0"),
            told(40, 60, cancel("a", "1"), "CANCELLED 1 1 0"),
            told(sent, answered, Call::Place("b".into()), reply),
        ];
        linearization(&sale(), CLOCK, &calls)
    }

    #[test]
    fn a_read_may_show_what_was_so_at_any_moment_of_the_call() {
        // Before the first grant or after the last step: the search tries reads first.
        assert_eq!(place_of_b(5, 15, "NONE"), Found::Order(vec![3, 0, 1, 2]));
        assert_eq!(place_of_b(25, 45, "WAITING 1 0 0"), Found::Order(vec![0, 1, 3, 2]));
        assert_eq!(place_of_b(50, 55, "WAITING 1 0 0"), Found::Order(vec![0, 1, 3, 2]));
        assert_eq!(place_of_b(50, 55, "NONE"), Found::Order(vec![0, 1, 2, 3]));
    }

    #[test]
    fn a_read_that_is_stale_or_early_is_found() {
        let stale = place_of_b(61, 70, "WAITING 1 0 0");
        let Found::NoOrder(stale) = stale else { panic!("{stale:?}") };
        assert!(stale.starts_with("3 of 4 calls have an order"), "{stale}");
        let is_found = |found| matches!(found, Found::NoOrder(_));
        assert!(is_found(place_of_b(31, 39, "NONE")), "after the answer of the join");
        assert!(is_found(place_of_b(5, 15, "WAITING 1 0 0")), "before the join was sent");
    }

    #[test]
    fn calls_at_once_are_put_into_the_order_that_their_replies_tell() {
        let calls = [
            told(0, 50, grab("a", "1"), "WAITING 1 0 0"),
            told(0, 50, grab("b", "2"), "GRANTED 1 1 HELD 1800000001000 0"),
            told(0, 50, Call::User("b".into()), "1 OK"),
        ];
        assert_eq!(linearization(&sale(), CLOCK, &calls), Found::Order(vec![2, 1, 0]));
        let mut late = calls.clone();
        late[2] = told(51, 60, Call::User("b".into()), "1 OK");
        assert!(matches!(linearization(&sale(), CLOCK, &late), Found::NoOrder(_)));
    }
}
