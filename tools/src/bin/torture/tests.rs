//! Tests of the checker of `make torture`: each test changes one fact of a correct history and
//! expects the message that names it.

mod keep;
mod kinds;
mod seats;
mod slow;
mod waiting;

use crate::check::{check, Verdict};
use crate::draws::Stock;
use crate::history::{
    Answer, Answered, Crowning, Deed, Entry, Evidence, Kind, Limits, Op, Promise, Reign, Row,
    State, Terms, Try,
};
use crate::order::{Change, Order};

const EPOCH: u64 = 500;
const HOLD_MS: u64 = 100;
const LIMITS: Limits = Limits { limit: 1, grabs: 0, hold_ms: HOLD_MS, close_at: 0 };
const TERMS: Terms = Terms { supply: 3, limits: LIMITS, kind: Kind::Plain };

/// Collects evidence, entry by entry and call by call. The number is the current round.
struct Book(Evidence, u64);

impl Book {
    fn new() -> Book {
        Book::of(TERMS)
    }

    fn of(terms: Terms) -> Book {
        let reigns = vec![Reign { began: 0, epoch_from: EPOCH }];
        let (ops, entries, rows) = (Vec::new(), Vec::new(), Vec::new());
        let (stock, id) = (Stock::default(), "sale".to_owned());
        let promise = Promise::Everything;
        let (rev, deficit, waiting) = (0, 0, Vec::new());
        let evidence = Evidence {
            terms,
            promise,
            ops,
            reigns,
            entries,
            rows,
            stock,
            deficit,
            id,
            rev,
            waiting,
        };
        Book(evidence, 0)
    }

    /// Adds an entry with its numbers: available, held, sold.
    fn tell(&mut self, event: &str, t: u64, [available, held, sold]: [u64; 3]) -> &mut Entry {
        let book = &mut self.0;
        book.rev += 1;
        book.stock = Stock { supply: available + held + sold, available, held, sold };
        let epoch = book.reigns.last().unwrap().epoch_from;
        let limits = (event == "INIT").then_some(book.terms.limits);
        let (event, id, rev, stock) = (event.to_owned(), book.id.clone(), book.rev, book.stock);
        let (grant, returned, restock, round, wait) = (None, 0, None, None, None);
        let entry = Entry {
            event,
            id,
            epoch,
            rev,
            t,
            stock,
            grant,
            returned,
            restock,
            limits,
            round,
            wait,
        };
        book.entries.push(entry);
        book.entries.last_mut().unwrap()
    }

    /// Adds an entry about a grant of one unit.
    fn move_to(&mut self, event: &str, t: u64, numbers: [u64; 3], seq: u64, state: State) {
        self.move_units(event, t, numbers, seq, (1, state));
    }

    /// Adds an entry about a grant of this many units.
    fn move_units(
        &mut self,
        event: &str,
        t: u64,
        numbers: [u64; 3],
        seq: u64,
        (qty, state): (u64, State),
    ) {
        self.tell(event, t, numbers);
        let entry = self.0.entries.last_mut().unwrap();
        let deadline = if state == State::Held { t + HOLD_MS } else { 0 };
        let place = seq as usize - 1;
        if place == self.0.rows.len() {
            let (user, req) = (format!("u{seq}"), format!("o{seq}"));
            let (at, born, round) = (t, entry.epoch, self.1);
            let units = Vec::new();
            self.0.rows.push(Row { seq, user, qty, state, at, deadline, req, born, round, units });
        }
        let row = &mut self.0.rows[place];
        (row.state, row.deadline) = (state, deadline);
        entry.grant = Some(row.clone());
    }

