//! Sends calls to the server that has a sale.

use std::time::Duration;

use crc::{Crc, CRC_16_XMODEM};
use redis::{Cmd, RedisError, RedisResult, Value};

const CRC_16: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);

/// Sends commands to the server that has a key. [`Servers`](crate::Servers) is a link. A program
/// with its own connections, a pool for example, can implement another one.
pub trait Link {
    /// Sends these commands over one connection to the server that has `key`. Returns one reply for
    /// each; an error of the server is [`Value::ServerError`]. Must not take longer than `within`,
    /// connecting included.
    ///
    /// # Errors
    /// An error if a reply is missing or incomplete.
    fn send(&mut self, key: &[u8], commands: &[Cmd], within: Duration) -> RedisResult<Vec<Value>>;

    /// Closes the connections: late replies may still come over them, or their server is no longer
    /// the primary.
    fn drop_connections(&mut self);

    /// Whether keys of different slots are on different servers.
    fn is_cluster(&self) -> bool {
        false
    }
}

impl<L: Link + ?Sized> Link for &mut L {
    fn send(&mut self, key: &[u8], commands: &[Cmd], within: Duration) -> RedisResult<Vec<Value>> {
        (**self).send(key, commands, within)
    }

    fn drop_connections(&mut self) {
        (**self).drop_connections();
    }

    fn is_cluster(&self) -> bool {
        (**self).is_cluster()
    }
}

/// The cluster slot of a key.
pub fn slot(key: &[u8]) -> u16 {
    let tag = || {
        let from = key.iter().position(|byte| *byte == b'{')? + 1;
        let length = key[from..].iter().position(|byte| *byte == b'}')?;
        (length > 0).then(|| &key[from..from + length])
    };
    CRC_16.checksum(tag().unwrap_or(key)) % 16384
}

/// The server's error in a reply: its first word and the rest.
pub(crate) fn refusal(reply: &Value) -> Option<(String, String)> {
    match reply {
        Value::ServerError(error) => {
            Some((error.code().to_owned(), error.details().unwrap_or_default().to_owned()))
        }
        _ => None,
    }
}

/// The code of an error. Errors while connecting may be the server's, such as those of AUTH, or
/// LOADING.
pub(crate) fn code(error: &RedisError) -> Option<&str> {
    error.code()
}
