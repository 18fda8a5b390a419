//! `SECKILL.PAUSE key` and `SECKILL.RESUME key`: stop and resume granting.

use super::pipeline;
use super::vocabulary::{self, Spec};
use crate::server::call::Call;
use seckill_domain::request::Request;

pub const PAUSE: Spec = Spec {
    name: "SECKILL.PAUSE",
    arity: 2,
    keys: vocabulary::CHANGES,
    summary: "Stops a sale from selling until it is resumed",
    reply: "`OK`: the sale is paused, now or already.",
    example: "SECKILL.PAUSE drop",
    ..vocabulary::operator(pause)
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
