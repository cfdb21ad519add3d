//! How a Rust file gets `simple_mark`, and how it gets `simple_probe` in its place: its `use` items,
//! the modules and blocks that they are visible in, and what else uses their names.

use std::collections::HashSet;
use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::change::Replacement;
use super::rust_tokens::{MARKER, is_ident, is_path_separator, is_punct, unraw};
use super::tokens::MacroCall;

pub(super) const PROBE: &str = "simple_probe";
/// The path of the crate, if it is not renamed.
const CRATE: &str = "simple_markers";

/// The imports of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Imports {
    leaves: Vec<Leaf>,
    /// The contents of the modules in the file, outer ones first. The first is the file.
    modules: Vec<Range<usize>>,
    /// The identifiers outside of `use` items that are no part of a longer path and may mean an import:
    /// the name, and its first byte.
    words: Vec<(String, usize)>,
    /// Whether `#[macro_use]` is in the file.
    has_macro_use: bool,
}

/// One name that a `use` item imports.
#[derive(Clone, Debug)]
struct Leaf {
    /// The path before the name, without the last `::`.
    path: String,
    /// The name, or `*`.
    original: String,
    /// The name in the file.
    local: String,
    /// The bytes of the name, with its `as`.
    range: Range<usize>,
    /// The module or block that it is visible in.
    scope: Range<usize>,
    /// Whether it is in the braces of its item.
    is_listed: bool,
    /// Whether the item is `pub`.
    is_public: bool,
}

/// How an invocation gets the macro of probes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NameAccess {
    /// It is in scope with this name.
    InScope(String),
    /// The import with this index has to import it.
    Imported(usize),
    /// By the path of the crate.
    Path,
}

impl Imports {
    pub(super) fn read(tokens: &TokenStream, length: usize) -> Self {
        let whole = 0..length;
        let mut imports = Self { modules: vec![whole.clone()], ..Self::default() };
        imports.walk(tokens.clone(), &whole);
        let names: HashSet<String> = imports.leaves.iter().map(|leaf| leaf.local.clone()).collect();
        imports.words.retain(|(word, _)| names.contains(word));
        imports
    }

    fn walk(&mut self, tokens: TokenStream, scope: &Range<usize>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut index = 0;
        while let Some(token) = tokens.get(index) {
            let before = |count: usize| tokens.get(index.checked_sub(count)?);
            match token {
                TokenTree::Ident(word) if word == "use" => {
                    let rest = tokens.get(index.saturating_add(1)..).unwrap_or_default();
                    let end = rest.iter().position(|token| is_punct(token, ';'));
                    // `impl Trait + use<..>` is no item.
                    if let Some(end) = end.filter(|_| !rest.first().is_some_and(|token| is_punct(token, '<'))) {
                        let is_public = before(1).is_some_and(|token| is_ident(token, "pub"))
                            || before(2).is_some_and(|token| is_ident(token, "pub"));
                        self.item(rest.get(..end).unwrap_or_default(), String::new(), scope, (false, is_public));
                        index = index.saturating_add(end);
                    }
                }
                TokenTree::Ident(word) => {
                    let is_qualified = index.checked_sub(2).is_some_and(|at| is_path_separator(&tokens, at));
                    self.has_macro_use |= word == "macro_use";
                    if !is_qualified {
                        self.words.push((unraw(&word.to_string()).to_owned(), word.span().byte_range().start));
                    }
                }
                TokenTree::Group(group) => {
                    let inside = group.span_open().byte_range().end..group.span_close().byte_range().start;
                    let is_module = before(2).is_some_and(|token| is_ident(token, "mod"));
                    match group.delimiter() {
                        Delimiter::Brace => {
                            if is_module {
                                self.modules.push(inside.clone());
                            }
                            self.walk(group.stream(), &inside);
                        }
                        _ => self.walk(group.stream(), scope),
                    }
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            index = index.saturating_add(1);
        }
    }

    /// Adds the names of a `use` item, or of a part of it behind `path`.
    fn item(
        &mut self,
        tokens: &[TokenTree],
        mut path: String,
        scope: &Range<usize>,
        (is_listed, is_public): (bool, bool),
    ) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if is_path_separator(tokens, at) {
                path.push_str("::");
                at = at.saturating_add(2);
                continue;
            }
            if let TokenTree::Group(group) = token {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in inner.split(|token| is_punct(token, ',')) {
                    self.item(part, path.clone(), scope, (true, is_public));
                }
                return;
            }
            if is_path_separator(tokens, at.saturating_add(1)) {
                path.push_str(unraw(&token.to_string()));
                at = at.saturating_add(1);
                continue;
            }
            let original = unraw(&token.to_string()).to_owned();
            let renamed = match (tokens.get(at.saturating_add(1)), tokens.get(at.saturating_add(2))) {
                (Some(word), Some(name)) if is_ident(word, "as") => Some(name),
                _ => None,
            };
            self.leaves.push(Leaf {
                path: path.trim_end_matches(':').to_owned(),
                local: renamed.map_or_else(|| original.clone(), |name| unraw(&name.to_string()).to_owned()),
                original,
                range: token.span().byte_range().start..renamed.unwrap_or(token).span().byte_range().end,
                scope: scope.clone(),
                is_listed,
                is_public,
            });
            return;
        }
    }

