//! The steps of a run, which are printed like a session.

use std::fmt::{self, Display, Formatter};

use crate::oracle::{Ask, Bytes, Deed, Op, Pick};

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
    /// The primary crashes and restarts from its AOF, without the last `lost` transactions that
    /// were not synced.
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

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Step::Ask { sale, op } => show_op(f, *sale, op),
            Step::Several { user, qty, req } => {
                let keys: Vec<&str> = (0..qty.len()).map(name).collect();
                let keys = keys.join(" ");
                write!(f, "MGRAB {} {keys} QTY {qty:?}{}", text(user), req_text(req))
            }
            Step::Between { sale, op, call } => {
                show_op(f, *sale, op)?;
                write!(f, "; in the middle of it: {call}")
            }
            Step::Clock(clock) => write!(f, "the clock shows {clock}"),
            Step::Outbox { sale, broken: true } => {
                write!(f, "the outbox of {} takes no entries", name(*sale))
            }
            Step::Outbox { sale, .. } => write!(f, "the outbox of {} takes entries", name(*sale)),
            Step::Deliver { replica, count } => {
                write!(f, "replica {replica} gets {count} transactions")
            }
            Step::Repeat { replica } => write!(f, "replica {replica} gets the last one again"),
            Step::Gap { replica } => write!(f, "replica {replica} gets one too early"),
            Step::Resync { replica } => write!(f, "replica {replica} gets a snapshot"),
            Step::Promote { replica } => write!(f, "replica {replica} is promoted"),
            Step::Replace { replica, knows } => {
                write!(f, "replica {replica} starts with a module of version {knows}")
            }
            Step::Setting { version } => write!(f, "CONFIG SET seckill.effects-version {version}"),
            Step::Sync => write!(f, "the log reaches the disk"),
            Step::Rewrite => write!(f, "the log is rewritten"),
            Step::Crash { lost } => write!(f, "crash; the log lacks its last {lost}"),
            Step::Save => write!(f, "the snapshot reaches the disk"),
            Step::CrashToSave => write!(f, "crash; back from the snapshot"),
            Step::Reload => write!(f, "DEBUG RELOAD"),
            Step::Dump { sale } => write!(f, "DUMP {}", name(*sale)),
            Step::Restore { sale } => write!(f, "RESTORE {} REPLACE", name(*sale)),
        }
    }
}

fn show_op(f: &mut Formatter<'_>, sale: usize, op: &Op) -> fmt::Result {
    let key = name(sale);
    match op {
        Op::Grab { user, ask, req } => {
            let ask = match ask {
                Ask::Qty(qty) => format!(" QTY {qty}"),
                Ask::UpTo(qty) => format!(" UPTO {qty}"),
                Ask::Unsaid => String::new(),
            };
            write!(f, "GRAB {key} {}{ask}{}", text(user), req_text(req))
        }
        Op::Join { user, ask, req, until } => {
            let ask = match ask {
                Ask::Qty(qty) => format!(" QTY {qty}"),
                Ask::UpTo(_) | Ask::Unsaid => String::new(),
            };
            let (user, req) = (text(user), text(req));
            write!(f, "GRAB {key} {user}{ask} REQ {req} WAIT UNTIL {until}")
        }
        Op::Settle { user, pick, deed } => {
            let pick = match pick {
                Pick::Only => String::new(),
                Pick::Seq(seq) => format!(" SEQ {seq}"),
                Pick::Req(req) => format!(" REQ {}", text(req)),
            };
            let user = text(user);
            match deed {
                Deed::Confirm => write!(f, "CONFIRM {key} {user}{pick}"),
                Deed::Reclaim => write!(f, "CONFIRM {key} {user}{pick} RECLAIM"),
                Deed::Cancel => write!(f, "CANCEL {key} {user}{pick}"),
                Deed::Extend(ms) => write!(f, "EXTEND {key} {user} {ms}{pick}"),
                Deed::Refund => write!(f, "REFUND {key} {user}{pick}"),
                Deed::Keep(by, units) => {
                    let by = format!("{by:?}").to_uppercase();
                    write!(f, "{by} {key} {user}{pick} KEEP {units}")
                }
            }
        }
        Op::Import { user, qty, req, at, no_deficit } => {
            let at = at.map_or(String::new(), |at| format!(" AT {at}"));
            let how = if *no_deficit { " NODEFICIT" } else { "" };
            write!(f, "IMPORT {key} {} {qty} REQ {}{at}{how}", text(user), text(req))
        }
        Op::Restock { delta, req } => write!(f, "RESTOCK {key} {delta} REQ {}", text(req)),
        Op::Enlist { list, add, users } => {
            let users: Vec<String> = users.iter().map(|user| text(user)).collect();
            let how = if *add { "ADD" } else { "REMOVE" };
            write!(f, "{list:?} {key} {how} {}", users.join(" "))
        }
        Op::Sweep(most) => write!(f, "the sweeper settles {most} of {key}"),
        other => write!(f, "{key} {other:?}"),
    }
}

/// A sale's name in words.
fn name(sale: usize) -> &'static str {
    ["k", "l"].get(sale).copied().unwrap_or("?")
}

fn req_text(req: &Option<Bytes>) -> String {
    req.as_ref().map_or(String::new(), |req| format!(" REQ {}", text(req)))
}

/// Readable bytes as text, long ones by their length.
fn text(bytes: &[u8]) -> String {
    match bytes.len() {
        0..=20 => bytes.escape_ascii().to_string(),
        len => format!("<{len} bytes {}>", bytes[..1].escape_ascii()),
    }
}
