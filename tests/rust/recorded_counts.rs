//! Probes that programs record themselves, counted by `smark`: as the kernel counts them, and as the
//! program does.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_tests::fixture;
use simple_markers_tests::tools;
use simple_markers_tests::watched::can_watch;

use crate::recorded::{SORTER, optimised, printed_and_said, smark, text, work};
use crate::trace;

/// The lines of JSON of `smark count` with the sorter, those that the sorter prints, and what `smark`
/// says to people.
fn count(options: &[&str], sorter: &[&str]) -> (Vec<Json>, Vec<String>, String) {
    let program = [&[text(&SORTER)], sorter].concat();
    let (lines, errors) = smark(&[&["count", "--json"], options].concat(), &program);
    let (found, printed): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.starts_with('{'));
    (found.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect(), printed, errors)
}

fn hits(found: &[Json], marker: &str) -> u64 {
    let line = found.iter().find(|line| line["marker"] == marker).unwrap_or_else(|| panic!("{marker}: {found:?}"));
    line["hits"].as_u64().expect("a number")
}

#[test]
fn counts_are_those_of_the_program() {
    for (buffer, arrays) in [("8M", "20"), ("16K", "300")] {
        let options = ["--buffer", buffer, "sort:compare"];
        let (found, printed, errors) = count(&options, &[arrays, "60"]);
        let lost = found.last().and_then(|line| line["end"]["lost"].as_u64()).expect("what was lost");
        assert_eq!(hits(&found, "sort:compare") + lost, work(&printed).0, "{errors}");
        assert_eq!(lost > 0, buffer == "16K", "{errors}");
        assert_eq!(errors.contains("hits were lost"), lost > 0, "{errors}");
    }
}

#[test]
fn counts_are_those_of_the_kernel() {
    if !can_watch() {
        return;
    }
    let questions: &[&[&str]] = &[
        &["--include", "shared", "sort:*"],
        &[
            "--by",
            "algorithm.name()",
            "--where",
            "number > 1 && `algorithm.name()` != \"heap\"",
            "sort:begin",
            "sort:end",
        ],
        &["--by", "depth", "sort:split"],
        &["--by", "each", "--top", "3", "sort:end"],
        &["--hist", "swaps", "sort:end"],
        &["--hist", "right", "--where", "left > right", "sort:swap"],
        &["--by", "left", "--max-values", "4", "--where", "left < 4", "sort:compare"],
    ];
    for question in tools::slice("recorded counts", questions, &[0, 1]) {
        let [mut found, mut expected] = [&[][..], &["--engine", "bpf"]].map(|engine| {
            let (found, printed, errors) = count(&[question, engine].concat(), &["4", "40"]);
            let (comparisons, swaps) = work(&printed);
            if question.contains(&"sort:*") {
                let all = ["compare", "swap", "begin", "end", "done"].map(|name| hits(&found, &format!("sort:{name}")));
                assert_eq!(all, [comparisons, swaps, 12, 12, 3], "{errors}");
            }
            found
        });
        let by_name = |line: &Json| line["marker"].to_string();
        found.sort_by_key(by_name);
        expected.sort_by_key(by_name);
        assert_eq!(found, expected, "{question:?}");
    }
}

#[test]
fn times_are_between_probes_markers_and_events() {
    if !can_watch() {
        return;
    }
    let exit = "sched:sched_process_exit";
    let to_exit = format!("sort:end..{exit}");
    // How many times there are, ends without a start, and starts without an end.
    for (options, times, unmatched) in [
        (&["--time", "sort:begin..sort:end"][..], 60, (0, 0)),
        (&["--time", "sort:end..sort:done", "--include", "shared"], 3, (0, 57)),
        (&["--time", &to_exit, "-e", exit], 3, (1, 57)),
        (&["--time", "sort:begin..sort:end", "--where", "number < 5"], 15, (45, 0)),
        // The threads have arrays of the same numbers.
        (
            &["--time", "sort:begin..sort:end", "--key", "number", "--where", "`algorithm.name()` == \"heap\""],
            20,
            (40, 0),
        ),
    ] {
        let (found, _, errors) = count(options, &["20", "20"]);
        let line = found.iter().find(|line| !line["time"].is_null()).expect("the times");
        let time = &line["time"];
        let number = |name: &str| time[name].as_u64().expect("a number");
        assert_eq!(number("count"), times, "{options:?}: {errors}");
        assert_eq!((number("ends_without_start"), number("starts_without_end")), unmatched, "{options:?}: {errors}");
        assert!(number("min") > 0 && number("max") < 10_000_000_000, "{options:?}: {time}");
        assert_eq!(found.last().map(|line| &line["end"]["lost"]), Some(&Json::from(0)), "{errors}");
    }
}