    /// The module that a byte is in.
    fn module(&self, at: usize) -> &Range<usize> {
        let inside = self.modules.iter().filter(|module| module.contains(&at));
        inside.max_by_key(|module| module.start).unwrap_or(&(0..0))
    }

    /// The import that a byte sees, of those that are `wanted`: the innermost one in its module, or in the
    /// modules around it that are imported with `super::*`.
    fn visible(&self, at: usize, wanted: impl Fn(&Leaf) -> bool) -> Option<usize> {
        let mut module = self.module(at).clone();
        loop {
            let is_seen =
                |leaf: &&Leaf| leaf.scope.start >= module.start && (leaf.scope.contains(&at) || leaf.scope == module);
            let seen = || self.leaves.iter().enumerate().filter(|(_, leaf)| is_seen(leaf));
            let found = seen().filter(|(_, leaf)| wanted(leaf)).max_by_key(|(_, leaf)| leaf.scope.start);
            if let Some((index, _)) = found {
                return Some(index);
            }
            if !seen().any(|(_, leaf)| leaf.original == "*" && leaf.path == "super") {
                return None;
            }
            module = self.module(module.start.checked_sub(1)?).clone();
        }
    }

    /// How a call without a path gets the macro of probes.
    fn access(&self, name: &str, at: usize) -> NameAccess {
        let named = |index: usize| self.leaves.get(index).map(|leaf| leaf.local.clone());
        if let Some(local) = self.visible(at, |leaf| leaf.original == PROBE).and_then(named) {
            return NameAccess::InScope(local);
        }
        if let Some(index) = self.visible(at, |leaf| leaf.local == name && leaf.original == MARKER) {
            return NameAccess::Imported(index);
        }
        let is_whole = |leaf: &Leaf| leaf.original == "*" && leaf.path.trim_start_matches(':') == CRATE;
        match self.has_macro_use || self.visible(at, is_whole).is_some() {
            true => NameAccess::InScope(PROBE.to_owned()),
            false => NameAccess::Path,
        }
    }

    /// The replacement that makes a probe of the path and the name of a marker.
    pub(super) fn renamed(&self, call: &MacroCall) -> Replacement {
        let is_bare = call.range.start == call.name_range.start;
        if !is_bare && call.name == MARKER {
            return Replacement { range: call.name_range.clone(), text: PROBE.to_owned() };
        }
        let access = if is_bare { self.access(&call.name, call.name_range.start) } else { NameAccess::Path };
        let text = match access {
            NameAccess::InScope(name) => name,
            NameAccess::Imported(_) => PROBE.to_owned(),
            NameAccess::Path => format!("{CRATE}::{PROBE}"),
        };
        Replacement { range: call.range.start..call.name_range.end, text }
    }

