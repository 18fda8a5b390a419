//! Admission: which users may buy.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use super::{List, Op, Oracle, Reply, Wish};

/// The secret of every sale in tests. SAMPLE and MOD hash users with it.
pub const SECRET: [u8; 16] = [7; 16];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    pub allowlist: bool,
    /// Modulus and remainders, ascending.
    pub modulo: Option<(u64, &'static [u64])>,
    /// Permille and salt.
    pub sample: Option<(u64, &'static str)>,
    pub admit: u64,
    pub mask: bool,
}

/// The admission options of an ALTER.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GatePatch {
    pub allowlist: Option<bool>,
    pub modulo: Option<Option<(u64, &'static [u64])>>,
    pub sample: Option<Option<(u64, Option<&'static str>)>>,
    pub admit: Option<u64>,
    pub mask: Option<bool>,
}

impl Gates {
    pub(super) fn are_possible(&self) -> bool {
        let has_numbers = self.modulo.is_none_or(|(modulus, residues)| {
            !residues.is_empty() && residues.iter().all(|residue| *residue < modulus)
        });
        has_numbers && self.sample.is_none_or(|(permille, _)| permille <= 1000)
    }

    pub(super) fn after(self, patch: &GatePatch) -> Gates {
        Gates {
            allowlist: patch.allowlist.unwrap_or(self.allowlist),
            modulo: patch.modulo.unwrap_or(self.modulo),
            sample: patch.sample.map_or(self.sample, |share| {
                let (permille, salt) = share?;
                let kept = self.sample.map_or("", |(_, salt)| salt);
                Some((permille, salt.unwrap_or(kept)))
            }),
            admit: patch.admit.unwrap_or(self.admit),
            mask: patch.mask.unwrap_or(self.mask),
        }
    }
}

/// Remainder of a user: a decimal id by its digits, another id by its hash.
fn remainder(user: &[u8], modulus: u64) -> u64 {
    if user.iter().all(u8::is_ascii_digit) {
        let digit = |rest, digit: &u8| (rest * 10 + u64::from(digit - b'0')) % modulus;
        return user.iter().fold(0, digit);
    }
    hash(&[b"m", user]) % modulus
}

fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = SipHasher24::new_with_key(&SECRET);
    parts.iter().for_each(|part| hasher.write(part));
    hasher.finish()
}

/// Whether a user is in the sample: the hash is below the sample's share of 2^64.
fn is_in_sample(user: &[u8], permille: u64, salt: &str) -> bool {
    let place = hash(&[&[b's', salt.len() as u8], salt.as_bytes(), user]);
    u128::from(place) * 1000 / (1 << 64) < u128::from(permille)
}

impl Oracle {
    /// Whether ALLOW and DENY keep a user out.
    pub(super) fn is_barred(&self, user: &[u8]) -> bool {
        self.rules.gates.allowlist && !self.allowed.contains(user) || self.denied.contains(user)
    }

    /// Whether a user may buy; `Ok(true)` if this call is their first admission by ADMIT.
    pub(super) fn may_ask(&self, user: &[u8]) -> Result<bool, String> {
        let gates = &self.rules.gates;
        let has_number = |(modulus, residues): (u64, &[u64])| {
            residues.iter().any(|residue| remainder(user, modulus) == *residue)
        };
        if self.is_barred(user) || !gates.modulo.is_none_or(has_number) {
            return Err("DENIED".into());
        }
        let is_drawn = |(permille, salt)| is_in_sample(user, permille, salt);
        let is_known = gates.admit == 0 || self.admitted.contains(user);
        let is_full = self.admitted.len() as u64 >= gates.admit;
        if !gates.sample.is_none_or(is_drawn) || !is_known && is_full {
            return Err("BUSY".into());
        }
        Ok(!is_known)
    }

    /// The admission that USER shows.
    pub fn admission(&self, user: &[u8]) -> String {
        self.may_ask(user).map_or_else(|word| word, |_| "OK".into())
    }

    /// The reply after MASK: a user who is not admitted gets SOLDOUT, or TAKEN with the first
    /// number asked for. With WAIT it is the reply to a full list.
    pub(super) fn masked(&self, op: &Op, reply: String) -> String {
        let waits = matches!(op, Op::Join { until, .. } if *until == 0 || *until > self.time())
            && self.rules.list.is_some_and(|it| it.max > 0);
        match (&self.wish, reply.as_str()) {
            (_, "DENIED" | "BUSY") if !self.rules.gates.mask => reply,
            (_, "DENIED" | "BUSY") if waits => "BUSY".into(),
            (Some(Wish::These(units)), "DENIED" | "BUSY") => format!("TAKEN {}", units[0]),
            (_, "DENIED" | "BUSY") => "SOLDOUT 1".into(),
            _ => reply,
        }
    }

    /// Records a user's first admission.
    pub(super) fn admit(&mut self, user: &[u8]) {
        self.flush_lapses();
        self.admitted.insert(user.to_vec());
        self.change();
    }

    pub(super) fn enlist(&mut self, list: List, add: bool, users: &[&[u8]]) -> Reply {
        let known = match list {
            List::Allow => &mut self.allowed,
            List::Deny | List::Admitted => &mut self.denied,
        };
        let change = |user: &&&[u8]| match add {
            true => known.insert(user.to_vec()),
            false => known.remove(**user),
        };
        let changed = users.iter().filter(change).count();
        if changed > 0 {
            self.change();
        }
        Ok(changed.to_string())
    }
}
