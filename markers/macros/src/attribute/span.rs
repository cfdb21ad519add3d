//! `#[span]`: a span around the body of a function.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::quote_spanned;

use super::item::{Item, Keyword};
use super::tokens::{is_punct, with_error};

/// The function with a span in its body. An error stands before the unchanged item.
///
/// The body of an `async fn` is executed by its future, from the first poll on, and its variables
/// are dropped with the future.
pub(crate) fn span(arguments: TokenStream, item: TokenStream) -> TokenStream {
    const WANTED: &str = "`#[span]` stands before a function with a body";
    let tokens: Vec<TokenTree> = item.clone().into_iter().collect();
    let Some(Item { keyword: Keyword::Function, body: Some(body), .. }) = Item::at(&tokens) else {
        return with_error(Span::call_site(), WANTED, item);
    };
    let is_word = |token: &TokenTree, word: &str| matches!(token, TokenTree::Ident(ident) if ident == word);
    let Some(keyword) = tokens.iter().position(|token| is_word(token, "fn")) else {
        return with_error(Span::call_site(), WANTED, item);
    };
    if let Some(constant) = tokens.iter().take(keyword).find(|token| is_word(token, "const")) {
        return with_error(constant.span(), "a `const fn` cannot have a span, which is executed", item);
    }
    let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(block))) = (tokens.get(keyword + 1), tokens.get(body))
    else {
        return with_error(Span::call_site(), WANTED, item);
    };
    let body_tokens = spanned(&span_tokens(arguments, name), block);
    let with_span = |(at, token): (usize, &TokenTree)| match at == body {
        true => body_tokens.clone().into(),
        false => token.clone(),
    };
    tokens.iter().enumerate().map(with_span).collect()
}

/// What `simple_span!` gets. Without a name the span is called `CRATE:FUNCTION`, and the format may
/// be left out.
fn span_tokens(arguments: TokenStream, function: &Ident) -> TokenStream {
    let has_format = arguments.clone().into_iter().any(|token| is_punct(Some(&token), ','));
    let name = match arguments.is_empty() {
        false => arguments,
        true => {
            let function = function.to_string();
            let function = function.trim_start_matches("r#");
            let name = match std::env::var("CARGO_CRATE_NAME") {
                Ok(krate) => format!("{krate}:{function}"),
                Err(_) => function.to_owned(),
            };
            TokenTree::from(Literal::string(&name)).into()
        }
    };
    match has_format {
        true => name,
        false => quote_spanned! { Span::call_site()=> #name, "" },
    }
}

/// The block with a span at its start, behind its inner attributes.
fn spanned(of: &TokenStream, block: &Group) -> Group {
    let tokens: Vec<TokenTree> = block.stream().into_iter().collect();
    let mut start = 0;
    while is_punct(tokens.get(start), '#')
        && is_punct(tokens.get(start + 1), '!')
        && matches!(tokens.get(start + 2), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Bracket)
    {
        start += 3;
    }
    let (attributes, rest) = tokens.split_at(start);
    let guard = Ident::new("_simple_span", Span::mixed_site());
    let krate = Ident::new("simple_markers", Span::call_site());
    let mut with_span: TokenStream = attributes.iter().cloned().collect();
    with_span.extend(quote_spanned! { Span::call_site()=> let #guard = ::#krate::simple_span!(#of); });
    with_span.extend(rest.iter().cloned());
    let mut group = Group::new(block.delimiter(), with_span);
    group.set_span(block.span());
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(arguments: &str, item: &str) -> String {
        let [arguments, item] = [arguments, item].map(|text| text.parse().expect("tokens"));
        span(arguments, item).to_string().replace(' ', "")
    }

    #[test]
    fn the_guard_is_the_first_variable_of_the_body() {
        let guard = r#"let_simple_span=::simple_markers::simple_span!(a:b,"%u",x);"#;
        assert_eq!(
            expanded(r#"a:b, "%u", x"#, "pub async fn f<const N: usize>(x: u32) -> [u8; { 3 }] { #![allow(a)] g(x) }"),
            format!("pubasyncfnf<constN:usize>(x:u32)->[u8;{{3}}]{{#![allow(a)]{guard}g(x)}}")
        );
        assert_eq!(expanded("a:b", "fn f() {}"), r#"fnf(){let_simple_span=::simple_markers::simple_span!(a:b,"");}"#);
        // `cargo` names the crate while it is compiled.
        assert!(expanded("", "fn r#match() {}").contains(r#"match","");"#));
    }

    #[test]
    fn other_items_are_errors() {
        for item in ["struct A;", "fn f();", "const fn f() {}", "impl A { fn f() {} }", "mod a {}", ""] {
            assert_eq!(expanded("", item).matches("compile_error").count(), 1, "{item}");
        }
    }
}
