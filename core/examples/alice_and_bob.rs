//! The founding scenario: two buyers, one seat, one late payment. No money is lost, nothing is sold twice.
//!
//! `cargo run -p soldonce --example alice_and_bob`

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use soldonce::{
    Claim, Command, Decision, HoldDuration, HoldId, HoldRequest, ManualClock, OwnerId, PaymentId,
    RefundCursor, SeatId, SeatState, SeatStore, SqliteStore, Timestamp,
};

/// One line of the story.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// The time on the store's clock.
    pub at: i64,
    /// Who asks.
    pub who: &'static str,
    /// For what.
    pub asks: String,
    /// What the store answers.
    pub answer: String,
    /// The version of the seat that the answer was decided on, or made.
    pub version: i64,
}

/// How it ends.
#[derive(Debug, PartialEq, Eq)]
pub struct Ending {
    /// Who has which seat under which payment.
    pub seats: Vec<String>,
    /// Payments that bought a seat.
    pub sold_payments: Vec<String>,
    /// Payments that must be given back.
    pub refunds_due: Vec<String>,
    /// What the audit finds.
    pub violations: Vec<String>,
}

/// Plays the story on a fresh file.
///
/// # Errors
/// Whatever the store could not answer.
pub fn play(file: &Path) -> Result<(Vec<Line>, Ending), Box<dyn Error>> {
    let clock = Arc::new(ManualClock::at(Timestamp::MIN));
    let store = SqliteStore::options().clock(clock.clone()).open(file)?;
    let seat = SeatId::new("A1")?;
    store.add_seats(std::slice::from_ref(&seat))?;

    // The story: when, who, and the payment and hold id of somebody who pays; the others want a hold.
    let script = [
        (0, "Alice", None),
        (1, "Bob", None),
        (11, "Bob", None),
        (12, "Alice", Some(("p_old", 1))),
        (12, "Bob", Some(("p_new", 2))),
        (13, "Bob", Some(("p_new", 2))),
        (13, "Carol", Some(("p_new", 2))),
        (99, "Carol", None),
    ];
    let mut lines = Vec::new();
    for (at, who, pays) in script {
        clock.set(Timestamp::from_unix_millis(at)?);
        let (seat, owner) = (seat.clone(), OwnerId::new(who)?);
        let (asks, command) = match pays {
            None => {
                let ttl = HoldDuration::from_millis(10)?;
                (
                    "hold".to_owned(),
                    Command::Hold(HoldRequest { seat, owner, ttl }),
                )
            }
            Some((payment, hold_id)) => {
                let claim = Claim {
                    seat,
                    owner,
                    hold_id: HoldId::new(hold_id)?,
                };
                let asks = format!("pay {payment} for {}", claim.hold_id);
                (
                    asks,
                    Command::ConfirmPayment {
                        payment: PaymentId::new(payment)?,
                        claim,
                    },
                )
            }
        };
        let receipt = store.execute(&command)?;
        let (answer, version) = (receipt.outcome.to_string(), receipt.version.get());
        lines.push(Line {
            at,
            who,
            asks,
            answer,
            version,
        });
    }
    Ok((lines, ending(&store)?))
}

fn ending(store: &SqliteStore) -> Result<Ending, Box<dyn Error>> {
    let snapshot = store.snapshot()?;
    Ok(Ending {
        seats: snapshot
            .seats
            .iter()
            .map(|seat| match &seat.state {
                SeatState::Sold { owner, payment, .. } => {
                    format!("{} is sold to {owner} by {payment}", seat.id)
                }
                SeatState::Free | SeatState::Held { .. } => format!("{} is not sold", seat.id),
            })
            .collect(),
        sold_payments: snapshot
            .payments
            .iter()
            .filter(|record| record.decision == Decision::Sold)
            .map(|record| record.payment.to_string())
            .collect(),
        refunds_due: store
            .refunds_due(RefundCursor::START, 100)?
            .refunds
            .iter()
            .map(|due| due.payment.to_string())
            .collect(),
        violations: store.audit()?.iter().map(ToString::to_string).collect(),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (lines, ending) = play(&folder.path().join("alice_and_bob.sqlite"))?;
    println!("One seat, A1. A hold lives for 10.\n");
    println!(
        "{:>4}  {:<6} {:<18} {:<30} version",
        "t", "who", "asks", "answer"
    );
    println!("{}", "-".repeat(70));
    for Line {
        at,
        who,
        asks,
        answer,
        version,
    } in &lines
    {
        println!("{at:>4}  {who:<6} {asks:<18} {answer:<30} {version}");
    }
    println!();
    println!("seats         {}", ending.seats.join(", "));
    println!("sold payments {}", ending.sold_payments.join(", "));
    println!("refunds due   {}", ending.refunds_due.join(", "));
    println!(
        "audit         {}",
        if ending.violations.is_empty() {
            "nothing found".to_owned()
        } else {
            ending.violations.join("; ")
        }
    );
    Ok(())
}
