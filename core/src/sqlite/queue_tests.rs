//! The commit queue under a scheduler that tries the orders in which threads can run.
//!
//! This compiles `queue.rs` a second time, on shuttle's locks. The smallest case is searched in depth,
//! up to a bound, larger ones at random; a failure prints the schedule that replays it.

mod sync {
    pub(super) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
}

#[expect(
    clippy::duplicate_mod,
    reason = "compiled again, on the scheduler's locks"
)]
#[path = "queue.rs"]
mod queue;

use std::panic::{AssertUnwindSafe, catch_unwind};
// What the test itself writes down is no part of the search: plain locks, never held over a step of the queue.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use queue::{Queue, Sent};
use shuttle::scheduler::DfsScheduler;
use shuttle::{Config, Runner, thread};

/// What a job is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Done in the batch of this number, as the one at this place of all jobs.
    Done {
        job: usize,
        batch: usize,
        place: usize,
    },
    Abandoned(Sent),
}

/// What the leaders have done, and whether two led at once.
#[derive(Default)]
struct Log {
    leading: usize,
    batches: usize,
    done: Vec<usize>,
}

struct Case {
    threads: usize,
    calls: usize,
    most: usize,
    /// The job whose leader panics, and whether it had sent its commit.
    panics: Option<(usize, Sent)>,
    /// Leaders let others run while they work.
    pauses: bool,
}

