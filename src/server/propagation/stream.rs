//! Making streams ready for the entries of a change.
//!
//! Code of other modules may run when a stream is created, when it is asked about, and when it is
//! opened after its TTL has passed. That code may call any command. So streams are made ready while
//! no sale is open.

use std::os::raw::c_int;

use redis_module::raw::{self, RedisModuleStreamID};

use super::outbox::{NoStream, Ready, Stream};
use crate::server::ffi::api::{bytes_of, CallReply};

/// The smallest id. The entry that creates a stream has this id, and is deleted again.
const FIRST_ID: RedisModuleStreamID = RedisModuleStreamID { ms: 0, seq: 1 };

/// The reason why entries can't be appended. No entry is left in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// The stream is missing and must not be created: in a cluster its slot may be moving.
    NotHere,
    /// The key holds another type, or the stream takes no more entries.
    Refused,
    /// Foreign code deleted the stream while it was made ready, or changed a sale.
    Changed,
}

/// Streams and the number of entries for each, in the order of the call's sales.
pub type Wanted<'s> = [(Option<&'s Stream<'s>>, usize)];

impl Stream<'_> {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the name lives as long as this struct and nobody changes it.
        unsafe { bytes_of(self.name.raw()) }
    }

    fn is_in_cluster(&self) -> bool {
        self.ctx.has_flag(raw::REDISMODULE_CTX_FLAGS_CLUSTER)
    }

    /// Makes an empty stream at a missing key. Nothing is replicated. A replica creates the stream
    /// when it applies the change, so that a change of one sale stays one command. This call may
    /// run foreign code, which may leave entries in the stream or another type at the key.
    fn make(&self) {
        let mode = (raw::REDISMODULE_READ | raw::REDISMODULE_WRITE) as c_int;
        let (mut id, mut pair) = (FIRST_ID, [self.name.raw(); 2]);
        // SAFETY: the name is alive as long as this struct, the key is open until it is closed, and
        // the pair is one name and one value.
        unsafe {
            let key = api!(RedisModule_OpenKey)(self.ctx.raw(), self.name.raw(), mode);
            let added = api!(RedisModule_StreamAdd)(key, 0, &mut id, pair.as_mut_ptr().cast(), 1);
            if added as isize == raw::REDISMODULE_OK {
                api!(RedisModule_StreamDelete)(key, &mut id);
            }
            api!(RedisModule_CloseKey)(key);
        }
    }

    /// Removes a stream that [`Stream::make`] made for a change that is not committed, unless
    /// foreign code has appended to it. No other node has that stream. This call may run foreign
    /// code.
    fn unmake(&self) {
        let Ok(open) = self.open() else { return };
        // SAFETY: the key is open for writing and holds a stream.
        unsafe {
            if api!(RedisModule_ValueLength)(open.key) == 0 {
                api!(RedisModule_DeleteKey)(open.key);
            }
        }
    }

    /// Opens the stream for entries that another node has appended, and creates it if it is
    /// missing. The stream can be missing although the primary has it: if a module wrote to it
    /// while it was being deleted, the DEL reaches this node after the entries. This call may run
    /// foreign code; afterwards `is_as_judged` checks the sale, see [`ready_all`].
    pub fn ready_to_follow(&self, is_as_judged: impl FnOnce() -> bool) -> Option<Ready<'_>> {
        self.ready()
            .or_else(|instead| {
                let is_missing = instead == NoStream::Nothing;
                if is_missing {
                    self.make();
                }
                if is_as_judged() {
                    return self.ready();
                }
                if is_missing {
                    self.unmake();
                }
                Err(instead)
            })
            .ok()
    }

    /// Whether the stream has room for `count` more entries: its last id may be near the largest
    /// one. This call may run foreign code.
    fn has_room(&self, count: usize) -> bool {
        // SAFETY: the name is alive, and the format matches the arguments after it.
        let reply = CallReply(unsafe {
            let (ctx, name, stream) = (self.ctx.raw(), self.name.raw(), c"STREAM".as_ptr());
            api!(RedisModule_Call)(ctx, c"XINFO".as_ptr(), c"!ARcs".as_ptr(), stream, name)
        });
        // Without XINFO (rename-command) the entries are tried, and deleted again if one fails.
        reply.is_missing() || takes(reply.proto(), count as u64)
    }
}

