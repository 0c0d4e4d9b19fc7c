//! What a violation looks like.

use soldonce::{Command, HoldDuration, HoldId, HoldRequest, OwnerId, SeatId, Version};

use super::*;
use crate::history::{Header, When};
use crate::serializable::{Verdict, check};

const START: i64 = 1_700_000_000_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_unix_millis(START + millis).expect("in range")
}

/// bob was refused on version 1 by a call that began after the release of version 2 had returned.
fn stale() -> History {
    let mut history = History {
        header: Header {
            clock: ClockRule::Tied {
                start: at(0),
                slack_millis: 0,
            },
            ..Header::default()
        },
        ..History::default()
    };
    let hold = |history: &mut History, owner: &str| {
        history.names.call(&Command::Hold(HoldRequest {
            seat: SeatId::new("A1").expect("valid"),
            owner: OwnerId::new(owner).expect("valid"),
            ttl: HoldDuration::from_millis(60_000).expect("in range"),
        }))
    };
    let version = |number| Version::new(number).expect("not negative");
    let receipt = |told, number, millis| Answer::Receipt {
        told,
        version: version(number),
        at: at(millis),
    };
    let when = |client, invoked: u64, returned: u64| When {
        client,
        invoked: invoked * 1_000,
        returned: returned * 1_000,
    };
    let taken = hold(&mut history, "alice");
    let hold_id = HoldId::from(version(1));
    let expires = at(60_001);
    history.push(
        when(1, 1_000, 1_900),
        taken,
        receipt(Told::Held { hold_id, expires }, 1, 1),
    );
    let Call::Hold { seat, owner, .. } = taken else {
        unreachable!("it is a hold");
    };
    let given_back = Call::Release(ClaimNo {
        seat,
        owner,
        hold_id,
    });
    history.push(
        when(1, 2_000, 2_750),
        given_back,
        receipt(Told::Released, 2, 2),
    );
    let refused = hold(&mut history, "bob<&>");
    history.push(
        when(2, 2_900, 3_400),
        refused,
        receipt(Told::HeldUntil(expires), 1, 3),
    );
    history
}

fn violation(history: &History) -> Violation {
    match check(history).verdict {
        Verdict::Violated(violations) => violations[0].clone(),
        other => panic!("it is violated, not {other:?}"),
    }
}

#[test]
fn a_violation_is_told_in_a_sentence_and_a_line_per_operation() {
    let history = stale();
    assert_eq!(
        text(&history, &violation(&history)),
        "\
real-time: the second call was invoked after the first had returned, and stands
on an older version
  1. client 1  2.000 .. 2.750 ms  R(A1,alice,h1)
                                  Released, made v2 @2
  2. client 2  2.900 .. 3.400 ms  H(A1,bob<&>)
                                  Refused(HeldUntil 60001), on v1 @3
"
    );
}

#[test]
fn the_picture_is_whole_in_itself_and_shows_the_operations_around() {
    let history = stale();
    let picture = picture(&history, &violation(&history));
    for part in [
        "<svg",
        "H(A1,bob&lt;&amp;&gt;)",
        "Held(h1 until 60001)",
        "class=\"number\"",
        ">2.750</text>",
        "prefers-color-scheme: dark",
    ] {
        assert!(picture.contains(part), "{part} in\n{picture}");
    }
    let outside = picture.replace("http://www.w3.org/2000/svg", "");
    for foreign in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!outside.contains(foreign), "{foreign}");
    }
}
