//! The check of a whole history that is in memory.

use rayon::prelude::*;

use super::checker::{Checker, home};
use super::rules::{AllRules, RuleSet};
use super::seat::answered;
use super::{Counts, Report, Verdict};
use crate::history::{Call, Details, Header, History, Operation};

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
    let sorted = in_order(history);
    let operations = sorted.as_deref().unwrap_or(&history.operations);
    let homes = homes(history, operations);
    let reports: Vec<Report> = (0..shards)
        .into_par_iter()
        .map(|shard| {
            let mine: Vec<u32> = homes
                .iter()
                .zip(0u32..)
                .filter(|(home, _)| **home as usize % shards == shard)
                .map(|(_, place)| place)
                .collect();
            run::<AllRules>(&history.header, &history.details, mine.len(), |place| {
                &operations[mine[place] as usize]
            })
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
    let sorted = in_order(history);
    let operations = sorted.as_deref().unwrap_or(&history.operations);
    run::<R>(
        &history.header,
        &history.details,
        operations.len(),
        |place| &operations[place],
    )
}

/// A sorted copy, when the history is not in order.
fn in_order(history: &History) -> Option<Vec<Operation>> {
    if history.operations.is_sorted_by_key(Operation::returned) {
        return None;
    }
    let mut sorted = history.operations.clone();
    sorted.sort_by_key(Operation::returned);
    Some(sorted)
}

fn run<'h, R: RuleSet>(
    header: &Header,
    details: &Details,
    calls: usize,
    call: impl Fn(usize) -> &'h Operation,
) -> Report {
    let mut checker = Checker::<R>::with_rules(header.clone());
    // Calls of unknown result stand at the end, and are fed when all has come that returned before them.
    let returned = partition_point(calls, |place| {
        call(place).returned() != crate::history::OPEN
    });
    let mut unknown: Vec<&Operation> = (returned..calls).map(&call).collect();
    unknown.sort_by_key(|operation| operation.invoked());
    let mut unknown = unknown.into_iter().peekable();

    let promises = promises(returned, &call);
    for (block, promise) in promises.iter().enumerate() {
        let open = unknown.peek().map_or(u64::MAX, |next| next.invoked());
        checker.no_call_before((*promise).min(open));
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

/// For each block of calls, the earliest invocation in it or any later one.
fn promises<'h>(calls: usize, call: &impl Fn(usize) -> &'h Operation) -> Vec<u64> {
    let mut earliest = u64::MAX;
    let mut promises: Vec<u64> = (0..calls.div_ceil(BLOCK))
        .rev()
        .map(|block| {
            for place in block * BLOCK..((block + 1) * BLOCK).min(calls) {
                earliest = earliest.min(call(place).invoked());
            }
            earliest
        })
        .collect();
    promises.reverse();
    promises
}

/// The number of the seat that each call is about. A read of a payment that is not known is about the
/// seat that decides it.
fn homes(history: &History, operations: &[Operation]) -> Vec<u32> {
    let mut deciders = vec![0; history.names.payments().len()];
    let mut homes: Vec<u32> = operations
        .iter()
        .map(|operation| {
            let Some(answer) = answered(operation, &history.details) else {
                return operation
                    .call()
                    .seat()
                    .map_or(0, crate::history::SeatNo::raw);
            };
            let seat = home(&answer).map_or(0, crate::history::SeatNo::raw);
            if let Some(record) = super::judge::record_of(&answer) {
                deciders[record.payment.index()] = seat;
            } else if let Some(record) = answer.told.record() {
                deciders[record.payment.index()] = seat;
            }
            seat
        })
        .collect();
    for (home, operation) in homes.iter_mut().zip(operations) {
        if let Call::ReadPayment(payment) = operation.call() {
            *home = deciders[payment.index()];
        }
    }
    homes
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
