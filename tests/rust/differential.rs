//! What resolution says of arguments and scopes, against gdb and `llvm-dwarfdump`, which share nothing with it: programs in Rust and C,
//! by rustc, gcc and clang, at several levels of optimisation and versions of DWARF, stopped at each of their sites.
//!
//! For an argument that we call live, constant or partial, our evaluator on gdb's registers and memory gives what gdb reads; what we call
//! lost is optimised out for gdb. Where gdb reads another variable than the one that the source means, the case is a
//! `Reason` that proves itself, and `tests/values` says in comments which value is meant:
//!
//! ```text
//! //~ 9 "text" 1.5 _ 1|2        what each argument is: an integer, a string that it is or leads to, a float; anything; one of several
//! //~ ?                         after the others: we may refuse, also without optimisation: what a compiler describes leaves it open
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use regex::Regex;
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::location::{
    Expr, Location, Machine as _, Node, Piece, Processor, Register, Source, ValueType,
};
use simple_markers_resolver::resolve::{Argument, Marker, Place, Resolution, Site, Verdict, resolve};
use simple_markers_tests::dwarfdump::{self, At, Dump, plain};
use simple_markers_tests::gdb::{Judged, Next, Reason, Session, Stopped, Tally, judge, known_bytes};
use simple_markers_tests::header::{self, Compiler, Language};
use simple_markers_tests::matrix::{Markers, Toolchain};
use simple_markers_tests::{fixture, tools};

/// How often the program is stopped at each site.
const HITS: u32 = 2;

/// Where gdb is wrong, or a compiler is and gdb does not see it: the start of the row, marker, argument, a part of the complaint, and the
/// proof.
const FAULTS: [(&str, &str, &str, &str, &str); 6] = [
    ("rustc", "places:statics", "GLOBAL", "[7f, 45, 4c, 46]", DISCARDED),
    ("rustc", "construct:static:field", "LIMITS.low", "[7f, 45, 4c, 46]", DISCARDED),
    ("rustc", "construct:static:field", "LIMITS.high", "[2, 1, 1, 0]", DISCARDED),
    ("rustc", "construct:static:path", "crate::storage::LIMITS.low", "[7f, 45, 4c, 46]", DISCARDED),
    ("rustc", "construct:keep:block", "first", "kept first", SHADOWED),
    ("rustc", "construct:iterator:inspect", "value", "gdb reads *mut i32", CLOSURES),
];

/// Nothing but a marker uses the static variable, and the linker dropped it: it is described at address 0, where gdb reads the header of
/// the file (`7f 45 4c 46 02 01 01 00`).
const DISCARDED: &str = "DW_OP_addr 0x0";

/// gdb reads the variable of that name in the block, which is one less.
const SHADOWED: &str = "keep first = { let first = values[0]; first + 1 }";

/// Closures in closures are all called so: gdb reads the variable of another one, of a type that the marker's has not.
const CLOSURES: &str = "for value in [1, 2, 3].iter().filter(..).map(..).inspect(|value| ..)";

/// A program to be judged.
struct Program {
    /// Compiler, level and the like: the row of the table.
    row: String,
    image: PathBuf,
    /// By marker, what its arguments are.
    expected: HashMap<String, Expected>,
    /// Whether everything is readable: there is no optimisation.
    is_plain: bool,
}

/// The comment after a marker.
#[derive(Clone, Debug)]
struct Expected {
    /// The function that the marker is written in; `None` where that is a closure.
    function: Option<String>,
    values: Vec<String>,
    may_be_unreadable: bool,
}

/// The comments of a source, by marker.
fn expected(source: &str) -> HashMap<String, Expected> {
    let head = Regex::new(r"^ *(?:pub )?fn (\w+)|^[A-Za-z][\w ]* \**(\w+)\(.*\{$").expect("a pattern");
    let mut function = None;
    let mut found = HashMap::new();
    for line in source.lines() {
        if let Some(head) = head.captures(line) {
            function = head.get(1).or(head.get(2)).map(|name| name.as_str().to_owned());
        }
        let Some((code, comment)) = line.split_once("//~ ") else { continue };
        let Some((_, call)) = code.split_once("simple_mark").and_then(|(_, call)| call.split_once('(')) else {
            continue;
        };
        let name = call.split(',').next().unwrap_or_default().trim().to_owned();
        let mut values: Vec<_> = comment.split_whitespace().map(str::to_owned).collect();
        let may_be_unreadable = values.last().is_some_and(|last| last == "?");
        if may_be_unreadable {
            values.pop();
        }
        let function = function.clone().filter(|_| !name.contains(":closure"));
        found.insert(name, Expected { function, values, may_be_unreadable });
    }
    found
}