    /// Adds a call that is answered before the next one is sent.
    fn ask(&mut self, deed: Deed, who: u64, answer: Answer) -> &mut Op {
        let reign = self.0.reigns.len() as u64 - 1;
        let invoked = 10 * (self.0.ops.len() as u64 + 1);
        let answered = Some(Answered { returned: invoked + 5, answer, kept: true });
        let tries = vec![Try { answered, ..Try::new(invoked, reign) }];
        let (user, req) = match deed {
            Deed::Restock => (String::new(), format!("r{who}")),
            Deed::Pause | Deed::Resume => (String::new(), String::new()),
            Deed::Alter => (String::new(), format!("LIMIT {who}")),
            _ => (format!("u{who}"), format!("o{who}")),
        };
        self.0.ops.push(Op { thread: 0, deed, user, req, tries });
        self.0.ops.last_mut().unwrap()
    }

    fn check(&self) -> Verdict {
        check(&self.0)
    }

    fn answer(&mut self, op: usize) -> &mut Answered {
        self.0.ops[op].tries.last_mut().unwrap().answered.as_mut().unwrap()
    }
}

fn granted(seq: u64, at: u64, available: u64) -> Answer {
    let (state, units) = (State::Held, Vec::new());
    Answer::Granted { seq, qty: 1, state, deadline: at + HOLD_MS, available, units }
}

fn stands(seq: u64, state: State) -> Answer {
    Answer::Stands { seq, qty: seq.min(1), state, deadline: 0 }
}

/// Two users buy; one pays, the other cancels. After a pause all remaining units are withdrawn. One
/// unit is refunded, and another user gets it, lets it expire, and pays late.
fn whole() -> Book {
    let mut book = Book::new();
    book.tell("INIT", 1_000, [3, 0, 0]);
    book.move_to("GRANT", 1_001, [2, 1, 0], 1, State::Held);
    book.ask(Deed::Grab, 1, granted(1, 1_001, 2));
    book.move_to("GRANT", 1_002, [1, 2, 0], 2, State::Held);
    let held = Answer::Replay { seq: 2, qty: 1, state: State::Held, deadline: 1_102 };
    let op = book.ask(Deed::Grab, 2, held);
    op.tries.insert(0, Try::new(18, 0));
    book.move_to("CONFIRM", 1_003, [1, 1, 1], 1, State::Sold);
    book.ask(Deed::Confirm, 1, stands(1, State::Sold));
    book.move_to("CANCEL", 1_004, [2, 0, 1], 2, State::Cancelled);
    book.ask(Deed::Cancel, 2, stands(2, State::Cancelled));
    book.tell("PAUSE", 1_005, [2, 0, 1]);
    book.ask(Deed::Pause, 0, Answer::Done);
    book.ask(Deed::Grab, 9, Answer::Paused);
    book.tell("RESUME", 1_006, [2, 0, 1]);
    book.ask(Deed::Resume, 0, Answer::Done);
    book.tell("RESTOCK", 1_007, [0, 0, 1]).restock = Some(("r1".into(), -2));
    book.tell("SOLDOUT", 1_007, [0, 0, 1]);
    book.ask(Deed::Restock, 1, Answer::Restocked { applied: -2, available: 0 });
    book.ask(Deed::Grab, 9, Answer::SoldOut { held: 0 });
    book.move_to("REFUND", 1_008, [1, 0, 0], 1, State::Refunded);
    book.tell("AVAILABLE", 1_008, [1, 0, 0]);
    book.ask(Deed::Refund, 1, stands(1, State::Refunded));
    book.ask(Deed::Cancel, 8, stands(0, State::Cancelled));
    book.ask(
        Deed::Grab,
        8,
        Answer::Replay { seq: 0, qty: 0, state: State::Cancelled, deadline: 0 },
    );
    book.move_to("GRANT", 1_009, [0, 1, 0], 3, State::Held);
    book.tell("ALLHELD", 1_009, [0, 1, 0]);
    book.ask(Deed::Grab, 3, granted(3, 1_009, 0));
    book.move_to("EXPIRE", 1_109, [1, 0, 0], 3, State::Expired);
    book.tell("AVAILABLE", 1_109, [1, 0, 0]);
    book.move_to("RECLAIM", 1_110, [0, 0, 1], 3, State::Sold);
    book.tell("SOLDOUT", 1_110, [0, 0, 1]);
    book.ask(Deed::Confirm, 3, stands(3, State::Sold));
    book
}

