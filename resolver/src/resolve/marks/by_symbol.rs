//! Where functions are entered and left that no debug information describes, by their symbols.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::certainty::PlaceCertainty;
use super::found::{FoundMark, FoundSite};
use crate::address::Vaddr;
use crate::demangle::{demangle, demangle_in_full};
use crate::image::symbols::{Symbol, Symbols};
use crate::marks::{FunctionPattern, Mark, MarkPlace};
use crate::resolve::Origin;
use crate::resolve::instructions::Instructions;
use crate::resolve::mark_problem::{FunctionCandidate, MarkProblem};
use crate::resolve::pc::Pc;
use crate::text;

/// The markers of a mark at functions of a linked image: one for each name.
pub(super) fn find(
    symbols: Symbols<'_>,
    instructions: Option<&Instructions<'_>>,
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
    if by_path.is_empty() {
        return Err(MarkProblem::NoSuchFunction);
    }
    // No symbol says the types of values.
    if !mark.args.is_empty() {
        return Err(MarkProblem::ValuesUnknown);
    }
    let is_return = matches!(mark.place, MarkPlace::Return(_));
    let found = by_path.into_iter().filter_map(|(path, all)| {
        let mut sites: Vec<FoundSite> = match is_return {
            true => all.iter().flat_map(|symbol| exits(instructions, symbol)).collect(),
            false => all.iter().map(|symbol| entry(symbol)).collect(),
        };
        sites.sort_by_key(|site| site.pc);
        sites.dedup_by_key(|site| site.pc);
        let suffix = if is_return { "() return" } else { "()" };
        let name = if is_several { format!("{path}{suffix}") } else { mark.name.to_string() };
        let (format, args) = (mark.format.clone(), mark.args.clone());
        (!sites.is_empty()).then(|| FoundMark {
            name,
            file: Arc::from(""),
            line: 0,
            scope_line: 0,
            format,
            args,
            sites,
            inlined_copies: 0,
            task_point: mark.task_point,
            problem: None,
        })
    });
    let found: Vec<FoundMark> = found.collect();
    if found.is_empty() { Err(MarkProblem::NoExit) } else { Ok(found) }
}

fn entry(symbol: &Symbol) -> FoundSite {
    FoundSite { pc: Pc::linked(symbol.start), origin: Origin::Entry, certainty: PlaceCertainty::Code, callee: None }
}

fn exits(instructions: Option<&Instructions<'_>>, symbol: &Symbol) -> Vec<FoundSite> {
    let exits = instructions.and_then(|code| code.exits_of_symbol(Vaddr(symbol.start)).ok());
    exits.map(|exits| FoundSite::of_exits(exits, |at| Some(Pc::linked(at.0)))).unwrap_or_default()
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
