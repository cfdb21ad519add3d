//! A second opinion on every image that a test resolves, by crates that the resolver does not use:
//! `goblin` reads sections, segments, notes and symbols, `addr2line` the line and the inlined
//! functions of each site.
//!
//! [`resolve`] wraps the resolver's function of that name and compares its result. [`check`] is for
//! tests that read an image without the resolver. Each accepted difference is a [`Case`] with its
//! reason. Every other difference is a complaint, and fails the test.

mod elf;
mod frames;
mod names;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::resolve::{
    DebugSourceKind, Detail, Marker, Resolution, ResolvedImage, Site, SitePlace, resolve_with,
};

use elf::Elf;
use frames::{Frames, Judgement};
pub(crate) use names::short;

/// An accepted difference between the two readers, or a comparison that is not possible, with its
/// reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// The marker is the last thing in an inlined function (`scope_ended`). addr2line answers for
    /// the next instruction, which is not in that function. For the byte before the address it has
    /// the resolver's chain.
    ScopeEnded,
    /// The next instruction belongs to a function that was inlined right after the marker, so
    /// addr2line also has that function.
    InlinedBehind,
    /// The marker is all that remains of an inlined function (`scope_ended`). Its DWARF range is
    /// empty, and addr2line ignores it. The functions around it are compared.
    EmptyScope,
    /// The function of the marker's line contains the byte before the address but not the address
    /// itself, although its range does not end there.
    ByLine,
    /// Several symbols have the address of the function (aliases, or identical code folding), and
    /// the two readers name different ones.
    Folded,
    /// A row of the marker's line is at the address, and a later row of the same address replaces
    /// it in addr2line.
    RowReplaced,
    /// The row of the marker's line starts before the address. Its instructions compute the kept
    /// values.
    ArgumentsBefore,
    /// No row of the line table has the marker's line at the address: LLVM writes none for an
    /// assembly statement without instructions.
    NoRow,
    /// addr2line names no function: the unit has no debug information, addr2line does not find the
    /// file with it, or dwz moved the functions to partial units, which addr2line does not read.
    NoDebugInfo,
    /// A relocatable object: addr2line applies no relocations.
    Relocatable,
    /// The symbol ends at the site, or has no size, so no range of the symbol table contains the
    /// address.
    SymbolEnd,
    /// The symbol table was stripped from the image and is in the separate debug file.
    SymbolElsewhere,
}

/// The results of comparisons.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Live sites.
    pub sites: usize,
    /// Sites whose section and file offset goblin confirms.
    pub offsets: usize,
    /// Sites whose symbol and offset goblin confirms.
    pub symbols: usize,
    /// Sites with the same chain of inlined functions and calls in addr2line.
    pub chains: usize,
    /// Inlined functions in those chains.
    pub inlined: usize,
    /// Sites with the same file and line in addr2line.
    pub lines: usize,
    /// Accepted differences.
    pub cases: BTreeMap<Case, usize>,
    /// Differences without an explanation.
    pub complaints: Vec<String>,
}

impl Comparison {
    fn case(&mut self, case: Case) {
        *self.cases.entry(case).or_default() += 1;
    }

    /// How often a case occurred.
    #[must_use]
    pub fn count(&self, case: Case) -> usize {
        self.cases.get(&case).copied().unwrap_or(0)
    }

    /// Adds the results of another comparison.
    pub fn add(&mut self, other: Self) {
        self.sites += other.sites;
        self.offsets += other.offsets;
        self.symbols += other.symbols;
        self.chains += other.chains;
        self.inlined += other.inlined;
        self.lines += other.lines;
        for (case, count) in other.cases {
            *self.cases.entry(case).or_default() += count;
        }
        self.complaints.extend(other.complaints);
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sites, offsets, symbols, chains, inlined, lines, cases, .. } = self;
        write!(
            f,
            "{sites} sites: {offsets} offsets, {symbols} symbols, {chains} chains with {inlined} inlined functions, \
             {lines} lines; {cases:?}"
        )
    }
}

