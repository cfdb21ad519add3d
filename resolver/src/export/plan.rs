//! Selects the sites to export, and gives them addresses and names.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::address::{FileOffset, Vaddr};
use crate::arch::InstructionSet;
use crate::image::ImageKind;
use crate::record::printf::{self, Count, Piece};
use crate::resolve::{
    Argument, EntryReading, Exactness, Marker, ResolvedImage, Site, SitePlace, Switch, SwitchProblem, Verdict,
};
use crate::text::shown;

use super::fetch::{self, Fetch};
use super::whole_value::fetch_whole;
use super::{ArgumentOmission, ExportError, SiteOmission, processor};

/// Which of several equivalent addresses is probed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum At {
    /// The address where a probe costs least; without one, the site's own.
    #[default]
    Best,
    /// The site's own.
    Site,
}

/// What to export of an image.
#[derive(Clone, Debug, Default)]
pub struct ExportSettings {
    /// Where probes are placed.
    pub at: At,
    /// The kinds of sites that are exported besides exact ones. A probe at such a site may fire where the
    /// marker is not passed.
    pub include: Vec<Exactness>,
    /// Whether sites are exported where the effect of a uprobe is unknown.
    pub unknown_probes: bool,
    /// Whether doubtful arguments are exported. They may have other values than in the source.
    pub doubtful: bool,
    /// Whether the consumer has a second probe at the entry of a function, and arguments that are read there
    /// ([`Argument::at_entry`]) are exported.
    pub at_entry: bool,
}

/// A site to be exported.
#[derive(Clone, Debug)]
pub struct Point<'r> {
    /// Its marker.
    pub marker: &'r Marker,
    /// The site.
    pub site: &'r Site,
    /// The part of the marker's name before the `:`; without a `:`, the module.
    pub(super) provider: String,
    /// The rest of the name.
    pub(super) rest: String,
    /// The provider as an identifier of C.
    pub(super) group: String,
    /// The rest of the name as an identifier of C, unique in its group.
    pub(super) event: String,
    /// The link-time address of the probe, which may be near the site's.
    pub address: Vaddr,
    /// The probe's offset in the file.
    pub offset: FileOffset,
    /// The switch of a probe, which has to be armed; `None` for a marker.
    pub switch: Option<PointSwitch>,
    /// Whether doubtful arguments are exported.
    with_doubtful: bool,
    /// Whether arguments are exported that are read at the entry of the function.
    at_entry: bool,
}

/// The switch of a probe that is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointSwitch {
    /// Its link-time address.
    pub address: Vaddr,
    /// Its offset in the file, where the kernel counts the uprobes (`ref_ctr_offset`).
    pub offset: FileOffset,
}

/// A site that is exported or left out.
#[derive(Clone, Debug)]
pub enum PlanEntry<'r> {
    /// The site is exported.
    Point(Point<'r>),
    /// The site is left out.
    LeftOut {
        /// Its marker.
        marker: &'r Marker,
        /// Its address; in a relocatable object the section and the offset.
        place: String,
        /// Why it is left out.
        why: SiteOmission,
    },
}

/// The longest name of a group or an event (`MAX_EVENT_NAME_LEN` of the kernel).
const NAME: usize = 63;

/// The sites of the markers that `keep` accepts, for a consumer that sets uprobes itself.
///
/// # Errors
///
/// The kind of the image or its processor is not supported: only executables and shared objects are.
pub fn points<'r>(
    image: &'r ResolvedImage,
    keep: &dyn Fn(&Marker) -> bool,
    settings: &ExportSettings,
) -> Result<Vec<PlanEntry<'r>>, ExportError> {
    check(image, &|set| set.is_watched())?;
    Ok(plan(image, keep, settings, true))
}

