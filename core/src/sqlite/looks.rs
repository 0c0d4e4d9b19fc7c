//! Whether to look at a snapshot before a call goes to the writer.
//!
//! A look answers what changes nothing, at the cost of a read; before a call that does change something
//! it is in vain. Which of the two a call will be is not known, but calls of one kind that come close to
//! each other are alike: in a rush nearly every hold is refused, before it nearly every one is granted. So
//! each kind of command keeps a credit: a call that changed nothing adds to it, one that changed something
//! takes away from it, and while there is none the look is left out.
//!
//! This decides which way a call goes, never what it is answered: the writer answers refusals, too, and
//! whom it can not serve in time is looked at after all. What is remembered is how earlier calls ended,
//! nothing about any seat.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::StoreError;
use crate::outcome::Receipt;

/// What a call that changed nothing adds to the credit: looks are made as long as more than one call in
/// about five changes nothing.
const GAIN: u32 = 4;

/// The most credit: so many calls in a row must change something before looks are left out.
const MOST: u32 = 64;

/// Looks for one kind of command.
#[derive(Debug)]
pub(super) struct Looks {
    allowed: bool,
    credit: AtomicU32,
}

impl Looks {
    /// Made as long as they pay, if they are allowed at all.
    pub(super) const fn new(allowed: bool) -> Self {
        Self {
            allowed,
            credit: AtomicU32::new(MOST),
        }
    }

    /// Answers a call: from a snapshot, if looking pays and `look` finds that the call changes nothing; else
    /// by `write`, whose answer `changed` tells apart.
    pub(super) fn guide<T>(
        &self,
        look: impl Fn() -> Result<Option<Receipt<T>>, StoreError>,
        write: impl FnOnce() -> Result<Receipt<T>, StoreError>,
        changed: impl FnOnce(&T) -> bool,
    ) -> Result<Receipt<T>, StoreError> {
        let pays = self.pay();
        if pays && let Some(answer) = look()? {
            self.learn(false);
            return Ok(answer);
        }
        let written = write();
        match &written {
            Ok(receipt) => self.learn(changed(&receipt.outcome)),
            // It has certainly not happened, so it may still be one that changes nothing.
            Err(StoreError::Busy { .. }) if self.allowed && !pays => {
                if let Ok(Some(answer)) = look() {
                    self.learn(false);
                    return Ok(answer);
                }
            }
            Err(_) => {}
        }
        written
    }

    /// Shall the next call be looked at first?
    fn pay(&self) -> bool {
        self.allowed && self.credit.load(Ordering::Relaxed) > 0
    }

