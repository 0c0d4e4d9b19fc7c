//! Criterion benchmarks of the seat store; see `benches/`.
