//! The contenders: the module, scripts that do the same work, and commands that do less.

use redis::Value;

use crate::control::Control;
use crate::load::{Request, UNIT, UNITS};

/// The sale's key, its stream, and the user.
pub const SALE: &str = "sale";
pub const USER: &str = "user:000number000";
pub const REQ: &str = "req:000number000";
/// Users who never won, with request ids that were never used.
const LATE: &str = "late:000number000";
const NEW_REQ: &str = "new:000number000";
/// More units than the calls ask for.
pub const PLENTY: &str = "900000000";
/// Length of a hold in ms: none expires during the measurement.
const HOLD_MS: &str = "900000";

/// The first bytes of the reply GRANTED.
pub const GRANTED: &str = "*6\r\n$7\r\nGRANTED";
/// The first bytes of the reply GRANTED in a sale with numbered units.
pub const GRANTED_UNITS: &str = "*7\r\n$7\r\nGRANTED";
pub const SOLD: &str = "*4\r\n$4\r\nSOLD";
pub const IS_SOLD_OUT: &str = "*2\r\n$7\r\nSOLDOUT";
pub const HAS_ALREADY: &str = "*5\r\n$7\r\nALREADY";

/// Names in tables.
pub const MODULE: &str = "the module";
pub const SCRIPT: &str = "Lua script";
pub const FUNCTION: &str = "FUNCTION";
pub const INCR: &str = "INCR";
pub const SADD: &str = "SADD";
pub const MULTI: &str = "MULTI DECR SADD";
pub const INCREX: &str = "INCREX with LBOUND";

/// Names of the calls.
pub const GRAB: &str = "GRAB REQ with HOLD and OUTBOX";
pub const CONFIRM: &str = "CONFIRM of such a hold";
pub const PLAIN: &str = "plain GRAB REQ";
pub const SOLD_OUT: &str = "sold-out GRAB";
pub const ALREADY: &str = "ALREADY";
/// Those that the users' pages compare with the script.
pub const COMPARED: [&str; 5] = [GRAB, CONFIRM, PLAIN, SOLD_OUT, ALREADY];
pub const NAMED: &str = "GRAB UNITS of one seat";
pub const LOWEST: &str = "GRAB of the lowest free seat";

