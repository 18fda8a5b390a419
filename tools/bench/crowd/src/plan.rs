//! The plan of a crowd: which user clicks on which connection.
//!
//! Every user clicks once. Every second user clicks again: a double click, or a retry of the app
//! after a timeout with the same REQ.

use std::collections::VecDeque;
use std::ops::Range;

/// One click: the command that one connection sends once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Click {
    /// Number of the user, from 0.
    pub user: u32,
    /// Number of the user's order: an equal number is an equal REQ.
    pub order: u8,
}

/// The kinds of users.
enum Habit {
    /// Clicks once.
    Patient,
    /// One order arrives twice at the same moment, over two connections.
    SentTwice,
    /// Two orders arrive at the same moment, over two connections.
    DoubleClick,
    /// Sends the same order again after the first answer.
    Retry,
    /// Sends another order after the sale has ended.
    ComesBack,
}

/// The clicks of every connection, one after the other.
pub struct Plan {
    pub queues: Vec<VecDeque<Click>>,
    pub clicks: u64,
}

impl Plan {
    /// `users` users over `connections` connections (at least one).
    pub fn new(connections: usize, users: u32) -> Plan {
        let mut queues = vec![VecDeque::new(); connections];
        for wave in 0..(users as usize).div_ceil(connections) {
            let first = wave * connections;
            let last = (first + connections).min(users as usize);
            // The second click is the first of its connection, so both arrive together.
            for user in first..last {
                if let Some(click) = same_moment(user as u32) {
                    other(&mut queues, user).push_back(click);
                }
            }
            for user in first..last {
                let queue = &mut queues[user % connections];
                queue.push_back(Click { user: user as u32, order: 0 });
                if let Habit::Retry = habit(user as u32) {
                    queue.push_back(Click { user: user as u32, order: 0 });
                }
            }
        }
        for user in (0..users).filter(|user| matches!(habit(*user), Habit::ComesBack)) {
            other(&mut queues, user as usize).push_back(Click { user, order: 1 });
        }
        Plan::of(queues)
    }

    /// One click of each of these users, each over a connection of their own.
    pub fn once(users: Range<u32>, order: u8) -> Plan {
        Plan::of(users.map(|user| VecDeque::from([Click { user, order }])).collect())
    }

    /// The plan with other users.
    pub fn by(mut self, user: impl Fn(u32) -> u32) -> Plan {
        self.queues.iter_mut().flatten().for_each(|click| click.user = user(click.user));
        self
    }

    fn of(queues: Vec<VecDeque<Click>>) -> Plan {
        let clicks = queues.iter().map(|queue| queue.len() as u64).sum();
        Plan { queues, clicks }
    }
}

fn habit(user: u32) -> Habit {
    match user % 8 {
        0 => Habit::SentTwice,
        2 => Habit::DoubleClick,
        4 => Habit::Retry,
        6 => Habit::ComesBack,
        _ => Habit::Patient,
    }
}

/// The click that arrives at the same moment as the user's first one.
fn same_moment(user: u32) -> Option<Click> {
    match habit(user) {
        Habit::SentTwice => Some(Click { user, order: 0 }),
        Habit::DoubleClick => Some(Click { user, order: 1 }),
        Habit::Patient | Habit::Retry | Habit::ComesBack => None,
    }
}

/// Another connection than that of the user's first click, unless there is only one.
fn other(queues: &mut [VecDeque<Click>], user: usize) -> &mut VecDeque<Click> {
    let connections = queues.len();
    &mut queues[(user + connections.div_ceil(2)) % connections]
}
