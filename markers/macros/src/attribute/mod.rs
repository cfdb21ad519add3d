//! `#[ghosts]`: makes ghosts of the markers in an item, and gives each ghost of a block a variable at
//! the start of the block.
//!
//! It works on tokens. Only a group with a marker in it is written again; everything else stays as it
//! came, with its spans, whatever its syntax. `item` finds where an item ends, `blocks` finds the
//! markers and what they are in their block, and `marker` reads the arguments of one. `tokens` has what
//! all of these do with tokens. `span` has the other attribute, `#[span]`, which needs only `item`.

mod blocks;
mod item;
mod marker;
mod span;
mod tokens;

use proc_macro2::{Span, TokenStream, TokenTree};

use item::{Item, Keyword};
use tokens::with_error;

pub(crate) use span::span;

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

#[cfg(test)]
mod tests {
    use super::*;

    /// The expansion without spaces. `{}` in `expected` stands for the option of a ghost, and `[..]` for
    /// the variables of a block, here with the number of its ghosts.
    fn assert_expands(item: &str, expected: &str) {
        let tokens: TokenStream = item.parse().expect("tokens");
        let mut text = ghosts(TokenStream::new(), tokens).to_string();
        while let Some(start) = text.find("simple_mark ! (@ block") {
            let end = start + text[start..].find(';').expect("the end of the statement");
            let count = text[start..end].matches("__simple_ghost_block_1_").count();
            text.replace_range(start..=end, &format!("[{count}]"));
        }
        let squeezed = |text: &str| text.replace(char::is_whitespace, "");
        let text = squeezed(&text).replace(",options(ghost)", "@");
        assert_eq!(text, squeezed(expected), "{item}");
    }

    /// The same for a function with these statements.
    fn assert_statements(statements: &str, expected: &str) {
        assert_expands(&format!("fn f() {{ {statements} }}"), &format!("fn f() {{ {expected} }}"));
    }

    const M: &str = r#"simple_mark!(a:b,"x")"#;

