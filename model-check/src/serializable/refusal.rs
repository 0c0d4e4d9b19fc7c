//! A short cut for the most frequent answer: a hold that was refused because somebody else holds the seat.
//!
//! On a seat in demand nearly every call is one. It is accepted here when every rule plainly holds, on the
//! numbers as they are packed; in any other case, also when something is wrong, the long way decides.
//! The agreement with the exhaustive search covers both ways.

use soldonce::Timestamp;

use super::checker::Checker;
use super::rules::RuleSet;
use super::seat::Place;
use crate::history::Operation;

impl<R: RuleSet> Checker<R> {
    /// Takes the call when it is such a refusal and nothing is wrong with it.
    #[inline]
    pub(super) fn take_plain_refusal(&mut self, operation: &Operation) -> bool {
        let Some(refused) = operation.as_refused_hold() else {
            return false;
        };
        let clock = self.header.clock;
        let Some(track) = self.seats.get_mut(refused.seat) else {
            return false;
        };
        let at = operation.at;
        let place: Place = operation.version.unsigned_abs() * 2 + 1;
        let fits = track.made(operation.version).is_some_and(|maker| {
            maker.made_hold_against(refused.owner, refused.until) && maker.at <= at
        }) && at < refused.until
            && at <= Timestamp::MAX.as_unix_millis() - refused.ttl
            && clock.earliest(operation.invoked) <= at
            && at <= clock.latest(operation.returned)
            && track
                .floor(operation.invoked)
                .is_none_or(|raise| raise.place <= place);
        if fits {
            track.raise(place, operation);
        }
        fits
    }
}
