//! The work that runs beside the PINGs, each kind where it costs the most.

use std::time::{Duration, Instant};

use super::scenes::{self, go_on, mgrab_sale, number, wait_for, MGRAB_SALES, MOST, PERIOD_MS};
use super::{Deed, Scene};
use crate::contenders::{GRANTED, GRANTED_UNITS, REQ, SALE, USER};
use crate::control::Control;
use crate::load::{random, send, Manner, Request, NUMBER};

/// Duration of repeated work.
const AGAIN_FOR: Duration = Duration::from_secs(2);
/// Timeout of a call that is answered "many holds are ending" again and again.
const PATIENCE: Duration = Duration::from_secs(60);
/// Calls between two checks of the clock.
const AT_ONCE: usize = 10;
/// One call after the other on one connection.
const ALONE: Manner = Manner { connections: 1, pipeline: 1, pace: None };

/// Users of one DENY.
const LISTED: u64 = 100_000;
/// Most holds that one GRAB may expire (EXPIRIES_PER_CALL_MAX).
const EXPIRIES: u64 = 1_000;

/// Sales without numbered units, and commands of the server itself.
pub(super) static COUNTED: [Scene; 12] = [
    Scene {
        size: |plan| plan.sizes[1],
        set_up: scenes::due,
        lasts: false,
        deeds: &[
            Deed { name: "# holds fall due at once", act: all_expire },
            Deed { name: "GRABs QTY 1000 while # holds are due", act: grab_among_due },
        ],
    },
    Scene {
        size: |plan| plan.sizes[1],
        set_up: scenes::due_in_many,
        lasts: false,
        deeds: &[Deed { name: "MGRABs of 64 sales while # holds are due", act: mgrab_among_due }],
    },
    Scene {
        size: |_| 65_536,
        set_up: scenes::fences,
        lasts: false,
        deeds: &[Deed { name: "CANCELs when # fences are over", act: cancel }],
    },
    Scene {
        size: |plan| plan.sizes[1],
        set_up: scenes::waiters,
        lasts: false,
        deeds: &[
            Deed { name: "RESTOCK of 100,000 where # wait", act: restock },
            Deed { name: "# who wait are dropped by CLOSEAT", act: close },
        ],
    },
    Scene {
        size: |plan| plan.sizes[1],
        set_up: scenes::waiters,
        lasts: true,
        deeds: &[
            Deed { name: "AUDIT where # wait", act: audit },
            Deed { name: "WAITERS COUNT 10000 of #", act: waiters },
        ],
    },
    Scene {
        size: |_| 10_000,
        set_up: scenes::rounds,
        lasts: true,
        deeds: &[
            Deed { name: "GRABs with # rounds kept", act: grab_in_rounds },
            Deed { name: "WINNERS COUNT 10000 of # rounds kept", act: winners },
            Deed { name: "AUDIT of # rounds kept", act: audit },
        ],
    },
    Scene {
        size: |plan| plan.sizes[1],
        set_up: scenes::large_round,
        lasts: false,
        deeds: &[Deed { name: "rounds of # winners end and are given back", act: next_rounds }],
    },
    Scene {
        size: |_| 100_000,
        set_up: scenes::one_user,
        lasts: true,
        deeds: &[Deed { name: "USER COUNT 10000 of a user with # grants", act: user }],
    },
    Scene {
        size: |_| LISTED,
        set_up: scenes::empty,
        lasts: true,
        deeds: &[Deed { name: "DENY of # users in one call", act: deny }],
    },
    Scene {
        size: |plan| plan.sizes[1],
        set_up: scenes::holds,
        lasts: true,
        deeds: &[Deed { name: "AUDIT of # grants with HOLD and REQ", act: audit }],
    },
    Scene {
        size: |plan| plan.sizes[2],
        set_up: scenes::winners,
        lasts: true,
        deeds: &[
            Deed { name: "AUDIT of # grants", act: audit },
            Deed { name: "WINNERS COUNT 10000 of # grants", act: winners },
            Deed { name: "WINNERS COUNT 1000 of # grants", act: page },
        ],
    },
    // Commands of the server itself with as many arguments and reply elements.
    Scene {
        size: |_| LISTED,
        set_up: scenes::list,
        lasts: true,
        deeds: &[
            Deed { name: "the server's SADD of # members in one call", act: sadd },
            Deed { name: "the server's LRANGE of 90,000 elements", act: lrange },
        ],
    },
];

