//! Reading the outbox through a consumer group.

use redis::{cmd, Connection, RedisError, Value};

use crate::connect::Failure;

/// Time to wait for a new entry, in milliseconds.
const BLOCK_MS: usize = 100;

/// An outbox stream, and the consumer group that reads it.
pub struct Stream {
    pub key: String,
    pub group: String,
    pub consumer: String,
    /// Entries of one transaction.
    pub batch: usize,
}

/// An entry as it was delivered. Its id serves only for the acknowledgement.
pub struct Message {
    pub id: String,
    /// Names and values in turn; empty when the entry was deleted from the stream.
    pub fields: Vec<Vec<u8>>,
}

impl Message {
    /// Its id as numbers.
    pub fn number(&self) -> Option<Id> {
        number(&self.id)
    }
}

/// An id of an entry as two numbers, which compare as the stream has them.
pub type Id = (u64, u64);

fn number(id: &str) -> Option<Id> {
    let (ms, number) = id.split_once('-')?;
    Some((ms.parse().ok()?, number.parse().ok()?))
}

/// Redis gives no fields for an entry that was deleted.
type Delivered = Vec<(String, Option<Vec<Vec<u8>>>)>;

impl Stream {
    /// Creates the group if it is missing. The group starts at the oldest entry: an entry that the
    /// database has already changes nothing there.
    ///
    /// A missing stream that existed before may come back, with a sale that a failover lost. A
    /// stream that never existed is probably misspelt, so a retry does not help.
    ///
    /// # Errors
    /// The error of Redis, also for the other functions; also when the stream is missing.
    pub fn join(&self, redis: &mut Connection, was_there: bool) -> Result<(), Failure> {
        let made: Result<(), RedisError> =
            cmd("XGROUP").arg("CREATE").arg(&self.key).arg(&self.group).arg("0").query(redis);
        match made {
            Err(e) if e.code() == Some("BUSYGROUP") => Ok(()),
            Err(e) if e.to_string().contains("requires the key to exist") => Err(Failure {
                said: format!(
                    "there is no stream {key}. Is this its name? INIT with OUTBOX makes it, and \
                     before that XGROUP CREATE {key} {group} 0 MKSTREAM",
                    key = self.key,
                    group = self.group
                ),
                heals: was_there,
            }),
            other => other.map_err(Failure::of_redis),
        }
    }

    /// Entries that were delivered to this consumer and not acknowledged.
    pub fn under_way(&self, redis: &mut Connection) -> Result<Vec<Message>, Failure> {
        let reply = self.read().arg("STREAMS").arg(&self.key).arg("0").query(redis);
        of_one_stream(reply)
    }

    /// Entries that were not delivered yet; waits up to `BLOCK_MS` for new ones.
    pub fn next(&self, redis: &mut Connection) -> Result<Vec<Message>, Failure> {
        let mut read = self.read();
        read.arg("BLOCK").arg(BLOCK_MS).arg("STREAMS").arg(&self.key).arg(">");
        of_one_stream(read.query(redis))
    }

    fn read(&self) -> redis::Cmd {
        let mut read = cmd("XREADGROUP");
        read.arg("GROUP").arg(&self.group).arg(&self.consumer).arg("COUNT").arg(self.batch);
        read
    }

    /// Entries that were delivered at least `idle_ms` ago and not acknowledged: their consumer is
    /// taken for dead.
    pub fn take_over(&self, redis: &mut Connection, idle_ms: u64) -> Result<Vec<Message>, Failure> {
        let mut all = Vec::new();
        let mut from = "0-0".to_owned();
        loop {
            // The third part of the reply, ids of deleted entries, is new in 7.0.
            let (next, taken, deleted): (String, Delivered, Vec<String>) = cmd("XAUTOCLAIM")
                .arg(&self.key)
                .arg(&self.group)
                .arg(&self.consumer)
                .arg(idle_ms)
                .arg(&from)
                .arg("COUNT")
                .arg(self.batch)
                .query(redis)
                .map_err(Failure::of_redis)?;
            all.extend(messages(taken));
            all.extend(deleted.into_iter().map(|id| Message { id, fields: Vec::new() }));
            if next == "0-0" || all.len() >= self.batch {
                return Ok(all);
            }
            from = next;
        }
    }

    /// The first and the last entry that a reader of the group was given and has not acknowledged.
    pub fn pending(&self, redis: &mut Connection) -> Result<Option<(Id, Id)>, Failure> {
        let (_, first, last, _): (u64, Option<String>, Option<String>, Value) = cmd("XPENDING")
            .arg(&self.key)
            .arg(&self.group)
            .query(redis)
            .map_err(Failure::of_redis)?;
        let id = |text: Option<String>| text.as_deref().and_then(number);
        Ok(id(first).zip(id(last)))
    }

    /// Acknowledges these entries, so that Redis does not deliver them again.
    pub fn acknowledge<'m>(
        &self,
        redis: &mut Connection,
        all: impl IntoIterator<Item = &'m Message>,
    ) -> Result<(), Failure> {
        let ids: Vec<&str> = all.into_iter().map(|message| message.id.as_str()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let done: Result<u64, RedisError> =
            cmd("XACK").arg(&self.key).arg(&self.group).arg(ids).query(redis);
        done.map(drop).map_err(Failure::of_redis)
    }
}

fn of_one_stream(
    reply: Result<Option<Vec<(String, Delivered)>>, RedisError>,
) -> Result<Vec<Message>, Failure> {
    let streams = reply.map_err(Failure::of_redis)?.unwrap_or_default();
    Ok(streams.into_iter().flat_map(|(_, delivered)| messages(delivered)).collect())
}

fn messages(delivered: Delivered) -> Vec<Message> {
    let message =
        |(id, fields): (String, Option<_>)| Message { id, fields: fields.unwrap_or_default() };
    delivered.into_iter().map(message).collect()
}
