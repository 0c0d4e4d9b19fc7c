//! One call of one client, in 64 bytes.

use soldonce::{Decision, HoldDuration, HoldId, RefundReason, Timestamp, Version};

use super::details::{Detail, Details};
use super::names::{OwnerNo, PaymentNo, SeatNo};

/// The instant at which a call returns whose result nobody will ever know: never.
pub const OPEN: u64 = u64::MAX;

/// Who called, and from when to when, in nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct When {
    /// The client: one thread of calls, one after the other.
    pub client: u16,
    /// Just before the call.
    pub invoked: u64,
    /// Just after it; [`OPEN`] when its result is not known.
    pub returned: u64,
}

/// A claim on a seat, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClaimNo {
    /// The seat.
    pub seat: SeatNo,
    /// Who claims it.
    pub owner: OwnerNo,
    /// Under which hold.
    pub hold_id: HoldId,
}

/// What was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// Take a seat for a while.
    Hold {
        /// The seat.
        seat: SeatNo,
        /// Who wants it.
        owner: OwnerNo,
        /// For how long.
        ttl: HoldDuration,
    },
    /// Give a hold back.
    Release(ClaimNo),
    /// Money came in.
    Confirm {
        /// The payment.
        payment: PaymentNo,
        /// What was paid for.
        claim: ClaimNo,
    },
    /// Read a seat.
    ReadSeat(SeatNo),
    /// Read what was decided about a payment.
    ReadPayment(PaymentNo),
}

/// A payment record that an answer carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordNo {
    /// Which payment.
    pub payment: PaymentNo,
    /// What it was made for.
    pub claim: ClaimNo,
    /// What was decided.
    pub decision: Decision,
    /// On or by which version of the seat.
    pub version: Version,
    /// When.
    pub decided_at: Timestamp,
}

/// A seat that an answer carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SeatRow {
    /// Which seat.
    pub seat: SeatNo,
    /// Free, held or sold.
    pub state: StateNo,
    /// How often it had changed.
    pub version: Version,
    /// When it last changed.
    pub changed_at: Timestamp,
}

/// The state of a seat, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StateNo {
    /// Anyone may hold it.
    Free,
    /// Held.
    Held {
        /// By whom.
        owner: OwnerNo,
        /// Under which hold.
        hold_id: HoldId,
        /// Until when.
        expires: Timestamp,
    },
    /// Sold.
    Sold {
        /// To whom.
        owner: OwnerNo,
        /// Under which hold.
        hold_id: HoldId,
        /// For which payment.
        payment: PaymentNo,
    },
}

/// What a receipt says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Told {
    /// Hold: the seat is yours.
    Held {
        /// The hold.
        hold_id: HoldId,
        /// Its end.
        expires: Timestamp,
    },
    /// Hold: you hold it already.
    AlreadyHeld {
        /// The hold.
        hold_id: HoldId,
        /// Its end.
        expires: Timestamp,
    },
    /// Hold: refused, somebody else holds it until then.
    HeldUntil(Timestamp),
    /// Hold: refused, it is sold.
    SoldOut,
    /// Release: given back.
    Released,
    /// Release: there is no such hold.
    NotHeld,
    /// Confirm: sold.
    Sold,
    /// Confirm: decided now that a refund is required.
    Refund(RefundReason),
    /// Confirm: a refund is required, as was recorded earlier.
    RefundAgain(RefundReason, RecordNo),
    /// Confirm: this payment bought this seat earlier.
    Duplicate(RecordNo),
    /// Confirm: the payment is known with another claim.
    Conflict(RecordNo),
    /// Read: the seat, or that there is none.
    Seat(Option<SeatRow>),
    /// Read: what is recorded about the payment, or that it is not known.
    Payment(Option<RecordNo>),
}

/// What came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// A receipt.
    Receipt {
        /// What it says.
        told: Told,
        /// The version it names.
        version: Version,
        /// The time it names.
        at: Timestamp,
    },
    /// The error that there is no such seat.
    NoSuchSeat,
    /// An error after which the call has certainly not taken effect.
    NotApplied,
    /// It may have taken effect, or not: the result never came.
    Unknown,
}

/// One call of one client, packed: see [`Operation::when`], [`Operation::call`], [`Operation::answer`].
///
/// Numbers of seat, owner and payment, both instants, the version and the time of the receipt stand
/// in it as they are. `argument` is the length of a hold, or the hold id of a claim. `value` is the
/// end of a hold, or a place in [`Details`] with, above it, the reason of a repeated refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    pub(crate) invoked: u64,
    pub(crate) returned: u64,
    pub(crate) version: i64,
    pub(crate) at: i64,
    argument: i64,
    value: i64,
    seat: u32,
    owner: u32,
    payment: u32,
    client: u16,
    call: CallKind,
    answer: AnswerKind,
}

