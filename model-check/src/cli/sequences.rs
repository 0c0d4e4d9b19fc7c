//! `model-check sequences`: the small space and random sequences on one store.

use std::sync::atomic::AtomicBool;

use clap::Args;
use evidence::{Check, Figure};

use model_check::reference::Row;
use model_check::sequence::Sequence;
use model_check::sequence::campaign::{
    Campaign, Cost, Failed, LEAST_SHARE, Report as Found, measure, run_campaign,
};
use model_check::sequence::run::{Depth, Failure as Difference, Place, Workplace, run_and_listen};
use model_check::sequence::small_space;
use model_check::store_choice::{Choice, UnknownStore};

use super::report::{
    Report, bar, count, one_or_more, rate, say, say_command, say_wrapped, seconds,
    stop_on_interrupt, whole_number,
};
use super::{Exit, Failure};

/// Gives sequences of commands to a store and to the reference, and compares every answer.
///
/// First the small space: every kind of seat, of known payment and of command, at each instant that
/// matters. Then random sequences of up to 40 steps with few names, so that they collide, times
/// around every expiry and stepping back, restarts, a second store on the same file, and injected
/// faults. Each ends with all its calls once more, and again after the file is reopened.
#[derive(Debug, Args)]
#[command(after_help = NOTATION)]
pub(super) struct Sequences {
    /// How many random sequences.
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = one_or_more)]
    pub(super) cases: u64,

    /// Together with its number, all that a sequence depends on.
    #[arg(long, default_value_t = 1, value_name = "S", value_parser = whole_number)]
    pub(super) seed: u64,

    /// The number of the first sequence.
    #[arg(long, default_value_t = 0, value_name = "K", value_parser = whole_number)]
    pub(super) from: u64,

    /// The store: `sqlite` on files of its own, `sqlite-per-call` without the commit queue, either
    /// with `:PATH` on a file that does not exist yet (each sequence starts it anew, the last one
    /// stays), or `mutant:ID`.
    #[arg(long, default_value = "sqlite", value_name = "STORE", value_parser = no_such_store)]
    pub(super) store: String,

    /// Walks this sequence alone.
    #[arg(long, value_name = "SEQUENCE", conflicts_with_all = ["cases", "seed", "from"])]
    pub(super) replay: Option<Sequence>,
}

