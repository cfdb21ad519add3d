//! `smark export` with the tools that it serves. The programs print the true values at each marker,
//! and the kernel, perf, bpftrace, gdb and SystemTap must read the same.
//!
//! Probes need root and tracefs. Without them the tests are skipped with a message.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use regex::Regex;
use simple_markers_record::printf::{self, Piece};
use simple_markers_resolver::resolve::Resolution;
use simple_markers_tests::fixture::{self, Fixture, smark};
use simple_markers_tests::image;
use simple_markers_tests::second_opinion::resolve;
use simple_markers_tests::tools::{self, find, run, skipped};
use simple_markers_tests::uprobes::Uprobes;

/// A program and its output: one line for each pass of a marker.
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) truth: Vec<String>,
    markers: BTreeMap<String, Marker>,
}

pub(super) struct Marker {
    format: String,
    args: Vec<String>,
}

pub(super) fn program(path: &Path) -> Program {
    let path = path.canonicalize().expect("a program");
    let truth = run(&mut Command::new(&path)).lines().map(str::to_owned).collect();
    let Resolution { images, failures } = resolve(&path.to_string_lossy(), &fs::read(&path).expect("a program"));
    assert!(failures.is_empty(), "{failures:?}");
    let markers = images.iter().flat_map(|image| &image.markers).map(|marker| {
        let args = marker.args.iter().map(|argument| argument.text.to_string()).collect();
        (marker.name.to_string(), Marker { format: marker.format.to_string(), args })
    });
    Program { path, truth, markers: markers.collect() }
}

/// Words that perf reads as its own: modifiers, raw events, caches and hardware events.
#[test]
fn perf_takes_the_names_of_events() {
    if find("perf").is_none() || find("gcc").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let names = ["h:hit", "u:u", "file:write", "r12:load", "mem:cycles", "branch:rad", "queue:submit"];
    let marks: String = names.iter().map(|name| format!("simple_mark_anchor({name}, \"x\");\n")).collect();
    let (source, program) = (folder.path().join("names.c"), folder.path().join("names"));
    fs::write(&source, format!("#include \"simple_marker.h\"\nint main(void) {{\n{marks}return 0;\n}}\n"))
        .expect("a source");
    let mut gcc = Command::new("gcc");
    run(gcc.args(["-g", "-I"]).arg(fixture::workspace().join("markers/include")).arg(&source).arg("-o").arg(&program));
    let exported = run(Command::new(smark()).args(["export", "--to", "uprobe"]).arg(&program));
    let events: Vec<String> = exported
        .lines()
        .filter_map(|line| Some(line.strip_prefix("p:")?.split_once(' ')?.0.replace('/', ":")))
        .collect();
    assert_eq!(events.len(), names.len(), "{exported}");
    assert_eq!(events.last().map(String::as_str), Some("queue:submit"));
    for event in events {
        // There is no such event: it only has to be taken for the name of one.
        let said = tools::output(Command::new("perf").args(["stat", "-e", &event, "true"]));
        let said = String::from_utf8_lossy(&said.stderr);
        assert!(!said.contains("parser error"), "{event}: {said}");
    }
}

/// The printed text of a conversion: its letter, the text, and its place in the line.
type Value<'l> = (char, &'l str, std::ops::Range<usize>);

/// A marker, the part of its format that notes can express, and the number of arguments in it.
type Noted = (&'static str, &'static str, usize);

/// The program in C, by gcc. Its addresses equal its file offsets.
static C: LazyLock<Program> = LazyLock::new(|| {
    let folder = fixture::target().join("export");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("values");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-g", "-I"]).arg(fixture::workspace().join("markers/include"));
    run(gcc.arg(fixture::workspace().join("tests/export/values.c")).arg("-o").arg(&path));
    program(&path)
});

/// The program in Rust, linked by lld. Its addresses differ from its file offsets.
static RUST: LazyLock<Program> = LazyLock::new(|| rust("export-values", &[]));

fn rust(name: &str, more: &[&str]) -> Program {
    let source = fs::read_to_string(fixture::workspace().join("tests/export/values.rs")).expect("the source");
    program(&built(name, &source, more))
}

/// A program of Rust in release, with more arguments for rustc.
pub(super) fn built(name: &str, source: &str, more: &[&str]) -> PathBuf {
    let dependency = fixture::markers("");
    let rest = format!("[dependencies]\nsimple-markers = {dependency}\n[profile.release]\ndebug = \"full\"\n");
    let fixture = Fixture::empty(name).manifest("2024", &rest).file("src/main.rs", source);
    fixture::succeeds_silently(fixture.cargo("rustc").arg("--release").args(more));
    fixture::target().join("release").join(name)
}

