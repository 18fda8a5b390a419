//! The cases in `clients/cases.json`: the answers that every client must give under each fault. The
//! words of the file are explained in `clients/cases.md`.

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use seckill_harness::driver::Driver;
use seckill_harness::launch::connect;
use serde::Deserialize;
use serde_json::{json, Map, Value};

use crate::driver::Client;
use crate::place::{Hanging, On, Place};
use crate::proxy::{Then, Trouble};

/// One case: a sale and its steps. `KEY` in a command is the sale's key.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    /// The name in Chinese.
    pub zh: String,
    /// Commands, see [`Place::order`].
    setup: Vec<String>,
    #[serde(default)]
    steps: Vec<Step>,
    /// Number of users of a storm: the reply to each is cut at another byte.
    #[serde(default)]
    storm: usize,
    /// Number of parts of the storm's sale.
    #[serde(default)]
    parts: usize,
    /// The servers of the case: one, Sentinels or a cluster.
    #[serde(default)]
    pub on: On,
    /// Wrong clients that must fail in this case, and in no other.
    #[serde(default)]
    pub catches: Vec<String>,
    /// Languages whose compiler finds the error.
    #[serde(default)]
    pub not_for: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// Commands of another client.
    #[serde(default)]
    before: Vec<String>,
    /// The client's call.
    call: Map<String, Value>,
    /// Byte counts after which the replies to the call are cut, one after the other.
    #[serde(default)]
    cut: Vec<usize>,
    /// Only replies to requests with this word are cut.
    cut_of: Option<String>,
    /// Milliseconds by which each reply is late.
    #[serde(default)]
    slow_ms: u64,
    /// An error for all existing connections.
    sick: Option<String>,
    /// Number of words that are added to each reply.
    #[serde(default)]
    more_words: usize,
    /// Commands of another client at the time of the first cut or error.
    #[serde(default)]
    then: Vec<String>,
    /// The replica does not answer during the step.
    #[serde(default)]
    stalled: bool,
    /// The server does not answer during the step. In a cluster its replica takes over.
    #[serde(default)]
    frozen: bool,
    /// The same in a cluster, and all connections to it end.
    #[serde(default)]
    gone: bool,
    /// The call must end within this many milliseconds.
    within_ms: Option<u64>,
    /// Fields that the answer must have; others are ignored.
    #[serde(default)]
    expect: Map<String, Value>,
    /// Fields that STATUS must have after the step.
    #[serde(default)]
    status: Map<String, Value>,
    /// The key of the part, if the sale is split.
    #[serde(default = "whole")]
    of: String,
}

fn whole() -> String {
    "KEY".into()
}

/// The length of a GRANTED reply plus 1.
const CUTS: usize = 46;
/// A frozen server stays frozen for this long after the timeout of the call.
const THAW_AFTER: Duration = Duration::from_secs(2);

impl Case {
    /// Whether the case is for this client.
    pub fn is_for(&self, client: &Client) -> bool {
        // A Redis library that resends by itself hides that a reader's reply was lost.
        let is_hidden = client.resends && self.steps.iter().any(|step| step.cut_of.is_some());
        self.on == client.on
            && !is_hidden
            && !self.not_for.iter().any(|name| name == client.language)
    }

    /// Runs the case. Returns the client's error, if any.
    ///
    /// # Errors
    /// A message if the case itself can't run.
    pub fn play(
        &self,
        place: &Place,
        client: &Client,
        driver: &mut Driver,
        at: usize,
    ) -> Result<(), String> {
        let title = client.title().replace(' ', "_");
        let pid = place.servers.first().map_or(0, seckill_harness::program::Server::pid);
        // Keys of a case share a slot.
        let name = match place.on {
            On::Cluster => format!("{{{title}:{at}:{pid}}}"),
            _ => format!("{title}:{at}:{pid}"),
        };
        let key = format!("{}{name}", client.prefix);
        // A failed case may have left the server with a memory limit.
        place.order("CONFIG SET maxmemory 0", &key)?;
        self.setup.iter().try_for_each(|command| place.order(command, &key))?;
        self.steps.iter().try_for_each(|step| step.play(place, client, driver, [&name, &key]))?;
        match self.storm {
            0 => Ok(()),
            users => storm(place, driver, users, self.parts, [&name, &key]),
        }
    }
}

impl Step {
    fn play(
        &self,
        place: &Place,
        client: &Client,
        driver: &mut Driver,
        [name, key]: [&str; 2],
    ) -> Result<(), String> {
        self.before.iter().try_for_each(|command| place.order(command, key))?;
        let mut order = self.call.clone();
        order.entry("key").or_insert_with(|| json!("KEY"));
        let order = json!(order).to_string().replace("KEY", name);
        let (asked_then, then) = mpsc::channel();
        let run_then: Then = Box::new(move || {
            let (tell, done) = mpsc::channel::<()>();
            // The reply is passed on after the hook.
            let _ = (asked_then.send(tell), done.recv());
        });
        place.troubles.begin(Trouble {
            cut: self.cut.iter().copied().collect(),
            cut_of: self.cut_of.clone(),
            slow_ms: self.slow_ms,
            then: (!self.then.is_empty()).then_some(run_then),
            sick: self.sick.clone(),
            more_words: self.more_words,
            ..Trouble::default()
        });
        let answer = self.with_hangs(place, key, || {
            let began = Instant::now();
            let answer = driver.ask_while(&order, || {
                let Ok(told) = then.try_recv() else { return Ok(()) };
                let done = self.then.iter().try_for_each(|command| place.order(command, key));
                drop(told);
                done
            });
            Ok((answer?, began.elapsed()))
        });
        let ((answer, took), unbroken) = (answer?, place.troubles.end());
        if self.frozen || self.gone {
            place.settle()?;
        }
        if unbroken > 0 {
            return Err(format!("{order}: {unbroken} replies did not break off, {answer}"));
        }
        if self.within_ms.is_some_and(|within| took > Duration::from_millis(within)) {
            return Err(format!("{order}: took {} ms: {answer}", took.as_millis()));
        }
        let mut expected = self.expect.clone();
        if client.resends {
            expected.remove("lost");
            expected.remove("attempts");
        }
        let expected = json!(expected).to_string().replace("KEY", key);
        let expected: Value = serde_json::from_str(&expected).unwrap_or_default();
        fits(&expected, &answer).map_err(|why| format!("{order}: {why} in {answer}"))?;
        if self.status.is_empty() {
            return Ok(());
        }
        let status = place.status(&self.of.replace("KEY", key))?;
        fits(&json!(self.status), &status).map_err(|why| format!("{order}: STATUS: {why}"))
    }

