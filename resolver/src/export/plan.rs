//! Which sites are exported, at which address, and what they and their arguments are called.

use std::collections::HashSet;

use crate::address::{FileOffset, Vaddr};
use crate::image::ImageKind;
use crate::resolve::{Argument, Exactness, Marker, ResolvedImage, Site, SitePlace};
use crate::text::shown;

use super::fetch::{self, Fetch};

/// Which of several addresses that stand for the same is probed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum At {
    /// The one where a probe costs least, else the site's own.
    #[default]
    Best,
    /// The site's own.
    Site,
}

/// What is chosen of an image.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Where probes are placed.
    pub at: At,
    /// What is exported besides exact sites. A probe there may also fire where the marker is not passed.
    pub include: Vec<Exactness>,
    /// Whether sites are exported of which is not known what a uprobe does there.
    pub unknown_probes: bool,
}

/// A site to be exported.
#[derive(Clone, Debug)]
pub(super) struct Point<'r> {
    pub(super) marker: &'r Marker,
    pub(super) site: &'r Site,
    /// What stands before the `:` of the marker's name, else the module.
    pub(super) provider: String,
    /// The rest of the name.
    pub(super) rest: String,
    /// The same as identifiers of C, `event` the only one of its kind among all sites.
    pub(super) group: String,
    pub(super) event: String,
    pub(super) address: Vaddr,
    pub(super) offset: FileOffset,
}

/// What becomes of a site.
pub(super) enum Planned<'r> {
    Point(Point<'r>),
    /// It is left out: the marker, where it is, and why.
    LeftOut {
        marker: &'r Marker,
        place: String,
        why: String,
    },
}

/// The longest name of a group or an event that the kernel takes (`MAX_EVENT_NAME_LEN`).
const NAME: usize = 63;

/// All sites of the markers that `keep` takes, in their order. `uprobe` says that the kernel's uprobes carry the consumer's probes.
pub(super) fn plan<'r>(
    image: &'r ResolvedImage,
    keep: &dyn Fn(&Marker) -> bool,
    settings: &Settings,
    uprobe: bool,
) -> Vec<Planned<'r>> {
    let mut taken = HashSet::new();
    let mut planned = Vec::new();
    for marker in image.markers.iter().filter(|marker| keep(marker)) {
        if marker.sites.is_empty() {
            let why = marker.survival.map_or("its sites are not known", |survival| survival.as_str()).to_owned();
            planned.push(Planned::LeftOut { marker, place: "nowhere".to_owned(), why });
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
                    planned.push(Planned::Point(point));
                }
                Err(why) => planned.push(Planned::LeftOut { marker, place, why }),
            }
        }
    }
    planned
}

fn point<'r>(
    image: &ResolvedImage,
    marker: &'r Marker,
    site: &'r Site,
    settings: &Settings,
    uprobe: bool,
) -> Result<Point<'r>, String> {
    let address = match &site.place {
        Some(SitePlace::Address(address)) => *address,
        Some(SitePlace::Section { .. }) => return Err("a relocatable object has no addresses yet".to_owned()),
        None => return Err("the linker discarded it".to_owned()),
    };
    let offset = site.file_offset.ok_or("the file has no byte for it")?;
    let exactness = site.exactness.unwrap_or(Exactness::Unproven);
    if exactness != Exactness::Exact && !settings.include.contains(&exactness) {
        let why =
            site.exactness_reason.as_ref().map(|why| format!(": {}", shown(&why.to_string()))).unwrap_or_default();
        return Err(format!(
            "{}{why}; a probe there may fire where the marker is not passed (--include {})",
            exactness.as_str(),
            exactness.as_str()
        ));
    }
    let mut by = 0;
    if uprobe {
        by = probed(address, site, settings)?;
    }
    let name = marker.name.split_once(':');
    let (provider, rest) = name.unwrap_or((&image.module, &marker.name));
    let outside = "an address outside of the address space";
    Ok(Point {
        marker,
        site,
        provider: provider.to_owned(),
        rest: rest.to_owned(),
        group: identifier(provider, NAME),
        event: identifier(rest, NAME),
        address: Vaddr(address.0.checked_add(by).ok_or(outside)?),
        offset: FileOffset(offset.0.checked_add(by).ok_or(outside)?),
    })
}