const GRAB_1: usize = 0;
const GRAB_2: usize = 1;
const CONFIRM_1: usize = 2;
const RESTOCK: usize = 7;
const SOLD_OUT: usize = 8;
const GRAB_3: usize = 12;

#[track_caller]
fn assert_found(sentence: &str, spoil: impl FnOnce(&mut Book)) -> Verdict {
    let mut book = whole();
    spoil(&mut book);
    assert_finds(&book, sentence)
}

#[track_caller]
fn assert_finds(book: &Book, sentence: &str) -> Verdict {
    let verdict = book.check();
    let found = verdict.violations.iter().any(|what| what.contains(sentence));
    assert!(found, "{sentence}: {:#?}", verdict.violations);
    verdict
}

#[track_caller]
fn assert_right(book: &Book) {
    assert_eq!(book.check().violations, Vec::<String>::new());
}

#[test]
fn a_history_in_which_all_is_right_passes() {
    let verdict = whole().check();
    assert_eq!(verdict.violations, Vec::<String>::new());
    assert_eq!((verdict.granted, verdict.changed), (3, 5));
    assert_eq!((verdict.granted_lost, verdict.changed_lost, verdict.doubled), (0, 0, 0));
}

#[test]
fn a_grant_that_is_lost_is_found() {
    let verdict = assert_found("LOST: was told Granted { seq: 4", |book| {
        book.ask(Deed::Grab, 4, granted(4, 1_111, 0));
    });
    assert_eq!((verdict.granted, verdict.granted_lost), (4, 1));
    assert_found("LOST: was told Granted { seq: 1", |book| {
        book.answer(GRAB_1).answer = granted(1, 1_001, 1)
    });
}

#[test]
fn a_payment_that_is_lost_is_found() {
    let verdict = assert_found("LOST: was told Stands { seq: 2, qty: 1, state: Sold", |book| {
        book.ask(Deed::Confirm, 2, stands(2, State::Sold));
    });
    assert_eq!(verdict.changed_lost, 1);
}

#[test]
fn a_restock_that_is_lost_or_doubled_is_found() {
    let restocked = Answer::Restocked { applied: 5, available: 5 };
    assert_found("LOST: was told Restocked", |book| {
        book.ask(Deed::Restock, 2, restocked);
    });
    assert_found("LOST: was told Restocked", |book| {
        book.answer(RESTOCK).answer = Answer::Restocked { applied: -1, available: 0 };
    });
    assert_found("The restock r1 was made twice", |book| {
        book.tell("RESTOCK", 1_111, [1, 0, 1]).restock = Some(("r1".into(), 1));
    });
}

#[test]
fn a_unit_sold_twice_is_found() {
    let verdict = assert_found("OVERSOLD: 1 units are not there", |book| {
        book.move_to("GRANT", 1_111, [0, 1, 1], 4, State::Held);
        book.ask(Deed::Grab, 4, granted(4, 1_111, 0));
    });
    assert_eq!(verdict.doubled, 1);
}

#[test]
fn a_grant_that_takes_nothing_is_found() {
    assert_found("The units don't add up", |book| {
        book.0.entries[1].stock = Stock { supply: 3, available: 3, held: 1, sold: 0 };
    });
}

#[test]
fn a_request_granted_twice_is_found() {
    let verdict = assert_found("DOUBLED: u3 was granted o3 twice", |book| {
        let entry = book.tell("RESTOCK", 1_111, [1, 0, 1]);
        entry.restock = Some(("r2".into(), 1));
        book.tell("AVAILABLE", 1_111, [1, 0, 1]);
        book.move_to("GRANT", 1_112, [0, 1, 1], 4, State::Held);
        let row = book.0.entries.last_mut().unwrap().grant.as_mut().unwrap();
        (row.user, row.req) = ("u3".into(), "o3".into());
    });
    assert_eq!(verdict.doubled, 1);
}

