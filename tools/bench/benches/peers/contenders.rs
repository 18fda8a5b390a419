//! Who runs: the module, and what a user would pick instead.

use std::path::PathBuf;

use crate::control::Control;
use crate::load::{Load, Rate, USERS};
use crate::sender::{self, Manner, Template};
use seckill_bench::callgrind;

/// Users in the load: `user:` and twelve digits.
pub const USER: &str = "user:__rand_int__";
/// Request ids.
const REQ: &str = "req:__rand_int__";
/// Users who never won anything.
pub const LATE: &str = "late:__rand_int__";
/// The sale's key, and the set's: equally long, for the log's sake.
pub const SALE: &str = "sale";
pub const SET: &str = "oset";
/// More units than are asked for.
pub const PLENTY: &str = "900000000";

/// A sale as a careful user would script it: once per user, never oversold, winners kept with the
/// time they won. The order of its calls is the cheapest: a winning call makes four, one that comes
/// too late two.
const SCRIPT: &str = "
local left = tonumber(redis.call('GET', KEYS[1]))
if left > 0 then
  local now = redis.call('TIME')
  local ms = now[1] * 1000 + math.floor(now[2] / 1000)
  if redis.call('HSETNX', KEYS[2], ARGV[1], ms) == 1 then
    return {'GRANTED', redis.call('DECR', KEYS[1])}
  end
  return {'ALREADY'}
end
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then
  return {'ALREADY'}
end
return {'SOLDOUT'}
";
/// The keys of the script.
pub const STOCK: &str = "{sale}:stock";
pub const TAKEN: &str = "{sale}:taken";

/// The files of the modules.
pub struct Modules {
    pub seckill: PathBuf,
    /// Commands that judge nothing, loaded beside it.
    pub noop: PathBuf,
}

/// Names, as tables and bars know them.
pub const PING: &str = "PING";
pub const INCR: &str = "INCR";
pub const SADD: &str = "SADD";
pub const MULTI: &str = "MULTI DECR SADD";
pub const LUA: &str = "Lua script";
pub const FUNCTION: &str = "function";
pub const NOOP: &str = callgrind::NOOP;
/// The same calls of the server as GRAB's, without GRAB: what no module command can beat.
pub const FLOOR_GRANTED: &str = callgrind::WINNING_CALLS;
pub const FLOOR_SOLDOUT: &str = callgrind::SOLDOUT_CALLS;
pub const FLOOR_ALREADY: &str = callgrind::ALREADY_CALLS;
pub const GRAB: &str = "GRAB";
pub const ALREADY: &str = "GRAB: ALREADY";
pub const SOLDOUT: &str = "GRAB: SOLDOUT";
pub const REPLAY: &str = "GRAB: REPLAY";

