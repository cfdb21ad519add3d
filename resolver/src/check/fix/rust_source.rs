//! Finds markers in a Rust file with `proc-macro2`, whose tokens know their position in the text.
//!
//! The grammar of the invocation is that of `markers/macros/src/syntax.rs`.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
use simple_markers_record::buffer::MAX_WORDS;
use simple_markers_record::rust_format::{self, ArgumentReference, RustPiece};

use super::change::{Edits, FixRefusal, Keep, Replacement};
use super::rust_imports::Imports;
use super::rust_tokens::{MARKER, is_ident, is_path_separator, is_punct, unraw};
use super::tokens::{ArgumentTokens, MacroCall, MarkerTokens, OptionTokens};

/// All macro calls in a file, and its imports.
pub(super) fn calls(bytes: &[u8]) -> Result<(Vec<MacroCall>, Imports), FixRefusal> {
    let text = std::str::from_utf8(bytes).map_err(|_| FixRefusal::NotUtf8)?;
    let tokens: TokenStream = text.parse().map_err(|_| FixRefusal::NotTokens)?;
    let imports = Imports::read(&tokens, bytes.len());
    let mut reader = MarkerReader { text, calls: Vec::new(), names: HashSet::from([MARKER.to_owned()]) };
    reader.tokens(tokens, None, None);
    let MarkerReader { mut calls, names, .. } = reader;
    for call in &mut calls {
        call.is_marker = names.contains(&call.name);
    }
    Ok((calls, imports))
}

struct MarkerReader<'t> {
    text: &'t str,
    calls: Vec<MacroCall>,
    /// The names of `simple_mark` in the file, such as `mark` after `use
    /// simple_markers::simple_mark as mark`.
    names: HashSet<String>,
}

impl MarkerReader<'_> {
    fn tokens(&mut self, tokens: TokenStream, outermost: Option<(u32, u32)>, definition: Option<&Arc<str>>) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (index, token) in tokens.iter().enumerate() {
            let before = |count: usize| tokens.get(index.checked_sub(count)?);
            if let (TokenTree::Ident(name), Some(original), Some(word)) = (token, before(2), before(1)) {
                if is_ident(original, MARKER) && is_ident(word, "as") {
                    self.names.insert(unraw(&name.to_string()).to_owned());
                }
            }
            let TokenTree::Group(group) = token else { continue };
            let called = match (before(3), before(2), before(1)) {
                (Some(rules), Some(bang), Some(TokenTree::Ident(name)))
                    if is_ident(rules, "macro_rules") && is_punct(bang, '!') =>
                {
                    let name: Arc<str> = name.to_string().into();
                    self.tokens(group.stream(), outermost, Some(&name));
                    continue;
                }
                (_, Some(TokenTree::Ident(name)), Some(bang)) if is_punct(bang, '!') => Some(name),
                _ => None,
            };
            let Some(name) = called else {
                self.tokens(group.stream(), outermost, definition);
                continue;
            };
            let first = path_start(&tokens, index.saturating_sub(2));
            let Some(start) = tokens.get(first) else { continue };
            let (from, to) = (start.span().start(), group.span_close().end());
            let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
            // The compiler does not count a byte order mark.
            let mark = usize::from(from.line == 1 && self.text.starts_with('\u{feff}'));
            let position = (number(from.line), number(from.column.saturating_add(1).saturating_sub(mark)));
            let outermost = outermost.unwrap_or(position);
            self.calls.push(MacroCall {
                name: unraw(&name.to_string()).to_owned(),
                name_range: name.span().byte_range(),
                range: start.span().byte_range().start..group.span_close().byte_range().end,
                lines: (position.0, number(to.line)),
                column: position.1,
                outermost,
                is_marker: false,
                definition: definition.cloned(),
                marker: marker(self.text, group),
            });
            self.tokens(group.stream(), Some(outermost), definition);
        }
    }
}

/// The first token of the path that ends with the token at `last`.
fn path_start(tokens: &[TokenTree], last: usize) -> usize {
    let mut first = last;
    while let Some(separator) = first.checked_sub(2).filter(|at| is_path_separator(tokens, *at)) {
        match separator.checked_sub(1).and_then(|at| Some((at, tokens.get(at)?))) {
            Some((at, TokenTree::Ident(_))) => first = at,
            _ => return separator,
        }
    }
    first
}

