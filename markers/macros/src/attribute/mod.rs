//! `#[ghosts]`: makes ghosts of the markers in an item, and gives each ghost of a block a variable at
//! the start of the block.
//!
//! It works on tokens. Only a group with a marker in it is written again; everything else stays as it
//! came, with its spans, whatever its syntax. `item` finds where an item ends, `blocks` finds the
//! markers and what they are in their block, and `marker` reads the arguments of one.

mod blocks;
mod item;
mod marker;

use proc_macro2::{Span, TokenStream, TokenTree};

use item::{Item, Keyword};

/// The item with its markers as ghosts. An error stands before the unchanged item.
pub(crate) fn ghosts(arguments: TokenStream, item: TokenStream) -> TokenStream {
    if let Some(argument) = arguments.into_iter().next() {
        return with_error(argument.span(), "`#[ghosts]` takes no arguments", item);
    }
    let tokens: Vec<TokenTree> = item.clone().into_iter().collect();
    match Item::at(&tokens) {
        Some(Item { keyword: Keyword::Function | Keyword::Module, body: None, .. }) => {
            with_error(Span::call_site(), "`#[ghosts]` stands before an item with a body: this one has none", item)
        }
        Some(Item { keyword: Keyword::Function | Keyword::Impl | Keyword::Module | Keyword::Trait, .. }) => {
            blocks::items(&tokens).unwrap_or(item)
        }
        Some(Item { keyword: Keyword::Macro | Keyword::Other, .. }) | None => {
            with_error(Span::call_site(), "`#[ghosts]` stands before a function, an `impl`, a trait or a module", item)
        }
    }
}

fn with_error(span: Span, message: &str, item: TokenStream) -> TokenStream {
    let mut tokens = syn::Error::new(span, message).to_compile_error();
    tokens.extend(item);
    tokens
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}
