//! Checks the verdicts on ghosts by counting, as `counting` does for markers with a record, on the
//! same generated programs (`simple_markers_tests::ghosts`).
//!
//! | verdict on all sites | hits at them together |
//! | --- | --- |
//! | exact | as often as the ghost is passed |
//! | likely, at worst | as often as it is passed, for most ghosts |
//! | shared, at worst | at least as often as it is passed, for most ghosts |
//!
//! Every site is in the ghost's function, and an independent reader finds the same functions there.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::BTreeMap;

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::resolve::Exactness;
use simple_markers_tests::generator::{Program, Variant};
use simple_markers_tests::ghosts::{Counted, CountedSite, Hits, Outcome, Probes, Tally, Truth};
use simple_markers_tests::oracle::builds::{Options, With, is_installed};
use simple_markers_tests::tools::{find, slice};

/// The seed of the program. The variable `COUNTING_SEED` changes it.
const SEED: u64 = 1;
const FUNCTIONS: usize = 32;

/// A compiler, a level, a kind of link-time optimisation, the version of DWARF, and a kind of ghosts.
type Row = (With, &'static str, &'static str, u8, Variant);

const ROWS: [Row; 18] = [
    (With::Gcc, "1", "none", 5, Variant::Ghost),
    (With::Gcc, "2", "none", 5, Variant::Ghost),
    (With::Gcc, "3", "none", 4, Variant::Ghost),
    (With::Gcc, "s", "none", 5, Variant::Ghost),
    (With::Gcc, "2", "fat", 5, Variant::Ghost),
    (With::Clang, "1", "none", 5, Variant::Ghost),
    (With::Clang, "2", "none", 5, Variant::Ghost),
    (With::Clang, "3", "none", 4, Variant::Ghost),
    (With::Clang, "s", "none", 5, Variant::Ghost),
    (With::Clang, "2", "thin", 5, Variant::Ghost),
    (With::Clang, "2", "fat", 5, Variant::Ghost),
    (With::Rustc, "1", "none", 5, Variant::Ghost),
    (With::Rustc, "2", "none", 5, Variant::Ghosts),
    (With::Rustc, "3", "none", 4, Variant::Ghost),
    (With::Rustc, "3", "none", 5, Variant::Ghosts),
    (With::Rustc, "s", "none", 4, Variant::Ghosts),
    (With::Rustc, "3", "thin", 5, Variant::Ghosts),
    (With::Rustc, "3", "fat", 5, Variant::Ghost),
];

/// The rows of a slice: each compiler once.
const SLICE: [usize; 3] = [1, 7, 14];

/// What is promised of the ghosts of a compiler, in percent.
struct Promise {
    with: With,
    /// The least share of the passed ghosts that have a site.
    located: usize,
    /// The least share of the likely ghosts that are hit as often as passed.
    likely: usize,
    /// The least share of the shared ghosts that are hit as often as passed, or more often.
    shared: usize,
}

/// `docs/measured/survival.md` has the measured shares. These are lower, because a program has few
/// ghosts, and other versions of the compilers differ. gcc has no shared ghosts, and rustc has few.
const PROMISES: [Promise; 3] = [
    Promise { with: With::Gcc, located: 45, likely: 75, shared: 50 },
    Promise { with: With::Clang, located: 40, likely: 85, shared: 75 },
    Promise { with: With::Rustc, located: 30, likely: 70, shared: 50 },
];

/// What is wrong with a ghost. A site that is not in its function is right if the verdict does not
/// promise anything.
fn complaint(counted: &Counted) -> Option<&'static str> {
    if counted.outside().is_some() {
        return Some("a site is not in its function");
    }
    let is_wrong = matches!(counted.compare(), Some(Hits::More | Hits::Fewer));
    (counted.verdict() == Some(Exactness::Exact) && is_wrong).then_some("it is called exact")
}

/// Whether a share is at least as high as promised.
fn is_kept(part: usize, whole: usize, percent: usize) -> bool {
    part * 100 >= whole * percent
}

