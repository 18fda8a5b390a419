//! The only way state changes, and the text that is replicated.
//!
//! An effect is one byte string: a letter, fields of one lower-case letter and a decimal number
//! each, and behind a colon the bytes that users chose. `GRAB sale alice QTY 2 REQ o-7` replicates
//! as
//!
//! ```text
//! SECKILL.APPLY sale 1z Gq2r3:o-7alice
//! ```
//! where `1z` is the version that it follows, in base 36, and `r3` says that the first three bytes
//! behind the colon are the request id. The most common effect, one unit sold within the
//! millisecond of the change before it, is just `galice`. Times are absolute: they are written as
//! the distance `t` from the T that the sale stored at that version, which both sides share.
//!
//! | effect | fields |
//! | --- | --- |
//! | `I` init | `s` supply, `l` limit, `g` grabs, `h` hold, `o` open, `c` close, `x` length of
//! | | further terms, `y` length of amounts; id, secret, further terms, amounts, outbox |
//! | `G` grant | `q` qty (1), `r` length of req, `u` 1 if asked with UPTO; req, user |
//! | | `d` hold: HELD until so many ms after T |
//! | `C` confirm, `X` cancel, `F` refund, `N` reclaim refused, `Y` reclaim | `s` seq |
//! | `E` extend | `s` seq, `d` the new deadline in ms after T |
//! | `D` expire | the seqs, with commas |
//! | `M` import | `q` qty (1), `r` length of req, `a` when it was granted; req, user |
//! | `V` import of a known request | `s` seq |
//! | `W` fence | `r` length of req; req, user |
//! | `Q` allow or deny | `l` 1 allow, 2 deny; `p` or `m` (1) added or removed; users, each after |
//! | | its length |
//! | `T` admit | user |
//! | `R` restock | `p` or `m` delta, `a` applied (both without sign); req |
//! | `P` pause, `U` resume | |
//! | `A` alter | `l` `g` `h` `o` `c`: those that were given; `x` length of further terms; further
//! | | terms, outbox |
//! | `H` round | `n` its number, `s` its supply, `l` how often the list is added (DRAW LIST) |
//! | `B` base, `K` restock ids, `J` fences, `S` users of a list, `O` amounts, `L` rows, `Z` next |
//! | | of the rounds kept, `o` what a round has left of a list: pieces of a snapshot, which is |
//! | | how a log is rewritten |
//!
//! Any of them may carry `t` (ms since the stored T, 0 when left out) and `e` (a new epoch).
//! A letter or field that a build does not know is refused, never skipped.

use smallvec::SmallVec;

use super::admission::{List, LISTS};
use super::bytes::{put_amounts, put_bytes, take_amounts, Reader};
use super::further::{self, Further};
use super::ledger::Found;
use super::limits::{EFFECTS_PER_APPLY_MAX, INTEGER_MAX, USERS_PER_EFFECT_MAX};
use super::outcome::{Refused, State};
use super::record::{asked_code, asked_of, Asked, ReqTag};
use super::terms::{Terms, TermsChange};

/// One change of a sale: when, in which run, and what.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// Milliseconds from the sale's stored T to the T of this change.
    pub elapsed_ms: u64,
    /// Set by the first change in a run of a primary.
    pub epoch: Option<u64>,
    pub effect: Effect<'a>,
}

