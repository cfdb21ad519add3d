//! Compares the resolver with gdb and `llvm-dwarfdump`, which share no code with it. Programs are
//! stopped at each site and compared argument by argument.
//!
//! For an argument that we call live, constant, partial or doubtful, our evaluator runs on gdb's
//! registers and memory and must give the value that gdb reads: a doubtful one is read as the debug
//! information describes it. An argument that we call lost must be
//! optimised out for gdb. If gdb reads a different variable than the source means, the case is a
//! `Reason` that carries its own proof. Comments in `tests/values` give the expected values:
//!
//! ```text
//! //~ 9 "text" 1.5 _ 1|2        what each argument is: an integer, a string that it is or leads to, a float; anything; one of several
//! //~ ?                         after the others: we may refuse, also without optimisation: what a compiler describes leaves it open
//! ```
//!
//! The tests choose the programs. [`gdb`](crate::gdb) has the sessions and the comparison.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use regex::Regex;
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::english;
use simple_markers_resolver::location::{Location, Machine as _, Piece, Processor, Register, Source};
use simple_markers_resolver::resolve::{Argument, Marker, Resolution, Site, SitePlace, Verdict};

use crate::computer::Computer;
use crate::dwarfdump::{self, At, Dump, plain};
use crate::gdb::{Judged, Next, Reason, Session, Stopped, Tally, judge, known_bytes};
use crate::header::{self, Compiler, Language};
use crate::second_opinion::resolve;
use crate::{fixture, tools};

/// How often each site stops the program.
const HITS: u32 = 2;

/// Known errors of gdb, and of compilers that gdb does not notice: the start of the row, marker,
/// argument, a part of the complaint, and the proof.
const FAULTS: [(&str, &str, &str, &str, &str); 10] = [
    ("clang", "registers:float_constant", "half", "we say lost", EMPTY_RANGE),
    ("clang", "registers:float_constant", "third", "we say lost", EMPTY_RANGE),
    ("clang", "registers:thread_locals", "local", "TLS not supported", NO_THREAD_LOCALS),
    ("clang", "registers:thread_locals", "other", "TLS not supported", NO_THREAD_LOCALS),
    ("rustc", "places:statics", "GLOBAL", "[7f, 45, 4c, 46]", DISCARDED),
    ("rustc", "construct:static:field", "LIMITS.low", "[7f, 45, 4c, 46]", DISCARDED),
    ("rustc", "construct:static:field", "LIMITS.high", "[2, 1, 1, 0]", DISCARDED),
    ("rustc", "construct:static:path", "crate::storage::LIMITS.low", "[7f, 45, 4c, 46]", DISCARDED),
    ("rustc", "construct:keep:block", "first", "kept first", SHADOWED),
    ("rustc", "construct:iterator:inspect", "value", "gdb reads *mut i32", CLOSURES),
];

/// Only a marker uses the static variable, so the linker dropped it. Its location is address 0,
/// where gdb reads the file header (`7f 45 4c 46 02 01 01 00`).
const DISCARDED: &str = "DW_OP_addr 0x0";

/// gdb reads the variable of the same name in the block, whose value is one less.
const SHADOWED: &str = "keep first = { let first = values[0]; first + 1 }";

/// All closures inside closures have this name. gdb reads the variable of another closure, whose
/// type does not occur at the marker.
const CLOSURES: &str = "for value in [1, 2, 3].iter().filter(..).map(..).inspect(|value| ..)";

/// clang for RISC-V writes a location for an empty range. gdb uses it at the first instruction of a
/// function.
const EMPTY_RANGE: &str = "[0x0000000000000748, 0x0000000000000748)";

/// qemu does not tell gdb where the thread-local variables of a RISC-V program are.
const NO_THREAD_LOCALS: &str = "Remote target doesn't support qGetTLSAddr packet";

/// What clang 14 describes wrongly on RISC-V: a marker, and an argument. The thread-local variables have
/// addresses where offsets belong. The variable gets its value by an addition that was moved behind the
/// marker, which only an analysis of the values in registers would show.
const WRONG_ON_RISCV64: [(&str, &str); 3] =
    [("registers:thread_locals", "local"), ("registers:thread_locals", "other"), ("scopes:outer:again", "result")];