/// All sites of the markers that `keep` accepts, in order. `uprobe` says that the consumer uses the
/// kernel's uprobes.
pub(super) fn plan<'r>(
    image: &'r ResolvedImage,
    keep: &dyn Fn(&Marker) -> bool,
    settings: &ExportSettings,
    uprobe: bool,
) -> Vec<PlanEntry<'r>> {
    let mut taken = HashSet::new();
    let mut planned = Vec::new();
    for marker in image.markers.iter().filter(|marker| keep(marker)) {
        if marker.sites.is_empty() {
            let why = SiteOmission::NoSite(marker.survival);
            planned.push(PlanEntry::LeftOut { marker, place: "nowhere".to_owned(), why });
        }
        let copies = marker.sites.len() > 1;
        for site in &marker.sites {
            let place = match &site.place {
                Some(SitePlace::Address(address)) => address.to_string(),
                Some(SitePlace::Section { section, offset }) => format!("{}+{offset}", shown(section)),
                None => "nowhere".to_owned(),
            };
            match point(image, marker, site, settings, uprobe) {
                Ok(mut point) => {
                    point.event = unique(&mut taken, &point.group, &point.event, copies);
                    planned.push(PlanEntry::Point(point));
                }
                Err(why) => planned.push(PlanEntry::LeftOut { marker, place, why }),
            }
        }
    }
    planned
}

fn point<'r>(
    image: &ResolvedImage,
    marker: &'r Marker,
    site: &'r Site,
    settings: &ExportSettings,
    uprobe: bool,
) -> Result<Point<'r>, SiteOmission> {
    let address = match &site.place {
        Some(SitePlace::Address(address)) => *address,
        Some(SitePlace::Section { .. }) => return Err(SiteOmission::Relocatable),
        None => return Err(SiteOmission::Discarded),
    };
    let offset = site.file_offset.ok_or(SiteOmission::NotInFile)?;
    let exactness = site.exactness.unwrap_or(Exactness::Unproven);
    // A line that the user named is never better than likely in optimised code.
    let is_named = marker.is_mark && exactness == Exactness::Likely;
    if exactness != Exactness::Exact && !is_named && !settings.include.contains(&exactness) {
        return Err(SiteOmission::NotExact { exactness, reason: site.exactness_reason.clone() });
    }
    let switch = site.switch.as_ref().map(armable).transpose()?;
    let mut by = 0i64;
    if uprobe {
        by = probed(address, site, settings)?;
    }
    let name = marker.name.split_once(':');
    let (provider, rest) = name.unwrap_or((&image.module, &marker.name));
    let (mut group, mut event) = (identifier(provider, NAME), identifier(rest, NAME));
    if uprobe {
        // What perf reads before the `:` of `-e mem:..` is an address.
        group = if group == "mem" { "mem_".to_owned() } else { readable_by_perf(group) };
        event = readable_by_perf(event);
    }
    Ok(Point {
        marker,
        site,
        provider: provider.to_owned(),
        rest: rest.to_owned(),
        group,
        event,
        address: Vaddr(address.0.checked_add_signed(by).ok_or(SiteOmission::AddressOverflow)?),
        offset: FileOffset(offset.0.checked_add_signed(by).ok_or(SiteOmission::AddressOverflow)?),
        switch,
        with_doubtful: settings.doubtful,
        at_entry: settings.at_entry,
    })
}

/// The switch of a probe, if it can be armed.
fn armable(switch: &Switch) -> Result<PointSwitch, SiteOmission> {
    match (&switch.place, switch.file_offset, switch.problem) {
        (Some(SitePlace::Address(address)), Some(offset), None) => Ok(PointSwitch { address: *address, offset }),
        (_, _, problem) => Err(SiteOmission::Switch(problem.unwrap_or(SwitchProblem::NotInFile))),
    }
}

/// How many bytes after the site the uprobe is placed. The number is negative if it is before the site.
fn probed(address: Vaddr, site: &Site, settings: &ExportSettings) -> Result<i64, SiteOmission> {
    let Some(probe) = &site.probe else {
        return match settings.unknown_probes {
            true => Ok(0),
            false => Err(SiteOmission::UnknownProbe),
        };
    };
    // The code between is straight-line, so the distance is the same in the file as in memory.
    let best = probe.best_address.map(|best| best.wrapping_sub(address.0) as i64);
    let is_sound = probe.accepted && probe.cost.is_some();
    match (best, settings.at) {
        (Some(best), At::Best) => Ok(best),
        _ if is_sound => Ok(0),
        _ if probe.accepted => Err(SiteOmission::ProbeMisbehaves(probe.reason)),
        _ => Err(SiteOmission::ProbeRefused(probe.reason)),
    }
}