/// Calls the resolver's function of that name, and compares everything it says about the images.
///
/// # Panics
///
/// An independent reader disagrees.
#[must_use]
pub fn resolve(path: &str, data: &[u8]) -> Resolution {
    let resolution = simple_markers_resolver::resolve::resolve(path, data);
    for image in &resolution.images {
        agrees(&second_opinion(Path::new(path), data, image));
    }
    resolution
}

/// Resolves a file, once for each test binary, and compares the result.
///
/// # Panics
///
/// The file cannot be read, or an independent reader disagrees.
pub fn check(path: &Path) {
    static SEEN: LazyLock<Mutex<HashSet<(PathBuf, u64)>>> = LazyLock::new(Mutex::default);
    let data = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let hash =
        std::hash::BuildHasher::hash_one(&std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default(), &data);
    if SEEN.lock().is_ok_and(|mut seen| seen.insert((path.to_owned(), hash))) {
        for image in &resolve_with(&path.to_string_lossy(), &data, Detail::Places).images {
            agrees(&second_opinion(path, &data, image));
        }
    }
}

fn agrees(comparison: &Comparison) {
    let Comparison { complaints, .. } = comparison;
    let shown: Vec<_> = complaints.iter().take(20).map(String::as_str).collect();
    assert!(complaints.is_empty(), "{} complaints of the second opinion\n{}", complaints.len(), shown.join("\n"));
}

/// Compares what the resolver says about an image with what `goblin` and `addr2line` read. `bytes`
/// are the contents of the file at `path`. Skips archive members.
#[must_use]
pub fn second_opinion(path: &Path, bytes: &[u8], ours: &ResolvedImage) -> Comparison {
    let mut comparison = Comparison::default();
    if !bytes.starts_with(b"\x7fELF") {
        return comparison;
    }
    let elf = match Elf::parse(bytes) {
        Ok(elf) => elf,
        Err(error) => {
            comparison.complaints.push(format!("{}: goblin: {error}", path.display()));
            return comparison;
        }
    };
    let mut complaints: Vec<String> = elf.image(ours);
    let separate = ours
        .debug
        .as_ref()
        .filter(|debug| debug.source != DebugSourceKind::Image)
        .map(|debug| PathBuf::from(&debug.path));
    let mut frames = None;
    for (marker, site) in live(ours) {
        comparison.sites += 1;
        let complain = |what: String| format!("{} {}:{}: {what}", marker.name, marker.file, marker.line);
        match elf.place(site) {
            Ok(()) => comparison.offsets += 1,
            Err(what) => complaints.push(complain(what)),
        }
        match elf.symbol(site, separate.is_some()) {
            Ok(None) => comparison.symbols += 1,
            Ok(Some(case)) => comparison.case(case),
            Err(what) => complaints.push(complain(what)),
        }
        let Some(SitePlace::Address(address)) = site.place else {
            comparison.case(Case::Relocatable);
            continue;
        };
        if ours.debug.is_none() {
            comparison.case(Case::NoDebugInfo);
            continue;
        }
        let frames = frames.get_or_insert_with(|| Frames::load(separate.as_deref().unwrap_or(path)));
        let judgement = match frames {
            Ok(frames) => frames.judge(address, marker, site, &elf.aliases(site)),
            Err(error) => Err(format!("addr2line: {error}")),
        };
        match judgement {
            Ok(Judgement { chain, line }) => {
                match chain {
                    None => {
                        comparison.chains += 1;
                        comparison.inlined += site.inlined.len();
                    }
                    Some(case) => comparison.case(case),
                }
                match line {
                    None => comparison.lines += 1,
                    Some(case) => comparison.case(case),
                }
            }
            Err(what) => complaints.push(complain(format!("at {address}: {what}"))),
        }
    }
    comparison.complaints = complaints.into_iter().map(|what| format!("{}: {what}", path.display())).collect();
    comparison
}

/// The live sites.
fn live(image: &ResolvedImage) -> impl Iterator<Item = (&Marker, &Site)> {
    let sites = image.markers.iter().flat_map(|marker| marker.sites.iter().map(move |site| (marker, site)));
    sites.filter(|(_, site)| site.place.is_some())
}

/// The address of a live site of a linked image.
#[must_use]
pub fn address(site: &Site) -> Option<Vaddr> {
    match site.place {
        Some(SitePlace::Address(address)) => Some(address),
        _ => None,
    }
}