/// A program to examine.
pub struct Program {
    /// The compiler, level and so on, which name the row of the table.
    pub row: String,
    /// The path of the image.
    pub image: PathBuf,
    /// The computer that runs it.
    pub computer: Computer,
    /// The expected arguments of each marker.
    pub expected: HashMap<String, Expected>,
    /// Whether every argument must be readable, because nothing was optimised.
    pub is_plain: bool,
}

/// The expectation in the comment after a marker.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The function around the marker; `None` for a closure.
    function: Option<String>,
    values: Vec<String>,
    may_be_unreadable: bool,
}

/// The expectations in the comments of a source, by marker.
///
/// # Panics
///
/// Never.
#[must_use]
pub fn expected(source: &str) -> HashMap<String, Expected> {
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

/// Compares everything about a program with what `answers` resolves from its bytes.
///
/// # Panics
///
/// The program cannot be read or run, or has no sites.
pub fn examine(program: &Program, dwarfdump: Option<&Path>, answers: impl Fn(&[u8]) -> Resolution) -> Tally {
    let mut tally = Tally::default();
    let bytes = fs::read(&program.image).expect("the program can be read");
    let resolution = answers(&bytes);
    let image = &resolution.images[0];
    let mut at: BTreeMap<Vaddr, Vec<(usize, &Marker, &Site)>> = BTreeMap::new();
    let sites = image.markers.iter().flat_map(|marker| marker.sites.iter().map(move |site| (marker, site)));
    for (number, (marker, site)) in sites.enumerate() {
        if let Some(SitePlace::Address(address)) = site.place {
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
    let session = Session::start(program.computer, &program.image, "");
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
        let ip = machine.register(instruction_pointer(program.computer)).expect("the instruction pointer");
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
                // The block that declares it may have ended there, although the function has not.
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
                        dump.as_ref().is_some_and(|dump| {
                            dump.has_empty_block_with(&argument.name, address.0)
                                || site.scope_ended && dump.is_empty_at(&plain(function), address.0)
                        })
                    };
                    let is_by_view =
                        || dump.as_ref().is_some_and(|dump| is_by_view(dump, marker, site, argument, address));
                    if is_by_view() {
                        outcome = Judged::Unjudged(Reason::Views);
                    } else if FAULTS.iter().any(|fault| is_known(&fault)) {
                        outcome = Judged::Unjudged(Reason::GdbWrong);
                    } else if theirs.is_missing() && is_in_empty_block() {
                        outcome = Judged::Unjudged(Reason::EmptyBlock);
                    } else if !ended && is_meant(program, marker, position, argument, &machine) {
                        // The block of the marker ended there, and the block around it has a
                        // variable of the same name.
                        let before = session.value(&argument.text, function, marker.line, true);
                        if let Judged::Same(scalars) | Judged::SameInScope(scalars, _) =
                            judge(argument, &before, &machine, true)
                        {
                            outcome = Judged::SameInScope(scalars, Reason::ScopeEnded);
                        }
                    }
                }
                tally.count(&program.row, &what, outcome, first);
                let is_wrong = program.computer == Computer::Riscv64
                    && program.row.starts_with("clang")
                    && WRONG_ON_RISCV64.contains(&(&*marker.name, &*argument.text));
                if let Some(wanted) = program.expected.get(&*marker.name).filter(|_| !is_wrong) {
                    let conversion = marker.args.get(position).and_then(|declared| declared.conversion.as_deref());
                    meant(wanted, position, (argument, conversion), &machine, program, &what, &mut tally);
                }
            }
        }
    }
    tally
}

/// The DWARF register number of the instruction pointer. On RISC-V it has none, and
/// `tests/gdb/session.py` takes this one.
fn instruction_pointer(computer: Computer) -> Register {
    Register(match computer {
        Computer::Here => 16,
        Computer::Aarch64 => 32,
        Computer::Riscv64 => u16::MAX,
    })
}

