//! What BPF programs read in the examples is what the unoptimised twin of each prints: every value
//! at every pass of every thread.
//!
//! Both run on one CPU, as real-time threads of equal priority. There a thread runs until it waits,
//! so both take the same steps in the same order, although the one is faster.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use simple_markers_resolver::resolve::resolve;
use simple_markers_tests::fixture::workspace;
use simple_markers_tests::oracle::builds::{self, Options, With};
use simple_markers_tests::oracle::twin::{self, Key, Pass};
use simple_markers_tests::tools;
use simple_markers_tests::watched::can_watch;
use simple_markers_tracer::Hit;
use simple_markers_tracer::bpf::KernelOffsets;
use simple_markers_tracer::plan::Plan;
use simple_markers_tracer::planning::PlanSettings;
use simple_markers_tracer::record::stack::StackSettings;
use simple_markers_tracer::sys::{Kernel, Mode, Scope, Session};
use simple_markers_tracer::thread_local::ThreadLocals;

use super::traced_twins::{Counts, count, watched};

/// An example.
struct Example {
    name: &'static str,
    /// The program first.
    sources: &'static [&'static str],
    compilers: &'static [With],
    arguments: &'static [&'static str],
    threads: usize,
    /// An argument that is another one in each run.
    varies: &'static str,
    /// The least number of values that are compared.
    values: usize,
}

impl Example {
    fn sources(&self) -> Vec<PathBuf> {
        self.sources.iter().map(|source| workspace().join(source)).collect()
    }
}

const EXAMPLES: [Example; 4] = [
    Example {
        name: "io-queue",
        sources: &["examples/io-queue/src/main.rs"],
        compilers: &[With::Rustc],
        arguments: &["200", "3"],
        threads: 3,
        varies: "elapsed",
        values: 700,
    },
    Example {
        name: "ringlog",
        sources: &["tests/truth/examples/ringlog.rs"],
        compilers: &[With::Rustc],
        arguments: &[],
        threads: 1,
        varies: "",
        values: 10,
    },
    Example {
        name: "constructs",
        sources: &["examples/constructs/src/main.rs", "tests/truth/examples/constructs_library.rs"],
        compilers: &[With::Rustc],
        arguments: &[],
        threads: 4,
        varies: "",
        values: 60,
    },
    Example {
        name: "c-queue",
        sources: &["examples/c-queue/main.c", "examples/c-queue/device.c", "examples/c-queue/queue.c"],
        compilers: &[With::Gcc, With::Clang],
        arguments: &[],
        threads: 2,
        varies: "",
        values: 1000,
    },
];

/// How often two runs are made until they take the same steps. An interrupt may change the order.
const ATTEMPTS: usize = 5;

/// The command that runs a program on one CPU, in real time. A program that hangs there would stop
/// others, so it is killed.
fn in_turns(image: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "30", "taskset", "-c", "0", "chrt", "-f", "1"]).arg(image).args(arguments);
    command
}

/// The threads that pass each marker, in order. A thread is the number of threads that passed a
/// marker before it.
type Steps<'a> = BTreeMap<&'a Key, Vec<usize>>;

fn steps<'a>(passes: impl Iterator<Item = (&'a Key, u64)>) -> Steps<'a> {
    let mut threads = HashMap::new();
    let mut steps = Steps::new();
    for (key, thread) in passes {
        let next = threads.len();
        steps.entry(key).or_default().push(*threads.entry(thread).or_insert(next));
    }
    steps
}

