//! Sequences as text that a person can read, write, and give to the program again.
//!
//! Steps stand one after the other, with `; ` between them:
//!
//! | text | step |
//! |--|--|
//! | `H(s,A)@0` | owner A asks for a hold of seat s at time 0, for 10 ms |
//! | `H(s,A,25)@0` | the same, for 25 ms |
//! | `C(p,s,A,h1)@9` | payment p comes in for seat s, owner A, and the first hold given in the sequence |
//! | `R(s,A,#7)@9` | owner A releases hold 7 of seat s, which nobody was given |
//! | `add(x)@3` | seat x is added |
//! | `reopen` | every store on the file is closed and opened again |
//! | `2: H(s,A)@0` | the call goes through a second store on the same file |
//! | `locked C(..)@9` | somebody else holds the write lock during the call |
//! | `failing C(..)@9` | the commit of the call fails |
//! | `lost C(..)@9` | the call is committed, and its answer lost |
//!
//! Times are milliseconds; `end-7` is 7 before the end of time, [`Timestamp::MAX`]. A seat whose name begins with `x` is not there at first; all others are.
//! A step without a time happens at the time of the last one.

use std::fmt;

use soldonce::{
    Claim, Command, HoldDuration, HoldId, HoldOutcome, HoldRequest, Invalid, Outcome, OwnerId,
    PaymentId, SeatId, Timestamp,
};

use super::{Call, Fault, Sequence, Step, Via, is_there_at_first};
use crate::reference::State;

/// The length of a hold that is not written.
pub const USUAL_TTL_MILLIS: i64 = 10;

/// Times that are written from the end of time on: those a hold's length or so before it.
const NEAR_END_MILLIS: i64 = 1_000;

/// A time as text.
struct At(Timestamp);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_unix_millis();
        match Timestamp::MAX.as_unix_millis() - millis {
            left @ 0..=NEAR_END_MILLIS => write!(f, "end-{left}"),
            _ => write!(f, "{millis}"),
        }
    }
}

fn read_time(text: &str) -> Result<i64, String> {
    let wrong = |_| {
        let end = Timestamp::MAX.as_unix_millis();
        format!("the time is not a number from 0 to {end}, nor end- and a number below 2^32")
    };
    match text.strip_prefix("end-") {
        Some(left) => {
            let left: u32 = left.parse().map_err(wrong)?;
            Ok(Timestamp::MAX.as_unix_millis() - i64::from(left))
        }
        None => text.parse().map_err(wrong),
    }
}

/// The holds that were given, in order, as the reference gives them.
#[derive(Debug, Default)]
struct Holds {
    state: State,
    given: Vec<(SeatId, HoldId)>,
}

impl Holds {
    fn name(&self, claim: &Claim) -> String {
        self.given
            .iter()
            .position(|(seat, hold)| *seat == claim.seat && *hold == claim.hold_id)
            .map_or_else(
                || format!("#{}", claim.hold_id.get()),
                |index| format!("h{}", index + 1),
            )
    }

    fn after(&mut self, step: &Step) {
        if let Some(seat) = step.command().map(Command::seat)
            && is_there_at_first(seat)
        {
            self.state.add(seat, Timestamp::MIN);
        }
        match step {
            Step::Call(call) if matches!(call.fault, Fault::None | Fault::AnswerLost) => {
                let decided = self.state.apply(&call.command, call.at);
                if let Ok(decided) = decided
                    && let Outcome::Hold(HoldOutcome::Held { hold_id, .. }) =
                        decided.receipt.outcome
                {
                    self.given.push((call.command.seat().clone(), hold_id));
                }
            }
            Step::Add { at, seat } => {
                self.state.add(seat, *at);
            }
            Step::Call(_) | Step::Reopen => {}
        }
    }
}

pub(super) fn write(sequence: &Sequence, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut holds = Holds::default();
    for (index, step) in sequence.steps.iter().enumerate() {
        if index > 0 {
            f.write_str("; ")?;
        }
        match step {
            Step::Call(call) => {
                if call.via == Via::Second {
                    f.write_str("2: ")?;
                }
                f.write_str(match call.fault {
                    Fault::None => "",
                    Fault::Locked => "locked ",
                    Fault::CommitFails => "failing ",
                    Fault::AnswerLost => "lost ",
                })?;
                let text = command(&call.command, |claim| holds.name(claim));
                write!(f, "{text}@{}", At(call.at))?;
            }
            Step::Add { at, seat } => write!(f, "add({seat})@{}", At(*at))?,
            Step::Reopen => f.write_str("reopen")?,
        }
        holds.after(step);
    }
    Ok(())
}

