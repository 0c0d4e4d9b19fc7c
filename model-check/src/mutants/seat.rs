//! Faults in who gets a seat and for how long: in the statements of hold, and in time.

use std::sync::Arc;

use soldonce::{
    Clock, HoldOutcome, HoldRefusal, HoldRequest, Receipt, Seat, SeatId, SeatState, SeatStore,
    SeatsAdded, StoreError,
};

use super::sql::{bare, patched, plant};
use super::wrap::{Wrap, Wrapped};
use super::{Mutant, caught, only_in_sequences};
use crate::sequence::Check::{self, Answer, State};
use crate::store_choice::{Real, Subject as _};

const GUARD: &str =
    "AND (state = 'free' OR state = 'held' AND NOT (max(?2, changed_at) < expires))";
const LIVE: &str = "(max(?2, changed_at) < expires)";

pub(super) const MUTANTS: [Mutant; 15] = [
    Mutant::new(
        "M02",
        "hold: no guard on the state, and the row count is ignored",
        caught(Answer),
        |path, world| {
            bare(path, world, |sql| {
                plant(&mut sql.hold, GUARD, "");
                plant(
                    &mut sql.hold,
                    "state = 'held',",
                    "state = 'held', payment_id = NULL,",
                );
            })
        },
    )
    .bare(),
    Mutant::new(
        "M07",
        "hold: an expired hold can be taken only after the instant it ends",
        caught(Answer),
        |path, world| {
            patched(path, world, |sql| {
                plant(
                    &mut sql.hold,
                    "NOT (max(?2, changed_at) < expires)",
                    "max(?2, changed_at) > expires",
                );
            })
        },
    ),
    Mutant::new(
        "M11",
        "time: a clock that steps back is believed",
        caught(Answer),
        |path, world| {
            bare(path, world, |sql| {
                for statement in [&mut sql.hold, &mut sql.release, &mut sql.confirm] {
                    plant(statement, "max(?2, changed_at)", "?2");
                }
            })
        },
    )
    .bare(),
    Mutant::new(
        "M34",
        "hold: only a sweeper, which does not run, ends a hold",
        caught(Answer),
        |path, world| {
            patched(path, world, |sql| {
                plant(&mut sql.hold, GUARD, "AND state = 'free'");
            })
        },
    )
    .seen_in("Attendize 1000"),
    Mutant::new(
        "N01",
        "hold: asking again extends the hold",
        caught(Answer),
        |path, world| {
            patched(path, world, |sql| {
                plant(
                    &mut sql.hold,
                    LIVE,
                    "(max(?2, changed_at) < expires AND owner <> ?3)",
                );
            })
        },
    ),
    Mutant::new(
        "N02",
        "hold: taking over an expired hold keeps its version and hold id",
        caught(Answer),
        |path, world| {
            bare(path, world, |sql| {
                plant(&mut sql.hold, "version + 1", "version + (state = 'free')");
            })
        },
    )
    .bare(),
    Mutant::new(
        "N03",
        "hold: its length is cut to whole seconds",
        caught(Answer),
        |path, world| {
            bare(path, world, |sql| {
                plant(&mut sql.hold, "+ ?4", "+ (?4 / 1000) * 1000");
            })
        },
    )
    .bare(),
    Mutant::new(
        "N04",
        "hold: the seat id is missing in the guard, every free seat is held",
        caught(State),
        |path, world| {
            patched(path, world, |sql| {
                plant(&mut sql.hold, "seat_id = ?1 AND ", "");
            })
        },
    ),
    Mutant::new(
        "N05",
        "release, confirm: owners are compared without regard to case",
        caught(Answer),
        |path, world| {
            bare(path, world, |sql| {
                for statement in [&mut sql.release, &mut sql.confirm] {
                    plant(statement, "owner = ?3", "owner = ?3 COLLATE NOCASE");
                }
            })
        },
    )
    .bare(),
    Mutant::new(
        "N06",
        "hold: the time of the change is not kept",
        caught(State),
        |path, world| {
            patched(path, world, |sql| {
                plant(
                    &mut sql.hold,
                    "changed_at = max(?2, changed_at)\n",
                    "changed_at = changed_at\n",
                );
            })
        },
    ),
    Mutant::new(
        "N07",
        "confirm: the version does not grow with the sale",
        caught(Check::Receipt),
        |path, world| {
            bare(path, world, |sql| {
                plant(
                    &mut sql.confirm,
                    "version = version + 1",
                    "version = version",
                );
            })
        },
    )
    .bare(),
    Mutant::new(
        "N08",
        "hold: its length is cut at a limit that nobody is told of",
        caught(Answer),
        |path, world| {
            patched(path, world, |sql| {
                plant(&mut sql.hold, "+ ?4", "+ min(?4, 10)");
            })
        },
    ),
    Mutant::new(
        "N09",
        "hold: a sold seat says so before it is looked at when the hold would end",
        caught(Answer),
        |path, world| {
            let inner = Real::default().open(path, world)?;
            Ok(Box::new(Wrapped(SoldFirst(inner))))
        },
    ),
    Mutant::new(
        "N35",
        "add: seats that are there already count as added",
        only_in_sequences(Answer),
        |path, world| {
            let inner = Real::default().open(path, world)?;
            Ok(Box::new(Wrapped(AllAreNew(inner))))
        },
    ),
    Mutant::new(
        "N36",
        "read: a clock that stepped back is believed, the receipt is older than what it says",
        caught(State),
        |path, world| {
            let inner = Real::default().open(path, world)?;
            let clock = world.clock.clone();
            Ok(Box::new(Wrapped(OlderThanItSays { inner, clock })))
        },
    ),
];

/// N09: valid or not, the seat is gone.
struct SoldFirst(Box<dyn SeatStore>);

impl Wrap for SoldFirst {
    fn inner(&self) -> &dyn SeatStore {
        &*self.0
    }

    fn hold(&self, request: &HoldRequest) -> Result<Receipt<HoldOutcome>, StoreError> {
        let answer = self.0.hold(request);
        if let Err(StoreError::Invalid(_)) = answer {
            let read = self.0.seat(&request.seat)?;
            if let Some(SeatState::Sold { .. }) = read.outcome.as_ref().map(|seat| &seat.state) {
                return Ok(read.map(|_| HoldOutcome::Refused(HoldRefusal::Sold)));
            }
        }
        answer
    }
}

/// N35: what was asked for is what is counted.
struct AllAreNew(Box<dyn SeatStore>);

impl Wrap for AllAreNew {
    fn inner(&self) -> &dyn SeatStore {
        &*self.0
    }

    fn add_seats(&self, seats: &[SeatId]) -> Result<SeatsAdded, StoreError> {
        self.0.add_seats(seats)?;
        Ok(SeatsAdded {
            added: seats.len() as u64,
            already_there: 0,
        })
    }
}

/// N36: the time of a read is that of the clock, whatever was read.
struct OlderThanItSays {
    inner: Box<dyn SeatStore>,
    clock: Arc<dyn Clock>,
}

impl Wrap for OlderThanItSays {
    fn inner(&self) -> &dyn SeatStore {
        &*self.inner
    }

    fn seat(&self, seat: &SeatId) -> Result<Receipt<Option<Seat>>, StoreError> {
        let mut read = self.inner.seat(seat)?;
        read.at = self.clock.now();
        Ok(read)
    }
}
