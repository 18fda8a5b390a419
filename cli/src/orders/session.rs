//! Reading a stream: a session lasts as long as its connections do.

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::database::Database;
use super::entry::{self, Entry};
use super::gaps::Gaps;
use super::judge::Primary;
use super::numbers::Numbers;
use super::out::Out;
use super::stream::{Id, Message, Stream};
use super::writer::{self, Trust, Written};
use super::{repair, Options, To};
use crate::connect::{Failure, Target};
use crate::print::tell;
use crate::stop::Stop;

/// Pause between two attempts to reach Redis or the database.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// After a session of this time a message is printed again.
const TOLD_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// Time between two checks of the stop signal while printed lines are not acknowledged.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The reader of one stream.
pub struct Writer<'a> {
    pub options: &'a Options,
    pub to: &'a To,
    pub target: &'a Target,
    pub stop: &'a Stop,
    pub numbers: &'a Numbers,
    /// Whether the stream has existed before.
    pub has_joined: Cell<bool>,
}

impl Writer<'_> {
    /// Runs sessions until the stop signal. After a lost connection a new session begins, which
    /// needs no state of the last one.
    ///
    /// # Errors
    /// An error message if a retry can't help. Then all readers stop.
    pub fn run(&self) -> Result<(), String> {
        let (mut told, mut gaps) = (String::new(), Gaps::default());
        while !self.stop.is_told() {
            let began = Instant::now();
            let Err(trouble) = self.session(&mut gaps) else { return Ok(()) };
            self.numbers.is_well.store(false, Ordering::Relaxed);
            self.numbers.failures.fetch_add(1, Ordering::Relaxed);
            let Failure { said, heals } = trouble;
            if !heals {
                self.stop.tell();
                return Err(format!("{}: {said}", self.numbers.stream));
            }
            // A server that stays unreachable gives one message only.
            if said != told || began.elapsed() > TOLD_AGAIN_AFTER {
                tell!("{}: {}: {said}; trying again", self.options.name, self.numbers.stream);
                told = said;
            }
            thread::sleep(TRY_AGAIN_AFTER);
        }
        Ok(())
    }

    /// First reads the entries that were pending for this consumer when its last session ended.
    /// Then reads entries of dead consumers and new entries by turns. Returns Ok at `stop`.
    fn session(&self, gaps: &mut Gaps) -> Result<(), Failure> {
        if let To::Out(out) = self.to {
            out.still_open(&[], Duration::ZERO)?;
        }
        let database = match self.to {
            To::Database(shop) => Some(shop.connect()?),
            To::Out(_) => None,
        };
        let found = Primary::find(self.target, &self.numbers.stream, self.stop)?;
        let Some(mut primary) = found else { return Ok(()) };
        let stream = Stream {
            key: self.numbers.stream.clone(),
            group: self.options.group().to_owned(),
            consumer: self.options.name.clone(),
            batch: usize::from(self.options.batch),
        };
        stream.join(&mut primary.redis, self.has_joined.get())?;
        self.has_joined.set(true);
        let trust = match primary.is_judged() {
            true => Trust::Any,
            false => self.options.trust_epoch.unwrap_or(Trust::None),
        };
        let sink = match (self.to, database) {
            (To::Out(out), _) => Sink::Out(out),
            (_, Some(database)) => Sink::Database(database, trust),
            (To::Database(_), None) => return Ok(()),
        };
        let (numbers, stop) = (self.numbers, self.stop);
        let (epoch, awaited) = (0, None);
        gaps.begin();
        let mut session = Session { numbers, stop, primary, sink, stream, epoch, awaited, gaps };
        // Printed lines that are not acknowledged when the signal comes stay under way.
        while !self.stop.is_told() {
            let mine = session.stream.under_way(&mut session.primary.redis)?;
            if mine.is_empty() {
                break;
            }
            session.take(&mine)?;
        }
        session.ask_sales()?;
        let turn = Duration::from_millis(self.options.claim_after_ms);
        let mut told = repair::Told::default();
        while !self.stop.is_told() {
            let claim_after_ms = self.options.claim_after_ms;
            let left = session.stream.take_over(&mut session.primary.redis, claim_after_ms)?;
            session.take(&left)?;
            session.settle_gaps()?;
            let mut is_due = true;
            let until = Instant::now() + turn;
            while Instant::now() < until && !self.stop.is_told() {
                session.primary.still()?;
                if let Sink::Out(out) = &session.sink {
                    out.still_open(&[], Duration::ZERO)?;
                }
                let new = session.stream.next(&mut session.primary.redis)?;
                self.numbers.step();
                if new.is_empty() {
                    session.gaps.drained();
                }
                is_due |= session.take(&new)?;
                // Entries that wait to be read may say that a lost order was refused or paid since.
                if is_due && new.len() < session.stream.batch {
                    is_due = !session.repair(&mut told)?;
                }
            }
        }
        session.settle_gaps()
    }
}

