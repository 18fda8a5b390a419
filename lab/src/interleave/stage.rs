//! Runs buyers on threads; one buyer at a time makes one step.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::buyer::Buyer;
use crate::contender::Contender;
use crate::gate::{lock, Gate, Line, Message, Order, Scene, SharedScene, Turns};
use crate::interleave::setting::{Kind, Person, Setting};
use crate::interleave::{Choice, Outcome, Played};
use crate::servers::Servers;
use crate::session::Session;
use crate::told::{Reason, Rush, Stop, Told, Verdict};

/// More buyers and helpers than any setting has.
const ACTORS: usize = 5;
/// More steps than any working shop needs.
const STEPS: usize = 400;
/// Time before the database is asked whether a buyer waits for a lock.
const PATIENCE: Duration = Duration::from_millis(2);
/// Longer than any step; then the lab itself hangs.
const DEADLINE: Duration = Duration::from_secs(30);

struct Job {
    run: fn(&mut Buyer) -> Told,
    person: Person,
    rush: Rush,
    number: u64,
}

struct Actor {
    jobs: Sender<Job>,
    orders: Sender<Order>,
    /// The database's id of this connection.
    connection: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// The step is running.
    Moves,
    /// Before a step. `Some(moves)`: pauses until more moves than these were made.
    At(Option<usize>),
    /// The step waits for a row lock.
    Blocked,
    Over,
}

/// Everything needed to play schedules.
pub struct Stage {
    actors: Vec<Actor>,
    hears: Receiver<Message>,
    scene: SharedScene,
    /// The lab's own connections.
    desk: Buyer,
    watch: Option<Session>,
}

/// A running schedule.
struct Play<'s> {
    states: Vec<State>,
    /// Buyers whose waiting step is already in the timeline.
    told_to_wait: Vec<bool>,
    outcomes: Vec<Outcome>,
    moves: usize,
    steps: usize,
    lease_left: bool,
    waited_for_another: bool,
    setting: &'s Setting,
}

impl Stage {
    /// # Errors
    /// A message if the servers do not take the connections.
    pub fn new(servers: &Servers) -> Result<Stage, String> {
        let (says, hears) = channel();
        let scene = SharedScene::default();
        let mut actors = Vec::new();
        for who in 0..ACTORS {
            let (orders, heard) = channel();
            let turns = Turns {
                who,
                says: says.clone(),
                hears: heard,
                scene: Arc::clone(&scene),
                pauses: false,
            };
            let mut buyer = servers.buyer(Gate::Held(turns), true)?;
            let connection = match buyer.sql.as_mut() {
                Some(session) => session.number().map_err(|stop| format!("{stop:?}"))?,
                None => 0,
            };
            let (jobs, work) = channel();
            let says = says.clone();
            thread::spawn(move || act(buyer, who, &work, &says));
            actors.push(Actor { jobs, orders, connection });
        }
        servers.be_durable(false)?;
        let desk = servers.buyer(Gate::Open, true)?;
        Ok(Stage { actors, hears, scene, desk, watch: servers.sql()? })
    }

    /// Plays one schedule: `choose` picks one of the possible events, or ends the schedule.
    ///
    /// # Errors
    /// A message if the lab itself fails.
    pub fn play(
        &mut self,
        contender: &Contender,
        setting: &Setting,
        mut choose: impl FnMut(&[Choice]) -> Option<Choice>,
    ) -> Result<Played, String> {
        self.open(contender, setting).map_err(|stop| told_by(contender, stop))?;
        let people = setting.people.len();
        let mut play = Play {
            states: vec![State::Over; people],
            told_to_wait: vec![false; people],
            outcomes: setting.people.iter().map(Outcome::of).collect(),
            moves: 0,
            steps: 0,
            lease_left: setting.lease,
            waited_for_another: false,
            setting,
        };
        for (who, person) in setting.people.iter().enumerate() {
            let run = if person.helps {
                contender.helper.unwrap_or(contender.buy)
            } else {
                contender.buy
            };
            let rush = Rush { supply: setting.stock, ..contender.rush };
            let job = Job { run, person: person.clone(), rush, number: who as u64 };
            self.actors[who].jobs.send(job).map_err(|_| "a buyer of the lab is gone")?;
            play.states[who] = State::Moves;
            self.settle(&mut play)?;
        }
        while play.steps <= STEPS {
            let options = play.options(&lock(&self.scene));
            let Some(choice) = choose(&options) else { break };
            self.take(&mut play, choice)?;
        }
        self.clear(&mut play)?;
        self.judge_books(contender, setting, play).map_err(|stop| told_by(contender, stop))
    }

    fn open(&mut self, contender: &Contender, setting: &Setting) -> Result<(), Stop> {
        redis::cmd("FLUSHALL").exec(&mut self.desk.redis)?;
        *lock(&self.scene) = Scene { lease: contender.lease, ..Scene::default() };
        // Tokens must not depend on rows that were played before.
        self.desk.house.next_number.store(1, Ordering::Relaxed);
        self.desk.rush = Rush { supply: setting.stock, ..contender.rush };
        (contender.set_up)(&mut self.desk, setting.stock)
    }

