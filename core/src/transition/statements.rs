//! The statements of the transitions on one connection, each prepared when it is first used, and kept.
//!
//! The cache of rusqlite finds a statement by its text: for each use it copies the text, allocates for it, and
//! hashes it twice. A refusal is one short statement, and would feel that; see ARCHITECTURE.md.

use std::cell::{RefCell, RefMut};
use std::sync::Arc;

use rusqlite::{Connection, PrepFlags, Result, Statement};

use super::Sql;

/// The statements of [`Sql`] on one connection.
///
/// Each is given out to one user at a time; one that still has a row open when it is asked for again is a
/// panic. Whoever is done with its rows leaves it reset.
pub(crate) struct Statements<'c> {
    connection: &'c Connection,
    sql: Arc<Sql>,
    hold: Kept<'c>,
    release: Kept<'c>,
    confirm: Kept<'c>,
    record_payment: Kept<'c>,
    find_payment: Kept<'c>,
    find_seat: Kept<'c>,
}

#[derive(Default)]
struct Kept<'c>(RefCell<Option<Statement<'c>>>);

impl<'c> Statements<'c> {
    /// None is prepared yet.
    pub(crate) fn new(connection: &'c Connection, sql: Arc<Sql>) -> Self {
        Self {
            connection,
            sql,
            hold: Kept::default(),
            release: Kept::default(),
            confirm: Kept::default(),
            record_payment: Kept::default(),
            find_payment: Kept::default(),
            find_seat: Kept::default(),
        }
    }

    /// [`Sql::hold`].
    pub(crate) fn hold(&self) -> Result<RefMut<'_, Statement<'c>>> {
        self.hold.get(self.connection, &self.sql.hold)
    }

    /// [`Sql::release`].
    pub(crate) fn release(&self) -> Result<RefMut<'_, Statement<'c>>> {
        self.release.get(self.connection, &self.sql.release)
    }

    /// [`Sql::confirm`].
    pub(crate) fn confirm(&self) -> Result<RefMut<'_, Statement<'c>>> {
        self.confirm.get(self.connection, &self.sql.confirm)
    }

    /// [`Sql::record_payment`].
    pub(crate) fn record_payment(&self) -> Result<RefMut<'_, Statement<'c>>> {
        let sql = &self.sql.record_payment;
        self.record_payment.get(self.connection, sql)
    }

    /// [`Sql::find_payment`].
    pub(crate) fn find_payment(&self) -> Result<RefMut<'_, Statement<'c>>> {
        let sql = &self.sql.find_payment;
        self.find_payment.get(self.connection, sql)
    }

    /// [`Sql::find_seat`].
    pub(crate) fn find_seat(&self) -> Result<RefMut<'_, Statement<'c>>> {
        self.find_seat.get(self.connection, &self.sql.find_seat)
    }
}

impl<'c> Kept<'c> {
    fn get(&self, connection: &'c Connection, sql: &str) -> Result<RefMut<'_, Statement<'c>>> {
        let mut kept = self.0.borrow_mut();
        if kept.is_none() {
            let flags = PrepFlags::SQLITE_PREPARE_PERSISTENT;
            *kept = Some(connection.prepare_with_flags(sql, flags)?);
        }
        Ok(RefMut::map(kept, |kept| {
            kept.as_mut().expect("prepared above")
        }))
    }
}
