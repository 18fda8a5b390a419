//! Sentinels for the servers. Sentinels and replicas reach each server by a link that can be cut.
//! Clients connect to the primary that a Sentinel reports.

use std::time::{Duration, Instant};

use seckill_harness::link::Link;
use seckill_harness::sentinel::Trio;

use crate::tls::Tls;

/// Time without an answer after which a primary counts as down: longer than other faults.
const LINES: [&str; 2] =
    ["sentinel down-after-milliseconds mymaster 3000", "sentinel failover-timeout mymaster 10000"];
/// Time after a demotion before the next failover by hand, as in docs/sentinel.md.
pub const QUIET: Duration = Duration::from_secs(10);

pub struct Sentinels {
    pub trio: Trio,
    pub ways: Vec<Link>,
    /// Time of the last demotion of a primary.
    pub demoted: Instant,
}

impl Sentinels {
    pub fn start(ways: Vec<Link>, tls: Option<&Tls>) -> Result<Sentinels, String> {
        let trio = Trio::start_each(ways[0].port(), ways.len() - 1, || {
            let own = LINES.iter().map(|line| (*line).to_owned());
            own.chain(tls.map(Tls::lines).unwrap_or_default()).collect()
        })?;
        // No demotion so far.
        let demoted = Instant::now().checked_sub(QUIET).unwrap_or_else(Instant::now);
        Ok(Sentinels { trio, ways, demoted })
    }

    /// The port by which others reach a server.
    pub fn way(&self, number: usize) -> u16 {
        self.ways[number].port()
    }

    /// Whether all Sentinels report this primary and know the others as its replicas.
    pub fn are_settled(&self, primary: usize) -> bool {
        self.trio.is_settled(self.way(primary), self.ways.len() - 1)
    }
}