/// `text` as an identifier of C of at most `longest` characters.
pub(super) fn identifier(text: &str, longest: usize) -> String {
    let mut name = String::new();
    for character in text.chars() {
        let character = if character.is_ascii_alphanumeric() { character } else { '_' };
        if name.is_empty() && character.is_ascii_digit() {
            name.push('_');
        }
        // `a->b` gets one underscore.
        if name.len() < longest && !(character == '_' && name.ends_with('_') && name.len() > 1) {
            name.push(character);
        }
    }
    if name.is_empty() { "_".to_owned() } else { name }
}

/// Words that perf takes for an event of its own, for a cache or for what is done to it
/// (tools/perf/util/parse-events.l).
const WORDS_OF_PERF: [&str; 36] = [
    "L2",
    "LLC",
    "access",
    "bpc",
    "bpu",
    "branch",
    "branches",
    "btb",
    "cs",
    "cycles",
    "dTLB",
    "dummy",
    "duration_time",
    "faults",
    "iTLB",
    "instructions",
    "l1d",
    "l1i",
    "load",
    "loads",
    "migrations",
    "miss",
    "misses",
    "node",
    "ops",
    "prefetch",
    "prefetches",
    "read",
    "Reference",
    "refs",
    "store",
    "stores",
    "system_time",
    "user_time",
    "write",
    "writes",
];

/// A name that `perf record -e GROUP:EVENT` takes for a name. A `_` follows a word of perf's own, letters
/// that are all modifiers (`h`, `uk`), and what could be a raw event (`r12`).
fn readable_by_perf(mut name: String) -> String {
    let is_modifier = !name.is_empty() && name.bytes().all(|letter| b"ukhpPGHSDIWeb".contains(&letter));
    let raw = name.strip_prefix('r').filter(|digits| !digits.is_empty());
    let is_raw = raw.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    if is_modifier || is_raw || WORDS_OF_PERF.contains(&&*name) {
        name.push('_');
    }
    name
}

/// A name that is unique in the group. Copies are numbered from 1.
fn unique(taken: &mut HashSet<(String, String)>, group: &str, event: &str, copies: bool) -> String {
    let mut number = 1u64;
    let mut candidate = if copies { numbered(event, number, NAME) } else { event.to_owned() };
    while !taken.insert((group.to_owned(), candidate.clone())) {
        number = number.saturating_add(1);
        candidate = numbered(event, number, NAME);
    }
    candidate
}

pub(super) fn numbered(name: &str, number: u64, longest: usize) -> String {
    let suffix = format!("_{number}");
    let end = longest.saturating_sub(suffix.len()).min(name.len());
    format!("{}{suffix}", name.get(..end).unwrap_or(name))
}

/// An argument of a site: its conversion, and what to fetch or why it is left out.
#[derive(Clone, Debug)]
pub struct PlannedArgument<'r> {
    /// The argument.
    pub argument: &'r Argument,
    /// The letter of its conversion; `d` if it has none.
    pub letter: char,
    /// What to fetch.
    pub fetch: Result<Fetch, ArgumentOmission>,
    /// The precision of the conversion of a text: its most bytes; `None` if it has none.
    pub precision: Option<Precision>,
    /// What is between the braces of `%p{..}`; `None` if it is not shown as a whole value.
    pub form: Option<Arc<str>>,
}

/// The precision of a conversion.
#[derive(Clone, Debug)]
pub enum Precision {
    /// Digits: `%.3s`.
    Digits(u32),
    /// The value of an argument, an `int`: `%.*s`. A negative one is no precision.
    Argument {
        /// The index of the argument in [`Point::wanted`].
        index: usize,
        /// What to fetch for it.
        fetch: Box<Result<Fetch, ArgumentOmission>>,
    },
}

