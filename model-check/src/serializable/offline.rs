//! The check of a whole history that is in memory.

use rayon::prelude::*;

use super::checker::Checker;
use super::rules::{AllRules, RuleSet};
use super::{Counts, Report, Verdict};
use crate::history::{Details, Header, History, Home, OPEN, Operation};

/// So many calls share one promise about how far back later ones reach.
const BLOCK: usize = 4096;

/// Checks a whole history, its seats in parallel.
///
/// Cost: time linear in the calls; memory beside the history constant per seat, payment and call in
/// flight, and 4 bytes a call where there is more than one core. Calls that are not in the order of
/// their returns are sorted first, in a copy.
pub fn check(history: &History) -> Report {
    let shards = rayon::current_num_threads();
    if shards < 2 || history.operations.len() < 2 * BLOCK {
        return check_on_one_core(history);
    }
    let copy = (!history.operations.is_sorted_by_key(Operation::returned)).then(|| sorted(history));
    let operations = copy.as_deref().unwrap_or(&history.operations);
    let Some(homes) = homes(history, operations) else {
        return check_on_one_core(history);
    };
    let shard_of = |home: u32| home as usize % shards;
    let mut sizes = vec![0_usize; shards];
    for home in &homes {
        sizes[shard_of(*home)] += 1;
    }
    if sizes.iter().any(|size| size * 4 > homes.len() * 3) {
        return check_on_one_core(history); // nearly all is about one seat
    }
    let reports: Vec<Report> = (0..shards)
        .into_par_iter()
        .map(|shard| {
            let mine: Vec<u32> = homes
                .iter()
                .zip(0u32..)
                .filter(|(home, _)| shard_of(**home) == shard)
                .map(|(_, place)| place)
                .collect();
            let call = |place: usize| &operations[mine[place] as usize];
            let promises = promises(mine.len(), &call).expect("they are in order");
            run::<AllRules>(
                &history.header,
                &history.details,
                promises,
                mine.len(),
                call,
            )
        })
        .collect();
    merge(reports)
}

/// Checks a whole history on the core that calls.
pub fn check_on_one_core(history: &History) -> Report {
    check_with::<AllRules>(history)
}

/// The same, with these rules.
pub(crate) fn check_with<R: RuleSet>(history: &History) -> Report {
    let calls = history.operations.len();
    let run = |operations: &[Operation], promises| {
        run::<R>(
            &history.header,
            &history.details,
            promises,
            calls,
            |place| &operations[place],
        )
    };
    if let Some(promises) = promises(calls, &|place| &history.operations[place]) {
        return run(&history.operations, promises);
    }
    let sorted = sorted(history);
    let promises = promises(calls, &|place| &sorted[place]).expect("they were sorted");
    run(&sorted, promises)
}

/// A copy in the order of the returns.
fn sorted(history: &History) -> Vec<Operation> {
    let mut sorted = history.operations.clone();
    sorted.sort_by_key(Operation::returned);
    sorted
}

fn run<'h, R: RuleSet>(
    header: &Header,
    details: &Details,
    promises: Vec<u64>,
    calls: usize,
    call: impl Fn(usize) -> &'h Operation,
) -> Report {
    let mut checker = Checker::<R>::with_rules(header.clone());
    // Calls of unknown result stand at the end, and are fed when all has come that returned before them.
    let returned = partition_point(calls, |place| call(place).returned() != OPEN);
    let mut unknown: Vec<&Operation> = (returned..calls).map(&call).collect();
    unknown.sort_by_key(|operation| operation.invoked());
    let mut unknown = unknown.into_iter().peekable();
    for (block, promise) in promises.into_iter().enumerate() {
        let open = unknown.peek().map_or(OPEN, |next| next.invoked());
        checker.no_call_before(promise.min(open));
        for place in block * BLOCK..((block + 1) * BLOCK).min(returned) {
            let operation = call(place);
            while let Some(next) = unknown.next_if(|next| next.invoked() <= operation.returned()) {
                checker.feed(next, details);
            }
            checker.feed(operation, details);
        }
    }
    for operation in unknown {
        checker.feed(operation, details);
    }
    checker.finish(&mut details.clone())
}

fn partition_point(len: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// For each block of calls, the earliest invocation of a call that returned, in it or any later one;
/// nothing when the calls are not in the order of their returns.
fn promises<'h>(calls: usize, call: &impl Fn(usize) -> &'h Operation) -> Option<Vec<u64>> {
    let mut earliest = u64::MAX;
    let mut next_return = u64::MAX;
    let mut promises = Vec::with_capacity(calls.div_ceil(BLOCK));
    for block in (0..calls.div_ceil(BLOCK)).rev() {
        for place in (block * BLOCK..((block + 1) * BLOCK).min(calls)).rev() {
            let operation = call(place);
            if operation.returned() > next_return {
                return None;
            }
            next_return = operation.returned();
            if next_return != OPEN {
                earliest = earliest.min(operation.invoked());
            }
        }
        promises.push(earliest);
    }
    promises.reverse();
    Some(promises)
}

/// The number of the seat that each call is about. A read of a payment that is not known is about the
/// seat that decides it. Nothing when a payment may belong to two seats, which then are not independent.
fn homes(history: &History, operations: &[Operation]) -> Option<Vec<u32>> {
    const NOWHERE: u32 = u32::MAX;
    let mut of_payment = vec![NOWHERE; history.names.payments().len()];
    let mut late = Vec::new();
    let mut homes = Vec::with_capacity(operations.len());
    for (place, operation) in operations.iter().enumerate() {
        homes.push(match operation.home(&history.details) {
            Home::Seat(seat) => seat.raw(),
            Home::Of(payment, seat) => {
                let known = &mut of_payment[payment.index()];
                if *known != NOWHERE && *known != seat.raw() {
                    return None;
                }
                *known = seat.raw();
                seat.raw()
            }
            Home::WhereDecided(payment) => {
                late.push((place, payment));
                0
            }
        });
    }
    for (place, payment) in late {
        homes[place] = match of_payment[payment.index()] {
            NOWHERE => 0,
            seat => seat,
        };
    }
    Some(homes)
}

fn merge(reports: Vec<Report>) -> Report {
    let mut counts = Counts::default();
    let mut violations = Vec::new();
    let mut open = None;
    for report in reports {
        counts.operations += report.counts.operations;
        counts.not_applied += report.counts.not_applied;
        counts.unknown += report.counts.unknown;
        counts.taken_as_happened += report.counts.taken_as_happened;
        counts.violations += report.counts.violations;
        match report.verdict {
            Verdict::Holds => {}
            Verdict::Violated(found) => violations.extend(found),
            Verdict::Inconclusive(why) => open = Some(why),
        }
    }
    let verdict = if violations.is_empty() {
        open.map_or(Verdict::Holds, Verdict::Inconclusive)
    } else {
        violations.truncate(16);
        Verdict::Violated(violations)
    };
    Report { verdict, counts }
}
