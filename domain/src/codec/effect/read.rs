//! Reading the text of an effect: anything may come.

use super::{list_of, Change, Effect, Granting, Importing, Seqs, Start, UsersChange};
use crate::admission::List;
use crate::codec::further;
use crate::ledger::record::{asked_of, ReqTag};
use crate::memory::bytes::{take_amounts, Reader};
use crate::model::limits::{EFFECTS_PER_APPLY_MAX, INTEGER_MAX, USERS_PER_EFFECT_MAX};
use crate::model::outcome::{Refused, State};
use crate::request::terms::{Terms, TermsChange};

const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 16;

impl<'a> Change<'a> {
    /// Reads what [`Change::encode`] wrote, or tells that it is something else.
    pub fn decode(text: &'a [u8]) -> Result<Change<'a>, Refused> {
        let (&letter, rest) = text.split_first().ok_or(Refused::Unknown)?;
        if letter == b'g' {
            let grant = Granting { user: rest, req: None, qty: 1, hold_ms: 0 };
            return Ok(Change::piece(Effect::Grant(grant)));
        }
        let mut fields = Fields::parse(rest)?;
        let elapsed_ms = fields.number(b't').unwrap_or(0);
        let epoch = fields.number(b'e');
        let effect = decode_effect(letter, &mut fields)?;
        if !fields.is_used_up() {
            return Err(Refused::Unknown);
        }
        Ok(Change { elapsed_ms, epoch, effect })
    }
}

fn decode_effect<'a>(letter: u8, fields: &mut Fields<'a>) -> Result<Effect<'a>, Refused> {
    Ok(match letter {
        b'I' => decode_start(fields)?,
        b'G' => decode_grant(fields)?,
        b'M' => {
            let qty = fields.number(b'q').unwrap_or(1);
            let at = fields.needed(b'a')?;
            let (req, user) = fields.req_and_user()?;
            Effect::Import(Importing { user, req: req.ok_or(Refused::Unknown)?, qty, at })
        }
        b'W' => {
            let (req, user) = fields.req_and_user()?;
            Effect::Fence { user, req: req.ok_or(Refused::Unknown)? }
        }
        b'D' => Effect::Expire(decode_seqs(fields.tail()?).ok_or(Refused::Unknown)?),
        b'C' => Effect::Settle { seq: fields.needed(b's')?, to: State::Sold },
        b'X' => Effect::Settle { seq: fields.needed(b's')?, to: State::Cancelled },
        b'F' => Effect::Settle { seq: fields.needed(b's')?, to: State::Refunded },
        b'N' => Effect::Settle { seq: fields.needed(b's')?, to: State::Forfeited },
        b'Y' => Effect::Reclaim { seq: fields.needed(b's')? },
        b'V' => Effect::Reimport { seq: fields.needed(b's')? },
        b'E' => Effect::Extend { seq: fields.needed(b's')?, ms: fields.needed(b'd')? },
        b'R' => {
            let (size, sign) = match (fields.number(b'p'), fields.number(b'm')) {
                (Some(size), None) => (size, 1),
                (None, Some(size)) => (size, -1),
                _ => return Err(Refused::Unknown),
            };
            let signed = |size: u64| i64::try_from(size).map(|size| size * sign);
            let delta = signed(size).map_err(|_| Refused::Unknown)?;
            let applied = signed(fields.needed(b'a')?).map_err(|_| Refused::Unknown)?;
            Effect::Restock { req: fields.tail()?, delta, applied }
        }
        b'P' => Effect::Pause,
        b'U' => Effect::Resume,
        b'A' => {
            let mut change = fields.terms();
            decode_alter(fields, &mut change)?;
            Effect::Alter(Box::new(change))
        }
        b'B' => Effect::Base(fields.tail()?),
        b'K' => Effect::RestockIds(fields.tail()?),
        b'J' => Effect::Fences(fields.tail()?),
        b'Q' => decode_users(fields)?,
        b'T' => Effect::Admit { user: fields.tail()? },
        b'S' => Effect::Listed(fields.tail()?),
        b'O' => Effect::Amounts(fields.tail()?),
        b'L' => Effect::Rows(fields.tail()?),
        b'Z' => Effect::Turn(fields.tail()?),
        b'H' => Effect::Round { round: fields.needed(b'n')?, supply: fields.needed(b's')? },
        _ => return Err(Refused::Unknown),
    })
}

/// The tail of an INIT: id, secret, `x` bytes of further terms, `y` bytes of amounts, outbox.
fn decode_start<'a>(fields: &mut Fields<'a>) -> Result<Effect<'a>, Refused> {
    let supply = fields.needed(b's')?;
    let mut terms = Terms::default().altered(&fields.terms());
    let mut tail = Reader::new(fields.tail()?);
    let mut blob = |letter| {
        let len = usize::try_from(fields.number(letter).unwrap_or(0));
        len.map_err(|_| Refused::Unknown)
    };
    let (further_len, amounts_len) = (blob(b'x')?, blob(b'y')?);
    let id = tail.array::<ID_BYTES>().ok_or(Refused::Unknown)?;
    let secret = tail.array::<SECRET_BYTES>().ok_or(Refused::Unknown)?;
    let further = tail.take(further_len).and_then(further::take).ok_or(Refused::Unknown)?;
    further.set_in(&mut terms);
    let amounts = tail.take(amounts_len).and_then(take_amounts).ok_or(Refused::Unknown)?;
    let outbox = tail.rest();
    terms.outbox = (!outbox.is_empty()).then(|| outbox.into());
    let id = u64::from_be_bytes(id);
    Ok(Effect::Init(Box::new(Start { id, secret, supply, terms, amounts })))
}

