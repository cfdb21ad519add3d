//! Programs that count how often they pass each of their markers, compared with the resolver's
//! verdicts and with the hits that gdb counts at the addresses.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::english;
use simple_markers_resolver::resolve::{Exactness, Resolution, SitePlace};

use crate::computer::Computer;
use crate::gdb::Session;
use crate::header::{Compiler, Language};
use crate::second_opinion::resolve;
use crate::tools::run;

/// Markers before joins, at entries, in cases.
pub const JOINS: &str = "tests/uprobe/exactness.c";
/// Functions that a linker folds.
pub const FOLDED: &str = "tests/uprobe/folded.c";
/// Functions that share their address: with one without a marker, with an alias, and with one from
/// a file without debug information.
pub const SHARED_ADDRESS: &str = "tests/uprobe/shared_address.c";
/// The file without debug information.
pub const UNDESCRIBED: &str = "tests/uprobe/undescribed.c";
/// An inline function of a header, in two files.
pub const COMDAT: (&str, Option<&str>) = ("tests/uprobe/comdat.cc", Some("tests/uprobe/comdat_other.cc"));
/// Jump tables.
pub const TABLES: &str = "tests/uprobe/tables.c";

/// A build of the program.
pub struct Program {
    row: String,
    computer: Computer,
    image: PathBuf,
    object: PathBuf,
    /// The address and the verdict of each site, by marker.
    pub sites: BTreeMap<String, Vec<(Vaddr, Exactness)>>,
}

/// Builds the program.
///
/// # Panics
///
/// It does not compile, or is not resolved.
#[must_use]
pub fn compile(computer: Computer, compiler: Compiler, source: &str, options: &[&str], folder: &Path) -> Program {
    compile_with(computer, compiler, (source, None), options, folder)
}

/// Builds the program, with another file that has no debug information.
///
/// # Panics
///
/// It does not compile, or is not resolved.
#[must_use]
pub fn compile_with(
    computer: Computer,
    compiler: Compiler,
    (source, other): (&str, Option<&str>),
    options: &[&str],
    folder: &Path,
) -> Program {
    let stem = Path::new(source).file_stem().expect("a name").to_string_lossy();
    let image = folder.join(format!("{stem}{}{}", compiler.name(), options.concat()));
    let object = image.with_extension("o");
    let language = if source.ends_with(".cc") { Language::Cxx } else { Language::C };
    run(computer.compilation(compiler, language).args(options).args(["-g", "-c", source, "-o"]).arg(&object));
    let mut link = computer.compilation(compiler, language);
    run(link.args(options).arg(&object).args(other).arg("-o").arg(&image));
    let row = format!("{} {stem} {}", compiler.name(), options.join(" "));
    let sites = sites(&image).into_iter().map(|(name, sites)| {
        let site = |(place, exactness)| match place {
            SitePlace::Address(address) => (address, exactness),
            place => panic!("{name} is at {place:?}"),
        };
        (name.clone(), sites.into_iter().map(site).collect())
    });
    Program { row, computer, sites: sites.collect(), image, object }
}

/// The place and verdict of each site of an image, by marker.
fn sites(image: &Path) -> BTreeMap<String, Vec<(SitePlace, Exactness)>> {
    let data = std::fs::read(image).expect("the program");
    let Resolution { images, failures } = resolve(&image.to_string_lossy(), &data);
    assert!(failures.is_empty(), "{failures:?}");
    let markers = images.iter().flat_map(|image| &image.markers);
    let sites = markers.map(|marker| {
        // The linker may have dropped some.
        let site = marker.sites.iter().filter(|site| site.place.is_some()).map(|site| {
            let place = site.place.clone().unwrap_or_else(|| panic!("{} is nowhere", marker.name));
            (place, site.exactness.unwrap_or_else(|| panic!("{}: {}: no verdict", image.display(), marker.name)))
        });
        (marker.name.rsplit(':').next().unwrap_or_default().to_owned(), site.collect())
    });
    sites.collect()
}

