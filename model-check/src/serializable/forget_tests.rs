//! What is forgotten about closed payments, and what is not.

use soldonce::{HoldId, OwnerId, PaymentId, RefundReason, SeatId, Timestamp, Version};

use super::*;
use crate::history::{Answer, Call, ClaimNo, Header, Names, OPEN, RecordNo, SeatNo, Told, When};
use crate::serializable::{Report, Rule, Verdict};

/// A check that is fed with payments for holds that were never given, which are refunded on version 0.
struct Run {
    names: Names,
    details: Details,
    checker: Checker,
    waiting: VecDeque<Operation>,
    now: u64,
    /// The payments that were forgotten, by name.
    forgotten: Vec<String>,
}

fn name(id: &str) -> PaymentId {
    PaymentId::new(id).expect("valid")
}

impl Run {
    fn new() -> Self {
        Self {
            names: Names::default(),
            details: Details::default(),
            checker: Checker::new(Header::default()),
            waiting: VecDeque::new(),
            now: 0,
            forgotten: Vec::new(),
        }
    }

    fn seat(&mut self) -> SeatNo {
        self.names.seat(&SeatId::new("s").expect("valid"))
    }

    fn call(&mut self, payment: &str) -> Call {
        Call::Confirm {
            payment: self.names.payment(&name(payment)),
            claim: ClaimNo {
                seat: self.seat(),
                owner: self.names.owner(&OwnerId::new("A").expect("valid")),
                hold_id: HoldId::new(0).expect("not negative"),
            },
        }
    }

    fn record(&mut self, payment: &str) -> RecordNo {
        let Call::Confirm { payment, claim } = self.call(payment) else {
            unreachable!("it is a payment");
        };
        RecordNo {
            payment,
            claim,
            decision: soldonce::Decision::RefundRequired(RefundReason::NeverHeld),
            version: Version::ZERO,
            decided_at: Timestamp::MIN,
        }
    }

    fn operation(&mut self, call: Call, told: Told, version: i64) -> Operation {
        self.now += 10;
        let when = When {
            client: 0,
            invoked: self.now,
            returned: self.now + 5,
        };
        let answer = Answer::Receipt {
            told,
            version: Version::new(version).expect("not negative"),
            at: Timestamp::MIN,
        };
        Operation::new(when, call, answer, &mut self.details)
    }

    fn feed(&mut self, call: Call, told: Told, version: i64) {
        let operation = self.operation(call, told, version);
        self.checker.feed(&operation, &self.details);
        self.checker.no_call_before(self.now + 6);
    }

    fn pay(&mut self, payment: &str) {
        let call = self.call(payment);
        self.feed(call, Told::Refund(RefundReason::NeverHeld), 0);
    }

    fn pay_again(&mut self, payment: &str) {
        let (call, record) = (self.call(payment), self.record(payment));
        self.feed(call, Told::RefundAgain(RefundReason::NeverHeld, record), 0);
    }

    fn close(&mut self, payment: &str) {
        let payment = self.names.payment(&name(payment));
        self.checker.close_payment(payment);
    }

    fn forget(&mut self) {
        let (names, forgotten) = (&mut self.names, &mut self.forgotten);
        let waiting = &mut [&mut self.waiting];
        self.checker
            .forget_payments(&mut self.details, waiting, |record| {
                forgotten.push(names.payment_id(record.payment).to_string());
                names.give_back(record.payment);
            });
    }

    fn finish(mut self) -> Report {
        for operation in std::mem::take(&mut self.waiting) {
            self.checker.feed(&operation, &self.details);
        }
        self.checker.finish(&mut self.details)
    }
}

/// A seat that others stand on, so that no refund is the highest place that it remembers.
fn run_with_a_read() -> Run {
    let mut run = Run::new();
    let seat = run.seat();
    let row = Told::Seat(Some(crate::history::SeatRow {
        seat,
        state: crate::history::StateNo::Free,
        version: Version::ZERO,
        changed_at: Timestamp::MIN,
    }));
    run.feed(Call::ReadSeat(seat), row, 0);
    run
}

#[test]
fn a_closed_payment_is_forgotten_and_its_number_is_given_to_another() {
    let mut run = run_with_a_read();
    run.pay("p");
    run.pay("q");
    run.close("p");
    let number = run.names.payment(&name("p"));
    run.forget();
    assert_eq!(run.forgotten, ["p"]);
    run.pay("r");
    assert_eq!(run.names.payment(&name("r")), number);
    run.pay_again("r");
    run.pay_again("q");
    assert_eq!(run.finish().verdict, Verdict::Holds);
}

