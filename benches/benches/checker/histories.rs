//! Large histories that hold, made from a simulated store that takes effect at one instant.

use model_check::history::{
    Answer, Call, ClaimNo, ClockRule, Header, History, OwnerNo, SeatNo, Told, When,
};
use soldonce::{
    HoldDuration, HoldId, OwnerId, PaymentId, RefundReason, SeatId, Timestamp, Version,
};

/// What the store's clock shows at instant 0.
const START: i64 = 1_700_000_000_000;

/// One call takes effect each so many nanoseconds.
const EACH: u64 = 500;

/// How a history looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) calls: u64,
    pub(crate) clients: u16,
    pub(crate) seats: u32,
}

struct Seat {
    number: SeatNo,
    version: i64,
    held: Option<(OwnerNo, i64)>,
    changed_at: i64,
}

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Of 100 calls 86 are holds, 8 give the seat back, and 6 are late payments, of which some come twice.
/// Holds last 1 to 20 ms, so about one call in ten changes the seat.
pub(crate) fn simulated(shape: Shape) -> History {
    let mut history = History {
        header: Header {
            clock: ClockRule::Tied {
                start: time(START),
                slack_millis: 0,
            },
            ..Header::default()
        },
        ..History::default()
    };
    let mut seats: Vec<Seat> = (0..shape.seats)
        .map(|number| Seat {
            number: history
                .names
                .seat(&SeatId::new(format!("s{number}")).expect("valid")),
            version: 0,
            held: None,
            changed_at: START,
        })
        .collect();
    let owners: Vec<OwnerNo> = (0..shape.clients)
        .map(|number| {
            history
                .names
                .owner(&OwnerId::new(format!("o{number}")).expect("valid"))
        })
        .collect();
    let mut numbers = Numbers(1);
    let lap = u64::from(shape.clients) * EACH;
    for call in 0..shape.calls {
        let client = usize::try_from(call % u64::from(shape.clients)).expect("small");
        let instant = lap + call * EACH;
        let now = START + i64::try_from(instant / 1_000_000).expect("small");
        let place = usize::try_from(numbers.below(u64::from(shape.seats))).expect("small");
        let (asked, told) = act(
            &mut history,
            &mut seats[place],
            owners[client],
            now,
            call,
            &mut numbers,
        );
        let when = When {
            client: u16::try_from(client).expect("small"),
            invoked: instant - numbers.below(lap / 2),
            returned: instant + numbers.below(lap / 2),
        };
        let answer = Answer::Receipt {
            told,
            version: Version::new(seats[place].version).expect("not negative"),
            at: time(now),
        };
        history.push(when, asked, answer);
    }
    history.sort();
    history
}

fn act(
    history: &mut History,
    seat: &mut Seat,
    owner: OwnerNo,
    now: i64,
    call: u64,
    numbers: &mut Numbers,
) -> (Call, Told) {
    let claim = |owner, version| ClaimNo {
        seat: seat.number,
        owner,
        hold_id: HoldId::new(version).expect("not negative"),
    };
    match numbers.below(100) {
        0..8 => match seat.held {
            Some((holder, _)) => {
                let claim = claim(holder, seat.version);
                (seat.version, seat.held, seat.changed_at) = (seat.version + 1, None, now);
                (Call::Release(claim), Told::Released)
            }
            None => (Call::Release(claim(owner, seat.version)), Told::NotHeld),
        },
        8..14 if seat.version > 1 => {
            let claim = claim(owner, 0);
            let payment = PaymentId::new(format!("p{call}")).expect("valid");
            let payment = history.names.payment(&payment);
            (
                Call::Confirm { payment, claim },
                Told::Refund(RefundReason::Superseded),
            )
        }
        _ => hold(seat, owner, now, numbers),
    }
}

fn hold(seat: &mut Seat, owner: OwnerNo, now: i64, numbers: &mut Numbers) -> (Call, Told) {
    let ttl = i64::try_from(1 + numbers.below(20)).expect("small");
    let asked = Call::Hold {
        seat: seat.number,
        owner,
        ttl: HoldDuration::from_millis(ttl).expect("in range"),
    };
    let hold_id = HoldId::new(seat.version).expect("not negative");
    let told = match seat.held {
        Some((holder, ends)) if now < ends && holder == owner => Told::AlreadyHeld {
            hold_id,
            expires: time(ends),
        },
        Some((_, ends)) if now < ends => Told::HeldUntil(time(ends)),
        Some(_) | None => {
            seat.version += 1;
            (seat.held, seat.changed_at) = (Some((owner, now + ttl)), now);
            Told::Held {
                hold_id: HoldId::new(seat.version).expect("not negative"),
                expires: time(now + ttl),
            }
        }
    };
    (asked, told)
}

fn time(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(millis).expect("in range")
}

/// What the system says this process takes now, in bytes; nothing where it does not say.
pub(crate) fn resident() -> Option<u64> {
    field("VmRSS:")
}

/// The most it has taken since [`forget_peak`].
pub(crate) fn peak() -> Option<u64> {
    field("VmHWM:")
}

/// Lets the peak begin anew, where the system can.
pub(crate) fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn field(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}