/// Sales with numbered units.
pub(super) static NUMBERED: [Scene; 4] = [
    Scene {
        size: |plan| plan.sizes[2],
        set_up: scenes::empty,
        lasts: false,
        deeds: &[
            Deed { name: "INIT of # numbers", act: init_numbers },
            Deed { name: "RESTOCK of # numbers", act: restock_numbers },
        ],
    },
    Scene {
        size: |plan| plan.sizes[2],
        set_up: scenes::sold_numbers,
        lasts: false,
        deeds: &[
            Deed { name: "DEL of # numbers, all sold", act: delete },
            Deed { name: "UNLINK of # numbers, all sold", act: unlink },
            Deed { name: "FLUSHALL ASYNC of # numbers, all sold", act: flush },
        ],
    },
    Scene {
        size: |plan| plan.sizes[1] / 10,
        set_up: scenes::due_hundreds,
        lasts: false,
        deeds: &[
            Deed { name: "# holds of 100 numbers fall due at once", act: all_expire },
            Deed { name: "GRABs QTY 100 while # holds of 100 are due", act: grab_hundred },
        ],
    },
    Scene {
        size: |plan| plan.sizes[1] / 10,
        set_up: scenes::due_scattered,
        lasts: false,
        deeds: &[
            Deed { name: "# holds of 100 scattered numbers fall due at once", act: all_expire },
            Deed { name: "GRABs ADJACENT while # such holds are due", act: adjacent },
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
    let anywhere: Vec<String> = random(1, of).map(|number| number.to_string()).take(100).collect();
    again(control, 0, |number| {
        let cursor = anywhere[number as usize % anywhere.len()].as_str();
        let word =
            |word: &&str| if *word == NUMBER { cursor.to_owned() } else { (*word).to_owned() };
        Request::new(&words.iter().map(word).collect::<Vec<String>>(), reply)
    })
}

fn all_expire(control: &mut Control, _: u64) -> Result<(), String> {
    control.tell(&["CLIENT", "UNPAUSE"])?;
    control.wait_for("seckill", "seckill_holds", "0")
}

/// GRABs take a tenth of all units. Each asks for as many units as one call may expire.
fn grab_among_due(control: &mut Control, size: u64) -> Result<(), String> {
    control.tell(&["CLIENT", "UNPAUSE"])?;
    let (qty, calls) = (EXPIRIES.to_string(), size / EXPIRIES / 10);
    let grab = Request::new(&["SECKILL.GRAB", SALE, "late:000number000", "QTY", &qty], GRANTED);
    send(control.port(), &grab, 0..calls, ALONE)?;
    wait_for(control, "held", calls * EXPIRIES)
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

fn delete(control: &mut Control, _: u64) -> Result<(), String> {
    control.tell(&["DEL", SALE])
}

fn unlink(control: &mut Control, _: u64) -> Result<(), String> {
    control.tell(&["UNLINK", SALE])
}

/// Waits until another thread of the server has freed the data.
fn flush(control: &mut Control, _: u64) -> Result<(), String> {
    control.tell(&["FLUSHALL", "ASYNC"])?;
    control.wait_for("memory", "lazyfree_pending_objects", "0")
}

/// GRABs take a tenth of all numbers, each as many as one grant may have.
fn grab_hundred(control: &mut Control, size: u64) -> Result<(), String> {
    control.tell(&["CLIENT", "UNPAUSE"])?;
    let words = ["SECKILL.GRAB", SALE, "late:000number000", "QTY", &MOST.to_string()];
    send(control.port(), &Request::new(&words, GRANTED_UNITS), 0..size / 10, ALONE)?;
    wait_for(control, "held", size / 10 * MOST)
}

/// A GRAB ADJACENT that must expire most of the holds before a run is long enough.
fn adjacent(control: &mut Control, _: u64) -> Result<(), String> {
    control.tell(&["CLIENT", "UNPAUSE"])?;
    let words = ["SECKILL.GRAB", SALE, "late", "QTY", &MOST.to_string(), "ADJACENT"];
    until_granted(control, &words.map(str::to_owned))
}

fn cancel(control: &mut Control, size: u64) -> Result<(), String> {
    let words = ["SECKILL.CANCEL", SALE, USER, "REQ", REQ];
    again(control, size, |_| Request::new(&words, "*4\r\n$9\r\nCANCELLED"))
}

fn restock(control: &mut Control, _: u64) -> Result<(), String> {
    const UNITS: u64 = 100_000;
    control.tell(&["SECKILL.RESTOCK", SALE, &UNITS.to_string(), "REQ", "all"])?;
    wait_for(control, "offered", UNITS)
}

fn close(control: &mut Control, _: u64) -> Result<(), String> {
    let now = number(control, "now")?.to_string();
    control.tell(&["SECKILL.ALTER", SALE, "CLOSEAT", &now])?;
    wait_for(control, "waiting", 0)
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
    let words = ["SECKILL.WINNERS", SALE, NUMBER, "COUNT", "10000", "STATE", "ALL"];
    pages(control, size, &words, "*2")
}

fn page(control: &mut Control, size: u64) -> Result<(), String> {
    let words = ["SECKILL.WINNERS", SALE, NUMBER, "COUNT", "1000", "STATE", "ALL"];
    pages(control, size, &words, "*2")
}

fn grab_in_rounds(control: &mut Control, _: u64) -> Result<(), String> {
    let version = number(control, "version")?;
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
    let users: Vec<String> = (0..size).map(|number| format!("user:{number:012}")).collect();
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
