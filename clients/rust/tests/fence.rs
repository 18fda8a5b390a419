//! A fence, which a CANCEL leaves that came before its GRAB, is no grant.

use std::time::Duration;

use redis::{Cmd, RedisResult, Value};
use seckill_client::{Durable, Link, Options, Sale};

/// A server that answers CANCEL with this number, and all else with 1.
struct Server(i64);

impl Link for Server {
    fn send(&mut self, _: &[u8], commands: &[Cmd], _: Duration) -> RedisResult<Vec<Value>> {
        let is_cancel = |command: &Cmd| {
            let words = command.get_packed_command();
            words.windows(14).any(|word| word == b"SECKILL.CANCEL")
        };
        let answer = |command: &Cmd| match is_cancel(command) {
            true => Value::Array(vec![
                Value::BulkString("CANCELLED".into()),
                Value::Int(self.0),
                Value::Int(self.0),
                Value::Int(0),
            ]),
            false => Value::Int(1),
        };
        Ok(commands.iter().map(answer).collect())
    }

    fn drop_connections(&mut self) {}
}

#[test]
fn a_fence_is_told_without_durable() {
    for (seq, durable) in [(1, Some(true)), (0, None)] {
        let kept = Durable { mark: "mark".into(), replicas: 1, timeout: Duration::from_millis(9) };
        let options = Options { durable: Some(kept), ..Options::default() };
        let mut sale = Sale::new(Server(seq), "sale").with(options);
        let answer = sale.cancel("u", "r", None).expect("an answer");
        assert_eq!((answer.seq, answer.durable), (Some(seq as u64), durable));
    }
}
