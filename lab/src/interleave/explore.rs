//! Chooses the schedules: all orders if they are few enough, then a random sample.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contender::Contender;
use crate::interleave::judge::faults;
use crate::interleave::setting::{settings, Kind, Setting};
use crate::interleave::stage::Stage;
use crate::interleave::timeline::Timeline;
use crate::interleave::{Choice, Played};
use crate::told::{Fault, Maker};

/// The sample's seed: the same schedules in every run.
const SEED: u64 = 7;

/// A fault and the shortest schedule that shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    pub fault: Fault,
    pub timeline: Timeline,
    /// Size of the schedule; a smaller one is shown: expired leases, buyers, steps, changes of
    /// buyer. A fault without an expired lease comes first, because it needs no slow worker.
    pub size: (usize, usize, usize, usize),
}

/// The interleaver's results for one contender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Proof {
    pub id: String,
    pub schedules: usize,
    /// Whether every order of every setting was played.
    pub complete: bool,
    pub findings: Vec<Finding>,
}

impl Proof {
    pub fn faults(&self) -> Vec<Fault> {
        self.findings.iter().map(|finding| finding.fault).collect()
    }

    /// Faults without a mark, and marks without a fault.
    pub fn contradictions(&self, contender: &Contender, maker: Maker) -> Vec<String> {
        let marked = contender.marked_on(maker);
        let found = self.faults();
        let unmarked = found.iter().filter(|fault| !marked.contains(fault));
        let unseen = marked.iter().filter(|fault| !found.contains(fault));
        let unmarked = unmarked
            .map(|f| format!("{}: {f:?} found, and it is not marked so", self.named(maker)));
        let unseen = unseen
            .map(|f| format!("{}: marked {f:?}, and no schedule shows it", self.named(maker)));
        unmarked.chain(unseen).collect()
    }
}

impl Proof {
    fn named(&self, maker: Maker) -> String {
        match maker {
            Maker::MariaDb => self.id.clone(),
            other => format!("{} on {}", self.id, other.name()),
        }
    }
}

/// Plays all settings of a contender, at most `limit` schedules each. If there are more, half of
/// them are random.
///
/// # Errors
/// A message if the lab itself fails.
pub fn prove(stage: &mut Stage, contender: &Contender, limit: usize) -> Result<Proof, String> {
    let mut search = Search { contender, best: BTreeMap::new(), schedules: 0, complete: true };
    for setting in settings(contender) {
        match setting.kind {
            Kind::Crash => search.crashes(stage, &setting)?,
            _ => search.orders(stage, &setting, limit)?,
        }
    }
    Ok(Proof {
        id: contender.id.to_owned(),
        schedules: search.schedules,
        complete: search.complete,
        findings: search.best.into_values().collect(),
    })
}

struct Search<'c> {
    contender: &'c Contender,
    best: BTreeMap<Fault, Finding>,
    schedules: usize,
    complete: bool,
}

/// One point of a schedule: the possible choices, and the one taken.
struct Point {
    options: Vec<Choice>,
    taken: usize,
}