/// The contents of a call, if they parse as a marker.
fn marker(text: &str, group: &Group) -> Option<MarkerTokens> {
    if group.delimiter() == Delimiter::None {
        return None;
    }
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let mut elements = tokens.split(|token| is_punct(token, ','));
    let name = name(elements.next()?)?;
    let [TokenTree::Literal(format)] = elements.next()? else { return None };
    let format = format.to_string();
    if !format.starts_with(['"', 'r']) {
        return None;
    }
    let mut arguments = Vec::new();
    let mut options = None;
    for element in elements.filter(|element| !element.is_empty()) {
        match element {
            [TokenTree::Ident(word), TokenTree::Group(list)]
                if word == "options" && list.delimiter() == Delimiter::Parenthesis =>
            {
                let words: Vec<TokenTree> = list.stream().into_iter().collect();
                let end = words.iter().rfind(|token| !is_punct(token, ','))?.span().byte_range().end;
                let names = words.iter().filter(|word| !is_punct(word, ',')).map(ToString::to_string);
                let ghost = match words.as_slice() {
                    [only] if is_ident(only, "ghost") => Some(only.span().byte_range()),
                    _ => None,
                };
                let whole = with_comma(text, &tokens, (word, list));
                options = Some(OptionTokens { words: names.collect(), end, ghost, whole });
            }
            _ if options.is_some() => return None,
            _ => arguments.push(argument(element)?),
        }
    }
    let last = tokens.last()?;
    let has_comma = is_punct(last, ',');
    let commas = tokens.iter().enumerate().filter(|(_, token)| is_punct(token, ','));
    let behind = |(at, comma): (usize, &TokenTree)| {
        let next = tokens.get(at.checked_add(1)?)?;
        Some(comma.span().byte_range().end..next.span().byte_range().start)
    };
    let separator = space_of(commas.filter_map(behind).next_back().and_then(|range| text.get(range)).unwrap_or(" "));
    if options.as_ref().is_some_and(|options: &OptionTokens| options.has("keep")) {
        arguments.iter_mut().for_each(|argument| argument.is_kept = true);
    }
    let end = last.span().byte_range().end;
    let comments = text.get(end..group.span_close().byte_range().start).unwrap_or_default();
    let written = unescaped(&format);
    let placed = written.as_deref().filter(|format| rust_format::is_in_rusts_notation(format));
    let placed = placed.and_then(|format| placed_arguments(format, &arguments));
    Some(MarkerTokens {
        name,
        format: written.map(|format| rust_format::as_recorded(&format)),
        arguments,
        placed,
        options,
        end,
        has_comma,
        comments_end: end.saturating_add(comments.trim_end().len()),
        separator,
    })
}

/// The arguments as the record has them, of a format in Rust's notation: one for each placeholder. The
/// rules are those of `markers/macros/src/rust_format.rs`.
fn placed_arguments(format: &str, arguments: &[ArgumentTokens]) -> Option<Vec<String>> {
    // `name = place` is not in the record by its name.
    let named: Vec<(Option<&str>, &str)> = arguments
        .iter()
        .map(|argument| match argument.text.split_once('=').filter(|_| argument.keep.is_none()) {
            Some((name, place)) => (Some(name), place),
            None => (argument.keep.as_ref().map(|_| argument.text.as_str()), argument.text.as_str()),
        })
        .collect();
    let mut next = 0..;
    let place = |piece| {
        let index = match piece {
            Ok(RustPiece::Text(_)) => return None,
            Ok(RustPiece::Value(value)) => match value.of {
                ArgumentReference::Next => next.next()?,
                ArgumentReference::Number(number) => number,
                ArgumentReference::Place(path) => {
                    let known = named.iter().find(|(name, _)| *name == Some(path));
                    return Some(Some(known.map_or(path, |(_, place)| *place).to_owned()));
                }
            },
            Err(_) => return Some(None),
        };
        Some(named.get(index).map(|(_, place)| (*place).to_owned()))
    };
    rust_format::pieces(format).filter_map(place).collect()
}

/// The bytes of `options(..)` among the tokens of a marker, with one of the commas around it.
fn with_comma(text: &str, tokens: &[TokenTree], (options, list): (&proc_macro2::Ident, &Group)) -> Range<usize> {
    let (start, end) = (options.span().byte_range().start, list.span_close().byte_range().end);
    let commas = || tokens.iter().filter(|token| is_punct(token, ',')).map(|comma| comma.span().byte_range());
    let before = commas().take_while(|comma| comma.end <= start).last();
    let is_near = |comma: &Range<usize>| text.get(comma.end..start).is_some_and(|between| between.trim().is_empty());
    match before.filter(is_near) {
        Some(comma) => comma.start..end,
        // A comment stays, with the comma before it.
        None => start..commas().find(|comma| comma.start >= end).map_or(end, |comma| comma.end),
    }
}

