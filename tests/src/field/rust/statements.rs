//! The statements of a Rust source that a marker may stand before.

use quote::ToTokens as _;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{
    Block, ImplItemFn, ItemConst, ItemFn, ItemImpl, ItemMod, ItemStatic, ItemTrait, Signature, Stmt, TraitItemFn,
};

/// A statement in the body of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// Where it begins, in bytes.
    pub(super) offset: usize,
    /// Its line, from 1.
    pub(super) line: u32,
    /// Its column, in characters from 0.
    pub(super) column: u32,
    /// The names around it: modules, the type of an `impl`, functions.
    pub(super) function: String,
}

/// The statements of a source. What another macro writes has none, and neither has what the compiler
/// may evaluate: a marker is assembly. One that `#[cfg]` may remove is left out: a marker before it stays,
/// and the value of the block may be that of the statement before.
///
/// # Errors
///
/// It is no Rust.
pub(super) fn of_rust(text: &str) -> syn::Result<Vec<Statement>> {
    let mut finder = Finder::default();
    finder.visit_file(&syn::parse_file(text)?);
    Ok(finder.found)
}

#[derive(Default)]
struct Finder {
    found: Vec<Statement>,
    names: Vec<String>,
    in_function: bool,
}

impl Finder {
    fn within(&mut self, name: String, visit: impl FnOnce(&mut Self)) {
        self.names.push(name);
        visit(self);
        self.names.pop();
    }

    fn function(&mut self, signature: &Signature, visit: impl FnOnce(&mut Self)) {
        if signature.constness.is_some() {
            return;
        }
        let outside = std::mem::replace(&mut self.in_function, true);
        self.within(signature.ident.to_string(), visit);
        self.in_function = outside;
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_block(&mut self, block: &'ast Block) {
        for statement in block.stmts.iter().filter(|statement| !matches!(statement, Stmt::Item(_))) {
            // The first token, which may be that of an attribute.
            let mut tokens = statement.to_token_stream().into_iter();
            let first = tokens.next().map_or(statement.span(), |token| token.span());
            let is_removable = tokens.next().is_some_and(|token| token.to_string().starts_with("[cfg"));
            if self.in_function && !is_removable {
                self.found.push(Statement {
                    offset: first.byte_range().start,
                    line: u32::try_from(first.start().line).unwrap_or(0),
                    column: u32::try_from(first.start().column).unwrap_or(0),
                    function: self.names.join("::"),
                });
            }
        }
        visit::visit_block(self, block);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.within(item.ident.to_string(), |this| visit::visit_item_mod(this, item));
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        self.within(item.self_ty.to_token_stream().to_string(), |this| visit::visit_item_impl(this, item));
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.within(item.ident.to_string(), |this| visit::visit_item_trait(this, item));
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, |this| visit::visit_item_fn(this, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, |this| visit::visit_impl_item_fn(this, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.function(&item.sig, |this| visit::visit_trait_item_fn(this, item));
    }

    fn visit_item_const(&mut self, _: &'ast ItemConst) {}

    fn visit_item_static(&mut self, _: &'ast ItemStatic) {}

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}

    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}

    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_path_arguments(&mut self, _: &'ast syn::PathArguments) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_those_of_functions_that_run() {
        let source = "\
const LIMIT: usize = { let a = 3; a };
const fn fixed() -> u8 { let b = 3; b }
struct S<const N: usize>;
impl<const N: usize> S<N> {
    fn one(&self, äö: u8) -> u8 { let c = äö; if c > 1 { c += 1; return c }
        struct Inner;
        #[cfg(any())]
        removed();
        #[allow(unused)]
        let d = [0; { let e = 3; e }];
        vec![{ let f = 3; f }];
        let g = |x: u8| { x + 1 };
        match c { 0 => g(1), _ => { h(c) } }
    }
}
mod inner {
    trait T { fn two(&self) { i(); } }
    fn three() { static J: u8 = { let k = 1; k }; async { l().await }; }
}
";
        let found = of_rust(source).expect("it is Rust");
        let text = |of: &Statement| {
            let line = source[of.offset..].lines().next().unwrap_or_default();
            let before = source.lines().nth(of.line as usize - 1).unwrap_or_default();
            assert_eq!(before.chars().skip(of.column as usize).collect::<String>(), line, "{of:?}");
            (of.function.clone(), line.split_inclusive([';', '{']).next().unwrap_or_default().trim().to_owned())
        };
        let mut found: Vec<_> = found.iter().map(text).collect();
        found.sort();
        let of = |function: &str, texts: &[&str]| {
            texts.iter().map(|text| (function.to_owned(), (*text).to_owned())).collect::<Vec<_>>()
        };
        let mut expected = of(
            "S < N >::one",
            &[
                "let c = äö;",
                "if c > 1 {",
                "c += 1;",
                "return c }",
                "#[allow(unused)]",
                "vec![{",
                "let g = |x: u8| {",
                "x + 1 };",
                "match c {",
                "h(c) } }",
            ],
        );
        expected.extend(of("inner::T::two", &["i();"]));
        expected.extend(of("inner::three", &["async {", "l().await };"]));
        expected.sort();
        assert_eq!(found, expected);
    }
}
