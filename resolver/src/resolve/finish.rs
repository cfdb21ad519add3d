//! Joined records as plain values: sites in order, verdicts, text put together.

use std::collections::HashMap;
use std::sync::Arc;

use object::SectionIndex;
use simple_markers_record::SITES;

use super::debugged::{Debugged, Surroundings};
use super::diagnostics::Diagnostics;
use super::functions::Named;
use super::join::{Joined, Pc, RawMarker, RawSite};
use super::texts::TextId;
use super::{Argument, DeclaredArgument, Described, Marker, Place, Site, Survival, describe, kept};
use crate::Error;
use crate::address::{SectionOffset, Vaddr};
use crate::image::Image;
use crate::text;

/// The markers of an image. `sites_are_known`: a marker without a site has none anywhere.
pub(super) fn markers(
    image: &Image<'_>,
    mut joined: Joined<'_>,
    named: HashMap<Pc, Named>,
    debug: Option<&Debugged<'_, '_>>,
    sites_are_known: bool,
    diagnostics: &mut Diagnostics,
) -> Vec<Marker> {
    let markers = std::mem::take(&mut joined.markers);
    let (described, section_names) = (HashMap::new(), HashMap::new());
    let mut finish = Finish { image, joined, named, debug, described, section_names, diagnostics };
    markers.into_iter().map(|marker| finish.marker(marker, sites_are_known)).collect()
}

/// Turns joined records into plain values.
struct Finish<'i, 'data, 'a, 'd, 's> {
    image: &'i Image<'data>,
    joined: Joined<'a>,
    named: HashMap<Pc, Named>,
    debug: Option<&'i Debugged<'d, 's>>,
    described: HashMap<(TextId, TextId), Described>,
    section_names: HashMap<usize, Arc<str>>,
    diagnostics: &'i mut Diagnostics,
}

impl Finish<'_, '_, '_, '_, '_> {
    fn marker(&mut self, mut raw: RawMarker, sites_are_known: bool) -> Marker {
        // Live ones first, by address; two records of one place are one site.
        raw.sites.sort_by_key(|site| (site.pc.is_none(), site.pc, site.column, site.offset));
        raw.sites.dedup_by_key(|site| (site.pc, site.column, site.pc.is_none().then_some(site.offset)));
        let survival = match (raw.sites.first(), sites_are_known) {
            (Some(RawSite { pc: Some(_), .. }), _) => Some(Survival::Live),
            (Some(_), _) => Some(Survival::Discarded),
            (None, true) => Some(Survival::Eliminated),
            (None, false) => None,
        };
        let described = self.describe(&raw);
        let file = self.joined.texts.text(raw.file);
        let sites: Vec<Site> = raw.sites.iter().map(|site| self.site(site, &file, raw.line, &described.args)).collect();
        let text = |id| self.joined.texts.text(id);
        Marker {
            id: 0,
            name: text(raw.name),
            file,
            line: raw.line,
            column: sites.iter().find_map(|site| site.column),
            format: text(raw.format),
            description: described.description,
            args: described.args,
            declared: raw.declared,
            survival,
            sites,
        }
    }

    fn describe(&mut self, raw: &RawMarker) -> Described {
        let texts = &mut self.joined.texts;
        let described = self.described.entry((raw.format, raw.args)).or_insert_with(|| {
            let (format, args) = (texts.bytes(raw.format), texts.bytes(raw.args));
            // A bound for what comes out: each `%d` takes one argument.
            if texts.pay(format.len().saturating_add(args.len().saturating_mul(16))) {
                describe(format, args)
            } else {
                Described { description: texts.text(raw.format), args: Arc::from([]) }
            }
        });
        described.clone()
    }

    fn site(&mut self, raw: &RawSite, file: &str, line: u32, declared: &[DeclaredArgument]) -> Site {
        let (place, file_offset) = match raw.pc {
            None => (None, None),
            Some(Pc { section: None, address }) => {
                (Some(Place::Address(Vaddr(address))), self.image.file_offset(Vaddr(address)))
            }
            Some(Pc { section: Some(index), address }) => {
                let offset = SectionOffset(address);
                let name = self.section_names.entry(index);
                let section = Arc::clone(name.or_insert_with(|| self.image.section_name(SectionIndex(index)).into()));
                let file_offset = self.image.section_file_offset(SectionIndex(index), offset);
                (Some(Place::Section { section, offset }), file_offset)
            }
        };
        let named = raw.pc.and_then(|pc| self.named.get(&pc)).cloned();
        let (symbol, symbol_offset) = named.as_ref().and_then(|named| named.symbol.clone()).unzip();
        let mut args = match self.joined.texts.pay(declared.len().saturating_mul(size_of::<Argument>())) {
            true => self.arguments(raw, declared),
            false => Vec::new(),
        };
        let around = match (self.debug, raw.pc) {
            (Some(debug), Some(pc)) => {
                let is_kept = |index: usize| args.get(index).is_none_or(|arg: &Argument| arg.is_kept);
                debug.site(pc, file, line, declared, is_kept).unwrap_or_else(|error| {
                    self.diagnostics.error(&error);
                    Surroundings::default()
                })
            }
            _ => Surroundings::default(),
        };
        for (argument, resolved) in args.iter_mut().zip(around.args) {
            if !argument.is_kept {
                *argument = resolved;
            }
        }
        Site {
            place,
            file_offset,
            symbol,
            symbol_offset,
            function: named.map(|named| named.function).or(around.function),
            inlined: around.inlined,
            scope_ended: around.scope_ended,
            column: (raw.column != 0).then_some(raw.column),
            origin: raw.origin,
            anchored: raw.anchored,
            args,
        }
    }

    fn arguments(&mut self, raw: &RawSite, declared: &[DeclaredArgument]) -> Vec<Argument> {
        let operands = raw.operands.map_or(&[][..], |id| self.joined.texts.bytes(id));
        kept::arguments(declared, operands, self.image.processor(), |entry| {
            let (offset, entry) = (SectionOffset(raw.offset as u64), text::from_bytes(entry));
            self.diagnostics.error(&Error::Operand { section: SITES, offset, entry });
        })
    }
}