#[test]
fn a_payment_that_is_open_or_has_no_decision_is_not_forgotten() {
    let mut run = run_with_a_read();
    run.pay("p");
    let q = run.names.payment(&name("q"));
    run.feed(Call::ReadPayment(q), Told::Payment(None), 0);
    run.close("q");
    run.forget();
    assert!(run.forgotten.is_empty());
    run.close("p");
    run.checker.reopen_payments();
    run.forget();
    assert!(run.forgotten.is_empty());
}

#[test]
fn a_payment_that_a_remembered_call_names_is_not_forgotten() {
    // By a call of unknown result, which may have taken effect or not.
    let mut run = run_with_a_read();
    let call = run.call("p");
    let when = When {
        client: 1,
        invoked: 1,
        returned: OPEN,
    };
    let unknown = Operation::new(when, call, Answer::Unknown, &mut run.details);
    run.checker.feed(&unknown, &run.details);
    run.pay("p");
    run.close("p");
    run.forget();
    assert!(run.forgotten.is_empty(), "a call of unknown result");

    // By the read at the highest place of its seat.
    let mut run = Run::new();
    run.pay("p");
    run.close("p");
    run.forget();
    assert!(run.forgotten.is_empty(), "the highest place of a seat");

    // By a call that waits to be fed.
    let mut run = run_with_a_read();
    run.pay("p");
    let (call, record) = (run.call("p"), run.record("p"));
    let again = Told::RefundAgain(RefundReason::NeverHeld, record);
    let operation = run.operation(call, again, 0);
    run.waiting.push_back(operation);
    run.close("p");
    run.forget();
    assert!(run.forgotten.is_empty(), "a call that waits");
    assert_eq!(run.finish().verdict, Verdict::Holds);
}

#[test]
fn a_payment_in_a_violation_keeps_its_name_and_what_was_said_about_it() {
    let mut run = run_with_a_read();
    run.pay("p");
    let (call, mut record) = (run.call("p"), run.record("p"));
    record.decided_at = Timestamp::from_unix_millis(1).expect("in range");
    let again = Told::RefundAgain(RefundReason::NeverHeld, record);
    run.feed(call, again, 0);
    // Very many details that nobody needs: those of the violation are moved.
    for number in 0..=FEW {
        let id = format!("q{number}");
        run.pay(&id);
        run.pay_again(&id);
        run.close(&id);
    }
    run.close("p");
    assert!(run.checker.has_much_to_forget());
    run.forget();
    assert_eq!(run.forgotten.len(), FEW + 1);
    assert!(!run.forgotten.contains(&"p".to_owned()));
    assert!(run.details.len() < 4, "{} details", run.details.len());
    run.pay("r");
    let (details, names) = (run.details.clone(), run.names.clone());
    let Verdict::Violated(found) = run.finish().verdict else {
        panic!("two records of one payment");
    };
    let said = found[0].operations.iter().find_map(|operation| {
        let Answer::Receipt { told, .. } = operation.answer(&details) else {
            return None;
        };
        told.record().copied()
    });
    let said = said.expect("an answer with a record");
    assert_eq!(names.payment_id(said.payment), &name("p"));
    assert_eq!(said.decided_at, record.decided_at);
}

#[test]
fn a_second_decision_before_the_close_is_found_after_others_were_forgotten() {
    let mut run = run_with_a_read();
    run.pay("p");
    run.pay("q");
    run.close("q");
    run.forget();
    assert_eq!(run.forgotten, ["q"]);
    run.pay("p");
    run.close("p");
    run.forget();
    let Verdict::Violated(found) = run.finish().verdict else {
        panic!("two decisions about one payment");
    };
    assert_eq!(found[0].rule, Rule::OneDecision);
}

#[test]
fn a_run_of_many_payments_remembers_few() {
    let mut run = run_with_a_read();
    for number in 0..10 * FEW {
        let id = format!("p{number}");
        run.pay(&id);
        run.pay_again(&id);
        run.close(&id);
        if run.checker.has_much_to_forget() {
            run.forget();
        }
        assert!(run.names.payments().len() <= 2 * FEW);
        assert!(run.details.len() <= 2 * FEW);
    }
    assert_eq!(run.forgotten.len(), 10 * FEW);
    assert_eq!(run.finish().verdict, Verdict::Holds);
}
