//! The calls of a function, paired by their frames: how many returned, ended in a tail call or were left by
//! longjmp or an exception is what the program counts itself. The probes break no program that unwinds.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use goblin::elf::Elf;
use goblin::elf::program_header::PT_LOAD;
use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::location::{Expr, Node, Register, ValueType};
use simple_markers_resolver::resolve::{Detail, Request, function_exits};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{find, run};
use simple_markers_tests::watched::{can_watch, can_watch_with_tracefs};
use simple_markers_tracer::aggregate::{Counts, IntervalSubject, Question};
use simple_markers_tracer::arch::Platform;
use simple_markers_tracer::filter::Filter;
use simple_markers_tracer::plan::{
    Aggregate, CallExit, ImageFile, Input, Plan, PlannedArgument, PlannedImage, PlannedMarker, PlannedSite, Reading,
    Source,
};
use simple_markers_tracer::sys::{Engine, Kernel, Mode, Scope, Session};

/// The offset in the file of an address.
fn offset(elf: &Elf<'_>, address: Vaddr) -> FileOffset {
    let loads = elf.program_headers.iter().filter(|header| header.p_type == PT_LOAD);
    let mut holding = loads.filter(|header| header.vm_range().contains(&(address.0 as usize)));
    let header = holding.next().expect("a loaded address");
    FileOffset(address.0 - header.p_vaddr + header.p_offset)
}

/// The plan that times the calls of a function for which a filter on its second parameter, `depth`, holds.
fn plan(program: &Path, function: &str, filter: Option<&Filter>) -> (Plan, Question) {
    let data = std::fs::read(program).expect("the program is read");
    let elf = Elf::parse(&data).expect("an ELF file");
    let path = program.to_str().expect("UTF-8");
    let found = function_exits(path, &data, Request::new(Detail::Places), &|symbol| symbol == function);
    let found = found.expect("an image").into_iter().next().expect("the function");
    assert_eq!((&found.problem, found.gaps.len()), (&None, 0), "{found:?}");
    let (from, to) = (format!("{function}()"), format!("{function}() return"));
    let marker = |name: &str| PlannedMarker {
        image: 0,
        name: name.into(),
        file: "".into(),
        line: 0,
        format: "".into(),
        sites: 1,
        event: None,
    };
    let site = |marker: usize, address: Vaddr, exit: Option<CallExit>| PlannedSite {
        image: 0,
        marker,
        function: Some(function.into()),
        address,
        probe: address,
        offset: offset(&elf, address),
        switch: None,
        inputs: Vec::new(),
        arguments: Vec::new(),
        filter: None,
        aggregate: Aggregate::Hits,
        recorded: None,
        exit,
    };
    let mut sites = vec![site(0, found.entry, None)];
    // The second parameter: rsi.
    let depth = Expr::new(Node::Register(Register(4), ValueType::Unsigned(4))).expect("an expression");
    let reading = Reading::Number { field: 0, size: 4, kind: NumberKind::Signed };
    sites[0].inputs.push(Input::Number(depth));
    sites[0].arguments.push(PlannedArgument {
        text: "depth".into(),
        source: Source::Read(reading),
        names: None,
        alias: None,
    });
    sites.extend(found.returns.iter().map(|at| site(1, *at, Some(CallExit::Return))));
    sites.extend(
        found
            .tail_calls
            .iter()
            .map(|tail_call| site(1, tail_call.at, Some(CallExit::TailCall { function: tail_call.function.clone() }))),
    );
    let image = PlannedImage {
        path: path.to_owned(),
        file: ImageFile::default(),
        module: "submit".into(),
        build_id: None,
        thread_local_size: None,
        platform: Platform::HOST,
    };
    let mut plan = Plan { images: vec![image], markers: vec![marker(&from), marker(&to)], sites, left_out: Vec::new() };
    let question = Question::Time { from, to, key: IntervalSubject::Call, by: None };
    assert_eq!(plan.narrow(0, filter, &question), []);
    (plan, question)
}

/// Runs the program while its calls are timed. Returns what was counted, and the numbers that it prints.
fn timed(engine: Engine, program: &Path, rounds: u32, filter: Option<&Filter>) -> (Counts, [u64; 3]) {
    let (plan, question) = plan(program, "submit", filter);
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

fn compare(engine: Engine, program: &Path, rounds: u32) {
    let (counts, [returned, tail_calls, left]) = timed(engine, program, rounds, None);
    let durations = counts.durations.as_ref().expect("times");
    let what = format!("{engine:?} {}", program.display());
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
        compare(Engine::Bpf, &program, 1000);
    }
}

#[test]
fn calls_are_paired_without_bpf() {
    if find("g++").is_none() || !can_watch_with_tracefs() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile(folder.path(), "g++", "-O2");
    compare(Engine::Tracefs, &program, 200);
}

/// A call that was left, and a later one at its frame that the filter does not choose: the end of the later one
/// is not that of the first.
fn compare_chosen(engine: Engine, program: &Path) {
    const ROUNDS: u32 = 400;
    let filter = Filter::parse("depth == 0").expect("a filter");
    let (counts, [returned, tail_calls, _]) = timed(engine, program, ROUNDS, Some(&filter));
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
    let (counts, [_, tail_calls, _]) = timed(Engine::Bpf, &compile(folder.path(), "g++", "-O2"), 400, None);
    assert_eq!(counts.tail_calls, [(Some("finish".into()), tail_calls)]);
}
