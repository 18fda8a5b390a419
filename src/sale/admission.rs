//! Who may ask at all: lists, number ranges, a random share, the first so many.
//!
//! Every hash here is SipHash-2-4 under the sale's secret, so nobody can choose an id that passes
//! and all nodes agree. Refusing allocates nothing.

use core::hash::Hasher;
use std::collections::HashSet;

use siphasher::sip::SipHasher24;

use super::decide::Decision;
use super::effect::{Effect, UsersChange};
use super::limits::{MOD_RESIDUES_MAX, PERMILLE_ALL, SALT_BYTES_MAX, USERS_PER_EFFECT_MAX};
use super::outcome::{Misuse, Outcome};
use super::request::{ListChange, Now};
use super::Sale;

/// What the hashes begin with: no two uses of the secret hash the same bytes.
const MOD_TAG: u8 = b'm';
const SAMPLE_TAG: u8 = b's';

/// What a masked refusal looks like: never 0, which app servers cache.
const MASKED: Outcome = Outcome::SoldOut { held: 1 };

/// Terms of admission in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// Only listed users.
    pub allowlist: bool,
    pub modulo: Option<Box<Modulo>>,
    pub sample: Option<Box<Sample>>,
    /// The first so many distinct users; 0 is all.
    pub admit: u64,
    /// Refusals look like a sale that is sold out for now.
    pub mask: bool,
}

/// What ALTER names; what it leaves out stays as it is. `Some(None)` switches off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionChange {
    pub allowlist: Option<bool>,
    pub modulo: Option<Option<Box<Modulo>>>,
    pub sample: Option<Option<Box<Sample>>>,
    pub admit: Option<u64>,
    pub mask: Option<bool>,
}

/// The user's number modulo `modulus` is one of `residues`, which are ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modulo {
    pub modulus: u64,
    pub residues: Box<[u64]>,
}

impl Modulo {
    /// The residues in any order; a repeated one counts once.
    pub fn new(modulus: u64, mut residues: Vec<u64>) -> Modulo {
        residues.sort_unstable();
        residues.dedup();
        Modulo { modulus, residues: residues.into() }
    }

    fn check(&self) -> Result<(), Misuse> {
        let ascending = self.residues.windows(2).all(|pair| pair[0] < pair[1]);
        match self.residues.last() {
            None => Err(Misuse::ModNoResidue),
            Some(last) if *last >= self.modulus || !ascending => Err(Misuse::ModResidueTooLarge),
            _ if self.residues.len() > MOD_RESIDUES_MAX => Err(Misuse::ModTooManyResidues),
            _ => Ok(()),
        }
    }

    /// Whether this user is one of them.
    fn admits(&self, user: &[u8], secret: &[u8; 16]) -> bool {
        let residue = match user.iter().all(u8::is_ascii_digit) {
            true => user
                .iter()
                .fold(0, |residue, digit| (residue * 10 + u64::from(digit - b'0')) % self.modulus),
            false => {
                let mut hasher = SipHasher24::new_with_key(secret);
                hasher.write(&[MOD_TAG]);
                hasher.write(user);
                hasher.finish() % self.modulus
            }
        };
        self.residues.binary_search(&residue).is_ok()
    }
}

/// A share of the users; another salt is another share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub permille: u64,
    pub salt: Box<[u8]>,
}

impl Sample {
    fn check(&self) -> Result<(), Misuse> {
        if self.permille > PERMILLE_ALL {
            return Err(Misuse::SampleTooLarge);
        }
        if self.salt.len() > SALT_BYTES_MAX {
            return Err(Misuse::SaltTooLong);
        }
        Ok(())
    }

    /// Whether this user is one of them. A larger share has all users of a smaller one.
    fn admits(&self, user: &[u8], secret: &[u8; 16]) -> bool {
        let mut hasher = SipHasher24::new_with_key(secret);
        hasher.write(&[SAMPLE_TAG, self.salt.len() as u8]);
        hasher.write(&self.salt);
        hasher.write(user);
        let place = (u128::from(hasher.finish()) * u128::from(PERMILLE_ALL)) >> 64;
        place < u128::from(self.permille)
    }
}

impl Admission {
    /// The terms after `change`.
    pub fn altered(&self, change: &AdmissionChange) -> Admission {
        Admission {
            allowlist: change.allowlist.unwrap_or(self.allowlist),
            modulo: change.modulo.clone().unwrap_or_else(|| self.modulo.clone()),
            sample: change.sample.clone().unwrap_or_else(|| self.sample.clone()),
            admit: change.admit.unwrap_or(self.admit),
            mask: change.mask.unwrap_or(self.mask),
        }
    }

