//! Builds a generated program with markers, resolves it, and counts.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{fmt, fs};

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::english;
use simple_markers_resolver::resolve::{self, Exactness, ExactnessReason, Site, SitePlace};

use super::Probes;
use crate::generator::{Form, Marker, Program, Shape, Variant};
use crate::oracle::builds::{self, Options, With};
use crate::second_opinion::{second_opinion, short};
use crate::tools;

/// A generated program, and how often its markers are passed.
pub struct Truth {
    /// The program.
    pub program: Program,
    /// How often each of its markers is passed, by run.
    passes: Vec<Vec<u64>>,
    /// The last line that it prints in each run.
    results: Vec<String>,
}

/// A marker of a program, and what was counted.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The marker.
    pub marker: Marker,
    /// Its line.
    pub line: u32,
    /// How often it is passed in each run.
    pub passes: Vec<u64>,
    /// Its sites.
    pub sites: Vec<CountedSite>,
}

/// A site of a marker, and how often it is hit.
#[derive(Clone, Debug)]
pub struct CountedSite {
    /// Where it is.
    pub address: Vaddr,
    /// The verdict.
    pub exactness: Exactness,
    /// The reason for it.
    pub reason: Option<ExactnessReason>,
    /// The functions at the address, innermost first.
    pub functions: Vec<String>,
    /// How often a probe there fires in each run; `None` if the kernel takes none.
    pub hits: Option<Vec<u64>>,
}

impl Truth {
    /// Counts the passes of a program, in a build with counters in the source.
    ///
    /// # Errors
    ///
    /// It cannot be built, or prints something else.
    pub fn new(program: Program, probes: &Probes, folder: &Path) -> Result<Self, String> {
        let (source, image) = (folder.join("counted.c"), folder.join("counted"));
        fs::write(&source, program.c(Form::Counted).text).map_err(|why| why.to_string())?;
        let options = Options { with: With::Gcc, level: "1".to_owned(), lto: "none".to_owned(), dwarf: 5 };
        builds::program(&[source], &options, &image)?;
        let (mut passes, mut results) = (vec![Vec::new(); program.markers.len()], Vec::new());
        for rounds in probes.runs() {
            let said = tools::run(Command::new(&image).arg(rounds.to_string()));
            let (counts, result) = said.trim_end().rsplit_once('\n').ok_or("it prints no counts")?;
            let mut counts = counts.lines();
            for passes in &mut passes {
                let count = counts.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
                passes.push(count.ok_or("it prints other counts")?);
            }
            results.push(result.to_owned());
        }
        Ok(Self { program, passes, results })
    }

    /// Builds the program with markers of a kind as `stem` (with an extension for the source),
    /// resolves it, and counts the hits at all sites.
    ///
    /// # Errors
    ///
    /// It cannot be built or resolved, computes something else under probes, or an independent reader
    /// finds other functions at a site.
    pub fn count(
        &self,
        variant: Variant,
        options: &Options,
        stem: &Path,
        probes: &Probes,
    ) -> Result<Vec<Counted>, String> {
        let form = Form::Marked(variant);
        let (text, extension) = match options.with {
            With::Rustc => (self.program.rust(form), "rs"),
            With::Gcc | With::Clang => (self.program.c(form), "c"),
        };
        let (source, image) = (stem.with_extension(extension), stem.with_extension("elf"));
        fs::write(&source, &text.text).map_err(|why| why.to_string())?;
        builds::program(&[source], options, &image)?;
        let found = self.sites(&image)?;
        let places: BTreeMap<Vaddr, u64> = found.iter().filter_map(|of| Some((of.site.address, of.offset?))).collect();
        let places: Vec<(Vaddr, u64)> = places.into_iter().collect();
        let counts = probes.count(&image, &places, &self.results)?;
        let hits = |at: usize| counts.iter().filter_map(|run| run.get(at).copied()).collect();
        let hits: BTreeMap<Vaddr, Vec<u64>> =
            places.iter().enumerate().map(|(at, (address, _))| (*address, hits(at))).collect();
        let mut counted: Vec<Counted> = (self.program.markers.iter().zip(&text.lines).zip(&self.passes))
            .map(|((marker, line), passes)| Counted {
                marker: marker.clone(),
                line: *line,
                passes: passes.clone(),
                sites: Vec::new(),
            })
            .collect();
        for Found { marker, mut site, .. } in found {
            site.hits = hits.get(&site.address).cloned();
            let counted = counted.get_mut(marker).ok_or_else(|| format!("m{marker} is not in the program"))?;
            counted.sites.push(site);
        }
        Ok(counted)
    }

