//! Options that would have no effect beside the others: they are refused, not ignored.
//!
//! Whoever gives one wants something of it. A run that leaves it out without a word measures something
//! else than was asked for.

use crate::args::{Args, Engine};
use crate::mix::{Mix, Plan};
use crate::threshold::Metric;
use crate::workload::Shape;

/// Refuses what contradicts another option, or is without effect beside it.
///
/// # Errors
/// Names the option, what is in its way, and what is allowed.
pub(crate) fn refuse(args: &Args, shape: Shape, mix: &Mix) -> Result<(), String> {
    choice_of_seats(args, shape)?;
    store(args)?;
    let all_wait = |(plan, weight): (Plan, u32)| weight == 0 || plan.waits_for_the_end();
    if args.pay_within.is_some() && mix.weights().all(all_wait) {
        return Err(
            "--pay-within: in this --mix nobody acts before the hold ends; give a plan \
                    other than late and quit a weight, or leave --pay-within out"
                .to_owned(),
        );
    }
    if args.rate.is_none() && args.ramp.is_none() {
        let unstarted = |metric: &Metric| matches!(metric, Metric::Unstarted);
        if let Some(limit) = args.thresholds.iter().find(|t| unstarted(&t.metric)) {
            return Err(format!(
                "--threshold {}: in a closed loop no call is due at a time, so none can be \
                 unstarted; add --rate or --ramp",
                limit.expression
            ));
        }
    }
    Ok(())
}

fn choice_of_seats(args: &Args, shape: Shape) -> Result<(), String> {
    let asks_for_hot = args.hot_seats.is_some() || args.hot_percent.is_some();
    match shape {
        _ if args.zipf.is_some() && asks_for_hot => {
            Err("--zipf and hot seats exclude each other: leave one out".to_owned())
        }
        Shape::Zipf if asks_for_hot => {
            Err("--workload zipf has no hot seats; use --workload rush".to_owned())
        }
        Shape::Rush | Shape::Uniform if args.zipf.is_some() => Err(format!(
            "--zipf: --workload {shape} has its own way to choose a seat; use --workload zipf or churn"
        )),
        Shape::Churn | Shape::Uniform if args.hot_seats.is_some() && args.hot_percent.is_none() => {
            Err(format!(
                "--hot-seats: nobody goes for them with --workload {shape}; add --hot-percent, or use \
                 --workload rush"
            ))
        }
        _ if args.hot_seats.is_some() && args.hot_percent == Some(0.0) => Err(
            "--hot-seats: nobody goes for them with --hot-percent 0; leave one of the two out"
                .to_owned(),
        ),
        Shape::Rush | Shape::Churn | Shape::Uniform | Shape::Zipf => Ok(()),
    }
}

fn store(args: &Args) -> Result<(), String> {
    let store = args.store.as_str();
    if store.starts_with("mutant:") {
        let given = [
            ("--engine", args.engine.is_some()),
            ("--batch", args.batch.is_some()),
            ("--pool", args.pool.is_some()),
            ("--busy-timeout", args.busy_timeout.is_some()),
        ];
        if let Some((option, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(format!(
                "{option}: --store {store} commits in its own way, on connections of its own; leave it \
                 out, or use --store sqlite"
            ));
        }
    }
    match (store, args.engine) {
        ("sqlite-per-call", Some(Engine::Queue)) => Err(
            "--engine queue: --store sqlite-per-call is the store without it; use --store sqlite"
                .to_owned(),
        ),
        ("sqlite-per-call", _) | (_, Some(Engine::Pool)) if args.batch.is_some() => {
            Err("--batch: only --engine queue has batches".to_owned())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use soldonce::Commit;

    use super::*;
    use crate::config::{Config, Under};
    use crate::workload::Choice;

    fn config(options: &str) -> Result<Config, String> {
        let words = ["stress"].into_iter().chain(options.split_whitespace());
        Args::try_parse_from(words)
            .map_err(|error| error.to_string())?
            .try_into()
    }

    #[test]
    fn an_exponent_alone_asks_for_the_zipf_workload_and_churn_may_have_one() {
        for (options, shape) in [
            ("--zipf 2", Shape::Zipf),
            ("--workload churn --zipf 2", Shape::Churn),
        ] {
            let workload = config(options).expect("valid").workload;
            assert_eq!(workload.shape, shape);
            assert_eq!(workload.choice, Choice::Zipf(2.0));
        }
    }

    #[test]
    fn what_has_an_effect_beside_the_others_is_not_refused() {
        for options in [
            "--rate 5000 --hot-percent 80",
            "--hot-seats 5",
            "--workload uniform --hot-percent 30 --hot-seats 5",
            "--warmup 50ms --ops 2000",
            "--pay-within 1ms --workload churn",
            "--threshold unstarted<1 --rate 5",
            "--threshold unstarted<1 --ramp 1:9:1",
            "--engine queue --batch 5 --pool 3 --busy-timeout 1s",
            "--store sqlite-per-call --engine pool --pool 3",
        ] {
            config(options).expect(options);
        }
    }

    #[test]
    fn the_store_without_a_queue_is_the_real_one_that_commits_per_call() {
        for options in ["--store sqlite-per-call", "--engine pool"] {
            let store = config(options).expect("valid").store;
            assert_eq!(store, Under::Real(Commit::PerCall), "{options}");
        }
    }
}