/// Everything that is found out about a program.
fn examine(program: &Program, dwarfdump: Option<&Path>, answers: impl Fn(&[u8]) -> Resolution) -> Tally {
    let mut tally = Tally::default();
    let bytes = fs::read(&program.image).expect("the program can be read");
    let resolution = answers(&bytes);
    let image = &resolution.images[0];
    let mut at: BTreeMap<Vaddr, Vec<(usize, &Marker, &Site)>> = BTreeMap::new();
    let sites = image.markers.iter().flat_map(|marker| marker.sites.iter().map(move |site| (marker, site)));
    for (number, (marker, site)) in sites.enumerate() {
        if let Some(Place::Address(address)) = site.place {
            at.entry(address).or_default().push((number, marker, site));
        }
    }
    assert!(!at.is_empty(), "{}: no sites", program.image.display());
    let dump = dwarfdump.map(|tool| Dump::of(tool, &program.image));
    if let Some(dump) = &dump {
        for (address, sites) in &at {
            sites.iter().for_each(|(_, marker, site)| entries(dump, program, marker, site, *address, &mut tally));
        }
    }
    let session = Session::start(&program.image, "");
    session.stop_at(&at.keys().copied().collect::<Vec<_>>(), HITS);
    let mut seen = BTreeSet::new();
    loop {
        let address = match session.resume() {
            Next::Stopped(address) => address,
            Next::Exited(_) => break,
            Next::Signal(signal) => {
                tally.complaints.push(format!("{}: {signal}", program.row));
                break;
            }
        };
        let machine = session.stopped();
        let ip = machine.register(Register(16)).expect("the instruction pointer");
        assert_eq!(ip, (address.0 + session.bias()).to_le_bytes(), "{}", program.row);
        let scopes = session.scopes();
        for (number, marker, site) in &at[&address] {
            let what = format!("{} {} at {address} in {}", program.row, marker.name, program.image.display());
            let first = seen.insert(*number);
            if first {
                functions(site, &scopes.at, &scopes.before, dump.as_ref(), address, &what, &mut tally);
            }
            let Some(function) = innermost(site) else { continue };
            let written = program.expected.get(&*marker.name).and_then(|expected| expected.function.as_deref());
            if let Some(written) = written.filter(|written| first && *written != plain(function)) {
                tally.complaints.push(format!("{what}: we say in {function}, and it is written in {written}"));
            }
            for (position, argument) in site.args.iter().enumerate() {
                let what = format!("{what}, {} ({:?}, {:?})", argument.text, argument.verdict, argument.location);
                let mut ended = site.scope_ended;
                let mut theirs = session.value(&argument.text, function, marker.line, ended);
                // The block that declares it may have ended there, and not the function.
                if !ended && theirs.is_missing() {
                    ended = true;
                    theirs = session.value(&argument.text, function, marker.line, ended);
                }
                let mut outcome = judge(argument, &theirs, &machine, ended);
                if let Judged::Different(why) = &outcome {
                    let is_known = |(row, name, text, said, _): &&(&str, &str, &str, &str, &str)| {
                        let named = *name == &*marker.name && *text == &*argument.text;
                        program.row.starts_with(row) && named && why.contains(said)
                    };
                    let is_in_empty_block = || {
                        let dump = dump.as_ref();
                        dump.is_some_and(|dump| dump.has_empty_block_with(&argument.name, address.0))
                    };
                    if FAULTS.iter().any(|fault| is_known(&fault)) {
                        outcome = Judged::Unjudged(Reason::GdbWrong);
                    } else if theirs.is_missing() && is_in_empty_block() {
                        outcome = Judged::Unjudged(Reason::EmptyBlock);
                    }
                }
                tally.count(&program.row, &what, outcome, first);
                if let Some(wanted) = program.expected.get(&*marker.name) {
                    let conversion = marker.args.get(position).and_then(|declared| declared.conversion.as_deref());
                    meant(wanted, position, (argument, conversion), &machine, program.is_plain, &what, &mut tally);
                }
            }
        }
    }
    tally
}

/// The function that the marker is written in.
fn innermost(site: &Site) -> Option<&str> {
    site.inlined.first().map(|inlined| &*inlined.function).or(site.function.as_deref())
}

