//! A short cut for the most frequent answer: a hold that was refused because somebody else holds the seat.
//!
//! On a seat in demand nearly every call is one. It is accepted here when every rule plainly holds, on the
//! numbers as they are packed; in any other case, also when something is wrong, the long way decides.
//! The agreement with the exhaustive search covers both ways.

use soldonce::Timestamp;

use super::checker::Checker;
use super::rules::RuleSet;
use super::seat::Place;
use crate::history::{Operation, RefusedHold};

/// Does the maker of its version explain this refusal?
#[inline]
pub(super) fn fits(refused: &RefusedHold, operation: &Operation, maker: &Operation) -> bool {
    maker.made_hold_against(refused.owner, refused.until)
        && maker.at <= operation.at
        && operation.at < refused.until
        && operation.at <= Timestamp::MAX.as_unix_millis() - refused.ttl
}

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
        let place: Place = operation.version.unsigned_abs() * 2 + 1;
        let in_time = clock.earliest(operation.invoked) <= operation.at
            && operation.at <= clock.latest(operation.returned)
            && track
                .floor(operation.invoked)
                .is_none_or(|raise| raise.place <= place);
        if !in_time {
            return false;
        }
        match track.made(operation.version) {
            Some(maker) if fits(&refused, operation, maker) => {}
            None if track.may_still_be_made(operation.version) => track.waiting.push(*operation),
            Some(_) | None => return false,
        }
        track.raise(place, operation);
        true
    }
}
