//! Witnesses: servers that are asked periodically for the primary, either Sentinels or nodes of a
//! cluster.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use redis::{Client, Connection, RedisError};

use super::{heals, reach, Failure};

/// Time from one answer to the next question.
const EVERY: Duration = Duration::from_millis(200);

/// Age from which an answer is out of date.
const FRESH: Duration = Duration::from_millis(1_500);

/// The primary that a witness names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub host: String,
    pub port: u16,
    /// The run id that Sentinel knows of the primary's process, or its id in the cluster.
    pub id: String,
    /// False while the witness takes the primary for down, or knows too little of it.
    pub is_sure: bool,
}

/// The last answer of a witness, and its time.
type Heard = Arc<Mutex<Option<(Instant, Result<Named, Failure>)>>>;

/// Threads that ask the witnesses; they end when the value is dropped.
pub struct Witnesses {
    heard: Vec<Heard>,
    over: Arc<AtomicBool>,
}

impl Drop for Witnesses {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

impl Witnesses {
    /// Asks each witness on its own thread: a witness that does not answer delays no other.
    pub fn ask(
        clients: &[Client],
        patience: Duration,
        ask: impl Fn(&mut Connection) -> Result<Named, RedisError> + Clone + Send + 'static,
    ) -> Witnesses {
        let over = Arc::new(AtomicBool::new(false));
        let witness = |client: &Client| {
            let heard = Heard::default();
            let (client, ask) = (client.clone(), ask.clone());
            let (keep, over) = (Arc::clone(&heard), Arc::clone(&over));
            thread::spawn(move || {
                let mut open = None;
                while !over.load(Ordering::Relaxed) {
                    let said = ask_one(&client, &mut open, patience, &ask);
                    let said = (Instant::now(), said);
                    *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
                    thread::sleep(EVERY);
                }
            });
            heard
        };
        let heard = clients.iter().map(witness).collect();
        Witnesses { heard, over }
    }

    /// The primary that all answering witnesses name, if these are more than half.
    ///
    /// # Errors
    /// If there is none, with the reason.
    pub fn agreed(&self) -> Result<Named, Failure> {
        let (mut named, mut away): (Vec<Named>, Vec<Failure>) = (Vec::new(), Vec::new());
        for heard in &self.heard {
            match &*heard.lock().unwrap_or_else(PoisonError::into_inner) {
                Some((at, Ok(one))) if at.elapsed() < FRESH => named.push(one.clone()),
                Some((_, Err(failure))) => away.push(failure.clone()),
                _ => {}
            }
        }
        let worst = away.iter().min_by_key(|failure| failure.heals);
        agreement(named, self.heard.len()).map_err(|why| match worst {
            Some(Failure { said, heals }) => {
                Failure { said: format!("{why}: {said}"), heals: *heals }
            }
            None => Failure::passing(why),
        })
    }
}

fn ask_one(
    client: &Client,
    open: &mut Option<Connection>,
    patience: Duration,
    ask: &impl Fn(&mut Connection) -> Result<Named, RedisError>,
) -> Result<Named, Failure> {
    let mut redis = match open.take() {
        Some(redis) => redis,
        None => reach(client, patience)?,
    };
    let address = client.get_connection_info().addr();
    let failed = |e| Failure { said: format!("{address} says: {e}"), heals: heals(&e) };
    let named = ask(&mut redis).map_err(failed)?;
    *open = Some(redis);
    Ok(named)
}

/// The primary that all of `named` name, if more than half of `asked` answered.
fn agreement(mut named: Vec<Named>, asked: usize) -> Result<Named, &'static str> {
    if named.len() * 2 <= asked {
        return Err("too few answer who the primary is");
    }
    let Some(one) = named.pop() else { return Err("nobody was asked") };
    if named.iter().any(|other| *other != one) {
        return Err("they do not agree who the primary is");
    }
    match one.is_sure {
        true => Ok(one),
        false => Err("they do not reach the primary"),
    }
}

#[cfg(test)]
mod tests {
    use super::{agreement, Named};

    #[test]
    fn more_than_half_must_answer_and_all_of_them_agree() {
        let by = |id: &str| Named { host: "h".into(), port: 1, id: id.into(), is_sure: true };
        assert_eq!(agreement(vec![by("a"), by("a"), by("a")], 3), Ok(by("a")));
        assert_eq!(agreement(vec![by("a"), by("a")], 3), Ok(by("a")));
        assert!(agreement(vec![by("a")], 3).is_err(), "one of three");
        assert!(agreement(vec![by("a"), by("a")], 4).is_err(), "two of four");
        assert!(agreement(vec![by("a"), by("a"), by("b")], 3).is_err(), "two against one");
        assert!(agreement(Vec::new(), 0).is_err(), "nobody");
        let unsure = Named { is_sure: false, ..by("a") };
        assert!(agreement(vec![unsure.clone(), unsure], 2).is_err(), "all think that it is down");
    }
}
