//! The worked example of the module, and what only the growing form of the check has.

use soldonce::{Command, HoldDuration, HoldId, HoldRequest, OwnerId, SeatId, Timestamp, Version};

use super::*;
use crate::agree::{Kind, history as random};
use crate::history::{ClaimNo, History, StateNo, When};
use crate::serializable::{check, check_on_one_core};

fn time(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(millis).expect("in range")
}

fn version(number: i64) -> Version {
    Version::new(number).expect("not negative")
}

/// Calls on one seat, by owner number, with a free clock.
#[derive(Default)]
struct Calls(History);

impl Calls {
    fn hold(&mut self, owner: &str) -> Call {
        self.0.names.call(&Command::Hold(HoldRequest {
            seat: SeatId::new("s").expect("valid"),
            owner: OwnerId::new(owner).expect("valid"),
            ttl: HoldDuration::from_millis(100).expect("in range"),
        }))
    }

    fn release(&mut self, owner: &str, hold: i64) -> Call {
        let Call::Hold { seat, owner, .. } = self.hold(owner) else {
            unreachable!("it is a hold");
        };
        let hold_id = HoldId::new(hold).expect("not negative");
        Call::Release(ClaimNo {
            seat,
            owner,
            hold_id,
        })
    }

    fn add(
        &mut self,
        client: u16,
        (invoked, returned): (u64, u64),
        call: Call,
        told: Told,
        on: i64,
    ) {
        let when = When {
            client,
            invoked,
            returned,
        };
        let answer = Answer::Receipt {
            told,
            version: version(on),
            at: time(10),
        };
        self.0.push(when, call, answer);
    }

    fn unknown(&mut self, client: u16, invoked: u64, call: Call) {
        let when = When {
            client,
            invoked,
            returned: u64::MAX,
        };
        self.0.push(when, call, Answer::Unknown);
    }

    fn check(&mut self) -> Report {
        self.0.sort();
        check(&self.0)
    }
}

fn held(hold: i64) -> Told {
    Told::Held {
        hold_id: HoldId::new(hold).expect("not negative"),
        expires: time(110),
    }
}

/// The example of the module's documentation, with the last call invoked at this instant.
fn example(last_invoked: u64) -> Report {
    let mut calls = Calls::default();
    let (by_a, by_b) = (calls.hold("A"), calls.hold("B"));
    let given_back = calls.release("A", 1);
    calls.add(1, (0, 10), by_a, held(1), 1);
    calls.add(2, (5, 20), by_b, Told::HeldUntil(time(110)), 1);
    calls.add(1, (15, 40), given_back, Told::Released, 2);
    calls.add(3, (last_invoked, 60), by_b, Told::HeldUntil(time(110)), 1);
    calls.check()
}

