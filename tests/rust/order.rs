//! The hits of each thread come in the order in which its program passes the markers: also those of markers
//! with one address, and where a probe is moved to a cheaper address.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use simple_markers_resolver::export::{self, At};
use simple_markers_resolver::resolve::{Resolution, resolve};
use simple_markers_tests::fixture;
use simple_markers_tests::generator::Adjacent;
use simple_markers_tests::oracle::builds::{self, Options, With};
use simple_markers_tests::oracle::twin::{self, Pass};
use simple_markers_tests::tools::{self, ended, slice, tries_everything};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs, compile};
use simple_markers_tracer::plan::Plan;
use simple_markers_tracer::planning::PlanSettings;
use simple_markers_tracer::thread_local::ThreadLocals;

use super::trace::hits;

/// Runs `smark` and returns its lines.
fn smark(arguments: &[&str], paths: &[&Path]) -> Vec<String> {
    let mut smark = Command::new(fixture::smark());
    ended(smark.args(arguments).args(paths)).lines()
}

/// The hits of each thread, with the values that could be read.
type Sequences = Vec<Vec<(String, Option<u64>)>>;

fn sequences(lines: &[String]) -> Sequences {
    let (hits, _) = hits(lines);
    let mut threads: BTreeMap<u64, Vec<(String, Option<u64>)>> = BTreeMap::new();
    for hit in &hits {
        let name = hit["marker"].as_str().expect("a name").to_owned();
        let value = hit["args"].get(0).and_then(|argument| argument["value"].as_u64());
        threads.entry(hit["tid"].as_u64().expect("a thread")).or_default().push((name, value));
    }
    threads.into_values().collect()
}

/// Fails if the hits of the threads are not these passes, or have other values than those that are known.
/// Returns how many values were compared.
fn compare(what: &str, mut said: Sequences, truth: &[Vec<(String, Option<u64>)>]) -> usize {
    let names = |sequence: &[(String, Option<u64>)]| sequence.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    let mut values = 0;
    assert_eq!(said.len(), truth.len(), "{what}");
    for passes in truth {
        let found = said.iter().position(|hits| names(hits) == names(passes));
        let Some(found) = found else {
            let of = said.iter().max_by_key(|hits| hits.iter().zip(passes).take_while(|(a, b)| a.0 == b.0).count());
            let of = of.expect("hits");
            let first = of.iter().zip(passes).position(|(a, b)| a.0 != b.0).unwrap_or(of.len().min(passes.len()));
            let around = |all: &[(String, _)]| {
                all.iter().skip(first.saturating_sub(3)).take(8).map(|it| it.0.clone()).collect::<Vec<_>>()
            };
            panic!(
                "{what}: {} hits, {} passes; from {first} {:?}, and not {:?}",
                of.len(),
                passes.len(),
                around(of),
                around(passes)
            );
        };
        for (hit, pass) in said.swap_remove(found).iter().zip(passes) {
            if pass.1.is_some() {
                assert_eq!(hit, pass, "{what}");
                values += 1;
            }
        }
    }
    values
}

/// The numbers of intervals that a thread's passes make: an end belongs to the last start that has none.
fn intervals(truth: &[Vec<(String, Option<u64>)>], from: &str, to: &str) -> u64 {
    let of_thread = |passes: &Vec<(String, Option<u64>)>| {
        let (mut open, mut pairs) = (0, 0);
        for (name, _) in passes {
            match () {
                () if name == from => open += 1,
                () if name == to && open > 0 => (open, pairs) = (open - 1, pairs + 1),
                () => {}
            }
        }
        pairs
    };
    truth.iter().map(of_thread).sum()
}

fn passes(sources: &[std::path::PathBuf], with: With, folder: &Path, is_watched: &dyn Fn(&str) -> bool) -> Sequences {
    let twin_image = folder.join("twin");
    builds::twin(sources, with, &twin_image).expect("the twin is built");
    let (all, _) = twin::run(Command::new(&twin_image), twin::SMALL).expect("the twin runs");
    let mut threads: HashMap<u64, Vec<(String, Option<u64>)>> = HashMap::new();
    for Pass { marker: (name, ..), thread, values } in all.into_iter().filter(|pass| is_watched(&pass.marker.0)) {
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        threads.entry(thread).or_default().push((name, values.first().map(|value| number(&value.bytes))));
    }
    threads.into_values().collect()
}

fn plan(resolution: &Resolution, settings: &PlanSettings) -> Plan {
    let mut plan = Plan::default();
    let added = plan.add(&resolution.images[0], "adjacent", &ThreadLocals::Executable(0), &|_| true, settings);
    added.expect("it can be watched");
    plan
}

/// The markers of which all sites are watched.
fn watched_everywhere(resolution: &Resolution, settings: &PlanSettings) -> HashSet<String> {
    let plan = plan(resolution, settings);
    let mut sites: HashMap<usize, usize> = HashMap::new();
    plan.sites.iter().for_each(|site| *sites.entry(site.marker).or_default() += 1);
    let whole = plan.markers.iter().enumerate().filter(|(number, marker)| sites.get(number) == Some(&marker.sites));
    whole.map(|(_, marker)| marker.name.to_string()).collect()
}

