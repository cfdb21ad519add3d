//! Where an item starts and ends among tokens.

use proc_macro2::{Delimiter, Group, Ident, TokenTree};

use super::tokens::is_punct;

/// An item at the start of some tokens.
pub(super) struct Item {
    pub(super) keyword: Keyword,
    /// The index of the group in braces that ends it.
    pub(super) body: Option<usize>,
    /// The index behind its last token.
    pub(super) end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Function,
    Impl,
    Module,
    Trait,
    /// `macro_rules!`.
    Macro,
    /// An item without functions that have a body: `use`, `const`, `struct`, `extern {}`, ...
    Other,
}

impl Item {
    /// The item at the start of the tokens, with its attributes; `None` if there is none.
    pub(super) fn at(tokens: &[TokenTree]) -> Option<Self> {
        let mut at = attributes(tokens);
        at += visibility(&tokens[at..]);
        loop {
            let word = ident(tokens.get(at))?;
            let next = tokens.get(at + 1);
            let next_word = ident(next);
            let is_next = |words: &[&str]| next_word.as_deref().is_some_and(|word| words.contains(&word));
            match word.as_str() {
                "fn" => return Self::with_body(tokens, at, Keyword::Function),
                "impl" => return Self::with_body(tokens, at, Keyword::Impl),
                "mod" => return Self::with_body(tokens, at, Keyword::Module),
                "trait" => return Self::with_body(tokens, at, Keyword::Trait),
                "struct" | "enum" => return Self::with_body(tokens, at, Keyword::Other),
                "union" if next_word.is_some() => return Self::with_body(tokens, at, Keyword::Other),
                "type" | "use" if !is_punct(next, '|') => return Self::statement(tokens, at),
                "const" if is_next(&["async", "auto", "extern", "fn", "impl", "trait", "unsafe"]) => at += 1,
                "const" | "static" if next_word.is_some() && !is_next(&["async", "move"]) => {
                    return Self::statement(tokens, at);
                }
                "extern" if is_next(&["crate"]) => return Self::statement(tokens, at),
                "extern" => {
                    at += 1;
                    if matches!(tokens.get(at), Some(TokenTree::Literal(_))) {
                        at += 1;
                    }
                    if matches!(tokens.get(at), Some(TokenTree::Group(_))) {
                        return Self::with_body(tokens, at, Keyword::Other);
                    }
                }
                "async" | "auto" | "default" | "gen" | "safe" | "unsafe"
                    if is_next(&[
                        "async", "auto", "const", "extern", "fn", "gen", "impl", "mod", "trait", "type", "unsafe",
                    ]) =>
                {
                    at += 1;
                }
                "macro_rules" if is_punct(next, '!') => {
                    let is_braced = is_braced(tokens.get(at + 3)?);
                    let end = if is_braced { at + 4 } else { at + 5 };
                    return Some(Self { keyword: Keyword::Macro, body: None, end: end.min(tokens.len()) });
                }
                _ => return None,
            }
        }
    }

    /// An item that ends with its first group in braces, or with a `;` before that.
    fn with_body(tokens: &[TokenTree], start: usize, keyword: Keyword) -> Option<Self> {
        for (at, token) in tokens.iter().enumerate().skip(start) {
            if is_punct(Some(token), ';') {
                return Some(Self { keyword, body: None, end: at + 1 });
            }
            // A constant in braces among generic arguments ends before `>` or `,`.
            let next = tokens.get(at + 1);
            if is_braced(token) && !is_punct(next, '>') && !is_punct(next, ',') {
                return Some(Self { keyword, body: Some(at), end: at + 1 });
            }
        }
        None
    }

    /// An item that ends with a `;`.
    fn statement(tokens: &[TokenTree], start: usize) -> Option<Self> {
        let length = tokens.iter().skip(start).position(|token| is_punct(Some(token), ';'))?;
        Some(Self { keyword: Keyword::Other, body: None, end: start + length + 1 })
    }
}

/// The number of tokens of the attributes at the start of the tokens.
fn attributes(tokens: &[TokenTree]) -> usize {
    let mut at = 0;
    while is_punct(tokens.get(at), '#') && is_delimited(tokens.get(at + 1), Delimiter::Bracket) {
        at += 2;
    }
    at
}

/// The number of tokens of the visibility: `pub`, `pub(in path)`, or what a macro got as one.
fn visibility(tokens: &[TokenTree]) -> usize {
    match tokens.first() {
        Some(TokenTree::Ident(word)) if word == "pub" => {
            1 + usize::from(is_delimited(tokens.get(1), Delimiter::Parenthesis))
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::None => {
            usize::from(visibility(&group.stream().into_iter().collect::<Vec<_>>()) > 0 || group.stream().is_empty())
        }
        _ => 0,
    }
}

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(Ident::to_string(ident)),
        _ => None,
    }
}

fn is_delimited(token: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

/// Whether the token is a group in braces, also one that a macro got as a block.
fn is_braced(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    match group.delimiter() {
        Delimiter::Brace => true,
        Delimiter::None => is_one_block(group),
        Delimiter::Parenthesis | Delimiter::Bracket => false,
    }
}

fn is_one_block(group: &Group) -> bool {
    let mut tokens = group.stream().into_iter();
    tokens.next().is_some_and(|token| is_braced(&token)) && tokens.next().is_none()
}
