//! Builds a generated program with markers, resolves it, and counts.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{fmt, fs};

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::resolve::{self, Exactness, Site, SitePlace};

use super::Probes;
use crate::generator::{Form, Marker, Program, Shape, Variant};
use crate::oracle::builds::{self, Options, With};
use crate::second_opinion::{second_opinion, short};
use crate::tools;

/// A generated program, and how often its markers are passed.
pub struct Truth {
    /// The program.
    pub program: Program,
    /// How often each of its markers is passed.
    passes: Vec<u64>,
    /// The last line that it prints.
    result: String,
    /// The number of rounds.
    rounds: u32,
}

/// A marker of a program, and what was counted.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The marker.
    pub marker: Marker,
    /// Its line.
    pub line: u32,
    /// How often it is passed.
    pub passes: u64,
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
    pub reason: String,
    /// The functions at the address, innermost first.
    pub functions: Vec<String>,
    /// How often a probe there fires; `None` if the kernel takes none.
    pub hits: Option<u64>,
}

impl Truth {
    /// Counts the passes of a program, in a build with counters in the source.
    ///
    /// # Errors
    ///
    /// It cannot be built or run.
    pub fn new(program: Program, rounds: u32, folder: &Path) -> Result<Self, String> {
        let (source, image) = (folder.join("counted.c"), folder.join("counted"));
        fs::write(&source, program.c(Form::Counted).text).map_err(|why| why.to_string())?;
        let options = Options { with: With::Gcc, level: "1".to_owned(), lto: "none".to_owned(), dwarf: 5 };
        builds::program(&[source], &options, &image)?;
        let said = tools::run(Command::new(&image).arg(rounds.to_string()));
        let (counts, result) = said.trim_end().rsplit_once('\n').ok_or("it prints no counts")?;
        let count = |line: &str| line.split(' ').nth(1).and_then(|count| count.parse().ok());
        let passes: Option<Vec<u64>> = counts.lines().map(count).collect();
        let passes = passes.filter(|passes| passes.len() == program.markers.len()).ok_or("it prints other counts")?;
        Ok(Self { program, passes, result: result.to_owned(), rounds })
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
        let (hits, said) = probes.count(&image, self.rounds, &places);
        if let Some(said) = said.filter(|said| said.trim() != self.result) {
            return Err(format!("under probes it computes {said}, and not {}", self.result));
        }
        let hits: BTreeMap<Vaddr, u64> = places.iter().map(|(address, _)| *address).zip(hits).collect();
        let mut counted: Vec<Counted> = (self.program.markers.iter().zip(&text.lines).zip(&self.passes))
            .map(|((marker, line), passes)| Counted {
                marker: marker.clone(),
                line: *line,
                passes: *passes,
                sites: Vec::new(),
            })
            .collect();
        for Found { marker, mut site, .. } in found {
            site.hits = hits.get(&site.address).copied();
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

impl Counted {
    /// The worst verdict on its sites; `None` if it has none.
    #[must_use]
    pub fn verdict(&self) -> Option<Exactness> {
        self.sites.iter().map(|site| site.exactness).max()
    }

    /// The hits at its sites together; `None` if the kernel takes no probe at one of them.
    #[must_use]
    pub fn hits(&self) -> Option<u64> {
        let by_address: BTreeMap<Vaddr, Option<u64>> =
            self.sites.iter().map(|site| (site.address, site.hits)).collect();
        by_address.into_values().sum()
    }

    /// The first site that is not in the marker's function.
    #[must_use]
    pub fn outside(&self) -> Option<&CountedSite> {
        let is_outside = |site: &&CountedSite| site.functions.first() != Some(&self.marker.function);
        self.sites.iter().find(is_outside)
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { marker, line, passes, .. } = self;
        let Shape { within, position } = marker.shape;
        let name = marker.name.trim_start_matches("generated:");
        write!(out, "{name} line {line} in {} ({position:?} in {within:?}): {passes} passes, ", marker.function)?;
        match self.hits() {
            Some(hits) => write!(out, "{hits} hits")?,
            None => write!(out, "hits unknown")?,
        }
        for CountedSite { address, exactness, reason, functions, hits } in &self.sites {
            let hits = hits.map_or("?".to_owned(), |hits| hits.to_string());
            let functions = functions.join(" < ");
            write!(out, "\n    {address} in {functions}: {hits} hits, {} ({reason})", exactness.as_str())?;
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
        reason: site.exactness_reason.as_ref().map(ToString::to_string).unwrap_or_default(),
        functions: functions.map(|name| short(name)).collect(),
        hits: None,
    };
    Some(Found { marker, site, offset })
}