    /// The changes of the `use` items that make these calls probes: `simple_probe` is imported with
    /// `simple_mark`, or in its place if nothing else uses that.
    pub(super) fn changed(&self, calls: &[&MacroCall]) -> Vec<Replacement> {
        let bare: Vec<&&MacroCall> = calls.iter().filter(|call| call.range.start == call.name_range.start).collect();
        let mut wanted: Vec<usize> = Vec::new();
        for call in &bare {
            if let NameAccess::Imported(index) = self.access(&call.name, call.name_range.start) {
                wanted.push(index);
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        let change = |index: usize| {
            let leaf = self.leaves.get(index)?;
            let is_other_use = |(word, at): &(String, usize)| {
                *word == leaf.local
                    && !bare.iter().any(|call| call.name_range.start == *at)
                    && self.visible(*at, |leaf| leaf.local == *word) == Some(index)
            };
            let Range { start, end } = leaf.range;
            let insert = |at: usize, text: String| Replacement { range: at..at, text };
            Some(match (leaf.is_public || self.words.iter().any(is_other_use), leaf.is_listed) {
                (false, _) => vec![Replacement { range: start..end, text: PROBE.to_owned() }],
                (true, true) => vec![insert(end, format!(", {PROBE}"))],
                (true, false) => vec![insert(start, "{".to_owned()), insert(end, format!(", {PROBE}}}"))],
            })
        };
        wanted.into_iter().filter_map(change).flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fix::rust_source;

    /// The file with the calls of these markers, by name, made probes.
    fn probed(text: &str, names: &[&str]) -> String {
        let (calls, imports) = rust_source::calls(text.as_bytes()).expect("Rust");
        let is_meant =
            |call: &&MacroCall| call.marker.as_ref().is_some_and(|marker| names.contains(&marker.name.as_str()));
        let calls: Vec<&MacroCall> = calls.iter().filter(|call| call.is_marker).filter(is_meant).collect();
        let mut replacements = imports.changed(&calls);
        replacements.extend(calls.iter().map(|call| imports.renamed(call)));
        replacements.sort_by_key(|replacement| replacement.range.start);
        String::from_utf8(super::super::apply(text.as_bytes(), &replacements)).expect("UTF-8")
    }

    #[test]
    fn the_import_follows_the_markers() {
        let both = "fn f() { simple_mark!(a, \"\"); simple_mark!(b, \"\"); }";
        let one = "fn f() { simple_probe!(a, \"\"); simple_mark!(b, \"\"); }";
        let all = "fn f() { simple_probe!(a, \"\"); simple_probe!(b, \"\"); }";
        for (before, with_one, with_all) in [
            (
                "use simple_markers::simple_mark;",
                "use simple_markers::{simple_mark, simple_probe};",
                "use simple_markers::simple_probe;",
            ),
            (
                "use ::simple_markers::{ghosts, simple_mark};",
                "use ::simple_markers::{ghosts, simple_mark, simple_probe};",
                "use ::simple_markers::{ghosts, simple_probe};",
            ),
            (
                "use simple_markers::{self, simple_mark, simple_probe};",
                "use simple_markers::{self, simple_mark, simple_probe};",
                "use simple_markers::{self, simple_mark, simple_probe};",
            ),
            (
                "pub(crate) use simple_markers::simple_mark;",
                "pub(crate) use simple_markers::{simple_mark, simple_probe};",
                "pub(crate) use simple_markers::{simple_mark, simple_probe};",
            ),
            (
                "use {std::fmt, crate::m::simple_mark};",
                "use {std::fmt, crate::m::simple_mark, simple_probe};",
                "use {std::fmt, crate::m::simple_probe};",
            ),
            (
                "#[macro_use] extern crate simple_markers;",
                "#[macro_use] extern crate simple_markers;",
                "#[macro_use] extern crate simple_markers;",
            ),
            ("use simple_markers::*;", "use simple_markers::*;", "use simple_markers::*;"),
        ] {
            assert_eq!(probed(&format!("{before} {both}"), &["a"]), format!("{with_one} {one}"));
            assert_eq!(probed(&format!("{before} {both}"), &["a", "b"]), format!("{with_all} {all}"));
        }
        // Nothing says where the macro comes from.
        assert_eq!(
            probed("fn f() { simple_mark!(a, \"\") }", &["a"]),
            "fn f() { simple_markers::simple_probe!(a, \"\") }"
        );
        let text = "fn f() { simple_markers::simple_mark!(a, \"\"); ::simple_markers::simple_mark!(b, \"\"); }";
        assert_eq!(probed(text, &["a", "b"]), text.replace("simple_mark!", "simple_probe!"));
    }

    #[test]
    fn a_renamed_macro_has_a_probe_beside_it() {
        let text = "use simple_markers::simple_mark as mark; fn f() { mark!(a, \"\"); mark!(b, \"\"); }";
        assert_eq!(
            probed(text, &["a"]),
            "use simple_markers::{simple_mark as mark, simple_probe}; fn f() { simple_probe!(a, \"\"); mark!(b, \"\"); }"
        );
        assert_eq!(
            probed(text, &["a", "b"]),
            "use simple_markers::simple_probe; fn f() { simple_probe!(a, \"\"); simple_probe!(b, \"\"); }"
        );
        let text = "use simple_markers::{simple_mark, simple_probe as probe}; fn f() { simple_mark!(a, \"\"); }";
        assert!(probed(text, &["a"]).ends_with("fn f() { probe!(a, \"\"); }"));
    }

    #[test]
    fn a_module_has_its_own_imports() {
        let text = "use simple_markers::simple_mark;\nfn f() { simple_mark!(a, \"\"); }\n\
                    mod m { use simple_markers::simple_mark; fn g() { simple_mark!(b, \"\"); } }\n\
                    mod t { use super::*; fn g() { simple_mark!(c, \"\"); } }\n\
                    mod n { fn g() { use simple_markers::simple_mark; simple_mark!(d, \"\"); } fn h() { } }\n";
        let (import, probe) = ("use simple_markers::simple_mark;", "use simple_markers::simple_probe;");
        let with = |names: &[&str]| probed(text, names).lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(with(&["b"])[0], import);
        assert_eq!(with(&["b"])[2], format!("mod m {{ {probe} fn g() {{ simple_probe!(b, \"\"); }} }}"));
        assert_eq!(with(&["d"])[4], format!("mod n {{ fn g() {{ {probe} simple_probe!(d, \"\"); }} fn h() {{ }} }}"));
        // The module with `super::*` sees the import of the file.
        assert_eq!(with(&["a"])[0], "use simple_markers::{simple_mark, simple_probe};");
        assert_eq!(with(&["c"])[0], "use simple_markers::{simple_mark, simple_probe};");
        assert_eq!(with(&["a", "c"])[0], probe);
        assert_eq!(with(&["c"])[3], "mod t { use super::*; fn g() { simple_probe!(c, \"\"); } }");
    }
}
