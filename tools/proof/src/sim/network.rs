//! Messages between the balancer and the parts, each with its arrival time.

use std::collections::BTreeMap;

use seckill_balance::Reading;

pub enum Message {
    /// Reads all parts.
    Read,
    /// The replies of the parts, each with its number of refused units.
    Decide(Vec<(Reading, u64)>),
    /// SEND to the part `from`.
    Send { from: usize, to: usize, total: u64 },
    /// RECEIVE to the part `to`.
    Receive { from: usize, to: usize, total: u64 },
}

#[derive(Default)]
pub struct Network {
    /// By nanosecond and number, so that messages of one time arrive in the order of sending.
    messages: BTreeMap<(u64, u64), Message>,
    count: u64,
    /// Units that were sent and not yet received.
    pub under_way: u64,
}

impl Network {
    pub fn send(&mut self, seconds: f64, message: Message) {
        self.count += 1;
        self.messages.insert(((seconds * 1e9) as u64, self.count), message);
    }

    /// The next message that has arrived by this time.
    pub fn due(&mut self, seconds: f64) -> Option<Message> {
        let first = self.messages.first_entry()?;
        (first.key().0 <= (seconds * 1e9) as u64).then(|| first.remove())
    }
}
