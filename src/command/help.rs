//! `SECKILL.HELP`: the commands, a line each.

use super::docs;
use super::table::{FIRST, TABLE};
use crate::server::call::Call;
use crate::server::module::register::Spec;

pub const SPEC: Spec = Spec {
    name: "SECKILL.HELP",
    handler: run,
    arity: 1,
    flags: "readonly fast allow-loading allow-stale",
    acl: "read fast",
    keys: &[],
    summary: "Lists the commands",
    complexity: "O(1)",
    since: FIRST,
    tips: &[],
    args: &[],
    reply: "An array with a line for each command.",
    internal: false,
    errors: &[],
    example: "SECKILL.HELP",
};

fn run(call: &mut Call<'_>) {
    let reply = call.reply();
    let public = || TABLE.iter().filter(|spec| !spec.internal);
    reply.array(public().count());
    public().for_each(|spec| reply.text(&docs::help_line(spec)));
}
