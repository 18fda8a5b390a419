//! A server and its replica with a Sentinel, and failovers.

use std::path::Path;

use seckill_harness::cluster::says;
use seckill_harness::program::Server;
use seckill_harness::sentinel::Sentinel;
use seckill_harness::wait::until;

use crate::place::{run, tell, On, Place};
use crate::proxy::Troubles;
use crate::slots::catches_up;

/// Time after which a Sentinel declares a server down: long enough for a busy machine.
const SETTINGS: [&str; 2] =
    ["sentinel down-after-milliseconds mymaster 3000", "sentinel failover-timeout mymaster 5000"];
/// Sentinels read INFO every second instead of every ten, so that they notice the end of a failover
/// soon.
const HURRY: &str = "SENTINEL DEBUG INFO-PERIOD 1000 PUBLISH-PERIOD 500";

impl Place {
    /// Starts a server with a replica and a Sentinel. Servers, Sentinel and clients see only the
    /// ports of the proxies.
    ///
    /// # Errors
    /// A message that says what does not start.
    pub fn with_sentinel(module: &Path) -> Result<Place, String> {
        let troubles = Troubles::default();
        let proxies = vec![troubles.link()?, troubles.link()?];
        let primary = format!("127.0.0.1 {}", proxies[0].port());
        let mut servers = Vec::new();
        for (at, proxy) in proxies.iter().enumerate() {
            let announced = proxy.port().to_string();
            let mut settings =
                vec!["--replica-announce-port", &announced, "--repl-diskless-sync-delay", "0"];
            if at > 0 {
                settings.extend(["--replicaof", &primary]);
            }
            let server = Server::start(module, &settings)?;
            proxy.lead_to(server.port());
            servers.push(server);
        }
        let mut place = Place::of(On::Sentinel, servers, proxies, troubles);
        place.replica_is_there()?;
        let sentinel = Sentinel::start(place.proxies[0].port(), 1, &SETTINGS)?;
        tell(sentinel.port(), HURRY)?;
        place.sentinel = Some(sentinel);
        place.settle().map(|()| place)
    }

    /// After a server was frozen or demoted, waits until the Sentinel reports the primary with its
    /// replica, or the cluster is whole. A single server needs no wait.
    ///
    /// # Errors
    /// A message if the time is over.
    pub(crate) fn settle(&self) -> Result<(), String> {
        if self.on == On::Cluster {
            return self.settles();
        }
        let Some(sentinel) = &self.sentinel else { return Ok(()) };
        let mut known = Vec::new();
        let knows = until("the Sentinel knows a primary and its replica", || {
            let ask = "SENTINEL REPLICAS mymaster";
            known = run::<Vec<Vec<String>>>(sentinel.port(), ask).unwrap_or_default();
            let is = |name: &str, value: &str| {
                let replica = known.first().map(Vec::as_slice).unwrap_or_default();
                replica.chunks(2).any(|pair| pair[0] == name && pair[1] == value)
            };
            let wanted =
                [("flags", "slave"), ("role-reported", "slave"), ("master-link-status", "ok")];
            Ok(known.len() == 1 && wanted.iter().all(|(name, value)| is(name, value)))
        });
        knows.map_err(|why| format!("{why}: {known:?}"))?;
        let named = sentinel.named()?;
        let primary = self.proxies.iter().position(|proxy| proxy.port() == named);
        self.replica.set(1 - primary.ok_or("the Sentinel names a server that is none of ours")?);
        self.replica_is_there()
    }

    /// A failover as in docs/sentinel.md: the primary is paused until the replica has all changes,
    /// and refuses writes without a replica. (The Sentinel can't demote a paused server.)
    pub(crate) fn ask_for_failover(&self) -> Result<(), String> {
        self.settle()?;
        let Some(sentinel) = &self.sentinel else { return Ok(()) };
        let (old, new) = (self.primary().port(), self.proxies[self.replica.get()].port());
        tell(old, "CLIENT PAUSE 20000 WRITE")?;
        catches_up(old)?;
        tell(old, "CONFIG SET min-replicas-to-write 1")?;
        until("the Sentinel agrees to a failover", || {
            tell(sentinel.port(), "SENTINEL FAILOVER mymaster").map(|()| true)
        })?;
        until("the Sentinel names the new primary", || Ok(sentinel.named()? == new))?;
        tell(old, "CLIENT UNPAUSE")?;
        until("the old primary is a replica", || Ok(says(old, "INFO replication", "role:slave")))?;
        tell(old, "CONFIG SET min-replicas-to-write 0")?;
        self.settle()
    }
}
