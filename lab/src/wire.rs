//! A buyer's Redis calls, each one round trip, with the names of phpredis.

use redis::{FromRedisValue, Value};

use crate::buyer::Buyer;
use crate::told::Stop;

impl Buyer {
    /// Any command.
    pub fn ask<T: FromRedisValue>(&mut self, words: &[&str]) -> Result<T, Stop> {
        let value = self.step(|buyer| {
            buyer.round_trips += 1;
            let mut command = redis::cmd(words[0]);
            command.arg(&words[1..]);
            let value: Value = command.query(&mut buyer.redis)?;
            let shown = if buyer.gate.is_held() { shown(&value) } else { String::new() };
            Ok((value, move || format!("{} -> {shown}", words.join(" "))))
        })?;
        Ok(T::from_redis_value(value)?)
    }

    /// A number; a missing key counts as 0, as in PHP comparisons.
    pub fn get(&mut self, key: &str) -> Result<i64, Stop> {
        Ok(self.ask::<Option<i64>>(&["GET", key])?.unwrap_or(0))
    }

    pub fn get_text(&mut self, key: &str) -> Result<Option<String>, Stop> {
        self.ask(&["GET", key])
    }

    pub fn set(&mut self, key: &str, value: impl ToString) -> Result<(), Stop> {
        self.ask(&["SET", key, &value.to_string()])
    }

    pub fn decr(&mut self, key: &str) -> Result<i64, Stop> {
        self.ask(&["DECR", key])
    }

    pub fn incr(&mut self, key: &str) -> Result<i64, Stop> {
        self.ask(&["INCR", key])
    }

    pub fn incr_by(&mut self, key: &str, by: u64) -> Result<i64, Stop> {
        self.ask(&["INCRBY", key, &by.to_string()])
    }

    pub fn lpush(&mut self, key: &str, value: impl ToString) -> Result<u64, Stop> {
        self.ask(&["LPUSH", key, &value.to_string()])
    }

    pub fn lpop(&mut self, key: &str) -> Result<Option<String>, Stop> {
        self.ask(&["LPOP", key])
    }

    pub fn rpop(&mut self, key: &str) -> Result<Option<String>, Stop> {
        self.ask(&["RPOP", key])
    }

    pub fn llen(&mut self, key: &str) -> Result<u64, Stop> {
        self.ask(&["LLEN", key])
    }

    pub fn hlen(&mut self, key: &str) -> Result<u64, Stop> {
        self.ask(&["HLEN", key])
    }

    pub fn watch(&mut self, key: &str) -> Result<(), Stop> {
        self.ask::<()>(&["WATCH", key])?;
        self.watches = true;
        Ok(())
    }

    /// MULTI, the commands, EXEC. Other clients see nothing in between, so it is one step. True if
    /// EXEC executed the commands.
    pub fn exec(&mut self, commands: &[&[&str]]) -> Result<bool, Stop> {
        let done = self.step(|buyer| {
            buyer.round_trips += 1;
            let mut pipeline = redis::pipe();
            pipeline.atomic();
            for words in commands {
                pipeline.cmd(words[0]).arg(&words[1..]);
            }
            let reply: Option<Vec<Value>> = pipeline.query(&mut buyer.redis)?;
            let shown = match &reply {
                Some(all) if buyer.gate.is_held() => shown(&Value::Array(all.clone())),
                _ => "nil".into(),
            };
            let told = move || {
                let words: Vec<String> = commands.iter().map(|words| words.join(" ")).collect();
                format!("MULTI; {}; EXEC -> {shown}", words.join("; "))
            };
            Ok((reply.is_some(), told))
        })?;
        self.watches = false;
        Ok(done)
    }

    pub fn setnx(&mut self, key: &str, value: &str) -> Result<bool, Stop> {
        let taken = self.ask::<u64>(&["SETNX", key, value])? == 1;
        if taken {
            self.gate.took_lock(key, false);
        }
        Ok(taken)
    }

    /// `set(key, value, ['nx', 'ex' => 10])`, the lease in ms.
    pub fn set_nx(&mut self, key: &str, value: &str) -> Result<bool, Stop> {
        let lease = self.rush.lease_ms.to_string();
        let taken = self.ask::<Option<String>>(&["SET", key, value, "NX", "PX", &lease])?.is_some();
        if taken {
            self.gate.took_lock(key, true);
        }
        Ok(taken)
    }

    pub fn expire(&mut self, key: &str) -> Result<(), Stop> {
        let lease = self.rush.lease_ms.to_string();
        self.ask::<()>(&["PEXPIRE", key, &lease])?;
        self.gate.took_lock(key, true);
        Ok(())
    }

    /// Renews a lease that still has this token; another lease stays unchanged.
    pub fn renew(&mut self, key: &str, token: &str) -> Result<bool, Stop> {
        let script = "if redis.call('get', KEYS[1]) == ARGV[1] then \
                      return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";
        let lease = self.rush.lease_ms;
        self.step(|buyer| {
            buyer.round_trips += 1;
            let mut command = redis::cmd("EVAL");
            command.arg(script).arg(1).arg(key).arg(token).arg(lease);
            let value: u64 = command.query(&mut buyer.redis)?;
            Ok((value == 1, move || format!("Lua: PEXPIRE {key} if it is {token} -> {value}")))
        })
    }

    pub fn del(&mut self, key: &str) -> Result<bool, Stop> {
        let gone = self.ask::<u64>(&["DEL", key])? == 1;
        if gone {
            self.gate.freed_lock(key);
        }
        Ok(gone)
    }

    /// The release of 003's client library: compare and delete in one script.
    pub fn release(&mut self, key: &str, token: &str) -> Result<bool, Stop> {
        let script = "if redis.call('get', KEYS[1]) == ARGV[1] then \
                      return redis.call('del', KEYS[1]) else return 0 end";
        let value = self.step(|buyer| {
            buyer.round_trips += 1;
            let mut command = redis::cmd("EVAL");
            let value: u64 =
                command.arg(script).arg(1).arg(key).arg(token).query(&mut buyer.redis)?;
            Ok((value, move || format!("Lua: DEL {key} if it is {token} -> {value}")))
        })?;
        if value == 1 {
            self.gate.freed_lock(key);
        }
        Ok(value == 1)
    }
}

/// A reply in one line, in the form of redis-cli.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Nil => "nil".into(),
        Value::Int(number) => number.to_string(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        Value::Okay => "OK".into(),
        Value::Array(all) => all.iter().map(shown).collect::<Vec<_>>().join(" "),
        other => format!("{other:?}"),
    }
}
