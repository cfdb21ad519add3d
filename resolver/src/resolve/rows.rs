//! The rows of a list: one for each marker and each function that holds a copy of it. Patterns
//! select rows.

use std::collections::HashMap;

use super::{Marker, Resolution, ResolvedImage, Site, Survival};

/// Written instead of the function's name if neither a symbol nor the debug information has it.
pub const NO_FUNCTION: &str = "<no function>";

/// One marker in one function.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The row's number.
    pub id: u64,
    /// The image that holds the marker.
    pub image: &'a ResolvedImage,
    /// The marker.
    pub marker: &'a Marker,
    /// The function, or why there is none: `<eliminated>`, `<discarded>`, `<unknown>`,
    /// [`NO_FUNCTION`].
    pub function: &'a str,
    /// The sites in that function, by address. The first row of a marker also has its dead sites,
    /// at the end.
    pub sites: Vec<&'a Site>,
}

impl<'a> Row<'a> {
    /// What the source calls the function, if that differs and is known ([`Site::source_function`]).
    #[must_use]
    pub fn source_function(&self) -> Option<&'a str> {
        let mut names =
            self.sites.iter().filter(|site| site.place.is_some()).map(|site| site.source_function.as_deref());
        let first = names.next()??;
        names.all(|name| name == Some(first)).then_some(first)
    }

    /// How many copies of the marker the function holds.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.sites.iter().filter(|site| site.place.is_some()).count()
    }
}

/// How many rows a marker has.
fn count(marker: &Marker) -> usize {
    let functions: std::collections::HashSet<_> = marker.live_sites().map(function).collect();
    functions.len().max(1)
}

fn function(site: &Site) -> &str {
    site.function.as_deref().unwrap_or(NO_FUNCTION)
}

impl Resolution {
    /// Numbers the rows of all markers, from 1. A marker has one row for each function that holds a
    /// copy of it, and at least one.
    pub fn number(&mut self) {
        let mut next = 1;
        for marker in self.images.iter_mut().flat_map(|image| &mut image.markers) {
            marker.id = next;
            next += count(marker) as u64;
        }
    }

    /// The rows of all images, in the order of the images, of their markers, and of the first site
    /// of the marker in each function.
    #[must_use]
    pub fn rows(&self) -> Vec<Row<'_>> {
        let markers = self.images.iter().flat_map(|image| image.markers.iter().map(move |marker| (image, marker)));
        markers.flat_map(|(image, marker)| rows(image, marker)).collect()
    }
}

fn rows<'a>(image: &'a ResolvedImage, marker: &'a Marker) -> Vec<Row<'a>> {
    let mut rows: Vec<Row<'a>> = Vec::new();
    let mut by_function: HashMap<&str, usize> = HashMap::new();
    let mut row = |function: &'a str, site: Option<&'a Site>| {
        let index = *by_function.entry(function).or_insert(rows.len());
        if index == rows.len() {
            let id = marker.id.saturating_add(index as u64);
            rows.push(Row { id, image, marker, function, sites: Vec::new() });
        }
        if let Some(row) = rows.get_mut(index) {
            row.sites.extend(site);
        }
    };
    for site in marker.live_sites() {
        row(function(site), Some(site));
    }
    match marker.survival {
        Some(Survival::Live) => {}
        Some(Survival::Eliminated) => row("<eliminated>", None),
        Some(Survival::Discarded) => row("<discarded>", None),
        None => row("<unknown>", None),
    }
    if let Some(first) = rows.first_mut() {
        first.sites.extend(marker.sites.iter().filter(|site| site.place.is_none()));
    }
    rows
}
