//! The HTML page: whole, safe, and with everything that a reader looks for.

mod common;

use std::fs;
use std::process::Command;

use evidence::{Statement, report};

fn page(statements: impl IntoIterator<Item = Statement>) -> String {
    let named: Vec<_> = statements
        .into_iter()
        .enumerate()
        .map(|(position, statement)| (format!("run-{position}.json"), statement))
        .collect();
    report(&named)
}

#[test]
fn the_page_shows_verdict_latency_throughput_figures_and_settings_of_each_run() {
    let html = page([common::full(), common::full()]);
    for part in [
        "run-0.json",
        "run-1.json",
        "interrupted",
        "Latency by percentile",
        "Throughput over time",
        "Ratios and other figures",
        "Benchmarks",
        "Settings",
        "Not comparable: a short run",
        "hold \u{2192} held: service time",
        "queue against pool",
        "aim &gt;= 8 met",
        "aim &lt; 30 Cel missed",
        "journal_mode",
        "hot_percent",
        "0 violations in 100 cases",
        "20.0 \u{b5}s",
        "hold/pool",
        "hold.held.p99&lt;5ms",
        "measured 20.0 \u{b5}s, limit &lt; 5 ms",
        "Example CPU",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert_eq!(html.matches("<article").count(), 2);
    assert_eq!(
        html.matches("<polyline").count(),
        4,
        "a line for each run in each of two charts"
    );
    assert_eq!(html.matches("<svg").count(), 4);
}

#[test]
fn the_page_needs_nothing_from_elsewhere_and_runs_nothing() {
    let html = page([common::full()]);
    for foreign in [
        "<script", "http://", "https://", "src=", "href=", "url(", "@import", "<link", "<iframe",
        "onload",
    ] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    assert!(html.contains("default-src 'none'"));
    assert!(html.contains("prefers-color-scheme: dark") && html.contains("width=device-width"));
}

#[test]
fn text_of_a_file_can_not_become_markup() {
    let mut statement = common::full();
    let attack = "</title><img src=x onerror=alert(1)>\"'&";
    let predicate = &mut statement.predicate;
    predicate.run.program = attack.into();
    predicate.run.arguments = vec![attack.into()];
    predicate.not_comparable_because = Some(attack.into());
    predicate.checks[0].name = attack.into();
    predicate.checks[0].what = attack.into();
    predicate.checks[0].notes = vec![attack.into()];
    predicate.laws[0].name = attack.into();
    predicate.laws[0].what = attack.into();
    predicate.thresholds[0].expression = attack.into();
    predicate.configuration.insert(attack.into(), attack.into());
    predicate
        .database
        .as_mut()
        .unwrap()
        .settings
        .insert(attack.into(), attack.into());
    predicate.host.cpu_model_name = Some(attack.into());
    predicate.toolchain.rustc = attack.into();
    predicate.source.revision = Some(attack.into());
    let results = &mut predicate.results;
    results.counts.insert(attack.into(), evidence::Integer(1));
    results.operations[0].name = attack.into();
    results.operations[0]
        .outcomes
        .insert(attack.into(), evidence::Integer(1));
    results.figures[0].name = attack.into();
    results.figures[0].unit = attack.into();
    results.histograms[0].of.operation = attack.into();
    results.histograms[0].of.measure = attack.into();
    results.series[0].of.operation = attack.into();
    results.benchmarks[0].id = attack.into();
    let html = report(&[(attack.to_owned(), statement)]);
    assert!(!html.contains("<img"));
    // Each `<` opens a tag of ours.
    let ours = [
        "!doctype",
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "h1",
        "h2",
        "h3",
        "p",
        "main",
        "div",
        "article",
        "b",
        "span",
        "code",
        "ul",
        "li",
        "br",
        "small",
        "details",
        "summary",
        "pre",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "section",
        "figure",
        "figcaption",
        "svg",
        "line",
        "text",
        "polyline",
        "polygon",
        "i",
        "u",
        "em",
    ];
    for tag in html.split('<').skip(1) {
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(|letter| letter.is_alphanumeric() || *letter == '!')
            .collect();
        assert!(ours.contains(&name.as_str()), "<{name}");
    }
}

#[test]
fn runs_without_figures_and_many_runs_make_a_page_too() {
    let mut bare = common::full();
    bare.predicate.results = evidence::Results::default();
    bare.predicate.thresholds.clear();
    bare.predicate.laws.clear();
    bare.predicate.database = None;
    let html = page([bare]);
    assert!(html.ends_with("</main></body></html>\n") && !html.contains("NaN"));
    let many = page((0..30).map(|_| common::full()));
    assert!(many.contains("run Z:") && many.contains("run A1:"));
    assert!(!many.contains("NaN") && !many.contains("inf"));
}

#[test]
fn the_program_writes_the_page_only_from_files_that_verify() {
    let folder = tempfile::tempdir().unwrap();
    common::full().write(folder.path()).unwrap();
    let run = |paths: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evidence"));
        command
            .current_dir(folder.path())
            .arg("report")
            .args(paths)
            .args(["-o", "page.html"]);
        command.output().unwrap().status.code().unwrap()
    };
    assert_eq!(run(&["."]), 0);
    assert!(
        fs::read_to_string(folder.path().join("page.html"))
            .unwrap()
            .starts_with("<!doctype html>")
    );
    fs::remove_file(folder.path().join("page.html")).unwrap();
    fs::write(folder.path().join("bad.json"), "{}").unwrap();
    assert_eq!(run(&[".", "bad.json"]), 3);
    assert_eq!(run(&["missing.json"]), 1);
    assert_eq!(run(&[]), 2);
    assert!(!folder.path().join("page.html").exists());
}