/// What a contender is asked, and what must be there before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ping,
    Incr,
    Sadd,
    Multi,
    Script,
    Function,
    Noop,
    FloorGranted,
    FloorSoldOut,
    FloorAlready,
    Grab,
    GrabReq,
    GrabHeld,
    GrabOutbox,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ping => PING,
            Kind::Incr => INCR,
            Kind::Sadd => SADD,
            Kind::Multi => MULTI,
            Kind::Script => LUA,
            Kind::Function => FUNCTION,
            Kind::Noop => NOOP,
            Kind::FloorGranted => FLOOR_GRANTED,
            Kind::FloorSoldOut => FLOOR_SOLDOUT,
            Kind::FloorAlready => FLOOR_ALREADY,
            Kind::Grab => GRAB,
            Kind::GrabReq => "GRAB with REQ",
            Kind::GrabHeld => "GRAB with HOLD",
            Kind::GrabOutbox => "GRAB with OUTBOX",
        }
    }

    pub fn start(self, modules: &Modules, settings: &[&str]) -> Result<Control, String> {
        use Kind::{FloorAlready, FloorGranted, FloorSoldOut, Noop};
        let noop = modules.noop.to_string_lossy();
        let mut settings = settings.to_vec();
        if matches!(self, Noop | FloorGranted | FloorSoldOut | FloorAlready) {
            settings.extend(["--loadmodule", &noop]);
        }
        Control::start(&modules.seckill, &settings)
    }

    /// Sets up an empty sale, or what stands for one; returns the words of a request.
    pub fn prepare(self, control: &mut Control) -> Result<Vec<String>, String> {
        let words: Vec<&str> = match self {
            Kind::Ping => vec!["PING"],
            Kind::Incr => vec!["INCR", "count"],
            Kind::Sadd | Kind::Multi => vec!["SADD", SET, USER],
            Kind::Noop => vec!["SECKILL.NOOP", SALE, USER],
            Kind::Script | Kind::Function => return script(self, control, PLENTY, USER),
            _ => {
                control.tell(&self.init())?;
                let mut words = vec![self.command(), SALE, USER];
                if self == Kind::GrabReq {
                    words.extend(["REQ", REQ]);
                }
                words
            }
        };
        if self == Kind::Multi {
            control.tell(&["SET", STOCK, PLENTY])?;
        }
        Ok(words.into_iter().map(str::to_owned).collect())
    }

    /// What is asked of a sale.
    fn command(self) -> &'static str {
        match self {
            Kind::FloorGranted => "SECKILL.NOOPGRAB",
            Kind::FloorSoldOut => "SECKILL.NOOPSOLD",
            Kind::FloorAlready => "SECKILL.NOOPMINE",
            _ => "SECKILL.GRAB",
        }
    }

    fn init(self) -> Vec<&'static str> {
        let mut words = vec!["SECKILL.INIT", SALE, PLENTY];
        match self {
            Kind::GrabHeld => words.extend(["HOLD", "900000"]),
            Kind::GrabOutbox => words.extend(["OUTBOX", "outbox"]),
            _ => {}
        }
        words
    }

    /// Runs the load; a transaction is one request.
    pub fn run(self, control: &mut Control, words: &[String], load: Load) -> Result<Rate, String> {
        match self {
            Kind::Multi => transactions(control, load),
            _ => load.run(control, words),
        }
    }

    /// How many winners there are now, where the contender keeps any.
    pub fn winners(self, control: &mut Control) -> Result<Option<f64>, String> {
        let count = match self {
            Kind::Sadd | Kind::Multi => control.ask(&["SCARD", SET])?,
            Kind::Script | Kind::Function => control.ask(&["HLEN", TAKEN])?,
            Kind::Grab | Kind::GrabReq | Kind::GrabHeld | Kind::GrabOutbox => {
                control.taken(SALE)?
            }
            _ => return Ok(None),
        };
        Ok(Some(count))
    }
}

/// Loads the script, with a stock; returns the words of a call.
pub fn script(
    kind: Kind,
    control: &mut Control,
    stock: &str,
    user: &str,
) -> Result<Vec<String>, String> {
    control.tell(&["SET", STOCK, stock])?;
    let (command, name) = match kind {
        Kind::Function => {
            let body = SCRIPT.replace("KEYS", "keys").replace("ARGV", "args");
            let library = format!(
                "#!lua name=shop\nredis.register_function('grab', \
                 function(keys, args)\n{body}\nend)"
            );
            control.tell(&["FUNCTION", "LOAD", &library])?;
            ("FCALL", "grab".to_owned())
        }
        _ => ("EVALSHA", control.ask(&["SCRIPT", "LOAD", SCRIPT])?),
    };
    Ok([command, &name, "2", STOCK, TAKEN, user].map(str::to_owned).to_vec())
}

/// redis-benchmark sends one command a request, so transactions need a sender of our own.
fn transactions(control: &mut Control, load: Load) -> Result<Rate, String> {
    let template = Template::new(&[&["MULTI"], &["DECR", STOCK], &["SADD", SET, USER], &["EXEC"]]);
    let manner = Manner {
        connections: load.connections as usize,
        pipeline: load.pipeline as usize,
        pace: None,
    };
    let numbers = sender::random(u64::from(control.port()), USERS).take(load.requests as usize);
    sender::measure(control, &template, numbers, manner)
}
