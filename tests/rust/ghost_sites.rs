//! Where ghosts are: the addresses against what another reader of the debug information prints, and
//! the verdicts on smallest cases.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use simple_markers_resolver::resolve::{
    Absence, ApproximateReason, Exactness, ExactnessReason, GhostProblem, LikelyReason, Marker, Origin, SitePlace,
    Survival,
};
use simple_markers_tests::fixture;
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::second_opinion::resolve;
use simple_markers_tests::tools::{find, run};

/// The markers of an image.
pub(super) fn markers(image: &Path) -> Vec<Marker> {
    let data = fs::read(image).expect("the image");
    let resolution = resolve(&image.to_string_lossy(), &data);
    assert!(resolution.failures.is_empty(), "{:?}", resolution.failures);
    let mut images = resolution.images;
    assert_eq!(images.len(), 1);
    assert_eq!(images[0].diagnostics, [], "{}", image.display());
    images.remove(0).markers
}

/// The addresses of the sites of a marker.
pub(super) fn addresses(marker: &Marker) -> BTreeSet<u64> {
    let address = |place: &SitePlace| match place {
        SitePlace::Address(address) => address.0,
        place => panic!("{} is at {place:?}", marker.name),
    };
    marker.sites.iter().map(|site| address(site.place.as_ref().expect("a place"))).collect()
}

/// The addresses of all labels of ghosts of a line, as llvm-dwarfdump prints them: also those of
/// inlined copies, which name their line only in the abstract entry.
fn labels(image: &Path, line: u32) -> BTreeSet<u64> {
    let tool = find("llvm-dwarfdump").expect("it comes with clang");
    let text = run(std::process::Command::new(tool).arg("--debug-info").arg(image));
    let entries: Vec<&str> = text.split("\n0x").filter(|entry| entry.contains("DW_TAG_label")).collect();
    let value = |entry: &str, name: &str| {
        let rest = entry.split_once(name)?.1.split_once('(')?.1;
        Some(rest.split_once(')')?.0.to_owned())
    };
    let offset = |entry: &str| format!("0x{}", entry.split(':').next().expect("an offset"));
    let of_line = |entry: &&&str| value(entry, "DW_AT_decl_line").is_some_and(|of| of == line.to_string());
    let origins: Vec<String> = entries.iter().filter(of_line).map(|entry| offset(entry)).collect();
    let is_it = |entry: &&&str| {
        let origin = value(entry, "DW_AT_abstract_origin");
        of_line(entry) || origin.is_some_and(|origin| origins.iter().any(|of| origin.starts_with(of.as_str())))
    };
    let address = |entry: &&str| {
        let low = value(entry, "DW_AT_low_pc")?;
        Some(u64::from_str_radix(low.trim_start_matches("0x"), 16).expect("an address"))
    };
    entries.iter().filter(is_it).filter_map(address).collect()
}

/// The address of the first instruction from an address on that is no padding, as objdump prints them.
fn behind_padding(image: &Path, address: u64) -> u64 {
    let (start, stop) = (format!("--start-address={address}"), format!("--stop-address={}", address + 32));
    let text = run(std::process::Command::new("objdump").args(["-d", "--no-show-raw-insn", &start, &stop]).arg(image));
    let mut instructions = text.lines().filter_map(|line| line.trim_start().split_once(":\t"));
    let is_padding = |text: &str| text.contains("nop") || text.contains("xchg   %ax,%ax");
    let (at, _) = instructions.find(|(_, text)| !is_padding(text)).expect("an instruction");
    u64::from_str_radix(at, 16).expect("an address")
}

const LABELS: &str = r#"#include <simple_marker.h>
int work(int a);
static inline int inlined(int a) {
    if (a > 3) {
        simple_mark_ghost(ghost:inlined, "%d", a);
        a += work(a);
    }
    return a;
}
int drain(const int *items, int count);
int drain(const int *items, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) {
        simple_mark_ghost(ghost:item, "%d %d", i, items[i]);
        sum += work(items[i]);
    }
    simple_mark_ghost(ghost:drained, "%d", sum);
    if (sizeof(int) == 2) simple_mark_ghost(ghost:never, "");
    simple_mark_ghost(ghost:one, ""); simple_mark_ghost(ghost:other, "");
    return inlined(sum) + inlined(count);
}
"#;