#[test]
fn a_seq_that_two_users_were_told_is_found() {
    let verdict = assert_found("DOUBLED: seq 3 was given to", |book| {
        book.ask(Deed::Grab, 4, granted(3, 1_009, 0));
    });
    assert_eq!(verdict.doubled, 1);
}

#[test]
fn a_user_over_the_limit_is_found() {
    assert_found("OVER THE LIMIT: u1 has", |book| {
        book.0.rows[1].user = "u1".into();
        for entry in &mut book.0.entries {
            if let Some(row) = entry.grant.as_mut().filter(|row| row.seq == 2) {
                row.user = "u1".into();
            }
        }
    });
}

#[test]
fn a_gap_in_the_outbox_is_found() {
    assert_found("The outbox has a gap: rev 3", |book| drop(book.0.entries.remove(2)));
    assert_found("STATUS is at rev", |book| drop(book.0.entries.pop()));
    assert_found("of another sale", |book| book.0.entries[4].id = "other".into());
    assert_found("The epoch went back", |book| book.0.entries[4].epoch = EPOCH - 1);
}

#[test]
fn a_sale_that_is_not_what_its_outbox_says_is_found() {
    assert_found("WINNERS has", |book| book.0.rows[1].state = State::Sold);
    assert_found("WINNERS has None", |book| drop(book.0.rows.pop()));
    assert_found("the outbox does not", |book| {
        let row = Row { seq: 4, ..book.0.rows[2].clone() };
        book.0.rows.push(row);
    });
    assert_found("STATUS says", |book| book.0.stock.sold += 1);
}

#[test]
fn a_state_that_can_t_follow_is_found() {
    assert_found("EXPIRE can't make", |book| {
        let expire = book.0.entries.iter_mut().find(|entry| entry.event == "EXPIRE").unwrap();
        expire.t = 1_108;
    });
    assert_found("CONFIRM can't make", |book| book.0.entries[3].t = 1_101);
    assert_found("AVAILABLE can't be here", |book| book.0.entries[8].event = "AVAILABLE".into());
    assert_found("A unit was sold during a pause", |book| {
        let pause = Entry { rev: 2, stock: book.0.entries[0].stock, ..book.0.entries[5].clone() };
        book.0.entries.insert(1, pause);
        for (entry, rev) in book.0.entries.iter_mut().zip(1..) {
            entry.rev = rev;
        }
    });
}

/// The outbox has the grants as 1, 2, but 2 was answered before 1 was sent.
#[test]
fn a_queue_jumper_is_found() {
    assert_found("UNFAIR", |book| {
        book.answer(GRAB_2).answer = granted(2, 1_002, 1);
        let [first, second] = &mut book.0.ops[..2] else { unreachable!() };
        first.tries[0].invoked = 30;
        first.tries[0].answered.as_mut().unwrap().returned = 35;
        second.tries.remove(0);
    });
}

#[test]
fn calls_at_the_same_time_may_go_either_way() {
    let mut book = whole();
    let [first, second] = &mut book.0.ops[..2] else { unreachable!() };
    first.tries[0].answered.as_mut().unwrap().returned = 29;
    second.tries[0].invoked = 5;
    assert_right(&book);
}

#[test]
fn who_is_told_what_was_so_before_is_found() {
    assert_found("WENT BACK: grant 1", |book| {
        let held = Answer::Replay { seq: 1, qty: 1, state: State::Held, deadline: 1_101 };
        book.ask(Deed::Grab, 1, held);
    });
    assert_found("WENT BACK: grant 1", |book| {
        book.ask(Deed::Confirm, 1, stands(0, State::NoGrant));
    });
}

#[test]
fn who_is_sent_away_without_reason_is_found() {
    assert_found("was told SoldOut { held: 1 }, never so", |book| {
        book.answer(SOLD_OUT).answer = Answer::SoldOut { held: 1 };
    });
    assert_found("was told Short { available: 2 }, never so", |book| {
        book.answer(SOLD_OUT).answer = Answer::Short { available: 2 };
    });
    assert_found("was told Paused, never so", |book| book.answer(SOLD_OUT).answer = Answer::Paused);
    assert_found("was told Done, never so", |book| {
        book.ask(Deed::Pause, 0, Answer::Done);
    });
}