    fn m(text: &str) -> String {
        text.replace("M@", r#"simple_mark!(a:b,"x"@)"#).replace('M', M)
    }

    fn assert_markers(statements: &str, expected: &str) {
        assert_statements(&m(statements), &m(expected));
    }

    #[test]
    fn statements_become_ghosts_with_a_variable_in_their_block() {
        assert_markers("M;", "[1] M@;");
        assert_markers("f(); M; { g(); M; M; } M; h()", "[2] f(); M@; { [2] g(); M@; M@; } M@; h()");
        assert_markers("loop { if x { M; } else { y } }", "loop { if x { [1] M@; } else { y } }");
        assert_markers("'a: { unsafe { M; break 'a; } }", "'a: { unsafe { [1] M@; break 'a; } }");
        assert_markers("let Some(x) = y else { M; return };", "let Some(x) = y else { [1] M@; return };");
        assert_markers("match x {} M; if y {} M;", "[2] match x {} M@; if y {} M@;");
        assert_markers("#[cfg(a)] M; #[cfg(b)] { M; }", "[1] #[cfg(a)] M@; #[cfg(b)] { [1] M@; }");
        assert_markers("let f = async move |x| { M; x };", "let f = async move |x| { [1] M@; x };");
        assert_statements(r#"simple_mark! { a, "x" } f()"#, r#"[1] simple_mark! { a, "x"@ } f()"#);
        assert_statements(r#"simple_mark!(a, "%u", x,);"#, r#"[1] simple_mark!(a, "%u", x@);"#);
        assert_statements(r#"simple_mark!(a, "x", options(ghost));"#, r#"[1] simple_mark!(a, "x"@);"#);
    }

    #[test]
    fn a_path_stays() {
        assert_expands(
            r#"fn f() { { crate::m::simple_mark!(a, "x"); } return ::m::simple_mark!(a, "x"); }"#,
            r#"fn f() { { crate::m::[1] crate::m::simple_mark!(a, "x"@); } return { ::m::simple_mark!(a, "x"@); }; }"#,
        );
    }

    #[test]
    fn expressions_become_blocks() {
        assert_markers("f(); M", "[1] f(); M@;");
        assert_markers(
            "match x { A => M, B { c } if d => M, _ => { M } }",
            "match x { A => { M@; }, B { c } if d => { M@; }, _ => { [1] M@; } }",
        );
        assert_markers("let f = || M; g(move |x: &u8| M)", "let f = || { M@; }; g(move |x: &u8| { M@; })");
        assert_markers("if a { M } else { M }", "if a { [1] M@; } else { [1] M@; }");
        assert_markers(
            "return M; let x = (M, [M]); break 'a M;",
            "return { M@; }; let x = ({ M@; }, [{ M@; }]); break 'a { M@; };",
        );
    }

    #[test]
    fn the_variable_comes_behind_inner_attributes_and_items() {
        assert_markers(
            "#![allow(a)] use a::{b, c}; pub(crate) const X: [u8; { 3 }] = [0; 3]; #[inline] fn g<const N: usize = { 3 }>() -> A<{ 3 }> {} M;",
            "#![allow(a)] use a::{b, c}; pub(crate) const X: [u8; { 3 }] = [0; 3]; #[inline] fn g<const N: usize = { 3 }>() -> A<{ 3 }> {} [1] M@;",
        );
        assert_markers("const { f() }; M; use a::b;", "[1] const { f() }; M@; use a::b;");
        assert_markers("#[cfg(a)] unsafe { f() } M;", "[1] #[cfg(a)] unsafe { f() } M@;");
        assert_markers("macro_rules! n { () => { M; } } M;", "macro_rules! n { () => { M; } } [1] M@;");
        assert_markers("union = 3; default(); auto.x(); M;", "[1] union = 3; default(); auto.x(); M@;");
    }

    #[test]
    fn what_is_no_ghost_stays() {
        for marker in [
            r#"simple_mark!(a, "%u", keep x);"#,
            r#"simple_mark!(a, "%u", keep y = x + 1)"#,
            r#"simple_mark!(a, "x", options(anchor));"#,
            r#"simple_mark!(a, "x", options(keep, anchor));"#,
            r#"simple_mark!(a, "x", options(other));"#,
            r#"simple_probe!(a, "%u", x);"#,
            "simple_mark!(a);",
            "simple_mark!();",
            "simple_mark;",
            r#"vec![simple_mark!(a, "x")];"#,
            r#"macro_rules! m { () => { simple_mark!(a, "x"); } }"#,
            r#"#[doc = simple_mark!(a, "x")] f();"#,
            "if x != (y) { return !(y); }",
        ] {
            assert_statements(marker, marker);
        }
        // Not the arguments of a macro.
        assert_markers(
            "if !(a == { M; b }) { return !{ M; c }; }",
            "if !(a == { [1] M@; b }) { return !{ [1] M@; c }; }",
        );
        assert_markers("break 'a !{ M; b };", "break 'a !{ [1] M@; b };");
    }

    #[test]
    fn functions_are_found_in_all_items() {
        for (start, end) in [
            ("pub const unsafe extern \"C\" fn f<const N: usize>() -> [u8; { 3 }] where A<{ N }>: B", ""),
            ("async fn f() -> !", ""),
            ("#[a] #[b(c)] pub(in a::b) fn f()", ""),
            ("impl<T> A<{ 3 }> for B<T> { const C: u8 = 3; type D = u8; fn f(&self)", "}"),
            ("unsafe impl A for B { default unsafe fn f(&self)", "}"),
            ("pub unsafe auto trait A { fn e(&self); fn f(&self)", "fn g(&self); }"),
            ("mod a { use b::{c, d}; mod e { impl F { fn f()", "} } }"),
            ("const fn f() { const X: u8 =", "; }"),
            ("fn f() { fn g()", "}"),
            ("fn f() { impl A { fn g()", "} }"),
        ] {
            let item = |body: &str| m(&format!("{start} {{ {body} }} {end}"));
            assert_expands(&item("M; f()"), &item("[1] M@; f()"));
        }
    }

    #[test]
    fn mistakes_are_errors() {
        let errors = |arguments: &str, item: &str| {
            let [arguments, item] = [arguments, item].map(|text| text.parse().expect("tokens"));
            ghosts(arguments, item).to_string().matches("compile_error").count()
        };
        assert_eq!(errors("", &m("fn f() { M; }")), 0);
        assert_eq!(errors("x", "fn f() {}"), 1);
        for item in ["struct A;", "use a::b;", "const A: u8 = 3;", "static A: u8 = 3;", "mod a;", "fn f();", "x!{}", ""]
        {
            assert_eq!(errors("", item), 1, "{item}");
        }
        for item in
            ["extern \"C\" { fn f(); }", "extern crate a;", "enum A {}", "type A = u8;", "macro_rules! a { () => {} }"]
        {
            assert_eq!(errors("", item), 1, "{item}");
        }
        for item in ["impl A { M; }", "mod a { M; fn f() {} }", "fn f() { mod a { M } }"] {
            assert_eq!(errors("", &m(item)), 1, "{item}");
        }
        for item in ["fn f() { M == (); }", "fn f() { match x { _ => M.y(), } }", "fn f() { M.x() }"] {
            assert_eq!(errors("", &m(item)), 1, "{item}");
        }
    }
}
