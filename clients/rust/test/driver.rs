//! Executes for `make clients` one call for each JSON line on stdin, and prints the result as a
//! JSON line: see clients/cases.md.

use std::error::Error as Failure;
use std::io::BufRead;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redis::Value;
use seckill_client::{
    decode, home, Answer, Attempt, Durable, Error, Event, Id, Keep, Link, MultiAnswer, Options,
    OrdersOptions, Row, Sale, Servers, Units,
};
use serde_json::{json, Map, Value as Json};

type Told = Result<Json, Box<dyn Failure>>;
type Attempts = Arc<Mutex<Vec<Json>>>;

fn main() -> Result<(), Box<dyn Failure>> {
    let told: Json = serde_json::from_str(&std::env::args().nth(1).ok_or("no argument")?)?;
    let bare = format!("redis://127.0.0.1:{}/", told["port"]);
    let url = if told["resp"] == 3 { format!("{bare}?protocol=resp3") } else { bare.clone() };
    let mut servers = match told["on"].as_str() {
        Some("cluster") => Servers::cluster([url])?,
        Some("sentinel") => Servers::sentinel([bare], "mymaster", url)?,
        _ => Servers::one(url)?,
    };
    for line in std::io::stdin().lock().lines() {
        println!("{}", run(&mut servers, &serde_json::from_str(&line?)?)?);
    }
    Ok(())
}

fn run(servers: &mut Servers, order: &Json) -> Told {
    let key = String::from_utf8(bytes(&order["key"])?).unwrap_or_default();
    match order["call"].as_str().unwrap_or_default() {
        "outbox" => {
            let range = redis::cmd("XRANGE").arg(&key).arg("-").arg("+").clone();
            let replies = servers.send(key.as_bytes(), &[range], Duration::from_secs(2))?;
            let entries = replies.first().and_then(Value::as_sequence).ok_or("no entries")?;
            let events =
                entries.iter().map(|entry| Some(event(&decode(&entry.as_sequence()?[1])?)));
            return Ok(json!({ "events": events.collect::<Option<Vec<_>>>() }));
        }
        "home" => {
            let parts = serde_json::from_value(order["parts"].clone())?;
            return Ok(json!({ "part": home(&key, parts, bytes(&order["user"])?)?.0 }));
        }
        "answer" => {
            let answer = Answer::read(&value(&order["reply"])).ok_or("no answer")?;
            return Ok(answer_line(&answer));
        }
        _ => {}
    }
    let key = match order.get("parts") {
        Some(parts) => {
            home(&key, serde_json::from_value(parts.clone())?, bytes(&order["user"])?)?.1
        }
        None => key,
    };
    let attempts = Attempts::default();
    let mut sale = Sale::new(servers, key).with(options(order, &attempts));
    let mut line = match call(&mut sale, order) {
        Ok(line) => line,
        Err(failure) => match failure.downcast::<Error>().map(|error| *error) {
            Ok(Error::Sale(error)) => json!({ "error": "SaleError", "code": error.code }),
            Ok(Error::Unanswered(told)) => {
                json!({ "error": "Unanswered", "req": plain(told.req.as_ref()), "lost": told.lost })
            }
            Ok(Error::Usage(_)) => json!({ "error": "TypeError" }),
            Err(other) => return Err(other),
        },
    };
    let made = attempts.lock().map_or(Vec::new(), |made| made.clone());
    line["attempts"] = json!(made);
    Ok(line)
}

fn options(order: &Json, attempts: &Attempts) -> Options {
    let ms = |value: &Json| value.as_u64().map(Duration::from_millis);
    let mut options = Options::default();
    options.timeout = ms(&order["timeout_ms"]).unwrap_or(options.timeout);
    options.attempts = order["attempts"].as_u64().map_or(options.attempts, |count| count as u32);
    options.durable = order.get("durable").filter(|told| told.is_object()).map(|told| Durable {
        mark: told["mark"].as_str().unwrap_or_default().into(),
        replicas: told["replicas"].as_u64().map_or(1, |replicas| replicas as u32),
        timeout: ms(&told["timeout_ms"]).unwrap_or(Duration::from_secs(1)),
    });
    let attempts = Arc::clone(attempts);
    options.on_attempt = Some(Box::new(move |attempt: &Attempt<'_>| {
        if let Ok(mut attempts) = attempts.lock() {
            attempts.push(json!([attempt.name, attempt.outcome, attempt.lost]));
        }
    }));
    options
}