#[test]
fn a_fence_that_lets_through_is_found() {
    assert_found("is fenced off, and it was granted", |book| {
        book.ask(Deed::Cancel, 3, stands(0, State::Cancelled));
    });
}

#[test]
fn a_change_that_nobody_asked_for_is_found() {
    assert_found("UNASKED: nobody can have caused rev 16", |book| {
        book.0.ops.pop();
    });
    assert_found("UNASKED: nobody can have caused rev 12", |book| {
        book.answer(GRAB_3).answer = Answer::OverLimit;
    });
}

#[test]
fn a_library_that_tells_of_no_grant_where_there_is_one_is_found() {
    let refused = |book: &mut Book| {
        let call = &mut book.0.ops[GRAB_3].tries[0];
        call.by_library = true;
        let told = call.answered.as_mut().unwrap();
        (told.answer, told.kept) = (Answer::OverLimit, false);
    };
    assert_found("UNASKED: nobody can have caused rev 12", refused);
    // An attempt without a reply can have got the grant.
    let mut book = whole();
    refused(&mut book);
    let lost = Try { answered: None, ..book.0.ops[GRAB_3].tries[0].clone() };
    book.0.ops[GRAB_3].tries.push(lost);
    let unasked = |what: &String| what.contains("UNASKED");
    assert!(!book.check().violations.iter().any(unasked));
}

#[test]
fn an_answer_that_no_client_should_get_is_found() {
    let strange = "REQMISMATCH: request id was used with other arguments";
    assert_found("was answered REQMISMATCH", |book| {
        book.answer(GRAB_1).answer = Answer::Strange(strange.into());
    });
    assert_found("was answered Stands { seq: 1, qty: 1, state: Held", |book| {
        book.answer(CONFIRM_1).answer = stands(1, State::Held);
    });
    assert_found("never got an answer", |book| book.0.ops[GRAB_1].tries[0].answered = None);
}

/// A second primary lacks the last change of the first one, and assigns seq 3 again.
fn failed_over() -> Book {
    let mut book = Book::new();
    book.0.promise = Promise::AllButTheTail;
    book.tell("INIT", 1_000, [3, 0, 0]);
    book.move_to("GRANT", 1_001, [2, 1, 0], 1, State::Held);
    book.ask(Deed::Grab, 1, granted(1, 1_001, 2));
    book.move_to("GRANT", 1_002, [1, 2, 0], 2, State::Held);
    book.ask(Deed::Grab, 2, granted(2, 1_002, 1));
    book.ask(Deed::Grab, 4, granted(3, 1_003, 0));
    book.ask(Deed::Confirm, 1, stands(1, State::Sold));
    book.0.reigns.push(Reign { began: 1_000, epoch_from: EPOCH + 100 });
    book.move_to("GRANT", 1_003, [0, 3, 0], 3, State::Held);
    book.tell("ALLHELD", 1_003, [0, 3, 0]);
    book.ask(Deed::Grab, 3, granted(3, 1_003, 0));
    for seq in 1..=3 {
        book.move_to("EXPIRE", 1_200, [seq, 3 - seq, 0], seq, State::Expired);
        if seq == 1 {
            book.tell("AVAILABLE", 1_200, [1, 2, 0]);
        }
    }
    book
}

