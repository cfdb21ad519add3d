//! The name that a function has in the source of Rust. A symbol calls an async function's code, an
//! async block and a closure `{{closure}}` alike, with v0 mangling `{closure#0}`. The debug
//! information of rustc (1.95) calls them `{async_fn#0}`, `{async_block#0}`, `{async_closure#0}` and
//! `{closure#0}`.

use std::borrow::Cow;

/// How the source names the function of a symbol, by the name that the debug information has:
/// `deliver::{async}`, `main::{async block}`, `main::{closure}`. `None` if it is no closure to the
/// symbol, or if the two names are not of one function: a linker may have folded two into one.
pub(super) fn of_symbol(symbol: &str, described: &str) -> Option<String> {
    let (outside, closures) = without_closures(symbol);
    let (described, kinds) = without_closures(described);
    if closures.is_empty() || closures.len() != kinds.len() || identifier(outside)? != identifier(described)? {
        return None;
    }
    let words = closures.iter().zip(&kinds).rev().map(|(closure, kind)| word(kind, closure));
    words.collect::<Option<Vec<_>>>().map(|words| format!("{outside}::{}", words.join("::")))
}

/// The same if no symbol names the function.
pub(super) fn of_described(described: &str) -> Option<String> {
    let (outside, kinds) = without_closures(described);
    let words: Option<Vec<_>> = kinds.iter().rev().map(|kind| word(kind, kind)).collect();
    words.filter(|words| !words.is_empty()).map(|words| format!("{outside}::{}", words.join("::")))
}

/// A function by its name in the debug information as the source names it: `deliver::{async}` of
/// `deliver::{async_fn#0}`. Other names stay.
#[must_use]
pub fn source_name(described: &str) -> Cow<'_, str> {
    of_described(described).map_or(Cow::Borrowed(described), Cow::Owned)
}

/// Whether a name is that of a closure, which may be the code of an async function.
pub(super) fn is_closure(name: &str) -> bool {
    !without_closures(name).1.is_empty()
}

/// Whether the debug information, or the source, names an async function, block or closure, or a
/// closure in one.
pub(crate) fn is_async(name: &str) -> bool {
    without_closures(name).1.iter().any(|part| part.starts_with("{async"))
}

/// The word for a closure, by its name in the debug information. It has the number of the symbol if
/// that has one and a function can have several.
fn word(kind: &str, symbol: &str) -> Option<String> {
    let (kind, _) = kind.strip_prefix('{')?.split_once('#')?;
    if kind == "async_fn" {
        return Some("{async}".to_owned());
    }
    let number = symbol.find('#').and_then(|at| symbol.get(at..symbol.find('}')?));
    Some(format!("{{{}{}}}", kind.replace('_', " "), number.unwrap_or_default()))
}

/// A name without the closures at its end, and these, innermost first.
fn without_closures(name: &str) -> (&str, Vec<&str>) {
    let (mut rest, mut closures) = (name, Vec::new());
    while let Some((before, last)) = split_last(rest) {
        match last {
            _ if is_closure_part(last) => closures.push(last),
            // Generic arguments of what is before them.
            _ if last.starts_with('<') && split_last(before).is_some_and(|(_, part)| is_closure_part(part)) => {}
            _ => break,
        }
        rest = before;
    }
    (rest, closures)
}

fn is_closure_part(part: &str) -> bool {
    let kinds = ["{{closure}}", "{closure", "{async", "{gen", "{coroutine"];
    kinds.iter().any(|kind| part.starts_with(kind))
}

/// The last identifier of a name, without generic arguments.
fn identifier(name: &str) -> Option<&str> {
    let last = match split_last(name) {
        Some((before, last)) if last.starts_with('<') => return identifier(before),
        Some((_, last)) => last,
        None => name,
    };
    last.split('<').next().filter(|last| !last.is_empty())
}

/// A name before and behind its last `::` that is in no brackets.
fn split_last(name: &str) -> Option<(&str, &str)> {
    let (mut depth, mut later) = (0_usize, b' ');
    for (at, byte) in name.bytes().enumerate().rev() {
        match byte {
            // The arrow of a function type is no bracket. What follows it was passed already.
            b'>' if at.checked_sub(1).and_then(|at| name.as_bytes().get(at)) == Some(&b'-') => {}
            b'>' | b')' | b']' => depth = depth.saturating_add(1),
            b'<' | b'(' | b'[' => depth = depth.saturating_sub(1),
            b':' if later == b':' && depth == 0 => return Some((name.get(..at)?, name.get(at.checked_add(2)?..)?)),
            _ => {}
        }
        later = byte;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closures_have_the_words_of_the_source() {
        let rows = [
            ("w::deliver::{{closure}}", "w::deliver::{async_fn#0}", "w::deliver::{async}"),
            ("w::deliver::{closure#0}", "w::deliver::{async_fn#0}", "w::deliver::{async}"),
            ("a::main::{{closure}}", "a::main::{async_block#1}", "a::main::{async block}"),
            ("a::main::{closure#1}", "a::main::{async_block#1}", "a::main::{async block#1}"),
            ("a::main::{{closure}}", "a::main::{closure#2}", "a::main::{closure}"),
            (
                "a::main::{{closure}}::{{closure}}::{{closure}}",
                "a::main::{async_block#1}::{closure#0}::{async_closure#0}<i32>",
                "a::main::{async block}::{closure}::{async closure}",
            ),
            (
                "<F as axum::Handler<(M,),S>>::call::{{closure}}",
                "axum::{impl#2}::call::{async_block#0}<fn(u8) -> u8, (M), a::B>",
                "<F as axum::Handler<(M,),S>>::call::{async block}",
            ),
            ("a::run::<a::B>::{closure#0}", "a::run::{closure#0}<a::B>", "a::run::<a::B>::{closure#0}"),
        ];
        for (symbol, described, name) in rows {
            assert_eq!(of_symbol(symbol, described).as_deref(), Some(name));
        }
        assert_eq!(of_described("w::deliver::{async_fn#0}").as_deref(), Some("w::deliver::{async}"));
        assert_eq!(source_name("w::deliver::{async_fn#0}"), "w::deliver::{async}");
        assert_eq!(source_name("w::deliver<u8>"), "w::deliver<u8>");
        assert_eq!(of_described("w::deliver"), None);
    }

    #[test]
    fn names_of_different_functions_give_none() {
        for (symbol, described) in [
            ("a::main", "a::main"),
            ("a::f::{{closure}}", "a::g::{async_fn#0}"),
            ("a::f::{{closure}}", "a::f::{async_fn#0}::{closure#0}"),
            ("{{closure}}", "{closure#0}"),
            ("f::{{closure}}", "<>::{async_fn}"),
            ("", ""),
        ] {
            assert_eq!(of_symbol(symbol, described), None, "{symbol} {described}");
        }
    }

    #[test]
    fn async_code_is_known_by_its_name() {
        assert!(is_async("w::deliver::{async_fn#0}") && is_async("w::deliver::{async}::{closure}"));
        assert!(!is_async("w::deliver::{{closure}}") && !is_async("w::deliver::{closure#0}<a::{async_fn_env#0}>"));
    }
}
