pub mod sale;