const _: () = assert!(size_of::<Operation>() == 64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallKind {
    Hold,
    Release,
    Confirm,
    ReadSeat,
    ReadPayment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerKind {
    Held,
    HeldOtherwise,
    AlreadyHeld,
    AlreadyHeldOtherwise,
    HeldUntil,
    SoldOut,
    Released,
    NotHeld,
    Sold,
    Refund,
    RefundAgain,
    Duplicate,
    Conflict,
    Seat,
    NoSeat,
    Payment,
    NoPayment,
    NoSuchSeat,
    NotApplied,
    Unknown,
}

impl Operation {
    /// Packs a call. An unknown answer stays open, whatever `when` says.
    pub fn new(when: When, call: Call, answer: Answer, details: &mut Details) -> Self {
        let mut packed = Self {
            invoked: when.invoked,
            returned: when.returned,
            version: 0,
            at: 0,
            argument: 0,
            value: 0,
            seat: 0,
            owner: 0,
            payment: 0,
            client: when.client,
            call: CallKind::Hold,
            answer: AnswerKind::Unknown,
        };
        packed.pack_call(call);
        packed.pack_answer(answer, details);
        packed
    }

    fn pack_call(&mut self, call: Call) {
        match call {
            Call::Hold { seat, owner, ttl } => {
                (self.call, self.seat, self.owner) = (CallKind::Hold, seat.raw(), owner.raw());
                self.argument = ttl.as_millis();
            }
            Call::Release(claim) => {
                self.call = CallKind::Release;
                self.pack_claim(claim);
            }
            Call::Confirm { payment, claim } => {
                (self.call, self.payment) = (CallKind::Confirm, payment.raw());
                self.pack_claim(claim);
            }
            Call::ReadSeat(seat) => (self.call, self.seat) = (CallKind::ReadSeat, seat.raw()),
            Call::ReadPayment(payment) => {
                (self.call, self.payment) = (CallKind::ReadPayment, payment.raw());
            }
        }
    }

    fn pack_claim(&mut self, claim: ClaimNo) {
        (self.seat, self.owner) = (claim.seat.raw(), claim.owner.raw());
        self.argument = claim.hold_id.get();
    }

    fn pack_answer(&mut self, answer: Answer, details: &mut Details) {
        let (told, version, at) = match answer {
            Answer::Receipt { told, version, at } => (told, version, at),
            Answer::NoSuchSeat => return self.answer = AnswerKind::NoSuchSeat,
            Answer::NotApplied => return self.answer = AnswerKind::NotApplied,
            Answer::Unknown => {
                self.returned = OPEN;
                return self.answer = AnswerKind::Unknown;
            }
        };
        (self.version, self.at) = (version.get(), at.as_unix_millis());
        let mut hold = |usual, otherwise, hold_id: HoldId, expires: Timestamp| {
            if hold_id.version() == version {
                (usual, expires.as_unix_millis())
            } else {
                (
                    otherwise,
                    details.place(Detail::OtherHold(hold_id, expires)),
                )
            }
        };
        (self.answer, self.value) = match told {
            Told::Held { hold_id, expires } => hold(
                AnswerKind::Held,
                AnswerKind::HeldOtherwise,
                hold_id,
                expires,
            ),
            Told::AlreadyHeld { hold_id, expires } => hold(
                AnswerKind::AlreadyHeld,
                AnswerKind::AlreadyHeldOtherwise,
                hold_id,
                expires,
            ),
            Told::HeldUntil(expires) => (AnswerKind::HeldUntil, expires.as_unix_millis()),
            Told::SoldOut => (AnswerKind::SoldOut, 0),
            Told::Released => (AnswerKind::Released, 0),
            Told::NotHeld => (AnswerKind::NotHeld, 0),
            Told::Sold => (AnswerKind::Sold, 0),
            Told::Refund(reason) => (AnswerKind::Refund, reason as i64),
            Told::RefundAgain(reason, record) => (
                AnswerKind::RefundAgain,
                details.place(Detail::Record(record)) | (reason as i64) << 32,
            ),
            Told::Duplicate(record) => {
                (AnswerKind::Duplicate, details.place(Detail::Record(record)))
            }
            Told::Conflict(record) => (AnswerKind::Conflict, details.place(Detail::Record(record))),
            Told::Seat(Some(row)) => (AnswerKind::Seat, details.place(Detail::Seat(row))),
            Told::Seat(None) => (AnswerKind::NoSeat, 0),
            Told::Payment(Some(record)) => {
                (AnswerKind::Payment, details.place(Detail::Record(record)))
            }
            Told::Payment(None) => (AnswerKind::NoPayment, 0),
        };
    }

    /// Who called, and from when to when.
    pub const fn when(&self) -> When {
        When {
            client: self.client,
            invoked: self.invoked,
            returned: self.returned,
        }
    }

    /// Just before the call, in nanoseconds since the start.
    pub const fn invoked(&self) -> u64 {
        self.invoked
    }

    /// Just after it; [`OPEN`] when its result is not known.
    pub const fn returned(&self) -> u64 {
        self.returned
    }

    /// What was called.
    #[inline]
    pub fn call(&self) -> Call {
        match self.call {
            CallKind::Hold => Call::Hold {
                seat: SeatNo::from_raw(self.seat),
                owner: OwnerNo::from_raw(self.owner),
                ttl: HoldDuration::from_millis(self.argument).expect("packed from one"),
            },
            CallKind::Release => Call::Release(self.claim()),
            CallKind::Confirm => Call::Confirm {
                payment: PaymentNo::from_raw(self.payment),
                claim: self.claim(),
            },
            CallKind::ReadSeat => Call::ReadSeat(SeatNo::from_raw(self.seat)),
            CallKind::ReadPayment => Call::ReadPayment(PaymentNo::from_raw(self.payment)),
        }
    }

    #[inline]
    fn claim(&self) -> ClaimNo {
        ClaimNo {
            seat: SeatNo::from_raw(self.seat),
            owner: OwnerNo::from_raw(self.owner),
            hold_id: HoldId::new(self.argument).expect("packed from one"),
        }
    }

    /// What came back.
    #[inline]
    pub fn answer(&self, details: &Details) -> Answer {
        let told = match self.answer {
            AnswerKind::Held => Told::Held {
                hold_id: HoldId::from(self.named_version()),
                expires: time(self.value),
            },
            AnswerKind::HeldUntil => Told::HeldUntil(time(self.value)),
            AnswerKind::AlreadyHeld => Told::AlreadyHeld {
                hold_id: HoldId::from(self.named_version()),
                expires: time(self.value),
            },
            AnswerKind::SoldOut => Told::SoldOut,
            AnswerKind::Released => Told::Released,
            AnswerKind::NotHeld => Told::NotHeld,
            AnswerKind::Sold => Told::Sold,
            AnswerKind::Refund => Told::Refund(reason(self.value)),
            AnswerKind::RefundAgain => {
                Told::RefundAgain(reason(self.value >> 32), details.record(self.value))
            }
            AnswerKind::Duplicate => Told::Duplicate(details.record(self.value)),
            AnswerKind::Conflict => Told::Conflict(details.record(self.value)),
            AnswerKind::Seat => Told::Seat(Some(details.seat(self.value))),
            AnswerKind::NoSeat => Told::Seat(None),
            AnswerKind::Payment => Told::Payment(Some(details.record(self.value))),
            AnswerKind::NoPayment => Told::Payment(None),
            AnswerKind::HeldOtherwise => {
                let (hold_id, expires) = details.other_hold(self.value);
                Told::Held { hold_id, expires }
            }
            AnswerKind::AlreadyHeldOtherwise => {
                let (hold_id, expires) = details.other_hold(self.value);
                Told::AlreadyHeld { hold_id, expires }
            }
            AnswerKind::NoSuchSeat => return Answer::NoSuchSeat,
            AnswerKind::NotApplied => return Answer::NotApplied,
            AnswerKind::Unknown => return Answer::Unknown,
        };
        Answer::Receipt {
            told,
            version: self.named_version(),
            at: time(self.at),
        }
    }

    /// A hold that was refused because of another, as plain numbers. See `serializable::refusal`.
    #[inline]
    pub(crate) fn as_refused_hold(&self) -> Option<RefusedHold> {
        (self.answer == AnswerKind::HeldUntil && self.call == CallKind::Hold).then_some(
            RefusedHold {
                seat: self.seat as usize,
                owner: self.owner,
                ttl: self.argument,
                until: self.value,
            },
        )
    }

    /// Did this call make a hold of somebody else than this owner, until this time?
    #[inline]
    pub(crate) fn made_hold_against(&self, owner: u32, until: i64) -> bool {
        self.answer == AnswerKind::Held && self.owner != owner && self.value == until
    }

    /// The seat that the call is about, as far as the call alone tells, and the payment whose seat this is.
    #[inline]
    pub(crate) fn home(&self, details: &Details) -> Home {
        match self.answer {
            AnswerKind::RefundAgain
            | AnswerKind::Duplicate
            | AnswerKind::Conflict
            | AnswerKind::Payment => {
                let record = details.record(self.value);
                Home::Of(record.payment, record.claim.seat)
            }
            AnswerKind::Sold | AnswerKind::Refund | AnswerKind::Unknown
                if self.call == CallKind::Confirm =>
            {
                Home::Of(
                    PaymentNo::from_raw(self.payment),
                    SeatNo::from_raw(self.seat),
                )
            }
            _ if self.call == CallKind::ReadPayment => {
                Home::WhereDecided(PaymentNo::from_raw(self.payment))
            }
            _ => Home::Seat(SeatNo::from_raw(self.seat)),
        }
    }

    /// Every payment that the call or its answer names.
    pub(crate) fn payments(&self, details: &Details) -> impl Iterator<Item = PaymentNo> {
        let called = matches!(self.call, CallKind::Confirm | CallKind::ReadPayment)
            .then(|| PaymentNo::from_raw(self.payment));
        let carried = self
            .has_detail()
            .then(|| details.payment(self.value))
            .flatten();
        called.into_iter().chain(carried)
    }

    /// What the answer carries is kept in `to` from now on.
    pub(crate) fn move_detail(&mut self, from: &Details, to: &mut Details) {
        if self.has_detail() {
            let reason = self.value & !0xffff_ffff;
            self.value = to.place(from.at(self.value)) | reason;
        }
    }

    const fn has_detail(&self) -> bool {
        match self.answer {
            AnswerKind::HeldOtherwise
            | AnswerKind::AlreadyHeldOtherwise
            | AnswerKind::RefundAgain
            | AnswerKind::Duplicate
            | AnswerKind::Conflict
            | AnswerKind::Seat
            | AnswerKind::Payment => true,
            AnswerKind::Held
            | AnswerKind::AlreadyHeld
            | AnswerKind::HeldUntil
            | AnswerKind::SoldOut
            | AnswerKind::Released
            | AnswerKind::NotHeld
            | AnswerKind::Sold
            | AnswerKind::Refund
            | AnswerKind::NoSeat
            | AnswerKind::NoPayment
            | AnswerKind::NoSuchSeat
            | AnswerKind::NotApplied
            | AnswerKind::Unknown => false,
        }
    }

    #[inline]
    fn named_version(&self) -> Version {
        Version::new(self.version).expect("packed from one")
    }
}

/// Where a call belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Home {
    /// To this seat.
    Seat(SeatNo),
    /// To this seat, which is that of the payment, too.
    Of(PaymentNo, SeatNo),
    /// To the seat of this payment, wherever that is.
    WhereDecided(PaymentNo),
}

/// The most frequent call on a seat that is in demand, unpacked as far as needed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefusedHold {
    pub(crate) seat: usize,
    pub(crate) owner: u32,
    pub(crate) ttl: i64,
    pub(crate) until: i64,
}