/// The functions that we say the site is in are gdb's: where a call stood right behind the marker and was inlined, gdb is in that
/// function too, and where the scope has ended, it was in these one byte before. An instance without a byte of its own is none that gdb can
/// be in; the dump has it.
fn functions(
    site: &Site,
    at: &[String],
    before: &[String],
    dump: Option<&Dump>,
    address: Vaddr,
    what: &str,
    tally: &mut Tally,
) {
    let ours = site.inlined.iter().map(|inlined| &*inlined.function).chain(site.function.as_deref());
    let ours: Vec<_> = ours.map(plain).collect();
    let theirs: Vec<_> = if site.scope_ended { before } else { at }.iter().map(|name| plain(name)).collect();
    tally.scopes += 1;
    let around = |names: &[String]| names.iter().map(|name| plain(name)).collect::<Vec<_>>().ends_with(&ours[1..]);
    let is_empty = site.scope_ended
        && dump.is_some_and(|dump| dump.is_empty_at(&ours[0], address.0))
        && (around(at) || around(before));
    if !theirs.ends_with(&ours) && !is_empty {
        tally.complaints.push(format!("{what}: we say in {ours:?} (ended: {}), gdb {theirs:?}", site.scope_ended));
    }
}

/// The value is the one that the source says.
fn meant(
    expected: &Expected,
    position: usize,
    (argument, conversion): (&Argument, Option<&str>),
    machine: &Stopped<'_>,
    is_plain: bool,
    what: &str,
    tally: &mut Tally,
) {
    let readable = matches!(argument.verdict, Some(Verdict::Live | Verdict::Constant));
    if !readable && is_plain && !expected.may_be_unreadable {
        let why = argument.why.as_deref().unwrap_or_default();
        tally.complaints.push(format!("{what}: not readable without optimisation: {why}"));
    }
    let Some(wanted) = expected.values.get(position).filter(|wanted| *wanted != "_") else { return };
    let Some(Ok((bytes, mask))) = known_bytes(argument, machine).filter(|_| readable) else { return };
    if mask.iter().any(|byte| *byte != 0xff) {
        return;
    }
    tally.expected += 1;
    if !wanted.split('|').any(|wanted| is_value(wanted, &bytes, machine)) {
        tally.complaints.push(format!("{what}: {bytes:x?}, and the source says {wanted}"));
    }
    // As the marker's own conversion prints it: what `printf` prints of a number without flags, or of text, is how the source names it.
    let is_plain = |conversion: &&str| conversion.ends_with(['d', 'u', 's']) && !conversion.contains(['.', '*', '#']);
    let Some(conversion) = conversion.filter(is_plain).filter(|_| argument.mismatch.is_none()) else { return };
    let is_text = |wanted: &str| wanted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).map(str::to_owned);
    let printed = argument.print(conversion, &[], machine, Processor::X86_64);
    tally.printed += 1;
    let meant = |wanted: &str| match is_text(wanted) {
        Some(text) => printed.as_ref().is_ok_and(|printed| printed.text.trim() == text),
        None => wanted.parse::<i128>().is_err() || printed.as_ref().is_ok_and(|printed| printed.text.trim() == wanted),
    };
    if !wanted.split('|').any(meant) {
        tally.complaints.push(format!("{what}: {conversion} prints {printed:?}, and the source says {wanted}"));
    }
}

fn is_value(wanted: &str, bytes: &[u8], machine: &Stopped<'_>) -> bool {
    if let Some(text) = wanted.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let pointee = || word(0).and_then(|address| machine.memory(address, text.len()));
        let is_slice = || bytes.len() != 16 || word(8) == Some(text.len() as u64);
        return bytes.starts_with(text.as_bytes())
            || is_slice() && pointee().is_some_and(|found| found == text.as_bytes());
    }
    match (wanted.parse::<i128>(), wanted.parse::<f64>()) {
        (Ok(integer), _) => integer.to_le_bytes().starts_with(bytes),
        (_, Ok(float)) if bytes.len() == 4 => bytes == (float as f32).to_le_bytes(),
        (_, Ok(float)) => bytes == float.to_le_bytes(),
        _ => panic!("{wanted}?"),
    }
}

