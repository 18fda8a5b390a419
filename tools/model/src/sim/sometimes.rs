//! Rare situations that a simulation must reach. A situation that no run reaches is untested. So a
//! long simulation fails if it never reached one of them.
//!
//! Each row has a name and a condition on the sale before a command, the command and its outcome.

use seckill_domain::ledger::Grant;
use seckill_domain::outbox::Field;
use seckill_domain::outcome::State;
use seckill_domain::record::Asked;
use seckill_domain::Sale;

use super::node::{Txn, What};
use crate::oracle::{Deed, Keeper, Op, Pick};

/// A command to a sale.
pub struct Seen<'a> {
    /// The sale before the step.
    pub sale: &'a Sale,
    pub op: &'a Op,
    pub t: u64,
    pub reply: &'a str,
    /// The events of the outbox, in order.
    pub events: &'a [&'static str],
    /// The entries as text.
    pub entries: &'a [String],
}

/// A situation of one command.
type Situation = (&'static str, fn(&Seen<'_>) -> bool);

/// A situation of a transaction that a failover or restart loses.
type Loss = (&'static str, fn(&Txn) -> bool);

impl<'a> Seen<'a> {
    fn told(&self, event: &str) -> bool {
        self.events.contains(&event)
    }

    /// Whether a DROPPED entry of the outbox has this reason.
    fn dropped(&self, why: &str) -> bool {
        self.told("DROPPED") && self.entries.iter().any(|entry| entry.contains(why))
    }

    fn says(&self, word: &str) -> bool {
        self.reply.split(' ').next() == Some(word)
    }

    /// A number in the reply, counted without the first word.
    fn number(&self, place: usize) -> u64 {
        let number = self.reply.split(' ').nth(place + 1);
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// The quantity that a GRAB asks for, with or without WAIT.
    fn asks(&self) -> Option<u64> {
        let (Op::Grab { ask, .. } | Op::Join { ask, .. }) = self.op else { return None };
        Some(ask.units())
    }

    fn joins(&self) -> bool {
        matches!(self.op, Op::Join { .. })
    }

    fn does(&self, deed: Deed) -> bool {
        matches!(self.op, Op::Settle { deed: its, .. } if *its == deed)
    }

    /// A command with KEEP.
    fn keeps(&self) -> Option<Keeper> {
        match self.op {
            Op::Settle { deed: Deed::Keep(by, _), .. } => Some(*by),
            _ => None,
        }
    }

    /// Whether the command returns a part of a grant.
    fn trims(&self) -> bool {
        let stays = self.says("HELD") || self.says("SOLD");
        self.keeps().is_some() && stays && self.of(|grant| grant.qty > self.number(1))
    }

    fn user(&self) -> &'a [u8] {
        self.op.user().map_or(b"", |user| user)
    }

    /// The grant that the command names, before the command.
    fn grant(&self) -> Option<Grant<'a>> {
        let user = self.user();
        let seq = match self.op {
            Op::Settle { pick: Pick::Seq(seq), .. } => Some(*seq),
            Op::Settle { pick: Pick::Only, .. } => {
                self.sale.grants_of(user).next().map(|it| it.seq)
            }
            Op::Settle { pick: Pick::Req(req), .. }
            | Op::Grab { req: Some(req), .. }
            | Op::Join { req, .. }
            | Op::Import { req, .. } => self.sale.by_req(user, req),
            _ => None,
        };
        self.sale.grant(seq?).filter(|grant| grant.user == user)
    }

    /// Whether the command names a grant for which `holds` is true.
    fn of(&self, holds: impl Fn(&Grant<'_>) -> bool) -> bool {
        self.grant().is_some_and(|grant| holds(&grant))
    }

    fn is_due(&self, grant: &Grant<'_>) -> bool {
        grant.state == State::Held && grant.deadline <= self.t
    }

    /// Whether some of the grant's units were returned earlier.
    fn is_trimmed(&self, grant: &Grant<'_>) -> bool {
        self.sale.first_qty(grant.seq).is_some_and(|first| first > grant.qty)
    }

    fn is_old(&self, grant: &Grant<'_>) -> bool {
        grant.round < self.sale.balances().round
    }

    fn owes(&self) -> bool {
        self.sale.balances().deficit > 0
    }

    fn waiting(&self) -> u64 {
        self.sale.waitlist().map_or(0, |list| list.len())
    }

    /// Whether the user waits.
    fn waits(&self) -> bool {
        self.sale.waitlist().is_some_and(|list| list.find(self.user()).is_some())
    }

    fn list_is_full(&self) -> bool {
        let terms = self.sale.terms().waitlist;
        terms.is_some_and(|list| list.max > 0 && self.waiting() >= list.max)
    }
}

fn is_offer(grant: &Grant<'_>) -> bool {
    grant.req.is_some_and(|req| req.asked == Asked::Offered)
}

pub const SITUATIONS: [Situation; 72] = [
    ("a GRAB ends due holds and gets units", |m| {
        m.asks().is_some() && m.told("EXPIRE") && m.told("GRANT")
    }),
    ("UPTO gets less than it asks for", |m| {
        m.says("GRANTED") && m.asks().is_some_and(|asks| m.number(1) < asks)
    }),
    ("a REQ comes again with another quantity", |m| m.asks().is_some() && m.says("REQMISMATCH")),
    ("a REQ comes again when its hold is due", |m| m.says("REPLAY") && m.of(|it| m.is_due(it))),
    ("a REQ comes again after KEEP", |m| {
        m.asks().is_some() && m.says("REPLAY") && m.of(|it| m.is_trimmed(it))
    }),
    ("a REQ comes again after a refund", |m| {
        m.asks().is_some() && m.of(|it| it.state == State::Refunded)
    }),
    ("a GRAB comes behind its CANCEL", |m| m.reply == "REPLAY 0 0 CANCELLED 0"),
    ("ALREADY, by GRABS alone", |m| m.says("ALREADY") && m.sale.terms().limit == 0),
    ("OVERLIMIT with an allowance left", |m| m.says("OVERLIMIT") && m.number(0) > 0),
    ("SHORT", |m| m.asks().is_some() && m.says("SHORT")),
    ("SOLDOUT while units are held", |m| m.says("SOLDOUT") && m.number(0) > 1),
    ("a GRAB is refused while units are owed", |m| m.says("SOLDOUT") && m.owes()),
    ("MASK hides a refusal", |m| {
        m.reply == "SOLDOUT 1" && m.sale.admittance(m.user()).name() != "OK"
    }),
    ("PAUSED with people waiting", |m| m.says("PAUSED") && m.waiting() > 0),
    ("NOTOPEN between two rounds", |m| m.says("NOTOPEN") && m.sale.balances().round > 0),
    ("CLOSED", |m| m.says("CLOSED")),
    ("CONFIRM comes too late", |m| m.does(Deed::Confirm) && m.of(|it| m.is_due(it))),
    ("CONFIRM in the round after its GRAB", |m| m.told("CONFIRM") && m.of(|it| m.is_old(it))),
    ("RECLAIM gets its units", |m| m.told("RECLAIM")),
    ("RECLAIM gets units of holds that are due", |m| {
        m.told("RECLAIM") && m.told("EXPIRE") && m.of(|it| it.state == State::Expired)
    }),
    ("RECLAIM is refused for good", |m| m.told("RECLAIM-REFUSED")),
    ("RECLAIM of what was refused for good", |m| {
        m.does(Deed::Reclaim) && m.of(|it| it.state == State::Forfeited)
    }),
    ("RECLAIM behind a full list", |m| {
        m.does(Deed::Reclaim) && m.list_is_full() && m.of(|it| it.state == State::Expired)
    }),
    ("RECLAIM of a grant after KEEP", |m| m.told("RECLAIM") && m.of(|it| m.is_trimmed(it))),
    ("RECLAIM of an offer", |m| m.told("RECLAIM") && m.of(is_offer)),
    ("CANCEL serves who waits", |m| m.told("CANCEL") && m.told("OFFER")),
    ("CANCEL of one who waits", |m| m.does(Deed::Cancel) && m.told("LEAVE")),
    ("CANCEL of an offer", |m| m.told("CANCEL") && m.of(is_offer)),
    ("CANCEL pays a part of what is owed", |m| {
        m.told("CANCEL") && m.of(|it| it.qty < m.sale.balances().deficit)
    }),
    ("EXTEND of an offer", |m| m.told("EXTEND") && m.of(is_offer)),
    ("EXTEND of a due hold", |m| {
        matches!(m.op, Op::Settle { deed: Deed::Extend(_), .. }) && m.of(|it| m.is_due(it))
    }),
    ("REFUND while units are owed", |m| m.told("REFUND") && m.owes()),
    ("REFUND in an older round", |m| m.told("REFUND") && m.of(|it| m.is_old(it))),
    ("AMBIGUOUS", |m| m.says("AMBIGUOUS")),
    ("KEEP of a hold", |m| m.told("TRIM") && m.keeps() == Some(Keeper::Cancel)),
    ("KEEP of what is sold", |m| m.told("TRIM") && m.keeps() == Some(Keeper::Refund)),
    ("KEEP of what is paid", |m| m.told("CONFIRM") && m.trims()),
    ("KEEP once more, with less", |m| m.trims() && m.of(|it| m.is_trimmed(it))),
    ("KEEP late, with more", |m| {
        m.keeps().is_some() && m.events.is_empty() && m.of(|it| m.is_trimmed(it))
    }),
    ("KEEP of an offer", |m| m.trims() && m.of(is_offer)),
    ("KEEP serves who waits", |m| m.trims() && m.told("OFFER")),
    ("KEEP while units are owed", |m| m.trims() && m.owes()),
    ("KEEP in an older round", |m| m.trims() && m.of(|it| m.is_old(it))),
    ("KEEP of a due hold", |m| m.keeps().is_some() && m.of(|it| m.is_due(it))),
    ("KEEP of one who waits", |m| m.keeps().is_some() && m.says("NOGRANT") && m.waits()),
    ("KEEP in a part of a split", |m| m.trims() && m.sale.part().is_some()),
    ("IMPORT beyond the supply", |m| {
        let missing = |qty: u64| qty > m.sale.balances().available;
        m.told("IMPORT") && matches!(m.op, Op::Import { qty, .. } if missing(*qty))
    }),
    ("IMPORT of a hold", |m| m.told("IMPORT") && m.of(|it| it.state == State::Held)),
    ("IMPORT of an expired grant", |m| m.told("IMPORT") && m.of(|it| it.state == State::Expired)),
    ("IMPORT after a refused RECLAIM", |m| {
        m.told("IMPORT") && m.of(|it| it.state == State::Forfeited)
    }),
    ("IMPORT after KEEP", |m| m.told("IMPORT") && m.of(|it| m.is_trimmed(it))),
    ("IMPORT of one who waits", |m| m.told("IMPORT") && m.told("LEAVE")),
    ("IMPORT with NODEFICIT falls short", |m| {
        matches!(m.op, Op::Import { no_deficit: true, .. }) && m.says("SHORT")
    }),
    ("RESTOCK pays off all that is owed", |m| m.told("RESTOCK") && m.owes() && m.told("AVAILABLE")),
    ("RESTOCK takes less than it is told to", |m| {
        let available = m.sale.balances().available;
        matches!(m.op, Op::Restock { delta, .. } if *delta < 0 && delta.unsigned_abs() > available)
            && m.told("RESTOCK")
    }),
    ("RESTOCK serves who waits", |m| m.told("RESTOCK") && m.told("OFFER")),
    ("the sweeper serves who waits", |m| matches!(m.op, Op::Sweep(_)) && m.told("OFFER")),
    ("ALTER gives an OUTBOX to a sale with grants", |m| {
        let had = m.sale.terms().outbox.is_some();
        m.told("ALTER") && !had && m.sale.balances().grants > 0
    }),
    ("ALTER of WAITLIST below those who wait", |m| {
        let below = |max: Option<u64>| max.is_some_and(|max| max < m.waiting());
        m.told("ALTER") && matches!(m.op, Op::Alter(patch) if below(patch.list.max))
    }),
    ("an offer while units are owed", |m| m.told("OFFER") && m.owes()),
    ("an offer expires and the next one gets it", |m| m.told("EXPIRE") && m.told("OFFER")),
    ("a GRAB gets units behind who waits", |m| m.told("GRANT") && m.waiting() > 0),
    ("a GRAB under WAIT again, with another quantity", |m| {
        m.joins() && m.says("REQMISMATCH") && m.waits()
    }),
    ("BUSY: the list is full", |m| m.joins() && m.says("BUSY") && m.list_is_full()),
    ("DROPPED at UNTIL", |m| m.dropped(":\"until\"")),
    ("DROPPED at CLOSEAT", |m| m.dropped(":\"closed\"")),
    ("DROPPED by the limit", |m| m.dropped(":\"limit\"")),
    ("DROPPED by DENY", |m| m.dropped(":\"denied\"")),
    ("a round begins while units of the last are held", |m| {
        m.told("ROUND") && m.sale.balances().held > 0
    }),
    ("SEND OWED of more than is there", |m| {
        matches!(m.op, Op::Send { owed: true, .. })
            && m.told("SEND")
            && m.sale.balances().available == 0
    }),
    ("SEND takes nothing from who waits", |m| {
        matches!(m.op, Op::Send { owed: false, .. }) && m.waiting() > 0 && m.events.is_empty()
    }),
    ("RECEIVE pays what is owed", |m| m.told("RECEIVE") && m.owes()),
];

/// Whether the transaction has an entry of this event.
fn tells(txn: &Txn, event: &str) -> bool {
    txn.parts.iter().any(|part| match &part.what {
        What::Apply { entries, .. } => {
            entries.iter().any(|entry| entry.raw(Field::Event) == event.as_bytes())
        }
        What::Arrive { .. } => false,
    })
}

pub const LOSSES: [Loss; 9] = [
    ("a SEND is lost that a RECEIVE may answer", |txn| tells(txn, "SEND")),
    ("a RECEIVE is lost", |txn| tells(txn, "RECEIVE")),
    ("a TRIM is lost", |txn| tells(txn, "TRIM")),
    ("an OFFER is lost", |txn| tells(txn, "OFFER")),
    ("an IMPORT is lost", |txn| tells(txn, "IMPORT")),
    ("the begin of a round is lost", |txn| tells(txn, "ROUND")),
    ("a refusal for good is lost", |txn| tells(txn, "RECLAIM-REFUSED")),
    ("an MGRAB is lost", |txn| txn.parts.len() > 1),
    ("a RESTORE is lost", |txn| {
        txn.parts.iter().any(|part| matches!(part.what, What::Arrive { .. }))
    }),
];

pub fn names() -> impl Iterator<Item = &'static str> {
    SITUATIONS.iter().map(|(name, _)| *name).chain(LOSSES.iter().map(|(name, _)| *name))
}
