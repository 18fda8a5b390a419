//! Calls with several keys in a cluster.
//!
//! A server routes a call of a module's command by its first key, and only Redis 8.4 and newer by
//! all of them. Others would ask the module for the keys of each call (`getkeys-api`), but Valkey
//! does so on its I/O threads, without its lock, and crashes. So the module has the server check
//! the keys when the call is made.

use std::io;
use std::ops::Range;

use crc::{Crc, CRC_16_XMODEM};
use redis_module::raw::RedisModuleString;
use smallvec::SmallVec;

use super::spec::{KeySpec, Spec, KEY_NOT_KEY};
use crate::server::ffi::api::CallReply;
use crate::server::ffi::ctx::Ctx;

/// Keys of a call that need no heap.
const KEYS_INLINE: usize = 8;

const CRC: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);
const SLOTS: u16 = 16384;

// The servers' own errors for such calls.
const CROSSED: &str = "CROSSSLOT Keys in request don't hash to the same slot";
const MOVING: &str = "TRYAGAIN Multiple keys request during rehashing of slot";

const NO_EXISTS: &str =
    "ERR EXISTS is not there (rename-command): in a cluster a call with several \
    keys needs it";

/// The error of a call whose keys this node does not serve together: they have several slots, or
/// their slot is moving and some of them are on another node. None if the call may go on.
pub(super) fn refusal(
    ctx: Ctx<'_>,
    spec: &Spec,
    strings: &[*mut RedisModuleString],
    args: &[&[u8]],
) -> Option<&'static str> {
    let places = spec.keys.iter().filter(|key| key.flags & KEY_NOT_KEY == 0);
    let places = places.flat_map(|key| places_of(key, args));
    let keys: SmallVec<[_; KEYS_INLINE]> =
        places.filter_map(|place| Some((*args.get(place)?, *strings.get(place)?))).collect();
    if keys.len() < 2 {
        None
    } else if keys.windows(2).any(|pair| slot(pair[0].0) != slot(pair[1].0)) {
        // The server is not asked then: Valkey 9.1 would refuse later calls of modules, too.
        Some(CROSSED)
    } else {
        let keys: SmallVec<[_; KEYS_INLINE]> = keys.iter().map(|(_, string)| *string).collect();
        unserved(ctx, &keys)
    }
}

/// Why the server does not run a call with these keys, on behalf of the client that calls now:
/// ASKING counts.
fn unserved(ctx: Ctx<'_>, keys: &[*mut RedisModuleString]) -> Option<&'static str> {
    // SAFETY: the keys are alive, and the format matches what follows it.
    let reply = CallReply(unsafe {
        let (exists, format) = (c"EXISTS".as_ptr(), c"!ARv".as_ptr());
        api!(RedisModule_Call)(ctx.raw(), exists, format, keys.as_ptr(), keys.len())
    });
    if !reply.is_missing() {
        return None;
    }
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::EPERM) => Some(MOVING),
        Some(libc::ENOENT) => Some(NO_EXISTS),
        _ => None,
    }
}

/// The key's slot in a cluster, by its hash tag if it has one: Redis Cluster Specification.
fn slot(key: &[u8]) -> u16 {
    let place = |bytes: &[u8], byte| bytes.iter().position(|at| *at == byte);
    let tag = place(key, b'{').and_then(|open| {
        let rest = &key[open + 1..];
        place(rest, b'}').filter(|len| *len > 0).map(|len| &rest[..len])
    });
    CRC.checksum(tag.unwrap_or(key)) % SLOTS
}

/// Where the keys of one spec are among the arguments. Nowhere if the call lacks some of the keys
/// that it counts: the command will refuse it.
fn places_of(key: &KeySpec, args: &[&[u8]]) -> Range<usize> {
    // The command's name is at 0.
    let at = usize::try_from(key.pos - 1).unwrap_or(0);
    let (first, count) = match key.option {
        Some(option) => {
            let mut places = args.iter().skip(at);
            match places.position(|arg| arg.eq_ignore_ascii_case(option.as_bytes())) {
                Some(name) => (at + name + 1, 1),
                None => return 0..0,
            }
        }
        None if !key.counted => (at, 1),
        None => {
            let numkeys =
                args.get(at).and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
            (at + 1, numkeys.unwrap_or(0))
        }
    };
    match first.checked_add(count) {
        Some(end) if end <= args.len() => first..end,
        _ => 0..0,
    }
}

#[cfg(test)]
mod tests {
    use super::slot;

    /// Slots as CLUSTER KEYSLOT of Redis 7.0 told them.
    #[test]
    fn keys_have_their_slots() {
        for (key, expected) in [
            ("", 0),
            ("123456789", 12739),
            ("sale", 1974),
            ("{t}x", 15891),
            ("a{t}b", 15891),
            ("{}t", 10479),
            ("a{}{t}", 4972),
            ("{{t}}", 10928),
            ("a{t", 1771),
            ("a}t{", 15966),
            ("{t}{u}", 15891),
            ("x{t}}", 15891),
        ] {
            assert_eq!(slot(key.as_bytes()), expected, "{key}");
        }
    }
}
