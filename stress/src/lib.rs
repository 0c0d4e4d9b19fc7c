//! The contention run that proves itself.
//!
//! Many buyers against few seats through pooled connections: as fast as they can, or at a fixed rate
//! of arrivals. Every call is measured and every answer is checked while the run goes on; at the end
//! what the buyers were told is compared with what is stored.
//!
//! | module | what it answers |
//! |--|--|
//! | [`args`], [`config`] | what was asked for? |
//! | [`workload`], [`mix`] | what do buyers intend? From the seed alone |
//! | [`pace`], [`client`], [`runner`] | who calls when, and what do they do with an answer? |
//! | [`processes`], [`worker`] | and when they are in several processes? |
//! | [`measure`], [`meter`], [`answer`] | what came of it, and how long did it take? |
//! | [`record`], [`history`], [`proof`], [`told`] | does it hold? |
//! | [`report`], [`json`], [`statement`], [`complain`] | who is told, and how? |

pub mod answer;
pub mod args;
mod beside;
mod call;
pub mod client;
pub mod clock;
pub mod complain;
pub mod config;
mod errors;
pub mod file;
pub mod history;
pub mod hot;
pub mod json;
mod layout;
pub mod measure;
pub mod memory;
pub mod meter;
pub mod mix;
pub mod names;
mod next;
mod no_effect;
mod outputs;
pub mod pace;
pub mod processes;
pub mod progress;
pub mod proof;
pub mod ramp;
pub mod record;
pub mod report;
mod resources;
pub mod runner;
pub mod statement;
pub mod store;
mod table;
pub mod threshold;
pub mod told;
pub mod touched;
pub mod units;
mod wire;
pub mod worker;
pub mod workload;

mod run;

pub use run::{Finished, RunError, in_words, run};
