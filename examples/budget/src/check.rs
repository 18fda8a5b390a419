//! The final check: compares the sale's entries with the workers' answers.

use std::collections::BTreeMap;

use redis::Connection;
use serde_json::Value;

use crate::worker::cost;
use crate::{told, Kept, Told, MOST, STREAM};

const PAGE: usize = 2_000;

/// The newest entry of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    state: String,
    units: u64,
}

/// Checks all entries. Returns a summary for people.
pub fn all(conn: &mut Connection, budget: u64, kept: &[Kept]) -> Told<String> {
    let (mut calls, mut last, mut most) = (BTreeMap::new(), "-".to_owned(), 0);
    loop {
        let mut read = redis::cmd("XRANGE");
        read.arg(STREAM).arg(&last).arg("+").arg("COUNT").arg(PAGE);
        let page: Vec<(String, Vec<String>)> = read.query(conn).map_err(told)?;
        let Some((id, _)) = page.last() else { break };
        last = format!("({id}");
        for (_, fields) in &page {
            most = most.max(look(fields, budget, &mut calls)?);
        }
    }
    let used = settle(&calls, kept)?;
    let expired = calls.values().filter(|call| call.state == "EXPIRED").count();
    Ok(format!(
        "{} calls kept {used} of {budget} units, {expired} calls ended without paying and their \
         units came back. At most {most} were reserved and used at a time: none was passed, none \
         leaked",
        calls.len() - expired
    ))
}

/// Checks one entry: the units add up to the budget, and a call keeps exactly its cost.
fn look(fields: &[String], budget: u64, calls: &mut BTreeMap<String, Call>) -> Told<u64> {
    let field = |name: &str| fields.chunks(2).find(|pair| pair[0] == name).map(|pair| &pair[1]);
    let data = field("data").ok_or("an entry without data")?;
    let data: Value = serde_json::from_str(data).map_err(|e| e.to_string())?;
    let number = |name: &str| data[name].as_u64().unwrap_or(0);
    let [supply, available, held, sold] = ["supply", "available", "held", "sold"].map(number);
    if supply != budget || available + held + sold != supply {
        return Err(format!("{data} is not the budget of {budget}"));
    }
    let Some(req) = field("req") else { return Ok(held + sold) };
    let state = data["state"].as_str().unwrap_or_default().to_owned();
    let (units, returned) = (number("qty"), number("returned"));
    if units + returned != MOST || state == "SOLD" && units != cost(req) {
        return Err(format!("{req} was to keep {} of {MOST}: {data}", cost(req)));
    }
    calls.insert(req.clone(), Call { state, units });
    Ok(held + sold)
}

/// Checks that nothing is reserved, and that each confirmed call has kept its units. Returns the
/// number of kept units.
fn settle(calls: &BTreeMap<String, Call>, kept: &[Kept]) -> Told<u64> {
    if let Some((req, call)) = calls.iter().find(|(_, call)| call.state == "HELD") {
        return Err(format!("{req} is {call:?} in the end"));
    }
    for Kept { req, units } in kept {
        let expected = Call { state: "SOLD".into(), units: *units };
        if calls.get(req) != Some(&expected) {
            return Err(format!("{req} was told {expected:?} and is {:?}", calls.get(req)));
        }
    }
    Ok(calls.values().filter(|call| call.state == "SOLD").map(|call| call.units).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(req: &str, state: &str, [held, sold]: [u64; 2], qty: u64, back: u64) -> Vec<String> {
        let available = 5_000 - held - sold;
        let data = format!(
            r#"{{"supply":5000,"available":{available},"held":{held},"sold":{sold},"qty":{qty},
               "state":"{state}","returned":{back}}}"#
        );
        ["data", &data, "req", req].map(str::to_owned).to_vec()
    }

    fn kept(req: &str, units: u64) -> Kept {
        Kept { req: req.to_owned(), units }
    }

    #[test]
    fn what_is_wrong_is_found() {
        let (mut calls, cost) = (BTreeMap::new(), cost("a"));
        assert_eq!(look(&entry("a", "HELD", [1_000, 0], 1_000, 0), 5_000, &mut calls), Ok(1_000));
        assert!(settle(&calls, &[]).is_err(), "it is reserved");
        let sold = |units| entry("a", "SOLD", [0, units], units, MOST - units);
        assert!(look(&sold(cost + 1), 5_000, &mut calls).is_err(), "it kept too much");
        assert!(look(&sold(cost), 5_001, &mut calls).is_err(), "another budget");
        assert!(look(&sold(cost), 5_000, &mut calls).is_ok());
        assert_eq!(settle(&calls, &[kept("a", cost)]), Ok(cost));
        assert!(settle(&calls, &[kept("a", cost - 1)]).is_err(), "it was told less");
        assert!(settle(&calls, &[kept("b", 1)]).is_err(), "it is not there");
        let lost = entry("a", "HELD", [0, 0], 900, 0);
        assert!(look(&lost, 5_000, &mut calls).is_err(), "a hundred are nowhere");
    }
}
