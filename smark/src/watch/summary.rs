//! What is watched, said once at the start; and why there were no hits, at the end.

use std::collections::{BTreeMap, HashSet};

use simple_markers_tracer::Plan;
use simple_markers_tracer::bpf::entry::EntryCounts;
use simple_markers_tracer::sys;

use super::watching::Watching;
use crate::console::Console;

/// The most names in a line.
const LISTED: usize = 8;

impl Watching {
    /// Says what is watched, as soon as something is.
    pub(super) fn tell_watched(&mut self, console: &Console) {
        let asks_for = |plan: &Plan, marker: usize| {
            plan.markers.get(marker).is_some_and(|it| it.event.is_none() && self.watch.question.asks_for(&it.name))
        };
        let sites: Vec<_> = self.plan.sites.iter().filter(|site| asks_for(&self.plan, site.marker)).collect();
        if self.is_told || sites.is_empty() {
            return;
        }
        self.is_told = true;
        let markers: HashSet<usize> = sites.iter().map(|site| site.marker).collect();
        let files: HashSet<usize> = sites.iter().map(|site| site.image).collect();
        let left_out = self.plan.left_out.iter().filter(|it| self.watch.question.asks_for(&it.marker)).count();
        let copies =
            sites.iter().filter_map(|site| site.recorded.as_ref()).map(|it| it.copies as usize - 1).sum::<usize>();
        let mut text = format!(
            "watching {} of {} in {}",
            counted(sites.len() + copies, "site"),
            counted(markers.len(), "marker"),
            counted(files.len(), "file")
        );
        if left_out > 0 {
            text.push_str(&format!("; {left_out} left out: smark show"));
        }
        console.note(&text);
    }

    /// Says with `--verbose` where each site is, from the number `first` on.
    pub(super) fn tell_sites(&self, console: &Console, first: usize) {
        for site in self.plan.sites.iter().skip(first).filter(|_| self.watch.verbose) {
            let (Some(marker), Some(image)) = (self.plan.markers.get(site.marker), self.plan.images.get(site.image))
            else {
                continue;
            };
            if marker.event.is_some() {
                continue;
            }
            let place = match &site.function {
                Some(function) => format!("in {function} at {}", site.address),
                None => format!("at {}", site.address),
            };
            let by = if site.recorded.is_some() { ", recorded by the program" } else { "" };
            console.note(&format!("watching {} {place} of {}{by}", marker.name, image.path));
        }
    }

    /// Says for each marker what is known, if none had a hit.
    pub(super) fn tell_why_silent(&self, console: &Console) {
        if self.has_hits {
            return;
        }
        let asks_for = |name: &str| self.watch.question.asks_for(name);
        let (mut unreached, mut unmapped): (Vec<&str>, BTreeMap<&str, Vec<&str>>) = Default::default();
        for marker in self.plan.markers.iter().filter(|it| it.event.is_none() && asks_for(&it.name)) {
            let Some(image) = self.plan.images.get(marker.image) else { continue };
            let is_mapped = !self.is_of_some() || image.file.number.is_none_or(|it| self.mapped.contains(&it));
            match is_mapped {
                true => unreached.push(&marker.name),
                false => unmapped.entry(&image.path).or_default().push(&marker.name),
            }
        }
        let mut left_out: Vec<&str> = Vec::new();
        let is_watched = |name: &str| self.plan.markers.iter().any(|it| &*it.name == name);
        for it in self.plan.left_out.iter().filter(|it| asks_for(&it.marker) && !is_watched(&it.marker)) {
            if !left_out.contains(&&*it.marker) {
                left_out.push(&it.marker);
            }
        }
        if unreached.is_empty() && unmapped.is_empty() && left_out.is_empty() {
            if self.is_of_some() && self.watch.events.is_empty() {
                console.note("no hits: no program or library with selected markers was met");
            }
            return;
        }
        if !unreached.is_empty() {
            let filter = if self.watch.filter.is_some() { ", or never while the filter held" } else { "" };
            console.note(&format!("no hits: {} never reached{filter}: {}", was(&unreached), listed(&unreached)));
        }
        for (file, names) in unmapped {
            console.note(&format!(
                "no hits: {file} was never mapped by a watched process, so {} never reached: {}",
                was(&names),
                listed(&names)
            ));
        }
        if !left_out.is_empty() {
            console.note(&format!("no hits: {} left out (smark show says why): {}", was(&left_out), listed(&left_out)));
        }
    }
}

impl Watching {
    /// Says at the end of which functions the entries were not seen, and which were entered so often that the hits do
    /// not pay for it.
    pub(super) fn tell_entries(&self, console: &Console) -> Result<(), sys::Error> {
        let Some(session) = &self.session else { return Ok(()) };
        for (number, EntryCounts { entered, asked, unseen }) in session.entries()? {
            let Some(entry) = self.plan.entries.get(number) else { continue };
            let function = match &entry.function {
                Some(function) => function.to_string(),
                None => format!("the function at {}", entry.address),
            };
            let hits = counted(usize::try_from(asked).unwrap_or(usize::MAX), "hit");
            if unseen > 0 {
                console
                    .note(&format!("{unseen} of {hits} in {function} have no values of its entry, which was not seen"));
            }
            if entered >= MANY_ENTRIES && entered / ENTRIES_A_HIT > asked {
                console.note(&format!(
                    "{function} was entered {entered} times for {hits}, and each time a probe read arguments: --no-assist"
                ));
            }
        }
        Ok(())
    }
}

/// The probe at the entry of a function is not mentioned if the function was entered less often.
const MANY_ENTRIES: u64 = 10_000;
/// Nor if it was entered less often for each hit.
const ENTRIES_A_HIT: u64 = 100;

fn was(names: &[&str]) -> &'static str {
    if names.len() == 1 { "one marker was" } else { "these markers were" }
}

/// Some names.
fn listed(names: &[&str]) -> String {
    let shown = names.get(..LISTED).unwrap_or(names).join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
