//! A rush on a sale behind Sentinel or in a cluster: 300 buyers use one library while replies are
//! cut, a replica is promoted and, in a cluster, the slot moves. The users with a GRANTED answer
//! must be exactly those with a grant in the sale.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use seckill_harness::driver::Driver;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::driver::Client;
use crate::place::{On, Place};
use crate::proxy::Trouble;
use crate::table::{compare, heard, Grant};

pub const NAMES: [&str; 2] = [
    "sentinel: 300 buyers, cuts, a replica takes over: told = in the sale",
    "cluster: 300 buyers, cuts, a replica takes over and the slot moves: told = in the sale",
];
pub const NAMES_ZH: [&str; 2] = [
    "Sentinel：300 个买家，断线，从节点接管：返回成功的 = 活动里的",
    "集群：300 个买家，断线，从节点接管，槽搬家：返回成功的 = 活动里的",
];
const BUYERS: usize = 300;
const UNITS: usize = 200;
/// Number of programs that buy at the same time.
const PROGRAMS: usize = 3;
/// The reply to one buyer in this many is cut.
const CUT_EVERY: usize = 5;
/// Number of finished buyers when each fault occurs.
const FAIL_OVER_AT: usize = 60;
const MOVE_AT: usize = 140;
/// A buyer asks at most this often until there is an answer.
const ASKED_MAX: usize = 20;

/// The result of one rush, or the sum of rushes on several servers.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub struct Rush {
    pub buyers: u64,
    /// Number of incomplete replies.
    pub lost: u64,
    /// Units in GRANTED answers.
    pub told: u64,
    /// Granted units in the sale. The grants are compared one by one.
    pub sold: u64,
}

impl Rush {
    pub fn and(self, more: Rush) -> Rush {
        Rush {
            buyers: self.buyers + more.buyers,
            lost: self.lost + more.lost,
            told: self.told + more.told,
            sold: self.sold + more.sold,
        }
    }
}

/// The name of the rush with these servers, if any.
pub fn name(on: On) -> Option<&'static str> {
    match on {
        On::Single => None,
        On::Sentinel => Some(NAMES[0]),
        On::Cluster => Some(NAMES[1]),
    }
}

/// Runs the rush and returns its numbers.
///
/// # Errors
/// A message about a buyer who was told something wrong.
pub fn play(place: &Place, client: &Client) -> Result<Rush, String> {
    let name = format!("{{{}:rush:{}}}", client.title().replace(' ', "_"), place.servers[0].pid());
    let key = format!("{}{name}", client.prefix);
    place.order(&format!("SECKILL.INIT KEY {UNITS} LIMIT 0"), &key)?;
    let (through, lost) = (AtomicUsize::new(0), AtomicU64::new(0));
    let told = thread::scope(|scope| {
        let buyers: Vec<_> = (0..PROGRAMS)
            .map(|program| {
                let (through, lost, name) = (&through, &lost, &name);
                let (port, troubles) = (place.port(), place.troubles.clone());
                scope.spawn(move || {
                    let mut driver = client.start(port)?;
                    let mut told = Vec::new();
                    for user in (program..BUYERS).step_by(PROGRAMS) {
                        if user % CUT_EVERY == 0 {
                            troubles
                                .begin(Trouble { cut: [user % 40].into(), ..Trouble::default() });
                        }
                        told.extend(buy(&mut driver, name, user, lost)?);
                        through.fetch_add(1, Ordering::SeqCst);
                    }
                    Ok::<Vec<Grant>, String>(told)
                })
            })
            .collect();
        let happens = [(FAIL_OVER_AT, "FAILOVER KEY"), (MOVE_AT, "SLOT MOVE KEY")];
        let count = if place.on == On::Cluster { 2 } else { 1 };
        for (at, command) in &happens[..count] {
            while through.load(Ordering::SeqCst) < *at
                && !buyers.iter().all(|buyer| buyer.is_finished())
            {
                thread::sleep(Duration::from_millis(1));
            }
            place.order(command, &key)?;
        }
        let mut told = BTreeSet::new();
        for buyer in buyers {
            told.extend(buyer.join().map_err(|_| "a buyer panicked")??);
        }
        Ok::<_, String>(told)
    });
    place.troubles.end();
    let told = told?;
    if told.len() != UNITS {
        return Err(format!("{} of {UNITS} units were told to be somebody's", told.len()));
    }
    let status = place.status(&key)?;
    compare(place, &[key], &told)?;
    Ok(Rush {
        buyers: BUYERS as u64,
        lost: lost.into_inner(),
        told: told.iter().map(|(_, _, qty)| qty).sum(),
        sold: status["sold"].as_u64().unwrap_or_default(),
    })
}

fn buy(
    driver: &mut Driver,
    name: &str,
    user: usize,
    lost: &AtomicU64,
) -> Result<Option<Grant>, String> {
    let (buyer, req) = (format!("user-{user}"), format!("o-{user}"));
    let order = json!({"call": "grab", "key": name, "user": buyer, "req": req});
    for _ in 0..ASKED_MAX {
        let answer = driver.ask(&order.to_string())?;
        lost.fetch_add(answer["lost"].as_u64().unwrap_or(0), Ordering::SeqCst);
        if answer["error"] != "Unanswered" {
            return heard(&order, &answer);
        }
    }
    Err(format!("{order}: nobody answers"))
}
