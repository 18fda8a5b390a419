//! A call of each command.

/// A call of each command that is in order, in the order of the module's table; `@` stands for its
/// key. `tests/server/calls.rs` compares the list with the table.
pub const ONE_EACH: [&str; 30] = [
    "SECKILL.INIT @ 5 LIMIT 2",
    "SECKILL.RESTOCK @ 5 REQ r",
    "SECKILL.PAUSE @",
    "SECKILL.RESUME @",
    "SECKILL.ALTER @ LIMIT 2",
    "SECKILL.REFUND @ u SEQ 1",
    "SECKILL.IMPORT @ u 1 REQ r NODEFICIT",
    "SECKILL.AUDIT @",
    "SECKILL.ALLOW @ ADD u",
    "SECKILL.DENY @ REMOVE u",
    "SECKILL.SEND @ s 1 1",
    "SECKILL.RECEIVE @ s 1 1",
    "SECKILL.ELSEWHERE @ s 0 1",
    "SECKILL.GRAB @ u",
    "SECKILL.MGRAB u 1 @",
    "SECKILL.CONFIRM @ u",
    "SECKILL.CANCEL @ u REQ r",
    "SECKILL.EXTEND @ u 5",
    "SECKILL.STATUS @",
    "SECKILL.USER @ u",
    "SECKILL.WINNERS @ 0",
    "SECKILL.ROUNDS @",
    "SECKILL.PARTS @",
    "SECKILL.HOME u 4",
    "SECKILL.PLACE @ u",
    "SECKILL.WAITERS @ 0",
    "SECKILL.UNITS @ 1",
    "SECKILL.UNIT @ 1",
    "SECKILL.HELP",
    "SECKILL.APPLY @ 1 gu",
];

/// The calls of [`ONE_EACH`] that have a key, with this one.
pub fn with_key(key: &str) -> impl Iterator<Item = String> + '_ {
    ONE_EACH.iter().filter(|call| call.contains('@')).map(move |call| call.replace('@', key))
}
