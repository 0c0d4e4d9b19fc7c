//! Draws sequences in which much collides: few ids, and times around every expiry.
//!
//! What is drawn depends on the state that the reference has reached, so that rows with narrow guards
//! are met as often as the wide ones: a payment mostly names the hold that the seat is under, a time
//! is mostly a little later or at the edge of some hold. The weights are chosen so that each row of
//! the table is met in at least one step of a hundred, which [`campaign`](super::campaign) checks. One
//! sequence in twelve plays at the end of time, where a hold may end too late to be given.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::arbitrary::any;
use proptest::array::uniform10;
use proptest::strategy::{BoxedStrategy, Just, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use proptest_state_machine::ReferenceStateMachine;
use proptest_state_machine::strategy::Sequential;
use soldonce::{
    Claim, Command, HoldDuration, HoldId, HoldRequest, OwnerId, PaymentId, Seat, SeatId, SeatState,
    Timestamp,
};

use super::{Call, Fault, Sequence, Step, Via};
use crate::reference::State;

const SEATS: [&str; 5] = ["s", "t", "u", "v", "x"];
/// Two of them differ only in case, as some databases do not.
const OWNERS: [&str; 3] = ["A", "B", "a"];
const PAYMENTS: [&str; 8] = ["p", "q", "r", "p4", "p5", "p6", "p7", "p8"];
const TTLS_MILLIS: [i64; 5] = [10, 10, 10, 25, 1];

/// The most steps that are drawn.
pub const MOST_STEPS: usize = 40;

/// What may be drawn besides calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Restarts, a second store on the file, and injected faults.
    All,
    /// None of them.
    Without,
}

/// The state that sequences are drawn from.
#[derive(Debug, Clone)]
pub struct Drawn {
    state: State,
    now: i64,
    trouble: Trouble,
}

/// The reference as a state machine of `proptest`.
#[derive(Debug)]
pub struct Machine;

impl ReferenceStateMachine for Machine {
    type State = Drawn;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Drawn> {
        Just(start(0, Trouble::All)).boxed()
    }

    fn transitions(drawn: &Drawn) -> BoxedStrategy<Step> {
        let drawn = drawn.clone();
        uniform10(any::<u32>())
            .prop_map(move |dice| draw(&drawn, Dice(dice)))
            .no_shrink()
            .boxed()
    }

    fn apply(mut drawn: Drawn, step: &Step) -> Drawn {
        match step {
            Step::Call(call) => {
                drawn.now = call.at.as_unix_millis();
                if matches!(call.fault, Fault::None | Fault::AnswerLost) {
                    // What is rejected changes nothing.
                    let _ = drawn.state.apply(&call.command, call.at);
                }
            }
            Step::Add { at, seat } => {
                drawn.now = at.as_unix_millis();
                drawn.state.add(seat, *at);
            }
            Step::Reopen => {}
        }
        drawn
    }
}

/// One sequence in so many plays at the end of time, where a hold may end too late to be given.
const ONE_IN_AT_THE_END: u64 = 12;
/// How long before it such a sequence begins.
const BEFORE_THE_END_MILLIS: i64 = 60;

fn first_time(case: u64) -> i64 {
    if case % ONE_IN_AT_THE_END == ONE_IN_AT_THE_END - 1 {
        Timestamp::MAX.as_unix_millis() - BEFORE_THE_END_MILLIS
    } else {
        0
    }
}

fn start(now: i64, trouble: Trouble) -> Drawn {
    let mut state = State::default();
    for seat in &SEATS[..4] {
        state.add(&id(SeatId::new(seat)), Timestamp::MIN);
    }
    Drawn {
        state,
        now,
        trouble,
    }
}

/// A sequence, and the smaller ones that `proptest` makes of it.
pub struct Tree {
    tree: Box<dyn ValueTree<Value = Drawing>>,
    untouched: bool,
}

type Drawing = (Drawn, Vec<Step>, Option<Arc<AtomicUsize>>);

impl Tree {
    /// The sequence with this number under this seed. The same two numbers give the same sequence.
    pub fn new(seed: u64, case: u64, trouble: Trouble) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&case.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let config = Config {
            failure_persistence: None,
            ..Config::default()
        };
        let mut runner = TestRunner::new_with_rng(config, rng);
        let strategy = Sequential::new(
            (1..=MOST_STEPS).into(),
            move || Just(start(first_time(case), trouble)),
            Machine::preconditions,
            Machine::transitions,
            Machine::apply,
        );
        let tree = strategy
            .new_tree(&mut runner)
            .expect("every step is acceptable, so drawing can not fail");
        Self {
            tree: Box::new(tree),
            untouched: true,
        }
    }

    /// The sequence as it is now.
    pub fn current(&self) -> Sequence {
        Sequence {
            steps: self.tree.current().1,
        }
    }

    /// A smaller one; false when there is none.
    pub fn simplify(&mut self) -> bool {
        if std::mem::take(&mut self.untouched) {
            // proptest leaves out what was not seen by the test; all of it may have been.
            let (_, steps, seen) = self.tree.current();
            if let Some(seen) = seen {
                seen.store(steps.len(), Ordering::SeqCst);
            }
        }
        self.tree.simplify()
    }

    /// Back towards the one before; false when there is none.
    pub fn complicate(&mut self) -> bool {
        self.tree.complicate()
    }
}

