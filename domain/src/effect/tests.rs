//! The bytes of every effect, and what is none.

#![cfg(test)]

use super::*;
use crate::draw::Draw;
use crate::limits::{HOLD_MS_MAX, INTEGER_MAX, TIME_MS_MAX};

fn bytes(change: &Change<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    change.encode(&mut out);
    out
}

fn grant<'a>(user: &'a [u8], req: Option<&'a [u8]>, qty: u64) -> Effect<'a> {
    let req = req.map(|id| ReqTag { id, asked: Asked::Exactly });
    Effect::Grant(Granting { user, req, qty, hold_ms: 0 })
}
