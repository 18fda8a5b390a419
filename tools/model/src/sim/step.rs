//! The steps of a run.

use std::fmt::{self, Display, Formatter};

use crate::oracle::{Bytes, Op};

/// One step. Sales and replicas have their index as name.
#[derive(Clone, Debug)]
pub enum Step {
    /// A command that the oracle models.
    Ask { sale: usize, op: Op },
    /// MGRAB of all sales.
    Several { user: Bytes, qty: Vec<u64>, req: Option<Bytes> },
    /// A command to one sale; while it runs, another module calls a second command.
    Between { sale: usize, op: Op, call: Box<Step> },
    /// The clock is set, forward or back.
    Clock(u64),
    /// The outbox of a sale refuses entries, or accepts them again.
    Outbox { sale: usize, broken: bool },
    /// A replica gets the next `count` transactions.
    Deliver { replica: usize, count: usize },
    /// A replica gets the last transaction a second time.
    Repeat { replica: usize },
    /// A replica gets a transaction before the one that is next.
    Gap { replica: usize },
    /// A replica does a full resync.
    Resync { replica: usize },
    /// A replica is promoted with its state; the rest of the history is lost.
    Promote { replica: usize },
    /// A replica restarts with an older or newer module and does a full resync.
    Replace { replica: usize, knows: u64 },
    /// `seckill.effects-version` on all nodes.
    Setting { version: u64 },
    /// The AOF is synced to disk.
    Sync,
    /// The AOF is rewritten.
    Rewrite,
    /// The primary crashes and restarts from its AOF, without the last `lost` unsynced changes.
    Crash { lost: usize },
    /// An RDB file is written.
    Save,
    /// The primary crashes and restarts from its RDB file.
    CrashToSave,
    /// The primary saves and loads its data in one process (DEBUG RELOAD).
    Reload,
    /// A sale is dumped.
    Dump { sale: usize },
    /// A sale is replaced by an older dump of it.
    Restore { sale: usize },
}

/// Debug output, with lists of bytes as text.
impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let text = format!("{self:?}");
        let mut lists = text.split('[');
        f.write_str(lists.next().unwrap_or_default())?;
        for list in lists {
            let (numbers, rest) = list.split_once(']').unwrap_or((list, ""));
            let letter = |number: &str| number.parse().ok().filter(u8::is_ascii_alphanumeric);
            let bytes: Option<Vec<u8>> = numbers.split(", ").map(letter).collect();
            match bytes {
                Some(bytes) => write!(f, "'{}'{rest}", bytes.escape_ascii())?,
                None if numbers.len() > LONG => write!(f, "[{}...]{rest}", &numbers[..LONG])?,
                None => write!(f, "[{list}")?,
            }
        }
        Ok(())
    }
}

/// Characters of a list that are shown: the longest ids are one byte again and again.
const LONG: usize = 60;
