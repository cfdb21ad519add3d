//! Runs an optimised program and its twin, and compares every value.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use simple_markers_resolver::resolve::{Argument, Exactness, Marker, Reason, ResolvedImage, Site, SitePlace, resolve};

use super::compare::{Outcome, compare};
use super::form::{self, Form};
use super::machine::Stopped;
use super::reader::{self, Next};
use super::row::{Build, First, Row};
use super::twin::{Key, Passes, Truth};

/// An optimised program and how to run it.
#[derive(Clone, Debug)]
pub struct Program {
    /// How it was built.
    pub build: Build,
    /// Its path.
    pub image: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its standard input.
    pub stdin: Option<PathBuf>,
    /// The most passes of each marker that are compared.
    pub most: usize,
    /// The most seconds of a processor that it takes.
    pub seconds: u64,
}

/// What the comparison of a program found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// A row for each argument of each site.
    pub rows: Vec<Row>,
    /// Markers whose passes were compared.
    pub compared: usize,
    /// Markers with a site that is not exact.
    pub inexact: usize,
    /// Markers that are passed more or less often than in the twin, although all sites are exact.
    pub complaints: Vec<String>,
}

/// A marker all of whose sites are exact.
struct Watched<'a> {
    key: Key,
    truth: &'a [Vec<Truth>],
    passes: usize,
    /// The first row of each site, by address.
    sites: Vec<(u64, usize)>,
}

/// Compares the values of a program with those of its twin.
///
/// # Errors
///
/// The program cannot be read, resolved or run.
pub fn examine(program: &Program, twin: &Passes) -> Result<Found, String> {
    let bytes = std::fs::read(&program.image).map_err(|why| format!("{}: {why}", program.image.display()))?;
    let resolution = resolve(&program.image.to_string_lossy(), &bytes);
    let image = match &resolution.images[..] {
        [image] if resolution.failures.is_empty() => image,
        _ => return Err(format!("{}: {:?}", program.image.display(), resolution.failures)),
    };
    if twin.threads > 1 {
        return Err(format!("{}: several threads pass markers", program.image.display()));
    }
    let mut found = Found::default();
    let mut watched = rows(&program.build, image, twin, &mut found);
    let mut at: HashMap<u64, Vec<(usize, usize)>> = HashMap::new();
    for (index, marker) in watched.iter().enumerate() {
        for (address, row) in &marker.sites {
            at.entry(*address).or_default().push((index, *row));
        }
    }
    let arguments = arguments(image);
    let mut addresses: Vec<u64> = at.keys().copied().collect();
    addresses.sort_unstable();
    let mut stopped = |address: u64, machine: &Stopped<'_>| {
        let mut is_done = true;
        for (index, first_row) in &at[&address] {
            let marker = &mut watched[*index];
            let pass = marker.passes;
            marker.passes += 1;
            if let Some(values) = marker.truth.get(pass).filter(|_| pass < program.most) {
                for (position, truth) in values.iter().enumerate() {
                    let row = first_row + position;
                    let (Some(argument), Some(row)) = (arguments.get(row), found.rows.get_mut(row)) else { continue };
                    record(row, pass, truth, argument, machine);
                }
            }
            is_done &= marker.passes > program.most;
        }
        if is_done { Next::Remove } else { Next::Again }
    };
    let input = (&program.arguments[..], program.stdin.as_deref());
    let stdout = reader::run(&program.image, input, program.seconds, &addresses, &mut stopped)?;
    if stdout != twin.stdout {
        found.complaints.push(format!("{:?}: it prints something else than its twin", program.build));
    }
    for marker in &watched {
        let (ours, theirs) = (marker.passes, marker.truth.len());
        if ours != theirs && ours.min(theirs) <= program.most {
            let (name, file, line) = &marker.key;
            found
                .complaints
                .push(format!("{:?}: {name} {file}:{line}: {ours} passes, the twin has {theirs}", program.build));
            // The values are those of other passes.
            for (_, first) in &marker.sites {
                clear(&mut found.rows, *first);
            }
        } else {
            found.compared += 1;
        }
    }
    Ok(found)
}

/// The arguments of all live sites, in the order of the rows.
fn arguments(image: &ResolvedImage) -> Vec<&Argument> {
    live(image).flat_map(|(_, site, _)| &site.args).collect()
}

