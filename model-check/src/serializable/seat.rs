//! What the check remembers of one seat.

use std::collections::VecDeque;

use soldonce::{Timestamp, Version};

use super::judge::{Answered, View};
use crate::history::{Answer, Details, Operation};

/// A place in the order of one seat: version v is made at `2v`, and read at `2v + 1`.
pub(super) type Place = u64;

pub(super) fn made_at(version: Version) -> Place {
    version.get().unsigned_abs() * 2
}

pub(super) fn read_at(version: Version) -> Place {
    made_at(version) + 1
}

/// From `returned` on, everybody knows that the seat has come as far as `place`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raise {
    pub(super) returned: u64,
    pub(super) place: Place,
    pub(super) shown_by: Operation,
}

/// How far above the highest maker a version may be for its place in `makers` to be reserved at once.
/// Calls in flight are fewer; a version beyond is looked at when the history ends.
pub(super) const REACH: i64 = 1 << 17;

/// One seat.
#[derive(Debug, Default)]
pub(super) struct SeatTrack {
    /// The version that `makers[0]` makes, less one: all up to it are done with.
    done: i64,
    makers: VecDeque<Option<Operation>>,
    /// Ever higher places, in the order of return. The first stands for all before it.
    raises: VecDeque<Raise>,
    /// Answers on a version whose maker has not come yet.
    pub(super) waiting: Vec<Operation>,
    /// Changes that name a version far above all others.
    pub(super) far: Vec<Operation>,
    /// Calls of unknown result about this seat, each with the place that was known when it was invoked.
    pub(super) unknown: Vec<(Operation, Place)>,
    /// What was looked through for what can be forgotten, with this horizon.
    forgotten_before: u64,
    /// Nothing may be forgotten: a call of unknown result may still need it.
    pub(super) keeps_all: bool,
}

/// What is known about the maker of a version.
pub(super) enum Maker<'a> {
    /// The seat was like this from the start.
    Nobody,
    /// This call.
    Known(&'a Operation),
    /// It has not come yet.
    NotYet,
    /// It was known, and so long ago that no call in flight can name it any more.
    Forgotten,
}

impl SeatTrack {
    pub(super) fn maker(&self, version: Version) -> Maker<'_> {
        let version = version.get();
        if version == 0 {
            return Maker::Nobody;
        }
        if version <= self.done {
            return Maker::Forgotten;
        }
        let place = usize::try_from(version - self.done - 1).unwrap_or(usize::MAX);
        match self.makers.get(place) {
            Some(Some(operation)) => Maker::Known(operation),
            Some(None) | None => Maker::NotYet,
        }
    }

    /// The call that made this version, when it is remembered.
    #[inline]
    pub(super) fn made(&self, version: i64) -> Option<&Operation> {
        let place = usize::try_from(version - self.done - 1).ok()?;
        self.makers.get(place)?.as_ref()
    }

    /// Nobody made this version so far, and it is not one that was forgotten.
    #[inline]
    pub(super) fn may_still_be_made(&self, version: i64) -> bool {
        version > self.done && self.made(version).is_none()
    }

    /// Takes the call as the maker of its version, which nobody made so far; or says that this is more
    /// than `reach` above all others, and was not taken.
    pub(super) fn set_maker(&mut self, operation: Operation, reach: i64) -> bool {
        let place = operation.version - self.done - 1;
        let Ok(place) = usize::try_from(place) else {
            return true;
        };
        if place >= self.makers.len() {
            if operation.version > self.top().saturating_add(reach) {
                return false;
            }
            self.makers.resize(place + 1, None);
        }
        self.makers[place] = Some(operation);
        true
    }

    /// The highest version that a known call made; 0 when none did.
    pub(super) fn top(&self) -> i64 {
        self.done + i64::try_from(self.makers.len()).expect("fewer than 2^63 versions")
    }

    /// The versions from the first that is remembered up to [`SeatTrack::top`] that nobody made yet.
    pub(super) fn gaps(&self) -> Vec<i64> {
        (self.done + 1..)
            .zip(&self.makers)
            .filter_map(|(version, maker)| maker.is_none().then_some(version))
            .collect()
    }

    /// The highest place that was known before this instant, and who showed it.
    #[inline]
    pub(super) fn floor(&self, instant: u64) -> Option<&Raise> {
        // Nearly always one of the last few.
        let mut place = self.raises.len();
        while let Some(before) = place.checked_sub(1) {
            let raise = &self.raises[before];
            if raise.returned < instant {
                return Some(raise);
            }
            place = before;
        }
        None
    }

    #[inline]
    pub(super) fn raise(&mut self, place: Place, operation: &Operation) {
        if self.raises.back().is_none_or(|last| last.place < place) {
            self.raises.push_back(Raise {
                returned: operation.returned,
                place,
                shown_by: *operation,
            });
        }
    }

    /// Forgets what no call can need that was invoked at `horizon` or later.
    pub(super) fn forget(&mut self, horizon: u64) {
        if self.keeps_all || horizon <= self.forgotten_before {
            return;
        }
        self.forgotten_before = horizon;
        while self.raises.len() > 1 && self.raises[1].returned < horizon {
            self.raises.pop_front();
        }
        let Some(base) = self.raises.front().filter(|base| base.returned < horizon) else {
            return;
        };
        while self.makers.len() > 1
            && self.makers[0].is_some()
            && self.makers[1].is_some()
            && made_at(Version::new(self.done + 2).expect("not negative")) <= base.place
        {
            self.makers.pop_front();
            self.done += 1;
        }
    }

    /// Every call that is remembered for it.
    pub(super) fn operations(&self) -> impl Iterator<Item = &Operation> {
        let shown_by = self.raises.iter().map(|raise| &raise.shown_by);
        let unknown = self.unknown.iter().map(|(operation, _)| operation);
        let waiting = self.waiting.iter().chain(&self.far);
        let makers = self.makers.iter().flatten();
        makers.chain(shown_by).chain(waiting).chain(unknown)
    }

    /// The same, to be changed.
    pub(super) fn operations_mut(&mut self) -> impl Iterator<Item = &mut Operation> {
        let shown_by = self.raises.iter_mut().map(|raise| &mut raise.shown_by);
        let unknown = self.unknown.iter_mut().map(|(operation, _)| operation);
        let waiting = self.waiting.iter_mut().chain(&mut self.far);
        let makers = self.makers.iter_mut().flatten();
        makers.chain(shown_by).chain(waiting).chain(unknown)
    }

    /// How many versions and raises are remembered.
    pub(super) fn remembered(&self) -> usize {
        self.makers.len() + self.raises.len()
    }
}

/// The seat as it is at a version, when its maker is known.
pub(super) fn view_of(operation: &Operation, details: &Details) -> View {
    View::after(&answered(operation, details).expect("only a receipt makes a version"))
}

/// The receipt of a call, if it has one.
#[inline]
pub(super) fn answered(operation: &Operation, details: &Details) -> Option<Answered> {
    match operation.answer(details) {
        Answer::Receipt { told, version, at } => Some(Answered {
            call: operation.call(),
            told,
            version,
            at,
        }),
        Answer::NoSuchSeat | Answer::NotApplied | Answer::Unknown => None,
    }
}

/// When the seats were added, as far as it is compared.
pub(super) fn initial(exists: bool, added_at: Option<Timestamp>) -> View {
    View::initial(exists, added_at)
}
