//! Handing changes to replicas and to the append-only file.

use std::ffi::CStr;
use std::os::raw::c_int;

use redis_module::raw::{self, RedisModuleString};

use crate::server::ffi::api::OwnString;
use crate::server::ffi::ctx::{Ctx, Locked};
use crate::server::ffi::log;
use seckill_domain::effect::Change;
use seckill_domain::limits::EFFECTS_PER_APPLY_MAX;
use seckill_domain::plan::{EntriesAt, Plan};

/// The command that carries effects.
pub const APPLY: &CStr = c"SECKILL.APPLY";

const NOT_REPLICATED: &str =
    "the server refused to replicate a change: replicas and the append-only file lack it";

/// Where effects are written before the server copies them: kept, so that a plain grant allocates
/// nothing for it.
static SCRATCH: Locked<Vec<u8>> = Locked::new(Vec::new());

/// Scratch space is kept between calls up to this size.
const SCRATCH_BYTES_MAX: usize = 64 * 1024;

/// Replicates the changes of `plan`, whose first entry has gone to `entries`, in commands of at
/// most [`EFFECTS_PER_APPLY_MAX`] effects.
pub(crate) fn changes(
    ctx: Ctx<'_>,
    key: *mut RedisModuleString,
    plan: &Plan<'_>,
    entries: Option<EntriesAt>,
) {
    SCRATCH.with(ctx.lock(), |scratch| {
        let mut done = 0;
        for part in plan.changes.chunks(EFFECTS_PER_APPLY_MAX) {
            scratch.clear();
            plan.position(done..done + part.len(), entries).encode(scratch);
            done += part.len();
            let status = match part {
                [change] => {
                    let split = scratch.len();
                    change.encode(scratch);
                    let (position, effect) = scratch.split_at(split);
                    // SAFETY: the key's name is alive, the format names one string and two buffers
                    // with their lengths, and the server copies all of them before it returns.
                    unsafe {
                        api!(RedisModule_Replicate)(
                            ctx.raw(),
                            APPLY.as_ptr(),
                            c"sbb".as_ptr(),
                            key,
                            position.as_ptr(),
                            position.len(),
                            effect.as_ptr(),
                            effect.len(),
                        )
                    }
                }
                part => many(ctx, key, scratch, part),
            };
            if status as isize != raw::REDISMODULE_OK {
                log::warning(NOT_REPLICATED);
            }
        }
        if scratch.capacity() > SCRATCH_BYTES_MAX {
            *scratch = Vec::new();
        }
    });
}

/// Replicates changes in one command; `scratch` holds their position.
fn many(
    ctx: Ctx<'_>,
    key: *mut RedisModuleString,
    scratch: &mut Vec<u8>,
    changes: &[Change<'_>],
) -> c_int {
    let split = scratch.len();
    let mut effects: Vec<OwnString> = Vec::with_capacity(changes.len());
    for change in changes {
        scratch.truncate(split);
        change.encode(scratch);
        effects.push(OwnString::new(&scratch[split..]));
    }
    // SAFETY: as for one change; each of the vector is a pointer to a string, which lives as long.
    unsafe {
        api!(RedisModule_Replicate)(
            ctx.raw(),
            APPLY.as_ptr(),
            c"sbv".as_ptr(),
            key,
            scratch.as_ptr(),
            split,
            effects.as_ptr(),
            effects.len(),
        )
    }
}
