//! Single tokens: what they are, and making them; errors.

use proc_macro2::{Delimiter, Group, Punct, Spacing, Span, TokenStream, TokenTree};

pub(super) fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
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

/// The item behind an error.
pub(super) fn with_error(span: Span, message: &str, item: TokenStream) -> TokenStream {
    let mut tokens = syn::Error::new(span, message).to_compile_error();
    tokens.extend(item);
    tokens
}
