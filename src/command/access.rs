//! How a command gets at the sale of its key.

use super::errors;
use crate::server::call::Call;
use crate::server::ffi::reply::Reply;
use crate::server::value::key::{Key, Slot};
use seckill_domain::request::Now;
use seckill_domain::Sale;

/// Where the key is among the arguments of every command that has one.
pub const KEY: usize = 0;

/// The sale at an open key, or the error to reply.
pub fn sale<'k>(key: &'k mut Key<'_>) -> Result<&'k mut Sale, &'static str> {
    sale_in(key.slot())
}

fn sale_in<S>(slot: Slot<S>) -> Result<S, &'static str> {
    match slot {
        Slot::Sale(sale) => Ok(sale),
        Slot::Missing => Err(errors::NO_SALE),
        Slot::Foreign => Err(errors::WRONG_TYPE),
    }
}

/// Shows something of the sale at the key, or replies why not. Leaves no trace.
pub fn show(call: &mut Call<'_>, show: impl FnOnce(&Sale, &Now, Reply<'_>)) {
    let (now, reply) = (call.now(), call.reply());
    match sale_in(call.view(KEY).slot()) {
        Ok(sale) => show(sale, &now, reply),
        Err(error) => reply.error(error),
    }
}