    /// What the resolver finds in the image, and an independent reader confirms.
    fn sites(&self, image: &Path) -> Result<Vec<Found>, String> {
        let data = fs::read(image).map_err(|why| why.to_string())?;
        let resolution = resolve::resolve(&image.to_string_lossy(), &data);
        if let Some(failure) = resolution.failures.first() {
            return Err(format!("{failure:?}"));
        }
        let mut all = Vec::new();
        for resolved in &resolution.images {
            if let Some(complaint) = second_opinion(image, &data, resolved).complaints.first() {
                return Err(complaint.clone());
            }
            for marker in &resolved.markers {
                let number = marker.name.strip_prefix("generated:m").and_then(|number| number.parse().ok());
                let number: usize = number.ok_or_else(|| format!("{}?", marker.name))?;
                all.extend(marker.sites.iter().filter_map(|site| found(number, site)));
            }
        }
        Ok(all)
    }
}

/// How the hits of a marker compare with its passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hits {
    /// It is neither hit nor passed.
    Never,
    /// It is hit as often as passed in each run.
    Equal,
    /// It is hit more often in some run, and never less often.
    More,
    /// It is hit less often in some run.
    Fewer,
}

impl Counted {
    /// Whether it is passed at all.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        self.passes.iter().any(|passes| *passes > 0)
    }

    /// The worst verdict on its sites; `None` if it has none.
    #[must_use]
    pub fn verdict(&self) -> Option<Exactness> {
        self.sites.iter().map(|site| site.exactness).max()
    }

    /// The hits at its sites together in each run; `None` if the kernel takes no probe at one of them.
    #[must_use]
    pub fn hits(&self) -> Option<Vec<u64>> {
        let by_address: BTreeMap<Vaddr, Option<&Vec<u64>>> =
            self.sites.iter().map(|site| (site.address, site.hits.as_ref())).collect();
        by_address.into_values().try_fold(vec![0; self.passes.len()], |sum, hits| {
            Some(sum.iter().zip(hits?).map(|(sum, hits)| sum + hits).collect())
        })
    }

    /// How its hits compare with its passes; `None` if the kernel takes no probe at one of its sites.
    #[must_use]
    pub fn compare(&self) -> Option<Hits> {
        let hits = self.hits()?;
        let pairs = || hits.iter().zip(&self.passes);
        Some(match () {
            () if pairs().all(|(hits, passes)| *hits == 0 && *passes == 0) => Hits::Never,
            () if pairs().all(|(hits, passes)| hits == passes) => Hits::Equal,
            () if pairs().any(|(hits, passes)| hits < passes) => Hits::Fewer,
            () => Hits::More,
        })
    }

    /// The first site that is not in the marker's function, with a verdict that promises that.
    #[must_use]
    pub fn outside(&self) -> Option<&CountedSite> {
        let promises = |site: &CountedSite| {
            !matches!(site.exactness, Exactness::Folded | Exactness::Outside | Exactness::Unproven)
        };
        let is_outside = |site: &&CountedSite| promises(site) && site.functions.first() != Some(&self.marker.function);
        self.sites.iter().find(is_outside)
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { marker, line, passes, .. } = self;
        let Shape { within, position } = marker.shape;
        let name = marker.name.trim_start_matches("generated:");
        write!(out, "{name} line {line} in {} ({position:?} in {within:?}): passes {passes:?}", marker.function)?;
        if let Some(hits) = self.hits() {
            write!(out, ", hits {hits:?}")?;
        }
        for CountedSite { address, exactness, reason, functions, hits } in &self.sites {
            write!(out, "\n    {address} in {}: {}", functions.join(" < "), exactness.as_str())?;
            match hits {
                Some(hits) => write!(out, ", hits {hits:?}")?,
                None => write!(out, ", no probe")?,
            }
            if let Some(reason) = reason {
                write!(out, " ({})", english::exactness::reason(reason))?;
            }
        }
        Ok(())
    }
}

/// A site of the marker with this number.
struct Found {
    marker: usize,
    site: CountedSite,
    /// Where a probe can be placed in the file; `None` if it would not fire once for each time that
    /// the instruction runs.
    offset: Option<u64>,
}

fn found(marker: usize, site: &Site) -> Option<Found> {
    let Some(SitePlace::Address(address)) = site.place else { return None };
    let fires = site.probe.as_ref().is_some_and(|probe| probe.accepted && probe.cost.is_some());
    let offset = site.file_offset.filter(|_| fires).map(|offset| offset.0);
    let functions = site.inlined.iter().map(|inlined| &inlined.function).chain(&site.function);
    let site = CountedSite {
        address,
        exactness: site.exactness?,
        reason: site.exactness_reason.clone(),
        functions: functions.map(|name| short(name)).collect(),
        hits: None,
    };
    Some(Found { marker, site, offset })
}