fn call(sale: &mut Sale<&mut Servers>, order: &Json) -> Told {
    let user = || bytes(&order["user"]);
    let req = match &order["req"] {
        Json::Null => Vec::new(),
        told => bytes(told)?,
    };
    let number = |name: &str| order[name].as_i64();
    let numbers = |name: &str| -> Option<Vec<i64>> {
        order[name].as_array().map(|all| all.iter().filter_map(Json::as_i64).collect())
    };
    let kept = numbers("keep");
    let keep = kept.as_deref().map(Keep::Units).or(number("keep").map(Keep::Qty));
    Ok(match order["call"].as_str().unwrap_or_default() {
        "grab" => {
            let named = numbers("units");
            let units = match (number("upto"), number("qty"), &named) {
                (_, _, Some(named)) => Units::Exactly(named),
                (_, qty, _) if order["adjacent"] == true => Units::Adjacent(qty.unwrap_or(1)),
                (Some(most), _, _) => Units::UpTo(most),
                (None, Some(qty), _) => Units::Qty(qty),
                (None, None, _) => Units::One,
            };
            answer_line(&sale.grab(user()?, req, units)?)
        }
        "wait" => {
            let qty = number("qty").unwrap_or(1);
            answer_line(&sale.wait(user()?, req, qty, number("until_ms"))?)
        }
        "place" => sale.place(user()?)?.map_or(json!({}), |place| {
            json!({
                "ticket": place.ticket, "ahead": place.ahead, "units_ahead": place.units_ahead
            })
        }),
        "confirm" => answer_line(&sale.confirm(user()?, req, order["reclaim"] == true, keep)?),
        "cancel" => answer_line(&sale.cancel(user()?, req, keep)?),
        "extend" => answer_line(&sale.extend(user()?, number("ms").unwrap_or(0), req)?),
        "refund" => answer_line(&sale.refund(user()?, req, keep)?),
        "mgrab" => {
            let others: Vec<&str> =
                order["others"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
            let qty: Vec<i64> = match &order["qty"] {
                Json::Array(all) => all.iter().filter_map(Json::as_i64).collect(),
                one => one.as_i64().into_iter().collect(),
            };
            multi_line(&sale.mgrab(user()?, &others, req, &qty)?)
        }
        "user" => {
            let told = sale.user(user()?)?;
            json!({
                "allowance": told.allowance.map_or(-1, |left| left as i64),
                "admission": told.admission,
                "grants": told.grants.iter().map(row).collect::<Vec<_>>(),
            })
        }
        "units" => {
            let count = |name: &str, otherwise| order[name].as_u64().unwrap_or(otherwise);
            json!({ "units": sale.units(count("first", 1), count("count", 1000))? })
        }
        "unit" => sale.unit(order["unit"].as_u64().unwrap_or(1))?.as_ref().map_or(json!({}), row),
        "status" => Json::Object(sale.status()?),
        "winners" => {
            let state = order["state"].as_str().unwrap_or("LIVE");
            let after = order["after"].as_u64().unwrap_or(0);
            let rows = sale.winners(state, after).collect::<Result<Vec<_>, _>>()?;
            json!({
                "count": rows.len(), "first": rows.first().map(row), "last": rows.last().map(row)
            })
        }
        "orders" => orders(sale, order)?,
        other => return Err(format!("what is {other}?").into()),
    })
}

fn orders(sale: &mut Sale<&mut Servers>, order: &Json) -> Told {
    let word = |name: &str| order[name].as_str().unwrap_or_default();
    let mut options = OrdersOptions { follow: false, ..OrdersOptions::default() };
    if let Some(ms) = order["idle_ms"].as_u64() {
        options.idle = Duration::from_millis(ms);
    }
    let mut orders = sale.orders(word("key"), word("group"), word("name"), options);
    let mut events = Vec::new();
    while let Some(told) = orders.next() {
        let told = told?;
        events.push(told.event.as_ref().map_or(Json::Null, event));
        if order["ack"] == true {
            orders.ack(&told)?;
        }
    }
    Ok(json!({ "events": events }))
}

fn answer_line(answer: &Answer) -> Json {
    json!({
        "outcome": answer.outcome.word(),
        "won": answer.won(),
        "req": plain(answer.req.as_ref()),
        "lost": answer.lost,
        "durable": answer.durable,
        "seq": answer.seq,
        "qty": answer.qty,
        "state": answer.state.map(|state| state.word()),
        "deadline_ms": answer.deadline_ms,
        "available": answer.available,
        "held": answer.held,
        "allowance": answer.allowance,
        "opens_in_ms": answer.opens_in_ms, "unit": answer.unit,
        "units": answer.units,
        "ticket": answer.ticket,
        "ahead": answer.ahead,
        "units_ahead": answer.units_ahead,
    })
}

fn multi_line(answer: &MultiAnswer) -> Json {
    json!({
        "outcome": answer.outcome.map_or("REFUSED", |outcome| outcome.word()),
        "won": answer.won(),
        "req": plain(answer.req.as_ref()),
        "lost": answer.lost,
        "durable": answer.durable,
        "index": answer.refusal.as_ref().map(|(index, _)| index),
        "refusal": answer.refusal.as_ref().map(|(_, refusal)| answer_line(refusal)),
        "grants": answer.grants.iter().map(answer_line).collect::<Vec<_>>(),
    })
}

fn row(row: &Row) -> Json {
    json!({
        "seq": row.seq, "user": plain(row.user.as_ref()), "qty": row.qty,
        "state": row.state.word(), "at_ms": row.at_ms, "deadline_ms": row.deadline_ms,
        "req": id(row.req.as_ref()), "epoch": row.epoch, "round": row.round,
        "units": row.units,
    })
}

fn event(event: &Event) -> Json {
    let data: Map<String, Json> = event.data.clone();
    json!({
        "event": event.event, "sale": plain(event.sale.as_ref()), "data": data,
        "user": id(event.user.as_ref()), "req": id(event.req.as_ref()),
        "outbox": id(event.outbox.as_ref()), "split": id(event.split.as_ref()),
    })
}

fn id(id: Option<&Id>) -> Json {
    id.map_or(Json::Null, |id| plain(id.as_ref()))
}

/// An id for the runner: text if it is UTF-8, otherwise hexadecimal.
fn plain(id: &[u8]) -> Json {
    let hex = || id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    std::str::from_utf8(id).map_or_else(|_| json!({ "hex": hex() }), |text| json!(text))
}

fn bytes(told: &Json) -> Result<Vec<u8>, Box<dyn Failure>> {
    let Some(hex) = told.get("hex") else {
        return Ok(told.as_str().ok_or("an id must be a text")?.as_bytes().to_vec());
    };
    let digits = hex.as_str().ok_or("hex must be a text")?.as_bytes().chunks(2);
    Ok(digits
        .map(|two| u8::from_str_radix(&String::from_utf8_lossy(two), 16))
        .collect::<Result<_, _>>()?)
}

/// A raw reply, made from texts and numbers.
fn value(told: &Json) -> Value {
    match told {
        Json::Array(all) => Value::Array(all.iter().map(value).collect()),
        Json::Number(number) => Value::Int(number.as_i64().unwrap_or(0)),
        Json::String(text) => Value::BulkString(text.as_bytes().to_vec()),
        _ => Value::Nil,
    }
}
