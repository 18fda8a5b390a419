//! The stage: buyers on threads of their own, of whom one at a time makes one step.

use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::Conn;

use crate::buyer::{Buyer, Stop};
use crate::contender::{Contender, Reason, Rush, Told, Verdict};
use crate::gate::{lock, Gate, Line, Message, Order, Scene, SharedScene, Turns};
use crate::interleave::setting::{Kind, Person, Setting};
use crate::interleave::{Choice, Outcome, Played};
use crate::servers::Servers;
use crate::sql::lock_waits;

/// More people than any setting has.
const ACTORS: usize = 5;
/// A schedule with more steps is not of a shop that works.
const STEPS: usize = 400;
/// How long to wait before the database is asked whether somebody waits for a lock.
const PATIENCE: Duration = Duration::from_millis(2);
/// No step takes so long; the lab itself hangs.
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
    /// The database's number of this connection.
    connection: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Stands before a step. `Some(moves)`: pauses until more moves than these were made.
    At(Option<usize>),
    /// Its step waits for a row lock.
    Blocked,
    Over,
}

/// All that is needed to play schedules.
pub struct Stage {
    actors: Vec<Actor>,
    hears: Receiver<Message>,
    scene: SharedScene,
    /// The lab's own connections.
    desk: Buyer,
    watch: Option<Conn>,
}

/// One schedule under way.
struct Play<'s> {
    states: Vec<State>,
    outcomes: Vec<Outcome>,
    moves: usize,
    steps: usize,
    lease_left: bool,
    waited_for_another: bool,
    setting: &'s Setting,
}

impl Stage {
    /// # Errors
    /// A sentence when the servers do not take the connections.
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
            let buyer = servers.buyer(Gate::Held(turns), true)?;
            let connection = buyer.sql.as_ref().map_or(0, Conn::connection_id);
            let (jobs, work) = channel();
            let says = says.clone();
            thread::spawn(move || act(buyer, who, &work, &says));
            actors.push(Actor { jobs, orders, connection });
        }
        let mut watch = servers.sql()?;
        if let Some(watch) = watch.as_mut() {
            // Orders of steps are not about disks.
            let relaxed = "SET GLOBAL innodb_flush_log_at_trx_commit = 0";
            watch.query_drop(relaxed).map_err(|e| e.to_string())?;
        }
        Ok(Stage { actors, hears, scene, desk: servers.buyer(Gate::Open, true)?, watch })
    }

    /// Plays one schedule: `choose` picks from what can happen next, or ends it.
    ///
    /// # Errors
    /// A sentence when the lab itself fails.
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
            self.settle(&mut play, who)?;
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
                self.order(who, Order::Go)?;
                self.settle(play, who)?;
                if !matches!(play.states[who], State::At(Some(_))) {
                    play.moves += 1;
                }
            }
            Choice::Dies(who) => {
                let text = "dies".into();
                lock(&self.scene).lines.push(Line { who: Some(who), text, is_step: false });
                play.outcomes[who].died = true;
                self.order(who, Order::Die)?;
                self.settle(play, who)?;
                play.moves += 1;
            }
        }
        for who in 0..play.states.len() {
            if play.states[who] == State::Blocked {
                self.settle(play, who)?;
            }
        }
        let buyers_left =
            |(who, person): (usize, &Person)| !person.helps && play.states[who] != State::Over;
        let gone = !play.setting.people.iter().enumerate().any(buyers_left);
        lock(&self.scene).buyers_are_gone = gone;
        Ok(())
    }

    fn order(&self, who: usize, order: Order) -> Result<(), String> {
        self.actors[who].orders.send(order).map_err(|_| "a buyer of the lab is gone".to_owned())
    }

    /// Waits until `who` stands before the next step, is over, or waits for a row lock.
    fn settle(&mut self, play: &mut Play<'_>, who: usize) -> Result<(), String> {
        let mut waited = Duration::ZERO;
        while waited < DEADLINE {
            match self.hears.recv_timeout(PATIENCE) {
                Ok(message) => {
                    let heard = self.hear(play, message);
                    if heard == who {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    waited += PATIENCE;
                    let Some(watch) = self.watch.as_mut() else { continue };
                    let waits = lock_waits(watch).map_err(|stop| format!("{stop:?}"))?;
                    if waits.contains(&self.actors[who].connection) {
                        if play.states[who] != State::Blocked {
                            self.note_wait(play, who);
                        }
                        return Ok(());
                    }
                }
            }
        }
        Err("a step of a buyer does not come back".into())
    }

    fn note_wait(&self, play: &mut Play<'_>, who: usize) {
        play.states[who] = State::Blocked;
        let product = |who: usize| play.setting.people[who].product;
        play.waited_for_another |=
            (0..play.states.len()).all(|other| other == who || product(other) != product(who));
        let text = "… waits for a row lock".into();
        lock(&self.scene).lines.push(Line { who: Some(who), text, is_step: false });
    }

    fn hear(&self, play: &mut Play<'_>, message: Message) -> usize {
        match message {
            Message::At { who, pauses } => {
                play.states[who] = State::At(pauses.then_some(play.moves));
                who
            }
            Message::Ended { who, verdict, trouble } => {
                play.states[who] = State::Over;
                let outcome = &mut play.outcomes[who];
                (outcome.verdict, outcome.trouble) = (verdict, trouble);
                outcome.last = play.steps;
                if let (Some(verdict), false) = (verdict, outcome.died) {
                    // A crash behind the last step leaves nothing to do but the answer.
                    let lost = play.setting.kind == Kind::Crash && who == 0;
                    let text = match lost {
                        true => "dies: the answer never arrives".into(),
                        false => super::timeline::told(verdict),
                    };
                    lock(&self.scene).lines.push(Line { who: Some(who), text, is_step: false });
                }
                who
            }
        }
    }

    /// Those who never came, or not to an end, go. Whoever is blocked is freed by those who hold
    /// the lock, who go too.
    fn clear(&mut self, play: &mut Play<'_>) -> Result<(), String> {
        let at = |state: &State| matches!(state, State::At(_));
        while let Some(who) = play.states.iter().position(at) {
            play.outcomes[who].died = true;
            self.order(who, Order::Die)?;
            self.settle(play, who)?;
            for other in 0..play.states.len() {
                if play.states[other] == State::Blocked {
                    self.settle(play, other)?;
                }
            }
        }
        Ok(())
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
        // With units left: can somebody who comes alone have one?
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

/// An exception that nobody catches is HTTP 500 to the buyer.
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

/// The life of an actor's thread.
fn act(mut buyer: Buyer, who: usize, work: &Receiver<Job>, says: &Sender<Message>) {
    for job in work {
        (buyer.who, buyer.product, buyer.rush) = (job.person.part, job.person.product, job.rush);
        buyer.comes(job.person.user, job.person.req, job.number);
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
    fn options(&self, scene: &Scene) -> Vec<Choice> {
        let at = |who: &usize| matches!(self.states[*who], State::At(_));
        let ready = |who: &usize| match self.states[*who] {
            State::At(pause) => pause.is_none_or(|moves| self.moves > moves),
            _ => false,
        };
        let all = 0..self.states.len();
        let mut able: Vec<usize> = all.clone().filter(ready).collect();
        if able.is_empty() {
            // All wait for each other: then time passes, and they try again.
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
