//! The calls of a function, paired by their frames: how many returned, ended in a tail call or were left by
//! longjmp or an exception is what the program counts itself. The probes break no program that unwinds.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use simple_markers_resolver::marks::Mark;
use simple_markers_resolver::resolve::{Detail, Request, resolve_request};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{find, run};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs};
use simple_markers_tracer::aggregate::{Counts, IntervalSubject, Question, Refusal, RefusedSite};
use simple_markers_tracer::filter::Filter;
use simple_markers_tracer::plan::{Plan, StackNotes};
use simple_markers_tracer::planning::PlanSettings;
use simple_markers_tracer::sys::{Engine, Kernel, Mode, Scope, Session};
use simple_markers_tracer::thread_local::ThreadLocals;

/// What stands at the entry of a function. Values are read behind the prologue in code without optimisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Plain,
    Values,
}

/// The plan that times the calls of `submit` for which a filter on its second parameter, `depth`, holds.
fn plan(program: &Path, entry: Entry, filter: Option<&Filter>) -> (Plan, Question) {
    let (plan, question, refused) = narrowed(program, entry, filter);
    assert_eq!(refused, []);
    (plan, question)
}

/// The same, with the sites that are not watched.
fn narrowed(program: &Path, entry: Entry, filter: Option<&Filter>) -> (Plan, Question, Vec<RefusedSite>) {
    let data = std::fs::read(program).expect("the program is read");
    let path = program.to_str().expect("UTF-8");
    let values = if entry == Entry::Values { " \"%d\", depth" } else { "" };
    let (from, to) = ("submit()".to_owned(), "submit() return".to_owned());
    let marks = [format!("{from}{values}"), to.clone()];
    let marks = marks.map(|text| Mark::parse(&text).expect("a mark").out_of_line());
    let resolution = resolve_request(path, &data, Request::new(Detail::Everything).marks(&marks));
    let (image, mut plan) = (resolution.images.first().expect("an image"), Plan::default());
    let added = plan.add(image, path, &ThreadLocals::Executable(0), &|marker| marker.is_mark, &PlanSettings::default());
    added.expect("it can be watched");
    assert_eq!((plan.markers.len(), plan.left_out.len()), (2, 0), "{plan:?}");
    for image in &mut plan.images {
        image.build_id.get_or_insert("00".to_owned());
    }
    // A plan file keeps what tells calls apart.
    let file = Plan::from_json(plan.to_json().to_string().as_bytes()).expect("a plan");
    for (read, made) in file.sites.iter().zip(&plan.sites) {
        assert_eq!(read.entry_stack_pointer, made.entry_stack_pointer);
    }
    let question = Question::Time {
        from,
        to,
        key: IntervalSubject::Call,
        by: Vec::new(),
        is_split: false,
        notes: StackNotes::default(),
    };
    let refused = plan.narrow(0, filter, &question);
    (plan, question, refused)
}