/// Makes the streams ready, or returns the index of one that takes no entries. No sale may be open,
/// because foreign code may run. `is_as_judged` checks the sales afterwards and before a stream is
/// open: an open stream could not be closed if foreign code deleted it.
pub fn ready_all<'s>(
    wanted: &Wanted<'s>,
    is_as_judged: impl FnOnce() -> bool,
) -> Result<Vec<Ready<'s>>, (usize, NotTaken)> {
    let missing = missing(wanted)?;
    missing.iter().for_each(|stream| stream.make());
    let made = match is_as_judged() {
        true => are_there(wanted),
        false => Err((0, NotTaken::Changed)),
    };
    if let Err(why) = made {
        missing.iter().for_each(|stream| stream.unmake());
        return Err(why);
    }
    // A stream that has vanished: its TTL has just passed and foreign code ran.
    let ready = |(index, (stream, _)): (usize, &(Option<&'s Stream<'s>>, usize))| {
        let ready = stream.map(Stream::ready).transpose().map(Option::unwrap_or_default);
        ready.map_err(|_| (index, NotTaken::Changed))
    };
    wanted.iter().enumerate().map(ready).collect()
}

/// Checks that each stream has room for its entries or may be created. Returns the missing streams,
/// or the index of one that takes no entries. No sale may be open, because foreign code may run.
fn missing<'s>(wanted: &Wanted<'s>) -> Result<Vec<&'s Stream<'s>>, (usize, NotTaken)> {
    // A single entry needs no check: the stream takes or refuses it. If one of several entries is
    // refused, the ones before it are deleted again, but the stream's last id stays raised.
    let is_single = wanted.iter().map(|(_, entries)| entries).sum::<usize>() == 1;
    let mut missing = Vec::new();
    for (index, stream) in all(wanted) {
        match stream.open().map(drop) {
            Ok(()) if is_single || stream.has_room(count_for(stream, wanted)) => {}
            Err(NoStream::Nothing) if stream.is_named || !stream.is_in_cluster() => {
                missing.push(stream);
            }
            Err(NoStream::Nothing) => return Err((index, NotTaken::NotHere)),
            Ok(()) | Err(NoStream::Other) => return Err((index, NotTaken::Refused)),
        }
    }
    Ok(missing)
}

/// Checks that all streams exist, or returns the index of a missing one: foreign code may have
/// deleted one while others were created.
fn are_there(wanted: &Wanted<'_>) -> Result<(), (usize, NotTaken)> {
    all(wanted).try_for_each(|(index, stream)| match stream.open() {
        Ok(_) => Ok(()),
        Err(NoStream::Nothing) if stream.is_in_cluster() => Err((index, NotTaken::NotHere)),
        Err(NoStream::Nothing) => Err((index, NotTaken::Changed)),
        Err(NoStream::Other) => Err((index, NotTaken::Refused)),
    })
}

fn all<'w, 's>(wanted: &'w Wanted<'s>) -> impl Iterator<Item = (usize, &'s Stream<'s>)> + 'w {
    wanted.iter().enumerate().filter_map(|(index, (stream, _))| Some((index, (*stream)?)))
}

/// The number of entries for one stream, all sales together.
fn count_for(stream: &Stream<'_>, wanted: &Wanted<'_>) -> usize {
    let is_same = |other: &Stream<'_>| other.bytes() == stream.bytes();
    let same = wanted.iter().filter(|(other, _)| other.is_some_and(is_same));
    same.map(|(_, entries)| entries).sum()
}

/// Whether a stream with this XINFO reply takes `count` more entries.
fn takes(info: &[u8], count: u64) -> bool {
    const FIELD: &[u8] = b"last-generated-id\r\n";
    let index = info.windows(FIELD.len()).position(|window| window == FIELD);
    let id = index.and_then(|index| info.get(index + FIELD.len()..)).and_then(|rest| {
        let text = rest.split(|byte| *byte == b'\n').nth(1)?;
        std::str::from_utf8(text).ok()?.trim_end().split_once('-')
    });
    let Some((Ok(ms), Ok(seq))) = id.map(|(ms, seq)| (ms.parse::<u64>(), seq.parse::<u64>()))
    else {
        return false;
    };
    ms < u64::MAX || u64::MAX - seq >= count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(id: &str) -> Vec<u8> {
        let text = format!(
            "*4\r\n$6\r\nlength\r\n:1\r\n$17\r\nlast-generated-id\r\n${}\r\n{id}\r\n",
            id.len()
        );
        text.into_bytes()
    }

    #[test]
    fn the_last_id_says_how_many_entries_a_stream_takes() {
        let last = u64::MAX;
        for id in ["0-0".to_owned(), format!("7-{last}"), format!("{}-{last}", last - 1)] {
            assert!(takes(&info(&id), 1000), "{id}");
        }
        let near = info(&format!("{last}-{}", last - 2));
        assert!(takes(&near, 2) && !takes(&near, 3));
        for other in [&b""[..], b"*0\r\n", &info("7"), &info("a-b")] {
            assert!(!takes(other, 1));
        }
    }
}