#[inline]
fn time(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(millis).expect("packed from one")
}

fn reason(number: i64) -> RefundReason {
    let number = usize::try_from(number).expect("packed from a reason");
    RefundReason::ALL[number]
}

impl Told {
    /// Did the call change the seat? Then the receipt names the version that it made.
    pub const fn changed_seat(&self) -> bool {
        matches!(self, Self::Held { .. } | Self::Released | Self::Sold)
    }

    /// The payment record that the answer carries.
    pub const fn record(&self) -> Option<&RecordNo> {
        match self {
            Self::RefundAgain(_, record)
            | Self::Duplicate(record)
            | Self::Conflict(record)
            | Self::Payment(Some(record)) => Some(record),
            Self::Held { .. }
            | Self::AlreadyHeld { .. }
            | Self::HeldUntil(_)
            | Self::SoldOut
            | Self::Released
            | Self::NotHeld
            | Self::Sold
            | Self::Refund(_)
            | Self::Seat(_)
            | Self::Payment(None) => None,
        }
    }
}

impl Call {
    /// The seat that the call names; a read of a payment names none.
    pub const fn seat(&self) -> Option<SeatNo> {
        match self {
            Self::Hold { seat, .. } | Self::ReadSeat(seat) => Some(*seat),
            Self::Release(claim) | Self::Confirm { claim, .. } => Some(claim.seat),
            Self::ReadPayment(_) => None,
        }
    }
}
