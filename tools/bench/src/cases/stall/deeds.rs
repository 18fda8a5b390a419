//! The work that runs beside the PINGs, each kind where it costs the most.

use std::time::{Duration, Instant};

use seckill_random::Random;

use super::scenes::{self, go_on, mgrab_sale, CANCELLED, MGRAB_SALES, MOST, PERIOD_MS};
use super::Scene;
use crate::cases::waiting;
use crate::contenders::{GRANTED, GRANTED_UNITS, REQ, SALE, USER};
use crate::control::Control;
use crate::load::{numbered, send, Manner, Request, NUMBER};

/// Duration of repeated work.
const AGAIN_FOR: Duration = Duration::from_secs(2);
/// Timeout of a call that is answered "many holds are ending" again and again.
const PATIENCE: Duration = Duration::from_secs(60);
/// Calls between two checks of the clock.
const AT_ONCE: usize = 10;
/// One call after the other on one connection.
const ALONE: Manner = Manner { connections: 1, pipeline: 1 };

/// Users of one DENY.
const LISTED: u64 = 100_000;
/// Most holds that one GRAB may expire (EXPIRIES_PER_CALL_MAX).
const EXPIRIES: u64 = 1_000;

/// Sales without numbered units, and commands of the server itself.
pub static COUNTED: [Scene; 12] = [
    Scene {
        size: |plan| plan.sizes[1],
        set_up: scenes::due,
        lasts: false,
        deeds: &[
            ("# holds fall due at once", all_expire),
            ("GRABs QTY 1000 while # holds are due", grab_among_due),
        ],
    },
    Scene {
        size: |plan| plan.sizes[1],
        set_up: scenes::due_in_many,
        lasts: false,
        deeds: &[("MGRABs of 64 sales while # holds are due", mgrab_among_due)],
    },
    Scene {
        size: |_| 65_536,
        set_up: scenes::fences,
        lasts: false,
        deeds: &[("CANCELs when # fences are over", cancel)],
    },
    Scene {
        size: |plan| plan.sizes[1],
        set_up: waiting::filled,
        lasts: false,
        deeds: &[
            ("RESTOCK of 100,000 where # wait", restock),
            ("# who wait are dropped by CLOSEAT", close),
        ],
    },
    Scene {
        size: |plan| plan.sizes[1],
        set_up: waiting::filled,
        lasts: true,
        deeds: &[("AUDIT where # wait", audit), ("WAITERS COUNT 10000 of #", waiters)],
    },
    Scene {
        size: |_| 10_000,
        set_up: scenes::rounds,
        lasts: true,
        deeds: &[
            ("GRABs with # rounds kept", grab_in_rounds),
            ("WINNERS COUNT 10000 of # rounds kept", winners),
            ("AUDIT of # rounds kept", audit),
        ],
    },
    Scene {
        size: |plan| plan.sizes[1],
        set_up: scenes::large_round,
        lasts: false,
        deeds: &[("rounds of # winners end and are given back", next_rounds)],
    },
    Scene {
        size: |_| 100_000,
        set_up: scenes::one_user,
        lasts: true,
        deeds: &[("USER COUNT 10000 of a user with # grants", user)],
    },
    Scene {
        size: |_| LISTED,
        set_up: scenes::empty,
        lasts: true,
        deeds: &[("DENY of # users in one call", deny)],
    },
    Scene {
        size: |plan| plan.sizes[1],
        set_up: scenes::holds,
        lasts: true,
        deeds: &[("AUDIT of # grants with HOLD and REQ", audit)],
    },
    Scene {
        size: |plan| plan.sizes[2],
        set_up: scenes::winners,
        lasts: true,
        deeds: &[
            ("AUDIT of # grants", audit),
            ("WINNERS COUNT 10000 of # grants", winners),
            ("WINNERS COUNT 1000 of # grants", |control, size| page(control, size, "1000")),
        ],
    },
    // Commands of the server itself with as many arguments and reply elements.
    Scene {
        size: |_| LISTED,
        set_up: scenes::list,
        lasts: true,
        deeds: &[
            ("the server's SADD of # members in one call", sadd),
            ("the server's LRANGE of 90,000 elements", lrange),
        ],
    },
];

