//! The model of a disk, on logs of a few events.

use super::*;

fn write(inode: Inode, offset: u64, data: &[u8]) -> Event {
    Event::Write {
        inode,
        offset,
        data: data.into(),
    }
}

fn log(initial: &[(&str, &[u8])], events: Vec<Event>) -> Log {
    Log {
        initial: initial
            .iter()
            .map(|(name, content)| ((*name).to_owned(), content.to_vec()))
            .collect(),
        events,
    }
}

fn image_at(log: &Log, position: usize, kind: Kind, seed: u64) -> Vec<(String, Vec<u8>)> {
    let mut disk = Disk::new(log);
    disk.advance(position);
    disk.image(kind, seed).files
}

fn file(name: &str, content: &[u8]) -> (String, Vec<u8>) {
    (name.to_owned(), content.to_vec())
}

fn sync(inode: Inode) -> Event {
    Event::Sync { inode, flags: 2 }
}

#[test]
fn a_sync_makes_one_file_durable_and_no_other() {
    let log = log(
        &[("a", b"aa"), ("b", b"bb")],
        vec![write(0, 0, b"A"), write(1, 0, b"B"), sync(0)],
    );
    let before = image_at(&log, 2, Kind::Nothing, 0);
    assert_eq!(before, [file("a", b"aa"), file("b", b"bb")]);
    let after = image_at(&log, 3, Kind::Nothing, 0);
    assert_eq!(after, [file("a", b"Aa"), file("b", b"bb")]);
    let everything = image_at(&log, 3, Kind::Everything, 0);
    assert_eq!(everything, [file("a", b"Aa"), file("b", b"Bb")]);
}

#[test]
fn a_synced_file_without_a_synced_name_may_be_gone() {
    let create = Event::Create {
        inode: 0,
        name: "new".to_owned(),
    };
    let log = log(
        &[],
        vec![create, write(0, 0, b"x"), sync(0), Event::SyncDirectory],
    );
    assert_eq!(image_at(&log, 3, Kind::Nothing, 0), []);
    assert_eq!(image_at(&log, 3, Kind::BytesOnly, 0), []);
    assert_eq!(image_at(&log, 3, Kind::NamesOnly, 0), [file("new", b"x")]);
    assert_eq!(image_at(&log, 2, Kind::NamesOnly, 0), [file("new", b"")]);
    assert_eq!(image_at(&log, 4, Kind::Nothing, 0), [file("new", b"x")]);
}

#[test]
fn a_deleted_file_may_come_back_until_its_folder_is_synced() {
    let delete = Event::Delete {
        name: "a".to_owned(),
    };
    let log = log(&[("a", b"old")], vec![delete, Event::SyncDirectory]);
    assert_eq!(image_at(&log, 1, Kind::Nothing, 0), [file("a", b"old")]);
    assert_eq!(image_at(&log, 1, Kind::Everything, 0), []);
    assert_eq!(image_at(&log, 2, Kind::Nothing, 0), []);
}

#[test]
fn writes_and_cuts_are_kept_or_not_each_for_itself() {
    let cut = Event::Truncate { inode: 0, size: 1 };
    let log = log(&[("a", b"123")], vec![cut, write(0, 4, b"5")]);
    let seen: std::collections::BTreeSet<Vec<u8>> = (0..200)
        .map(|seed| image_at(&log, 2, Kind::Subset, seed)[0].1.clone())
        .collect();
    let expected: [&[u8]; 4] = [b"1", b"1\0\0\x005", b"123", b"123\x005"];
    assert!(seen.iter().eq(expected), "{seen:?}");
    let prefixes: std::collections::BTreeSet<Vec<u8>> = (0..200)
        .map(|seed| image_at(&log, 2, Kind::Prefix, seed)[0].1.clone())
        .collect();
    let expected: [&[u8]; 3] = [b"1", b"1\0\0\x005", b"123"];
    assert!(prefixes.iter().eq(expected), "{prefixes:?}");
}

#[test]
fn a_torn_write_changes_whole_blocks_of_the_file_and_nothing_outside_its_range() {
    let old = vec![1; 10_000];
    let log = log(&[("a", &old)], vec![write(0, 100, &[2; 9_000])]);
    for (kind, unit) in [
        (Kind::Torn4096, 4096),
        (Kind::Torn512, 512),
        (Kind::Garbage, 512),
    ] {
        let mut torn = 0;
        for seed in 0..50 {
            let content = &image_at(&log, 1, kind, seed)[0].1;
            assert_eq!(content.len(), old.len());
            assert!(content[..100].iter().all(|byte| *byte == 1));
            assert!(content[9_100..].iter().all(|byte| *byte == 1));
            let blocks: Vec<&[u8]> = content[..9_100].chunks(unit).collect();
            let whole = |block: &&[u8]| block.iter().all(|byte| *byte == block[0]);
            if kind != Kind::Garbage {
                assert!(blocks[1..].iter().all(whole), "{kind} {seed}");
            }
            torn += usize::from(blocks[1..].iter().any(|b| b[0] != blocks[1][0]));
        }
        assert!(torn > 5, "{kind}: {torn}");
    }
}
