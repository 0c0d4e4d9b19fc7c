//! Small random histories of every kind: right ones from a simulated store that takes effect at one
//! instant, and ones with a planted fault.
//!
//! Few seats, owners, payments and milliseconds, so that everything collides.

mod plant;

use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use soldonce::{
    Claim, Command, HoldDuration, HoldId, HoldRequest, OwnerId, PaymentId, SeatId, Timestamp,
};

use crate::history::{Answer, Call, ClockRule, Header, History, OPEN, When};
use crate::reference::{State, decide};

/// What is special about a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Nothing: every call took effect at one instant within it.
    Valid,
    /// Right, and some calls of unknown result, of which some took effect.
    ValidUnknown,
    /// An answer was given on a state from before.
    StaleRead,
    /// A change was worked out on a state from before and written over what had changed since.
    LostUpdate,
    /// A payment was decided on a state from before, and sold the seat once more.
    DoubleSale,
    /// One answer is another one.
    WrongOutcome,
    /// A time in an answer is off.
    WrongTime,
    /// The version in an answer is off.
    WrongVersion,
    /// A call is said to have run earlier or later than it did.
    Moved,
    /// A call that took effect is missing.
    Missing,
    /// One payment for two seats; a read of it, or a second decision, looked at an old state.
    TwoSeats,
    /// A record in an answer is not the one that was made.
    WrongRecord,
    /// Of unknown result, and one more fault of any kind.
    UnknownAndFault,
    /// Several changes in a row are of unknown result, and answers between them are missing.
    UnknownChain,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::Valid,
        Self::ValidUnknown,
        Self::StaleRead,
        Self::LostUpdate,
        Self::DoubleSale,
        Self::WrongOutcome,
        Self::WrongTime,
        Self::WrongVersion,
        Self::Moved,
        Self::Missing,
        Self::TwoSeats,
        Self::WrongRecord,
        Self::UnknownAndFault,
        Self::UnknownChain,
    ];

    /// The kind in a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "right",
            Self::ValidUnknown => "right, with unknown results",
            Self::StaleRead => "stale read",
            Self::LostUpdate => "lost update",
            Self::DoubleSale => "double sale",
            Self::WrongOutcome => "wrong outcome",
            Self::WrongTime => "wrong time",
            Self::WrongVersion => "wrong version",
            Self::Moved => "call moved in time",
            Self::Missing => "call missing",
            Self::TwoSeats => "one payment, two seats",
            Self::WrongRecord => "wrong payment record",
            Self::UnknownAndFault => "unknown results and a fault",
            Self::UnknownChain => "unknown changes in a row",
        }
    }

    const fn unknown_per_cent(self) -> u32 {
        match self {
            Self::ValidUnknown | Self::UnknownAndFault => 30,
            Self::UnknownChain => 45,
            _ => 0,
        }
    }

    const fn stale_per_cent(self) -> u32 {
        match self {
            Self::StaleRead | Self::LostUpdate | Self::DoubleSale | Self::TwoSeats => 25,
            _ => 0,
        }
    }
}

/// The random history of this kind with this seed.
pub fn history(kind: Kind, seed: u64) -> History {
    let mut run = Run::new(kind, seed);
    run.run();
    run.finish()
}

/// Half a millisecond, in nanoseconds: the step of the simulated time.
const STEP: u64 = 500_000;

struct Run {
    kind: Kind,
    rng: ChaCha8Rng,
    history: History,
    state: State,
    /// States from before, newest last.
    past: Vec<State>,
    seats: Vec<SeatId>,
    owners: Vec<OwnerId>,
    payments: Vec<PaymentId>,
    clients: Vec<Option<Running>>,
    now: u64,
    to_start: usize,
    /// How far the store's clock is off, when it is not tied to the instants.
    stepped: i64,
}

#[derive(Clone)]
enum Asked {
    Command(Command),
    Seat(SeatId),
    Payment(PaymentId),
}