/// Sales with numbered units.
pub static NUMBERED: [Scene; 4] = [
    Scene {
        size: |plan| plan.sizes[2],
        set_up: scenes::empty,
        lasts: false,
        deeds: &[("INIT of # numbers", init_numbers), ("RESTOCK of # numbers", restock_numbers)],
    },
    Scene {
        size: |plan| plan.sizes[2],
        set_up: scenes::sold_numbers,
        lasts: false,
        deeds: &[
            ("DEL of # numbers, all sold", |control, _| control.tell(&["DEL", SALE])),
            ("UNLINK of # numbers, all sold", |control, _| control.tell(&["UNLINK", SALE])),
            ("FLUSHALL ASYNC of # numbers, all sold", flush),
        ],
    },
    Scene {
        size: |plan| plan.sizes[1] / 10,
        set_up: scenes::due_hundreds,
        lasts: false,
        deeds: &[
            ("# holds of 100 numbers fall due at once", all_expire),
            ("GRABs QTY 100 while # holds of 100 are due", grab_hundreds),
        ],
    },
    Scene {
        size: |plan| plan.sizes[1] / 10,
        set_up: scenes::due_scattered,
        lasts: false,
        deeds: &[
            ("# holds of 100 scattered numbers fall due at once", all_expire),
            ("GRABs ADJACENT while # such holds are due", adjacent),
        ],
    },
];

/// Sends the requests that `request` makes of the numbers from `first` on, one after the other.
fn again(control: &Control, first: u64, request: impl Fn(u64) -> Request) -> Result<(), String> {
    let start = Instant::now();
    let mut numbers = first..;
    while start.elapsed() < AGAIN_FOR {
        for number in numbers.by_ref().take(AT_ONCE) {
            send(control.port(), &request(number), number..=number, ALONE)?;
        }
    }
    Ok(())
}

/// Repeats a command that lists a page, each from a random position below `of`.
fn pages(control: &Control, of: u64, words: &[&str], reply: &'static str) -> Result<(), String> {
    again(control, 0, |number| {
        let cursor = Random(number).below(of).to_string();
        let words = words.iter().map(|word| word.replace(NUMBER, &cursor));
        Request::new(&words.collect::<Vec<_>>(), reply)
    })
}

fn all_expire(control: &mut Control, _: u64) -> Result<(), String> {
    control.tell(&["CLIENT", "UNPAUSE"])?;
    control.wait_for("seckill", "seckill_holds", "0")
}

/// Each GRAB asks for as many units as one call may expire.
fn grab_among_due(control: &mut Control, size: u64) -> Result<(), String> {
    grab_a_tenth(control, size, EXPIRIES, GRANTED)
}

/// Each GRAB asks for as many numbers as one grant may have.
fn grab_hundreds(control: &mut Control, size: u64) -> Result<(), String> {
    grab_a_tenth(control, size * MOST, MOST, GRANTED_UNITS)
}

/// GRABs of `qty` units take a tenth of all units.
fn grab_a_tenth(
    control: &mut Control,
    units: u64,
    qty: u64,
    reply: &'static str,
) -> Result<(), String> {
    control.tell(&["CLIENT", "UNPAUSE"])?;
    let words = ["SECKILL.GRAB", SALE, "late:000number000", "QTY", &qty.to_string()];
    let calls = units / qty / 10;
    send(control.port(), &Request::new(&words, reply), 0..calls, ALONE)?;
    control.wait_for_status(SALE, "held", calls * qty)
}

fn mgrab_among_due(control: &mut Control, size: u64) -> Result<(), String> {
    control.tell(&["CLIENT", "UNPAUSE"])?;
    let (keys, all) = ((0..MGRAB_SALES).map(mgrab_sale), MGRAB_SALES.to_string());
    let qty = (EXPIRIES / 2).to_string();
    let words = ["SECKILL.MGRAB", "late", &all].map(str::to_owned).into_iter().chain(keys);
    let words: Vec<String> = words.chain(["QTY".to_owned(), qty]).collect();
    (0..size / MGRAB_SALES / EXPIRIES).try_for_each(|_| until_granted(control, &words))
}

/// Repeats a command until no more holds are ending.
fn until_granted(control: &mut Control, words: &[String]) -> Result<(), String> {
    let start = Instant::now();
    while let Err(error) = control.tell(words) {
        if !error.contains("many holds are ending") || start.elapsed() > PATIENCE {
            return Err(error);
        }
    }
    Ok(())
}

/// Number of sales, one after the other: one sale can't have more numbers.
const HALLS: u64 = 10;

fn init_numbers(control: &mut Control, size: u64) -> Result<(), String> {
    (0..HALLS).try_for_each(|hall| init_hall(control, hall, size))
}

fn restock_numbers(control: &mut Control, size: u64) -> Result<(), String> {
    for hall in 0..HALLS {
        init_hall(control, hall, 0)?;
        let (key, more) = (hall_key(hall), size.to_string());
        control.tell(&["SECKILL.RESTOCK", &key, &more, "REQ", "all"])?;
    }
    Ok(())
}

