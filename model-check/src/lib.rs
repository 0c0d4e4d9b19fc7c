//! Checks a seat store against a reference.
//!
//! [`mod@reference`] says what each command does. [`sequence`] gives commands to a store one after the
//! other and compares every answer and everything that can be read; [`serializable`] proves whole
//! concurrent runs. [`mutants`] are stores with planted faults, which show that the checks catch what
//! they are there for. Which store is checked is chosen by name, in [`store_choice`]; what goes wrong
//! around it is planted by [`fault`].

pub mod agree;
pub mod concurrent;
pub mod crash;
pub mod fault;
pub mod history;
pub mod mutants;
pub mod reference;
pub mod search;
pub mod sequence;
pub mod serializable;
pub mod store_choice;
pub mod witness;