/// The destination of a session's entries.
enum Sink<'a> {
    /// The database, and the trust in new epochs.
    Database(Box<dyn Database>, Trust),
    Out(&'a Out),
}

/// The connections to Redis and to the database.
struct Session<'a> {
    numbers: &'a Numbers,
    stop: &'a Stop,
    primary: Primary,
    sink: Sink<'a>,
    stream: Stream,
    /// The newest epoch that was written in this session, 0 before the first.
    epoch: u64,
    /// The last entry that other readers must acknowledge before the next repair.
    awaited: Option<Id>,
    /// Entries that the database may lack.
    gaps: &'a mut Gaps,
}

impl Session<'_> {
    /// Stores or prints entries, and acknowledges them afterwards. True if the database shows that
    /// Redis has lost entries.
    fn take(&mut self, messages: &[Message]) -> Result<bool, Failure> {
        let mut lost = false;
        // Entries taken over may be more than one batch.
        for messages in messages.chunks(self.stream.batch) {
            let mut ours = Vec::with_capacity(messages.len());
            let mut entries = Vec::with_capacity(messages.len());
            for message in messages {
                match entry::read(&message.fields) {
                    Some(entry) => {
                        entries.push(entry);
                        ours.push(message);
                    }
                    None if message.fields.is_empty() => tell!(
                        "{}: {} was deleted before it was acknowledged: perhaps it is not written",
                        self.stream.key,
                        message.id
                    ),
                    // Another program wrote to this stream. The entry is acknowledged, or it would
                    // come again.
                    None => tell!("{} is no entry of a sale", message.id),
                }
            }
            let epoch = entries.iter().map(|entry| entry.epoch).max().unwrap_or_default();
            if epoch > self.epoch {
                self.primary.new_epoch(self.stop)?;
                self.epoch = epoch;
            }
            lost |= self.hand_over(messages, &ours, &entries)?;
        }
        Ok(lost)
    }

    /// Stores entries in one transaction, then acknowledges them. Or prints lines, and acknowledges
    /// each entry when the number of its line has come back.
    fn hand_over(
        &mut self,
        messages: &[Message],
        ours: &[&Message],
        entries: &[Entry],
    ) -> Result<bool, Failure> {
        let redis = &mut self.primary.redis;
        let foreign = (messages.len() - ours.len()) as u64;
        let written = match &mut self.sink {
            Sink::Database(database, trust) if !entries.is_empty() => {
                let stream = self.stream.key.as_bytes();
                writer::write(&mut **database, stream, entries, *trust)?
            }
            Sink::Database(..) => Written::default(),
            Sink::Out(out) => {
                let numbers = out.print(&self.stream.key, ours)?;
                let mut open = numbers.clone();
                while !open.is_empty() && !self.stop.is_told() {
                    let left = out.still_open(&open, LOOK_EVERY)?;
                    self.numbers.step();
                    let came = |number: &u64| open.contains(number) && !left.contains(number);
                    let done = numbers.iter().zip(ours).filter(|(number, _)| came(number));
                    self.stream.acknowledge(redis, done.map(|(_, message)| *message))?;
                    open = left;
                }
                if !open.is_empty() {
                    return Ok(false);
                }
                Written { new: ours.len() as u64, lost: false }
            }
        };
        self.stream.acknowledge(redis, messages)?;
        if matches!(self.sink, Sink::Database(..)) {
            self.gaps.note(ours, entries);
        }
        let again = (ours.len() as u64).saturating_sub(written.new);
        self.numbers.count(written.new, again, foreign);
        Ok(written.lost)
    }

    /// Asks sales for their last entry, which the database should have when all is read.
    fn ask_sales(&mut self) -> Result<(), Failure> {
        let Sink::Database(database, _) = &mut self.sink else { return Ok(()) };
        self.gaps.ask(&mut self.primary.redis, &mut **database, &self.stream.key)
    }

    /// Reports entries that the database lacks and that no reader will get.
    fn settle_gaps(&mut self) -> Result<(), Failure> {
        let Sink::Database(database, _) = &mut self.sink else { return Ok(()) };
        if self.gaps.are_none() {
            return Ok(());
        }
        let pending = self.stream.pending(&mut self.primary.redis)?.map(|(first, _)| first);
        let missing = self.gaps.settle(pending, &mut **database, &self.stream.key)?;
        self.numbers.missing.fetch_add(missing, Ordering::Relaxed);
        Ok(())
    }

    /// Restores lost orders. Waits until the entries that other readers have at the first call are
    /// acknowledged, and returns false before.
    fn repair(&mut self, told: &mut repair::Told) -> Result<bool, Failure> {
        let Sink::Database(database, _) = &mut self.sink else { return Ok(true) };
        if let Some((first, last)) = self.stream.pending(&mut self.primary.redis)? {
            if first <= *self.awaited.get_or_insert(last) {
                return Ok(false);
            }
        }
        self.awaited = None;
        let key = self.stream.key.as_bytes();
        repair::all(&mut self.primary.redis, &mut **database, key, told, self.numbers)?;
        Ok(true)
    }
}