/// Standard output, standard error.
pub(super) fn export(to: &str, path: &Path, more: &[&str]) -> (String, String) {
    let mut command = Command::new(smark());
    let Output { status, stdout, stderr } = tools::output(command.args(["export", "--to", to]).args(more).arg(path));
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (stdout, stderr) = (text(stdout), text(stderr));
    assert!(status.success(), "{to}: {status}: {stderr}");
    (stdout, stderr)
}

/// For each marker, the arguments that an export lists as missing.
fn without(exported: &str) -> BTreeMap<String, BTreeSet<String>> {
    let heading = Regex::new(r#"^(?:#|//) (\S+) ".*" at "#).expect("a pattern");
    let missing = Regex::new(r"^(?:#|//) without (.*?): ").expect("a pattern");
    let (mut marker, mut found) = (String::new(), BTreeMap::new());
    for line in exported.lines() {
        if let Some(captures) = heading.captures(line) {
            marker = captures[1].to_owned();
        } else if let Some(captures) = missing.captures(line) {
            found.entry(marker.clone()).or_insert_with(BTreeSet::new).insert(captures[1].to_owned());
        }
    }
    found
}

impl Program {
    /// Splits a line that the program printed into the marker and its values.
    fn values<'l>(&self, line: &'l str) -> Option<(&str, Vec<Value<'l>>)> {
        let (name, _) = line.split_once(' ')?;
        let (name, marker) = self.markers.get_key_value(name)?;
        let (mut pattern, mut letters) = (format!("^{} ", regex::escape(name)), Vec::new());
        for piece in printf::parse(marker.format.as_bytes()) {
            match piece.expect("a format") {
                Piece::Literal(range) => pattern.push_str(&regex::escape(&marker.format[range])),
                Piece::Percent(_) => pattern.push('%'),
                Piece::Conversion(conversion) => {
                    pattern.push_str("(.*?)");
                    letters.push(conversion.specifier.letter());
                }
            }
        }
        let captures = Regex::new(&format!("{pattern}$")).expect("a pattern").captures(line);
        let captures = captures.unwrap_or_else(|| panic!("{line} is not of {}", marker.format));
        let groups = captures.iter().skip(1).map(|group| group.expect("a value"));
        Some((
            name,
            letters.into_iter().zip(groups).map(|(letter, group)| (letter, group.as_str(), group.range())).collect(),
        ))
    }

    /// The expected output of a consumer, which prints `?` for missing arguments. Omits markers
    /// that are left out as a whole.
    pub(super) fn expected(&self, exported: &str) -> Vec<String> {
        let without = without(exported);
        let mut lines = Vec::new();
        for line in &self.truth {
            let (name, values) = self.values(line).expect("a line of a marker");
            if exported.contains(&format!("left out: {name} at")) {
                continue;
            }
            let mut expected = line.clone();
            for (text, (_, _, range)) in self.markers[name].args.iter().zip(&values).rev() {
                if without.get(name).is_some_and(|without| without.contains(text)) {
                    expected.replace_range(range.clone(), "?");
                }
            }
            lines.push(expected);
        }
        assert!(lines.len() * 3 > self.truth.len() * 2, "{exported}");
        lines.sort();
        lines
    }
}

pub(super) fn sorted_lines<'l>(said: &'l str, program: &Program) -> Vec<&'l str> {
    let is_ours = |line: &&str| line.split_once(' ').is_some_and(|(name, _)| program.markers.contains_key(name));
    let mut lines: Vec<&str> = said.lines().filter(is_ours).collect();
    lines.sort_unstable();
    lines
}