#[test]
fn the_worked_example_holds_until_the_release_has_returned_and_not_after() {
    assert_eq!(example(39).verdict, Verdict::Holds);
    assert_eq!(
        example(40).verdict,
        Verdict::Holds,
        "one instant is concurrent"
    );
    match example(41).verdict {
        Verdict::Violated(found) => {
            assert_eq!(found[0].rule, Rule::RealTime);
            let clients: Vec<u16> = found[0]
                .operations
                .iter()
                .map(|call| call.when().client)
                .collect();
            assert_eq!(clients, [1, 3]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lost_last_change_shows_in_the_final_read() {
    let mut calls = Calls::default();
    let by_a = calls.hold("A");
    calls.add(1, (0, 10), by_a, held(1), 1);
    let Call::Hold { seat, .. } = by_a else {
        unreachable!("it is a hold");
    };
    let row = crate::history::SeatRow {
        seat,
        state: StateNo::Free,
        version: version(0),
        changed_at: time(0),
    };
    calls.add(2, (20, 30), Call::ReadSeat(seat), Told::Seat(Some(row)), 0);
    assert!(matches!(calls.check().verdict, Verdict::Violated(_)));
}

#[test]
fn a_version_that_a_call_of_unknown_result_made_is_given_to_it() {
    let mut calls = Calls::default();
    let (by_a, by_b) = (calls.hold("A"), calls.hold("B"));
    calls.unknown(1, 0, by_a);
    calls.unknown(1, 50, by_a);
    calls.add(2, (5, 20), by_b, Told::HeldUntil(time(110)), 1);
    let report = calls.check();
    assert_eq!(report.verdict, Verdict::Holds);
    assert_eq!(
        (report.counts.unknown, report.counts.taken_as_happened),
        (2, 1)
    );
}

#[test]
fn a_call_of_unknown_result_can_not_have_been_seen_before_it_was_invoked() {
    let mut calls = Calls::default();
    let (by_a, by_b) = (calls.hold("A"), calls.hold("B"));
    calls.unknown(1, 21, by_a);
    calls.add(2, (5, 20), by_b, Told::HeldUntil(time(110)), 1);
    assert!(matches!(calls.check().verdict, Verdict::Violated(_)));
}

#[test]
fn calls_of_unknown_result_with_too_many_places_are_inconclusive_and_no_pass() {
    let mut calls = Calls::default();
    // Holds of different owners, none of which fits the last step: every order of them is tried.
    for owner in 0..24 {
        let call = calls.hold(&format!("o{owner}"));
        calls.unknown(owner, 0, call);
    }
    let by_b = calls.hold("B");
    calls.add(99, (5, 20), by_b, Told::SoldOut, 20);
    match calls.check().verdict {
        Verdict::Inconclusive(why) => assert!(why.contains("given up"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_version_far_above_all_others_costs_no_memory_and_is_a_gap() {
    for told in [held(i64::MAX - 1), Told::SoldOut] {
        let mut calls = Calls::default();
        let by_a = calls.hold("A");
        calls.add(1, (0, 10), by_a, told, i64::MAX - 1);
        match calls.check().verdict {
            Verdict::Violated(found) => assert_eq!(found[0].rule, Rule::NoGap),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn forgetting_what_no_call_in_flight_can_need_changes_no_verdict() {
    for kind in Kind::ALL {
        for seed in 0..300 {
            let history = random(kind, seed);
            let whole = check_on_one_core(&history);
            let mut details = history.details.clone();
            let mut checker = Checker::new(history.header.clone());
            let mut calls: Vec<Operation> = history.operations.clone();
            // A call of unknown result is fed as soon as it may be.
            calls.sort_by_key(|call| match call.returned() {
                u64::MAX => (call.invoked(), 1),
                returned => (returned, 0),
            });
            for place in 0..calls.len() {
                let open = calls[place..].iter().map(Operation::invoked).min();
                checker.no_call_before(open.unwrap_or(0));
                for seat in &mut checker.seats {
                    seat.forget(checker.horizon);
                }
                checker.feed(&calls[place], &details);
            }
            let grown = checker.finish(&mut details);
            let holds = |report: &Report| report.verdict == Verdict::Holds;
            assert_eq!(holds(&grown), holds(&whole), "{kind:?} {seed}");
        }
    }
}

/// Many small histories of this kind as one long one. Each has seats of its own, and payments too unless
/// they are shared.
fn long(kind: Kind, payments_are_shared: bool) -> History {
    let mut long = History::default();
    for seed in 0..1_600 {
        let mut text = Vec::new();
        crate::history::write(&random(kind, seed), &mut text).expect("memory takes it");
        let mut text = String::from_utf8(text).expect("JSON is UTF-8");
        for field in ["seat", "read_seat", "payment", "read_payment"] {
            if field.contains("seat") || !payments_are_shared {
                let from = format!("\"{field}\":\"");
                text = text.replace(&from, &format!("{from}{seed}-"));
            }
        }
        let next = crate::history::read(text.as_bytes()).expect("still a history");
        long.append(&next);
        for missing in &next.header.missing_seats {
            let id = format!("{seed}-{}", next.names.seat_id(*missing));
            let missing = long.names.seat(&SeatId::new(id).expect("valid"));
            long.header.missing_seats.push(missing);
        }
    }
    long
}

#[test]
fn shards_of_seats_give_the_verdict_of_the_whole() {
    for kind in [
        Kind::Valid,
        Kind::StaleRead,
        Kind::WrongTime,
        Kind::UnknownAndFault,
    ] {
        for payments_are_shared in [false, true] {
            let long = long(kind, payments_are_shared);
            assert!(
                long.operations.len() > 8_192,
                "long enough to be shared out"
            );
            let (shards, whole) = (check(&long), check_on_one_core(&long));
            assert_eq!(shards.counts, whole.counts, "{kind:?}");
            assert_eq!(
                matches!(shards.verdict, Verdict::Violated(_)),
                matches!(whole.verdict, Verdict::Violated(_))
            );
            let must_hold = kind == Kind::Valid && !payments_are_shared;
            assert_eq!(shards.verdict == Verdict::Holds, must_hold, "{kind:?}");
        }
    }
}

#[test]
fn a_seat_that_changes_for_long_is_remembered_for_a_while_only() {
    let mut details = Details::default();
    let mut calls = Calls::default();
    let by_a = calls.hold("A");
    let mut checker = Checker::new(Header::default());
    for number in 0..100_000_u32 {
        let instant = u64::from(number) * 10;
        let on = i64::from(number) + 1;
        let (call, told) = if number % 2 == 0 {
            (by_a, held(on))
        } else {
            (calls.release("A", on - 1), Told::Released)
        };
        let when = When {
            client: 0,
            invoked: instant,
            returned: instant + 5,
        };
        let answer = Answer::Receipt {
            told,
            version: version(on),
            at: time(10),
        };
        checker.no_call_before(instant);
        checker.feed(&Operation::new(when, call, answer, &mut details), &details);
        assert!(checker.seats[0].remembered() <= 2 * MUCH);
    }
    assert_eq!(checker.finish(&mut details).verdict, Verdict::Holds);
}
