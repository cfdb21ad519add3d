//! The entries of functions that no debug information describes, by their symbols.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::certainty::PlaceCertainty;
use super::found::{FoundMark, FoundSite};
use crate::demangle::{demangle, demangle_in_full};
use crate::image::symbols::{Symbol, Symbols};
use crate::marks::{FunctionPattern, Mark};
use crate::resolve::Origin;
use crate::resolve::mark_problem::{FunctionCandidate, MarkProblem};
use crate::resolve::pc::Pc;
use crate::text;

/// The markers of a mark at the entry of functions of a linked image: one for each name.
pub(super) fn find(
    symbols: Symbols<'_>,
    mark: &Mark,
    pattern: &FunctionPattern,
) -> Result<Vec<FoundMark>, MarkProblem> {
    // Symbols do not say where a function is declared.
    if pattern.file().is_some() {
        return Err(MarkProblem::NoSuchFunction);
    }
    let mut by_path: BTreeMap<String, Vec<&Symbol>> = BTreeMap::new();
    for symbol in symbols.every().filter(|symbol| !symbol.is_indirect() && symbol.size() > 0) {
        let path = source_path(symbols.name(symbol));
        if let Some(path) = path.filter(|path| pattern.matches(path)) {
            by_path.entry(path).or_default().push(symbol);
        }
    }
    // A clone of gcc (`submit.constprop.0`) is the same function, two static functions of C are not.
    let is_clone = |symbol: &&&Symbol| symbols.name(symbol).contains(&b'.');
    let starts = |all: &[&Symbol]| {
        let mut starts: Vec<u64> = all.iter().filter(|symbol| !is_clone(symbol)).map(|symbol| symbol.start).collect();
        starts.sort_unstable();
        starts.dedup();
        starts.len()
    };
    let is_several = by_path.len() > 1 || by_path.values().any(|all| starts(all) > 1);
    if is_several && !pattern.is_glob() {
        let candidate = |symbol: &&Symbol| {
            let path = demangle_in_full(symbols.name(symbol)).into();
            FunctionCandidate { file: Arc::from(""), line: 0, path }
        };
        let mut candidates: Vec<FunctionCandidate> = by_path.values().flatten().map(candidate).collect();
        candidates.sort_unstable();
        return Err(MarkProblem::SeveralFunctions(candidates));
    }
    let found = by_path.into_iter().map(|(path, all)| {
        let mut sites: Vec<FoundSite> = all.iter().map(|symbol| site(symbol)).collect();
        sites.sort_by_key(|site| site.pc);
        sites.dedup_by_key(|site| site.pc);
        let name = if is_several { format!("{path}()") } else { mark.name.to_string() };
        let (format, args) = (mark.format.clone(), mark.args.clone());
        FoundMark {
            name,
            file: Arc::from(""),
            line: 0,
            scope_line: 0,
            format,
            args,
            sites,
            inlined_copies: 0,
            problem: None,
        }
    });
    let found: Vec<FoundMark> = found.collect();
    if found.is_empty() { Err(MarkProblem::NoSuchFunction) } else { Ok(found) }
}

fn site(symbol: &Symbol) -> FoundSite {
    FoundSite { pc: Pc::linked(symbol.start), origin: Origin::Entry, certainty: PlaceCertainty::Code, callee: None }
}

/// The name in the source of the function of a symbol; `None` if the symbol is that of a part of one.
fn source_path(symbol: &[u8]) -> Option<String> {
    let mut parts = symbol.split(|byte| *byte == b'.');
    let first = parts.next().filter(|first| !first.is_empty())?;
    match parts.next() {
        // `submit.part.0`, `submit.cold`.
        Some(b"part" | b"cold") => None,
        Some(b"constprop" | b"isra" | b"lto_priv") => Some(demangle(first)),
        Some(_) => Some(text::from_bytes(symbol)),
        None => Some(demangle(symbol)),
    }
}