/// The innermost function around the marker.
fn innermost(site: &Site) -> Option<&str> {
    site.inlined.first().map(|inlined| &*inlined.function).or(site.function.as_deref())
}

/// Compares our functions at the site with gdb's. If a call right after the marker was inlined, gdb
/// is in the called function too. If the scope has ended, gdb was in our functions one byte before.
/// gdb is never in an instance without code; the dump has it.
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

/// Compares the value with the one in the source.
fn meant(
    expected: &Expected,
    position: usize,
    (argument, conversion): (&Argument, Option<&str>),
    machine: &Stopped<'_>,
    program: &Program,
    what: &str,
    tally: &mut Tally,
) {
    let processor = program.computer.processor();
    let readable = matches!(argument.verdict, Some(Verdict::Live | Verdict::Constant));
    // gcc 12 does not describe the locations of thread-local variables on AArch64 and RISC-V, clang 14
    // not on AArch64.
    let is_undescribed = processor != Processor::X86_64 && what.contains("registers:thread_locals");
    if !readable && program.is_plain && !is_undescribed && !expected.may_be_unreadable {
        let why = argument.reason.as_ref().map(english::arguments::reason).unwrap_or_default();
        tally.complaints.push(format!("{what}: not readable without optimisation: {why}"));
    }
    let Some(wanted) = expected.values.get(position).filter(|wanted| *wanted != "_") else { return };
    // Here the doubtful values are right too. But RISC-V keeps an `unsigned` sign-extended, and gcc
    // describes a shift of the whole register.
    let is_doubtful = argument.verdict == Some(Verdict::Doubtful) && processor != Processor::Riscv64;
    let has_value = readable || is_doubtful;
    let Some(Ok((bytes, mask))) = known_bytes(argument, machine).filter(|_| has_value) else { return };
    if mask.iter().any(|byte| *byte != 0xff) {
        return;
    }
    tally.expected += 1;
    if !wanted.split('|').any(|wanted| is_value(wanted, &bytes, machine)) {
        tally.complaints.push(format!("{what}: {bytes:x?}, and the source says {wanted}"));
    }
    // Also compares the value as the marker's conversion prints it. The source gives values as
    // `printf` prints text, and numbers without flags.
    let is_plain = |conversion: &&str| conversion.ends_with(['d', 'u', 's']) && !conversion.contains(['.', '*', '#']);
    let Some(conversion) = conversion.filter(is_plain).filter(|_| argument.mismatch.is_none()) else { return };
    let is_text = |wanted: &str| wanted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).map(str::to_owned);
    let printed = argument.print(conversion, &[], machine, processor);
    tally.printed += 1;
    let meant = |wanted: &str| match is_text(wanted) {
        Some(text) => printed.as_ref().is_ok_and(|printed| printed.text.trim() == text),
        None => wanted.parse::<i128>().is_err() || printed.as_ref().is_ok_and(|printed| printed.text.trim() == wanted),
    };
    if !wanted.split('|').any(meant) {
        tally.complaints.push(format!("{what}: {conversion} prints {printed:?}, and the source says {wanted}"));
    }
}