/// One command as text, without its time. `hold_name` says how the hold of a claim is called.
pub fn command(command: &Command, hold_name: impl Fn(&Claim) -> String) -> String {
    match command {
        Command::Hold(HoldRequest { seat, owner, ttl }) => {
            if ttl.as_millis() == USUAL_TTL_MILLIS {
                format!("H({seat},{owner})")
            } else {
                format!("H({seat},{owner},{})", ttl.as_millis())
            }
        }
        Command::Release(claim) => {
            format!("R({},{},{})", claim.seat, claim.owner, hold_name(claim))
        }
        Command::ConfirmPayment { payment, claim } => format!(
            "C({payment},{},{},{})",
            claim.seat,
            claim.owner,
            hold_name(claim)
        ),
    }
}

/// Text that is not a sequence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("step {step}, {text:?}: {problem}")]
pub struct Unreadable {
    step: usize,
    text: String,
    problem: String,
}

/// A step as it is written, before its hold is looked up.
struct Written<'t> {
    via: Via,
    fault: Fault,
    word: &'t str,
    arguments: Vec<&'t str>,
    at: Option<i64>,
}

pub(super) fn read(text: &str) -> Result<Sequence, Unreadable> {
    let mut sequence = Sequence::default();
    let mut holds = Holds::default();
    let mut now = 0;
    let steps = text
        .split(';')
        .map(str::trim)
        .filter(|step| !step.is_empty());
    for (index, text) in steps.enumerate() {
        let step = parse(text)
            .and_then(|written| meaning(&written, &holds, &mut now))
            .map_err(|problem| Unreadable {
                step: index + 1,
                text: text.to_owned(),
                problem,
            })?;
        holds.after(&step);
        sequence.steps.push(step);
    }
    Ok(sequence)
}

fn parse(text: &str) -> Result<Written<'_>, String> {
    let (via, rest) = match text.strip_prefix("2:") {
        Some(rest) => (Via::Second, rest.trim_start()),
        None => (Via::First, text),
    };
    let (fault, rest) = match rest.split_once(char::is_whitespace) {
        Some(("locked", rest)) => (Fault::Locked, rest),
        Some(("failing", rest)) => (Fault::CommitFails, rest),
        Some(("lost", rest)) => (Fault::AnswerLost, rest),
        _ => (Fault::None, rest),
    };
    let (call, at) = match rest.rsplit_once('@') {
        Some((call, at)) => (call.trim(), Some(read_time(at.trim())?)),
        None => (rest.trim(), None),
    };
    let (word, arguments) = match call.split_once('(') {
        Some((word, rest)) => {
            let inside = rest.strip_suffix(')').ok_or("a bracket is not closed")?;
            (word, inside.split(',').map(str::trim).collect())
        }
        None => (call, Vec::new()),
    };
    let word = word.trim_start();
    Ok(Written {
        via,
        fault,
        word,
        arguments,
        at,
    })
}

