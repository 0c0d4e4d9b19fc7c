//! How well commits fill can be read off the store.

use soldonce::{
    Commit, Commits, HoldDuration, HoldRequest, OwnerId, SeatId, SeatStore, SqliteStore,
};

fn three_calls(commit: Commit) -> Commits {
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::options()
        .commit(commit)
        .open(folder.path().join("seats.sqlite"))
        .expect("it opens");
    assert_eq!(store.commits(), Commits::default());
    assert_eq!(store.commits().mean(), None);
    let seat = SeatId::new("A1").expect("valid");
    store.add_seats(std::slice::from_ref(&seat)).expect("added");
    for owner in ["alice", "bob"] {
        let request = HoldRequest {
            seat: seat.clone(),
            owner: OwnerId::new(owner).expect("valid"),
            ttl: HoldDuration::from_secs(60).expect("valid"),
        };
        let _ = store.hold(&request).expect("answered");
    }
    store.commits()
}

#[test]
fn with_the_queue_a_refusal_needs_no_commit() {
    let counted = three_calls(Commit::default());
    assert_eq!((counted.calls, counted.commits, counted.largest), (2, 2, 1));
    assert!(counted.mean().is_some_and(|mean| (mean - 1.0).abs() < 1e-9));
}

#[test]
fn without_the_queue_every_call_is_a_commit() {
    let counted = three_calls(Commit::PerCall);
    assert_eq!((counted.calls, counted.commits, counted.largest), (3, 3, 1));
}
