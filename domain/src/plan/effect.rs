//! Each effect applied to a draft.

use crate::codec::effect::{Effect, Granting, Importing};
use crate::draft::Draft;
use crate::model::event::EventKind;
use crate::model::outcome::{Refused, State};

impl Effect<'_> {
    /// Applies the effect of the change that the draft has begun.
    #[inline]
    pub(crate) fn draft(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        match self {
            Effect::Grant(Granting { qty, hold_ms, .. }) => {
                draft.grant(EventKind::Grant, *qty, *hold_ms)
            }
            Effect::Import(Importing { user, req, qty, .. }) => draft.import(user, req, *qty),
            Effect::Reimport { seq } => draft.reimport(*seq),
            Effect::Restock { delta, applied, .. } => draft.restock(*delta, *applied),
            Effect::Pause => draft.happen(EventKind::Pause),
            Effect::Resume => draft.happen(EventKind::Resume),
            Effect::Alter(terms) => draft.alter(terms.outbox.is_some()),
            Effect::Expire(seqs) => {
                seqs.iter().try_for_each(|seq| draft.settle(*seq, State::Expired))
            }
            Effect::Settle { seq, to } => draft.settle(*seq, *to),
            Effect::Reclaim { seq } => draft.reclaim(*seq),
            Effect::Extend { seq, ms } => draft.extend(*seq, *ms),
            Effect::Round { round, supply } => draft.round(*round, *supply),
            Effect::Send { to, total, owed } => draft.send(*to, *total, *owed),
            Effect::Receive { from, total } => draft.receive(*from, *total),
            Effect::Elsewhere { units, pass } => draft.set_elsewhere(*units, *pass),
            Effect::Wait(_) => draft.wait(),
            Effect::Leave { ticket } => draft.leave(*ticket, EventKind::Leave),
            Effect::Drop { ticket, .. } => draft.leave(*ticket, EventKind::Dropped),
            Effect::Offer { ticket, hold_ms, passed } => draft.offer(*ticket, *hold_ms, *passed),
            Effect::Pass { ticket } => {
                draft.pass(*ticket);
                Ok(())
            }
            // These emit no event and move no number.
            Effect::Fence { .. } | Effect::Users(_) | Effect::Admit { .. } => Ok(()),
            // A sale begins with these, or an AOF is rewritten as them: neither is drafted.
            Effect::Init(_) | Effect::Piece(_) => Err(Refused::Place),
        }
    }
}