/// The whitespace after a comma, without comments. For several lines, the last line break and the
/// indentation.
fn space_of(separator: &str) -> String {
    if separator.trim().is_empty() {
        return separator.to_owned();
    }
    let break_of =
        |at: usize| at.checked_sub(1).filter(|at| separator.as_bytes().get(*at) == Some(&b'\r')).unwrap_or(at);
    let indentation = separator.rfind('\n').map(|at| separator.get(break_of(at)..).unwrap_or_default());
    match indentation {
        Some(line) if line.trim().is_empty() => line.to_owned(),
        _ => " ".to_owned(),
    }
}

/// A name as in the record: identifiers joined by colons, or a string.
fn name(tokens: &[TokenTree]) -> Option<String> {
    if let [TokenTree::Literal(literal)] = tokens {
        return unescaped(&literal.to_string());
    }
    let mut name = String::new();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(part) if index % 2 == 0 => name.push_str(unraw(&part.to_string())),
            TokenTree::Punct(colon) if index % 2 == 1 && colon.as_char() == ':' => name.push(':'),
            _ => return None,
        }
    }
    (tokens.len() % 2 == 1).then_some(name)
}

fn argument(tokens: &[TokenTree]) -> Option<ArgumentTokens> {
    let range = tokens.first()?.span().byte_range().start..tokens.last()?.span().byte_range().end;
    if let (Some(keep), Some(next)) = (tokens.first(), tokens.get(1)) {
        let starts_place = match next {
            TokenTree::Ident(word) => word != "as",
            TokenTree::Punct(punct) => matches!(punct.as_char(), '*' | '&'),
            TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
            TokenTree::Literal(_) => false,
        };
        if is_ident(keep, "keep") && starts_place {
            let place = tokens.get(1..)?;
            let is_named = match (place.first(), place.get(1), place.get(2)) {
                (Some(TokenTree::Ident(_)), Some(mark), next) => {
                    let doubles = next.is_some_and(|next| is_punct(next, '=') || is_punct(next, '>'));
                    is_punct(mark, '=') && !(is_joint(mark) && doubles)
                        || is_punct(mark, ':') && !is_path_separator(place, 1)
                }
                _ => false,
            };
            let named = if is_named { place.get(..1)? } else { place };
            let has_width = is_named && place.get(1).is_some_and(|mark| is_punct(mark, ':'));
            let word = keep.span().byte_range().start..next.span().byte_range().start;
            let (text, keep) = (text_of(named), Some(word));
            return Some(ArgumentTokens { range, text, is_kept: true, is_place: true, keep, has_width });
        }
    }
    let text = text_of(tokens);
    Some(ArgumentTokens { range, text, is_kept: false, is_place: true, keep: None, has_width: false })
}

fn is_joint(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint)
}

/// A place as in the record: no spaces, no `r#`, numbers in base 10.
fn text_of(tokens: &[TokenTree]) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => text.push_str(unraw(&ident.to_string())),
            TokenTree::Punct(punct) => text.push(punct.as_char()),
            TokenTree::Literal(literal) => text.push_str(&decimal(&literal.to_string())),
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                text.push_str(open);
                text.push_str(&text_of(&inner));
                text.push_str(close);
            }
        }
    }
    text
}

/// An integer in base 10 without its suffix; other literals unchanged.
fn decimal(literal: &str) -> String {
    let digits: String = literal.chars().filter(|digit| *digit != '_').collect();
    let (radix, digits) = match digits.get(..2) {
        Some("0x") => (16, digits.get(2..).unwrap_or_default()),
        Some("0o") => (8, digits.get(2..).unwrap_or_default()),
        Some("0b") => (2, digits.get(2..).unwrap_or_default()),
        _ => (10, digits.as_str()),
    };
    let digits = digits.split(['u', 'i']).next().unwrap_or_default();
    u128::from_str_radix(digits, radix).map_or_else(|_| literal.to_owned(), |number| number.to_string())
}

/// The value of a string literal; `None` if it has an unknown escape.
fn unescaped(literal: &str) -> Option<String> {
    if let Some(raw) = literal.strip_prefix('r') {
        let inner = raw.trim_start_matches('#').strip_prefix('"')?;
        return Some(inner.trim_end_matches('#').strip_suffix('"')?.to_owned());
    }
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut value = String::new();
    let mut rest = inner.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            value.push(character);
            continue;
        }
        value.push(match rest.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '\\' => '\\',
            '"' => '"',
            '\'' => '\'',
            _ => return None,
        });
    }
    Some(value)
}