/// What we say of the variables of a site is what the dump has: an entry that covers the address, or none; where its operations are
/// simple, they are ours.
fn entries(dump: &Dump, program: &Program, marker: &Marker, site: &Site, address: Vaddr, tally: &mut Tally) {
    let Some(function) = innermost(site) else { return };
    for argument in site.args.iter().filter(|argument| !argument.is_kept) {
        let Some(verdict) = argument.verdict else { continue };
        let found = dump.variable(&argument.name, marker.line, function, address.0, site.scope_ended);
        let what = || {
            let said = (&argument.verdict, &argument.location, &argument.why);
            format!(
                "{} {} at {address} in {}, {}: {said:?}",
                program.row,
                marker.name,
                program.image.display(),
                argument.text
            )
        };
        let is_variable = *argument.text == *argument.name;
        let agrees = match (verdict, &found) {
            // A static variable, or no variable at all: no scope of a function has it.
            (_, At::NoVariable) if verdict != Verdict::Lost => continue,
            (Verdict::Unsupported, _) => continue,
            (Verdict::Live | Verdict::Partial | Verdict::Entry, At::Operations(..)) => true,
            (Verdict::Constant, At::Constant | At::Operations(..)) => true,
            (Verdict::Live | Verdict::Partial, At::Constant) => !is_variable,
            // The abstract instance has it, and this one does not repeat it.
            (Verdict::Lost, At::Nothing | At::NoVariable) => true,
            // A pointer to what is gone, a member in a piece that is.
            (Verdict::Lost, At::Operations(operations, _)) => {
                !is_variable || !operations.contains("DW_OP_reg") && !operations.contains("fbreg")
            }
            _ => false,
        };
        tally.entries.0 += 1;
        if !agrees {
            tally.complaints.push(format!("{}; llvm-dwarfdump: {found:?}", what()));
            continue;
        }
        let (At::Operations(operations, frame_base), Some(ours)) = (&found, &argument.value) else { continue };
        let Some(theirs) = dwarfdump::location(operations, frame_base.as_deref()).filter(|_| is_variable) else {
            continue;
        };
        tally.entries.1 += 1;
        if !same_location(ours, &theirs, argument.size.unwrap_or_default() * 8) {
            tally.complaints.push(format!("{}: {ours:?}; llvm-dwarfdump: {operations}", what()));
        }
    }
}

/// Whether the pieces of two locations are the same, with the last one of as many bits as are left.
fn same_location(ours: &Location, theirs: &Location, bits: u64) -> bool {
    let sized = |location: &Location| {
        let mut at = 0;
        let piece = |piece: &Piece| {
            let bits = piece.bits.unwrap_or(bits.saturating_sub(at)).min(bits.saturating_sub(at));
            at += bits;
            (bits, piece.offset, piece.source.clone())
        };
        let mut pieces: Vec<_> = location.pieces.iter().map(piece).filter(|(bits, ..)| *bits > 0).collect();
        while pieces.last().is_some_and(|(.., source)| *source == Source::Gone) {
            pieces.pop();
        }
        pieces
    };
    sized(ours) == sized(theirs)
}

/// Judges programs, as many at a time as there are processors.
fn examine_all(programs: &[Program]) -> Tally {
    let dwarfdump = ["llvm-dwarfdump-14", "llvm-dwarfdump"].into_iter().find_map(in_path);
    if dwarfdump.is_none() {
        tools::skipped("llvm-dwarfdump is not installed");
    }
    let (next, whole) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let work = || {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let tally =
                examine(program, dwarfdump.as_deref(), |bytes| resolve(&program.image.to_string_lossy(), bytes));
            whole.lock().expect("no other one panicked").add(tally);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    whole.into_inner().expect("none panicked")
}

/// As [`tools::find`], without a word.
fn in_path(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(tool)).find(|file| file.is_file())
}

/// Fails with all that is wrong, or prints the table.
fn conclude(tally: &Tally, least: usize) {
    println!("{tally}");
    let shown: Vec<_> = tally.complaints.iter().take(60).map(String::as_str).collect();
    assert!(tally.complaints.is_empty(), "{} complaints\n{}", tally.complaints.len(), shown.join("\n"));
    assert!(tally.values >= least, "{} values compared, and not at least {least}", tally.values);
    assert!(tally.expected >= 300, "{} values are named by the sources", tally.expected);
}

/// One compilation of a source in C.
fn compile(compiler: Compiler, sources: &[&str], options: &[&str], folder: &Path) -> PathBuf {
    let stem = Path::new(sources[0]).file_stem().expect("a name").to_string_lossy();
    let image = folder.join(format!("{stem}{}{}", compiler.name(), options.concat()));
    let mut command = compiler.command(Language::C);
    command.args(["-std=gnu11", "-g"]).args(options).arg("-o").arg(&image).args(sources).arg("-pthread");
    let (works, said) = header::attempt(&mut command);
    assert!(works, "{command:?}\n{said}");
    image
}

