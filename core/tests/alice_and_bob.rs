//! The founding scenario, on a real file: what the example prints is what the store promises.

#[expect(
    dead_code,
    unreachable_pub,
    reason = "the example is a program of its own"
)]
#[path = "../examples/alice_and_bob.rs"]
mod example;

use example::{Ending, Line, play};

#[test]
fn alice_is_late_bob_buys_and_nobody_loses_money() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (lines, ending) = play(&folder.path().join("seats.sqlite")).expect("the story plays");
    let told: Vec<_> = lines
        .iter()
        .map(
            |Line {
                 at,
                 who,
                 asks,
                 answer,
                 version,
             }| { (*at, *who, asks.as_str(), answer.as_str(), *version) },
        )
        .collect();
    assert_eq!(
        told,
        [
            (0, "Alice", "hold", "Held(h1 until 10 ms)", 1),
            (1, "Bob", "hold", "Refused(HeldUntil 10 ms)", 1),
            (11, "Bob", "hold", "Held(h2 until 21 ms)", 2),
            (
                12,
                "Alice",
                "pay p_old for h1",
                "RefundRequired(Superseded)",
                2
            ),
            (12, "Bob", "pay p_new for h2", "Sold", 3),
            (13, "Bob", "pay p_new for h2", "Duplicate", 3),
            (13, "Carol", "pay p_new for h2", "Conflict", 3),
            (99, "Carol", "hold", "Refused(Sold)", 3),
        ]
    );
    assert_eq!(
        ending,
        Ending {
            seats: vec!["A1 is sold to Bob by p_new".to_owned()],
            sold_payments: vec!["p_new".to_owned()],
            refunds_due: vec!["p_old".to_owned()],
            violations: vec![],
        }
    );
}