/// Whether the source gives the value, and we read the same one.
fn is_meant(program: &Program, marker: &Marker, position: usize, argument: &Argument, machine: &Stopped<'_>) -> bool {
    let expected = program.expected.get(&*marker.name);
    let wanted = expected.and_then(|expected| expected.values.get(position)).filter(|wanted| *wanted != "_");
    let known = known_bytes(argument, machine);
    matches!((wanted, known), (Some(wanted), Some(Ok((bytes, mask))))
        if mask.iter().all(|byte| *byte == 0xff) && wanted.split('|').any(|wanted| is_value(wanted, &bytes, machine)))
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

/// The view of a marker at its site, by which gcc's location lists are read. An anchor has its own
/// address.
fn view(dump: &Dump, marker: &Marker, site: &Site, address: Vaddr) -> Option<u64> {
    dump.view_of(&marker.file, marker.line, address.0).filter(|_| !site.anchored)
}

/// Whether the views of a variable's location list give another entry than its addresses. If the
/// argument is the variable itself, our location is that of the views.
fn is_by_view(dump: &Dump, marker: &Marker, site: &Site, argument: &Argument, address: Vaddr) -> bool {
    let (Some(function), Some(view)) = (innermost(site), view(dump, marker, site, address)) else { return false };
    let at = |view| dump.variable_at(&argument.name, marker.line, function, (address.0, view), site.scope_ended);
    let (by_view, by_address) = (at(Some(view)), at(None));
    if by_view == by_address {
        return false;
    }
    match (&by_view, &argument.location) {
        _ if *argument.text != *argument.name => true,
        (At::Operations(operations, frame_base), Some(ours)) => {
            let bits = argument.size.unwrap_or_default() * 8;
            dwarfdump::location(operations, frame_base.as_deref())
                .is_none_or(|theirs| same_location(ours, &theirs, bits))
        }
        (At::Nothing, None) => argument.verdict == Some(Verdict::Lost),
        (At::Operations(operations, _), None) => {
            argument.verdict == Some(Verdict::Entry) && operations.contains("entry_value")
        }
        _ => false,
    }
}

/// Compares our variables at a site with the dump: whether an entry covers the address, and the
/// operations if they are simple.
fn entries(dump: &Dump, program: &Program, marker: &Marker, site: &Site, address: Vaddr, tally: &mut Tally) {
    let Some(function) = innermost(site) else { return };
    for argument in site.args.iter().filter(|argument| !argument.is_kept) {
        let Some(verdict) = argument.verdict else { continue };
        let at = (address.0, view(dump, marker, site, address));
        let found = dump.variable_at(&argument.name, marker.line, function, at, site.scope_ended);
        let what = || {
            let said = (&argument.verdict, &argument.location_text, &argument.reason);
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
            // A static variable, or no variable at all: no scope of a function declares it.
            (_, At::NoVariable) if verdict != Verdict::Lost => continue,
            (Verdict::Unsupported, _) => continue,
            (Verdict::Live | Verdict::Partial | Verdict::Entry, At::Operations(..)) => true,
            (Verdict::Constant | Verdict::Doubtful, At::Constant | At::Operations(..)) => true,
            (Verdict::Live | Verdict::Partial, At::Constant) => !is_variable,
            // The variable appears only in the abstract instance.
            (Verdict::Lost, At::Nothing | At::NoVariable) => true,
            // A pointer to an optimised-out value, or a member in an optimised-out piece.
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
        let (At::Operations(operations, frame_base), Some(ours)) = (&found, &argument.location) else { continue };
        let Some(theirs) = dwarfdump::location(operations, frame_base.as_deref()).filter(|_| is_variable) else {
            continue;
        };
        tally.entries.1 += 1;
        let bits = argument.size.unwrap_or_default() * 8;
        let is_before = || {
            // As above: only the block before the address has another variable of the same name.
            let found = dump.variable(&argument.name, marker.line, function, address.0, true);
            let At::Operations(before, frame_base) = found else { return false };
            before != *operations
                && dwarfdump::location(&before, frame_base.as_deref())
                    .is_none_or(|theirs| same_location(ours, &theirs, bits))
        };
        if !same_location(ours, &theirs, bits) && !is_before() {
            tally.complaints.push(format!("{}: {ours:?}; llvm-dwarfdump: {operations}", what()));
        }
    }
}

/// Whether two locations have the same pieces. The last piece takes all remaining bits.
fn same_location(ours: &Location, theirs: &Location, bits: u64) -> bool {
    let sized = |location: &Location| {
        let mut at = 0;
        let piece = |piece: &Piece| {
            let bits = piece.bits.unwrap_or(bits.saturating_sub(at)).min(bits.saturating_sub(at));
            at += bits;
            (bits, piece.offset, piece.source.clone())
        };
        let mut pieces: Vec<_> = location.pieces.iter().map(piece).filter(|(bits, ..)| *bits > 0).collect();
        while pieces.last().is_some_and(|(.., source)| *source == Source::OptimizedOut) {
            pieces.pop();
        }
        pieces
    };
    sized(ours) == sized(theirs)
}

/// Examines programs, one for each processor at a time.
///
/// # Panics
///
/// As [`examine`].
#[must_use]
pub fn examine_all(programs: &[Program]) -> Tally {
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

/// As [`tools::find`], but silent.
#[must_use]
pub fn in_path(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(tool)).find(|file| file.is_file())
}

/// Prints the table.
///
/// # Panics
///
/// Something is wrong, or fewer than `least` values were compared. The message lists every
/// complaint.
pub fn conclude(tally: &Tally, least: usize) {
    // A slice is at least a third of everything.
    let divisor = if tools::tries_everything() { 1 } else { 3 };
    let (least, expected) = (least / divisor, 300 / divisor);
    tools::note!("{tally}");
    let shown: Vec<_> = tally.complaints.iter().take(60).map(String::as_str).collect();
    assert!(tally.complaints.is_empty(), "{} complaints\n{}", tally.complaints.len(), shown.join("\n"));
    assert!(tally.values >= least, "{} values compared, and not at least {least}", tally.values);
    assert!(tally.expected >= expected, "{} values are named by the sources", tally.expected);
}

/// One compilation of a source in C.
///
/// # Panics
///
/// It fails.
#[must_use]
pub fn compile(computer: Computer, compiler: Compiler, sources: &[&str], options: &[&str], folder: &Path) -> PathBuf {
    let stem = Path::new(sources[0]).file_stem().expect("a name").to_string_lossy();
    let image = folder.join(format!("{stem}{}{}", compiler.name(), options.concat()));
    let mut command = computer.compilation(compiler, Language::C);
    command.args(["-std=gnu11", "-g"]).args(options).arg("-o").arg(&image).args(sources).arg("-pthread");
    let (works, said) = header::attempt(&mut command);
    assert!(works, "{command:?}\n{said}");
    image
}

/// The sources in `tests/values` with this extension.
///
/// # Panics
///
/// The folder cannot be read.
#[must_use]
pub fn values(extension: &str) -> Vec<String> {
    let entries = fs::read_dir(fixture::workspace().join("tests/values")).expect("the folder of sources");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut names: Vec<_> =
        names.filter(|name| name.ends_with(extension)).map(|name| format!("tests/values/{name}")).collect();
    names.sort();
    names
}

/// The C programs that a compiler makes from `tests/values`, once for each set of options, and from
/// the other C sources that run. The first option of each set is the optimisation level.
///
/// # Panics
///
/// One does not compile.
#[must_use]
pub fn c_programs(computer: Computer, compiler: Compiler, builds: &[(&str, &[&str])], folder: &Path) -> Vec<Program> {
    let mut programs = Vec::new();
    for source in values(".c") {
        let text = fs::read_to_string(fixture::workspace().join(&source)).expect("a source");
        for (level, more) in builds {
            let options: Vec<_> = [*level].iter().chain(more.iter()).copied().collect();
            programs.push(Program {
                row: format!("{} {}", compiler.name(), options.join(" ")),
                image: compile(computer, compiler, &[&source], &options, folder),
                computer,
                expected: expected(&text),
                is_plain: *level == "-O0",
            });
        }
    }
    let mut others: Vec<&[&str]> =
        vec![&["tests/c/basic.c"], &["tests/c/copies.c"], &["tests/c/places.c"], &["tests/c/keep.c"]];
    // This program has threads. qemu stops only one of them, and then neither continues.
    if computer == Computer::Here {
        others.push(&["examples/c-queue/main.c", "examples/c-queue/queue.c", "examples/c-queue/device.c"]);
    }
    for sources in others {
        for level in ["-O0", "-O2", "-O3"] {
            programs.push(Program {
                row: format!("{} {level}", compiler.name()),
                image: compile(computer, compiler, sources, &[level], folder),
                computer,
                expected: HashMap::new(),
                is_plain: false,
            });
        }
    }
    programs
}
