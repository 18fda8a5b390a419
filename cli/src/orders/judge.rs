//! Finds the primary before any of its entries is stored.
//!
//! A failed primary that restarts is a primary again until it is demoted. Its epoch may be newer
//! than the true primary's. Sentinels go on naming it for about 0.7 s. So a primary is trusted only
//! after all Sentinels, or all nodes of a cluster, have named one process for the time `STEADY`.

use std::thread;
use std::time::{Duration, Instant};

use redis::{cmd, Client, Connection, RedisError, Value};

use crate::connect::witness::{Named, Witnesses};
use crate::connect::{connect, reach, Failure, Target};
use crate::stop::Stop;

/// All witnesses must have named one process for this time.
const STEADY: Duration = Duration::from_millis(2_500);

/// Time between two comparisons.
const EVERY: Duration = Duration::from_millis(100);

/// After this time without agreement a message is printed.
const TOLD_AFTER: Duration = Duration::from_secs(10);

/// Time limit for a server's answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The server that a session reads from.
pub struct Primary {
    pub redis: Connection,
    judged: Option<Judged>,
}

/// The witnesses of a primary, and the process that they named.
struct Judged {
    witnesses: Witnesses,
    named: Named,
    run: String,
    /// Time of the last agreement.
    at: Instant,
}

impl Primary {
    /// Waits for the primary that has this key; `None` when `stop` came first.
    ///
    /// # Errors
    /// If there is no primary yet, or a request is refused.
    pub fn find(target: &Target, key: &str, stop: &Stop) -> Result<Option<Primary>, Failure> {
        let witnesses = match target {
            Target::Primary(sentinels) => sentinels.witnesses(),
            Target::Address(_) => {
                let mut redis = connect(target)?;
                if !info(&mut redis)?.contains("redis_mode:cluster") {
                    return Ok(Some(Primary { redis, judged: None }));
                }
                nodes(redis, target, key)?
            }
        };
        let is_sentinel = matches!(target, Target::Primary(_));
        let began = Instant::now();
        let mut open: Option<(Named, Connection)> = None;
        let mut since: Option<(Instant, Named, String)> = None;
        while !stop.is_told() {
            match look(target, &witnesses, is_sentinel, &mut open) {
                Ok((named, run)) => match (&since, open.take()) {
                    (Some((at, steady, process)), Some((_, redis)))
                        if *steady == named && *process == run && at.elapsed() >= STEADY =>
                    {
                        let judged = Some(Judged { witnesses, named, run, at: Instant::now() });
                        return Ok(Some(Primary { redis, judged }));
                    }
                    (Some((_, steady, process)), kept) if *steady == named && *process == run => {
                        open = kept;
                    }
                    (_, kept) => {
                        open = kept;
                        since = Some((Instant::now(), named, run));
                    }
                },
                Err(failure) if !failure.heals || began.elapsed() > TOLD_AFTER => {
                    return Err(failure);
                }
                Err(_) => (open, since) = (None, None),
            }
            thread::sleep(EVERY);
        }
        Ok(None)
    }

    /// Whether witnesses exist: a single server has none.
    pub fn is_judged(&self) -> bool {
        self.judged.is_some()
    }

    /// Checks that the server is still the primary. If it is not, nothing more may be read from it.
    ///
    /// # Errors
    /// If it is not the primary, with the address of the primary.
    pub fn still(&self) -> Result<(), Failure> {
        let Some(judged) = &self.judged else { return Ok(()) };
        match judged.witnesses.agreed() {
            Ok(other) if other != judged.named => {
                let (host, port) = (other.host, other.port);
                Err(Failure::passing(format!("the primary is now {host}:{port}")))
            }
            // Without agreement nothing is lost: entries of this process have its epoch.
            _ => Ok(()),
        }
    }

    /// Called when the primary writes entries of a newer epoch. In the middle of a session the new
    /// epoch means that the primary was demoted and promoted again. Then waits until all witnesses
    /// name this primary again.
    ///
    /// # Errors
    /// If the witnesses do not name it for the time `STEADY`.
    pub fn new_epoch(&mut self, stop: &Stop) -> Result<(), Failure> {
        let Some(judged) = &mut self.judged else { return Ok(()) };
        if judged.at.elapsed() < STEADY {
            return Ok(());
        }
        let since = Instant::now();
        while since.elapsed() < STEADY {
            let is_named = judged.witnesses.agreed()? == judged.named;
            if stop.is_told() || !is_named || run_id(&mut self.redis)? != judged.run {
                return Err(Failure::passing("it is not sure which server is the primary"));
            }
            thread::sleep(EVERY);
        }
        judged.at = Instant::now();
        Ok(())
    }
}

