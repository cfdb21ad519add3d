//! `#[test]` for programs without the built-in test harness.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Makes a function a test of the program, which `harness::main` runs. `cases` are its trials.
#[proc_macro_attribute]
pub fn test(cases: TokenStream, function: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    let name = tokens.windows(2).find(|pair| pair[0].to_string() == "fn").map(|pair| pair[1].clone());
    if let (Some(name), Some(TokenTree::Group(body))) = (name, tokens.pop()) {
        let comma = if cases.is_empty() { "" } else { "," }.parse::<TokenStream>();
        // In the function, so that it is there under the same conditions.
        let (Ok(mut inside), Ok(comma)) = ("::harness::register!".parse::<TokenStream>(), comma) else {
            unreachable!()
        };
        let arguments = TokenStream::from(name).into_iter().chain(comma).chain(cases);
        inside.extend([TokenTree::from(Group::new(Delimiter::Brace, arguments.collect()))]);
        inside.extend(body.stream());
        let mut whole = Group::new(body.delimiter(), inside);
        whole.set_span(body.span());
        tokens.push(whole.into());
    }
    tokens.into_iter().collect()
}