/// The tail of an ALTER: `x` bytes of further terms, outbox.
fn decode_alter(fields: &mut Fields<'_>, change: &mut TermsChange) -> Result<(), Refused> {
    let further_len = usize::try_from(fields.number(b'x').unwrap_or(0));
    let further_len = further_len.map_err(|_| Refused::Unknown)?;
    let tail = fields.tail.take().unwrap_or_default();
    let (further, outbox) = tail.split_at_checked(further_len).ok_or(Refused::Unknown)?;
    let further = further::take(further)
        .filter(|further| further.draw.is_none() && further.schedule.is_none());
    change.admission = further.ok_or(Refused::Unknown)?.admission;
    change.outbox = (!outbox.is_empty()).then(|| outbox.into());
    Ok(())
}

fn decode_users<'a>(fields: &mut Fields<'a>) -> Result<Effect<'a>, Refused> {
    let list = list_of(fields.needed(b'l')?).filter(|list| *list != List::Admitted);
    let list = list.ok_or(Refused::Unknown)?;
    let add = match (fields.number(b'p'), fields.number(b'm')) {
        (Some(1), None) => true,
        (None, Some(1)) => false,
        _ => return Err(Refused::Unknown),
    };
    let mut reader = Reader::new(fields.tail()?);
    let mut users = Vec::new();
    while !reader.is_empty() {
        users.push(reader.bytes().ok_or(Refused::Unknown)?);
        if users.len() > USERS_PER_EFFECT_MAX {
            return Err(Refused::Unknown);
        }
    }
    Ok(Effect::Users(UsersChange { list, add, users }))
}

fn decode_grant<'a>(fields: &mut Fields<'a>) -> Result<Effect<'a>, Refused> {
    let qty = fields.number(b'q').unwrap_or(1);
    let hold_ms = fields.number(b'd').unwrap_or(0);
    let asked = u8::try_from(fields.number(b'u').unwrap_or(0)).ok().and_then(asked_of);
    let asked = asked.ok_or(Refused::Unknown)?;
    let (id, user) = fields.req_and_user()?;
    let req = id.map(|id| ReqTag { id, asked });
    Ok(Effect::Grant(Granting { user, req, qty, hold_ms }))
}

fn decode_seqs(text: &[u8]) -> Option<Seqs> {
    let mut seqs = Seqs::new();
    for digits in text.split(|byte| *byte == b',') {
        if seqs.len() == EFFECTS_PER_APPLY_MAX {
            return None;
        }
        seqs.push(parse_digits(digits)?);
    }
    Some(seqs)
}

/// The fields of an effect, taken out one by one so that what is left over is noticed.
struct Fields<'a> {
    numbers: [Option<u64>; 26],
    tail: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    fn parse(mut text: &'a [u8]) -> Result<Fields<'a>, Refused> {
        let mut fields = Fields { numbers: [None; 26], tail: None };
        while let Some((&letter, rest)) = text.split_first() {
            if letter == b':' {
                fields.tail = Some(rest);
                break;
            }
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (digits, rest) = rest.split_at(digits);
            let place = usize::from(letter.wrapping_sub(b'a'));
            // No primary writes a larger one, and no snapshot could keep it.
            let number = parse_digits(digits).filter(|number| *number <= INTEGER_MAX);
            let number = number.ok_or(Refused::Unknown)?;
            let slot = fields.numbers.get_mut(place).ok_or(Refused::Unknown)?;
            if slot.replace(number).is_some() {
                return Err(Refused::Unknown);
            }
            text = rest;
        }
        Ok(fields)
    }

    fn number(&mut self, letter: u8) -> Option<u64> {
        self.numbers[usize::from(letter - b'a')].take()
    }

    fn needed(&mut self, letter: u8) -> Result<u64, Refused> {
        self.number(letter).ok_or(Refused::Unknown)
    }

    fn terms(&mut self) -> TermsChange {
        TermsChange::from_fields(|letter| self.number(letter))
    }

    fn tail(&mut self) -> Result<&'a [u8], Refused> {
        self.tail.take().ok_or(Refused::Unknown)
    }

    /// The tail of an effect that has a user and perhaps, before it, a request id of `r` bytes.
    fn req_and_user(&mut self) -> Result<(Option<&'a [u8]>, &'a [u8]), Refused> {
        let req_len = self.number(b'r');
        let split = usize::try_from(req_len.unwrap_or(0)).map_err(|_| Refused::Unknown)?;
        let (id, user) = self.tail()?.split_at_checked(split).ok_or(Refused::Unknown)?;
        Ok((req_len.map(|_| id), user))
    }

    fn is_used_up(&self) -> bool {
        self.tail.is_none() && self.numbers.iter().all(Option::is_none)
    }
}

fn parse_digits(text: &[u8]) -> Option<u64> {
    if text.is_empty() || (text.len() > 1 && text[0] == b'0') {
        return None;
    }
    text.iter().try_fold(0u64, |number, &byte| {
        let digit = char::from(byte).to_digit(10)?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}