/// Epochs only increase; the second one here is not a time.
#[test]
fn an_epoch_is_of_the_reign_of_its_first_change() {
    let mut book = Book::new();
    book.tell("INIT", 1_000, [3, 0, 0]);
    book.move_to("GRANT", 1_050, [2, 1, 0], 1, State::Held);
    for (t, epoch, seq) in [(1_120, EPOCH + 9_000, 2), (1_310, EPOCH + 9_001, 3)] {
        book.move_to("GRANT", t, [3 - seq, seq, 0], seq, State::Held);
        book.0.entries.last_mut().unwrap().epoch = epoch;
    }
    let crowning = |from_ms| Crowning { began: from_ms, from_ms };
    // The third primary made no change, and the second one's first change came late.
    let crownings = [990, 1_100, 1_200, 1_300].map(crowning);
    let reigns = Crowning::reigns(&crownings, &book.0.entries);
    let epochs: Vec<u64> = reigns.iter().map(|reign| reign.epoch_from).collect();
    assert_eq!(epochs, [EPOCH, EPOCH + 9_000, EPOCH + 9_001, EPOCH + 9_001]);
    book.0.reigns = reigns;
    assert_eq!([0, 9_000, 9_001].map(|more| book.0.reign_of(EPOCH + more)), [0, 1, 3]);
}

#[test]
fn a_tail_may_be_lost_where_nothing_is_promised() {
    let verdict = failed_over().check();
    assert_eq!(verdict.violations, Vec::<String>::new());
    assert_eq!((verdict.granted, verdict.granted_lost), (4, 1));
    assert_eq!((verdict.changed, verdict.changed_lost), (1, 1));
}

#[test]
fn the_same_is_a_violation_where_all_is_promised() {
    let mut book = failed_over();
    book.0.promise = Promise::Everything;
    let lost = |what: &&String| what.contains("LOST: was told");
    assert_eq!(book.check().violations.iter().filter(lost).count(), 2);
    // A change without a confirmed WAIT is not promised.
    for op in [2, 3] {
        book.answer(op).kept = false;
        book.0.ops[op].tries[0].invoked += 1;
    }
    assert_eq!(book.check().violations.iter().filter(lost).count(), 0);
}

/// The next primary assigns this seq again, to this user and REQ: the first grant is lost.
#[test]
fn a_grant_that_was_lost_is_not_the_one_that_was_made_again() {
    let mut book = failed_over();
    book.0.ops[2].user = "u3".into();
    book.0.ops[2].req = "o3".into();
    let verdict = book.check();
    assert_eq!(verdict.violations, Vec::<String>::new());
    assert_eq!((verdict.granted, verdict.granted_lost), (4, 1));
}

#[test]
fn what_is_lost_before_something_that_is_there_is_no_tail() {
    let mut book = failed_over();
    book.0.ops.swap(1, 2);
    book.0.ops[1].tries[0] = Try { invoked: 12, ..book.0.ops[1].tries[0].clone() };
    book.answer(1).returned = 15;
    assert_finds(&book, "LOST FROM THE MIDDLE: rev 3");
}

#[test]
fn an_order_of_changes_is_told_from_a_turned_one() {
    let change = |rev, invoked, returned| Change { rev, invoked, returned, reign: None };
    let turned = |all: &[Change]| Order::of(all.to_vec()).turned();
    assert_eq!(turned(&[]), None);
    assert_eq!(turned(&[change(1, 0, 1), change(2, 2, 3), change(3, 1, 9)]), None);
    assert_eq!(turned(&[change(7, 0, 5), change(7, 6, 9)]), None, "the same change");
    let (late, early) = (change(1, 6, 9), change(2, 0, 5));
    assert_eq!(turned(&[early, late]), Some((early, late)));
    let between = [change(1, 6, 9), change(2, 7, 9), change(2, 0, 5)];
    assert_eq!(turned(&between), Some((between[2], between[0])));
}

#[test]
fn a_call_saw_nothing_older_than_what_was_answered_before_it() {
    let change = |rev, invoked, returned| Change { rev, invoked, returned, reign: None };
    let order = Order::of(vec![change(1, 0, 3), change(4, 5, 6), change(9, 20, 25)]);
    assert_eq!(order.between(1, 2), (0, 3), "the first runs, the second is to come");
    assert_eq!(order.between(4, 4), (1, 3));
    assert_eq!(order.between(7, 10), (4, 8));
    assert_eq!(order.between(7, 21), (4, u64::MAX));
    assert_eq!(order.between(26, 30), (9, u64::MAX));
}
