//! The function that holds each site: from symbols, or else from the debug information.

use std::collections::HashMap;
use std::sync::Arc;

use object::SectionIndex;
use simple_markers_record::SITES;

use super::diagnostics::Diagnostics;
use super::interner::Interner;
use super::join::{RawMarkers, RawSite};
use super::pc::Pc;
use super::site_debug::SiteDebug;
use super::{DiagnosticKind, Origin, source_names};
use crate::demangle::demangle;
use crate::image::Image;
use crate::image::symbols::{Symbol, Symbols};
use crate::text;

/// The function that holds a site.
#[derive(Clone, Debug)]
pub(super) struct SiteFunction {
    pub(super) function: Arc<str>,
    /// The name in the source, if the debug information has another one ([`source_names`]).
    pub(super) source: Option<Arc<str>>,
    /// The symbol, mangled, and the offset in it; `None` if the name is from the debug information.
    pub(super) symbol: Option<(Arc<str>, u64)>,
}

/// The functions of all live sites. `image` is the file with the symbols. `debug` is called only if
/// a site has no symbol, and `own_debug` if the symbol is that of a closure. Without live sites, nothing
/// is read.
pub(super) fn name<'a>(
    image: &Image<'_>,
    joined: &mut RawMarkers<'_>,
    debug: impl Fn() -> Option<&'a SiteDebug<'a>>,
    own_debug: impl Fn() -> Option<&'a SiteDebug<'a>>,
    diagnostics: &mut Diagnostics,
) -> HashMap<Pc, SiteFunction> {
    let sites = joined.markers.iter().flat_map(|marker| &marker.sites);
    // Each place, and whether the instruction there belongs to all sites.
    let has_instruction = |site: &RawSite| {
        site.anchored
            || matches!(
                site.origin,
                Origin::Block | Origin::Note | Origin::Line | Origin::Nearest { .. } | Origin::Entry
            )
    };
    let mut places: Vec<(Pc, bool)> = sites.filter_map(|site| Some((site.pc?, has_instruction(site)))).collect();
    places.sort_unstable();
    places.dedup_by_key(|(pc, _)| *pc);
    if places.is_empty() {
        return HashMap::new();
    }
    let functions = image.functions();
    let mut names = SymbolNames { functions, by_symbol: HashMap::new() };
    let mut named = HashMap::with_capacity(places.len());
    let mut nameless = Vec::new();
    let mut ambiguous = Vec::new();
    for (pc, has_instruction) in places {
        let section = pc.section.map(SectionIndex);
        let Some(function) = functions.at(section, pc.address) else {
            nameless.push(pc);
            continue;
        };
        if function.start == pc.address && !has_instruction {
            ambiguous.extend(functions.ending_at(section, pc.address).map(|before| (pc, before, function)));
        }
        named.extend(names.named(&mut joined.texts, pc, &function).map(|name| (pc, name)));
    }
    if let [(pc, before, after), rest @ ..] = ambiguous.as_slice() {
        diagnostics.note(SITES, names.between(*pc, before, after, rest.len()));
    }
    if named.values().any(|named| source_names::is_closure(&named.function)) {
        if let Some(debug) = own_debug() {
            name_closures(debug, &mut named);
        }
    }
    if let Some(debug) = (!nameless.is_empty()).then(debug).flatten() {
        from_debug_information(debug, &nameless, &mut named, diagnostics);
    }
    // A place right after a function that is in no other one belongs to it: the function ends with
    // a call that does not return.
    for pc in nameless {
        if let (false, Some(function)) =
            (named.contains_key(&pc), functions.ending_at(pc.section.map(SectionIndex), pc.address))
        {
            named.extend(names.named(&mut joined.texts, pc, &function).map(|name| (pc, name)));
        }
    }
    named
}

/// A symbol, mangled and demangled.
type SymbolName = (Arc<str>, Arc<str>);

/// Names of functions, each demangled once.
struct SymbolNames<'a> {
    functions: Symbols<'a>,
    by_symbol: HashMap<u32, Option<SymbolName>>,
}

impl SymbolNames<'_> {
    /// `None` if the symbol has no name, or the budget for text is used up.
    fn named(&mut self, texts: &mut Interner<'_>, pc: Pc, function: &Symbol) -> Option<SiteFunction> {
        let name = self.by_symbol.entry(function.index).or_insert_with(|| {
            let symbol = self.functions.name(function);
            let name = demangle(symbol);
            let has_room = texts.charge(symbol.len()) && texts.charge(name.len());
            (has_room && !symbol.is_empty()).then(|| (text::from_bytes(symbol).into(), name.into()))
        });
        let (symbol, name) = name.as_ref()?;
        let offset = pc.address.saturating_sub(function.start);
        Some(SiteFunction { function: Arc::clone(name), source: None, symbol: Some((Arc::clone(symbol), offset)) })
    }

    /// A note that sites are between two functions.
    fn between(&self, pc: Pc, before: &Symbol, after: &Symbol, more: usize) -> DiagnosticKind {
        let [before, after] = [before, after].map(|function| demangle(self.functions.name(function)).into());
        DiagnosticKind::BetweenFunctions { address: pc.address, before, after, more }
    }
}

/// Names closures as the source does, as far as the debug information tells. Errors are those of the
/// look-up of the site, which reports them.
fn name_closures(debug: &SiteDebug<'_>, named: &mut HashMap<Pc, SiteFunction>) {
    for (pc, named) in named.iter_mut().filter(|(_, named)| source_names::is_closure(&named.function)) {
        if let Ok(Some(described)) = debug.function(*pc) {
            named.source = source_names::of_symbol(&named.function, &described).map(Into::into);
        }
    }
}

fn from_debug_information(
    debug: &SiteDebug<'_>,
    places: &[Pc],
    named: &mut HashMap<Pc, SiteFunction>,
    diagnostics: &mut Diagnostics,
) {
    for pc in places {
        match debug.function(*pc) {
            Ok(Some(function)) => {
                let source = source_names::of_described(&function).map(Into::into);
                named.insert(*pc, SiteFunction { function, source, symbol: None });
            }
            Ok(None) => {}
            Err(error) => return diagnostics.note(SITES, DiagnosticKind::UnnamedFunctions { error }),
        }
    }
}