    /// Whether these terms can be kept.
    pub fn check(&self) -> Result<(), Misuse> {
        self.modulo.as_ref().map_or(Ok(()), |modulo| modulo.check())?;
        self.sample.as_ref().map_or(Ok(()), |sample| sample.check())
    }

    /// Whether everybody may ask.
    pub fn is_open(&self) -> bool {
        *self == Admission::default()
    }
}

impl AdmissionChange {
    /// The change from no terms at all to `terms`.
    pub fn from_none_to(terms: &Admission) -> AdmissionChange {
        AdmissionChange {
            allowlist: terms.allowlist.then_some(true),
            modulo: terms.modulo.is_some().then(|| terms.modulo.clone()),
            sample: terms.sample.is_some().then(|| terms.sample.clone()),
            admit: (terms.admit != 0).then_some(terms.admit),
            mask: terms.mask.then_some(true),
        }
    }
}

/// A list of users that a sale keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Those whom ALLOWLIST lets in.
    Allow,
    /// Those who never may.
    Deny,
    /// Those whom ADMIT has let in.
    Admitted,
}

/// All lists, in the order of their numbers.
pub const LISTS: [List; 3] = [List::Allow, List::Deny, List::Admitted];

/// How a user would be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admittance {
    Ok,
    /// Not eligible.
    Denied,
    /// Shed.
    Busy,
}

impl Admittance {
    /// The word that USER shows.
    pub fn name(self) -> &'static str {
        match self {
            Admittance::Ok => "OK",
            Admittance::Denied => "DENIED",
            Admittance::Busy => "BUSY",
        }
    }
}

impl Sale {
    /// How a GRAB of this user would be judged now as far as admission goes, never masked.
    pub fn admittance(&self, user: &[u8]) -> Admittance {
        match self.judge_admission(user) {
            Ok(_) => Admittance::Ok,
            Err(Outcome::Denied) => Admittance::Denied,
            Err(_) => Admittance::Busy,
        }
    }

    /// Whether this user may ask: `Ok(true)` when ADMIT lets him in by this very call.
    #[inline]
    pub(super) fn judge_admission(&self, user: &[u8]) -> Result<bool, Outcome> {
        match &self.extras {
            None => Ok(false),
            Some(_) => self.judge_gates(user),
        }
    }

    fn judge_gates(&self, user: &[u8]) -> Result<bool, Outcome> {
        let Some(extras) = &self.extras else { return Ok(false) };
        let terms = &self.terms.admission;
        let secret = &self.secret;
        let is_listed = !terms.allowlist || extras.list(List::Allow).contains(user);
        let has_number = terms.modulo.as_ref().is_none_or(|modulo| modulo.admits(user, secret));
        if !is_listed || !has_number || extras.list(List::Deny).contains(user) {
            return Err(Outcome::Denied);
        }
        if !terms.sample.as_ref().is_none_or(|sample| sample.admits(user, secret)) {
            return Err(Outcome::Busy);
        }
        let admitted = extras.list(List::Admitted);
        if terms.admit == 0 || admitted.contains(user) {
            return Ok(false);
        }
        if admitted.len() >= terms.admit || !admitted.has_room_for(1) {
            return Err(Outcome::Busy);
        }
        Ok(true)
    }