/// The sources in `tests/values` with this extension.
fn values(extension: &str) -> Vec<String> {
    let entries = fs::read_dir(fixture::workspace().join("tests/values")).expect("the folder of sources");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut names: Vec<_> =
        names.filter(|name| name.ends_with(extension)).map(|name| format!("tests/values/{name}")).collect();
    names.sort();
    names
}

const C: [(&str, &[&str]); 11] = [
    ("-O0", &[]),
    ("-O1", &[]),
    ("-O2", &[]),
    ("-O3", &[]),
    ("-Os", &[]),
    ("-O2", &["-gdwarf-2"]),
    ("-O2", &["-gdwarf-3"]),
    ("-O2", &["-gdwarf-4"]),
    ("-O2", &["-no-pie", "-fno-pie"]),
    ("-O2", &["-gdwarf64"]),
    ("-O0", &["-gdwarf-3", "-fomit-frame-pointer"]),
];

fn c_is_as_gdb_reads_it(compiler: Compiler) {
    if tools::find(compiler.name()).is_none() || tools::find("gdb").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut programs = Vec::new();
    for source in values(".c") {
        let text = fs::read_to_string(fixture::workspace().join(&source)).expect("a source");
        for (level, more) in C {
            let options: Vec<_> = [level].iter().chain(more).copied().collect();
            programs.push(Program {
                row: format!("{} {}", compiler.name(), options.join(" ")),
                image: compile(compiler, &[&source], &options, folder.path()),
                expected: expected(&text),
                is_plain: level == "-O0",
            });
        }
    }
    let queue = ["examples/c-queue/main.c", "examples/c-queue/queue.c", "examples/c-queue/device.c"];
    let others: [&[&str]; 5] =
        [&queue, &["tests/c/basic.c"], &["tests/c/copies.c"], &["tests/c/places.c"], &["tests/c/keep.c"]];
    for sources in others {
        for level in ["-O0", "-O2", "-O3"] {
            programs.push(Program {
                row: format!("{} {level}", compiler.name()),
                image: compile(compiler, sources, &[level], folder.path()),
                expected: HashMap::new(),
                is_plain: false,
            });
        }
    }
    conclude(&examine_all(&programs), 500);
}

#[test]
fn what_gcc_describes_is_as_gdb_reads_it() {
    c_is_as_gdb_reads_it(Compiler::Gcc);
}

#[test]
fn what_clang_describes_is_as_gdb_reads_it() {
    c_is_as_gdb_reads_it(Compiler::Clang);
}

#[test]
fn what_rustc_describes_is_as_gdb_reads_it() {
    if tools::find("gdb").is_none() {
        return;
    }
    let toolchain = Toolchain::new();
    let build = toolchain.build(Markers::On);
    let mut programs = Vec::new();
    for source in values(".rs") {
        let text = fs::read_to_string(fixture::workspace().join(&source)).expect("a source");
        for (level, version) in
            [("0", "4"), ("1", "4"), ("2", "4"), ("3", "4"), ("s", "4"), ("2", "2"), ("2", "5"), ("0", "5")]
        {
            let name =
                format!("{}_{level}_{version}", Path::new(&source).file_stem().expect("a name").to_string_lossy());
            let options = [
                format!("-Copt-level={level}"),
                "-Cdebuginfo=2".to_owned(),
                format!("-Cdwarf-version={version}"),
                format!("--crate-name={name}"),
            ];
            let options: Vec<_> = options.iter().map(String::as_str).collect();
            let image = build.folder().join(&name);
            fixture::succeeds_silently(&mut build.compilation(Path::new(&source), &options));
            let row = format!("rustc {level} DWARF {version}");
            programs.push(Program { row, image, expected: expected(&text), is_plain: level == "0" });
        }
    }
    for level in ["0", "2", "3"] {
        for image in examples(level) {
            let row = format!("rustc {level} DWARF 4");
            programs.push(Program { row, image, expected: HashMap::new(), is_plain: false });
        }
    }
    conclude(&examine_all(&programs), 500);
}