fn number(letter: char, text: &str) -> i128 {
    let text = text.trim();
    let parsed = match (letter, text.strip_prefix("0x")) {
        (_, Some(digits)) => i128::from_str_radix(digits, 16),
        ('x', None) => i128::from_str_radix(text, 16),
        ('o', None) => i128::from_str_radix(text, 8),
        ('c', None) => return text.chars().next().map_or(0, |character| i128::from(u32::from(character))),
        _ => text.parse(),
    };
    parsed.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The values in the kernel's trace of an event, by the argument names in the definition.
fn traced(definition: &str, line: &str) -> Vec<(String, String)> {
    let names: Vec<&str> =
        definition.split(' ').skip(2).map(|word| word.split_once('=').expect("name=what").0).collect();
    let (_, mut rest) = line.split_once(')').expect("(address)");
    let mut values = Vec::new();
    for (index, name) in names.iter().enumerate() {
        rest = rest.strip_prefix(&format!(" {name}=")).unwrap_or_else(|| panic!("{name} in {line}"));
        let end =
            names.get(index + 1).map_or(rest.len(), |next| rest.find(&format!(" {next}=")).expect("the next one"));
        values.push(((*name).to_owned(), rest[..end].to_owned()));
        rest = &rest[end..];
    }
    values
}

/// Compares what the kernel traces with what a program prints: at least `least` values.
pub(super) fn kernel_reads(program: &Program, name: &str, least: usize) {
    let Some(mut instance) = Uprobes::open().and_then(|uprobes| uprobes.instance(name)) else {
        return skipped("what the kernel fetches is not tested without the right to use tracefs");
    };
    let (exported, _) = export("uprobe", &program.path, &[]);
    instance.define(&exported);
    instance.enable(true);
    assert_eq!(run(&mut Command::new(&program.path)).lines().collect::<Vec<_>>(), program.truth);
    instance.enable(false);
    let trace = instance.trace();
    let events: Vec<&str> = trace.lines().filter(|line| !line.starts_with('#')).collect();
    let without = without(&exported);
    let (mut next, mut values_checked) = (0, 0);
    for line in &program.truth {
        let (name, values) = program.values(line).expect("a line of a marker");
        if exported.contains(&format!("left out: {name} at")) {
            continue;
        }
        let event = events.get(next).unwrap_or_else(|| panic!("no event for {line}"));
        next += 1;
        let (_, said) = event.split_once(": ").expect("a time");
        let (event_name, said) = said.split_once(": ").expect("an event");
        let is_its = |definition: &&String| {
            definition[2..].split_whitespace().next().is_some_and(|name| name.ends_with(&format!("/{event_name}")))
        };
        let definition = instance.definitions().iter().find(is_its).expect("a definition");
        let component = name.rsplit(':').next().expect("a name");
        assert!(event_name == component || event_name.starts_with(&format!("{component}_")), "{event} for {line}");
        let mut traced = traced(definition, said).into_iter().peekable();
        for (text, (letter, value, _)) in program.markers[name].args.iter().zip(&values) {
            if without.get(name).is_some_and(|without| without.contains(text)) {
                continue;
            }
            let (argument, read) = traced.next().unwrap_or_else(|| panic!("{text} in {event}"));
            values_checked += 1;
            match letter {
                's' if traced.peek().is_some_and(|(next, _)| *next == format!("{argument}_len")) => {
                    let (_, length) = traced.next().expect("the length");
                    assert_eq!(length, value.len().to_string(), "{event} for {line}");
                }
                's' => assert_eq!(read, format!("\"{}\"", value.trim()), "{event} for {line}"),
                _ => assert_eq!(number('d', &read), number(*letter, value), "{argument}: {event} for {line}"),
            }
        }
        assert_eq!(traced.next(), None, "{event}");
    }
    assert_eq!(next, events.len(), "{trace}");
    assert!(values_checked >= least, "{values_checked} values");
}

#[test]
fn the_kernel_fetches_what_a_c_program_prints() {
    kernel_reads(&C, "c", 20);
    // What is computed is doubtful.
    let (exported, _) = export("uprobe", &C.path, &["--include", "doubtful"]);
    for said in [
        "# without d: the kernel does not read floating-point numbers\n",
        "# without triple: it is computed, and the kernel only reads registers and memory\n",
        "# without local: it is thread-local\n",
        "# left out: values:shared at 0x",
        "shared: 2 ways in",
    ] {
        assert!(exported.contains(said), "{said} in {exported}");
    }
    // It is included on request, with a warning.
    let (all, _) = export("uprobe", &C.path, &["--include", "shared", "values:shared"]);
    assert!(all.contains("; shared: a probe there may fire where the marker is not passed\np:values/shared "), "{all}");
}

#[test]
fn the_kernel_fetches_what_a_rust_program_prints() {
    kernel_reads(&RUST, "rust", 20);
}

#[test]
fn perf_makes_the_same_definitions() {
    if find("perf").is_none() {
        return;
    }
    let may_trace = Uprobes::open().is_some();
    let folder = tempfile::tempdir().expect("a folder");
    for program in [&*C, &*RUST] {
        let script = folder.path().join("probes.sh");
        fs::write(&script, export("perf", &program.path, &[]).0).expect("a script");
        let output = tools::output(Command::new("sh").arg(&script).arg("-D"));
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() && !may_trace {
            return skipped("perf probe is not tested without the right to use tracefs");
        }
        assert!(output.status.success(), "{said}");
        let (uprobe, _) = export("uprobe", &program.path, &[]);
        let lines: Vec<&str> = uprobe.lines().filter(|line| line.starts_with("p:")).collect();
        assert!(lines.len() >= 4, "{uprobe}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().collect::<Vec<_>>(), lines);
    }
}

/// Runs `program` under bpftrace and returns bpftrace's output, without the program's; `None`
/// without permission.
pub(super) fn bpftrace(arguments: &[&str], program: &Path, folder: &Path) -> Option<String> {
    find("bpftrace")?;
    let output = folder.join("bpftrace.out");
    let mut bpftrace = Command::new("bpftrace");
    bpftrace.args(["-q", "--no-warnings", "-o"]).arg(&output).args(arguments).arg("-c").arg(program);
    let Output { status, stderr, .. } = tools::output(&mut bpftrace);
    let stderr = String::from_utf8_lossy(&stderr);
    if !status.success() && stderr.contains("root") {
        skipped("bpftrace is not tested without root");
        return None;
    }
    assert!(status.success(), "{arguments:?}: {stderr}");
    Some(fs::read_to_string(output).expect("what bpftrace printed"))
}

/// The Rust program linked by GNU ld, which makes addresses equal to file offsets. bpftrace
/// confuses the two.
static RUST_BY_LD: LazyLock<Program> = LazyLock::new(|| rust("export-values-ld", &["--", "-Clink-arg=-fuse-ld=bfd"]));

#[test]
fn bpftrace_prints_what_a_c_program_prints() {
    let exported = bpftrace_prints(&C);
    assert!(
        exported.contains("// without d: bpftrace does not read floating-point numbers; printed as `?`\n"),
        "{exported}"
    );
}

#[test]
fn bpftrace_prints_what_a_rust_program_prints() {
    let exported = bpftrace_prints(&RUST_BY_LD);
    assert!(!exported.contains("// left out: "), "{exported}");
}

/// Runs bpftrace on the export for a program, and checks that it prints the program's values.
/// Returns the export.
fn bpftrace_prints(program: &Program) -> String {
    let (exported, said) = bpftrace_says(&program.path);
    if let Some(said) = said {
        assert_eq!(sorted_lines(&said, program), program.expected(&exported));
    }
    exported
}

/// The export for a program, and what bpftrace prints with it; `None` without permission.
pub(super) fn bpftrace_says(program: &Path) -> (String, Option<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    // Debian's bpftrace accepts addresses inside functions only if it finds no symbols. Our symbols
    // are in a separate file.
    let stripped = folder.path().join("stripped");
    let id = image::build_id(program);
    let debug = folder.path().join("debug");
    let separate = debug.join(".build-id").join(&id[..2]).join(format!("{}.debug", &id[2..]));
    fs::create_dir_all(separate.parent().expect("a folder")).expect("a folder");
    run(Command::new("objcopy").arg("--only-keep-debug").arg(program).arg(&separate));
    run(Command::new("strip").arg(program).arg("-o").arg(&stripped));
    let (exported, _) = export("bpftrace", &stripped, &["--debug-dir", &debug.to_string_lossy()]);
    let script = folder.path().join("probes.bt");
    fs::write(&script, &exported).expect("a script");
    let said = bpftrace(&["--unsafe", &script.to_string_lossy()], &stripped, folder.path());
    (exported, said)
}

#[test]
fn gdb_prints_what_the_program_prints() {
    if find("gdb").is_none() {
        return;
    }
    for program in [&*C, &*RUST] {
        let (exported, said) = gdb_says(&program.path);
        assert_eq!(sorted_lines(&said, program), program.expected(&exported), "{said}");
    }
}

/// The export for a program, and what gdb prints with it.
pub(super) fn gdb_says(program: &Path) -> (String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let (exported, _) = export("gdb", program, &[]);
    let script = folder.path().join("probes.gdb");
    fs::write(&script, &exported).expect("a script");
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "set width 0", "-ex", "set debuginfod enabled off", "-x"]).arg(&script);
    let said = run(gdb.args(["-ex", "run > /dev/null"]).arg(program));
    (exported, said)
}