fn init_hall(control: &mut Control, hall: u64, size: u64) -> Result<(), String> {
    control.tell(&["SECKILL.INIT", &hall_key(hall), &size.to_string(), "NUMBERED"])
}

fn hall_key(hall: u64) -> String {
    format!("hall:{hall}")
}

/// Waits until another thread of the server has freed the data.
fn flush(control: &mut Control, _: u64) -> Result<(), String> {
    control.tell(&["FLUSHALL", "ASYNC"])?;
    control.wait_for("memory", "lazyfree_pending_objects", "0")
}

/// A GRAB ADJACENT that must expire most of the holds before a run is long enough.
fn adjacent(control: &mut Control, _: u64) -> Result<(), String> {
    control.tell(&["CLIENT", "UNPAUSE"])?;
    let words = ["SECKILL.GRAB", SALE, "late", "QTY", &MOST.to_string(), "ADJACENT"];
    until_granted(control, &words.map(str::to_owned))
}

fn cancel(control: &mut Control, size: u64) -> Result<(), String> {
    let words = ["SECKILL.CANCEL", SALE, USER, "REQ", REQ];
    again(control, size, |_| Request::new(&words, CANCELLED))
}

fn restock(control: &mut Control, _: u64) -> Result<(), String> {
    const UNITS: u64 = 100_000;
    control.tell(&["SECKILL.RESTOCK", SALE, &UNITS.to_string(), "REQ", "all"])?;
    control.wait_for_status(SALE, "offered", UNITS)
}

fn close(control: &mut Control, _: u64) -> Result<(), String> {
    let now = control.status(SALE, "now")?.to_string();
    control.tell(&["SECKILL.ALTER", SALE, "CLOSEAT", &now])?;
    control.wait_for_status(SALE, "waiting", 0)
}

fn audit(control: &mut Control, _: u64) -> Result<(), String> {
    let found: std::collections::HashMap<String, redis::Value> =
        control.ask(&["SECKILL.AUDIT", SALE])?;
    match found.get("ok") {
        Some(redis::Value::Int(1)) => Ok(()),
        _ => Err(format!("AUDIT says {found:?}")),
    }
}

fn waiters(control: &mut Control, size: u64) -> Result<(), String> {
    pages(control, size, &["SECKILL.WAITERS", SALE, NUMBER, "COUNT", "10000"], "*2")
}

fn winners(control: &mut Control, size: u64) -> Result<(), String> {
    page(control, size, "10000")
}

fn page(control: &Control, size: u64, count: &str) -> Result<(), String> {
    let words = ["SECKILL.WINNERS", SALE, NUMBER, "COUNT", count, "STATE", "ALL"];
    pages(control, size, &words, "*2")
}

fn grab_in_rounds(control: &mut Control, _: u64) -> Result<(), String> {
    let version = control.status(SALE, "version")?;
    let words = ["SECKILL.GRAB", SALE, "late:000number000"];
    again(control, version, |_| Request::new(&words, GRANTED))
}

/// Ends the round three times: its winners move to the previous round, then they are dropped.
fn next_rounds(control: &mut Control, _: u64) -> Result<(), String> {
    for _ in 0..3 {
        go_on(control, PERIOD_MS)?;
    }
    std::thread::sleep(AGAIN_FOR);
    Ok(())
}

fn user(control: &mut Control, size: u64) -> Result<(), String> {
    pages(control, size, &["SECKILL.USER", SALE, "user", "COUNT", "10000"], "*3")
}

/// A command with this many users, ten times, each followed by a command that reverts it.
fn with_users(control: &mut Control, size: u64, commands: [&[&str]; 2]) -> Result<(), String> {
    let users: Vec<String> = (0..size).map(|number| numbered(USER, number)).collect();
    let users: Vec<&str> = users.iter().map(String::as_str).collect();
    let [add, remove] = commands.map(|head| [head, &users].concat());
    for _ in 0..10 {
        control.tell(&add)?;
        control.tell(&remove)?;
    }
    Ok(())
}

fn deny(control: &mut Control, size: u64) -> Result<(), String> {
    let [add, remove] = ["ADD", "REMOVE"].map(|how| ["SECKILL.DENY", SALE, how]);
    with_users(control, size, [&add, &remove])
}

fn sadd(control: &mut Control, size: u64) -> Result<(), String> {
    with_users(control, size, [&["SADD", "members"], &["SREM", "members"]])
}

/// LRANGE of as many elements as a page of 10,000 winners has.
fn lrange(control: &mut Control, _: u64) -> Result<(), String> {
    let words = ["LRANGE", scenes::LIST, "0", "89999"];
    again(control, 0, |_| Request::new(&words, "*90000"))
}
