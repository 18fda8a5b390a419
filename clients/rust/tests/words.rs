//! Tests without a server: slots, parts of users, and complete or truncated replies.

use redis::Value;
use seckill_client::{home, slot, Answer, MultiAnswer, Outcome, State};

fn word(text: &str) -> Value {
    Value::BulkString(text.into())
}

#[test]
fn slots_are_those_of_the_cluster_specification() {
    assert_eq!(slot(b"123456789"), 12739);
    assert_eq!(slot(b"{user1000}.following"), slot(b"{user1000}.followers"));
    assert_eq!(slot(b"foo{}{bar}"), 8363, "an empty tag is none");
    assert_eq!(slot(b"foo{{bar}}zap"), slot(b"{bar"));
}

#[test]
fn a_home_is_that_of_the_other_languages() {
    assert_eq!(home("sale", 16, "alice").unwrap(), (7, "sale:{p7}".to_owned()));
    assert_eq!(home("sale", 16, b"\xff\x00\xfe").unwrap().0, 4);
    assert!(home("sale", 0, "alice").is_err());
}

#[test]
fn a_reply_may_have_more_words_and_not_fewer() {
    let mut words = vec![word("GRANTED"), Value::Int(7), Value::Int(2), word("HELD")];
    words.extend([Value::Int(5), Value::Int(3)]);
    assert_eq!(Answer::read(&Value::Array(words[..5].to_vec())), None);
    words.push(Value::Array(vec![Value::Int(1)]));
    let answer = Answer::read(&Value::Array(words)).unwrap();
    assert_eq!((answer.outcome, answer.state), (Outcome::Granted, Some(State::Held)));
    assert_eq!((answer.seq, answer.qty, answer.available), (Some(7), Some(2), Some(3)));
    assert_eq!(answer.units, Some(vec![1]));
    assert!(answer.won());
    assert_eq!(Answer::read(&Value::Array(vec![word("SOMETHING")])), None);
    let wrong = [word("REPLAY"), Value::Int(1), Value::Int(1), word("GONE"), Value::Int(0)];
    assert_eq!(Answer::read(&Value::Array(wrong.to_vec())), None, "no state of ours");
}

#[test]
fn a_hold_that_ended_is_nobodys() {
    let row = Value::Array(vec![Value::Int(1), Value::Int(1), word("EXPIRED"), Value::Int(0)]);
    let answer = MultiAnswer::read(&Value::Array(vec![word("REPLAY"), row])).unwrap();
    assert!(!answer.won());
    let refusal = Value::Array(vec![word("SOLDOUT"), Value::Int(4)]);
    let refused = Value::Array(vec![word("REFUSED"), Value::Int(1), refusal]);
    let answer = MultiAnswer::read(&refused).unwrap();
    let (index, refusal) = answer.refusal.unwrap();
    assert_eq!((index, refusal.held), (1, Some(4)));
}
