//! ALTER: the terms of future grants change.

use super::*;
use crate::entry::put_terms;
use crate::request::TermsChange;

/// The terms that change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Alter(pub Box<TermsChange>);

impl Act for Alter {
    fn is_apart<'e>(&'e self, others: &mut Others<'e>) -> bool {
        !core::mem::replace(&mut others.alters, true) && !others.waits
    }

    fn check(&self, checker: &mut Checker<'_>) -> Result<(), Refused> {
        let (sale, Alter(terms)) = (checker.sale(), self);
        // A sale keeps its outbox. Changes before the one that sets it have no entries.
        let set = sale.terms.outbox.as_ref();
        let begins = set.is_none() && checker.alone;
        check(terms.outbox.as_ref().is_none_or(|named| begins || set == Some(named)))?;
        sale.check_terms(&sale.terms.altered(terms)).map_err(|_| Refused::Law)
    }

    fn plan(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        draft.has_outbox |= self.0.outbox.is_some();
        draft.event(EventKind::Alter)
    }

    fn make(&self, sale: &mut Sale, _: &mut Planned<'_>) {
        sale.terms = sale.terms.altered(&self.0);
        sale.make_extras();
    }

    fn outbox(&self) -> Option<&[u8]> {
        self.0.outbox.as_deref()
    }

    fn put<'e>(&'e self, sale: &'e Sale, _: EventKind, data: &mut Vec<u8>) -> Raw<'e> {
        put_terms(data, &sale.terms.altered(&self.0));
        let outbox = self.outbox().or(sale.terms.outbox.as_deref());
        Raw { outbox, split: sale.terms.split_id(), ..Raw::default() }
    }
}