#[test]
fn what_is_said_of_ghosts_is_what_is_counted() {
    if find("gcc").is_none() || find("gdb").is_none() {
        return;
    }
    let seed = std::env::var("COUNTING_SEED").map_or(SEED, |seed| seed.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a folder");
    let probes = Probes::open();
    let truth = Truth::new(Program::generate(seed, FUNCTIONS), &probes, folder.path()).expect("the passes");
    let (mut totals, mut complaints) = (BTreeMap::<&str, Tally>::new(), Vec::new());
    let mut right = Vec::new();
    note!("{}", Tally::head());
    for (with, level, lto, dwarf, variant) in slice("the counts of ghosts", &ROWS, &SLICE) {
        if !is_installed(with) {
            continue;
        }
        let name = format!("{} -O{level} lto {lto} dwarf {dwarf} {variant:?}", with.name());
        let options = Options { with, level: level.to_owned(), lto: lto.to_owned(), dwarf };
        let stem = folder.path().join(name.replace(' ', "-"));
        let counted = truth.count(variant, &options, &stem, &probes);
        let counted = counted.unwrap_or_else(|why| panic!("{name}: {why}"));
        note!("{}", Tally::of(&counted).line(&name));
        let wrong = counted.iter().filter_map(|of| Some(format!("{name}: {}: {of}", complaint(of)?)));
        complaints.extend(wrong);
        totals.entry(with.name()).or_default().add(&Tally::of(counted.iter().filter(|counted| counted.is_passed())));
        right.extend(counted.into_iter().filter(|of| of.compare() == Some(Hits::Equal) && of.verdict().is_some()));
    }
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
    for Promise { with, located, likely, shared } in PROMISES {
        let Some(tally) = totals.get(with.name()) else { continue };
        note!("{}", tally.line(with.name()));
        assert!(is_kept(tally.located, tally.passed, located), "{}: {tally:?}", with.name());
        let [_, of_likely, of_shared, ..] = tally.outcomes();
        assert!(is_kept(of_likely.equal, of_likely.compared(), likely), "{}: {tally:?}", with.name());
        let Outcome { fewer, .. } = of_shared;
        assert!(is_kept(of_shared.compared() - fewer, of_shared.compared(), shared), "{}: {tally:?}", with.name());
    }
    // The counts tell places apart: those of the next ghost would be wrong.
    let pairs: Vec<_> = right.iter().zip(right.iter().skip(1)).collect();
    let found = pairs.iter().filter(|(one, other)| one.hits() != Some(other.passes.clone())).count();
    note!("{found} of {} ghosts have other hits than the next one has passes", pairs.len());
    assert!(pairs.len() > 30 && found * 2 > pairs.len(), "{found} of {}", pairs.len());
}

#[test]
fn a_wrong_count_of_an_exact_ghost_is_a_complaint() {
    let site = |exactness, function: &str, hits: [u64; 2]| CountedSite {
        address: Vaddr(0x1000 + hits[1]),
        exactness,
        reason: None,
        functions: vec![function.to_owned()],
        hits: Some(hits.to_vec()),
    };
    let marker = Program::generate(SEED, 1).markers.remove(0);
    let function = marker.function.clone();
    let counted = |sites| Counted { marker: marker.clone(), line: 1, passes: vec![2, 5], sites };
    let exact = |hits| site(Exactness::Exact, &function, hits);
    assert_eq!(complaint(&counted(vec![exact([2, 5])])), None);
    assert_eq!(complaint(&counted(vec![exact([1, 2]), exact([1, 3])])), None);
    assert_eq!(complaint(&counted(vec![])), None);
    for wrong in [[2, 6], [2, 4], [1, 5], [0, 0]] {
        assert_eq!(complaint(&counted(vec![exact(wrong)])), Some("it is called exact"));
        assert_eq!(complaint(&counted(vec![site(Exactness::Likely, &function, wrong)])), None);
    }
    let elsewhere = site(Exactness::Likely, "other", [2, 5]);
    assert_eq!(complaint(&counted(vec![elsewhere])), Some("a site is not in its function"));
}
