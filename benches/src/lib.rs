//! What the benches share: the command line, databases to measure on, what criterion has saved, and
//! the evidence that a run leaves.
//!
//! | bench | question |
//! |--|--|
//! | `store` | what does one call cost, and an audit? |
//! | `limits` | how near is the store to what disk and SQLite can give, and how does cost grow? |
//! | `checker` | how fast is a history checked? |
//!
//! Every bench runs under `cargo bench` at the root, on a real file with `synchronous = FULL`, and
//! writes one evidence file. Timings are never tests: they are written down, with the samples.

pub mod arguments;
pub mod bare;
pub mod bulk;
pub mod callers;
pub mod comparison;
pub mod error;
pub mod findings;
pub mod race;
mod ratios;
pub mod report;
pub mod ring;
pub mod rounds;
pub mod rush;
pub mod saved;
pub mod scratch;
pub mod shown;

pub use arguments::{Arguments, Mode};
pub use error::{Error, exit, stop};