const ROWS: [(With, &str, u64); 9] = [
    (With::Gcc, "2", 1),
    (With::Clang, "2", 2),
    (With::Rustc, "2", 3),
    (With::Gcc, "1", 4),
    (With::Gcc, "s", 5),
    (With::Clang, "1", 6),
    (With::Clang, "3", 7),
    (With::Rustc, "1", 8),
    (With::Rustc, "3", 9),
];

#[test]
fn hits_come_in_the_order_of_the_program() {
    if !can_watch() {
        return;
    }
    let has_tracefs = can_watch_with_tracefs();
    let (mut together, mut moved, mut values) = (0, 0, 0);
    for (with, level, seed) in slice("order of hits", &ROWS, &[0]) {
        if !builds::is_installed(with) {
            continue;
        }
        let seed = std::env::var("ORDER_SEED").map_or(seed, |seed| seed.parse().expect("a number"));
        let folder = tempfile::tempdir().expect("a folder");
        let program = Adjacent::generate(seed, 8);
        let source = folder.path().join(if with == With::Rustc { "adjacent.rs" } else { "adjacent.c" });
        std::fs::write(&source, if with == With::Rustc { &program.rust } else { &program.c }).expect("the source");
        let (sources, image) = ([source], folder.path().join("adjacent"));
        let options = Options { with, level: level.to_owned(), lto: "none".to_owned(), dwarf: 5 };
        builds::program(&sources, &options, &image).expect("the program is built");

        let resolution = resolve("adjacent", &std::fs::read(&image).expect("the program"));
        let whole = watched_everywhere(&resolution, &PlanSettings::default());
        let plan = plan(&resolution, &PlanSettings::default());
        together += plan.by_address(0).iter().filter(|sites| sites.len() > 1).count();
        moved += plan.sites.iter().filter(|site| site.probe != site.address).count();

        let is_whole = |name: &str| whole.contains(name);
        // Which values are wrong is measured elsewhere (docs/measured/truth.md); here their order
        // counts.
        let mut truth = passes(&sources, with, folder.path(), &is_whole);
        truth.iter_mut().flatten().for_each(|pass| pass.1 = None);
        let what = format!("{} -O{level} seed {seed}", with.name());
        let keep = |mut said: Sequences| {
            said.iter_mut().for_each(|hits| hits.retain(|hit| is_whole(&hit.0)));
            said
        };
        let best = keep(sequences(&smark(&["trace", "--json", "--"], &[&image])));
        compare(&what, best.clone(), &truth);
        // A probe reads the same at the cheapest address as at the site.
        let at_site = export::ExportSettings { at: At::Site, ..export::ExportSettings::default() };
        let everywhere = watched_everywhere(&resolution, &PlanSettings { export: at_site, ..PlanSettings::default() });
        let both = |mut said: Sequences| {
            said.iter_mut().for_each(|hits| hits.retain(|hit| everywhere.contains(&hit.0)));
            said
        };
        let at_site = keep(sequences(&smark(&["trace", "--json", "--at", "site", "--"], &[&image])));
        values += compare(&format!("{what}, best address"), both(best), &both(at_site));
        if has_tracefs && (with == With::Gcc || tries_everything()) {
            let lines = smark(&["trace", "--json", "--engine", "tracefs", "--"], &[&image]);
            compare(&format!("{what}, tracefs"), keep(sequences(&lines)), &truth);
        }
        let recording = folder.path().join("recording");
        let path = recording.to_str().expect("UTF-8");
        smark(&["record", "-o", path, "--"], &[&image]);
        compare(&format!("{what}, recorded"), keep(sequences(&smark(&["report", "--json", path], &[]))), &truth);

        // Markers that follow each other.
        let pairs = truth[0].windows(2).filter(|pair| pair[0].0 != pair[1].0).step_by(truth[0].len() / 2);
        for pair in pairs {
            let ((from, _), (to, _)) = (&pair[0], &pair[1]);
            let expected = intervals(&truth, from, to);
            let times = format!("{from}..{to}");
            let counted = smark(&["count", "--json", "--time", &times, "--"], &[&image]);
            let reported = smark(&["report", "--json", "--time", &times, path], &[]);
            for (how, lines) in [("count", counted), ("report", reported)] {
                let lines: Vec<Json> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
                let line = lines.iter().find(|line| !line["time"].is_null()).expect("times");
                assert_eq!(line["time"]["count"], expected, "{what}: {how} {times}");
            }
        }
    }
    note!("{together} addresses of several sites, {moved} probes were moved, {values} values are the same at the site");
    assert!(together > 50 && moved > 10 && values > 1000, "{together} {moved} {values}");
}

const THREE: &str = r#"
#include "simple_marker.h"
volatile int sink;
__attribute__((noinline)) void three(int i) {
    sink = i;
    simple_mark(three:a, "%d", i);
    simple_mark(three:b, "%d", i);
    simple_mark(three:c, "%d", i);
    sink = i + 1;
}
int main(void) { for (int i = 0; i < 100; i++) three(i); return 0; }
"#;