impl<'r> Point<'r> {
    /// The arguments in order. An argument without a conversion is read as `d`.
    #[must_use]
    pub fn wanted(&self) -> Vec<PlannedArgument<'r>> {
        let letter = |index: usize| {
            let conversion = self.marker.args.get(index).and_then(|declared| declared.conversion.as_deref());
            conversion.and_then(|text| text.chars().last()).filter(|last| *last != '*').unwrap_or('d')
        };
        // A type says by itself that its characters are wide.
        let is_wide = |index: usize| {
            let conversion = self.marker.args.get(index).and_then(|declared| declared.conversion.as_deref());
            conversion.is_some_and(|text| text.ends_with("ls"))
        };
        let wanted = |(index, argument): (usize, &'r Argument)| {
            let letter = letter(index);
            let is_whole = self.marker.args.get(index).is_some_and(|declared| declared.form.is_some());
            let read = self.read(argument);
            let fetch = match argument.ty.is_none() && is_wide(index) {
                true => Err(ArgumentOmission::WideText),
                false if is_whole => fetch_whole(&read, self.with_doubtful),
                false => fetch::fetch(&read, letter, self.with_doubtful),
            };
            let form = self.marker.args.get(index).and_then(|declared| declared.form.clone());
            PlannedArgument { argument, letter, fetch, precision: self.precision(index), form }
        };
        self.site.args.iter().enumerate().map(wanted).collect()
    }

    /// An argument as it is read. One that is read at the entry of the function has its location there.
    fn read<'a>(&self, argument: &'a Argument) -> Cow<'a, Argument> {
        let entered = argument.at_entry.as_ref().and_then(EntryReading::location);
        match entered.filter(|_| self.at_entry && self.site.frame_entry.is_some()) {
            Some(location) => Cow::Owned(Argument {
                verdict: Some(Verdict::Live),
                location: Some(location.clone()),
                reason: None,
                ..argument.clone()
            }),
            None => Cow::Borrowed(argument),
        }
    }

    /// The precision of the text with this index.
    fn precision(&self, index: usize) -> Option<Precision> {
        let conversion = self.marker.args.get(index)?.conversion.as_deref()?;
        let Some(Ok(Piece::Conversion(conversion))) = printf::parse(conversion.as_bytes()).next() else { return None };
        match conversion.precision.filter(|_| conversion.specifier.letter() == 's')? {
            Count::Digits(digits) => Some(Precision::Digits(digits)),
            // The `*` of the precision is the last one before the text.
            Count::Argument => {
                let index = index.checked_sub(1)?;
                let fetch = fetch::fetch(&self.read(self.site.args.get(index)?), 'd', self.with_doubtful);
                Some(Precision::Argument { index, fetch: Box::new(fetch) })
            }
        }
    }

    /// The doubtful arguments that are exported all the same.
    pub(super) fn doubtful(&self) -> impl Iterator<Item = &'r Argument> {
        let is_doubtful = |argument: &&Argument| argument.verdict == Some(Verdict::Doubtful);
        self.site.args.iter().filter(is_doubtful).filter(|_| self.with_doubtful)
    }

    /// The comment before a probe: marker, source, function, and exactness if it is not exact.
    pub(super) fn heading(&self) -> String {
        let Self { marker, site, .. } = self;
        let function = site.function.as_deref().map(|name| format!(" in {}", shown(name))).unwrap_or_default();
        let doubt = match site.exactness {
            Some(Exactness::Exact) => String::new(),
            exactness => {
                let exactness = exactness.unwrap_or(Exactness::Unproven);
                format!("; {}: {}", exactness.as_str(), crate::english::export::hits(exactness))
            }
        };
        let source = crate::english::sites::source(marker, None);
        format!("{} \"{}\" at {source}{function}{doubt}", shown(&marker.name), shown(&marker.format))
    }
}

/// Fails if images of this kind or processor cannot be exported.
pub(super) fn check(
    image: &ResolvedImage,
    accepts: &dyn Fn(&'static dyn InstructionSet) -> bool,
) -> Result<(), ExportError> {
    if !matches!(image.kind, ImageKind::Executable | ImageKind::Pie | ImageKind::Shared) {
        return Err(ExportError::Kind(image.kind));
    }
    processor::check(image.arch, accepts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perf_takes_names_for_names() {
        let named = |name: &str| readable_by_perf(name.to_owned());
        for name in ["h", "uk", "Ge", "r12", "rad", "cycles", "write", "node", "user_time"] {
            assert_eq!(named(name), format!("{name}_"));
        }
        for name in ["hit", "r", "rx", "queue", "cycles_", "cpu", "web", "bad", "reader"] {
            assert_eq!(named(name), name);
        }
    }
}
