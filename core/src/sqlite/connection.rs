//! A pooled connection with its statements, and whether it may be lent again.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use self_cell::self_cell;

use super::pool::Open;
use crate::transition::{Sql, Statements};

self_cell! {
    /// Statements borrow their connection; here they live beside it, and are dropped before it.
    struct Prepared {
        owner: rusqlite::Connection,
        #[not_covariant]
        dependent: Statements,
    }
}

// SAFETY: A connection may go from thread to thread, but its statements refer to it, and two threads must
// not use it at once. They do not: nothing gives out the statements but `Connection::statements`, to whoever
// has the connection, for the length of a call; so all that refers to the connection goes with it. What the
// statements have besides may go from thread to thread by itself, as the assertion below has it.
#[allow(
    unsafe_code,
    reason = "a connection and what borrows it, sent together"
)]
unsafe impl Send for Prepared {}

const _: () = {
    const fn may_be_sent<T: Send>() {}
    may_be_sent::<rusqlite::Connection>();
    may_be_sent::<Arc<Sql>>();
};

/// A pooled connection, and whether it may be lent again.
pub(crate) struct Connection {
    prepared: Prepared,
    doubtful: Cell<bool>,
    busy_timeout: Duration,
    /// Dropped after the connection, and so not before the file is closed.
    _open: Open,
}

impl Connection {
    /// A connection that is set up, and waits for a lock so long.
    pub(super) fn new(
        sqlite: rusqlite::Connection,
        sql: Arc<Sql>,
        busy_timeout: Duration,
        open: Open,
    ) -> Self {
        Self {
            prepared: Prepared::new(sqlite, |sqlite| Statements::new(sqlite, sql)),
            doubtful: Cell::new(false),
            busy_timeout,
            _open: open,
        }
    }

    /// Uses the statements of the transitions.
    pub(super) fn statements<T>(&self, using: impl FnOnce(&Statements<'_>) -> T) -> T {
        self.prepared
            .with_dependent(|_, statements| using(statements))
    }

    /// Never lend this connection again: it is closed when it comes back.
    pub(super) fn doubt(&self) {
        self.doubtful.set(true);
    }

    /// Neither doubtful nor inside a transaction.
    pub(super) fn may_be_lent_again(&self) -> bool {
        !self.doubtful.get() && self.is_autocommit()
    }

    /// How long the connection waits for a lock when nothing else is asked for.
    pub(super) const fn full_timeout(&self) -> Duration {
        self.busy_timeout
    }
}

impl Deref for Connection {
    type Target = rusqlite::Connection;

    fn deref(&self) -> &rusqlite::Connection {
        self.prepared.borrow_owner()
    }
}