#[test(desk = false)]
fn between_markers_of_one_address_is_no_time() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "three", THREE, &[]);
    let recording = folder.path().join("recording");
    let path = recording.to_str().expect("UTF-8");
    smark(&["record", "-o", path, "--"], &[&program]);
    let filtered = ["--where", "i >= 40"];
    for (pair, more, count, is_zero) in [
        ("three:a..three:b", &[][..], 100, true),
        ("three:a..three:c", &filtered, 60, true),
        // From a call to the next one.
        ("three:c..three:a", &[], 99, false),
    ] {
        let mut engines = vec![vec!["count", "--json", "--engine", "bpf"]];
        if can_watch_with_tracefs() {
            engines.push(vec!["count", "--json", "--engine", "tracefs"]);
        }
        engines.push(vec!["report", "--json", path]);
        for mut command in engines {
            let is_report = command[0] == "report";
            command.extend(["--time", pair]);
            command.extend(more);
            let lines = match is_report {
                true => smark(&command, &[]),
                false => smark(&[&command[..], &["--"]].concat(), &[&program]),
            };
            let lines: Vec<Json> = lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
            let time = &lines.iter().find(|line| !line["time"].is_null()).expect("times")["time"];
            let is_right = time["count"] == count && (time["max"] == 0) == is_zero && (time["min"] == 0) == is_zero;
            assert!(is_right, "{command:?}: {time}");
        }
    }
}

/// Markers at one address, most of which are filtered, with texts: many more than one program has.
#[test]
fn many_markers_of_one_address_are_each_filtered() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let marks: String = (0..40).map(|number| format!("simple_mark(many:m{number}, \"%s %d\", text, i);\n")).collect();
    let source = format!(
        "#include \"simple_marker.h\"\nvolatile int sink;\n__attribute__((noinline)) void many(const char *text, int i) {{\n\
         sink = i;\n{marks}sink = text[i];\n}}\n\
         int main(void) {{ for (int i = 0; i < 5; i++) many(\"a text\", i); return 0; }}\n"
    );
    let program = compile(folder.path(), "many", &source, &[]);
    for engine in ["bpf", "tracefs"] {
        if engine == "tracefs" && !can_watch_with_tracefs() {
            continue;
        }
        let filter = "i >= 2 && text == \"a text\"";
        let lines = smark(&["trace", "--json", "--engine", engine, "--where", filter, "--"], &[&program]);
        let (hits, end) = hits(&lines);
        let said: Vec<_> = hits.iter().map(|hit| (hit["args"][1]["value"].clone(), hit["marker"].clone())).collect();
        let expected: Vec<_> =
            (2..5).flat_map(|i| (0..40).map(move |it| (Json::from(i), Json::from(format!("many:m{it}"))))).collect();
        assert_eq!(said, expected, "{engine}");
        assert!(hits.iter().all(|hit| hit["args"][0]["value"] == "a text"), "{engine}");
        assert_eq!((&end["hits"], &end["lost"]), (&Json::from(120), &Json::from(0)), "{engine}");
    }
}

/// A marker before each of some instructions that only fill space, behind one that changes nothing.
const PADDED: [&str; 3] = [
    "0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0",
    "0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0",
    "0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0",
];

/// The kernel takes no probe at such an instruction, which compilers put before loops.
#[test]
fn a_probe_goes_before_padding_with_a_prefix() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut source = String::from("#include \"simple_marker.h\"\n");
    for (number, bytes) in PADDED.iter().enumerate() {
        source.push_str(&format!(
            "__attribute__((noinline)) static void pass{number}(int i) {{\n__asm__ volatile(\"nop\");\n\
             simple_mark_keep(padded:m{number}, \"%d\", i);\n__asm__ volatile(\".byte {bytes}\" : : \"r\"(i));\n}}\n"
        ));
    }
    source.push_str("int main(void) { for (int i = 0; i < 50; i++) { pass0(i); pass1(i); pass2(i); } return 0; }\n");
    let program = compile(folder.path(), "padded", &source, &[]);
    let resolution = resolve("padded", &std::fs::read(&program).expect("the program"));
    let plan = plan(&resolution, &PlanSettings::default());
    let moved: Vec<u64> = plan.sites.iter().map(|site| site.address.0 - site.probe.0).collect();
    assert_eq!(moved, [1; 3]);
    let expected: Vec<_> =
        (0..50).flat_map(|i| (0..3).map(move |number| (format!("padded:m{number}"), Some(i)))).collect();
    assert_eq!(sequences(&smark(&["trace", "--json", "--"], &[&program])), [expected]);
    // At the site itself there is none.
    let mut at_site = Command::new(fixture::smark());
    let output = tools::output(at_site.args(["trace", "--at", "site", "--"]).arg(&program));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.stdout.is_empty() && said.contains("padded:m0"), "{said}");
}
