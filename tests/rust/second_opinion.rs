//! Tests the comparison with goblin and addr2line. On known programs it must confirm at least a
//! given number of sites, and it must reject a resolution that was changed by hand.

use std::fs;
use std::path::{Path, PathBuf};

use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::resolve::{ResolvedImage, Site, SitePlace, resolve};
use simple_markers_tests::computer::Computer;
use simple_markers_tests::header::Compiler;
use simple_markers_tests::second_opinion::{Case, Comparison, second_opinion};
use simple_markers_tests::{differential, fixture, tools};

fn image(path: &Path) -> (Vec<u8>, ResolvedImage) {
    let data = fs::read(path).expect("an image");
    let mut resolution = resolve(&path.to_string_lossy(), &data);
    assert!(resolution.failures.is_empty(), "{:?}", resolution.failures);
    (data, resolution.images.remove(0))
}

fn compared(path: &Path) -> Comparison {
    let (data, image) = image(path);
    let comparison = second_opinion(path, &data, &image);
    note!("{}: {comparison}", path.display());
    assert_eq!(comparison.complaints, Vec::<String>::new());
    comparison
}

fn rust_program(package: &str) -> PathBuf {
    fixture::build(&["--profile", "demo", "--package", package]).join("demo").join(package)
}

fn c_programs(compiler: Compiler, level: &str, folder: &Path) -> Comparison {
    let mut whole = Comparison::default();
    for source in ["tests/c/basic.c", "tests/c/copies.c", "tests/c/places.c", "tests/c/keep.c", "tests/values/places.c"]
    {
        if fixture::workspace().join(source).is_file() {
            whole.add(compared(&differential::compile(Computer::Here, compiler, &[source], &[level], folder)));
        }
    }
    note!("{} {level}: {whole}", compiler.name());
    whole
}

/// Checks that goblin confirms every site, and that each difference from addr2line has a known
/// reason.
fn is_whole(comparison: &Comparison) {
    let Comparison { sites, offsets, symbols, chains, lines, .. } = comparison;
    assert_eq!((offsets, symbols), (sites, sites));
    let count = |cases: &[Case]| cases.iter().map(|case| comparison.count(*case)).sum::<usize>();
    let scopes = [Case::ScopeEnded, Case::InlinedBehind, Case::EmptyScope, Case::ByLine];
    assert_eq!(chains + count(&scopes), *sites);
    assert_eq!(lines + count(&[Case::RowReplaced, Case::ArgumentsBefore, Case::NoRow]), *sites);
}

#[test(cases = ["-O0", "-O2"])]
fn programs_of_gcc_have_a_row_for_each_marker(level: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let found = c_programs(Compiler::Gcc, level, folder.path());
    is_whole(&found);
    assert!(found.sites >= 50 && found.lines >= 5, "{found}");
    // gcc writes a row for every marker. The next statement has another row, mostly at the same
    // address.
    assert_eq!(found.count(Case::NoRow), 0, "{found}");
    assert!(found.count(Case::RowReplaced) >= 30, "{found}");
    assert!(level != "-O0" || found.count(Case::ArgumentsBefore) >= 5, "{found}");
    assert!(found.count(Case::EmptyScope) + found.count(Case::InlinedBehind) <= found.sites / 10, "{found}");
}

#[test(cases = ["-O0", "-O2"])]
fn programs_of_clang_have_the_same_chains(level: &str) {
    if tools::find("clang").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let found = c_programs(Compiler::Clang, level, folder.path());
    is_whole(&found);
    assert!(found.sites >= 50 && found.lines >= 5, "{found}");
    // LLVM writes no row for an assembly statement without instructions.
    assert_eq!(found.count(Case::RowReplaced), 0, "{found}");
    assert!(found.count(Case::EmptyScope) + found.count(Case::InlinedBehind) <= found.sites / 10, "{found}");
}