/// The replacements that make the edits.
pub(super) fn replacements(tokens: &MarkerTokens, edits: &Edits) -> Vec<Replacement> {
    let insert = |at: usize, text: String| Replacement { range: at..at, text };
    let mut replacements = Vec::new();
    for (index, argument) in tokens.arguments.iter().enumerate().filter(|(_, argument)| !argument.is_kept) {
        let Some(keep) = edits.keep.get(&index) else { continue };
        // `keep ::X` would parse as the path `keep::X`.
        if *keep == Keep::Value && !argument.text.starts_with("::") {
            replacements.push(insert(argument.range.start, "keep ".to_owned()));
            continue;
        }
        let (mut before, mut behind) = expression(*keep);
        if !behind.is_empty() && argument.text.starts_with('*') {
            before.push('(');
            behind.insert(0, ')');
        }
        replacements.push(insert(argument.range.start, format!("keep {} = {before}", free_name(tokens, index))));
        if !behind.is_empty() {
            replacements.push(insert(argument.range.end, behind));
        }
    }
    let becomes_plain = edits.plain || !edits.keep.is_empty();
    let ghost = tokens.options.as_ref().and_then(|options| Some((options.ghost.as_ref()?, &options.whole)));
    if let Some((word, whole)) = ghost.filter(|_| becomes_plain || edits.anchor) {
        let (range, text) = if edits.anchor { (word, "anchor") } else { (whole, "") };
        replacements.push(Replacement { range: range.clone(), text: text.to_owned() });
    } else if edits.anchor {
        match &tokens.options {
            Some(options) if options.has("anchor") => {}
            Some(options) => replacements.push(insert(options.end, ", anchor".to_owned())),
            None => {
                let MarkerTokens { separator, end, comments_end, .. } = tokens;
                // If it gets its own line, it goes below the comments on the last argument.
                let at = if separator.contains('\n') { *comments_end } else { *end };
                match (tokens.has_comma, at == *end) {
                    (true, _) => replacements.push(insert(at, format!("{separator}options(anchor),"))),
                    (false, true) => replacements.push(insert(at, format!(",{separator}options(anchor)"))),
                    (false, false) => {
                        replacements.push(insert(*end, ",".to_owned()));
                        replacements.push(insert(at, format!("{separator}options(anchor)")));
                    }
                }
            }
        }
    }
    replacements
}

/// The replacements inside the parentheses that make a probe of a marker: it has no options, because each
/// of its arguments is kept, at an instruction of its own.
///
/// # Errors
///
/// A probe does not take an argument, or not so many.
pub(super) fn probe(tokens: &MarkerTokens, letters: &[Option<char>]) -> Result<Vec<Replacement>, FixRefusal> {
    if let Some(argument) = tokens.arguments.iter().find(|argument| argument.has_width) {
        return Err(FixRefusal::ProbeWidth { argument: argument.text.as_str().into() });
    }
    let count = letters.iter().map(|letter| if *letter == Some('s') { 2 } else { 1 }).sum();
    if count > MAX_WORDS as usize {
        return Err(FixRefusal::ProbeTooMany { count });
    }
    let words = tokens.arguments.iter().filter_map(|argument| argument.keep.clone());
    let options = tokens.options.as_ref().map(|options| options.whole.clone());
    Ok(words.chain(options).map(|range| Replacement { range, text: String::new() }).collect())
}

/// What to put before and after a place, so that the result fits a register.
fn expression(keep: Keep) -> (String, String) {
    let (before, behind) = match keep {
        Keep::Value => ("", ""),
        Keep::Pointee(references) => return ("*".repeat(references.into()), String::new()),
        Keep::Inner => ("", ".0"),
        Keep::Get => ("", ".get()"),
        Keep::Load => ("", ".load(::core::sync::atomic::Ordering::Relaxed)"),
        Keep::AsPointer => ("", ".as_ptr()"),
        Keep::Function => ("", " as *const ()"),
        Keep::Address => ("&raw const *", " as *const ()"),
        Keep::Optional => ("", ".map_or(::core::ptr::null(), ::core::ptr::from_ref)"),
    };
    (before.to_owned(), behind.to_owned())
}

/// A name for a kept value: the last component of the place, made unique among the arguments.
fn free_name(tokens: &MarkerTokens, index: usize) -> String {
    let argument = tokens.arguments.get(index).map_or("", |argument| argument.text.as_str());
    let is_name = |part: &&str| part.starts_with(|first: char| first == '_' || first.is_alphabetic());
    let base = argument.rsplit(|character: char| !(character == '_' || character.is_alphanumeric())).find(is_name);
    let base = base.filter(|base| *base != "self").unwrap_or("value");
    let others: HashSet<&str> =
        tokens.arguments.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, it)| it.text.as_str()).collect();
    let numbered = (2..).map(|number: u32| format!("{base}_{number}"));
    let mut names = std::iter::once(base.to_owned()).chain(numbered);
    names.find(|name| !others.contains(name.as_str())).unwrap_or_default()
}