/// Runs the program while its calls are timed. Returns what was counted, and the numbers that it prints.
fn timed(engine: Engine, program: &Path, rounds: u32, (entry, filter): (Entry, Option<&Filter>)) -> (Counts, [u64; 3]) {
    let (plan, question) = plan(program, entry, filter);
    let mut child = Command::new(program);
    child.arg(rounds.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.spawn().expect("it starts");
    let scope = Scope::Processes { pids: vec![child.id()], with_children: false };
    let mode = Mode::Count { most_values: 1 << 16, ring: 1 << 24 };
    let mut session = Session::start_with(engine, &plan, &scope, mode, Kernel::new()).expect("a session");
    child.stdin.take().expect("a pipe").write_all(b"\n").expect("a byte");
    while child.try_wait().expect("a child").is_none() {
        session.read(&plan, false, &mut |_| {});
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let output = child.wait_with_output().expect("an output");
    assert!(output.status.success(), "{:?}", output.status);
    session.read(&plan, true, &mut |_| {});
    let counted = session.counted().expect("the counts");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let numbers: Vec<u64> = printed.split_whitespace().map(|word| word.parse().expect("a number")).collect();
    (Counts::new(&plan, &question, &counted), numbers.try_into().expect("three numbers"))
}

fn compile(folder: &Path, compiler: &str, level: &str) -> std::path::PathBuf {
    let program = folder.join(format!("submit-{compiler}{level}"));
    let source = fixture::workspace().join("tests/calls/submit.cpp");
    run(Command::new(compiler).args(["-g", "-w", "-pthread", level]).arg(source).arg("-o").arg(&program));
    program
}

fn compare(engine: Engine, program: &Path, rounds: u32, entry: Entry) {
    let (counts, [returned, tail_calls, left]) = timed(engine, program, rounds, (entry, None));
    let durations = counts.durations.as_ref().expect("times");
    let what = format!("{engine:?} {entry:?} {}", program.display());
    assert!(returned > 0 && left > 0, "{what}");
    assert_eq!(durations.count(), returned + tail_calls, "{what}: {:?}", counts.unmatched);
    let unmatched = counts.unmatched;
    assert_eq!((unmatched.repeated + unmatched.open, unmatched.ends, unmatched.nested), (left, 0, 0), "{what}");
    // Without optimisation, and in clang with the exception, it is a call.
    let expected: Vec<(Option<Arc<str>>, u64)> = match counts.tail_calls.is_empty() {
        true => Vec::new(),
        false => vec![(Some("finish".into()), tail_calls)],
    };
    assert_eq!(counts.tail_calls, expected, "{what}");
    note!("{what}: {returned} returned, {tail_calls} in tail calls ({:?}), {left} left", counts.tail_calls);
}

#[test(cases = ["g++", "clang++"])]
fn calls_are_paired_by_their_frames(compiler: &str) {
    if find(compiler).is_none() || !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for level in ["-O0", "-O2"] {
        let program = compile(folder.path(), compiler, level);
        for entry in [Entry::Plain, Entry::Values] {
            compare(Engine::Bpf, &program, 1000, entry);
        }
    }
}

#[test]
fn behind_a_prologue_the_frame_needs_call_frame_information() {
    if find("g++").is_none() || find("objcopy").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "g++", "-O0");
    run(Command::new("objcopy").args(["--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr"]).arg(&program));
    assert_eq!(narrowed(&program, Entry::Plain, None).2, []);
    let refused = narrowed(&program, Entry::Values, None).2;
    let [RefusedSite { marker, why: Refusal::Frame, .. }] = refused.as_slice() else { panic!("{refused:?}") };
    assert_eq!(&**marker, "submit()");
}

#[test]
fn calls_are_paired_without_bpf() {
    if find("g++").is_none() || !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for level in ["-O0", "-O2"] {
        let program = compile(folder.path(), "g++", level);
        for entry in [Entry::Plain, Entry::Values] {
            compare(Engine::Tracefs, &program, 200, entry);
        }
    }
}

/// A call that was left, and a later one at its frame that the filter does not choose: the end of the later one
/// is not that of the first.
fn compare_chosen(engine: Engine, program: &Path) {
    const ROUNDS: u32 = 400;
    let filter = Filter::parse("depth == 0").expect("a filter");
    let (counts, [returned, tail_calls, _]) = timed(engine, program, ROUNDS, (Entry::Values, Some(&filter)));
    // Each of the rounds of four threads has one call of depth 0, and half of them do not return.
    let half = u64::from(ROUNDS) * 4 / 2;
    assert_eq!(counts.durations.as_ref().expect("times").count(), half, "{engine:?}: {:?}", counts.unmatched);
    let unmatched = counts.unmatched;
    assert_eq!(
        (unmatched.repeated + unmatched.open, unmatched.ends),
        (half, returned + tail_calls - half),
        "{engine:?}"
    );
}

#[test]
fn a_filter_chooses_calls_by_their_entries() {
    if find("g++").is_none() || !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "g++", "-O2");
    compare_chosen(Engine::Bpf, &program);
    if can_watch_with_tracefs() {
        compare_chosen(Engine::Tracefs, &program);
    }
}

#[test]
fn tail_calls_are_told_apart() {
    if find("g++").is_none() || !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (counts, [_, tail_calls, _]) =
        timed(Engine::Bpf, &compile(folder.path(), "g++", "-O2"), 400, (Entry::Plain, None));
    assert_eq!(counts.tail_calls, [(Some("finish".into()), tail_calls)]);
}