/// The examples in Rust, built by cargo at a level of optimisation: two programs, and a library that one in C is linked with.
fn examples(level: &str) -> [PathBuf; 3] {
    let profile = format!("differential-{level}");
    let inherits = if level == "0" { "dev" } else { "release" };
    let settings = [
        format!("profile.{profile}.inherits={inherits:?}"),
        format!("profile.{profile}.debug=\"full\""),
        format!("profile.{profile}.opt-level={level}"),
    ];
    let mut options = vec!["--offline", "--profile", &profile];
    settings.iter().for_each(|setting| options.extend(["--config", setting]));
    let packages = ["--package", "constructs", "--package", "io-queue"];
    let folder = fixture::build(&[&options[..], &packages].concat()).join(&profile);
    let mut library = fixture::cargo();
    library.current_dir(fixture::workspace()).env("CARGO_TARGET_DIR", fixture::target()).args(["rustc", "--quiet"]);
    library.args(&options).args(["--package", "ringlog", "--lib", "--crate-type", "staticlib"]);
    tools::run(&mut library);
    let ringlog = folder.join("ringlog-linked");
    let mut link = Command::new("gcc");
    link.current_dir(fixture::workspace()).args([
        "-g",
        "-O2",
        "-I",
        "examples/ringlog/include",
        "examples/ringlog/main.c",
    ]);
    link.arg(folder.join("libringlog.a")).args(["-pthread", "-ldl", "-lm", "-o"]).arg(&ringlog);
    tools::run(&mut link);
    [folder.join("constructs"), folder.join("io-queue"), ringlog]
}

/// `resolve`, with an answer for each number that is a variable of which the dump has a simple location, changed by `change`.
fn stand_in(program: &Program, change: impl Fn(Location) -> Location) -> impl Fn(&[u8]) -> Resolution {
    let dump = Dump::of(&in_path("llvm-dwarfdump-14").expect("a dump"), &program.image);
    let path = program.image.to_string_lossy().into_owned();
    move |bytes| {
        let mut resolution = resolve(&path, bytes);
        for marker in &mut resolution.images[0].markers {
            for site in &mut marker.sites {
                let (Some(function), Some(Place::Address(at))) = (site.function.clone(), &site.place) else { continue };
                for (argument, declared) in site.args.iter_mut().zip(&*marker.args) {
                    argument.verdict = None;
                    // Of these not all that is printed as an integer has its size.
                    let mixed = ["registers:parameters", "registers:folded"].contains(&&*marker.name);
                    if declared.conversion.as_deref() != Some("%d") || mixed {
                        continue;
                    }
                    match dump.variable(&argument.text, marker.line, &function, at.0, false) {
                        At::Operations(operations, base) => {
                            argument.value = dwarfdump::location(&operations, base.as_deref()).map(&change);
                            argument.verdict = argument.value.as_ref().map(|_| Verdict::Live);
                            argument.size = Some(4);
                        }
                        At::Nothing => argument.verdict = Some(Verdict::Lost),
                        _ => {}
                    }
                }
            }
        }
        resolution
    }
}

/// The judge finds nothing wrong with answers that are right, and each that is wrong.
#[test]
fn wrong_answers_are_found() {
    if tools::find("gdb").is_none() || tools::find("llvm-dwarfdump-14").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (compiler, options) in [(Compiler::Gcc, "-O2"), (Compiler::Clang, "-O0"), (Compiler::Clang, "-O2")] {
        if tools::find(compiler.name()).is_none() {
            return;
        }
        let source = "tests/values/registers.c";
        let image = compile(compiler, &[source], &[options], folder.path());
        let expected = expected(&fs::read_to_string(fixture::workspace().join(source)).expect("a source"));
        let program = Program { row: format!("{} {options}", compiler.name()), image, expected, is_plain: false };
        let right = examine(&program, None, stand_in(&program, |location| location));
        println!("{right}");
        assert_eq!(right.complaints, Vec::<String>::new(), "{}", program.row);
        assert!(right.values >= 15 && right.expected >= 15, "{}: {right}", program.row);
        let one_more = |value: Expr| Location::whole(Source::Value(value.plus(1).expect("light")));
        let to = ValueType::Generic;
        let elsewhere = |location: Location| match location.source() {
            Some(Source::Register(register)) => one_more(Expr::new(Node::Register(*register, to)).expect("light")),
            Some(Source::Memory(address)) => {
                one_more(Expr::new(Node::Memory { address: address.clone(), size: 8, to }).expect("light"))
            }
            Some(Source::Value(value)) => one_more(value.clone()),
            _ => location,
        };
        let wrong = examine(&program, None, stand_in(&program, elsewhere));
        assert_eq!(wrong.values, 0, "{}: {wrong}", program.row);
        assert!(wrong.complaints.len() >= right.comparisons, "{}: {wrong}", program.row);
    }
}
