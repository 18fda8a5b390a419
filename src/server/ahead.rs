//! Fetching memory for a command before it runs.
//!
//! In a large sale a user's place in the index is far away: fetching it takes as long as judging
//! him. Between the moment that the server has a command's words and the moment that it runs the
//! command there is time for that. So a command filter, which sees the words first, hashes the user
//! of a command on the sale that was used last, and asks for the memory that the command will look
//! at first. It knows from earlier calls where that lies. What it knows may have become wrong: then
//! the memory is asked for once the command runs, and the place is learnt anew. Nothing else
//! depends on it.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use super::prefetch::prefetch;
use seckill_domain::ledger::{HashKey, Lane, Probe};
use seckill_domain::limits::USER_BYTES_MAX;
use seckill_domain::Sale;

/// Leading bits of a hash that a lane is found by, at the most: in an index of more shards some
/// share a lane.
const LANE_BITS_MAX: u32 = 14;

/// The longest name of a key that is remembered.
const NAME_BYTES_MAX: usize = 128;

/// A sale with fewer users has its index in the cache.
const USERS_MIN: u64 = 1 << 16;

/// What the sale that was used last looks like.
struct Ahead {
    name: Vec<u8>,
    hash_key: HashKey,
    /// By so many leading bits as tell its shards apart.
    lanes: Vec<Lane>,
    lane_bits: u32,
    /// The user who was hashed last by that key, and his hash.
    user: Vec<u8>,
    probe: Option<Probe>,
}

thread_local! {
    /// The server runs filters and commands on one thread.
    static AHEAD: RefCell<Ahead> = const { RefCell::new(Ahead::NOTHING) };
}

/// Whether a large sale was used yet.
static IS_LARGE: AtomicBool = AtomicBool::new(false);

/// Whether looking at commands is of any use.
#[inline]
pub(super) fn is_needed() -> bool {
    IS_LARGE.load(Ordering::Relaxed)
}

/// Looks at a command that comes to the key `name` with `user`.
#[inline]
pub(super) fn look(name: &[u8], user: &[u8]) {
    AHEAD.with_borrow_mut(|ahead| ahead.look(name, user));
}

/// Where `user` is looked for in the sale at the key `name`. The memory there has been asked for.
#[inline]
pub fn probe(sale: &Sale, name: &[u8], user: &[u8]) -> Probe {
    if sale.ledger().users() < USERS_MIN {
        return sale.probe(user);
    }
    AHEAD.with_borrow_mut(|ahead| ahead.probe(sale, name, user))
}

impl Ahead {
    const NOTHING: Ahead = Ahead {
        name: Vec::new(),
        hash_key: [0; 2],
        lanes: Vec::new(),
        lane_bits: 0,
        user: Vec::new(),
        probe: None,
    };

    #[inline]
    fn look(&mut self, name: &[u8], user: &[u8]) {
        if self.name != name || user.len() > USER_BYTES_MAX {
            return;
        }
        let probe = Probe::of(self.hash_key, user);
        self.user.clear();
        self.user.extend_from_slice(user);
        self.probe = Some(probe);
        if let Some(lane) = self.lane(probe) {
            prefetch(lane.address(probe));
        }
    }

    #[inline]
    fn probe(&mut self, sale: &Sale, name: &[u8], user: &[u8]) -> Probe {
        let known = self.probe.filter(|_| self.hash_key == sale.hash_key() && self.user == user);
        let probe = known.unwrap_or_else(|| sale.probe(user));
        if let Some(lane) = sale.lane(probe) {
            let is_fetched = known.is_some() && self.lane(probe) == Some(&mut { lane });
            if !is_fetched {
                prefetch(lane.address(probe));
                self.learn(sale, name, probe, lane);
            }
        }
        probe
    }

    #[inline]
    fn lane(&mut self, probe: Probe) -> Option<&mut Lane> {
        self.lanes.get_mut(probe.leading(self.lane_bits))
    }

    #[cold]
    fn learn(&mut self, sale: &Sale, name: &[u8], probe: Probe, lane: Lane) {
        if name.len() > NAME_BYTES_MAX {
            return;
        }
        IS_LARGE.store(true, Ordering::Relaxed);
        if self.hash_key != sale.hash_key() || self.name != name {
            self.hash_key = sale.hash_key();
            self.name.clear();
            self.name.extend_from_slice(name);
            self.probe = None;
        }
        let lane_bits = sale.lane_bits().min(LANE_BITS_MAX);
        if self.lane_bits != lane_bits || self.lanes.is_empty() {
            self.lane_bits = lane_bits;
            self.lanes.clear();
            self.lanes.resize(1 << lane_bits, Lane::default());
        }
        if let Some(known) = self.lane(probe) {
            *known = lane;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seckill_domain::request::{Amount, Grab};
    use seckill_domain::serve::Served;
    use seckill_domain::terms::Terms;
    use seckill_oracle::rebuild::{dump, load};
    use seckill_oracle::sales::{at, created};

    fn user(number: u64) -> String {
        format!("user:{number}")
    }

    fn serve(sale: &mut Sale, user: &str) {
        let grab = Grab { user: user.as_bytes(), amount: Amount::Unsaid, req: None };
        let found = sale.find(grab.user, sale.probe(grab.user));
        assert!(matches!(sale.serve(&grab, found, &at(2)), Some(Served::Granted(_))));
    }

    /// A sale that is large enough to be remembered.
    fn large() -> Sale {
        let mut sale = created(1 << 20, Terms::default());
        (0..USERS_MIN).for_each(|number| serve(&mut sale, &user(number)));
        sale
    }

    #[test]
    fn whatever_was_seen_before_a_user_is_looked_for_where_he_is() {
        let mut one = large();
        // Its users are hashed by another key.
        let other = load(&dump(&one), 0).unwrap();
        let mut ahead = Ahead::NOTHING;
        for number in 0..40_000 {
            let name = if number % 3 == 0 { "one" } else { "other" };
            // Now and then another user was seen, or the same at another key, or nobody.
            match number % 7 {
                0 => ahead.look(name.as_bytes(), user(number + 1).as_bytes()),
                1 => ahead.look(b"elsewhere", user(number).as_bytes()),
                2 => {}
                _ => ahead.look(name.as_bytes(), user(number).as_bytes()),
            }
            // The sale used last is the one that is remembered.
            let sales = [(&one, "one"), (&other, "other")];
            for (sale, name) in sales.into_iter().take(if number % 5 == 0 { 2 } else { 1 }) {
                let found = ahead.probe(sale, name.as_bytes(), user(number).as_bytes());
                assert_eq!(found, sale.probe(user(number).as_bytes()), "{number}");
            }
            serve(&mut one, &user(USERS_MIN + number));
        }
    }

    #[test]
    fn a_user_of_the_sale_used_last_is_hashed_once_and_his_place_is_known() {
        let sale = large();
        let mut ahead = Ahead::NOTHING;
        for number in 0..50_000 {
            ahead.probe(&sale, b"one", user(number).as_bytes());
        }
        ahead.look(b"one", b"user:7");
        let probe = sale.probe(b"user:7");
        assert_eq!(ahead.probe, Some(probe));
        assert_eq!(ahead.lane(probe).copied(), sale.lane(probe));
        ahead.look(b"two", b"user:8");
        ahead.look(b"one", &[b'u'; USER_BYTES_MAX + 1]);
        assert_eq!(ahead.user, b"user:7", "neither is looked for in this sale");
    }
}
