//! The notation of effects in tests: a letter, then fields of a lower-case letter and a decimal
//! number, then after a colon the bytes that users chose. `Gq2r3:o-7alice` grants two units to
//! `alice` with the request id `o-7`, whose length is 3. `galice` is one sold unit.
//!
//! | effect | fields |
//! | --- | --- |
//! | `I` init | `s` supply `l` limit `g` grabs `h` hold `o` open `c` close; id, secret, outbox |
//! | `G` grant | `q` qty (1) `d` hold `r` length of req `u` 1 for UPTO, 2 for IMPORT; req, user |
//! | `C` confirm, `X` cancel, `F` refund, `N` reclaim refused, `Y` reclaim | `s` seq |
//! | `B` a part given back | `s` seq, `n` units, `u` 1 if the rest is sold |
//! | `E` extend | `s` seq, `d` the new deadline in ms after T |
//! | `D` expire | the seqs, with commas |
//! | `M` import | `q` qty (1), `r` length of req, `a` when it was granted; req, user |
//! | `V` import of a known request | `s` seq |
//! | `W` fence | `r` length of req; req, user |
//! | `T` admit | user |
//! | `Q` allow or deny | `l` 1 allow, 2 deny; `p` added or `m` removed; the user |
//! | `R` restock | `p` or `m` delta, `a` applied (both without sign); req |
//! | `P` pause, `U` resume | |
//! | `A` alter | `l` `g` `h` `o` `c`: those that are given; outbox |
//! | `H` round | `n` its number, `s` its supply |
//!
//! Any effect may have `t` (ms since the stored T) and `e` (a new epoch). Numbers may be out of
//! bounds: the decoder must refuse them.

use std::collections::BTreeMap;

use seckill_domain::admission::List;
use seckill_domain::effect::{self, Change, Effect};
use seckill_domain::outcome::State;
use seckill_domain::record::{Asked, ReqTag};
use seckill_domain::request::{Terms, TermsChange};

use super::rebuild::encoded;

/// The encoded effect of this text.
pub fn effect(text: &(impl AsRef<[u8]> + ?Sized)) -> Vec<u8> {
    encoded(&change(text.as_ref()))
}

/// The change of this text. Panics if the text is invalid.
fn change(text: &[u8]) -> Change<'_> {
    let shown = text.escape_ascii();
    let (letter, rest) = text.split_first().expect("a letter");
    if *letter == b'g' {
        return Change::untimed(grant(rest, None, 1, 0));
    }
    let mut fields = Fields::parse(rest);
    let (elapsed_ms, epoch) = (fields.or(b't', 0), fields.numbers.remove(&b'e'));
    let effect = effect_of(*letter, &mut fields);
    assert!(fields.numbers.is_empty() && fields.tail.is_empty(), "{shown} says more than that");
    Change { elapsed_ms, epoch, effect }
}

fn grant<'a>(user: &'a [u8], req: Option<ReqTag<'a>>, qty: u64, hold_ms: u64) -> Effect<'a> {
    Effect::Grant(effect::Grant { user, req, qty, hold_ms })
}

