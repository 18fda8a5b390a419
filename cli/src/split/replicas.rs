//! The replicas of a node: their number, and whether they answer.

use std::time::{Duration, Instant};

use redis::{cmd, Cmd};

/// Time limit for a replica's acknowledgement, in milliseconds.
const WAIT_MS: u64 = 1_000;
/// Time for which a reading of INFO and CLUSTER NODES is used.
const KNOWN: Duration = Duration::from_secs(1);
/// Pause for sends from a node after a WAIT that timed out. The pause doubles with every further
/// timeout in a row.
const REST: Duration = Duration::from_secs(1);
const REST_MAX: Duration = Duration::from_secs(16);
/// A replica reports its offset every second. A replica silent for longer than this is frozen or
/// cut off.
const LAG_MAX_S: u64 = 2;

/// The replicas of one node.
pub struct Replicas {
    asked: Instant,
    /// Number of replicas that must acknowledge a SEND.
    pub count: usize,
    /// Whether `count` replicas are connected.
    are_there: bool,
    rest: Duration,
    rests_until: Instant,
}

impl Replicas {
    /// Reads INFO replication and CLUSTER NODES. `wanted` is the number that the operator gave,
    /// `before` the result of the last reading.
    pub fn new(info: &str, nodes: &str, wanted: Option<usize>, before: Option<&Replicas>) -> Self {
        let asked = Instant::now();
        let count = wanted.unwrap_or_else(|| number_of(info, nodes));
        // A user without rights for INFO has named the number of replicas; WAIT shows whether they
        // are there.
        let are_there = info.is_empty() || in_touch(info) >= count;
        let (rest, rests_until) =
            before.map_or((REST, asked), |before| (before.rest, before.rests_until));
        Replicas { asked, count, are_there, rest, rests_until }
    }

    /// Whether the reading is still recent enough.
    pub fn is_known(&self) -> bool {
        self.asked.elapsed() < KNOWN
    }

    /// Whether a WAIT would time out, so that nothing should be sent.
    pub fn are_silent(&self) -> bool {
        !self.are_there || Instant::now() < self.rests_until
    }

    /// The WAIT to send after a SEND.
    pub fn wait(&self) -> Cmd {
        let mut wait = cmd(if self.count > 0 { "WAIT" } else { "WAITAOF" });
        match self.count {
            0 => wait.arg(1).arg(0).arg(WAIT_MS),
            count => wait.arg(count).arg(WAIT_MS),
        };
        wait
    }

    /// Notes whether a WAIT was answered in time.
    pub fn heard(&mut self, in_time: bool) {
        if in_time {
            self.rest = REST;
        } else {
            self.rests_until = Instant::now() + self.rest;
            self.rest = (2 * self.rest).min(REST_MAX);
        }
    }
}

/// Number of replicas by CLUSTER NODES, dead ones included; for a single server by INFO, which
/// lists connected replicas only, and backups by `redis-cli --rdb`, which have no port.
fn number_of(info: &str, nodes: &str) -> usize {
    let me = nodes.lines().find(|line| line.contains("myself"));
    let Some(id) = me.and_then(|line| line.split(' ').next()) else {
        let is_replica = |line: &&str| line.contains(",port=") && !line.contains(",port=0,");
        return info.lines().filter(is_replica).count();
    };
    nodes.lines().filter(|line| line.split(' ').nth(3) == Some(id)).count()
}

/// Number of replicas that acknowledged their offset lately:
/// `slave0:ip=...,port=...,state=online,offset=...,lag=0`.
fn in_touch(info: &str) -> usize {
    let replicas = info.lines().filter(|line| line.starts_with("slave"));
    let is_in_touch = |line: &&str| {
        let lag = line.split(',').find_map(|field| field.trim().strip_prefix("lag="));
        let lag = lag.and_then(|lag| lag.parse::<u64>().ok());
        line.contains("state=online") && lag.is_some_and(|lag| lag <= LAG_MAX_S)
    };
    replicas.filter(is_in_touch).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "role:master\r\nconnected_slaves:3\r\n\
        slave0:ip=127.0.0.1,port=1,state=online,offset=9,lag=1\r\n\
        slave1:ip=127.0.0.1,port=2,state=online,offset=9,lag=3,type=replica\r\n\
        slave2:ip=127.0.0.1,port=3,state=wait_bgsave,offset=0,lag=0\r\n";

    #[test]
    fn dead_replicas_count_and_those_of_others_do_not() {
        let nodes = "\
            aa 127.0.0.1:1@2 myself,master - 0 0 1 connected 0-5460\n\
            bb 127.0.0.1:3@4 master - 0 0 2 connected 5461-16383\n\
            cc 127.0.0.1:5@6 slave,fail aa 0 0 1 disconnected\n\
            dd 127.0.0.1:7@8 slave aa 0 0 1 connected\n\
            ee 127.0.0.1:9@10 slave bb 0 0 2 connected\n";
        assert_eq!(number_of("connected_slaves:1\r\n", nodes), 2);
        assert_eq!(number_of(INFO, ""), 3);
        let backup = "slave3:ip=127.0.0.1,port=0,state=send_bulk,offset=0,lag=0\r\n";
        assert_eq!(number_of(&format!("{INFO}{backup}"), ""), 3);
    }

    #[test]
    fn too_few_in_touch_are_silent() {
        assert_eq!(in_touch(INFO), 1);
        let silent = |wanted| Replicas::new(INFO, "", wanted, None).are_silent();
        assert!(silent(None) && silent(Some(2)));
        assert!(!silent(Some(1)) && !silent(Some(0)));
        assert!(!Replicas::new("", "", Some(2), None).are_silent());
    }

    #[test]
    fn a_wait_in_vain_is_followed_by_a_rest_that_grows() {
        let mut replicas = Replicas::new(INFO, "", Some(1), None);
        replicas.heard(false);
        assert!(replicas.are_silent());
        let mut again = Replicas::new(INFO, "", Some(1), Some(&replicas));
        assert!(again.are_silent(), "it goes on");
        (0..9).for_each(|_| again.heard(false));
        assert_eq!(again.rest, REST_MAX);
        again.heard(true);
        assert_eq!(again.rest, REST);
    }
}