/// The installed kernel headers. SystemTap needs a kernel version even if it only translates.
pub(super) fn headers() -> Option<String> {
    let releases = fs::read_dir("/lib/modules").ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let found = releases.filter(|release| Path::new("/lib/modules").join(release).join("build/.config").exists()).min();
    if found.is_none() {
        skipped("no kernel headers for SystemTap");
    }
    found
}

#[test]
fn systemtap_translates_the_script_and_sees_the_marks() {
    let (Some(_), Some(release)) = (find("stap"), headers()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (exported, _) = export("stap", &C.path, &[]);
    assert!(exported.contains("# without local: it is thread-local; printed as `?`\n"), "{exported}");
    let script = folder.path().join("probes.stp");
    fs::write(&script, &exported).expect("a script");
    let stap = || {
        let mut stap = Command::new("stap");
        stap.args(["-r", &release]).env("SYSTEMTAP_DIR", folder.path());
        stap
    };
    // Stops after the translation to C, because the result only compiles for kernels of that
    // version.
    let translated = run(stap().args(["-g", "-p3"]).arg(&script));
    for line in exported.lines().filter(|line| line.starts_with("probe ")) {
        let address = line.split(['(', ')']).nth(3).expect("an address");
        assert!(translated.contains(&format!("(uint64_t){address}ULL")) || translated.contains(address), "{address}");
    }
    // SystemTap does not find addresses in code from rustc, but finds marks.
    let copy = copy(&RUST, folder.path());
    let marks = run(stap().args(["-L", &format!("process(\"{}\").mark(\"*\")", copy.display())]));
    let submit = marks.lines().find(|line| line.contains("mark(\"submit\")")).unwrap_or_else(|| panic!("{marks}"));
    assert!(submit.ends_with("$arg1:long $arg2:long $arg3:long $arg4:long"), "{submit}");
}

/// A copy of the program with notes.
pub(super) fn copy(program: &Program, folder: &Path) -> PathBuf {
    let copy = folder.join("noted");
    let _ = fs::remove_file(&copy);
    export("sdt", &program.path, &["-o", &copy.to_string_lossy()]);
    copy.canonicalize().expect("a copy")
}

#[test]
fn the_copy_with_notes_is_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    for program in [&*C, &*RUST] {
        let copy = copy(program, folder.path());
        let (before, after) = (fs::read(&program.path).expect("bytes"), fs::read(&copy).expect("bytes"));
        // All of the header except e_shoff, e_shnum and e_shstrndx.
        let is_header = |at: usize| (0x28..0x30).contains(&at) || (0x3c..0x40).contains(&at);
        let changed = (0..before.len()).filter(|at| before[*at] != after[*at] && !is_header(*at)).count();
        assert_eq!(changed, 0);
        assert_eq!(run(&mut Command::new(&copy)).lines().collect::<Vec<_>>(), program.truth);
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode(&copy), mode(&program.path));
        let notes = |path: &Path| run(Command::new("readelf").args(["--notes", "--wide"]).arg(path));
        let (before, after) = (notes(&program.path), notes(&copy));
        let id = |notes: &str| notes.lines().find(|line| line.contains("Build ID")).map(str::to_owned);
        assert_eq!(id(&after), id(&before));
        assert!(id(&after).is_some() || program.path.ends_with("export-values"), "{after}");
        // The old notes, then the probes.
        assert!(after.starts_with(before.trim_end()), "{after}");
        for (name, marker) in &program.markers {
            let rest = name.rsplit(':').next().expect("a name");
            assert_eq!(
                after.contains(&format!("Name: {rest}\n")),
                rest != "shared",
                "{name} {:?} in {after}",
                marker.args
            );
        }
    }
    let (_, stderr) = export("sdt", &C.path, &["--force", "-o", &folder.path().join("noted").to_string_lossy()]);
    assert!(stderr.contains("without the arguments from r->next->tag on: its address is computed"), "{stderr}");
    // The copy resolves like the program, so it can be exported again.
    let (again, _) = export("uprobe", &folder.path().join("noted"), &[]);
    assert_eq!(again.lines().filter(|line| line.starts_with("p:")).count(), 16, "{again}");
}