fn live(image: &ResolvedImage) -> impl Iterator<Item = (&Marker, &Site, u64)> {
    let sites = image.markers.iter().flat_map(|marker| marker.sites.iter().map(move |site| (marker, site)));
    sites.filter_map(|(marker, site)| match site.place {
        Some(SitePlace::Address(address)) => Some((marker, site, address.0)),
        _ => None,
    })
}

/// Makes the rows, and returns the markers to watch.
fn rows<'t>(build: &Build, image: &ResolvedImage, twin: &'t Passes, found: &mut Found) -> Vec<Watched<'t>> {
    let build = Arc::new(build.clone());
    let mut watched: HashMap<Key, (Watched<'t>, bool)> = HashMap::new();
    for (marker, site, address) in live(image) {
        let key = (marker.name.to_string(), marker.file.to_string(), marker.line);
        let is_exact = site.exactness == Some(Exactness::Exact);
        let truth = twin.of.get(&key).map_or(&[][..], Vec::as_slice);
        let (of, all_exact) =
            watched.entry(key.clone()).or_insert_with(|| (Watched { key, truth, passes: 0, sites: Vec::new() }, true));
        of.sites.push((address, found.rows.len()));
        *all_exact &= is_exact;
        let function = site.inlined.first().map(|inlined| &inlined.function).or(site.function.as_ref());
        for (position, argument) in site.args.iter().enumerate() {
            found.rows.push(Row {
                build: build.clone(),
                marker: marker.name.clone(),
                file: marker.file.clone(),
                line: marker.line,
                function: function.map(ToString::to_string).unwrap_or_default(),
                address,
                is_exact,
                is_anchored: site.anchored,
                argument: argument.text.clone(),
                position,
                place: form::place(&argument.text, &argument.name),
                type_name: argument.type_name.as_deref().unwrap_or_default().to_owned(),
                verdict: argument.verdict.map_or("none", |verdict| verdict.as_str()),
                code: argument.verdict.map(|verdict| verdict.code().to_string()).unwrap_or_default(),
                reason: argument.reason.as_ref().map(Reason::name),
                form: Form::of(argument),
                location: argument.location_text.as_deref().unwrap_or_default().to_owned(),
                begins: argument.ranges.iter().any(|range| range.start == address),
                range: argument.ranges.iter().find(|range| range.contains(&address)).cloned(),
                ends: argument.ranges.iter().any(|range| range.end == address),
                passes: 0,
                right: 0,
                masked: 0,
                unreadable: 0,
                unknown: 0,
                wrong_behind: 0,
                wrong: 0,
                first: None,
            });
        }
    }
    let (exact, inexact): (Vec<_>, Vec<_>) = watched.into_values().partition(|(_, all_exact)| *all_exact);
    found.inexact = inexact.len();
    exact.into_iter().map(|(of, _)| of).collect()
}

/// Adds one value to a row.
fn record(row: &mut Row, pass: usize, truth: &Truth, argument: &Argument, machine: &Stopped<'_>) {
    row.passes += 1;
    let (outcome, ours) = compare(argument, machine, truth);
    let count = match outcome {
        Outcome::Right => &mut row.right,
        Outcome::Masked => &mut row.masked,
        Outcome::Unreadable => &mut row.unreadable,
        Outcome::Unknown => &mut row.unknown,
        Outcome::WrongBehind => &mut row.wrong_behind,
        Outcome::Wrong => &mut row.wrong,
    };
    *count += 1;
    if outcome == Outcome::Wrong && row.first.is_none() {
        row.first = Some(First { pass, truth: truth.bytes.clone(), ours });
    }
}

/// Clears the counts of all rows of the site with this first row.
fn clear(rows: &mut [Row], first: usize) {
    let Some(address) = rows.get(first).map(|row| (row.address, row.marker.clone())) else { return };
    for row in rows.iter_mut().skip(first).take_while(|row| (row.address, row.marker.clone()) == address) {
        (row.passes, row.right, row.masked, row.unreadable, row.unknown) = (0, 0, 0, 0, 0);
        (row.wrong_behind, row.wrong, row.first) = (0, 0, None);
    }
}

/// The same path for the program and the twin.
#[must_use]
pub fn absolute(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
