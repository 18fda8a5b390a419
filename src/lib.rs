pub mod sale;
pub mod server;
