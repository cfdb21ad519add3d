//! Questions about tokens of Rust.

use proc_macro2::{Spacing, TokenTree};

pub(super) const MARKER: &str = "simple_mark";

pub(super) fn is_ident(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

pub(super) fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

pub(super) fn is_path_separator(tokens: &[TokenTree], at: usize) -> bool {
    let joint = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint);
    match (tokens.get(at), tokens.get(at.saturating_add(1))) {
        (Some(one), Some(two)) => is_punct(one, ':') && joint(one) && is_punct(two, ':'),
        _ => false,
    }
}

pub(super) fn unraw(name: &str) -> &str {
    name.strip_prefix("r#").unwrap_or(name)
}