/// Runs `threads` callers with `calls` jobs each and checks what the queue promises.
fn run(case: &Case) {
    let queue = Arc::new(Queue::new(case.most, Answer::Abandoned));
    let log = Arc::new(Mutex::new(Log::default()));
    let abandoned = Arc::new(AtomicUsize::new(0));
    let mut callers: Vec<Box<dyn FnOnce() + Send>> = (0..case.threads)
        .map(|thread| {
            let (queue, log, abandoned) = (queue.clone(), log.clone(), abandoned.clone());
            let (calls, most, panics, pauses) = (case.calls, case.most, case.panics, case.pauses);
            Box::new(move || {
                let mut last_place = None;
                for call in 0..calls {
                    let job = thread * calls + call;
                    let answer = catch_unwind(AssertUnwindSafe(|| {
                        queue.submit(job, |batch| {
                            log.lock().unwrap().leading += 1;
                            if pauses {
                                thread::yield_now();
                            }
                            // A leader takes in whoever came meanwhile, as often as it likes.
                            batch.fill();
                            batch.fill();
                            let jobs: Vec<usize> = batch.jobs().copied().collect();
                            assert_eq!(jobs[0], job, "the leader is in its own batch, first");
                            assert!(jobs.len() <= most, "the bound holds");
                            let mut log = log.lock().unwrap();
                            assert_eq!(log.leading, 1, "two lead at once");
                            log.leading -= 1;
                            if let Some((bad, sent)) = panics
                                && jobs.contains(&bad)
                            {
                                drop(log);
                                if sent == Sent::Yes {
                                    batch.commit_is_sent();
                                }
                                std::panic::resume_unwind(Box::new("a leader panics"));
                            }
                            let (first, batch_number) = (log.done.len(), log.batches);
                            log.batches += 1;
                            log.done.extend(&jobs);
                            drop(log);
                            if pauses {
                                thread::yield_now();
                            }
                            batch.answer(
                                (first..)
                                    .zip(jobs)
                                    .map(|(place, job)| Answer::Done {
                                        job,
                                        batch: batch_number,
                                        place,
                                    })
                                    .collect(),
                            );
                        })
                    }));
                    match answer {
                        Ok(Answer::Done {
                            job: answered,
                            batch,
                            place,
                        }) => {
                            assert_eq!(answered, job, "somebody else's answer");
                            let log = log.lock().unwrap();
                            assert!(
                                batch < log.batches && log.done[place] == job,
                                "told before it was done"
                            );
                            assert!(last_place < Some(place), "an earlier call was done later");
                            last_place = Some(place);
                        }
                        Ok(Answer::Abandoned(sent)) => {
                            assert_eq!(Some(sent), panics.map(|(_, sent)| sent));
                            abandoned.fetch_add(1, Ordering::SeqCst);
                        }
                        Err(_) => {
                            assert!(panics.is_some(), "only a planted panic");
                            abandoned.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                }
            }) as Box<dyn FnOnce() + Send>
        })
        .collect();
    // This thread is one of the callers: fewer threads, fewer schedules.
    let own = callers.pop().expect("at least one caller");
    let others: Vec<_> = callers.into_iter().map(thread::spawn).collect();
    own();
    for caller in others {
        caller.join().expect("no caller fails");
    }
    let log = log.lock().unwrap();
    let abandoned = abandoned.load(Ordering::SeqCst);
    assert_eq!(
        log.done.len() + abandoned,
        case.threads * case.calls,
        "every job once"
    );
    assert_eq!(
        abandoned > 0,
        case.panics.is_some(),
        "the planted panic happened"
    );
}

/// Callers 1 to `callers` line up one after the other behind a leader that waits for each, and then lets go.
/// Returns the batches in which they were served.
fn batches_of_a_line(callers: usize, most: usize) -> Vec<Vec<usize>> {
    let queue = Arc::new(Queue::new(most, Answer::Abandoned));
    let batches = Arc::new(Mutex::new(Vec::new()));
    let mut others = Vec::new();
    let answer = |batch: &mut queue::Batch<'_, usize, Answer>| {
        let jobs: Vec<usize> = batch.jobs().copied().collect();
        let done = |job| Answer::Done {
            job,
            batch: 0,
            place: 0,
        };
        batch.answer(jobs.iter().copied().map(done).collect());
        jobs
    };
    queue.submit(0, |batch| {
        for caller in 1..=callers {
            let (queue_of_all, batches) = (queue.clone(), batches.clone());
            others.push(thread::spawn(move || {
                queue_of_all.submit(caller, |batch| {
                    batch.fill();
                    batch.fill();
                    let jobs = answer(batch);
                    batches.lock().unwrap().push(jobs);
                });
            }));
            while queue.in_line() < 1 + caller {
                thread::yield_now();
            }
        }
        answer(batch);
    });
    for other in others {
        other.join().expect("no caller fails");
    }
    Arc::into_inner(batches)
        .expect("all threads are over")
        .into_inner()
        .unwrap()
}

fn at_random(case: Case, schedules: usize) {
    shuttle::check_random(move || run(&case), schedules);
}

#[test]
fn two_callers_are_served_on_the_first_schedules_of_a_search_in_depth() {
    let case = Case {
        threads: 2,
        calls: 1,
        most: 2,
        panics: None,
        pauses: false,
    };
    // All schedules are some millions, a minute of work; these are the first of them.
    let most = 60_000;
    let tried =
        Runner::new(DfsScheduler::new(Some(most), false), Config::new()).run(move || run(&case));
    assert_eq!(tried, most);
}

#[test]
fn many_callers_are_served_once_each_in_order_with_their_own_answer() {
    for most in [1, 2, 64] {
        at_random(
            Case {
                threads: 4,
                calls: 3,
                most,
                panics: None,
                pauses: true,
            },
            1500,
        );
    }
}

#[test]
fn callers_are_served_in_the_order_in_which_they_lined_up() {
    for (most, expected) in [
        (1, vec![vec![1], vec![2], vec![3], vec![4], vec![5]]),
        (2, vec![vec![1, 2], vec![3, 4], vec![5]]),
        (3, vec![vec![1, 2, 3], vec![4, 5]]),
        (64, vec![vec![1, 2, 3, 4, 5]]),
    ] {
        shuttle::check_random(
            move || assert_eq!(batches_of_a_line(5, most), expected, "at most {most}"),
            200,
        );
    }
}

#[test]
fn a_rare_order_of_threads_is_tried_as_well() {
    let case = Case {
        threads: 4,
        calls: 2,
        most: 3,
        panics: None,
        pauses: true,
    };
    shuttle::check_pct(move || run(&case), 1500, 3);
}

#[test]
fn when_a_leader_panics_its_batch_is_told_and_the_others_go_on() {
    for sent in [Sent::No, Sent::Yes] {
        at_random(
            Case {
                threads: 4,
                calls: 2,
                most: 2,
                panics: Some((3, sent)),
                pauses: true,
            },
            1500,
        );
    }
}
