//! Notes of static probes in all files of this machine: what the resolver reads is what readelf
//! prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_resolver::resolve::{
    Argument, Detail, Encoding, Exactness, Marker, Reason, ResolvedImage, Site, SitePlace, resolve_with,
};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{find, output, run, skipped, tries_everything};

/// A note: name, address, semaphore, and the operands of its arguments. A place that the linker
/// dropped has no address.
type Note = (String, Option<u64>, Option<u64>, Vec<String>);

/// The executables and shared objects below a folder that name the section.
fn files(folder: &str) -> Vec<PathBuf> {
    let searched = Command::new("grep").args(["-rlaF", ".note.stapsdt", folder]).output().expect("grep runs");
    let listed = String::from_utf8(searched.stdout).expect("UTF-8");
    let is_linked = |path: &PathBuf| {
        let start = fs::read(path).unwrap_or_default();
        start.starts_with(b"\x7fELF") && matches!(start.get(16), Some(2 | 3)) && !path.is_symlink()
    };
    listed.lines().map(PathBuf::from).filter(is_linked).collect()
}

/// How far the image was moved: from the address in its notes to that of the section.
fn moved(path: &Path, base: u64) -> u64 {
    let sections = run(Command::new("readelf").args(["--sections", "--wide"]).arg(path));
    let line = sections.lines().find(|line| line.contains(" .stapsdt.base "));
    let address = line.and_then(|line| line.split_whitespace().skip_while(|word| *word != "PROGBITS").nth(1));
    let now = address.and_then(|address| u64::from_str_radix(address, 16).ok());
    now.filter(|_| base != 0).map_or(0, |now| now.wrapping_sub(base))
}

/// The notes that readelf prints.
fn theirs(path: &Path) -> BTreeSet<Note> {
    let printed = run(Command::new("readelf").arg("--notes").arg(path));
    let value = |line: &str, name: &str| {
        let rest = line.split_once(name)?.1.trim_start();
        Some(rest.split([',', '\n']).next()?.trim().to_owned())
    };
    let (mut found, mut name) = (BTreeSet::new(), String::new());
    let mut addresses = (None, None);
    for line in printed.lines().map(str::trim) {
        if let Some(provider) = line.strip_prefix("Provider: ") {
            name = format!("{provider}:");
        } else if let Some(rest) = line.strip_prefix("Name: ") {
            name.push_str(rest);
        } else if line.starts_with("Location: ") {
            let number = |of| u64::from_str_radix(value(line, of)?.strip_prefix("0x")?, 16).ok();
            let (place, base) = (number("Location:").expect("an address"), number("Base:").expect("a base"));
            let moved = moved(path, base);
            let at = |address: u64| (address != 0).then(|| address.wrapping_add(moved));
            addresses = (at(place), number("Semaphore:").and_then(at));
        } else if let Some(operands) = line.strip_prefix("Arguments:") {
            // Only brackets have a space inside.
            let joined = operands.replace(", ", ",").replace("@$", "@");
            let operands = joined.split_whitespace().map(str::to_owned).collect();
            found.insert((name.clone(), addresses.0, addresses.1, operands));
        }
    }
    found
}

/// An argument as its note has it.
fn operand(argument: &Argument) -> String {
    let place = match &argument.reason {
        Some(Reason::Operand { operand, .. }) => operand.to_string(),
        _ => argument.location_text.as_deref().unwrap_or_default().replace("= ", ""),
    };
    let sign = if argument.encoding == Some(Encoding::Signed) { "-" } else { "" };
    let float = if argument.encoding == Some(Encoding::Float) { "f" } else { "" };
    let size = argument.size.map(|size| size.to_string()).unwrap_or_default();
    format!("{sign}{size}{float}@{}", place.replace(", ", ","))
}

fn ours(image: &ResolvedImage) -> BTreeSet<Note> {
    let at = |place: &SitePlace| match place {
        SitePlace::Address(address) => address.0,
        SitePlace::Section { .. } => panic!("it is linked"),
    };
    let note = |marker: &Marker, site: &Site| {
        let switch = site.switch.as_ref().and_then(|switch| switch.place.as_ref()).map(at);
        (marker.name.to_string(), site.place.as_ref().map(at), switch, site.args.iter().map(operand).collect())
    };
    let notes = image.markers.iter().filter(|marker| marker.is_note);
    notes.flat_map(|marker| marker.sites.iter().map(|site| note(marker, site))).collect()
}

fn resolved(path: &Path, detail: Detail) -> ResolvedImage {
    let bytes = fs::read(path).expect("the file");
    let mut resolution = resolve_with(&path.display().to_string(), &bytes, detail);
    resolution.images.pop().unwrap_or_else(|| panic!("{}: {:?}", path.display(), resolution.failures))
}