fn effect_of<'a>(letter: u8, fields: &mut Fields<'a>) -> Effect<'a> {
    let settle =
        |fields: &mut Fields<'_>, to| Effect::Settle(effect::Settle { seq: fields.get(b's'), to });
    match letter {
        b'I' => start(fields),
        b'G' => {
            let (qty, hold_ms) = (fields.or(b'q', 1), fields.or(b'd', 0));
            let asked = [Asked::Exactly, Asked::UpTo, Asked::Either][fields.or(b'u', 0) as usize];
            let (id, user) = fields.req_and_user();
            grant(user, id.map(|id| ReqTag { id, asked }), qty, hold_ms)
        }
        b'M' => {
            let (qty, at) = (fields.or(b'q', 1), fields.get(b'a'));
            let (req, user) = fields.req_and_user();
            Effect::Import(effect::Import { user, req: req.unwrap_or_default(), qty, at })
        }
        b'W' => {
            let (req, user) = fields.req_and_user();
            Effect::Fence(effect::Fence { user, req: req.unwrap_or_default() })
        }
        b'D' => {
            let tail = std::str::from_utf8(fields.rest()).expect("seqs");
            effect::Expire(tail.split(',').map(|seq| seq.parse().expect("a seq")).collect()).into()
        }
        b'C' => settle(fields, State::Sold),
        b'X' => settle(fields, State::Cancelled),
        b'F' => settle(fields, State::Refunded),
        b'N' => settle(fields, State::Forfeited),
        b'Y' => Effect::Reclaim(effect::Reclaim { seq: fields.get(b's') }),
        b'B' => {
            let to = if fields.or(b'u', 0) == 1 { State::Sold } else { State::Held };
            Effect::Trim(effect::Trim { seq: fields.get(b's'), returned: fields.get(b'n'), to })
        }
        b'V' => Effect::Reimport(effect::Reimport { seq: fields.get(b's') }),
        b'E' => Effect::Extend(effect::Extend { seq: fields.get(b's'), ms: fields.get(b'd') }),
        b'R' => {
            let sign = if fields.numbers.contains_key(&b'p') { 1i64 } else { -1 };
            let delta = fields.get(if sign == 1 { b'p' } else { b'm' });
            let signed = |size: u64| sign.wrapping_mul(size as i64);
            let (delta, applied) = (signed(delta), signed(fields.get(b'a')));
            Effect::Restock(effect::Restock { req: fields.rest(), delta, applied })
        }
        b'P' => effect::Pause.into(),
        b'U' => effect::Resume.into(),
        b'A' => effect::Alter(Box::new(alter(fields))).into(),
        b'T' => Effect::Admit(effect::Admit { user: fields.rest() }),
        b'Q' => {
            let list = [List::Allow, List::Deny, List::Admitted][fields.get(b'l') as usize - 1];
            let add = fields.numbers.remove(&b'p').is_some();
            assert!(add || fields.numbers.remove(&b'm').is_some(), "added or removed");
            Effect::Users(effect::Users { list, add, users: vec![fields.rest()] })
        }
        b'H' => Effect::Round(effect::Round { round: fields.get(b'n'), supply: fields.get(b's') }),
        _ => panic!("no effect {}", char::from(letter)),
    }
}

fn alter(fields: &mut Fields<'_>) -> TermsChange {
    let mut number = |letter| fields.numbers.remove(&letter);
    let (limit, grabs, hold_ms) = (number(b'l'), number(b'g'), number(b'h'));
    let (open_at, close_at) = (number(b'o'), number(b'c'));
    let outbox = fields.rest();
    let outbox = (!outbox.is_empty()).then(|| outbox.into());
    TermsChange { limit, grabs, hold_ms, open_at, close_at, outbox, ..TermsChange::default() }
}

/// After the numbers: eight bytes of id, sixteen of secret, and the outbox.
fn start<'a>(fields: &mut Fields<'_>) -> Effect<'a> {
    let supply = fields.get(b's');
    let tail = fields.rest();
    let (id, tail) = tail.split_first_chunk::<8>().expect("an id");
    let (secret, outbox) = tail.split_first_chunk::<16>().expect("a secret");
    fields.tail = outbox;
    let terms = Terms::default().altered(&alter(fields));
    let (id, secret) = (u64::from_be_bytes(*id), *secret);
    Effect::Init(Box::new(effect::Init { id, secret, supply, terms, amounts: Vec::new() }))
}

/// The fields of an effect. Each is removed when read, so that unread ones are noticed.
struct Fields<'a> {
    numbers: BTreeMap<u8, u64>,
    tail: &'a [u8],
}

impl<'a> Fields<'a> {
    fn parse(mut text: &'a [u8]) -> Fields<'a> {
        let mut fields = Fields { numbers: BTreeMap::new(), tail: &[] };
        while let Some((&letter, rest)) = text.split_first() {
            if letter == b':' {
                fields.tail = rest;
                break;
            }
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (digits, rest) = rest.split_at(digits);
            let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            let before = fields.numbers.insert(letter, number.expect("a number"));
            assert!(before.is_none(), "a field is there once");
            text = rest;
        }
        fields
    }

    fn get(&mut self, letter: u8) -> u64 {
        self.numbers.remove(&letter).expect("a number that it needs")
    }

    fn or(&mut self, letter: u8, otherwise: u64) -> u64 {
        self.numbers.remove(&letter).unwrap_or(otherwise)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.tail)
    }

    fn req_and_user(&mut self) -> (Option<&'a [u8]>, &'a [u8]) {
        let req_len = self.numbers.remove(&b'r');
        let (id, user) = self.rest().split_at(req_len.unwrap_or(0) as usize);
        (req_len.map(|_| id), user)
    }
}
