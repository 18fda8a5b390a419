//! The sale itself: what it keeps, and how it looks from outside.

pub mod audit;
pub mod extras;
mod sale;
pub mod status;

pub use sale::Sale;
