//! Units move between the parts of a split.

use super::*;
use crate::fields;
use crate::parts::Pair;

/// Units go to another part. An equal total sends nothing: it is replicated so that replicas
/// acknowledge it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Send {
    /// The other part.
    pub to: u16,
    /// Units ever sent to it, these included.
    #[serde(deserialize_with = "wire::integer")]
    pub total: u64,
    /// Units that were sent although they were not available: the part owes them.
    #[serde(deserialize_with = "wire::integer")]
    pub owed: u64,
}

impl Act for Send {
    fn is_apart<'e>(&'e self, others: &mut Others<'e>) -> bool {
        !core::mem::replace(&mut others.moves, true)
    }

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        check(checker.sale().has_other_part(self.to))
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let sent = draft.sale.pairs.get(self.to).sent;
        let units = self.total.checked_sub(sent).ok_or(Refused::Law)?;
        if (units, self.owed) == (0, 0) {
            return Ok(());
        }
        draft.escrow_mut()?.send(units)?;
        draft.change(EventKind::Send, None, |it| it.send(units, self.owed))
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        sale.pairs.set(Pair { sent: self.total, ..sale.pairs.get(self.to) });
    }

    fn put<'e>(&'e self, sale: &'e Sale, _: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        put_move(data, sale, self.to, self.total)
    }
}

/// Receives units from another part.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Receive {
    /// The other part.
    pub from: u16,
    /// Units ever received from it, these included.
    #[serde(deserialize_with = "wire::integer")]
    pub total: u64,
}

impl Act for Receive {
    const FREES: bool = true;

    fn is_apart<'e>(&'e self, others: &mut Others<'e>) -> bool {
        !core::mem::replace(&mut others.moves, true)
    }

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        check(checker.sale().has_other_part(self.from))
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let before = draft.sale.pairs.get(self.from).received;
        let units = self.total.checked_sub(before).filter(|units| *units > 0);
        let units = units.ok_or(Refused::Law)?;
        draft.escrow_mut()?.receive(units)?;
        draft.change(EventKind::Receive, None, |it| it.add(units))
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        sale.pairs.set(Pair { received: self.total, ..sale.pairs.get(self.from) });
    }

    fn put<'e>(&'e self, sale: &'e Sale, _: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        put_move(data, sale, self.from, self.total)
    }
}

fn put_move<'e>(data: &mut Vec<u8>, sale: &'e Sale, peer: u16, total: u64) -> Raw<'e> {
    put_number(data, fields::PEER.number, peer);
    put_number(data, fields::MOVED.number, total);
    Raw { split: sale.terms.split_id(), ..Raw::default() }
}

/// Units that the other parts may still have.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Elsewhere {
    /// Units.
    #[serde(deserialize_with = "wire::integer")]
    pub units: u64,
    /// Number of the balancer's pass that found these units.
    #[serde(deserialize_with = "wire::integer")]
    pub pass: u64,
}

impl Act for Elsewhere {
    const FREES: bool = true;

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        let Elsewhere { units, pass } = *self;
        let known = draft.balances.elsewhere;
        let escrow = draft.escrow_mut()?;
        if (pass, units) <= (escrow.pass, known) {
            return Err(Refused::Law);
        }
        escrow.pass = pass;
        draft.change(None, None, |it| {
            it.elsewhere = units;
            Ok(())
        })
    }

    /// Changes nothing but the numbers.
    fn make(&self, _: &mut Sale, _: &mut Planned<'_>) {}
}