struct Running {
    asked: Asked,
    invoked: u64,
    /// What a snapshot showed, for an answer that is worked out later.
    snapshot: Option<State>,
    answer: Option<Answer>,
}

impl Run {
    fn new(kind: Kind, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let two_seats = kind == Kind::TwoSeats || rng.random_ratio(1, 3);
        let text = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let seats = if two_seats {
            text(&["s", "t"])
        } else {
            text(&["s"])
        };
        let seats: Vec<SeatId> = seats
            .iter()
            .map(|id| SeatId::new(id).expect("valid"))
            .collect();
        let start = Timestamp::from_unix_millis(1000).expect("in range");
        let clock = match rng.random_range(0..10) {
            0 | 1 => ClockRule::Free,
            2 => ClockRule::Tied {
                start,
                slack_millis: 1,
            },
            _ => ClockRule::Tied {
                start,
                slack_millis: 0,
            },
        };
        let mut history = History::default();
        let mut state = State::default();
        for seat in &seats {
            history.names.seat(seat);
            state.add(seat, start);
        }
        history.header = Header {
            clock,
            seats_added_at: rng.random_bool(0.7).then_some(start),
            missing_seats: Vec::new(),
        };
        if rng.random_ratio(1, 12) {
            let missing = seats.last().expect("there is one");
            state.seats.remove(missing);
            history
                .header
                .missing_seats
                .push(history.names.seat(missing));
        }
        let clients = rng.random_range(2..=4);
        Self {
            kind,
            history,
            past: vec![state.clone()],
            state,
            seats,
            owners: ["A", "B"]
                .map(|id| OwnerId::new(id).expect("valid"))
                .to_vec(),
            payments: ["p", "q"]
                .map(|id| PaymentId::new(id).expect("valid"))
                .to_vec(),
            clients: (0..clients).map(|_| None).collect(),
            now: 0,
            to_start: rng.random_range(4..=if kind.unknown_per_cent() > 0 { 9 } else { 11 }),
            stepped: 0,
            rng,
        }
    }

    fn run(&mut self) {
        while self.to_start > 0 || self.clients.iter().any(Option::is_some) {
            self.now += STEP * self.rng.random_range(0..=3);
            if self.history.header.clock == ClockRule::Free && self.rng.random_ratio(1, 8) {
                self.stepped = self.rng.random_range(-4..=4);
            }
            let client = self.rng.random_range(0..self.clients.len());
            match self.clients[client].take() {
                None if self.to_start == 0 => {}
                None => {
                    self.to_start -= 1;
                    let asked = self.ask();
                    self.clients[client] = Some(Running {
                        asked,
                        invoked: self.now,
                        snapshot: None,
                        answer: None,
                    });
                }
                Some(running) => self.go_on(client, running),
            }
        }
    }

    /// The next event of a call: it looks, it takes effect, it returns.
    fn go_on(&mut self, client: usize, mut running: Running) {
        if let Some(answer) = running.answer {
            let (answer, returned) = if self.rng.random_range(0..100) < self.kind.unknown_per_cent()
            {
                (Answer::Unknown, OPEN)
            } else {
                (answer, self.now)
            };
            return self.record(client, &running, answer, returned);
        }
        if self.rng.random_range(0..100) < self.kind.unknown_per_cent() / 3 {
            // It ended before it took effect.
            return self.record(client, &running, Answer::Unknown, OPEN);
        }
        match running.snapshot.take() {
            None if self.rng.random_ratio(1, 4) => running.snapshot = Some(self.state.clone()),
            snapshot => running.answer = Some(self.take_effect(&running.asked, snapshot)),
        }
        self.clients[client] = Some(running);
    }

    fn record(&mut self, client: usize, running: &Running, answer: Answer, returned: u64) {
        let call = match &running.asked {
            Asked::Command(command) => self.history.names.call(command),
            Asked::Seat(seat) => Call::ReadSeat(self.history.names.seat(seat)),
            Asked::Payment(payment) => Call::ReadPayment(self.history.names.payment(payment)),
        };
        let when = When {
            client: u16::try_from(client).expect("few"),
            invoked: running.invoked,
            returned,
        };
        self.history.push(when, call, answer);
    }