/// Calls with their names, in the order in which they are sent.
pub type Calls = Vec<(&'static str, Request)>;

/// Sets a contender up on a fresh server, for this many of each call.
pub type SetUp = fn(&mut Control, u64) -> Result<Calls, String>;

/// The calls that the README recommends: a sale with holds and an outbox.
pub const RECOMMENDED: [(&str, SetUp); 2] =
    [(MODULE, module_recommended), (SCRIPT, script_recommended)];

/// A plain sale: calls of winners, of users after it is sold out, and of winners again.
pub const PLAIN_SALE: [(&str, SetUp); 3] =
    [(MODULE, module_plain), (SCRIPT, script_plain), (FUNCTION, function_plain)];

/// A hall: first GRABs of one named seat, then GRABs of any seat. Each kind gets half of the seats.
pub const HALL: [(&str, SetUp); 2] = [(MODULE, module_hall), (SCRIPT, script_hall)];

fn module_recommended(control: &mut Control, _: u64) -> Result<Calls, String> {
    control.tell(&["SECKILL.INIT", SALE, PLENTY, "HOLD", HOLD_MS, "OUTBOX", "orders"])?;
    Ok(vec![
        (GRAB, Request::new(&["SECKILL.GRAB", SALE, USER, "REQ", REQ], GRANTED)),
        (CONFIRM, Request::new(&["SECKILL.CONFIRM", SALE, USER, "REQ", REQ], SOLD)),
    ])
}

fn script_recommended(control: &mut Control, _: u64) -> Result<Calls, String> {
    control.tell(&["SET", "sale:stock", PLENTY])?;
    let grab = loaded(control, include_str!("../scripts/hold.lua"))?;
    let confirm = loaded(control, include_str!("../scripts/confirm.lua"))?;
    let (stock, seq, orders) = ("sale:stock", "sale:seq", "sale:orders");
    let (deadlines, events) = ("sale:deadlines", "sale:events");
    let grab = ["EVALSHA", &grab, "5", stock, seq, orders, deadlines, events, USER, REQ, HOLD_MS];
    let confirm = ["EVALSHA", &confirm, "4", stock, orders, deadlines, events, USER, REQ];
    Ok(vec![(GRAB, Request::new(&grab, GRANTED)), (CONFIRM, Request::new(&confirm, SOLD))])
}

fn loaded(control: &mut Control, text: &str) -> Result<String, String> {
    control.ask(&["SCRIPT", "LOAD", text])
}

fn module_plain(control: &mut Control, units: u64) -> Result<Calls, String> {
    control.tell(&["SECKILL.INIT", SALE, &units.to_string()])?;
    let grab = |user, req, reply| Request::new(&["SECKILL.GRAB", SALE, user, "REQ", req], reply);
    Ok(vec![
        (PLAIN, grab(USER, REQ, GRANTED)),
        (SOLD_OUT, grab(LATE, NEW_REQ, IS_SOLD_OUT)),
        (ALREADY, grab(USER, NEW_REQ, HAS_ALREADY)),
    ])
}

fn script_plain(control: &mut Control, units: u64) -> Result<Calls, String> {
    let sha = loaded(control, include_str!("../scripts/plain.lua"))?;
    plain_lua(control, units, ["EVALSHA", &sha])
}

fn function_plain(control: &mut Control, units: u64) -> Result<Calls, String> {
    control.tell(&["FUNCTION", "LOAD", include_str!("../scripts/plain_function.lua")])?;
    plain_lua(control, units, ["FCALL", "grab"])
}

fn plain_lua(control: &mut Control, units: u64, begin: [&str; 2]) -> Result<Calls, String> {
    control.tell(&["SET", "sale:stock", &units.to_string()])?;
    let call = |user, req, reply| {
        let words = [begin[0], begin[1], "2", "sale:stock", "sale:orders", user, req];
        Request::new(&words, reply)
    };
    Ok(vec![
        (PLAIN, call(USER, REQ, "*2\r\n$7\r\nGRANTED")),
        (SOLD_OUT, call(LATE, NEW_REQ, "*1\r\n$7\r\nSOLDOUT")),
        (ALREADY, call(USER, NEW_REQ, "*2\r\n$7\r\nALREADY")),
    ])
}

fn module_hall(control: &mut Control, _: u64) -> Result<Calls, String> {
    control.tell(&["SECKILL.INIT", SALE, &(2 * UNITS).to_string(), "NUMBERED"])?;
    let named = ["SECKILL.GRAB", SALE, USER, "UNITS", UNIT, "REQ", REQ];
    let lowest = ["SECKILL.GRAB", SALE, LATE, "REQ", NEW_REQ];
    Ok(vec![
        (NAMED, Request::new(&named, GRANTED_UNITS)),
        (LOWEST, Request::new(&lowest, GRANTED_UNITS)),
    ])
}

fn script_hall(control: &mut Control, _: u64) -> Result<Calls, String> {
    // Seat 0 does not exist.
    control.tell(&["SETBIT", "sale:seats", "0", "1"])?;
    let sha = loaded(control, include_str!("../scripts/seat.lua"))?;
    let (keys, last) = (["sale:seats", "sale:orders", "sale:owners"], (2 * UNITS).to_string());
    let call = |words: &[&str]| {
        let words = [&["EVALSHA", &sha, "3"], &keys[..], words].concat();
        Request::new(&words, "*2\r\n$7\r\nGRANTED")
    };
    let (named, lowest) = (call(&[USER, REQ, &last, UNIT]), call(&[LATE, NEW_REQ, &last]));
    Ok(vec![(NAMED, named), (LOWEST, lowest)])
}

/// Commands of this server that do less than a sale: a counter, a counter that stops at zero, a
/// set, and counter and set together without a condition.
pub fn less(control: &mut Control) -> Result<Calls, String> {
    control.tell(&["SET", "stock", PLENTY])?;
    let increx = ["INCREX", "stock", "BYINT", "-1", "LBOUND", "0"];
    let multi: [&[&str]; 4] = [&["MULTI"], &["DECR", "stock"], &["SADD", "both", USER], &["EXEC"]];
    let mut all = vec![(INCR, incr()), (SADD, sadd()), (MULTI, Request::of(&multi, "*2\r\n:"))];
    let found: Vec<Value> = control.ask(&["COMMAND", "INFO", "INCREX"])?;
    if found.iter().any(|found| *found != Value::Nil) {
        all.push((INCREX, Request::new(&increx, "*2\r\n:")));
    }
    Ok(all)
}

pub fn incr() -> Request {
    Request::new(&["INCR", "count"], ":")
}

/// The key that [`sadd`] adds to.
pub const SET: &str = "oset";

pub fn sadd() -> Request {
    Request::new(&["SADD", SET, USER], ":1")
}
