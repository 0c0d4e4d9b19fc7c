//! From a line to numbers, with every value checked.

use soldonce::{
    Decision, HoldDuration, HoldId, OwnerId, PaymentId, RefundReason, SeatId, Timestamp, Version,
};

use super::lines::{
    Asked, CallLine, ClaimOf, Given, HeaderLine, OutcomeOf, Reason, RecordOf, SeatOf, StateOf,
};
use crate::history::{
    Answer, Call, ClaimNo, ClockRule, Details, Header, Names, OPEN, Operation, OwnerNo, PaymentNo,
    RecordNo, SeatNo, SeatRow, StateNo, Told, When,
};

type Checked<T> = Result<T, String>;

fn say(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn seat(id: &str, names: &mut Names) -> Checked<SeatNo> {
    Ok(names.seat(&SeatId::new(id).map_err(say)?))
}

fn owner(id: &str, names: &mut Names) -> Checked<OwnerNo> {
    Ok(names.owner(&OwnerId::new(id).map_err(say)?))
}

fn payment(id: &str, names: &mut Names) -> Checked<PaymentNo> {
    Ok(names.payment(&PaymentId::new(id).map_err(say)?))
}

fn time(millis: i64) -> Checked<Timestamp> {
    Timestamp::from_unix_millis(millis).map_err(say)
}

fn version(number: i64) -> Checked<Version> {
    Version::new(number).map_err(say)
}

fn hold_id(number: i64) -> Checked<HoldId> {
    HoldId::new(number).map_err(say)
}

pub(super) fn header(line: &HeaderLine<'_>, names: &mut Names) -> Checked<Header> {
    let clock = match &line.clock {
        None => ClockRule::Free,
        Some(clock) => ClockRule::Tied {
            start: time(clock.start)?,
            slack_millis: clock.slack,
        },
    };
    Ok(Header {
        clock,
        seats_added_at: line.seats_added_at.map(time).transpose()?,
        missing_seats: line
            .missing_seats
            .iter()
            .map(|id| seat(id, names))
            .collect::<Checked<_>>()?,
    })
}

pub(super) fn call(
    line: &CallLine<'_>,
    names: &mut Names,
    details: &mut Details,
) -> Checked<Operation> {
    let answer = given(&line.answer, names)?;
    let returned = match (line.returned, answer) {
        (None, Answer::Unknown) => OPEN,
        (Some(returned), answer) if answer != Answer::Unknown => returned,
        _ => return Err("`returned` is null exactly when the answer is unknown".to_owned()),
    };
    if returned < line.invoked {
        return Err(format!(
            "it returned at {returned}, before it was invoked at {}",
            line.invoked
        ));
    }
    if returned == OPEN && answer != Answer::Unknown {
        return Err(format!("`returned` is above {}", OPEN - 1));
    }
    let when = When {
        client: line.client,
        invoked: line.invoked,
        returned,
    };
    let call = asked(&line.call, names)?;
    Ok(Operation::new(when, call, answer, details))
}

fn asked(asked: &Asked<'_>, names: &mut Names) -> Checked<Call> {
    Ok(match asked {
        Asked::Hold {
            seat: id,
            owner: by,
            ttl,
        } => Call::Hold {
            seat: seat(id, names)?,
            owner: owner(by, names)?,
            ttl: HoldDuration::from_millis(*ttl).map_err(say)?,
        },
        Asked::Release(of) => Call::Release(claim(of, names)?),
        Asked::ConfirmPayment {
            payment: id,
            claim: of,
        } => Call::Confirm {
            payment: payment(id, names)?,
            claim: claim(of, names)?,
        },
        Asked::ReadSeat(id) => Call::ReadSeat(seat(id, names)?),
        Asked::ReadPayment(id) => Call::ReadPayment(payment(id, names)?),
    })
}

fn claim(of: &ClaimOf<'_>, names: &mut Names) -> Checked<ClaimNo> {
    Ok(ClaimNo {
        seat: seat(&of.seat, names)?,
        owner: owner(&of.owner, names)?,
        hold_id: hold_id(of.hold_id)?,
    })
}

fn given(given: &Given<'_>, names: &mut Names) -> Checked<Answer> {
    Ok(match given {
        Given::NoSuchSeat => Answer::NoSuchSeat,
        Given::NotApplied => Answer::NotApplied,
        Given::Unknown => Answer::Unknown,
        Given::Receipt {
            version: named,
            at,
            outcome: decided,
        } => Answer::Receipt {
            told: told(decided, names)?,
            version: version(*named)?,
            at: time(*at)?,
        },
    })
}

fn told(outcome: &OutcomeOf<'_>, names: &mut Names) -> Checked<Told> {
    Ok(match outcome {
        OutcomeOf::Held {
            hold_id: id,
            expires,
        } => Told::Held {
            hold_id: hold_id(*id)?,
            expires: time(*expires)?,
        },
        OutcomeOf::AlreadyHeld {
            hold_id: id,
            expires,
        } => Told::AlreadyHeld {
            hold_id: hold_id(*id)?,
            expires: time(*expires)?,
        },
        OutcomeOf::HeldUntil(until) => Told::HeldUntil(time(*until)?),
        OutcomeOf::SoldOut => Told::SoldOut,
        OutcomeOf::Released => Told::Released,
        OutcomeOf::NotHeld => Told::NotHeld,
        OutcomeOf::Sold => Told::Sold,
        OutcomeOf::RefundRequired {
            reason: why,
            recorded: None,
        } => Told::Refund(reason(*why)),
        OutcomeOf::RefundRequired {
            reason: why,
            recorded: Some(of),
        } => Told::RefundAgain(reason(*why), record(of, names)?),
        OutcomeOf::Duplicate(of) => Told::Duplicate(record(of, names)?),
        OutcomeOf::Conflict(of) => Told::Conflict(record(of, names)?),
        OutcomeOf::Seat(of) => Told::Seat(of.as_ref().map(|of| row(of, names)).transpose()?),
        OutcomeOf::Payment(of) => {
            Told::Payment(of.as_ref().map(|of| record(of, names)).transpose()?)
        }
    })
}

fn record(of: &RecordOf<'_>, names: &mut Names) -> Checked<RecordNo> {
    Ok(RecordNo {
        payment: payment(&of.payment, names)?,
        claim: claim(&of.claim, names)?,
        decision: match of.refund {
            None => Decision::Sold,
            Some(why) => Decision::RefundRequired(reason(why)),
        },
        version: version(of.version)?,
        decided_at: time(of.decided_at)?,
    })
}

fn row(of: &SeatOf<'_>, names: &mut Names) -> Checked<SeatRow> {
    let state = match &of.state {
        StateOf::Free => StateNo::Free,
        StateOf::Held {
            owner: by,
            hold_id: id,
            expires,
        } => StateNo::Held {
            owner: owner(by, names)?,
            hold_id: hold_id(*id)?,
            expires: time(*expires)?,
        },
        StateOf::Sold {
            owner: by,
            hold_id: id,
            payment: bought_by,
        } => StateNo::Sold {
            owner: owner(by, names)?,
            hold_id: hold_id(*id)?,
            payment: payment(bought_by, names)?,
        },
    };
    Ok(SeatRow {
        seat: seat(&of.seat, names)?,
        state,
        version: version(of.version)?,
        changed_at: time(of.changed_at)?,
    })
}

const fn reason(reason: Reason) -> RefundReason {
    match reason {
        Reason::UnknownSeat => RefundReason::UnknownSeat,
        Reason::NeverHeld => RefundReason::NeverHeld,
        Reason::AlreadySold => RefundReason::AlreadySold,
        Reason::Superseded => RefundReason::Superseded,
        Reason::WrongOwner => RefundReason::WrongOwner,
        Reason::Expired => RefundReason::Expired,
    }
}
