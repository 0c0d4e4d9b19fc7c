//! Crash, power loss, failing disks: nothing that was acknowledged is lost.

pub mod by_hand;
pub mod digest;
pub mod examine;
pub mod fault;
pub mod faults;
pub mod image;
pub mod kill;
pub mod log;
pub mod plants;
pub mod power;
pub mod rows;
pub mod together;
#[allow(unsafe_code)]
pub mod vfs;
pub mod workload;