impl Search<'_> {
    /// Depth first: changes the last choice that has an untried alternative, until none is left.
    fn orders(&mut self, stage: &mut Stage, setting: &Setting, limit: usize) -> Result<(), String> {
        let mut path: Vec<Point> = Vec::new();
        let mut random = fastrand::Rng::with_seed(SEED);
        for played in 0.. {
            if played == limit {
                self.complete = false;
                return Ok(());
            }
            let sampled = played >= limit.div_ceil(2) && limit > 1;
            let (mut trace, mut strayed) = (Vec::new(), false);
            let played = stage.play(self.contender, setting, |options| {
                if options.is_empty() {
                    return None;
                }
                let depth: usize = trace.len();
                let known = path.get(depth).map(|point| point.options[point.taken]);
                let choice = match known.filter(|choice| options.contains(choice)) {
                    _ if sampled => options[random.usize(..options.len())],
                    Some(choice) => choice,
                    None => {
                        // The database may unblock buyers in another order than before.
                        strayed |= depth < path.len();
                        path.truncate(depth);
                        let options = nearest_first(options, trace.last());
                        let choice = options[0];
                        path.push(Point { options, taken: 0 });
                        choice
                    }
                };
                trace.push(choice);
                Some(choice)
            })?;
            self.complete &= !strayed;
            self.judge(setting, &played, &trace)?;
            if sampled {
                continue;
            }
            while path.last().is_some_and(|point| point.taken + 1 == point.options.len()) {
                path.pop();
            }
            match path.last_mut() {
                Some(point) => point.taken += 1,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// A dies after 0, 1, 2 ... steps, up to its last one. Then A retries and B comes, and in a
    /// second schedule B comes before A retries.
    fn crashes(&mut self, stage: &mut Stage, setting: &Setting) -> Result<(), String> {
        [(1, 2), (2, 1)].into_iter().try_for_each(|order| self.crash(stage, setting, order))
    }

    fn crash(
        &mut self,
        stage: &mut Stage,
        setting: &Setting,
        (second, third): (usize, usize),
    ) -> Result<(), String> {
        let helper = setting.people.iter().position(|person| person.helps);
        for dies_after in 0.. {
            let (mut steps, mut trace, mut died) = (0, Vec::new(), false);
            let played = stage.play(self.contender, setting, |options| {
                let go = |who: usize| options.contains(&Choice::Go(who)).then_some(Choice::Go(who));
                let choice = if !died && steps == dies_after {
                    died = true;
                    // After the last step the process has ended, but its answer is lost.
                    options.contains(&Choice::Dies(0)).then_some(Choice::Dies(0))
                } else {
                    None
                };
                let lease = options.contains(&Choice::LeaseEnds).then_some(Choice::LeaseEnds);
                // C comes only after an expired lease.
                let last = || if trace.contains(&Choice::LeaseEnds) { go(3) } else { None };
                let others = || go(second).or_else(|| go(third)).or(lease).or_else(last);
                let choice = choice.or_else(|| go(0)).or_else(others);
                let choice = choice.or_else(|| helper.and_then(go));
                steps += usize::from(choice == Some(Choice::Go(0)));
                trace.extend(choice);
                choice
            })?;
            let all = steps < dies_after;
            // A setting that fails without a crash needs no crash.
            if dies_after == 0 && !faults(setting, &played).is_empty() {
                return Ok(());
            }
            self.judge(setting, &played, &trace)?;
            if all {
                return Ok(());
            }
        }
        Ok(())
    }

    fn judge(
        &mut self,
        setting: &Setting,
        played: &Played,
        trace: &[Choice],
    ) -> Result<(), String> {
        self.schedules += 1;
        if let Some(trouble) = played.outcomes.iter().find_map(|one| one.trouble.as_ref()) {
            return Err(format!("{}: {trouble}", self.contender.id));
        }
        let came = played.outcomes.iter().filter(|one| one.first.is_some()).count();
        let switches = trace.windows(2).filter(|two| two[0] != two[1]).count();
        let leases = trace.iter().filter(|choice| **choice == Choice::LeaseEnds).count();
        let size = (leases, came, trace.len(), switches);
        for fault in faults(setting, played) {
            let better = self.best.get(&fault).is_none_or(|best| size < best.size);
            if better {
                let timeline = Timeline::of(setting.stock, played);
                self.best.insert(fault, Finding { fault, timeline, size });
            }
        }
        Ok(())
    }
}

/// The last buyer first, so that schedules with few changes of buyer come early.
fn nearest_first(options: &[Choice], last: Option<&Choice>) -> Vec<Choice> {
    let mut options = options.to_vec();
    options.sort_by_key(|choice| Some(choice) != last);
    options
}