    fn take(&mut self, play: &mut Play<'_>, choice: Choice) -> Result<(), String> {
        match choice {
            Choice::LeaseEnds => {
                let mut scene = lock(&self.scene);
                let key = scene.lease.unwrap_or_default();
                redis::cmd("DEL").arg(key).exec(&mut self.desk.redis).map_err(|e| e.to_string())?;
                scene.holder = None;
                let text = "the lease of the lock runs out".into();
                scene.lines.push(Line { who: None, text, is_step: false });
                (play.lease_left, play.moves) = (false, play.moves + 1);
            }
            Choice::Go(who) => {
                play.steps += 1;
                let steps = play.steps;
                let outcome = &mut play.outcomes[who];
                outcome.first.get_or_insert(steps);
                (outcome.last, outcome.steps) = (steps, outcome.steps + 1);
                self.order(play, who, Order::Go)?;
                if !matches!(play.states[who], State::At(Some(_))) {
                    play.moves += 1;
                }
            }
            Choice::Dies(who) => {
                let text = "dies".into();
                lock(&self.scene).lines.push(Line { who: Some(who), text, is_step: false });
                play.outcomes[who].died = true;
                self.order(play, who, Order::Die)?;
                play.moves += 1;
            }
        }
        let buyers_left =
            |(who, person): (usize, &Person)| !person.helps && play.states[who] != State::Over;
        let gone = !play.setting.people.iter().enumerate().any(buyers_left);
        lock(&self.scene).buyers_are_gone = gone;
        Ok(())
    }

    /// One buyer makes a step, then all buyers that it unblocks, until no buyer moves.
    fn order(&mut self, play: &mut Play<'_>, who: usize, order: Order) -> Result<(), String> {
        if !matches!(play.states[who], State::At(_)) {
            return Err("an order to somebody who does not stand before a step".into());
        }
        self.actors[who].orders.send(order).map_err(|_| "a buyer of the lab is gone")?;
        play.states[who] = State::Moves;
        self.settle(play)
    }

    /// Waits until each buyer is before a step, has finished, or waits for a row lock. While a
    /// buyer moves, it may still unblock another, so waiting buyers are known only when none moves.
    fn settle(&mut self, play: &mut Play<'_>) -> Result<(), String> {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            match self.hears.recv_timeout(play.patience()) {
                Ok(message) => self.hear(play, message),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let waiting = self.waiting()?;
                    let moved = play.states.contains(&State::Moves);
                    let freed = play.see_waiting(|who| waiting.contains(&self.connection(who)));
                    if !moved && !freed {
                        self.note_waits(play);
                        return Ok(());
                    }
                }
            }
            if !play.states.iter().any(|state| matches!(state, State::Moves | State::Blocked)) {
                return Ok(());
            }
        }
        Err("a step of a buyer does not come back".into())
    }

    fn connection(&self, who: usize) -> u32 {
        self.actors[who].connection
    }

    /// The connections that wait for a row lock.
    fn waiting(&mut self) -> Result<Vec<u32>, String> {
        match self.watch.as_mut() {
            Some(watch) => watch.lock_waits().map_err(|stop| format!("{stop:?}")),
            None => Ok(Vec::new()),
        }
    }

    fn note_waits(&self, play: &mut Play<'_>) {
        for who in 0..play.states.len() {
            if play.states[who] != State::Blocked || play.told_to_wait[who] {
                continue;
            }
            play.told_to_wait[who] = true;
            let product = |who: usize| play.setting.people[who].product;
            play.waited_for_another |=
                (0..play.states.len()).all(|other| other == who || product(other) != product(who));
            let mut scene = lock(&self.scene);
            let statement = scene.statements.get(&who).map_or("", String::as_str);
            let text = format!("{statement} … waits for a row lock");
            scene.lines.push(Line { who: Some(who), text, is_step: false });
        }
    }

    fn hear(&self, play: &mut Play<'_>, message: Message) {
        match message {
            Message::At { who, pauses } => {
                play.states[who] = State::At(pauses.then_some(play.moves));
                play.told_to_wait[who] = false;
            }
            Message::Ended { who, verdict, trouble } => {
                play.states[who] = State::Over;
                let outcome = &mut play.outcomes[who];
                (outcome.verdict, outcome.trouble) = (verdict, trouble);
                outcome.last = play.steps;
                if let (Some(verdict), false) = (verdict, outcome.died) {
                    // After the last step a crash only loses the answer.
                    let lost = play.setting.kind == Kind::Crash && who == 0;
                    let text = match lost {
                        true => "dies: the answer never arrives".into(),
                        false => super::timeline::told(verdict),
                    };
                    lock(&self.scene).lines.push(Line { who: Some(who), text, is_step: false });
                }
            }
        }
    }

    /// Ends the processes of buyers who have not finished. A blocked buyer is unblocked when the
    /// lock's holder ends, and then ends, too.
    fn clear(&mut self, play: &mut Play<'_>) -> Result<(), String> {
        let at = |state: &State| matches!(state, State::At(_));
        while let Some(who) = play.states.iter().position(at) {
            play.outcomes[who].died = true;
            self.order(play, who, Order::Die)?;
        }
        match play.states.iter().all(|state| *state == State::Over) {
            true => Ok(()),
            false => Err("somebody waits for a row lock that nobody holds".into()),
        }
    }

    fn judge_books(
        &mut self,
        contender: &Contender,
        setting: &Setting,
        play: Play<'_>,
    ) -> Result<Played, Stop> {
        let restocked: u64 = play.outcomes.iter().map(Outcome::restocked).sum();
        let mut played = Played {
            supply: setting.stock * setting.products + restocked,
            people: setting.people.clone(),
            outcomes: play.outcomes,
            books: (contender.books)(&mut self.desk)?,
            alone: None,
            waited_for_another: play.waited_for_another,
            freed_anothers_lock: false,
            steps: play.steps,
            lines: Vec::new(),
        };
        // If units are left: can another buyer, who comes alone, get one?
        if played.wins() < played.supply && setting.asks_alone && !contender.waits_for_helper {
            self.desk.comes("alone".into(), "alone".into(), 99);
            let told = (contender.buy)(&mut self.desk);
            self.desk.script_ends()?;
            played.alone = Some(verdict(told)?);
        }
        let mut scene = lock(&self.scene);
        played.freed_anothers_lock = scene.freed_anothers_lock;
        played.lines = std::mem::take(&mut scene.lines);
        Ok(played)
    }
}