#[test]
fn readers_of_notes_see_the_probes() {
    let folder = tempfile::tempdir().expect("a folder");
    for (program, provider, count) in [(&*C, "values", 16), (&*RUST, "rust", 4)] {
        let copy = copy(program, folder.path());
        if find("gdb").is_some() {
            let said = run(Command::new("gdb")
                .args(["-nx", "-batch", "-ex", "set width 0", "-ex", "info probes stap"])
                .arg(&copy));
            let probes = said.lines().filter(|line| line.starts_with(&format!("stap {provider}")));
            assert_eq!(probes.count(), count, "{said}");
        }
        if find("perf").is_some() {
            let cache = folder.path().join("perf").join(provider);
            let perf = || {
                let mut perf = Command::new("perf");
                perf.arg("--buildid-dir").arg(&cache);
                perf
            };
            run(perf().args(["buildid-cache", "--add"]).arg(&copy));
            let listed = run(perf().args(["list", "sdt"]));
            for name in program.markers.keys().filter(|name| !name.ends_with("shared")) {
                assert!(listed.contains(&format!("sdt_{name}")), "{name} in {listed}");
            }
        }
        let Some(path) = find("bpftrace") else { continue };
        let listed = tools::output(Command::new(path).args(["-l", &format!("usdt:{}:*", copy.display())]));
        let listed = String::from_utf8_lossy(&listed.stdout);
        // Without root, bpftrace lists nothing.
        if listed.is_empty() && fs::metadata("/sys/kernel/tracing/uprobe_events").is_err() {
            skipped("bpftrace is not tested without root");
            continue;
        }
        assert_eq!(listed.lines().count(), program.markers.len() - usize::from(provider == "values"), "{listed}");
    }
}