    /// The outcome as the buyer is told it: refusals of admission may be masked. Counters keep
    /// the true one.
    pub fn masked(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Denied | Outcome::Busy if self.terms.admission.mask => MASKED,
            other => other,
        }
    }

    pub(super) fn decide_list<'a>(&self, change: &ListChange<'a>, now: &Now) -> Decision<'a> {
        let known = self.extras.as_deref().map(|extras| extras.list(change.list));
        let is_in = |user: &[u8]| known.is_some_and(|users| users.contains(user));
        let mut seen = HashSet::new();
        let changed: Vec<&'a [u8]> = change
            .users
            .iter()
            .copied()
            .filter(|user| is_in(user) != change.add && seen.insert(*user))
            .collect();
        if change.add && known.is_some_and(|users| !users.has_room_for(changed.len())) {
            return Decision::misuse(Misuse::ListFull);
        }
        let effects = changed.chunks(USERS_PER_EFFECT_MAX).map(|users| {
            let (list, add) = (change.list, change.add);
            Effect::Users(UsersChange { list, add, users: users.to_vec() })
        });
        self.changes(Outcome::Changed { users: changed.len() as u64 }, effects, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sale::decide::decide_new;
    use crate::sale::outcome::{Standing, State};
    use crate::sale::request::{Amount, Grab, Request};
    use crate::sale::terms::{Terms, TermsChange};
    use crate::sale::testing::{self, at, gated, init, reloaded, SECRET};

    fn run(sale: &mut Sale, request: &Request<'_>) -> Outcome {
        testing::run(sale, request, 2)
    }

    fn grab(sale: &mut Sale, user: &str) -> Outcome {
        testing::grab(sale, user, 2)
    }

    fn list(sale: &mut Sale, list: List, add: bool, users: &[&[u8]]) -> Outcome {
        run(sale, &Request::List(ListChange { list, add, users }))
    }

    fn changed(users: u64) -> Outcome {
        Outcome::Changed { users }
    }

    fn is_granted(outcome: &Outcome) -> bool {
        matches!(outcome, Outcome::Granted { .. })
    }

    #[test]
    fn lists_let_in_and_keep_out() {
        let mut sale = gated(Admission { allowlist: true, ..Admission::default() });
        assert_eq!(grab(&mut sale, "a"), Outcome::Denied);
        assert_eq!(list(&mut sale, List::Allow, true, &[b"a", b"b", b"a"]), changed(2));
        assert_eq!(list(&mut sale, List::Allow, true, &[b"a"]), changed(0));
        assert!(is_granted(&grab(&mut sale, "a")));
        assert_eq!(list(&mut sale, List::Deny, true, &[b"b", b"a"]), changed(2));
        assert_eq!(grab(&mut sale, "b"), Outcome::Denied);
        let winner = Standing { seq: 1, qty: 1, state: State::Sold, deadline: 0 };
        assert_eq!(grab(&mut sale, "a"), Outcome::Already(winner), "a winner learns that he won");
        assert_eq!(list(&mut sale, List::Deny, false, &[b"b", b"c"]), changed(1));
        assert!(is_granted(&grab(&mut sale, "b")));
        assert_eq!(list(&mut sale, List::Deny, false, &[b"a"]), changed(1));
        assert_eq!(list(&mut sale, List::Allow, false, &[b"a", b"b"]), changed(2));
        assert_eq!(grab(&mut sale, "c"), Outcome::Denied);
        let off = AdmissionChange { allowlist: Some(false), ..AdmissionChange::default() };
        let alter = TermsChange { admission: off, ..TermsChange::default() };
        assert_eq!(run(&mut sale, &Request::Alter(alter.clone())), Outcome::Done);
        assert!(is_granted(&grab(&mut sale, "c")));
        let version = sale.core().version;
        assert_eq!(run(&mut sale, &Request::Alter(alter)), Outcome::Done);
        assert_eq!(sale.core().version, version, "an ALTER that changes nothing leaves no trace");
    }

    #[test]
    fn a_plain_sale_can_deny() {
        let mut sale = gated(Admission::default());
        let users: Vec<Vec<u8>> = (0..5000).map(|n| format!("u{n}").into_bytes()).collect();
        let users: Vec<&[u8]> = users.iter().map(Vec::as_slice).collect();
        assert_eq!(list(&mut sale, List::Deny, true, &users), changed(5000));
        assert_eq!(grab(&mut sale, "u4999"), Outcome::Denied);
        assert!(is_granted(&grab(&mut sale, "u5000")));
        assert_eq!(list(&mut sale, List::Deny, false, &users), changed(5000));
        assert!(is_granted(&grab(&mut sale, "u4999")));
    }

    #[test]
    fn numbers_are_taken_modulo_digit_by_digit() {
        let odd = Modulo::new(2, vec![1]);
        let admission = Admission { modulo: Some(Box::new(odd)), ..Admission::default() };
        let mut sale = gated(admission);
        let long = "9".repeat(256);
        for (user, odd) in [("1", true), ("2", false), ("007", true), ("0", false), (&long, true)] {
            assert_eq!(is_granted(&grab(&mut sale, user)), odd, "{user}");
        }
        let named =
            (0..1000).filter(|n| sale.admittance(format!("u{n}").as_bytes()) == Admittance::Ok);
        assert!((400..600).contains(&named.count()));
        let big = Modulo::new(crate::sale::limits::INTEGER_MAX, vec![5]);
        let number = (u128::from(big.modulus) * 1_000_000 + 5).to_string();
        assert!(big.admits(number.as_bytes(), &SECRET));
    }

    #[test]
    fn a_sample_is_a_share_that_clicking_does_not_change() {
        let sample = |permille, salt: &[u8]| Sample { permille, salt: salt.into() };
        let users: Vec<String> = (0..20_000).map(|n| format!("user{n}")).collect();
        let share = |sample: &Sample| -> Vec<bool> {
            users.iter().map(|user| sample.admits(user.as_bytes(), &SECRET)).collect()
        };
        let (small, large) = (share(&sample(100, b"")), share(&sample(300, b"")));
        let count = |share: &[bool]| share.iter().filter(|is_in| **is_in).count();
        assert!((1800..2200).contains(&count(&small)), "{}", count(&small));
        assert!((5700..6300).contains(&count(&large)), "{}", count(&large));
        assert!(small.iter().zip(&large).all(|(small, large)| large >= small));
        assert_ne!(small, share(&sample(100, b"x")));
        assert_eq!(count(&share(&sample(0, b""))), 0);
        assert_eq!(count(&share(&sample(1000, b""))), users.len());
    }

    #[test]
    fn the_first_are_admitted_even_when_the_call_is_refused() {
        let admission = Admission { admit: 2, mask: true, ..Admission::default() };
        let mut sale = gated(admission);
        let over = Grab { user: b"a", amount: Amount::Exactly(2), req: None };
        let version = sale.core().version;
        let refused = run(&mut sale, &Request::Grab(over));
        assert_eq!(refused, Outcome::OverLimit { allowance: 1 });
        assert_eq!(sale.core().version, version + 1, "the admission is a change");
        assert!(is_granted(&grab(&mut sale, "b")));
        let outcome = grab(&mut sale, "c");
        sale.count(&outcome);
        assert_eq!(outcome, Outcome::Busy);
        assert_eq!(sale.masked(outcome), Outcome::SoldOut { held: 1 });
        assert_eq!(sale.status(&at(2)).counters.busy, 1);
        assert_eq!(sale.admittance(b"c"), Admittance::Busy);
        assert!(is_granted(&grab(&mut sale, "a")));
        let more =
            AdmissionChange { admit: Some(3), mask: Some(false), ..AdmissionChange::default() };
        let alter = TermsChange { admission: more, ..TermsChange::default() };
        assert_eq!(run(&mut sale, &Request::Alter(alter)), Outcome::Done);
        assert!(is_granted(&grab(&mut sale, "c")));
        let outcome = grab(&mut sale, "d");
        assert_eq!(sale.masked(outcome), Outcome::Busy);
    }

    #[test]
    fn nobody_is_admitted_before_it_opens_or_in_a_pause() {
        let mut sale = gated(Admission { admit: 1, ..Admission::default() });
        run(&mut sale, &Request::Pause);
        assert_eq!(grab(&mut sale, "a"), Outcome::Paused);
        run(&mut sale, &Request::Resume);
        let early = TermsChange { open_at: Some(10), ..TermsChange::default() };
        run(&mut sale, &Request::Alter(early));
        assert_eq!(grab(&mut sale, "a"), Outcome::NotOpen { in_ms: 8 });
        run(&mut sale, &Request::Alter(TermsChange { open_at: Some(0), ..TermsChange::default() }));
        assert!(is_granted(&grab(&mut sale, "b")));
        assert_eq!(grab(&mut sale, "a"), Outcome::Busy);
    }

    #[test]
    fn terms_that_can_not_be_kept_are_refused() {
        let modulo = |modulus, residues: Vec<u64>| {
            let modulo = Some(Box::new(Modulo::new(modulus, residues)));
            Admission { modulo, ..Admission::default() }
        };
        let sample = |permille, salt: &[u8]| {
            let sample = Some(Box::new(Sample { permille, salt: salt.into() }));
            Admission { sample, ..Admission::default() }
        };
        let cases = [
            (modulo(2, vec![2]), Misuse::ModResidueTooLarge),
            (modulo(2, vec![]), Misuse::ModNoResidue),
            (modulo(9999, (0..2000).collect()), Misuse::ModTooManyResidues),
            (sample(1001, b""), Misuse::SampleTooLarge),
            (sample(1, &[0; 129]), Misuse::SaltTooLong),
        ];
        for (admission, misuse) in cases {
            let terms = Terms { admission, ..Terms::default() };
            assert_eq!(decide_new(&init(1, terms), &at(1)).outcome, Outcome::Misuse(misuse));
        }
    }

    #[test]
    fn all_terms_of_admission_survive_every_form() {
        let admission = Admission {
            allowlist: true,
            modulo: Some(Box::new(Modulo::new(7, vec![3, 1, 3]))),
            sample: Some(Box::new(Sample { permille: 5, salt: b"OUTBOX"[..].into() })),
            admit: 9,
            mask: true,
        };
        let sale = gated(admission.clone());
        assert_eq!(reloaded(&sale).terms(), sale.terms());
        let off = AdmissionChange {
            allowlist: Some(false),
            modulo: Some(None),
            sample: Some(None),
            admit: Some(0),
            mask: Some(false),
        };
        let alter =
            TermsChange { admission: off, outbox: Some(b"s"[..].into()), ..TermsChange::default() };
        let mut altered = sale.clone();
        assert_eq!(run(&mut altered, &Request::Alter(alter)), Outcome::Done);
        assert!(altered.terms().admission.is_open());
        assert_eq!(altered.terms().outbox.as_deref(), Some(&b"s"[..]));
    }
}
