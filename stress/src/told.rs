//! Is every payment recorded as its buyer was told (I3)?
//!
//! A run in one process wrote down what was decided about each payment, from the answers. Of a run in
//! several, the history has it all.

use std::collections::HashMap;
use std::io;

use model_check::history::Decided;
use soldonce::invariant::{Acknowledged, Snapshot, audit_acknowledged};
use soldonce::{Decision, PaymentRecord};

use crate::proof::{Check, SHOWN};

const NAME: &str = "acknowledged";
const WHAT: &str = "every payment is recorded as its buyer was told (I3)";

/// Compares what was written down with what is stored. Nothing was written when the check could not.
pub fn as_decided(after: &Snapshot, decided: Option<&Decided>) -> Check {
    let records = match decided.map(Decided::records) {
        Some(Ok(records)) => records,
        Some(Err(error)) => return compare(after, [Err(error)]),
        None => {
            let lost = "what was decided could not be written down";
            return compare(after, [Err(io::Error::other(lost))]);
        }
    };
    compare(after, records)
}

/// Compares records, each as the answers said, with what is stored: claim, decision, version and time.
pub fn compare(
    after: &Snapshot,
    told: impl IntoIterator<Item = io::Result<PaymentRecord>>,
) -> Check {
    let stored: HashMap<_, _> = after.payments.iter().map(|r| (&r.payment, r)).collect();
    let mut check = Check {
        name: NAME,
        what: WHAT,
        unit: "payments",
        cases: 0,
        violations: 0,
        undecided: 0,
        notes: Vec::new(),
    };
    for told in told {
        check.cases += 1;
        match told {
            Ok(told) => {
                let stored = stored.get(&told.payment).copied();
                if stored != Some(&told) {
                    check.violations += 1;
                    if check.notes.len() < SHOWN {
                        check.notes.push(difference(&told, stored));
                    }
                }
            }
            Err(error) => {
                check.undecided = 1;
                check.notes.push(error.to_string());
                break;
            }
        }
    }
    check
}

/// Compares answers that a history shows with what is stored.
pub fn as_shown(after: &Snapshot, acknowledged: &[Acknowledged]) -> Check {
    let found = audit_acknowledged(after, acknowledged);
    Check::of(NAME, WHAT, (acknowledged.len(), "answers"), &found)
}

/// `payment p1: told sold for s1 by b1 h1 v2 at 5; stored is nothing`.
fn difference(told: &PaymentRecord, stored: Option<&PaymentRecord>) -> String {
    let stored = stored.map_or("nothing".to_owned(), in_words);
    format!(
        "payment {}: told {}; stored is {stored}",
        told.payment,
        in_words(told)
    )
}

fn in_words(record: &PaymentRecord) -> String {
    let decision = match record.decision {
        Decision::Sold => "sold".to_owned(),
        Decision::RefundRequired(reason) => format!("refund, {reason}"),
    };
    let PaymentRecord {
        claim,
        version,
        decided_at,
        ..
    } = record;
    format!(
        "{decision} for {} by {} {} {version} at {decided_at}",
        claim.seat, claim.owner, claim.hold_id
    )
}