/// Ten random numbers, one for each choice.
#[derive(Debug, Clone, Copy)]
struct Dice([u32; 10]);

impl Dice {
    fn below(&self, which: usize, end: usize) -> usize {
        self.0[which] as usize % end
    }

    fn one_of<'a, T>(&self, which: usize, all: &'a [T]) -> &'a T {
        &all[self.below(which, all.len())]
    }
}

/// One step, from the state that was reached.
fn draw(drawn: &Drawn, dice: Dice) -> Step {
    let at = time(drawn, dice);
    let seat = id(SeatId::new(match dice.below(1, 20) {
        0..8 => "s",
        8..13 => "t",
        13..16 => "u",
        16..18 => "v",
        _ => "x",
    }));
    let command = match dice.below(0, 100) {
        0..38 => Command::Hold(HoldRequest {
            seat,
            owner: id(OwnerId::new(dice.one_of(2, &OWNERS))),
            ttl: HoldDuration::from_millis(*dice.one_of(3, &TTLS_MILLIS)).expect("in range"),
        }),
        38..50 => Command::Release(claim_on(drawn, seat, dice)),
        50..95 => payment(drawn, seat, dice),
        95..97 => return Step::Add { at, seat },
        _ if drawn.trouble == Trouble::All => return Step::Reopen,
        _ => Command::Release(claim_on(drawn, seat, dice)),
    };
    let (via, fault) = match (drawn.trouble, dice.below(7, 100)) {
        (Trouble::All, 0) => (Via::First, Fault::Locked),
        (Trouble::All, 1) => (Via::First, Fault::CommitFails),
        (Trouble::All, 2..4) => (Via::First, Fault::AnswerLost),
        (Trouble::All, 4..20) => (Via::Second, Fault::None),
        (Trouble::Without | Trouble::All, _) => (Via::First, Fault::None),
    };
    Step::Call(Call {
        at,
        via,
        fault,
        command,
    })
}

/// A little later, one before, at or one after the end of some hold, or a step back.
fn time(drawn: &Drawn, dice: Dice) -> Timestamp {
    let edges: Vec<i64> = drawn
        .state
        .seats
        .values()
        .filter_map(|seat| match seat.state {
            SeatState::Held { expires, .. } => Some(expires.as_unix_millis()),
            SeatState::Free | SeatState::Sold { .. } => None,
        })
        .collect();
    let now = drawn.now;
    let later = |most: u32| now + i64::from(dice.0[5] % (most + 1));
    let millis = match dice.below(4, 100) {
        0..55 => later(2),
        55..80 if !edges.is_empty() => dice.one_of(5, &edges) + i64::from(dice.0[6] % 3) - 1,
        80..92 => now - 1 - i64::from(dice.0[5] % 12),
        92..96 => later(30),
        _ => later(9),
    };
    let within = millis.clamp(0, Timestamp::MAX.as_unix_millis());
    Timestamp::from_unix_millis(within).expect("clamped")
}

/// Mostly the claim that holds the seat, now and then one beside it.
fn claim_on(drawn: &Drawn, seat: SeatId, dice: Dice) -> Claim {
    let found = drawn.state.seats.get(&seat);
    let version = found.map_or(0, |seat| seat.version.get());
    let right = match found {
        Some(Seat {
            state: SeatState::Held { owner, hold_id, .. } | SeatState::Sold { owner, hold_id, .. },
            ..
        }) => Some((owner.clone(), *hold_id)),
        Some(_) | None => None,
    };
    let any_owner = || id(OwnerId::new(dice.one_of(2, &OWNERS)));
    let any_hold = || {
        let near = version + i64::from(dice.0[8] % 4) - 2;
        id(HoldId::new(near.max(0)))
    };
    let (owner, hold_id) = match (right, dice.below(3, 10)) {
        (Some(right), 0..6) => right,
        (Some((_, hold_id)), 6..8) => (any_owner(), hold_id),
        (Some((owner, _)), 8) => (owner, any_hold()),
        _ => (any_owner(), any_hold()),
    };
    Claim {
        seat,
        owner,
        hold_id,
    }
}

/// A new payment, one that is known, or a known one with another claim.
fn payment(drawn: &Drawn, seat: SeatId, dice: Dice) -> Command {
    let known: Vec<_> = drawn.state.payments.values().collect();
    let unknown: Vec<_> = PAYMENTS
        .iter()
        .map(|name| id(PaymentId::new(name)))
        .filter(|payment| !drawn.state.payments.contains_key(payment))
        .collect();
    let kind = dice.below(9, 100);
    if !known.is_empty() && (kind < 32 || unknown.is_empty()) {
        let record = *dice.one_of(8, &known);
        return Command::ConfirmPayment {
            payment: record.payment.clone(),
            claim: record.claim.clone(),
        };
    }
    let payment = if !known.is_empty() && kind < 40 {
        dice.one_of(8, &known).payment.clone()
    } else {
        unknown
            .first()
            .cloned()
            .unwrap_or_else(|| id(PaymentId::new("p")))
    };
    Command::ConfirmPayment {
        payment,
        claim: claim_on(drawn, seat, dice),
    }
}

fn id<T, E: std::fmt::Debug>(made: Result<T, E>) -> T {
    made.expect("the names here are valid")
}
