//! Answers that the tables need from a row's proof.

use crate::contender::Contender;
use crate::interleave::explore::Proof;
use crate::strategies::ALL;

pub fn row_of(proof: &Proof) -> Option<&'static Contender> {
    ALL.iter().find(|one| one.id == proof.id)
}

pub fn has_crash(proof: &Proof) -> bool {
    proof.findings.iter().any(|finding| finding.fault.needs_crash())
}
