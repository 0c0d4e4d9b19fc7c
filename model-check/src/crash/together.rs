//! Calls that are committed together: a batch of the commit queue, the same for the same seed.
//!
//! Threads line up behind a write lock that somebody else holds, each only when the one before it is in
//! line; then the lock is let go, and whoever leads commits for all. So the order inside the batch is
//! that of the calls, and nothing of it depends on how the threads run.

use std::time::Duration;

use soldonce::{Command, Outcome, Receipt, StoreError, Timestamp};

use super::workload::{NotRecorded, Place, Step, UnderTest, told};
use crate::reference::State;

/// What one of the calls came to.
pub struct Called {
    /// Its answer.
    pub answer: Result<Receipt<Outcome>, StoreError>,
    /// It waited for the commit; else it was answered from a snapshot, before the batch.
    pub lined_up: bool,
}

/// Makes these calls on a store with a commit queue, those that change something in one batch.
///
/// # Errors
/// When the harness fails.
pub fn call(
    place: &Place,
    store: &dyn UnderTest,
    commands: &[Command],
) -> Result<Vec<Called>, NotRecorded> {
    let lock = place.connection()?;
    lock.execute_batch("BEGIN IMMEDIATE")?;
    let called = std::thread::scope(|scope| {
        let mut callers = Vec::new();
        let mut in_line = 0;
        for command in commands {
            let caller = scope.spawn(move || store.execute(command));
            let lined_up = loop {
                if store.in_line() > Some(in_line) {
                    break true;
                }
                if caller.is_finished() {
                    break false;
                }
                std::thread::sleep(Duration::from_micros(20));
            };
            in_line += usize::from(lined_up);
            callers.push((caller, lined_up));
        }
        // It can only fail where nothing holds the lock any more.
        let let_go = lock.execute_batch("ROLLBACK");
        let called = callers.into_iter().map(|(caller, lined_up)| Called {
            answer: caller.join().expect("a call does not panic"),
            lined_up,
        });
        let called = called.collect();
        let_go.map(|()| called)
    })?;
    Ok(called)
}

/// Holds the answers against the reference, which takes those who lined up in their order, and brings
/// `state` to what must be stored after the batch. Says what is wrong.
pub fn compare(
    commands: &[Command],
    called: Vec<Called>,
    state: &mut State,
    now: Timestamp,
) -> Vec<String> {
    let before = state.clone();
    let mut wrong = Vec::new();
    for (command, called) in commands.iter().zip(called) {
        let expected = if called.lined_up {
            state.apply(command, now)
        } else {
            let mut same = before.clone();
            let decided = same.apply(command, now);
            if same != before {
                wrong.push(format!(
                    "{}: changes something, and did not wait for a commit",
                    Step::Run(command.clone())
                ));
            }
            decided
        };
        let expected = expected
            .map(|decided| decided.receipt)
            .map_err(|rejected| rejected.to_string());
        let got = told(called.answer);
        if got != expected {
            wrong.push(format!(
                "{} among others: answered {got:?}, the reference says {expected:?}",
                Step::Run(command.clone())
            ));
        }
    }
    wrong
}