/// What changed. Effects carry results, never requests: whoever applies one judges nothing.
#[derive(Clone, Debug)]
pub enum Effect<'a> {
    Init(Box<Start>),
    Grant(Granting<'a>),
    Restock {
        req: &'a [u8],
        delta: i64,
        applied: i64,
    },
    Pause,
    Resume,
    Alter(Box<TermsChange>),
    /// Holds that ran out, at most `EFFECTS_PER_APPLY_MAX` of them.
    Expire(Seqs),
    /// CONFIRM, CANCEL, REFUND, or a RECLAIM that is refused for good.
    Settle {
        seq: u64,
        to: State,
    },
    /// An expired grant is sold after all.
    Reclaim {
        seq: u64,
    },
    /// A new deadline, `ms` after T.
    Extend {
        seq: u64,
        ms: u64,
    },
    Import(Importing<'a>),
    /// An import of a request that is known: its grant is sold now.
    Reimport {
        seq: u64,
    },
    /// A request id cancelled before it was granted.
    Fence {
        user: &'a [u8],
        req: &'a [u8],
    },
    /// ALLOW or DENY.
    Users(UsersChange<'a>),
    /// ADMIT lets a user in.
    Admit {
        user: &'a [u8],
    },
    /// A new round begins with so much supply. Comes alone.
    Round {
        round: u64,
        supply: u64,
        /// How often the list of DRAW LIST is in it, behind what is left if the supply has that,
        /// too; 0 in other sales.
        lists: u64,
    },
    /// First piece of a rewritten sale: everything but rows and restock ids.
    Base(&'a [u8]),
    /// Restock ids of a rewritten sale.
    RestockIds(&'a [u8]),
    /// Fences of a rewritten sale.
    Fences(&'a [u8]),
    /// Users on a list of a rewritten sale.
    Listed(&'a [u8]),
    /// Amounts of a rewritten sale that draws from a list.
    Amounts(&'a [u8]),
    /// Grant rows of a rewritten sale.
    Rows(&'a [u8]),
    /// The next of the rounds that a rewritten sale keeps: its rows follow.
    Turn(&'a [u8]),
    /// What the round at hand of a rewritten sale has left of its list.
    Left(&'a [u8]),
}

/// Users who are added to a list or removed, at most `USERS_PER_EFFECT_MAX` of them.
#[derive(Clone, Debug)]
pub struct UsersChange<'a> {
    /// `Allow` or `Deny`.
    pub list: List,
    pub add: bool,
    pub users: Vec<&'a [u8]>,
}

/// How a sale begins.
#[derive(Clone, Debug)]
pub struct Start {
    pub id: u64,
    pub secret: [u8; 16],
    pub supply: u64,
    pub terms: Terms,
    /// The amounts of DRAW LIST; else empty.
    pub amounts: Vec<u64>,
}

/// A grant about to be recorded.
#[derive(Clone, Copy, Debug)]
pub struct Granting<'a> {
    pub user: &'a [u8],
    pub req: Option<ReqTag<'a>>,
    pub qty: u64,
    /// How long it is held, 0 when it is sold at once.
    pub hold_ms: u64,
    /// Where `decide` looked the user up; not replicated.
    pub found: Option<Found>,
}

const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 16;

impl Effect<'_> {
    /// Whether it is a further piece of a rewritten sale.
    pub fn is_piece(&self) -> bool {
        matches!(
            self,
            Effect::RestockIds(_)
                | Effect::Fences(_)
                | Effect::Listed(_)
                | Effect::Amounts(_)
                | Effect::Turn(_)
                | Effect::Rows(_)
                | Effect::Left(_)
        )
    }
}

impl Granting<'_> {
    /// State and deadline of the grant when it is made at `t`.
    pub fn state_at(&self, t: u64) -> (State, u64) {
        match self.hold_ms {
            0 => (State::Sold, 0),
            ms => (State::Held, t + ms),
        }
    }
}

/// A grant that the shop's database knows and Redis lost.
#[derive(Clone, Copy, Debug)]
pub struct Importing<'a> {
    pub user: &'a [u8],
    pub req: &'a [u8],
    pub qty: u64,
    /// When it was granted, Unix ms.
    pub at: u64,
}

/// Seqs of one mass expiry.
pub type Seqs = SmallVec<[u64; 2]>;

/// The letter of a deed that moves a grant to `to`.
fn settle_letter(to: State) -> u8 {
    match to {
        State::Sold => b'C',
        State::Cancelled => b'X',
        State::Refunded => b'F',
        State::Forfeited => b'N',
        // Neither is a deed: a trial refuses them, and so does decoding.
        State::Held | State::Expired => b'?',
    }
}

impl<'a> Change<'a> {
    /// A change that stores no time of its own: a piece of a rewritten log.
    pub fn piece(effect: Effect<'a>) -> Change<'a> {
        Change { elapsed_ms: 0, epoch: None, effect }
    }

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
            Effect::Round { round, supply, lists } => {
                self.head(b'H', text);
                text.field(b'n', *round);
                text.field(b's', *supply);
                if *lists != 0 {
                    text.field(b'l', *lists);
                }
            }
            Effect::Base(piece) => self.piece_text(b'B', piece, text),
            Effect::RestockIds(piece) => self.piece_text(b'K', piece, text),
            Effect::Fences(piece) => self.piece_text(b'J', piece, text),
            Effect::Listed(piece) => self.piece_text(b'S', piece, text),
            Effect::Amounts(piece) => self.piece_text(b'O', piece, text),
            Effect::Rows(piece) => self.piece_text(b'L', piece, text),
            Effect::Turn(piece) => self.piece_text(b'Z', piece, text),
            Effect::Left(piece) => self.piece_text(b'o', piece, text),
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

    /// Reads what [`Change::encode`] wrote, or tells that it is something else.
    pub fn decode(text: &'a [u8]) -> Result<Change<'a>, Refused> {
        let (&letter, rest) = text.split_first().ok_or(Refused::Unknown)?;
        if letter == b'g' {
            let grant = Granting { user: rest, req: None, qty: 1, hold_ms: 0, found: None };
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
        b'o' => Effect::Left(fields.tail()?),
        b'H' => {
            let (round, supply) = (fields.needed(b'n')?, fields.needed(b's')?);
            Effect::Round { round, supply, lists: fields.number(b'l').unwrap_or(0) }
        }
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

/// The number that stands for a list in effects and snapshots.
pub fn list_code(list: List) -> u64 {
    match list {
        List::Allow => 1,
        List::Deny => 2,
        List::Admitted => 3,
    }
}

/// Inverse of [`list_code`].
pub fn list_of(code: u64) -> Option<List> {
    LISTS.into_iter().find(|list| list_code(*list) == code)
}

fn decode_grant<'a>(fields: &mut Fields<'a>) -> Result<Effect<'a>, Refused> {
    let qty = fields.number(b'q').unwrap_or(1);
    let hold_ms = fields.number(b'd').unwrap_or(0);
    let asked = u8::try_from(fields.number(b'u').unwrap_or(0)).ok().and_then(asked_of);
    let asked = asked.ok_or(Refused::Unknown)?;
    let (id, user) = fields.req_and_user()?;
    let req = id.map(|id| ReqTag { id, asked });
    Ok(Effect::Grant(Granting { user, req, qty, hold_ms, found: None }))
}

fn decode_seqs(text: &[u8]) -> Option<Seqs> {
    let mut seqs = Seqs::new();
    for digits in text.split(|byte| *byte == b',') {
        if seqs.len() == EFFECTS_PER_APPLY_MAX {
            return None;
        }
        seqs.push(parse_digits(digits, 10)?);
    }
    Some(seqs)
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
}

impl Writer<'_> {
    fn field(&mut self, letter: u8, number: u64) {
        self.out.push(letter);
        push_digits(self.out, number, 10);
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
            push_digits(self.out, *seq, 10);
        }
    }

    fn tail(&mut self, parts: &[&[u8]]) {
        self.out.push(b':');
        for part in parts {
            self.out.extend_from_slice(part);
        }
    }
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
            let number = parse_digits(digits, 10).filter(|number| *number <= INTEGER_MAX);
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

/// Appends the version that an APPLY follows: base 36, because every grant carries it.
pub fn encode_version(version: u64, out: &mut Vec<u8>) {
    push_digits(out, version, 36);
}

/// Reads what [`encode_version`] wrote.
pub fn decode_version(text: &[u8]) -> Option<u64> {
    parse_digits(text, 36)
}

fn push_digits(out: &mut Vec<u8>, mut number: u64, base: u64) {
    let start = out.len();
    loop {
        let digit = (number % base) as u8;
        out.push(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 });
        number /= base;
        if number == 0 {
            break;
        }
    }
    out[start..].reverse();
}

fn parse_digits(text: &[u8], base: u32) -> Option<u64> {
    if text.is_empty() || (text.len() > 1 && text[0] == b'0') {
        return None;
    }
    text.iter().try_fold(0u64, |number, &byte| {
        let digit = char::from(byte).to_digit(base).filter(|_| !byte.is_ascii_uppercase())?;
        number.checked_mul(base.into())?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::draw::Draw;

    fn text(change: &Change<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        change.encode(&mut out);
        out
    }

    fn grant<'a>(user: &'a [u8], req: Option<&'a [u8]>, qty: u64) -> Effect<'a> {
        let req = req.map(|id| ReqTag { id, asked: Asked::Exactly });
        Effect::Grant(Granting { user, req, qty, hold_ms: 0, found: None })
    }

    #[test]
    fn the_text_of_every_effect() {
        let terms = Terms { limit: 2, open_at: 5, close_at: 9, ..Terms::default() };
        let (id, secret) = (0x6162_6364_6566_6768, [b'x'; 16]);
        let drawn = Terms { draw: Some(Draw::list(&[3, 4])), ..Terms::default() };
        let Some(Draw::List { fingerprint, .. }) = drawn.draw else { unreachable!() };
        let mut drawn_text = b"Is7l1g0h0o0c0x18y2:abcdefghxxxxxxxxxxxxxxxx\x04\x02".to_vec();
        drawn_text.extend_from_slice(&fingerprint);
        drawn_text.extend_from_slice(b"\x03\x04");
        let start = Start { id, secret, supply: 7, terms, amounts: Vec::new() };
        let listed = Start { terms: drawn, amounts: vec![3, 4], ..start.clone() };
        let init = Effect::Init(Box::new(start));
        let alter = TermsChange { limit: Some(3), close_at: Some(0), ..TermsChange::default() };
        let import = Importing { user: b"u", req: b"r", qty: 2, at: 5 };
        let cases: Vec<(Change<'_>, &[u8])> = vec![
            (Change::piece(grant(b"al:ice", None, 1)), b"gal:ice"),
            (Change::piece(grant(b"alice", Some(b"o-7"), 2)), b"Gq2r3:o-7alice"),
            (Change { elapsed_ms: 4, ..Change::piece(grant(b"a", None, 1)) }, b"Gt4:a"),
            (Change { epoch: Some(88), ..Change::piece(grant(b"a", None, 1)) }, b"Ge88:a"),
            (
                Change { elapsed_ms: 1, epoch: Some(2), effect: init },
                b"It1e2s7l2g0h0o5c9:abcdefghxxxxxxxxxxxxxxxx",
            ),
            (Change::piece(Effect::Restock { req: b"r1", delta: -9, applied: -3 }), b"Rm9a3:r1"),
            (Change::piece(Effect::Restock { req: b"r", delta: 9, applied: 9 }), b"Rp9a9:r"),
            (Change::piece(Effect::Pause), b"P"),
            (Change { elapsed_ms: 3, ..Change::piece(Effect::Resume) }, b"Ut3"),
            (Change::piece(Effect::Init(Box::new(listed))), &drawn_text),
            (Change::piece(Effect::Alter(Box::new(alter))), b"Al3c0"),
            (Change::piece(Effect::Rows(b"\0:")), b"L:\0:"),
            (Change::piece(Effect::Expire(Seqs::from_slice(&[7, 12]))), b"D:7,12"),
            (Change::piece(Effect::Settle { seq: 3, to: State::Sold }), b"Cs3"),
            (Change::piece(Effect::Settle { seq: 3, to: State::Cancelled }), b"Xs3"),
            (Change::piece(Effect::Settle { seq: 3, to: State::Refunded }), b"Fs3"),
            (Change::piece(Effect::Settle { seq: 3, to: State::Forfeited }), b"Ns3"),
            (Change::piece(Effect::Reclaim { seq: 3 }), b"Ys3"),
            (Change::piece(Effect::Reimport { seq: 3 }), b"Vs3"),
            (Change::piece(Effect::Extend { seq: 3, ms: 9 }), b"Es3d9"),
            (Change::piece(Effect::Fence { user: b"u", req: b"r" }), b"Wr1:ru"),
            (Change::piece(Effect::Import(import)), b"Mq2a5r1:ru"),
            (Change::piece(Effect::Round { round: 3, supply: 7, lists: 0 }), b"Hn3s7"),
            (Change::piece(Effect::Round { round: 3, supply: 7, lists: 2 }), b"Hn3s7l2"),
            (Change::piece(Effect::Left(b"\0\x02")), b"o:\0\x02"),
        ];
        for (change, expected) in cases {
            let out = text(&change);
            assert_eq!(out, expected, "{}", String::from_utf8_lossy(&out));
            let back = Change::decode(&out).unwrap();
            assert_eq!(format!("{back:?}"), format!("{change:?}"));
        }
    }

    #[test]
    fn what_is_not_an_effect_is_refused() {
        for text in [
            "",
            "Z",
            "P1",
            "Pz1",
            "Pt",
            "Pt01",
            "Pt1t1",
            "P:",
            "G",
            "Gr9:short",
            "Gq1",
            "R:r",
            "Rp1:r",
            "Rp1m1a1:r",
            "Rp99999999999999999999a1:r",
            "Is1",
            "Is1:short",
            "PT1",
            "Rp18446744073709551615a1:r",
            "D",
            "D:",
            "D:1,",
            "D:01",
            "C",
            "Cs1:",
            "Es1",
            "M:u",
        ] {
            assert!(Change::decode(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn versions_are_base_36() {
        for version in [0, 35, 36, 1_000_000, u64::MAX] {
            let mut out = Vec::new();
            encode_version(version, &mut out);
            assert_eq!(decode_version(&out), Some(version));
        }
        for text in ["", "00", "01", "-1", "A", " 1", "zzzzzzzzzzzzzzzz"] {
            assert_eq!(decode_version(text.as_bytes()), None, "{text}");
        }
    }
}