/// The buyer sees an uncaught exception as HTTP 500.
pub fn verdict(told: Told) -> Result<Verdict, Stop> {
    match told {
        Ok(verdict) => Ok(verdict),
        Err(Stop::Sql(..)) => Ok(Verdict::Lost(Reason::Error)),
        Err(stop) => Err(stop),
    }
}

fn told_by(contender: &Contender, stop: Stop) -> String {
    format!("{}: {stop:?}", contender.id)
}

/// The main function of a buyer's thread.
fn act(mut buyer: Buyer, who: usize, work: &Receiver<Job>, says: &Sender<Message>) {
    for job in work {
        (buyer.who, buyer.product, buyer.rush) = (job.person.part, job.person.product, job.rush);
        buyer.comes(job.person.user, job.person.req, job.number);
        buyer.resent = job.person.resent;
        let told = verdict((job.run)(&mut buyer));
        let left = buyer.script_ends();
        let (verdict, trouble) = match (told, left) {
            (Ok(verdict), Ok(())) => (Some(verdict), None),
            (Err(Stop::Died), Ok(())) => (None, None),
            (Err(stop), _) | (_, Err(stop)) => (None, Some(format!("{stop:?}"))),
        };
        if says.send(Message::Ended { who, verdict, trouble }).is_err() {
            return;
        }
    }
}

impl Play<'_> {
    /// Shorter if no buyer is moving, because then only blocked buyers have to be found.
    fn patience(&self) -> Duration {
        if self.states.contains(&State::Moves) {
            PATIENCE
        } else {
            Duration::ZERO
        }
    }

    /// A moving buyer that waits for a lock is blocked; a blocked buyer that no longer waits moves.
    /// Returns whether a buyer was unblocked.
    fn see_waiting(&mut self, waits: impl Fn(usize) -> bool) -> bool {
        let mut freed = false;
        for (who, state) in self.states.iter_mut().enumerate() {
            match *state {
                State::Moves if waits(who) => *state = State::Blocked,
                State::Blocked if !waits(who) => {
                    *state = State::Moves;
                    freed = true;
                }
                _ => {}
            }
        }
        freed
    }

    fn options(&self, scene: &Scene) -> Vec<Choice> {
        let at = |who: &usize| matches!(self.states[*who], State::At(_));
        let ready = |who: &usize| match self.states[*who] {
            State::At(pause) => pause.is_none_or(|moves| self.moves > moves),
            _ => false,
        };
        let all = 0..self.states.len();
        let mut able: Vec<usize> = all.clone().filter(ready).collect();
        if able.is_empty() {
            // If all buyers wait for each other, time passes and they try again.
            able = all.filter(at).collect();
        }
        let mut options: Vec<Choice> = able.iter().map(|who| Choice::Go(*who)).collect();
        if self.lease_left && scene.holder.is_some() && scene.ends {
            options.push(Choice::LeaseEnds);
        }
        if self.setting.dies.is_some_and(|who| able.contains(&who) && !self.outcomes[who].died) {
            options.extend(self.setting.dies.map(Choice::Dies));
        }
        options
    }
}
