//! What one marker is: its path, and whether its arguments are those of a ghost.

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
use simple_markers_record::ghost;

use super::is_punct;
use crate::syntax::{Argument, Marker};

/// Whether the tokens start with a marker without its path: `simple_mark!(..)`.
pub(super) fn is_marker(tokens: &[TokenTree]) -> bool {
    matches!(tokens.first(), Some(TokenTree::Ident(ident)) if ident == "simple_mark") && is_call(tokens)
}

/// Whether the tokens start with the call of a macro, without its path: `name!(..)`.
pub(super) fn is_call(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Ident(name), TokenTree::Punct(punct), TokenTree::Group(_), ..]
        if punct.as_char() == '!' && !is_keyword(name))
}

/// Whether an operand can stand behind the word, so that a `!` there is the operator.
fn is_keyword(word: &Ident) -> bool {
    const WORDS: [&str; 13] =
        ["as", "become", "break", "do", "else", "if", "in", "match", "move", "return", "while", "yield", "mut"];
    WORDS.iter().any(|keyword| word == keyword)
}

/// The number of tokens of the path at the end of the tokens, in front of a macro's name: 3 for
/// `simple_markers::`.
pub(super) fn path(tokens: &[TokenTree]) -> usize {
    let mut start = tokens.len();
    while start >= 2 && is_punct(tokens.get(start - 1), ':') && is_punct(tokens.get(start - 2), ':') {
        start -= 2;
        match start.checked_sub(1).and_then(|before| tokens.get(before)) {
            Some(TokenTree::Ident(ident)) if !is_keyword(ident) => start -= 1,
            _ => break,
        }
    }
    tokens.len() - start
}

/// The arguments of the marker as those of a ghost; `None` if it stays what it is: it keeps a value, or
/// is anchored, or has a mistake, which the macro itself reports.
pub(super) fn as_ghost(arguments: &Group) -> Option<Group> {
    let tokens: Vec<TokenTree> = arguments.stream().into_iter().collect();
    let parts: Vec<&[TokenTree]> = tokens.split(|token| is_punct(Some(token), ',')).collect();
    let format = parts.get(1)?.first()?;
    if !matches!(format, TokenTree::Literal(_) | TokenTree::Group(_)) {
        return None;
    }
    // Few markers have more than places, so the others are not parsed twice.
    let starts_with =
        |word: &str| parts.iter().any(|part| matches!(part.first(), Some(TokenTree::Ident(ident)) if ident == word));
    let has_options = starts_with("options");
    if has_options || starts_with("keep") {
        let marker: Marker = syn::parse2(arguments.stream()).ok()?;
        if marker.is_ghost {
            return Some(arguments.clone());
        }
        if marker.anchored || marker.arguments.iter().any(Argument::is_kept) || has_options {
            return None;
        }
    }
    let mut stream = arguments.stream();
    let span = Span::call_site().located_at(arguments.span());
    if parts.last().is_some_and(|part| !part.is_empty()) {
        stream.extend([punct(',', span)]);
    }
    stream.extend([
        TokenTree::Ident(Ident::new("options", span)),
        group(Delimiter::Parenthesis, TokenTree::Ident(Ident::new("ghost", span)).into(), span),
    ]);
    let mut ghost = Group::new(arguments.delimiter(), stream);
    ghost.set_span(arguments.span());
    Some(ghost)
}

/// The statement of the block's variable: `simple_mark!(@block NAME);`, so that it is off where markers
/// are, and no lint sees it. `path` is that of a ghost in the block, with `simple_mark`.
pub(super) fn block(path: &[TokenTree], span: Span) -> TokenStream {
    let here = |token: &TokenTree| {
        let mut token = token.clone();
        token.set_span(token.span().located_at(span));
        token
    };
    let path = path.iter().map(here);
    let name = Ident::new(ghost::BLOCK, span);
    let arguments = [punct('@', span), TokenTree::Ident(Ident::new("block", span)), TokenTree::Ident(name)];
    let call =
        [punct('!', span), group(Delimiter::Parenthesis, arguments.into_iter().collect(), span), punct(';', span)];
    path.chain(call).collect()
}

pub(super) fn punct(character: char, span: Span) -> TokenTree {
    let mut punct = Punct::new(character, Spacing::Alone);
    punct.set_span(span);
    TokenTree::Punct(punct)
}

pub(super) fn group(delimiter: Delimiter, stream: TokenStream, span: Span) -> TokenTree {
    let mut group = Group::new(delimiter, stream);
    group.set_span(span);
    TokenTree::Group(group)
}
