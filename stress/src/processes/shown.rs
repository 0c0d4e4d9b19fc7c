//! What a history shows of a process that can not tell any more.

use std::collections::BTreeSet;
use std::ops::Range;

use model_check::history::{Answer, Call, History, OPEN, Told};
use soldonce::Decision;
use soldonce::invariant::Acknowledged;

use crate::answer::{Ending, Operation};
use crate::measure::Figures;

/// Every decision about a payment that a client was told.
pub(super) fn acknowledged(history: &History) -> Vec<Acknowledged> {
    let mut all = Vec::new();
    for operation in &history.operations {
        let Call::Confirm { payment, claim } = operation.call() else {
            continue;
        };
        let Answer::Receipt { told, .. } = operation.answer(&history.details) else {
            continue;
        };
        let decision = match told {
            Told::Sold | Told::Duplicate(_) => Decision::Sold,
            Told::Refund(reason) | Told::RefundAgain(reason, _) => Decision::RefundRequired(reason),
            _ => continue,
        };
        all.push(Acknowledged {
            payment: history.names.payment_id(payment).clone(),
            claim: history.names.claim_of(&claim),
            decision,
        });
    }
    all
}

/// What the history shows of some clients.
pub(super) struct Shown {
    /// Counts alone, of calls that are not measured.
    pub(super) figures: Figures,
    pub(super) calls: u64,
    pub(super) unknown: u64,
    /// Payments of unknown result that were never answered.
    pub(super) unsettled: u64,
}

impl Shown {
    pub(super) fn of(history: &History, clients: &Range<u32>) -> Self {
        let mut shown = Self {
            figures: Figures::new(0),
            calls: 0,
            unknown: 0,
            unsettled: 0,
        };
        let (mut open, mut answered) = (BTreeSet::new(), BTreeSet::new());
        let own = |operation: &&model_check::history::Operation| {
            clients.contains(&u32::from(operation.when().client))
        };
        for operation in history.operations.iter().filter(own) {
            let (call, answer) = (operation.call(), operation.answer(&history.details));
            shown.calls += 1;
            shown.unknown += u64::from(operation.returned() == OPEN);
            let kind = match call {
                Call::Hold { .. } => Operation::Hold,
                Call::Release(_) => Operation::Release,
                Call::Confirm { payment, .. } => {
                    match answer {
                        Answer::Unknown => open.insert(payment),
                        Answer::Receipt { .. } => answered.insert(payment),
                        Answer::NotApplied | Answer::NoSuchSeat => false,
                    };
                    Operation::Confirm
                }
                Call::ReadSeat(_) => Operation::Seat,
                Call::ReadPayment(_) => continue,
            };
            let counts = &mut shown.figures.unmeasured;
            counts.attempts[kind as usize] += 1;
            counts.endings[Ending::shown_as(kind, &answer).index()] += 1;
        }
        shown.unsettled = open.difference(&answered).count() as u64;
        shown
    }
}
