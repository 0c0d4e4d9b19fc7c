//! Faults in giving a hold back.

use super::sql::{bare, patched, plant};
use super::{Mutant, caught};
use crate::sequence::Check::{Answer, Audit, Receipt};

pub(super) const MUTANTS: [Mutant; 8] = [
    Mutant::new(
        "M30",
        "release: owner and hold id are not compared",
        caught(Answer),
        |path, world| {
            patched(path, world, |sql| {
                plant(&mut sql.release, " AND owner = ?3 AND version = ?4", "");
            })
        },
    )
    .seen_in("redislock 93"),
    Mutant::new(
        "M31",
        "release: frees a sold seat",
        caught(Answer),
        |path, world| {
            bare(path, world, |sql| {
                plant(
                    &mut sql.release,
                    "state = 'held' AND owner = ?3 AND version = ?4",
                    "state IN ('held', 'sold') AND owner = ?3 AND hold_id = ?4",
                );
                plant(
                    &mut sql.release,
                    "expires = NULL,",
                    "expires = NULL, payment_id = NULL,",
                );
            })
        },
    )
    .seen_in("ticketmasters PR 3")
    .bare(),
    Mutant::new(
        "N10",
        "release: the owner is not compared",
        caught(Answer),
        |path, world| {
            patched(path, world, |sql| {
                plant(&mut sql.release, " AND owner = ?3", "");
            })
        },
    ),
    Mutant::new(
        "N11",
        "release: the hold id is not compared",
        caught(Answer),
        |path, world| {
            patched(path, world, |sql| {
                plant(&mut sql.release, " AND version = ?4", "");
            })
        },
    ),
    Mutant::new(
        "N12",
        "release: refused once the hold has expired",
        caught(Answer),
        |path, world| {
            patched(path, world, |sql| {
                plant(
                    &mut sql.release,
                    "state = 'held'",
                    "state = 'held' AND max(?2, changed_at) < expires",
                );
            })
        },
    ),
    Mutant::new(
        "N13",
        "release: the version does not grow, so a hold id can come back",
        caught(Receipt),
        |path, world| {
            bare(path, world, |sql| {
                plant(
                    &mut sql.release,
                    "version = version + 1",
                    "version = version",
                );
            })
        },
    )
    .bare(),
    Mutant::new(
        "N14",
        "release: soft, the hold is only made to end now",
        caught(Audit),
        |path, world| {
            bare(path, world, |sql| {
                plant(&mut sql.release, "state = 'free'", "state = 'held'");
                plant(
                    &mut sql.release,
                    "owner = NULL, hold_id = NULL, expires = NULL",
                    "hold_id = version + 1, expires = max(?2, changed_at)",
                );
            })
        },
    )
    .bare(),
    Mutant::new(
        "N15",
        "release: of every seat that the owner holds under that id",
        caught(Answer),
        |path, world| {
            patched(path, world, |sql| {
                plant(&mut sql.release, "seat_id = ?1 AND ", "");
            })
        },
    ),
];
