//! What makes a repeated or overtaken request harmless beside the ledger.

pub mod fences;
pub mod restocks;