#[test]
fn notes_are_those_that_readelf_prints() {
    if ["readelf", "grep"].iter().any(|tool| find(tool).is_none()) {
        return;
    }
    // To search all files takes a while.
    let files = files(if tries_everything() { "/usr" } else { "/usr/bin" });
    if files.is_empty() {
        return skipped("no file below /usr has notes of static probes");
    }
    let compare = |path: &PathBuf| {
        let (theirs, ours) = (theirs(path), ours(&resolved(path, Detail::Names)));
        let only = |one: &BTreeSet<Note>, other| one.difference(other).take(3).cloned().collect::<Vec<_>>();
        let (missing, more) = (only(&theirs, &ours), only(&ours, &theirs));
        assert!(
            missing.is_empty() && more.is_empty(),
            "{}: only readelf has {missing:?}, only smark has {more:?}",
            path.display()
        );
        theirs.len()
    };
    let notes: usize = files.iter().map(compare).sum();
    note!("{notes} notes of {} files", files.len());
    assert!(notes > 0);
}

/// The path of `sys/sdt.h`, copied to a folder without other headers of this machine; `None` if there is
/// none.
fn headers(folder: &Path) -> Option<PathBuf> {
    let mut preprocessor = Command::new("gcc");
    preprocessor.args(["-M", "-include", "sys/sdt.h", "-x", "c", "/dev/null"]);
    let needed = output(&mut preprocessor);
    if !needed.status.success() {
        skipped("there is no sys/sdt.h");
        return None;
    }
    let copies = folder.join("sys");
    fs::create_dir_all(&copies).expect("a folder");
    let needed = String::from_utf8(needed.stdout).expect("UTF-8");
    for header in needed.split_whitespace().map(Path::new).filter(|it| it.is_file()) {
        if header.parent().is_some_and(|parent| parent.ends_with("sys")) {
            fs::copy(header, copies.join(header.file_name().expect("a name"))).expect("a copy");
        }
    }
    Some(folder.to_owned())
}

#[test]
fn each_processor_has_its_operands() {
    if ["gcc", "readelf"].iter().any(|tool| find(tool).is_none()) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(headers) = headers(folder.path()) else { return };
    let source = fixture::workspace().join("tests/notes/values.c");
    let mut unread = BTreeSet::new();
    for (compiler, of) in [
        ("gcc", &[][..]),
        ("clang", &[]),
        ("gcc", &["-m32"]),
        ("gcc", &["-m32", "-fno-pie", "-no-pie"]),
        ("aarch64-linux-gnu-gcc", &[]),
        ("riscv64-linux-gnu-gcc", &[]),
    ] {
        if find(compiler).is_none() {
            continue;
        }
        for level in ["-O0", "-O1", "-O2", "-O3"] {
            let program = folder.path().join("program");
            let mut build = Command::new(compiler);
            build.args(["-g", level, "-I"]).arg(&headers).args(of).arg(&source).arg("-o").arg(&program);
            run(&mut build);
            let image = resolved(&program, Detail::Places);
            let what = format!("{compiler} {of:?} {level}");
            assert_eq!(ours(&image), theirs(&program), "{what}");
            let sites = || image.markers.iter().flat_map(|marker| &marker.sites);
            assert!(sites().all(|site| site.anchored && site.exactness == Some(Exactness::Exact)), "{what}");
            assert!(sites().all(|site| site.switch.as_ref().is_some_and(|switch| switch.problem.is_none())), "{what}");
            unread.extend(sites().flat_map(|site| &site.args).filter_map(|argument| match &argument.reason {
                Some(Reason::Operand { problem, .. }) => Some(<&str>::from(problem)),
                _ => None,
            }));
        }
    }
    // The image has its symbols, so an operand is refused only if the linker changed its meaning.
    assert!(unread.is_subset(&BTreeSet::from(["relocation", "small_register", "no_symbol"])), "{unread:?}");
}

#[test]
fn notes_may_be_in_the_separate_debug_file_alone() {
    if ["gcc", "objcopy", "strip"].iter().any(|tool| find(tool).is_none()) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    if headers(folder.path()).is_none() {
        return;
    }
    let source = fixture::workspace().join("tests/notes/values.c");
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    [&whole, &parts].into_iter().for_each(|folder| fs::create_dir(folder).expect("a folder"));
    run(Command::new("gcc").args(["-g", "-O2"]).arg(source).arg("-o").arg(whole.join("values")));
    fs::copy(whole.join("values"), parts.join("values")).expect("a copy");
    let tool = |name: &str, arguments: &[&str]| {
        run(Command::new(name).args(arguments).current_dir(&parts));
    };
    tool("objcopy", &["--only-keep-debug", "values", "values.debug"]);
    tool("strip", &["--remove-section=.note.stapsdt", "values"]);
    tool("objcopy", &["--add-gnu-debuglink=values.debug", "values"]);
    let listed = |folder: &Path| run(Command::new(fixture::smark()).args(["list", "-vv"]).arg(folder.join("values")));
    let whole = listed(&whole);
    assert!(whole.contains("values:numbers") && whole == listed(&parts), "{whole}{}", listed(&parts));
}
