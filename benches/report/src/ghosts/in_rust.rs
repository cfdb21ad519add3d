//! Inserts a ghost at every fourth statement of Rust.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Block, FnArg, Pat, Stmt, Token, Type};

use super::EVERY;

/// The text with calls of `ghost_form::ghost!`, which name parameters of the function if there are any
/// that can be shown. `first` is the number of the first ghost. Also returns the number of ghosts.
pub(super) fn insert(text: &str, name: &str, first: usize) -> Result<(String, usize)> {
    let file = syn::parse_file(text).with_context(|| format!("{name}: cannot be parsed"))?;
    let mut finder = Finder { text, ..Finder::default() };
    finder.visit_file(&file);
    finder.places.sort_by_key(|place| place.offset);
    let mut marked = String::new();
    let mut from = 0;
    for (number, place) in finder.places.iter().enumerate() {
        marked.push_str(text.get(from..place.offset).context("an offset")?);
        let (mut format, mut arguments) = (String::new(), String::new());
        for (conversion, parameter) in &place.shown {
            format.push_str(conversion);
            arguments.push_str(&format!(", {parameter}"));
        }
        marked.push_str(&format!(" ghost_form::ghost!({name}:n{}, \"{format}\"{arguments}); ", first + number));
        from = place.offset;
    }
    marked.push_str(text.get(from..).context("an offset")?);
    Ok((marked, finder.places.len()))
}

/// A conversion and the parameter that it shows.
type Shown = (&'static str, String);

struct Place {
    offset: usize,
    shown: Vec<Shown>,
}

#[derive(Default)]
struct Finder<'a> {
    text: &'a str,
    /// What can be shown, of each function and closure around the place. Outside of functions this is
    /// empty.
    functions: Vec<Vec<Shown>>,
    statements: usize,
    places: Vec<Place>,
}

impl Finder<'_> {
    fn inside(&mut self, shown: Vec<Shown>, visit: impl FnOnce(&mut Self)) {
        self.functions.push(shown);
        visit(self);
        self.functions.pop();
    }

    /// Code that is evaluated by the compiler.
    fn outside(&mut self, visit: impl FnOnce(&mut Self)) {
        let functions = std::mem::take(&mut self.functions);
        visit(self);
        self.functions = functions;
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.inside(shown(&function.sig.inputs, &function.block), |this| visit::visit_item_fn(this, function));
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.inside(shown(&function.sig.inputs, &function.block), |this| visit::visit_impl_item_fn(this, function));
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        let shown = function.default.as_ref().map(|block| shown(&function.sig.inputs, block));
        self.inside(shown.unwrap_or_default(), |this| visit::visit_trait_item_fn(this, function));
    }

    // A closure captures what a ghost in it names.
    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.inside(Vec::new(), |this| visit::visit_expr_closure(this, closure));
    }

    fn visit_expr_async(&mut self, block: &'ast syn::ExprAsync) {
        self.inside(Vec::new(), |this| visit::visit_expr_async(this, block));
    }

    fn visit_expr_const(&mut self, block: &'ast syn::ExprConst) {
        self.outside(|this| visit::visit_expr_const(this, block));
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        self.outside(|this| visit::visit_item(this, item));
    }

    fn visit_type(&mut self, of_array: &'ast Type) {
        self.outside(|this| visit::visit_type(this, of_array));
    }

    fn visit_block(&mut self, block: &'ast Block) {
        // `#[cfg]` decides which statement is the last, and so the value of the block.
        let has_attribute = |statement: &Stmt| self.text[statement.span().byte_range().start..].starts_with("#[");
        let has_conditions = block.stmts.iter().any(has_attribute);
        for (index, statement) in block.stmts.iter().enumerate() {
            self.statements += usize::from(!matches!(statement, Stmt::Item(_)));
            if let Some(shown) = self.functions.last()
                && self.statements >= EVERY
                && !has_conditions
            {
                let range = statement.span().byte_range();
                let has_semicolon = match statement {
                    Stmt::Local(_) => true,
                    Stmt::Expr(_, semicolon) => semicolon.is_some(),
                    Stmt::Macro(call) => call.semi_token.is_some(),
                    Stmt::Item(_) => false,
                };
                let is_behind = has_semicolon && index + 1 == block.stmts.len();
                let offset = if is_behind { range.end } else { range.start };
                self.places.push(Place { offset, shown: shown.clone() });
                self.statements = 0;
            }
            self.visit_stmt(statement);
        }
    }
}

/// The parameters that a ghost can show: at most two, of a primitive type or references, whose name the
/// function does not use for another variable.
fn shown(inputs: &Punctuated<FnArg, Token![,]>, block: &Block) -> Vec<Shown> {
    let mut bound = Bound::default();
    bound.visit_block(block);
    let all = inputs.iter().filter_map(|input| match input {
        FnArg::Receiver(receiver) => receiver.reference.is_some().then(|| ("%p", "self".to_owned())),
        FnArg::Typed(typed) => {
            let Pat::Ident(pattern) = &*typed.pat else { return None };
            let name = pattern.ident.to_string();
            let conversion = conversion(&typed.ty)?;
            (pattern.by_ref.is_none() && !bound.names.contains(&name)).then_some((conversion, name))
        }
    });
    all.take(2).collect()
}

#[derive(Default)]
struct Bound {
    names: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Bound {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.names.insert(pattern.ident.to_string());
        visit::visit_pat_ident(self, pattern);
    }
}

fn conversion(of: &Type) -> Option<&'static str> {
    let path = match of {
        Type::Reference(_) => return Some("%p"),
        Type::Path(path) => path.path.get_ident()?,
        _ => return None,
    };
    Some(match path.to_string().as_str() {
        "u8" => "%hhu",
        "i32" | "bool" => "%d",
        "u32" => "%u",
        "u64" => "%lu",
        "i64" => "%ld",
        "usize" => "%zu",
        "char" => "%c",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fourth_statement_has_a_ghost() {
        let text = "const A: u8 = { 1; 2; 3; 4; 5 };\nfn f(a: usize, b: &str, c: T) { 1; 2; 3; if x { 4; 5 } 6; 7; }\n\
                    fn g(a: u8) { let a = 1; let f = || { 2; 3; }; 4 }\n";
        let marked = "const A: u8 = { 1; 2; 3; 4; 5 };\n\
                      fn f(a: usize, b: &str, c: T) {  ghost_form::ghost!(c:n7, \"%zu%p\", a, b); 1; 2; 3; if x {  \
                      ghost_form::ghost!(c:n8, \"%zu%p\", a, b); 4; 5 } 6; 7; }\n\
                      fn g(a: u8) {  ghost_form::ghost!(c:n9, \"\"); let a = 1; let f = || { 2; 3; };  \
                      ghost_form::ghost!(c:n10, \"\"); 4 }\n";
        let (text, ghosts) = insert(text, "c", 7).expect("it is parsed");
        assert_eq!((text.as_str(), ghosts), (marked, 4));
    }
}
