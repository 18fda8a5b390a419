//! `SECKILL.PAUSE key` and `SECKILL.RESUME key`: whether GRAB sells.

use super::pipeline;
use super::vocabulary::{self, Spec, FIRST};
use crate::server::call::Call;
use seckill_domain::request::Request;

pub const PAUSE: Spec = Spec {
    name: "SECKILL.PAUSE",
    handler: pause,
    arity: 2,
    flags: "write",
    acl: vocabulary::ACL_OPERATOR,
    keys: vocabulary::CHANGES,
    summary: "Stops a sale from selling until it is resumed",
    complexity: "O(1)",
    since: FIRST,
    tips: &[],
    args: &[vocabulary::KEY],
    reply: "`OK`: the sale is paused, now or already.",
    errors: vocabulary::NEEDS_SALE,
    example: "SECKILL.PAUSE drop",
    internal: false,
};

pub const RESUME: Spec = Spec {
    name: "SECKILL.RESUME",
    handler: resume,
    summary: "Lets a paused sale sell again",
    reply: "`OK`: the sale is not paused, now or already.",
    example: "SECKILL.RESUME drop",
    ..PAUSE
};

fn pause(call: &mut Call<'_>) {
    pipeline::run(call, Ok(Request::Pause));
}

fn resume(call: &mut Call<'_>) {
    pipeline::run(call, Ok(Request::Resume));
}
