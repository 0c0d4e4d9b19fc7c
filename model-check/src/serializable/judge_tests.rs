//! The judge against the reference: every small state, call, time and answer.

use soldonce::{HoldDuration, HoldId, OwnerId, PaymentId, RefundReason, Seat, SeatId, SeatState};

use super::*;
use crate::history::{Answer, Names, OwnerNo, PaymentNo};
use crate::reference::{State, decide};
use crate::serializable::AllRules;

const ENDS: i64 = 10;

fn time(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(millis).expect("in range")
}

fn version(number: i64) -> Version {
    Version::new(number).expect("not negative")
}

fn hold_id(number: i64) -> HoldId {
    HoldId::new(number).expect("not negative")
}

struct Space {
    names: Names,
    seat: SeatNo,
    owners: [OwnerNo; 2],
    payments: [PaymentNo; 2],
}

impl Space {
    fn new() -> Self {
        let mut names = Names::default();
        let seat = names.seat(&SeatId::new("s").expect("valid"));
        let owners = ["A", "B"].map(|id| names.owner(&OwnerId::new(id).expect("valid")));
        let payments = ["p", "q"].map(|id| names.payment(&PaymentId::new(id).expect("valid")));
        Self {
            names,
            seat,
            owners,
            payments,
        }
    }

    /// No seat, and free, held and sold ones.
    fn views(&self) -> Vec<View> {
        let view = |number, state, changed_at| View {
            version: version(number),
            state,
            changed_at,
        };
        let mut views = vec![
            view(0, None, None),
            view(0, Some(StateNo::Free), Some(time(0))),
        ];
        views.push(view(2, Some(StateNo::Free), Some(time(5))));
        for owner in self.owners {
            for number in [1, 3] {
                let held = StateNo::Held {
                    owner,
                    hold_id: hold_id(number),
                    expires: time(ENDS),
                };
                views.push(view(number, Some(held), Some(time(5))));
            }
            let sold = StateNo::Sold {
                owner,
                hold_id: hold_id(1),
                payment: self.payments[1],
            };
            views.push(view(2, Some(sold), Some(time(5))));
        }
        views
    }

    fn calls(&self) -> Vec<Call> {
        let mut calls = vec![Call::ReadSeat(self.seat)];
        for owner in self.owners {
            for ttl in [1, 7] {
                let ttl = HoldDuration::from_millis(ttl).expect("in range");
                let seat = self.seat;
                calls.push(Call::Hold { seat, owner, ttl });
            }
            for number in 0..=4 {
                let claim = ClaimNo {
                    seat: self.seat,
                    owner,
                    hold_id: hold_id(number),
                };
                calls.push(Call::Release(claim));
                let payment = self.payments[0];
                calls.push(Call::Confirm { payment, claim });
            }
        }
        calls
    }

    /// All answers without a record that there are.
    fn answers(&self, views: &[View]) -> Vec<Told> {
        let mut answers = vec![Told::SoldOut, Told::Released, Told::NotHeld, Told::Sold];
        answers.extend(RefundReason::ALL.map(Told::Refund));
        answers.push(Told::Seat(None));
        for millis in 4..=17 {
            answers.push(Told::HeldUntil(time(millis)));
            for number in 0..=4 {
                let (hold_id, expires) = (hold_id(number), time(millis));
                answers.push(Told::Held { hold_id, expires });
                answers.push(Told::AlreadyHeld { hold_id, expires });
            }
        }
        answers.extend(views.iter().filter_map(|view| {
            Some(Told::Seat(Some(SeatRow {
                seat: self.seat,
                state: view.state?,
                version: view.version,
                changed_at: view.changed_at?,
            })))
        }));
        answers
    }

    fn state(&self, view: &View) -> State {
        let mut state = State::default();
        if let (Some(number), Some(changed_at)) = (view.state, view.changed_at) {
            let owner = |owner| self.names.owner_id(owner).clone();
            let id = self.names.seat_id(self.seat).clone();
            let seat = Seat {
                id: id.clone(),
                state: match number {
                    StateNo::Free => SeatState::Free,
                    StateNo::Held {
                        owner: by,
                        hold_id,
                        expires,
                    } => SeatState::Held {
                        owner: owner(by),
                        hold_id,
                        expires,
                    },
                    StateNo::Sold {
                        owner: by,
                        hold_id,
                        payment,
                    } => SeatState::Sold {
                        owner: owner(by),
                        hold_id,
                        payment: self.names.payment_id(payment).clone(),
                    },
                },
                version: view.version,
                changed_at,
            };
            state.seats.insert(id, seat);
        }
        state
    }

    /// What the reference gives; nothing when it refuses the call.
    fn right(&mut self, state: &State, call: &Call, at: Timestamp) -> Option<Answer> {
        let Some(command) = self.names.command(call) else {
            let receipt = state.seat(self.names.seat_id(self.seat), at);
            return Some(
                self.names
                    .told_seat(receipt.outcome.as_ref())
                    .receipt(&receipt),
            );
        };
        let decided = decide(state.view(&command), &command, at).ok()?;
        Some(
            self.names
                .told(&decided.receipt.outcome)
                .receipt(&decided.receipt),
        )
    }
}

/// What the judge says about this receipt on this version.
fn accepts(view: &View, answer: &Answered) -> bool {
    if belongs::<AllRules>(&answer.call, &answer.told).is_err() {
        return false;
    }
    if answer.told.changed_seat() {
        answer.version.get() == view.version.get() + 1
            && own_words::<AllRules>(answer).is_ok()
            && step::<AllRules>(view, answer).is_ok()
    } else {
        answer.version == view.version && read::<AllRules>(view, answer).is_ok()
    }
}

#[test]
fn the_judge_accepts_exactly_what_the_reference_gives() {
    let mut space = Space::new();
    let views = space.views();
    let answers = space.answers(&views);
    let (mut judged, mut accepted) = (0, 0);
    for view in &views {
        let state = space.state(view);
        for call in space.calls() {
            for at in [4, 5, 6, ENDS - 1, ENDS, ENDS + 1].map(time) {
                let right = space.right(&state, &call, at);
                for told in &answers {
                    for number in 0..=4 {
                        let answer = Answered {
                            call,
                            told: *told,
                            version: version(number),
                            at,
                        };
                        let given = Answer::Receipt {
                            told: *told,
                            version: answer.version,
                            at,
                        };
                        let accepts = accepts(view, &answer);
                        assert_eq!(accepts, right == Some(given), "{view:?} {answer:?}");
                        judged += 1;
                        accepted += u32::from(accepts);
                    }
                }
            }
        }
    }
    assert_eq!(judged, 1_167_750);
    assert!(accepted > 1_000, "{accepted} answers were right");
}