impl Program {
    /// How often gdb reaches the sites of each marker.
    #[must_use]
    pub fn hits(&self) -> BTreeMap<String, u64> {
        let addresses: Vec<Vaddr> = self.sites.values().flatten().map(|(address, _)| *address).collect();
        let mut counts = Session::start(self.computer, &self.image, "").count(&addresses).into_iter();
        let sum = |(name, sites): (&String, &Vec<_>)| (name.clone(), counts.by_ref().take(sites.len()).sum());
        self.sites.iter().map(sum).collect()
    }

    /// The reasons for the verdicts on the sites of a marker.
    ///
    /// # Panics
    ///
    /// The image cannot be read.
    #[must_use]
    pub fn why(&self, marker: &str) -> Vec<String> {
        let data = std::fs::read(&self.image).expect("the program");
        let Resolution { images, .. } = resolve(&self.image.to_string_lossy(), &data);
        let markers = images.iter().flat_map(|image| &image.markers);
        let sites = markers.filter(|it| it.name.rsplit(':').next() == Some(marker)).flat_map(|it| &it.sites);
        sites.filter_map(|site| site.exactness_reason.as_ref().map(english::exactness::reason)).collect()
    }

    /// How often the program passes each marker, from its own counters.
    ///
    /// # Panics
    ///
    /// It does not run, or prints something else.
    #[must_use]
    pub fn passed(&self) -> BTreeMap<String, u64> {
        let said = run(&mut self.computer.runs(&self.image));
        let line = |line: &str| {
            let (name, count) = line.split_once(' ').expect("a name and a count");
            (name.to_owned(), count.parse().expect("a count"))
        };
        said.lines().map(line).collect()
    }

    /// The number of sites, and of those without a proof.
    #[must_use]
    pub fn unproven(&self) -> (usize, usize) {
        let all = || self.sites.values().flatten();
        (all().count(), all().filter(|(_, exactness)| *exactness == Exactness::Unproven).count())
    }

    /// Checks that the verdicts on the object are the same as those on the linked program. On RISC-V
    /// they may be unproven, because relocations fill the jump tables.
    ///
    /// # Panics
    ///
    /// One differs.
    pub fn is_as_before_linking(&self) {
        let verdicts = |sites: &mut dyn Iterator<Item = Exactness>| {
            let mut verdicts: Vec<_> = sites.map(|exactness| format!("{exactness:?}")).collect();
            verdicts.sort();
            verdicts
        };
        for (name, before) in sites(&self.object) {
            let before = verdicts(&mut before.into_iter().map(|(_, exactness)| exactness));
            if self.computer == Computer::Riscv64 && before.iter().all(|verdict| verdict == "Unproven") {
                continue;
            }
            let linked = verdicts(&mut self.sites[&name].iter().map(|(_, exactness)| *exactness));
            assert_eq!(before, linked, "{} {name}", self.row);
        }
    }

    /// Checks that every site of a marker has the expected verdict.
    ///
    /// # Panics
    ///
    /// A site has another verdict.
    pub fn shows(&self, expected: &[(&str, Exactness)]) {
        for (name, expected) in expected {
            let sites = &self.sites[*name];
            assert!(sites.iter().all(|(_, exactness)| exactness == expected), "{} {name}: {sites:?}", self.row);
        }
    }

    /// Checks that exact sites are hit as often as their marker is passed, and other sites no less
    /// often.
    ///
    /// # Panics
    ///
    /// A site has the wrong number of hits.
    pub fn holds(&self) {
        let (hits, passed) = (self.hits(), self.passed());
        assert_eq!(self.sites.keys().collect::<Vec<_>>(), passed.keys().collect::<Vec<_>>(), "{}", self.row);
        for (name, sites) in &self.sites {
            let (hits, passed) = (hits[name], passed[name]);
            let row = format!("{} {name}: {sites:?}, {hits} hits, passed {passed}", self.row);
            if sites.iter().all(|(_, exactness)| *exactness == Exactness::Exact) {
                assert_eq!(hits, passed, "{row}");
            }
            // Every site has a verdict, and no missed pass is excused: a probe fires at least as
            // often.
            assert!(hits >= passed, "{row}");
            tools::note!("{row}");
        }
    }
}
