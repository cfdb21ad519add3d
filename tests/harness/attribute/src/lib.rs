//! `#[test]` for programs without the built-in test harness.

use proc_macro::{Group, TokenStream, TokenTree};

/// Makes a function a test of the program, which `harness::main` runs.
#[proc_macro_attribute]
pub fn test(_: TokenStream, function: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = function.into_iter().collect();
    let name = tokens.windows(2).find(|pair| pair[0].to_string() == "fn").map(|pair| pair[1].to_string());
    if let (Some(name), Some(TokenTree::Group(body))) = (name, tokens.pop()) {
        // In the function, so that it is there under the same conditions.
        let Ok(mut inside) = format!("::harness::register!({name});").parse::<TokenStream>() else { unreachable!() };
        inside.extend(body.stream());
        let mut whole = Group::new(body.delimiter(), inside);
        whole.set_span(body.span());
        tokens.push(whole.into());
    }
    tokens.into_iter().collect()
}