#[test]
fn bpftrace_and_gdb_read_the_arguments_of_notes() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases: [(&Program, &[Noted]); 2] = [
        (
            &C,
            &[
                ("values:members", "%lu %d %u %d %d", 5),
                ("values:globals", "%d %ld %d", 3),
                ("values:stack", "%d %u", 2),
                ("values:copied", "%d", 1),
                ("values:text", "%s then %s", 2),
            ],
        ),
        (&RUST, &[("rust:submit", "%lu %u %d %lu", 4), ("rust:names", "%s in %s", 2)]),
    ];
    for (program, probes) in cases {
        let copy = copy(program, folder.path());
        // The program's output, as far as the arguments are available.
        let mut expected: Vec<String> = Vec::new();
        for line in &program.truth {
            let (name, values) = program.values(line).expect("a marker");
            if let Some((_, _, count)) = probes.iter().find(|(probe, _, _)| *probe == name) {
                expected.push(line[..values[count - 1].2.end].to_owned());
            }
        }
        expected.sort();
        let is_rust = program.path.ends_with("export-values");
        let mut script = String::new();
        let mut gdb = Command::new("gdb");
        gdb.args(["-nx", "-batch", "-ex", "set width 0", "-ex", "set language c", "-ex", "set debuginfod enabled off"]);
        let mut commands = String::new();
        for (name, format, count) in probes {
            let is_text = format.contains("%s");
            let texts = |at: usize| match is_rust {
                true => format!("str(arg{}, arg{})", 2 * at, 2 * at + 1),
                false => format!("str(arg{at})"),
            };
            let value = |at| if is_text { texts(at) } else { format!("arg{at}") };
            let values: Vec<String> = (0..*count).map(value).collect();
            script.push_str(&format!(
                "usdt:{}:{name} {{ printf(\"{name} {format}\\n\", {}); }}\n",
                copy.display(),
                values.join(", ")
            ));
            if is_text && is_rust {
                continue;
            }
            let value = |at| if is_text { format!("(char *)$_probe_arg{at}") } else { format!("$_probe_arg{at}") };
            let values: Vec<String> = (0..*count).map(value).collect();
            commands.push_str(&format!(
                "break -probe-stap {name}\ncommands\nsilent\nprintf \"{name} {format}\\n\", {}\ncontinue\nend\n",
                values.join(", ")
            ));
        }
        if let Some(said) = bpftrace(&["-e", &script], &copy, folder.path()) {
            assert_eq!(sorted_lines(&said, program), expected);
        }
        if find("gdb").is_some() {
            let file = folder.path().join("notes.gdb");
            fs::write(&file, commands).expect("commands");
            let said = run(gdb.arg("-x").arg(&file).args(["-ex", "run > /dev/null"]).arg(&copy));
            expected.retain(|line| !line.starts_with("rust:names"));
            assert_eq!(sorted_lines(&said, program), expected, "{said}");
        }
    }
}
