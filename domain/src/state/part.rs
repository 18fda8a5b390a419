//! A sale as a part of a split.

use crate::model::balances::Escrow;
use crate::parts::pairs::Pair;
use crate::parts::Split;
use crate::Sale;

/// What a balancer reads of a part, all of it in one step.
#[derive(Clone, Copy, Debug)]
pub struct PartView<'s> {
    /// Which part of which split.
    pub split: &'s Split,
    /// What was put in, and what has moved in all.
    pub escrow: Escrow,
    /// What has moved between it and each other part.
    pub pairs: &'s [Pair],
}

impl Sale {
    /// The sale as a part; `None` when it is none.
    pub fn part(&self) -> Option<PartView<'_>> {
        let split = self.terms.split.as_deref()?;
        Some(PartView { split, escrow: self.escrow?, pairs: self.pairs.as_slice() })
    }

    /// Whether a user is at home in this sale. In one that is no part of a split everybody is.
    #[inline]
    pub fn is_home(&self, user: &[u8]) -> bool {
        self.terms.split.as_ref().is_none_or(|split| split.is_home(user))
    }

    /// Whether it is a part of a split that has this part, too.
    pub(crate) fn has_other_part(&self, part: u16) -> bool {
        self.terms.split.as_ref().is_some_and(|split| split.has_other(part))
    }

    /// Whether what was sent and received is what the numbers say.
    pub(crate) fn pairs_agree(&self) -> bool {
        let Escrow { sent, received, .. } = self.escrow.unwrap_or_default();
        self.pairs.sums() == (sent, received)
    }
}
