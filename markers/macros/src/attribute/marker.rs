//! What one marker is: its path, and whether its arguments are those of a ghost.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use simple_markers_record::ghost::Hash;

use super::tokens::{group, is_punct, punct};
use crate::argument::Argument;
use crate::ghost;
use crate::syntax::Marker;

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

/// A marker that becomes a ghost.
pub(super) struct Ghost {
    pub(super) arguments: Group,
    hash: Hash,
}

impl Ghost {
    /// The marker with these arguments as a ghost; `None` if it stays what it is: it keeps a value, or is
    /// anchored, or has a mistake, which the macro itself reports.
    pub(super) fn new(arguments: &Group) -> Option<Self> {
        let marker: Marker = syn::parse2(arguments.stream()).ok()?;
        if marker.refusal.is_some() || marker.anchor.is_some() || marker.arguments.iter().any(Argument::is_kept) {
            return None;
        }
        let hash = ghost::hash(&marker);
        if marker.is_ghost {
            return Some(Self { arguments: arguments.clone(), hash });
        }
        let tokens: Vec<TokenTree> = arguments.stream().into_iter().collect();
        let span = Span::call_site().located_at(arguments.span());
        let comma = (!is_punct(tokens.last(), ',')).then(|| punct(',', span));
        let options = TokenTree::Ident(Ident::new("options", span));
        let ghost = TokenTree::Ident(Ident::new("ghost", span));
        let options = [options, group(Delimiter::Parenthesis, ghost.into(), span)];
        let stream = tokens.into_iter().chain(comma).chain(options).collect();
        let mut ghost = Group::new(arguments.delimiter(), stream);
        ghost.set_span(arguments.span());
        Some(Self { arguments: ghost, hash })
    }
}

/// The ghosts that are statements of one block.
#[derive(Default)]
pub(super) struct Block {
    /// The path of the first one, with `simple_mark`.
    path: Vec<TokenTree>,
    /// The names of their variables, with the places of the ghosts.
    names: Vec<TokenTree>,
}

impl Block {
    pub(super) fn add(&mut self, path: &[TokenTree], ghost: &Ghost) {
        let Some(first) = path.first() else { return };
        self.names.push(TokenTree::Ident(Ident::new(&ghost.hash.block(), first.span())));
        if self.path.is_empty() {
            self.path = path.to_vec();
        }
    }

    /// The statement of their variables, at the start of the block; nothing if there is no ghost. It is
    /// `simple_mark!(@block (a, b) = ((), ()));`, so it is off where markers are, and no lint sees it.
    pub(super) fn variables(self, span: Span) -> TokenStream {
        if self.names.is_empty() {
            return TokenStream::new();
        }
        let here = |mut token: TokenTree| {
            token.set_span(token.span().located_at(span));
            token
        };
        let unit = || group(Delimiter::Parenthesis, TokenStream::new(), span);
        let values = self.names.iter().map(|_| unit()).collect();
        let block = [punct('@', span), TokenTree::Ident(Ident::new("block", span))];
        let arguments = block.into_iter().chain([list(self.names, span), punct('=', span), list(values, span)]);
        let call = [punct('!', span), group(Delimiter::Parenthesis, arguments.collect(), span), punct(';', span)];
        self.path.into_iter().map(here).chain(call).collect()
    }
}

/// A tuple of two or more, or the only one.
fn list(mut tokens: Vec<TokenTree>, span: Span) -> TokenTree {
    match tokens.pop() {
        Some(only) if tokens.is_empty() => only,
        last => {
            let stream = tokens.into_iter().flat_map(|token| [token, punct(',', span)]).chain(last);
            group(Delimiter::Parenthesis, stream.collect(), span)
        }
    }
}