/// The server that all witnesses name, and the run id of its process.
fn look(
    target: &Target,
    witnesses: &Witnesses,
    is_sentinel: bool,
    open: &mut Option<(Named, Connection)>,
) -> Result<(Named, String), Failure> {
    let named = witnesses.agreed()?;
    let mut redis = match open.take() {
        Some((before, redis)) if before == named => redis,
        _ => {
            let client = target.at(&named.host, named.port).map_err(Failure::lasting)?;
            reach(&client, PATIENCE)?
        }
    };
    let run = run_id(&mut redis)?;
    let id: String = match is_sentinel {
        true => run.clone(),
        false => cmd("CLUSTER").arg("MYID").query(&mut redis).map_err(Failure::of_redis)?,
    };
    if id != named.id {
        let (host, port) = (&named.host, named.port);
        return Err(Failure::passing(format!("{host}:{port} is another process than is named")));
    }
    *open = Some((named.clone(), redis));
    Ok((named, run))
}

fn info(redis: &mut Connection) -> Result<String, Failure> {
    cmd("INFO").arg("server").arg("replication").query(redis).map_err(Failure::of_redis)
}

/// The run id of a server that says it is a primary.
fn run_id(redis: &mut Connection) -> Result<String, Failure> {
    let info = info(redis)?;
    let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name));
    match (field("role:"), field("run_id:")) {
        (Some("master"), Some(run)) => Ok(run.to_owned()),
        _ => Err(Failure::passing("the server that is named is no primary")),
    }
}

/// The primaries of the cluster as witnesses: each is asked for the owner of this key's slot.
fn nodes(mut redis: Connection, target: &Target, key: &str) -> Result<Witnesses, Failure> {
    let slot: i64 =
        cmd("CLUSTER").arg("KEYSLOT").arg(key).query(&mut redis).map_err(Failure::of_redis)?;
    let known = slots(&mut redis).map_err(Failure::of_redis)?;
    let mut all: Vec<(String, u16)> = known.into_iter().map(|(_, of)| (of.host, of.port)).collect();
    all.sort();
    all.dedup();
    // A node that does not know its own address leaves out its host; the target's host is used.
    let own = target.name();
    let own = own.rsplit_once(':').map_or(own.as_str(), |(host, _)| host).to_owned();
    let host_of = move |host: &str| if host.is_empty() { own.clone() } else { host.to_owned() };
    let clients: Result<Vec<Client>, String> =
        all.iter().map(|(host, port)| target.at(&host_of(host), *port)).collect();
    let clients = clients.map_err(Failure::lasting)?;
    Ok(Witnesses::ask(&clients, PATIENCE, move |redis| {
        let found = slots(redis)?.into_iter().find(|(range, _)| range.contains(&slot));
        let named = found.map(|(_, Named { host, port, id, is_sure })| {
            let host = host_of(&host);
            Named { host, port, id, is_sure }
        });
        let nobody = Named { host: String::new(), port: 0, id: String::new(), is_sure: false };
        Ok(named.unwrap_or(nobody))
    }))
}

/// Ranges of slots, each with its primary.
fn slots(
    redis: &mut Connection,
) -> Result<Vec<(std::ops::RangeInclusive<i64>, Named)>, RedisError> {
    let rows: Vec<Vec<Value>> = cmd("CLUSTER").arg("SLOTS").query(redis)?;
    let range = |row: Vec<Value>| {
        let mut row = row.into_iter();
        let (Some(Value::Int(first)), Some(Value::Int(last)), Some(Value::Array(node))) =
            (row.next(), row.next(), row.next())
        else {
            return None;
        };
        let mut node = node.into_iter();
        let host = node.next().and_then(|host| redis::from_redis_value(host).ok());
        let port = redis::from_redis_value(node.next()?).ok()?;
        let id = redis::from_redis_value(node.next()?).ok()?;
        let host: Option<String> = host.flatten();
        Some((first..=last, Named { host: host.unwrap_or_default(), port, id, is_sure: true }))
    };
    Ok(rows.into_iter().filter_map(range).collect())
}
