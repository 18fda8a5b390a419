//! Messages between the balancer and the parts, each due at its time.

use std::collections::BTreeMap;

use seckill_balance::Reading;

pub enum Message {
    /// Asks all parts.
    Read,
    /// The answers of the parts, with the units that each refused ever.
    Decide(Vec<(Reading, u64)>),
    Send {
        from: usize,
        to: usize,
        total: u64,
    },
    Receive {
        from: usize,
        to: usize,
        total: u64,
    },
}

/// Messages on their way.
#[derive(Default)]
pub struct Network {
    /// By nanosecond and number, so that those of one moment arrive as they were sent.
    messages: BTreeMap<(u64, u64), Message>,
    count: u64,
    /// Units that were sent and not received.
    pub under_way: u64,
}

impl Network {
    pub fn send(&mut self, seconds: f64, message: Message) {
        self.count += 1;
        self.messages.insert(((seconds * 1e9) as u64, self.count), message);
    }

    /// The next message that has arrived by now.
    pub fn due(&mut self, seconds: f64) -> Option<Message> {
        let first = self.messages.first_entry()?;
        (first.key().0 <= (seconds * 1e9) as u64).then(|| first.remove())
    }
}