/// Compares the values of one run with those of the twin. `None` if the steps differ.
fn compare(plan: &Plan, mut program: Command, passes: &[Pass], varies: &str) -> Option<Counts> {
    let mode = Mode::Trace { ring: 1 << 22, stacks: StackSettings::NONE };
    let mut session = Session::start(plan, &Scope::All, mode, Kernel::new()).expect("it is watched");
    program.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it runs");
    session.detach();
    let markers: HashMap<usize, Key> = watched(plan).into_iter().map(|(key, number)| (number, key)).collect();
    let keys: HashSet<&Key> = markers.values().collect();
    let mut theirs: HashMap<&Key, Vec<&Pass>> = HashMap::new();
    let watched: Vec<&Pass> = passes.iter().filter(|pass| keys.contains(&pass.marker)).collect();
    watched.iter().for_each(|pass| theirs.entry(&pass.marker).or_default().push(pass));
    let (mut ours, mut counts) = (Vec::new(), Counts { markers: markers.len(), ..Counts::default() });
    let mut hits: HashMap<&Key, usize> = HashMap::new();
    let mut each = |hit: &Hit<'_>| {
        let Some(key) = markers.get(&hit.site.marker) else { return };
        ours.push((key, u64::from(hit.thread)));
        let number = hits.entry(key).or_default();
        *number += 1;
        let Some(pass) = theirs.get(key).and_then(|passes| passes.get(*number - 1)) else { return };
        for ((value, truth), argument) in hit.values().zip(&pass.values).zip(&hit.site.arguments) {
            if &*argument.text != varies {
                count(&mut counts, hit, &value, truth);
            }
        }
    };
    session.read(plan, true, &mut each);
    assert_eq!(session.lost(), Ok(0));
    let theirs = watched.iter().map(|pass| (&pass.marker, pass.thread));
    (steps(ours.into_iter()) == steps(theirs)).then_some(counts)
}

fn examine(example: &Example, options: &Options, folder: &Path, passes: &[Pass]) -> Counts {
    let image = folder.join(example.name);
    builds::program(&example.sources(), options, &image).expect("the program is built");
    let path = image.to_str().expect("UTF-8");
    let resolution = resolve(path, &std::fs::read(&image).expect("the program"));
    let mut plan = Plan::default();
    let kernel = Kernel::new();
    let settings =
        PlanSettings { kernel: KernelOffsets { identity: None, ..kernel.offsets }, ..PlanSettings::default() };
    for image in &resolution.images {
        plan.add(image, path, &ThreadLocals::Executable(0), &|_| true, &settings).expect("it can be watched");
    }
    let run = |_| compare(&plan, in_turns(&image, example.arguments), passes, example.varies);
    (0..ATTEMPTS).find_map(run).unwrap_or_else(|| panic!("{} takes other steps than its twin", example.name))
}

/// The levels without and with link-time optimisation.
fn every_build(with: With) -> Vec<Options> {
    let of = |level: &str, lto: &str, dwarf| Options { with, level: level.to_owned(), lto: lto.to_owned(), dwarf };
    let plain = with.levels().iter().map(|level| of(level, "none", 5));
    let linked = ["thin", "fat"].into_iter().filter(|lto| with == With::Rustc && with.has_lto(lto));
    plain.chain(linked.flat_map(|lto| [of("2", lto, 4), of("3", lto, 5)])).collect()
}

#[test]
fn values_of_examples_are_those_of_their_twins() {
    if !can_watch() {
        return;
    }
    if !in_turns(Path::new("true"), &[]).status().is_ok_and(|status| status.success()) {
        return tools::skipped("timeout, taskset and chrt cannot run a program in real time");
    }
    let mut failures = Vec::new();
    for example in &EXAMPLES {
        let folder = tempfile::tempdir().expect("a folder");
        for with in example.compilers.iter().copied().filter(|with| builds::is_installed(*with)) {
            let twin_image = folder.path().join("twin");
            builds::twin(&example.sources(), with, &twin_image).expect("the twin is built");
            let (passes, _) = twin::run(in_turns(&twin_image, example.arguments), twin::SMALL).expect("the twin runs");
            let threads: HashSet<u64> = passes.iter().map(|pass| pass.thread).collect();
            assert_eq!(threads.len(), example.threads, "{}", example.name);
            // -O2, which is built fastest.
            for options in tools::slice(&format!("{} by {}", example.name, with.name()), &every_build(with), &[1]) {
                let counts = examine(example, &options, folder.path(), &passes);
                note!("{} by {options:?}: {counts:?}", example.name);
                if counts.wrong > 0 || counts.right < example.values {
                    failures.push(format!("{} by {options:?}: {counts:?}", example.name));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