/// How many bytes behind a site a uprobe is placed.
fn probed(address: Vaddr, site: &Site, settings: &Settings) -> Result<u64, String> {
    let Some(probe) = &site.probe else {
        return match settings.unknown_probes {
            true => Ok(0),
            false => Err("what a uprobe does there is not known (--include unknown-probe)".to_owned()),
        };
    };
    // The code between is passed one instruction after the other, so it is in the file as it is in memory.
    let best = probe.best_address.and_then(|best| best.checked_sub(address.0));
    let is_sound = probe.accepted && probe.cost.is_some();
    let why = || probe.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    match (best, settings.at) {
        (Some(best), At::Best) => Ok(best),
        _ if is_sound => Ok(0),
        _ if probe.accepted => Err(format!("a uprobe there does not do what it should{}", why())),
        _ => Err(format!("the kernel takes no uprobe there{}", why())),
    }
}

/// `text` as an identifier of C of at most so many characters.
pub(super) fn identifier(text: &str, longest: usize) -> String {
    let mut name = String::new();
    for character in text.chars() {
        let character = if character.is_ascii_alphanumeric() { character } else { '_' };
        if name.is_empty() && character.is_ascii_digit() {
            name.push('_');
        }
        // Of `a->b` one underscore.
        if name.len() < longest && !(character == '_' && name.ends_with('_') && name.len() > 1) {
            name.push(character);
        }
    }
    if name.is_empty() { "_".to_owned() } else { name }
}

/// A name that no other site of the group has; copies are numbered from 1.
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

/// An argument of a site, with its conversion, and what is to be fetched for it or why nothing is.
pub(super) struct Wanted<'r> {
    pub(super) argument: &'r Argument,
    pub(super) letter: char,
    pub(super) fetch: Result<Fetch, String>,
}

impl<'r> Point<'r> {
    /// The arguments, in their order. One that has no conversion is a number.
    pub(super) fn wanted(&self) -> Vec<Wanted<'r>> {
        let letter = |index: usize| {
            let conversion = self.marker.args.get(index).and_then(|declared| declared.conversion.as_deref());
            conversion.and_then(|text| text.chars().last()).filter(|last| *last != '*').unwrap_or('d')
        };
        let wanted = |(index, argument): (usize, &'r Argument)| {
            let letter = letter(index);
            Wanted { argument, letter, fetch: fetch::fetch(argument, letter) }
        };
        self.site.args.iter().enumerate().map(wanted).collect()
    }

    /// What is said of the site before its probe: marker, source, function, exactness where it is not exact.
    pub(super) fn heading(&self) -> String {
        let Self { marker, site, .. } = self;
        let function = site.function.as_deref().map(|name| format!(" in {}", shown(name))).unwrap_or_default();
        let doubt = match site.exactness {
            Some(Exactness::Exact) => String::new(),
            exactness => format!(
                "; {}: it may also fire where the marker is not passed",
                exactness.unwrap_or(Exactness::Unproven).as_str()
            ),
        };
        format!(
            "{} \"{}\" at {}:{}{function}{doubt}",
            shown(&marker.name),
            shown(&marker.format),
            shown(&marker.file),
            marker.line
        )
    }
}

/// Why images of this kind and processor cannot be exported to uprobes and what is built on them.
pub(super) fn check(image: &ResolvedImage, processors: &[&str]) -> Result<(), String> {
    match image.kind {
        ImageKind::Executable | ImageKind::Pie | ImageKind::Shared => {}
        ImageKind::Relocatable => {
            return Err("a relocatable object has no addresses yet: export the program that it is linked to".to_owned());
        }
        ImageKind::Kernel | ImageKind::Module => {
            return Err(
                "kernel images and modules are not exported; supported are executables and shared objects".to_owned()
            );
        }
        _ => return Err("neither an executable nor a shared object".to_owned()),
    }
    match processors.contains(&image.arch) {
        true => Ok(()),
        false => Err(format!("not supported for {}, only for {}", image.arch, processors.join(" and "))),
    }
}
