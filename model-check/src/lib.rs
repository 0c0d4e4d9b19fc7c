//! Checks a seat store against a reference.
//!
//! [`reference`] says what each command does. Everything else here compares a store with it.

pub mod agree;
pub mod concurrent;
pub mod crash;
pub mod history;
pub mod reference;
pub mod search;
pub mod serializable;
pub mod witness;
