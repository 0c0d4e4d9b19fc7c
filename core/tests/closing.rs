//! A store that was dropped has closed its file.

use soldonce::{Commit, SeatId, SeatStore, SqliteStore};

#[test]
fn a_dropped_store_has_closed_its_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("seats.sqlite");
    let log = folder.path().join("seats.sqlite-wal");
    for round in 0..150 {
        let commit = match round % 2 {
            0 => Commit::PerCall,
            _ => Commit::default(),
        };
        let store = SqliteStore::options()
            .commit(commit)
            .open(&path)
            .expect("the store opens");
        let seat = SeatId::new(format!("s{round}")).expect("valid");
        store.add_seats(&[seat]).expect("added");
        assert!(log.exists(), "an open store has a write-ahead log");
        drop(store);
        // The last connection to be closed removes the log.
        assert!(!log.exists(), "round {round}: a connection is still open");
    }
}