fn meaning(written: &Written<'_>, holds: &Holds, now: &mut i64) -> Result<Step, String> {
    const FORMS: &str = "a step is H(seat,owner), H(seat,owner,ttl), R(seat,owner,hold), \
        C(payment,seat,owner,hold), add(seat) or reopen";
    let invalid = |invalid: Invalid| invalid.to_string();
    *now = written.at.unwrap_or(*now);
    let at = Timestamp::from_unix_millis(*now).map_err(invalid)?;
    let claim = |seat: &str, owner: &str, hold: &str| -> Result<Claim, String> {
        let seat = SeatId::new(seat).map_err(invalid)?;
        let number = |digits: &str| digits.parse::<i64>().ok();
        let hold_id = if let Some(index) = hold.strip_prefix('h').and_then(number) {
            let found = usize::try_from(index)
                .ok()
                .and_then(|index| index.checked_sub(1))
                .and_then(|i| holds.given.get(i));
            match found {
                Some((_, hold_id)) => *hold_id,
                None => return Err(format!("{hold} was not given before")),
            }
        } else if let Some(literal) = hold.strip_prefix('#').and_then(number) {
            HoldId::new(literal).map_err(invalid)?
        } else {
            return Err("a hold is h1, h2, ... or a literal #7, below 2^63".to_owned());
        };
        let owner = OwnerId::new(owner).map_err(invalid)?;
        Ok(Claim {
            seat,
            owner,
            hold_id,
        })
    };
    let command = match (written.word, &written.arguments[..]) {
        ("H", [seat, owner, rest @ ..]) if rest.len() <= 1 => {
            let ttl = match rest {
                [ttl] => ttl.parse().map_err(|_| {
                    "the ttl is not a number of milliseconds up to 366 days".to_owned()
                })?,
                _ => USUAL_TTL_MILLIS,
            };
            Command::Hold(HoldRequest {
                seat: SeatId::new(seat).map_err(invalid)?,
                owner: OwnerId::new(owner).map_err(invalid)?,
                ttl: HoldDuration::from_millis(ttl).map_err(invalid)?,
            })
        }
        ("R", [seat, owner, hold]) => Command::Release(claim(seat, owner, hold)?),
        ("C", [payment, seat, owner, hold]) => Command::ConfirmPayment {
            payment: PaymentId::new(payment).map_err(invalid)?,
            claim: claim(seat, owner, hold)?,
        },
        ("add", [seat]) if written.via == Via::First && written.fault == Fault::None => {
            let seat = SeatId::new(seat).map_err(invalid)?;
            return Ok(Step::Add { at, seat });
        }
        ("reopen", []) if written.via == Via::First && written.fault == Fault::None => {
            return Ok(Step::Reopen);
        }
        _ => return Err(FORMS.to_owned()),
    };
    Ok(Step::Call(Call {
        at,
        via: written.via,
        fault: written.fault,
        command,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for text in [
            "H(s,A)@0; C(p,s,A,h1)@9; reopen; 2: R(s,A,h1)@9",
            "H(s,A,25)@0; add(x)@3; locked C(p,t,A,#7)@4; failing R(s,a,h1)@5; lost H(t,B)@2",
            "2: lost H(s,A)@0; H(t,A)@0; R(t,A,h2)@1; R(s,A,h1)@1",
            "H(x,A)@0; add(x)@1; H(x,A)@2; R(x,A,h1)@3",
            "H(s,A,25)@253402300798998; add(x)@end-1000; R(s,A,h1)@end-10; H(x,A)@end-0",
        ] {
            let sequence: Sequence = text.parse().expect("readable");
            assert_eq!(sequence.to_string(), text);
        }
    }

    #[test]
    fn a_sequence_may_be_written_on_several_lines() {
        let text = "\n  H(s,A)@0;\n  2:\n lost\n H(s,B)@10;\n reopen\n";
        let sequence: Sequence = text.parse().expect("readable");
        assert_eq!(sequence.to_string(), "H(s,A)@0; 2: lost H(s,B)@10; reopen");
    }

    #[test]
    fn a_hold_is_named_by_the_order_in_which_holds_were_given() {
        let sequence: Sequence = "H(s,A)@0; H(s,B)@5; H(s,B)@10; C(p,s,B,h2)@11"
            .parse()
            .expect("readable");
        let Some(Command::ConfirmPayment { claim, .. }) = sequence.steps[3].command() else {
            panic!("a payment");
        };
        assert_eq!(claim.hold_id.get(), 2);
    }

    #[test]
    fn a_step_that_can_not_be_read_says_which_and_what_may_stand_there() {
        for (text, said) in [
            (
                "H(s,A)@0; Q(s)@1",
                "step 2, \"Q(s)@1\": a step is H(seat,owner)",
            ),
            (
                "C(p,s,A,h1)@0",
                "step 1, \"C(p,s,A,h1)@0\": h1 was not given before",
            ),
            (
                "H(s,A)@0; C(p,s,A,h0)@1",
                "step 2, \"C(p,s,A,h0)@1\": h0 was not given before",
            ),
            (
                "H(s,A)@0; R(s,A,h-9223372036854775808)@1",
                "h-9223372036854775808 was not given before",
            ),
            ("R(s,A,7)@0", "a hold is h1, h2, ... or a literal #7"),
            ("H(s,A@0", "a bracket is not closed"),
            ("H(s,A)@soon", "the time is not a number"),
            ("H(s,A)@end--5", "nor end- and a number below 2^32"),
            ("H(s,A)@253402300800000", "invalid timestamp"),
            ("H(s,A,0)@1", "invalid length of a hold"),
            ("H(,A)@1", "invalid seat id: it is empty"),
        ] {
            let error = text
                .parse::<Sequence>()
                .expect_err("unreadable")
                .to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