const NOTATION: &str = "\
A sequence reads  H(s,A)@0; C(p,s,A,h1)@9; reopen; 2: R(s,A,h1)@9
  H(seat,owner[,ttl])@time         hold, for 10 ms where no ttl is given
  C(payment,seat,owner,hold)@time  a payment for the first hold given (h1),
                                   or for hold id 7 (#7)
  R(seat,owner,hold)@time          release
  add(x)@time                      a seat is added: x... are not there at first
  reopen                           everything is closed and opened again
  2: ...                           through a second store on the same file
  locked ...                       somebody else has the write lock
  failing ...                      the commit fails
  lost ...                         it is committed, and the answer is lost
A time is in ms since 1970; end-7 is 7 ms before the last there is.";

fn no_such_store(name: &str) -> Result<String, UnknownStore> {
    name.parse::<Choice>().map(|_| name.to_owned())
}

impl Sequences {
    pub(super) fn run(&self, report: &mut Report) -> Result<Exit, Failure> {
        let choice: Choice = self
            .store
            .parse()
            .map_err(|error: UnknownStore| Failure::Usage(error.to_string()))?;
        if !choice.subject.is_kept() {
            let id = self.store.trim_start_matches("mutant:");
            return Err(Failure::Usage(format!(
                "--store {}: it forgets all when it is closed, and only threads show its fault; give \
                 model-check mutants {id}, or stress --store {}",
                self.store, self.store
            )));
        }
        if let Some(path) = &choice.path {
            Workplace::is_new(path)?;
        }
        if self
            .replay
            .as_ref()
            .is_some_and(|sequence| sequence.steps.is_empty())
        {
            return Err(Failure::Usage(
                "--replay: the sequence has no step; give one, like 'H(s,A)@0'".to_owned(),
            ));
        }
        if let Some(sequence) = &self.replay {
            return self.replay(sequence, &choice, report);
        }
        if self.from.checked_add(self.cases).is_none() {
            return Err(Failure::Usage(format!(
                "--from {}: it leaves no numbers for {} sequences; give {} or less",
                self.from,
                self.cases,
                u64::MAX - self.cases
            )));
        }
        report
            .evidence()
            .seed(self.seed)
            .config(
                format!("sequences on {}", choice.subject.name()),
                self.cases,
            )
            .config("first_sequence", self.from);
        say(&format!(
            "sequences on {}, seed {}\n",
            choice.subject.name(),
            self.seed
        ));
        // Two stores may be checked in one run: each name in the evidence says which.
        let store = choice.subject.name();
        let named = |what: &str| format!("{what} on {store}");
        let stop = stop_on_interrupt()?;
        let small = small_space(&choice, &named, stop, report)?;
        if small != Exit::Holds {
            return Ok(small);
        }
        let found = self.random(&choice, stop)?;
        show_walk(&found, &named, report);
        if let Some(failed) = &found.failed {
            self.show_failed(failed, &choice);
        }
        let exit = verdict(&found, &named, report);
        if exit == Exit::Holds && found.interrupted {
            let (done, all) = (count(found.cases), count(self.cases));
            let done = format!("after {done} of {all} sequences");
            return Ok(report.interrupted(&done));
        }
        if exit == Exit::Holds {
            let cost = measure(&*choice.subject, self.cases.clamp(1, 150), self.seed)?;
            show_cost(cost, &named, report);
            say("\nholds     each answer and everything that can be read is the reference's");
        }
        Ok(exit)
    }

    fn random(&self, choice: &Choice, stop: &AtomicBool) -> Result<Found, Failure> {
        let progress = bar("sequences", self.cases);
        let campaign = Campaign {
            cases: self.cases,
            first: self.from,
            seed: self.seed,
        };
        let found = run_campaign(choice, campaign, stop, &|done| progress.set_position(done));
        progress.finish_and_clear();
        Ok(found?)
    }

    fn replay(
        &self,
        sequence: &Sequence,
        choice: &Choice,
        report: &mut Report,
    ) -> Result<Exit, Failure> {
        let place = match &choice.path {
            Some(path) => Workplace::at(&*choice.subject, path)?,
            None => Workplace::temporary(&*choice.subject)?,
        };
        say_wrapped("", &sequence.to_string());
        say(&format!("on {}\n", self.store));
        let mut listen = |step: usize, answer: &dyn Fn() -> String| {
            say_wrapped(&format!("  step {:>2}  ", step + 1), &answer());
        };
        let walked = run_and_listen(sequence, &*choice.subject, &place, Depth::Full, &mut listen)?;
        say("");
        let check = Check::passed("replay", sequence.to_string(), 1);
        match walked {
            Ok(walk) => {
                say(&format!(
                    "holds, {} commands with all repeats",
                    walk.commands
                ));
                report.check(check);
                Ok(Exit::Holds)
            }
            Err(difference) => {
                say_wrapped("", &explain(&difference));
                report.check(check.violations(1).note(explain(&difference)));
                Ok(Exit::Violated)
            }
        }
    }

    fn show_failed(&self, failed: &Failed, choice: &Choice) {
        let store = choice.subject.name();
        let minimal = &failed.minimal;
        say(&format!(
            "\nVIOLATED by sequence {} of seed {}: {} steps, made {} in {} tries\n",
            failed.case,
            self.seed,
            failed.drawn_steps,
            minimal.sequence.steps.len(),
            minimal.tries,
        ));
        show_difference(&minimal.sequence, &minimal.failure);
        let store = format!("--store {store}");
        let seed = format!("--seed {}", self.seed);
        let (from, cases) = (format!("--from {}", failed.case), "--cases 1".to_owned());
        let again = [store.clone(), seed, from, cases];
        say_command("again    ", "sequences", &again);
        let replay = format!("--replay '{}'", minimal.sequence);
        say_command("smaller  ", "sequences", &[store, replay]);
    }
}

type Named<'a> = &'a dyn Fn(&str) -> String;

/// A sequence, and how it failed.
fn show_difference(sequence: &Sequence, difference: &Difference) {
    say_wrapped("  ", &sequence.to_string());
    say("");
    say_wrapped("", &explain(difference));
    say("");
}

fn small_space(
    choice: &Choice,
    named: Named<'_>,
    stop: &AtomicBool,
    report: &mut Report,
) -> Result<Exit, Failure> {
    let subject = &*choice.subject;
    let progress = bar("small space", small_space::COMBINATIONS);
    let walked = small_space::walk(subject, &Workplace::temporary(subject)?, stop, &|done| {
        progress.set_position(done);
    });
    progress.finish_and_clear();
    let check = |tried| {
        Check::passed(
            named("small space"),
            "every kind of seat, payment and command at each instant that matters",
            tried,
        )
    };
    match walked? {
        Ok(tried) if tried < small_space::COMBINATIONS => {
            report.check(check(tried));
            let all = count(small_space::COMBINATIONS);
            let done = format!("after {} of {all} combinations", count(tried));
            Ok(report.interrupted(&done))
        }
        Ok(tried) => {
            say(&format!(
                "small space  {} combinations, all right",
                count(tried)
            ));
            report.check(check(tried));
            Ok(Exit::Holds)
        }
        Err(failed) => {
            say("VIOLATED in the small space\n");
            show_difference(&failed.sequence, &failed.failure);
            let note = format!("{}: {}", failed.sequence, failed.failure.what);
            report.check(check(failed.tried).violations(1).note(note));
            if failed.sequence.steps.is_empty() {
                return Ok(Exit::Violated); // all of the space together shows it
            }
            let store = format!("--store {}", subject.name());
            let replay = format!("--replay '{}'", failed.sequence);
            say_command("again    ", "sequences", &[store, replay]);
            Ok(Exit::Violated)
        }
    }
}

fn show_walk(found: &Found, named: Named<'_>, report: &mut Report) {
    let walk = &found.walk;
    say(&format!(
        "random       {} sequences in {}\n             \
         {} calls, {} with all repeats\n             \
         {} reopenings, {} calls through a second store\n             \
         {} injected faults\n",
        count(found.cases),
        seconds(found.took),
        count(walk.calls),
        count(walk.commands),
        count(walk.reopenings),
        count(walk.through_second),
        count(walk.faults)
    ));
    say("row of the table                 calls   share");
    for row in Row::ALL {
        let reached = walk.rows[row.number() - 1];
        say(&format!(
            "{:>2}  {:26} {:>8}  {:>4.1} %",
            row.number(),
            row.name(),
            count(reached),
            found.share(row) * 100.0
        ));
        report
            .evidence()
            .count(named(&format!("calls of row {:02}", row.number())), reached);
    }
    report
        .evidence()
        .count(named("calls"), walk.calls)
        .count(named("commands"), walk.commands)
        .count(named("reopenings"), walk.reopenings)
        .count(named("calls through a second store"), walk.through_second)
        .count(named("injected faults"), walk.faults);
}

fn verdict(found: &Found, named: Named<'_>, report: &mut Report) -> Exit {
    let check = Check::passed(
        named("sequences"),
        "each answer and everything that can be read is the reference's",
        found.cases,
    );
    if let Some(failed) = &found.failed {
        let minimal = &failed.minimal;
        let note = format!("{}: {}", minimal.sequence, minimal.failure.what);
        report.check(check.violations(1).note(note));
        return Exit::Violated;
    }
    report.check(check);
    // A handful of sequences can not reach everything.
    if found.cases < 200 || found.interrupted {
        return Exit::Holds;
    }
    let rare = found.rare_rows();
    let reached = Check::passed(
        named("rows reached"),
        "each row of the table is reached by 1 % of the calls or more",
        Row::ALL.len() as u64,
    );
    report.check(reached.violations(rare.len() as u64));
    for (row, share) in &rare {
        say(&format!(
            "\nrow {} is reached by {:.2} % of the calls only; {:.0} % are wanted",
            row.number(),
            share * 100.0,
            LEAST_SHARE * 100.0
        ));
    }
    if rare.is_empty() {
        Exit::Holds
    } else {
        Exit::Violated
    }
}

fn show_cost(cost: Cost, named: Named<'_>, report: &mut Report) {
    let ratio = cost.check_for_each_second();
    say(&format!(
        "\n{} commands/s with the check, {} without: for each second that the\n\
         store takes, the check takes {ratio:.2} s",
        rate(cost.checked_per_second()),
        rate(cost.alone_per_second()),
    ));
    report
        .evidence()
        .figure(Figure::measured(
            named("commands per second with the check"),
            "1/s",
            cost.checked_per_second(),
        ))
        .figure(Figure::measured(
            named("commands per second without"),
            "1/s",
            cost.alone_per_second(),
        ))
        .figure(Figure::measured(
            named("seconds of check for each second of the store"),
            "s",
            ratio,
        ));
}

fn explain(difference: &Difference) -> String {
    let place = match difference.place {
        Place::Step(step) => format!("at step {}", step + 1),
        Place::Repeat(step) => format!("when step {} was repeated at the end", step + 1),
        Place::AfterReopen(step) => format!("when step {} was repeated after reopening", step + 1),
        Place::End => "at the end".to_owned(),
    };
    format!(
        "caught by the check '{}' {place}: {}",
        difference.check, difference.what
    )
}
