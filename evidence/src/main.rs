//! The program `evidence`.
fn main() {}
