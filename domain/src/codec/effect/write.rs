//! Writing the text of an effect.

use super::{list_code, Change, Effect, Granting, Importing, Start, UsersChange};
use crate::codec::further::{self, Further};
use crate::ledger::record::{asked_code, Asked};
use crate::memory::bytes::{put_amounts, put_bytes, put_decimal};
use crate::model::outcome::State;
use crate::request::terms::TermsChange;

/// The letter of a deed that moves a grant to `to`.
fn settle_letter(to: State) -> u8 {
    match to {
        State::Sold => b'C',
        State::Cancelled => b'X',
        State::Refunded => b'F',
        State::Forfeited => b'N',
        // Neither is a deed: nobody plans them, and decoding refuses them.
        State::Held | State::Expired => b'?',
    }
}

impl Change<'_> {
    /// Appends the text of this change.
    pub fn encode(&self, out: &mut Vec<u8>) {
        if let (Effect::Grant(grant), 0, None) = (&self.effect, self.elapsed_ms, self.epoch) {
            if grant.qty == 1 && grant.req.is_none() && grant.hold_ms == 0 {
                out.push(b'g');
                out.extend_from_slice(grant.user);
                return;
            }
        }
        self.encode_effect(&mut Writer { out });
    }

    fn encode_effect(&self, text: &mut Writer<'_>) {
        match &self.effect {
            Effect::Init(start) => {
                self.head(b'I', text);
                text.start(start);
            }
            Effect::Grant(grant) => {
                self.head(b'G', text);
                text.grant(grant);
            }
            Effect::Restock { req, delta, applied } => {
                self.head(b'R', text);
                text.field(if *delta < 0 { b'm' } else { b'p' }, delta.unsigned_abs());
                text.field(b'a', applied.unsigned_abs());
                text.tail(&[req]);
            }
            Effect::Pause => self.head(b'P', text),
            Effect::Resume => self.head(b'U', text),
            Effect::Alter(change) => {
                self.head(b'A', text);
                text.alter(change);
            }
            Effect::Expire(seqs) => {
                self.head(b'D', text);
                text.seqs(seqs);
            }
            Effect::Settle { seq, to } => self.seq_text(settle_letter(*to), *seq, text),
            Effect::Reclaim { seq } => self.seq_text(b'Y', *seq, text),
            Effect::Reimport { seq } => self.seq_text(b'V', *seq, text),
            Effect::Extend { seq, ms } => {
                self.seq_text(b'E', *seq, text);
                text.field(b'd', *ms);
            }
            Effect::Import(import) => {
                self.head(b'M', text);
                text.import(import);
            }
            Effect::Fence { user, req } => {
                self.head(b'W', text);
                text.field(b'r', req.len() as u64);
                text.tail(&[req, user]);
            }
            Effect::Users(change) => {
                self.head(b'Q', text);
                text.users(change);
            }
            Effect::Admit { user } => self.piece_text(b'T', user, text),
            Effect::Round { round, supply } => {
                self.head(b'H', text);
                text.field(b'n', *round);
                text.field(b's', *supply);
            }
            Effect::Base(piece) => self.piece_text(b'B', piece, text),
            Effect::RestockIds(piece) => self.piece_text(b'K', piece, text),
            Effect::Fences(piece) => self.piece_text(b'J', piece, text),
            Effect::Listed(piece) => self.piece_text(b'S', piece, text),
            Effect::Amounts(piece) => self.piece_text(b'O', piece, text),
            Effect::Rows(piece) => self.piece_text(b'L', piece, text),
            Effect::Turn(piece) => self.piece_text(b'Z', piece, text),
        }
    }

    fn head(&self, letter: u8, text: &mut Writer<'_>) {
        text.out.push(letter);
        if self.elapsed_ms != 0 {
            text.field(b't', self.elapsed_ms);
        }
        if let Some(epoch) = self.epoch {
            text.field(b'e', epoch);
        }
    }
    fn seq_text(&self, letter: u8, seq: u64, text: &mut Writer<'_>) {
        self.head(letter, text);
        text.field(b's', seq);
    }

    fn piece_text(&self, letter: u8, piece: &[u8], text: &mut Writer<'_>) {
        self.head(letter, text);
        text.tail(&[piece]);
    }
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
}

impl Writer<'_> {
    fn field(&mut self, letter: u8, number: u64) {
        self.out.push(letter);
        put_decimal(self.out, number);
    }

    fn terms(&mut self, change: &TermsChange) {
        for (letter, number) in change.fields() {
            if let Some(number) = number {
                self.field(letter, number);
            }
        }
    }

    fn start(&mut self, start: &Start) {
        let Start { id, secret, supply, terms, amounts } = start;
        let (mut further, mut drawn) = (Vec::new(), Vec::new());
        further::put(&mut further, &Further::of(terms));
        put_amounts(&mut drawn, amounts.iter().copied());
        self.field(b's', *supply);
        self.terms(&TermsChange::all_of(terms));
        for (letter, blob) in [(b'x', &further), (b'y', &drawn)] {
            if !blob.is_empty() {
                self.field(letter, blob.len() as u64);
            }
        }
        let outbox = terms.outbox.as_deref().unwrap_or_default();
        self.tail(&[&id.to_be_bytes(), secret, &further, &drawn, outbox]);
    }

    fn grant(&mut self, grant: &Granting<'_>) {
        if grant.qty != 1 {
            self.field(b'q', grant.qty);
        }
        if grant.hold_ms != 0 {
            self.field(b'd', grant.hold_ms);
        }
        if let Some(req) = grant.req {
            self.field(b'r', req.id.len() as u64);
            if req.asked != Asked::Exactly {
                self.field(b'u', asked_code(req.asked).into());
            }
        }
        self.tail(&[grant.req.map_or(&[], |req| req.id), grant.user]);
    }

    fn import(&mut self, import: &Importing<'_>) {
        if import.qty != 1 {
            self.field(b'q', import.qty);
        }
        self.field(b'a', import.at);
        self.field(b'r', import.req.len() as u64);
        self.tail(&[import.req, import.user]);
    }

    fn alter(&mut self, change: &TermsChange) {
        let mut further = Vec::new();
        further::put(&mut further, &Further::of_change(change));
        self.terms(change);
        if !further.is_empty() {
            self.field(b'x', further.len() as u64);
        }
        let outbox = change.outbox.as_deref().unwrap_or_default();
        if !further.is_empty() || !outbox.is_empty() {
            self.tail(&[&further, outbox]);
        }
    }

    fn users(&mut self, change: &UsersChange<'_>) {
        self.field(b'l', list_code(change.list));
        self.field(if change.add { b'p' } else { b'm' }, 1);
        self.out.push(b':');
        change.users.iter().for_each(|user| put_bytes(self.out, user));
    }

    fn seqs(&mut self, seqs: &[u64]) {
        for (place, seq) in seqs.iter().enumerate() {
            self.out.push(if place == 0 { b':' } else { b',' });
            put_decimal(self.out, *seq);
        }
    }

    fn tail(&mut self, parts: &[&[u8]]) {
        self.out.push(b':');
        for part in parts {
            self.out.extend_from_slice(part);
        }
    }
}