    /// A frozen server continues after the call, or after a time limit.
    fn with_hangs<T>(
        &self,
        place: &Place,
        key: &str,
        call: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        if self.stalled {
            place.replica().freeze()?;
        }
        let hangs = self.frozen || self.gone;
        let hanging = if hangs { Some(place.hang(key, self.gone)?) } else { None };
        let (over, is_over) = mpsc::channel::<()>();
        let answer = thread::scope(|scope| {
            scope.spawn(move || {
                let within = Duration::from_millis(self.within_ms.unwrap_or_default());
                let _ = is_over.recv_timeout(within + THAW_AFTER);
                hanging.iter().for_each(Hanging::wakes);
            });
            let answer = call();
            drop(over);
            answer
        });
        if self.stalled {
            place.replica().thaw()?;
        }
        answer
    }
}

/// Compares every answer with the sale's grants.
fn storm(
    place: &Place,
    driver: &mut Driver,
    users: usize,
    parts: usize,
    [name, key]: [&str; 2],
) -> Result<(), String> {
    let mut told = BTreeSet::new();
    for user in 0..users {
        place.troubles.begin(Trouble { cut: [user % CUTS].into(), ..Trouble::default() });
        let mut order = json!({"call": "grab", "key": name, "user": format!("user-{user}")});
        if parts > 0 {
            order["parts"] = json!(parts);
        }
        let answer = driver.ask(&order.to_string())?;
        place.troubles.end();
        told.extend(heard(&order, &answer)?);
    }
    let keys = match parts {
        0 => vec![key.to_owned()],
        _ => (0..parts).map(|part| format!("{key}:{{p{part}}}")).collect(),
    };
    compare(place, &keys, &told)
}

/// A grant: its number, its user, its number of units.
pub type Grant = (u64, String, u64);

/// The grant in a buyer's answer, if any.
///
/// # Errors
/// An answer that is wrong in a storm.
pub fn heard(order: &Value, answer: &Value) -> Result<Option<Grant>, String> {
    let user = order["user"].as_str().unwrap_or_default().to_owned();
    match (answer["won"].as_bool(), answer["outcome"].as_str(), answer["seq"].as_u64()) {
        (Some(true), _, Some(seq)) => Ok(Some((seq, user, 1))),
        (Some(false), Some("SOLDOUT"), _) => Ok(None),
        _ => Err(format!("{order}: {answer}")),
    }
}

/// Compares the grants in buyers' answers with those of the sales.
///
/// # Errors
/// A message with the differences.
pub fn compare(place: &Place, keys: &[String], told: &BTreeSet<Grant>) -> Result<(), String> {
    let mut known = BTreeSet::new();
    for key in keys {
        let rows = seckill_crowd::sale::grants(&mut connect(place.port_of(key)?)?, key, None)?;
        known.extend(rows.into_iter().map(|row| (row.seq, row.user.to_string(), row.qty)));
    }
    if known == *told {
        return Ok(());
    }
    let (sold, heard) = (known.difference(told), told.difference(&known));
    Err(format!(
        "sold but not told {:?}, told but not sold {:?}",
        sold.collect::<Vec<_>>(),
        heard.collect::<Vec<_>>()
    ))
}

/// # Errors
/// A message that says what is wrong with the file.
pub fn cases() -> Result<Vec<Case>, String> {
    let text = include_str!("../../cases.json");
    let cases: Vec<Case> =
        serde_json::from_str(text).map_err(|e| format!("clients/cases.json: {e}"))?;
    match cases.iter().find(|case| case.catches.is_empty()) {
        None => Ok(cases),
        Some(case) => Err(format!("clients/cases.json: no wrong client fails in {:?}", case.name)),
    }
}

/// Checks that all expected fields are there; objects may have more.
fn fits(expected: &Value, actual: &Value) -> Result<(), String> {
    match (expected, actual) {
        (Value::Object(fields), Value::Object(_)) => fields.iter().try_for_each(|(name, field)| {
            fits(field, &actual[name]).map_err(|why| format!("{name}: {why}"))
        }),
        (Value::Array(items), Value::Array(there)) if items.len() == there.len() => {
            items.iter().zip(there).try_for_each(|(item, there)| fits(item, there))
        }
        _ if expected == actual => Ok(()),
        _ => Err(format!("{actual} instead of {expected}")),
    }
}
