//! From numbers to a line.

use std::borrow::Cow;

use soldonce::{Decision, RefundReason};

use super::FORM;
use super::lines::{
    Asked, BegunLine, CallLine, ClaimOf, ClockLine, EndedLine, Given, HeaderLine, OutcomeOf,
    Reason, RecordOf, SeatOf, StateOf,
};
use crate::history::{
    Answer, Call, ClaimNo, ClockRule, Details, Header, Names, OPEN, Operation, OwnerNo, PaymentNo,
    RecordNo, SeatNo, SeatRow, StateNo, Told,
};

fn seat(number: SeatNo, names: &Names) -> Cow<'_, str> {
    names.seat_id(number).as_str().into()
}

fn owner(number: OwnerNo, names: &Names) -> Cow<'_, str> {
    names.owner_id(number).as_str().into()
}

fn payment(number: PaymentNo, names: &Names) -> Cow<'_, str> {
    names.payment_id(number).as_str().into()
}

pub(super) fn header<'a>(header: &Header, names: &'a Names) -> HeaderLine<'a> {
    HeaderLine {
        soldonce_history: FORM,
        clock: match header.clock {
            ClockRule::Free => None,
            ClockRule::Tied {
                start,
                slack_millis,
            } => Some(ClockLine {
                start: start.as_unix_millis(),
                slack: slack_millis,
            }),
        },
        seats_added_at: header
            .seats_added_at
            .map(soldonce::Timestamp::as_unix_millis),
        missing_seats: header
            .missing_seats
            .iter()
            .map(|missing| seat(*missing, names))
            .collect(),
    }
}

pub(super) fn call<'a>(operation: &Operation, names: &'a Names, details: &Details) -> CallLine<'a> {
    CallLine {
        client: operation.when().client,
        invoked: operation.invoked(),
        returned: Some(operation.returned()).filter(|returned| *returned != OPEN),
        call: asked(&operation.call(), names),
        answer: given(&operation.answer(details), names),
    }
}

pub(super) fn begun<'a>(client: u16, invoked: u64, call: &Call, names: &'a Names) -> BegunLine<'a> {
    BegunLine {
        client,
        invoked,
        call: asked(call, names),
    }
}

pub(super) fn ended<'a>(returned: u64, answer: &Answer, names: &'a Names) -> EndedLine<'a> {
    EndedLine {
        returned: Some(returned).filter(|_| *answer != Answer::Unknown),
        answer: given(answer, names),
    }
}

fn asked<'a>(call: &Call, names: &'a Names) -> Asked<'a> {
    match call {
        Call::Hold {
            seat: number,
            owner: by,
            ttl,
        } => Asked::Hold {
            seat: seat(*number, names),
            owner: owner(*by, names),
            ttl: ttl.as_millis(),
        },
        Call::Release(of) => Asked::Release(claim(of, names)),
        Call::Confirm {
            payment: number,
            claim: of,
        } => Asked::ConfirmPayment {
            payment: payment(*number, names),
            claim: claim(of, names),
        },
        Call::ReadSeat(number) => Asked::ReadSeat(seat(*number, names)),
        Call::ReadPayment(number) => Asked::ReadPayment(payment(*number, names)),
    }
}

fn claim<'a>(of: &ClaimNo, names: &'a Names) -> ClaimOf<'a> {
    ClaimOf {
        seat: seat(of.seat, names),
        owner: owner(of.owner, names),
        hold_id: of.hold_id.get(),
    }
}

fn given<'a>(answer: &Answer, names: &'a Names) -> Given<'a> {
    match answer {
        Answer::NoSuchSeat => Given::NoSuchSeat,
        Answer::NotApplied => Given::NotApplied,
        Answer::Unknown => Given::Unknown,
        Answer::Receipt { told, version, at } => Given::Receipt {
            version: version.get(),
            at: at.as_unix_millis(),
            outcome: outcome(told, names),
        },
    }
}

fn outcome<'a>(told: &Told, names: &'a Names) -> OutcomeOf<'a> {
    match told {
        Told::Held { hold_id, expires } => OutcomeOf::Held {
            hold_id: hold_id.get(),
            expires: expires.as_unix_millis(),
        },
        Told::AlreadyHeld { hold_id, expires } => OutcomeOf::AlreadyHeld {
            hold_id: hold_id.get(),
            expires: expires.as_unix_millis(),
        },
        Told::HeldUntil(until) => OutcomeOf::HeldUntil(until.as_unix_millis()),
        Told::SoldOut => OutcomeOf::SoldOut,
        Told::Released => OutcomeOf::Released,
        Told::NotHeld => OutcomeOf::NotHeld,
        Told::Sold => OutcomeOf::Sold,
        Told::Refund(why) => OutcomeOf::RefundRequired {
            reason: reason(*why),
            recorded: None,
        },
        Told::RefundAgain(why, of) => OutcomeOf::RefundRequired {
            reason: reason(*why),
            recorded: Some(record(of, names)),
        },
        Told::Duplicate(of) => OutcomeOf::Duplicate(record(of, names)),
        Told::Conflict(of) => OutcomeOf::Conflict(record(of, names)),
        Told::Seat(of) => OutcomeOf::Seat(of.as_ref().map(|of| row(of, names))),
        Told::Payment(of) => OutcomeOf::Payment(of.as_ref().map(|of| record(of, names))),
    }
}

fn record<'a>(of: &RecordNo, names: &'a Names) -> RecordOf<'a> {
    RecordOf {
        payment: payment(of.payment, names),
        claim: claim(&of.claim, names),
        refund: match of.decision {
            Decision::Sold => None,
            Decision::RefundRequired(why) => Some(reason(why)),
        },
        version: of.version.get(),
        decided_at: of.decided_at.as_unix_millis(),
    }
}

fn row<'a>(of: &SeatRow, names: &'a Names) -> SeatOf<'a> {
    SeatOf {
        seat: seat(of.seat, names),
        state: match of.state {
            StateNo::Free => StateOf::Free,
            StateNo::Held {
                owner: by,
                hold_id,
                expires,
            } => StateOf::Held {
                owner: owner(by, names),
                hold_id: hold_id.get(),
                expires: expires.as_unix_millis(),
            },
            StateNo::Sold {
                owner: by,
                hold_id,
                payment: bought_by,
            } => StateOf::Sold {
                owner: owner(by, names),
                hold_id: hold_id.get(),
                payment: payment(bought_by, names),
            },
        },
        version: of.version.get(),
        changed_at: of.changed_at.as_unix_millis(),
    }
}

const fn reason(reason: RefundReason) -> Reason {
    match reason {
        RefundReason::UnknownSeat => Reason::UnknownSeat,
        RefundReason::NeverHeld => Reason::NeverHeld,
        RefundReason::AlreadySold => Reason::AlreadySold,
        RefundReason::Superseded => Reason::Superseded,
        RefundReason::WrongOwner => Reason::WrongOwner,
        RefundReason::Expired => Reason::Expired,
    }
}
