//! `/stock/NAME`: the stock of a sale for buyers' pages, as JSON that may be cached, or as events.
//! All viewers share one reading, so the load on Redis does not grow with their number.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use serde_json::json;
use tokio::sync::watch;

use super::find::wait;
use super::read::Snapshot;
use super::target::{Target, MAP};
use super::JSON;
use crate::stop::Stop;
use crate::web::{Answer, Asked, Body, TEXT};

/// Time between two readings for viewers who are sent events.
const EVERY: Duration = Duration::from_secs(1);

/// Any page may read the stock, and a cache may keep it for a second.
const HEADERS: [(&str, &str); 2] =
    [("cache-control", "public, max-age=1"), ("access-control-allow-origin", "*")];

/// A question for stock: the sale, the rounding, and the first number of the map that is wanted.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    sale: String,
    round: u64,
    first: Option<u64>,
}

/// The subscribers of events, by sale, `round` and `units`.
pub struct Stock {
    round: u64,
    feeds: Mutex<HashMap<Key, watch::Sender<String>>>,
}

impl Stock {
    /// Rounds all stock numbers to multiples of `round`.
    pub fn of(round: u64) -> Stock {
        Stock { round, feeds: Mutex::new(HashMap::new()) }
    }

    /// The stock of the sale with this name, as it is written in the path. In the query `round`
    /// asks for larger steps, and `units` for the state of each number of a numbered sale.
    pub fn show(&self, name: &str, target: &Target, asked: &Asked) -> Option<Answer> {
        let name = percent_decode_str(name).decode_utf8().ok()?.into_owned();
        let round = match asked.query("round").map(|round| round.parse::<u64>()) {
            None => self.round,
            Some(Ok(round)) if round >= 1 => round.max(self.round),
            _ => return Some(Answer::of(400, TEXT, "round is a number from 1 on.\n")),
        };
        let first = match asked.query("units").map(|first| first.parse::<u64>()) {
            None => None,
            // Only the first number of a map is accepted. Otherwise each visitor could cause a call
            // to Redis.
            Some(Ok(first)) if self.round == 1 && first % MAP == 1 => Some(first),
            _ => {
                let why = "units is 1, 10001, 20001 and so on, and nothing with --stock-round.\n";
                return Some(Answer::of(400, TEXT, why));
            }
        };
        let key = Key { sale: name, round, first };
        let snapshot = match target.for_pages() {
            Ok(snapshot) => snapshot,
            // The answer hides the address of Redis and its error from buyers.
            Err(_) => return Some(Answer::of(503, TEXT, "The stock is not known now.\n")),
        };
        let text = key.text(&snapshot, target)?;
        let mut answer = Answer::ok(JSON, text.clone());
        answer.headers.extend(HEADERS);
        if asked.accepts("text/event-stream") {
            let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
            let feed = feeds.entry(key).or_insert_with(|| watch::channel(text).0);
            answer.body = Body::Events(feed.subscribe());
            answer.headers[0].1 = "no-store";
        }
        Some(answer)
    }

    /// Sends changes until `stop`. Without viewers nothing is read.
    pub fn feed(&self, target: &Target, stop: &Stop) {
        while !stop.is_told() {
            wait(EVERY, stop);
            let is_watched = {
                let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
                feeds.retain(|_, feed| feed.receiver_count() > 0);
                !feeds.is_empty()
            };
            let Some(Ok(snapshot)) = is_watched.then(|| target.for_pages()) else { continue };
            let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
            // The events of a sale that is gone end.
            feeds.retain(|key, feed| match key.text(&snapshot, target) {
                None => false,
                Some(text) => {
                    feed.send_if_modified(|last| {
                        let changed = *last != text;
                        *last = text;
                        changed
                    });
                    true
                }
            });
        }
    }
}

impl Key {
    /// The stock as text; `None` if the sale, or the numbers asked for, do not exist.
    fn text(&self, snapshot: &Snapshot, target: &Target) -> Option<String> {
        let sale = snapshot.sales.iter().find(|sale| sale.name == self.sale)?;
        let units = |field: &str| {
            let units = sale.numbers.get(field).copied().unwrap_or_default();
            u64::try_from(units).unwrap_or_default()
        };
        // Rounded up: a sale with units left never looks sold out.
        let rounded = |units: u64| units.div_ceil(self.round) * self.round;
        let mut told = json!({
            "sale": self.sale,
            "state": sale.words.get("state"),
            "available": rounded(units("available")),
            "held": rounded(units("held")),
            "round": self.round,
        });
        if let Some(first) = self.first {
            if units("numbered") == 0 || first > units("supply") {
                return None;
            }
            // If the map can't be read, the page keeps the map that it has.
            told["units"] = target.map(&self.sale, first).ok().into();
        }
        Some(told.to_string())
    }
}