/// The lines of `smark report` for a recording.
fn report(options: &[&str], recording: &Path) -> Vec<String> {
    let report = tools::run(Command::new(fixture::smark()).arg("report").args(options).arg(recording));
    report.lines().map(str::to_owned).collect()
}

#[test]
fn a_recording_says_what_the_program_prints() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let (lines, errors) = smark(&["record", "-o", text(&recording)], &[text(optimised())]);
    let (printed, _) = printed_and_said(&lines);
    let reported = report(&[], &recording);
    assert!(!printed.is_empty(), "{lines:?}");
    assert_eq!(printed_and_said(&reported).1, printed, "{errors}");
}

#[test]
fn a_recording_has_the_work_of_the_program_and_no_place_of_a_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let recording = folder.path().join("recording");
    let (printed, errors) = smark(&["record", "-o", text(&recording), "sort:[!d]*"], &[text(&SORTER), "4", "20"]);
    let (found, end) = trace::hits(&report(&["--json"], &recording));
    let (comparisons, swaps) = work(&printed);
    let of = |name: &str| found.iter().filter(|hit| hit["marker"] == name).collect::<Vec<_>>();
    let all = ["compare", "swap", "begin", "end"].map(|name| of(&format!("sort:{name}")).len() as u64);
    assert_eq!((all, &end["lost"]), ([comparisons, swaps, 12, 12], &Json::from(0)), "{errors}");
    // The swaps that the probes at the ends say, each of one algorithm.
    let said: u64 = of("sort:end").iter().filter_map(|hit| hit["args"][2]["value"].as_u64()).sum();
    assert_eq!(said, swaps);
    // Both are inlined in several functions. The other ones have one site each.
    assert!(["sort:compare", "sort:swap"].iter().all(|name| of(name).iter().all(|hit| hit["site"].is_null())));
    assert!(of("sort:begin").iter().all(|hit| hit["site"].as_str().is_some_and(|site| site.starts_with("0x"))));
    let described = std::fs::read(recording.join("smark/recording.json")).expect("the description");
    let described: Json = serde_json::from_slice(&described).expect("JSON");
    let sites = described["sites"].as_array().expect("sites").iter();
    let copies: Vec<(bool, bool)> =
        sites.map(|site| (site["copies"].as_u64() > Some(1), site["function"].is_null())).collect();
    assert_eq!(copies.iter().filter(|(has_copies, is_unknown)| *has_copies && *is_unknown).count(), 2, "{copies:?}");
    assert_eq!(copies.iter().filter(|(has_copies, is_unknown)| !has_copies && !is_unknown).count(), 3, "{copies:?}");
    // The table and the times are made of the same hits.
    let counts = report(&["--count", "--json"], &recording);
    let counts: Vec<Json> = counts.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((hits(&counts, "sort:compare"), hits(&counts, "sort:swap")), (comparisons, swaps));
    let times = report(&["--time", "sort:begin..sort:end", "--json"], &recording);
    let times: Vec<Json> = times.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(hits(&times, "sort:begin..sort:end"), 12);
    // A timeline has all of them.
    let timeline = folder.path().join("timeline");
    report(&["--to", "perfetto", "-o", text(&timeline), "--pair", "sort:begin..sort:end"], &recording);
    assert!(std::fs::metadata(&timeline).expect("a file").len() > 16 * found.len() as u64);
}