    /// A call ended like this. Of two at once one may go uncounted.
    fn learn(&self, changed: bool) {
        let credit = self.credit.load(Ordering::Relaxed);
        let next = if changed {
            credit.saturating_sub(1)
        } else {
            MOST.min(credit + GAIN)
        };
        // Most calls change nothing about it, and then nobody else has to fetch it anew.
        if next != credit {
            self.credit.store(next, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;
    use crate::id::Version;
    use crate::time::Timestamp;

    /// What the writer does with a call.
    #[derive(Clone, Copy, PartialEq)]
    enum Writer {
        Changes,
        ChangesNothing,
        Busy,
        Fails,
    }

    /// Makes one call and says how it was answered and how often it was looked at.
    fn call(
        looks: &Looks,
        unchanged: bool,
        writer: Writer,
    ) -> (Result<Receipt<bool>, StoreError>, u32) {
        let receipt = |changed| Receipt {
            outcome: changed,
            version: Version::ZERO,
            at: Timestamp::from_unix_millis(0).expect("the epoch is a time"),
        };
        let looked = Cell::new(0);
        let answer = looks.guide(
            || {
                looked.set(looked.get() + 1);
                Ok(unchanged.then(|| receipt(false)))
            },
            || match writer {
                Writer::Changes => Ok(receipt(true)),
                Writer::ChangesNothing => Ok(receipt(false)),
                Writer::Busy => Err(StoreError::Busy {
                    waited: Duration::from_secs(5),
                    source: "locked".into(),
                }),
                Writer::Fails => Err(StoreError::Unknown("cut off".into())),
            },
            |changed| *changed,
        );
        (answer, looked.get())
    }

    fn looked(looks: &Looks, unchanged: bool, writer: Writer) -> u32 {
        let (answer, looked) = call(looks, unchanged, writer);
        assert!(answer.is_ok(), "answered {answer:?}");
        looked
    }

    /// Looks that were left out because so many calls changed something.
    fn left_out() -> Looks {
        let looks = Looks::new(true);
        for _ in 0..MOST {
            assert_eq!(looked(&looks, false, Writer::Changes), 1);
        }
        assert_eq!(looked(&looks, false, Writer::Changes), 0);
        looks
    }

    #[test]
    fn looks_end_with_calls_that_change_something_and_begin_again_with_one_that_does_not() {
        let looks = left_out();
        assert_eq!(looked(&looks, true, Writer::ChangesNothing), 0);
        for _ in 0..GAIN {
            assert_eq!(looked(&looks, false, Writer::Changes), 1);
        }
        assert_eq!(looked(&looks, false, Writer::Changes), 0);
    }

    #[test]
    fn after_ever_so_many_calls_that_change_nothing_looks_end_as_soon() {
        let looks = Looks::new(true);
        for _ in 0..10 * MOST {
            assert_eq!(looked(&looks, true, Writer::ChangesNothing), 1);
        }
        for _ in 0..MOST {
            assert_eq!(looked(&looks, false, Writer::Changes), 1);
        }
        assert_eq!(looked(&looks, false, Writer::Changes), 0);
    }

    #[test]
    fn looks_go_on_while_one_call_in_four_changes_nothing_and_end_with_one_in_ten() {
        for (one_in, goes_on) in [(4, true), (10, false)] {
            let looks = Looks::new(true);
            let mut last = 0;
            for call in 0..10 * MOST {
                let unchanged = call % one_in == 0;
                let writer = if unchanged {
                    Writer::ChangesNothing
                } else {
                    Writer::Changes
                };
                let looked = looked(&looks, unchanged, writer);
                if call >= 9 * MOST {
                    last += looked;
                }
            }
            assert_eq!(last == MOST, goes_on, "one in {one_in}: {last} of {MOST}");
        }
    }

    #[test]
    fn a_busy_writer_is_made_up_for_by_one_look() {
        let looks = left_out();
        let (answer, looked) = call(&looks, true, Writer::Busy);
        assert!(answer.is_ok_and(|receipt| !receipt.outcome));
        assert_eq!(looked, 1);
        assert!(looks.pay(), "and looks pay again");

        let looks = left_out();
        let (answer, looked) = call(&looks, false, Writer::Busy);
        assert!(matches!(answer, Err(StoreError::Busy { .. })));
        assert_eq!(looked, 1);
    }

    #[test]
    fn a_busy_writer_is_not_asked_about_twice() {
        let (answer, looked) = call(&Looks::new(true), false, Writer::Busy);
        assert!(matches!(answer, Err(StoreError::Busy { .. })));
        assert_eq!(looked, 1);
    }

    #[test]
    fn a_look_that_fails_is_the_answer_and_the_writer_is_not_asked() {
        let answer = Looks::new(true).guide(
            || {
                Err(StoreError::Busy {
                    waited: Duration::from_secs(5),
                    source: "all readers are lent".into(),
                })
            },
            || -> Result<Receipt<bool>, _> { unreachable!("the call has had its time") },
            |changed| *changed,
        );
        assert!(matches!(answer, Err(StoreError::Busy { .. })));
    }

    #[test]
    fn an_unknown_result_stays_unknown() {
        let (answer, looked) = call(&left_out(), true, Writer::Fails);
        assert!(matches!(answer, Err(StoreError::Unknown(_))));
        assert_eq!(looked, 0);
    }

    #[test]
    fn where_looks_are_not_allowed_the_writer_answers() {
        let looks = Looks::new(false);
        assert_eq!(looked(&looks, true, Writer::ChangesNothing), 0);
        let (answer, looked) = call(&looks, true, Writer::Busy);
        assert!(matches!(answer, Err(StoreError::Busy { .. })));
        assert_eq!(looked, 0);
    }
}
