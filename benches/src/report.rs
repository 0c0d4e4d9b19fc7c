//! The evidence of a bench: settings, audits, and the file itself.

use std::path::Path;

use evidence::{Builder, Check, Database, Kind, Verdict};
use soldonce::invariant::{Snapshot, audit};
use soldonce::{SeatStore as _, SqliteStore};

use crate::arguments::Arguments;
use crate::error::Error;

/// The most violations that are quoted.
const QUOTED: usize = 5;

/// Begins the evidence of a bench that begins now. Its command line stands in it as it was given,
/// and every reason why its figures are not comparable.
pub fn begin(arguments: &Arguments) -> Builder {
    let mut statement = Builder::new(Kind::Bench);
    for reason in arguments.not_comparable_because() {
        statement.not_comparable(reason);
    }
    statement
}

/// The database of a store, with its settings as they were read back.
pub fn database(store: &SqliteStore) -> Database {
    let settings = store.settings();
    let database = Database::new("SQLite", settings.sqlite_version.clone())
        .source_id(settings.sqlite_source_id.clone())
        .file_system(evidence::file_system(store.path()))
        .setting("compile_options", settings.compile_options.join(" "));
    settings
        .pragmas
        .iter()
        .fold(database, |database, (name, value)| {
            match value.parse::<i64>() {
                Ok(number) => database.setting(name, number),
                Err(_) => database.setting(name, value.as_str()),
            }
        })
}

/// Everything in the store, and the audit of it.
///
/// # Errors
/// [`Error::Store`] when it can not be read.
pub fn audited(name: &str, store: &SqliteStore) -> Result<(Snapshot, Check), Error> {
    let snapshot = store
        .snapshot()
        .map_err(Error::store("reading everything"))?;
    let check = check(name, &snapshot);
    Ok((snapshot, check))
}

fn check(name: &str, snapshot: &Snapshot) -> Check {
    let found = audit(snapshot);
    let rows = snapshot.seats.len() + snapshot.payments.len();
    // One row may break several rules, and no more rows than there are can be counted as bad.
    let violations = found.len().min(rows);
    let check = Check::passed(
        format!("audit of {name}"),
        "after the benches: at most one sale per seat, one decision per payment, versions that count \
         changes, rows of the right shape",
        rows as u64,
    );
    found
        .iter()
        .take(QUOTED)
        .fold(check.violations(violations as u64), |check, violation| {
            check.note(violation.to_string())
        })
}

/// Closes the evidence, writes it, and says where.
///
/// # Errors
/// [`Error::Build`], [`Error::Write`].
pub fn write(statement: Builder, fallback: &Path) -> Result<Verdict, Error> {
    let statement = statement.build()?;
    let path = statement.write(&evidence::runs_folder(fallback))?;
    let shown = evidence::workspace()
        .and_then(|root| path.strip_prefix(root).map(Path::to_path_buf).ok())
        .unwrap_or(path);
    let predicate = &statement.predicate;
    println!("evidence: {}", shown.display());
    if let Some(reason) = &predicate.not_comparable_because {
        println!("not comparable: {}", reason.replace("; ", ";\n  "));
    }
    Ok(predicate.verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::seat_id;
    use soldonce::{Seat, SeatState, Timestamp, Version};

    fn seat_at(version: i64) -> Seat {
        Seat {
            id: seat_id(1),
            state: SeatState::Free,
            version: Version::new(version).expect("valid"),
            changed_at: Timestamp::MIN,
        }
    }

    #[test]
    fn an_audit_that_finds_something_is_a_check_with_violations_and_says_what() {
        let good = Snapshot {
            seats: vec![seat_at(0)],
            payments: Vec::new(),
        };
        assert_eq!(check("calls", &good).violations.0, 0);
        let bad = Snapshot {
            seats: vec![seat_at(1)],
            ..good
        };
        let found = check("calls", &bad);
        assert_eq!((found.cases.0, found.violations.0), (1, 1));
        assert!(found.notes[0].contains("is free at version 1"), "{found:?}");
    }
}
