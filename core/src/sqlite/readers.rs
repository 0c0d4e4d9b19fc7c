//! Reading connections, lent without a lock that others want as long as one is free.
//!
//! The pool's own way of lending takes one lock for all and reads the time more than once, which a refusal
//! would feel. So connections that come back are kept aside, on a shelf with a place for each, and the pool is
//! asked only when there is none: then it opens one, or waits for one.

use std::ops::Deref;
use std::time::Duration;

use r2d2::{Pool, PooledConnection};

use super::connection::Connection;
use super::pool::{self, Manager};
use super::shelf::Shelf;
use crate::error::StoreError;

/// The connections of a store that reads go through.
pub(super) struct Readers {
    pool: Pool<Manager>,
    /// None when the pool is shared with writers, who could not get at what is kept aside.
    aside: Option<Shelf<Box<PooledConnection<Manager>>>>,
    timeout: Duration,
}

impl Readers {
    /// Readers of their own pool.
    pub(super) fn of_their_own(pool: Pool<Manager>, timeout: Duration) -> Self {
        let size = usize::try_from(pool.max_size()).unwrap_or(1);
        Self {
            aside: Some(Shelf::with_room_for(size, processor)),
            ..Self::shared_with_writers(pool, timeout)
        }
    }

    /// Readers of a pool that writers use, too.
    pub(super) const fn shared_with_writers(pool: Pool<Manager>, timeout: Duration) -> Self {
        Self {
            pool,
            aside: None,
            timeout,
        }
    }

    /// Borrows a connection. None to be had in time is [`StoreError::Busy`].
    pub(super) fn lend(&self) -> Result<Reader<'_>, StoreError> {
        let from_pool = || pool::lend(&self.pool, self.timeout).map(Box::new);
        let connection = match &self.aside {
            Some(aside) => aside.take(from_pool),
            None => from_pool(),
        }?;
        Ok(Reader {
            readers: self,
            connection: Some(connection),
        })
    }

    /// What is dropped here goes to the pool, which closes what must not be lent again.
    fn put_back(&self, connection: Box<PooledConnection<Manager>>) {
        if let Some(aside) = &self.aside
            && connection.may_be_lent_again()
        {
            aside.put_back(connection, drop);
        }
    }
}

/// The number of the processor that this thread runs on at the moment.
#[cfg(target_os = "linux")]
fn processor() -> usize {
    nix::sched::sched_getcpu().unwrap_or(0)
}

/// Not every system tells: then all begin at one place, and those who find it taken go on from there.
#[cfg(not(target_os = "linux"))]
const fn processor() -> usize {
    0
}

/// A lent connection.
pub(super) struct Reader<'r> {
    readers: &'r Readers,
    connection: Option<Box<PooledConnection<Manager>>>,
}

impl Deref for Reader<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("there until it is dropped")
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.readers.put_back(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tempfile::TempDir;

    use super::super::pool::{Open, Role};
    use super::super::schema;
    use super::super::settings::Planted;
    use super::*;
    use r2d2::ManageConnection as _;

    const WAIT: Duration = Duration::from_millis(200);

    fn readers(size: u32) -> (TempDir, Readers) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("seats.sqlite");
        let manager = |role| Manager::new(&path, WAIT, Planted::default(), role, Open::default());
        let writer = manager(Role::Writer).connect().expect("a connection");
        schema::migrate(&writer, &path).expect("made");
        let pool = pool::of(manager(Role::Reader), size).expect("a pool");
        (folder, Readers::of_their_own(pool, WAIT))
    }

    fn mark(connection: &Connection) {
        let marked = connection.execute_batch("PRAGMA cache_size = 77");
        marked.expect("marked");
    }

    fn is_marked(connection: &Connection) -> bool {
        let size: i64 = connection
            .query_row("PRAGMA cache_size", [], |row| row.get(0))
            .expect("read");
        size == 77
    }

    #[test]
    fn a_connection_is_lent_again_unless_it_is_doubtful_or_inside_a_transaction() {
        let (_folder, readers) = readers(1);
        mark(&readers.lend().expect("one"));
        assert!(is_marked(&readers.lend().expect("the same")));
        readers.lend().expect("the same").doubt();
        let fresh = readers.lend().expect("another");
        assert!(!is_marked(&fresh));
        mark(&fresh);
        fresh.execute_batch("BEGIN").expect("begun");
        drop(fresh);
        let fresh = readers.lend().expect("another");
        assert!(!is_marked(&fresh) && fresh.is_autocommit());
    }

    #[test]
    fn a_reader_is_refused_every_write() {
        let (_folder, readers) = readers(1);
        let reader = readers.lend().expect("one");
        let error = reader
            .execute(
                "INSERT INTO seats (seat_id, changed_at) VALUES ('s', 0)",
                [],
            )
            .expect_err("a write");
        assert!(error.to_string().contains("readonly"), "{error}");
    }

    #[test]
    fn when_all_are_lent_a_caller_is_busy_after_its_time() {
        let (_folder, readers) = readers(1);
        let lent = readers.lend().expect("the only one");
        let asked = Instant::now();
        assert!(matches!(readers.lend(), Err(StoreError::Busy { .. })));
        assert!(asked.elapsed() >= WAIT);
        drop(lent);
        assert!(readers.lend().is_ok());
    }

    #[test]
    fn nobody_waits_in_vain() {
        const THREADS: usize = 12;
        let (_folder, readers) = readers(2);
        std::thread::scope(|scope| {
            for number in 0..THREADS {
                let readers = &readers;
                scope.spawn(move || {
                    for round in 0..2_000 {
                        let lent = readers.lend().expect("somebody brings one back");
                        if (round + number) % 3 == 0 {
                            std::thread::yield_now();
                        }
                        drop(lent);
                    }
                });
            }
        });
    }
}