#[test]
fn programs_of_rust_have_the_same_chains() {
    let (queue, constructs) = (compared(&rust_program("io-queue")), compared(&rust_program("constructs")));
    for found in [&queue, &constructs] {
        is_whole(found);
        assert_eq!(found.count(Case::NoDebugInfo), 0, "{found}");
    }
    assert!(queue.sites >= 20 && queue.inlined >= 10, "{queue}");
    assert!(constructs.sites >= 200 && constructs.chains >= 200 && constructs.inlined >= 100, "{constructs}");
    assert!(constructs.count(Case::InlinedBehind) + constructs.count(Case::EmptyScope) <= 10, "{constructs}");
}

/// Changes the first site that `change` applies to, and checks that this gives complaints.
fn changed(path: &Path, what: &str, change: impl Fn(&mut Site) -> bool) {
    let (data, mut image) = image(path);
    let sites = image.markers.iter_mut().flat_map(|marker| &mut marker.sites);
    let mut sites = sites.filter(|site| site.place.is_some());
    assert!(sites.any(change), "{what}: no site to change");
    let complaints = second_opinion(path, &data, &image).complaints;
    assert!(!complaints.is_empty(), "{what} was not noticed");
}

#[test(desk = false)]
fn what_is_wrong_is_noticed() {
    let path = rust_program("io-queue");
    let moved = |by: u64| {
        move |site: &mut Site| match &mut site.place {
            Some(SitePlace::Address(address)) => {
                *address = Vaddr(address.0 + by);
                true
            }
            _ => false,
        }
    };
    changed(&path, "an address", moved(1));
    changed(&path, "an address far away", moved(1 << 40));
    changed(&path, "a file offset", |site| {
        site.file_offset = site.file_offset.map(|offset| FileOffset(offset.0 + 1));
        site.file_offset.is_some()
    });
    changed(&path, "no file offset", |site| site.file_offset.take().is_some());
    changed(&path, "another symbol", |site| {
        site.symbol = site.symbol.as_ref().map(|_| "main".into());
        site.symbol.is_some()
    });
    changed(&path, "no symbol", |site| site.symbol.take().is_some());
    changed(&path, "an offset in a symbol", |site| {
        site.symbol_offset = site.symbol_offset.map(|offset| offset + 1);
        site.symbol_offset.is_some()
    });
    changed(&path, "a call's line", |site| {
        let line = site.inlined.first_mut().and_then(|inlined| inlined.call_line.as_mut());
        line.map(|line| *line += 1).is_some()
    });
    changed(&path, "a call's file", |site| {
        let file = site.inlined.first_mut().and_then(|inlined| inlined.call_file.as_mut());
        file.map(|file| *file = "src/another.rs".into()).is_some()
    });
    changed(&path, "an inlined function", |site| {
        site.inlined.first_mut().map(|inlined| inlined.function = "io_queue::another".into()).is_some()
    });
    changed(&path, "a chain without its innermost function", |site| {
        let is_chain = site.inlined.len() > 1;
        is_chain.then(|| site.inlined.remove(0)).is_some()
    });
    changed(&path, "a chain without its outermost function", |site| {
        let is_chain = site.inlined.len() > 1;
        is_chain.then(|| site.inlined.pop()).is_some()
    });
    changed(&path, "a chain in another order", |site| {
        let is_chain = site.inlined.len() > 1;
        is_chain.then(|| site.inlined.reverse()).is_some()
    });

    let (data, sound) = image(&path);
    let said = |image: &ResolvedImage| second_opinion(&path, &data, image).complaints;
    assert_eq!(said(&sound), Vec::<String>::new());
    let mut other = sound.clone();
    other.build_id = Some("00".to_owned());
    assert!(!said(&other).is_empty(), "another build id was not noticed");
    let mut fewer = sound.clone();
    let marker = fewer.markers.iter_mut().find(|marker| marker.sites.iter().any(|site| site.place.is_some()));
    marker.expect("a live marker").sites.clear();
    assert!(!said(&fewer).is_empty(), "a site that is missing was not noticed");
}
