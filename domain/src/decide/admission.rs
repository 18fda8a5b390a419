//! Decides whether a user is admitted: the refusal, and the refusal shown to the buyer.

use crate::admission::List;
use crate::model::outcome::{Mask, Outcome};
use crate::Sale;

/// The result of admission for one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admittance {
    /// The user may ask.
    Ok,
    /// The user may ask, and this very call admits them (ADMIT).
    First,
    /// Not on the list, on the deny list, or excluded by MOD.
    Denied,
    /// Rejected by SAMPLE or ADMIT.
    Busy,
}

impl Admittance {
    /// The word that USER shows.
    pub fn name(self) -> &'static str {
        match self {
            Admittance::Ok | Admittance::First => "OK",
            Admittance::Denied => "DENIED",
            Admittance::Busy => "BUSY",
        }
    }
}

/// The result of admission for a GRAB of this user.
#[inline]
pub(super) fn admittance(sale: &Sale, user: &[u8]) -> Admittance {
    // A plain sale admits everybody.
    match sale.is_plain() {
        true => Admittance::Ok,
        false => judge(sale, user),
    }
}

#[cold]
fn judge(sale: &Sale, user: &[u8]) -> Admittance {
    let Some(extras) = &sale.extras else { return Admittance::Ok };
    let (terms, secret) = (&sale.terms.admission, &sale.secret);
    let is_listed = !terms.allowlist || extras.list(List::Allow).contains(user);
    let has_number = terms.modulo.as_ref().is_none_or(|modulo| modulo.admits(user, secret));
    if !is_listed || !has_number || extras.list(List::Deny).contains(user) {
        return Admittance::Denied;
    }
    if !terms.sample.as_ref().is_none_or(|sample| sample.admits(user, secret)) {
        return Admittance::Busy;
    }
    let admitted = extras.list(List::Admitted);
    if terms.admit == 0 || admitted.contains(user) {
        return Admittance::Ok;
    }
    match admitted.len() < terms.admit && admitted.has_room_for(1) {
        true => Admittance::First,
        false => Admittance::Busy,
    }
}

/// A refusal of admission; with MASK it replies `shown` in place of its reason.
pub(super) fn refused(sale: &Sale, shown: Mask, refusal: Outcome) -> Outcome {
    if !sale.terms.admission.mask {
        return refusal;
    }
    Outcome::Masked { is_denied: refusal == Outcome::Denied, shown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::{Admission, AdmissionChange, Modulo, Sample};
    use crate::decide::decide_new;
    use crate::model::limits::INTEGER_MAX;
    use crate::model::outcome::Misuse;
    use crate::request::{ListChange, Request, Terms, TermsChange};
    use crate::testing::{self, at, gated, init, reloaded, SECRET};
    use crate::Sale;

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
        let big = Modulo::new(INTEGER_MAX, vec![5]);
        let number = (u128::from(big.modulus) * 1_000_000 + 5).to_string();
        assert!(big.admits(number.as_bytes(), &SECRET));
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
            assert_eq!(decide_new(&init(1, terms), &at(1), [1, 2]).err(), Some(misuse));
        }
    }

    /// Without SALT the share changes alone, on other nodes, too.
    #[test]
    fn a_share_that_grows_keeps_its_salt() {
        let sample = |permille, salt: &[u8]| Sample { permille, salt: salt.into() };
        let mut sale =
            gated(Admission { sample: Some(Box::new(sample(100, b"a"))), ..Admission::default() });
        for (keeps_salt, stated, salt) in
            [(true, &b""[..], &b"a"[..]), (false, b"b", b"b"), (false, b"", b""), (true, b"", b"")]
        {
            let admission = AdmissionChange {
                sample: Some(Some(Box::new(sample(200, stated)))),
                keeps_salt,
                ..AdmissionChange::default()
            };
            let alter = Request::Alter(TermsChange { admission, ..TermsChange::default() });
            assert_eq!(run(&mut sale, &alter), Outcome::Done);
            assert_eq!(sale.terms().admission.sample, Some(Box::new(sample(200, salt))));
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
            ..AdmissionChange::default()
        };
        let alter =
            TermsChange { admission: off, outbox: Some(b"s"[..].into()), ..TermsChange::default() };
        let mut altered = sale.clone();
        assert_eq!(run(&mut altered, &Request::Alter(alter)), Outcome::Done);
        assert!(altered.terms().admission.is_open());
        assert_eq!(altered.terms().outbox.as_deref(), Some(&b"s"[..]));
    }
}