    fn clock(&self) -> Timestamp {
        let millis = 1000 + i64::try_from(self.now / 1_000_000).expect("small") + self.stepped;
        Timestamp::from_unix_millis(millis).expect("in range")
    }

    fn take_effect(&mut self, asked: &Asked, snapshot: Option<State>) -> Answer {
        let at = self.clock();
        let stale = self.rng.random_range(0..100) < self.kind.stale_per_cent();
        let seen = if stale {
            Some(
                self.past
                    .choose(&mut self.rng)
                    .expect("never empty")
                    .clone(),
            )
        } else {
            snapshot
        };
        match asked {
            Asked::Seat(seat) => {
                let receipt = seen.as_ref().unwrap_or(&self.state).seat(seat, at);
                let names = &mut self.history.names;
                names.told_seat(receipt.outcome.as_ref()).receipt(&receipt)
            }
            Asked::Payment(payment) => {
                let receipt = seen.as_ref().unwrap_or(&self.state).payment(payment, at);
                let names = &mut self.history.names;
                names
                    .told_payment(receipt.outcome.as_ref())
                    .receipt(&receipt)
            }
            Asked::Command(command) => self.command(command, seen, stale, at),
        }
    }

    fn command(
        &mut self,
        command: &Command,
        seen: Option<State>,
        stale: bool,
        at: Timestamp,
    ) -> Answer {
        if let Some(seen) = seen
            && let Ok(decided) = decide(seen.view(command), command, at)
        {
            let changes = decided.seat.is_some() || decided.record.is_some();
            if !changes || stale && self.kind != Kind::StaleRead {
                if let Some(seat) = decided.seat {
                    self.state.seats.insert(seat.id.clone(), seat);
                }
                if let Some(record) = decided.record {
                    self.state.payments.insert(record.payment.clone(), record);
                }
                let told = self.history.names.told(&decided.receipt.outcome);
                return told.receipt(&decided.receipt);
            }
        }
        match self.state.apply(command, at) {
            Err(_) => Answer::NoSuchSeat,
            Ok(decided) => {
                self.past.push(self.state.clone());
                let told = self.history.names.told(&decided.receipt.outcome);
                told.receipt(&decided.receipt)
            }
        }
    }

    /// A call that is likely to matter.
    fn ask(&mut self) -> Asked {
        let seat = self.seats.choose(&mut self.rng).expect("some").clone();
        let owner = self.owners.choose(&mut self.rng).expect("some").clone();
        let payment = self.payments.choose(&mut self.rng).expect("some").clone();
        let (version, holder) = match self.state.seats.get(&seat) {
            None => (0, None),
            Some(seat) => (
                seat.version.get(),
                match &seat.state {
                    soldonce::SeatState::Held { owner, .. } => Some(owner.clone()),
                    _ => None,
                },
            ),
        };
        let usual = self.rng.random_bool(0.75);
        let claim = Claim {
            seat: seat.clone(),
            owner: holder.filter(|_| usual).unwrap_or(owner.clone()),
            hold_id: HoldId::new(if usual {
                version
            } else {
                self.rng.random_range(0..=version + 1)
            })
            .expect("not negative"),
        };
        match self.rng.random_range(0..100) {
            0..40 => {
                let ttl = if self.rng.random_bool(0.7) { 3 } else { 5 };
                let ttl = HoldDuration::from_millis(ttl).expect("in range");
                Asked::Command(Command::Hold(HoldRequest { seat, owner, ttl }))
            }
            40..56 => Asked::Command(Command::Release(claim)),
            56..80 => Asked::Command(Command::ConfirmPayment { payment, claim }),
            80..90 => Asked::Seat(seat),
            _ => Asked::Payment(payment),
        }
    }
}

/// A seed for one case among many.
pub(super) fn seed_of(seed: u64, case: u64) -> u64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(case);
    rng.next_u64()
}