#[test]
fn ghosts_by_clang_are_at_their_labels() {
    if find("clang").is_none() || find("objdump").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (language, name) in [(Language::C, "labels.c"), (Language::Cxx, "labels.cc")] {
        let source = folder.path().join(name);
        fs::write(&source, LABELS).expect("the source");
        let image = source.with_extension("so");
        for options in [&["-O2"][..], &["-O1", "-gdwarf-4"], &["-Os", "-flto", "-fuse-ld=lld"]] {
            let mut command = Compiler::Clang.command(language);
            command.args(["-g", "-fPIC", "-shared", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]).args(options);
            fixture::succeeds_silently(command.arg(&source).arg("-o").arg(&image));
            for marker in markers(&image) {
                let what = format!("{name} {options:?} {}", marker.name);
                assert!(marker.is_ghost, "{what}");
                match &*marker.name {
                    "ghost:one" | "ghost:other" => {
                        let unknown = Some(Absence::Ghost { problem: GhostProblem::SharedLine });
                        assert_eq!((marker.survival, &marker.absence), (None, &unknown), "{what}");
                    }
                    "ghost:never" => {
                        assert_eq!((marker.survival, marker.sites.len()), (Some(Survival::Eliminated), 0), "{what}");
                    }
                    _ => {
                        let found = addresses(&marker);
                        let labels = labels(&image, marker.line);
                        let expected = labels.iter().map(|label| behind_padding(&image, *label)).collect();
                        assert_eq!(found, expected, "{what}");
                        assert_eq!(found.len(), if &*marker.name == "ghost:inlined" { 2 } else { 1 }, "{what}");
                        assert_eq!(marker.survival, Some(Survival::Live), "{what}");
                        assert!(marker.sites.iter().all(|site| site.origin == Origin::Label), "{what}");
                    }
                }
            }
        }
    }
}

const COPIES: &str = r#"#include <simple_marker.h>
int work(int a);
static inline int inlined(int a) {
    simple_mark_ghost(ghost:inlined, "%d", a);
    return work(a) + 1;
}
int straight(int a);
int straight(int a) {
    simple_mark_ghost(ghost:straight, "%d", a);
    return work(inlined(a));
}
int unrolled(int a);
int unrolled(int a) {
    for (int i = 0; i < 3; i++) {
        simple_mark_ghost(ghost:unrolled, "%d", i);
        a = work(95);
    }
    return a;
}
"#;

#[test]
fn labels_of_clang_are_worth_less_where_code_was_copied() {
    if find("clang").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, image) = (folder.path().join("copies.c"), folder.path().join("image.so"));
    fs::write(&source, COPIES).expect("the source");
    let mut command = Compiler::Clang.command(Language::C);
    run(command.args(["-g", "-O2", "-fPIC", "-shared"]).arg(&source).arg("-o").arg(&image));
    let markers = markers(&image);
    for (name, exactness, reason) in [
        ("ghost:inlined", Exactness::Likely, ExactnessReason::Likely(LikelyReason::Inlined)),
        ("ghost:straight", Exactness::Likely, ExactnessReason::Likely(LikelyReason::Label)),
        ("ghost:unrolled", Exactness::Approximate, ExactnessReason::Approximate(ApproximateReason::InsideStatement)),
    ] {
        let marker = markers.iter().find(|marker| &*marker.name == name).expect("the ghost");
        let [site] = &*marker.sites else { panic!("{name}: {} sites", marker.sites.len()) };
        assert_eq!((site.exactness, site.exactness_reason.as_ref()), (Some(exactness), Some(&reason)), "{name}");
    }
}

#[test]
fn without_full_debug_information_the_place_of_a_ghost_is_unknown() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("labels.c");
    fs::write(&source, LABELS).expect("the source");
    for (compiler, option, problem) in [
        (Compiler::Clang, "-g0", GhostProblem::NoDebugInfo),
        (Compiler::Clang, "-g1", GhostProblem::LinesOnly),
        (Compiler::Gcc, "-g0", GhostProblem::NoDebugInfo),
    ] {
        if find(compiler.name()).is_none() {
            continue;
        }
        let image = folder.path().join("image.so");
        let mut command = compiler.command(Language::C);
        run(command.args(["-O2", "-fPIC", "-shared", option]).arg(&source).arg("-o").arg(&image));
        let markers = markers(&image);
        assert_eq!(markers.len(), 6, "{} {option}", compiler.name());
        for marker in markers {
            let unknown = (None, Some(Absence::Ghost { problem }));
            assert_eq!((marker.survival, marker.absence), unknown, "{} {option} {}", compiler.name(), marker.name);
        }
    }
}
