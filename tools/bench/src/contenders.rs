//! The contenders: the module, scripts that do the same work, and commands that do less.

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
pub const PLENTY: u64 = 900_000_000;
/// Length of a hold in ms: none expires during the measurement.
const HOLD_MS: &str = "900000";

/// The first bytes of the reply GRANTED.
pub const GRANTED: &str = "*6\r\n$7\r\nGRANTED";
/// The first bytes of the reply GRANTED in a sale with numbered units.
pub const GRANTED_UNITS: &str = "*7\r\n$7\r\nGRANTED";
pub const SOLD: &str = "*4\r\n$4\r\nSOLD";

/// Names in tables.
pub const MODULE: &str = "the module";
pub const SCRIPT: &str = "Lua script";
pub const FUNCTION: &str = "FUNCTION";
pub const INCR: &str = "INCR";
pub const SADD: &str = "SADD";
pub const MULTI: &str = "MULTI DECR SADD";
pub const INCREX: &str = "INCREX with LBOUND";

/// A sale with holds and an outbox: the calls that the README recommends.
pub struct Recommended {
    pub grab: Request,
    pub confirm: Request,
}

/// Sets the module up for the recommended calls.
pub fn module_recommended(control: &mut Control) -> Result<Recommended, String> {
    let supply = PLENTY.to_string();
    control.tell(&["SECKILL.INIT", SALE, &supply, "HOLD", HOLD_MS, "OUTBOX", "orders"])?;
    Ok(Recommended {
        grab: Request::new(&["SECKILL.GRAB", SALE, USER, "REQ", REQ], GRANTED),
        confirm: Request::new(&["SECKILL.CONFIRM", SALE, USER, "REQ", REQ], SOLD),
    })
}

/// Sets the scripts up for the recommended calls.
pub fn script_recommended(control: &mut Control) -> Result<Recommended, String> {
    control.tell(&["SET", "sale:stock", &PLENTY.to_string()])?;
    let mut load = |text: &str| control.ask::<String>(&["SCRIPT", "LOAD", text]);
    let grab = load(include_str!("../scripts/hold.lua"))?;
    let confirm = load(include_str!("../scripts/confirm.lua"))?;
    let (stock, seq, orders) = ("sale:stock", "sale:seq", "sale:orders");
    let (deadlines, events) = ("sale:deadlines", "sale:events");
    let grab = ["EVALSHA", &grab, "5", stock, seq, orders, deadlines, events, USER, REQ, HOLD_MS];
    let confirm = ["EVALSHA", &confirm, "4", stock, orders, deadlines, events, USER, REQ];
    Ok(Recommended { grab: Request::new(&grab, GRANTED), confirm: Request::new(&confirm, SOLD) })
}

/// A plain sale: calls of winners, of users after it is sold out, and of winners again.
pub struct Plain {
    pub win: Request,
    pub late: Request,
    pub again: Request,
}

/// Sets the module's plain sale up, with this many units.
pub fn module_plain(control: &mut Control, units: u64) -> Result<Plain, String> {
    control.tell(&["SECKILL.INIT", SALE, &units.to_string()])?;
    let grab = |user, req, reply| Request::new(&["SECKILL.GRAB", SALE, user, "REQ", req], reply);
    Ok(Plain {
        win: grab(USER, REQ, GRANTED),
        late: grab(LATE, NEW_REQ, "*2\r\n$7\r\nSOLDOUT"),
        again: grab(USER, NEW_REQ, "*5\r\n$7\r\nALREADY"),
    })
}

/// Sets the script's plain sale up.
pub fn script_plain(control: &mut Control, units: u64) -> Result<Plain, String> {
    let text = include_str!("../scripts/plain.lua");
    let sha: String = control.ask(&["SCRIPT", "LOAD", text])?;
    plain_lua(control, units, ["EVALSHA", &sha])
}

/// Sets the function's plain sale up.
pub fn function_plain(control: &mut Control, units: u64) -> Result<Plain, String> {
    control.tell(&["FUNCTION", "LOAD", include_str!("../scripts/plain_function.lua")])?;
    plain_lua(control, units, ["FCALL", "grab"])
}

fn plain_lua(control: &mut Control, units: u64, begin: [&str; 2]) -> Result<Plain, String> {
    control.tell(&["SET", "sale:stock", &units.to_string()])?;
    let call = |user, req, reply| {
        let words = [begin[0], begin[1], "2", "sale:stock", "sale:orders", user, req];
        Request::new(&words, reply)
    };
    Ok(Plain {
        win: call(USER, REQ, "*2\r\n$7\r\nGRANTED"),
        late: call(LATE, NEW_REQ, "*1\r\n$7\r\nSOLDOUT"),
        again: call(USER, NEW_REQ, "*2\r\n$7\r\nALREADY"),
    })
}

/// Calls to a hall: first GRABs of one named seat, then GRABs of any seat. Each kind gets half of
/// the seats.
pub struct Hall {
    pub named: Request,
    pub lowest: Request,
}

/// Sets the module's hall up.
pub fn module_hall(control: &mut Control) -> Result<Hall, String> {
    control.tell(&["SECKILL.INIT", SALE, &(2 * UNITS).to_string(), "NUMBERED"])?;
    let named = ["SECKILL.GRAB", SALE, USER, "UNITS", UNIT, "REQ", REQ];
    let lowest = ["SECKILL.GRAB", SALE, LATE, "REQ", NEW_REQ];
    Ok(Hall {
        named: Request::new(&named, GRANTED_UNITS),
        lowest: Request::new(&lowest, GRANTED_UNITS),
    })
}

/// Sets the script's hall up.
pub fn script_hall(control: &mut Control) -> Result<Hall, String> {
    // Seat 0 does not exist.
    control.tell(&["SETBIT", "sale:seats", "0", "1"])?;
    let text = include_str!("../scripts/seat.lua");
    let sha: String = control.ask(&["SCRIPT", "LOAD", text])?;
    let (keys, last) = (["sale:seats", "sale:orders", "sale:owners"], (2 * UNITS).to_string());
    let call = |words: &[&str]| {
        let words = [&["EVALSHA", &sha, "3"], &keys[..], words].concat();
        Request::new(&words, "*2\r\n$7\r\nGRANTED")
    };
    Ok(Hall { named: call(&[USER, REQ, &last, UNIT]), lowest: call(&[LATE, NEW_REQ, &last]) })
}

/// Commands of this server that do less than a sale: a counter, a counter that stops at zero, a
/// set, and counter and set together without a condition.
pub fn less(control: &mut Control) -> Result<Vec<(&'static str, Request)>, String> {
    control.tell(&["SET", "stock", &PLENTY.to_string()])?;
    let increx = ["INCREX", "stock", "BYINT", "-1", "LBOUND", "0"];
    let multi: [&[&str]; 4] = [&["MULTI"], &["DECR", "stock"], &["SADD", "both", USER], &["EXEC"]];
    let mut all = vec![(INCR, incr()), (SADD, sadd()), (MULTI, Request::of(&multi, "*2\r\n:"))];
    if control.knows("INCREX")? {
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
