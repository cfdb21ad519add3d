//! Places: the arguments that need no evaluation.

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Expr, Lit, Member, UnOp};

/// A place expression and its text.
pub(crate) struct Place {
    /// The place; for `&x`, the place whose address is taken.
    pub(crate) expression: Expr,
    /// Whether the argument is `&x`.
    pub(crate) is_address: bool,
    /// The argument as the record and debuggers write it: without spaces, and raw identifiers
    /// without `r#`.
    pub(crate) text: String,
}

impl Place {
    /// Parses `expression` as a place.
    ///
    /// Fails if it would have to be evaluated. The error says what to write.
    pub(crate) fn new(expression: Expr) -> syn::Result<Self> {
        let mut text = String::new();
        let (expression, is_address) = match ungroup(expression) {
            Expr::Reference(reference) => {
                if let Some(mutability) = &reference.mutability {
                    return Err(syn::Error::new(mutability.span(), "a marker only reads: write `&` without `mut`"));
                }
                text.push('&');
                (*reference.expr, true)
            }
            place => (place, false),
        };
        write_place(&expression, &mut text)?;
        Ok(Self { expression, is_address, text })
    }

    pub(crate) fn span(&self) -> Span {
        self.expression.span()
    }
}

/// Removes the invisible group around an expression that another macro passed on as `$x:expr`.
fn ungroup(expression: Expr) -> Expr {
    match expression {
        Expr::Group(group) => ungroup(*group.expr),
        other => other,
    }
}

fn write_place(place: &Expr, text: &mut String) -> syn::Result<()> {
    match place {
        Expr::Path(path) if path.qself.is_none() && path.path.segments.iter().all(|part| part.arguments.is_none()) => {
            for (index, segment) in path.path.segments.iter().enumerate() {
                if index > 0 || path.path.leading_colon.is_some() {
                    text.push_str("::");
                }
                text.push_str(&segment.ident.unraw().to_string());
            }
            Ok(())
        }
        Expr::Field(field) => {
            write_place(&field.base, text)?;
            text.push('.');
            match &field.member {
                Member::Named(name) => text.push_str(&name.unraw().to_string()),
                Member::Unnamed(index) => text.push_str(&index.index.to_string()),
            }
            Ok(())
        }
        Expr::Index(index) => {
            write_place(&index.expr, text)?;
            text.push('[');
            text.push_str(&literal_index(&index.index)?);
            text.push(']');
            Ok(())
        }
        Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
            text.push('*');
            write_place(&unary.expr, text)
        }
        Expr::Paren(paren) => {
            text.push('(');
            write_place(&paren.expr, text)?;
            text.push(')');
            Ok(())
        }
        Expr::Group(group) => write_place(&group.expr, text),
        Expr::Reference(reference) => Err(syn::Error::new(
            reference.span(),
            "`&` is allowed only in front of the whole place: `&x`, `&self.queue`",
        )),
        other => Err(syn::Error::new(other.span(), not_a_place(other))),
    }
}

fn literal_index(index: &Expr) -> syn::Result<String> {
    match index {
        Expr::Lit(literal) => {
            if let Lit::Int(integer) = &literal.lit {
                return Ok(integer.base10_digits().to_owned());
            }
        }
        Expr::Group(group) => return literal_index(&group.expr),
        _ => {}
    }
    Err(syn::Error::new(
        index.span(),
        "a place is not evaluated, so its index must be a number: write `keep element = ...[...]`",
    ))
}

fn not_a_place(expression: &Expr) -> String {
    let what = match expression {
        Expr::Call(_) | Expr::MethodCall(_) => "a call",
        Expr::Binary(_) | Expr::Unary(_) => "arithmetic",
        Expr::Lit(_) => "a constant",
        Expr::Macro(_) => "a macro",
        Expr::Cast(_) => "a conversion",
        Expr::Assign(_) => "an assignment (only a kept value has a name)",
        _ => "this",
    };
    format!(
        "{what} is not a place (`x`, `self.queue.depth`, `t.0`, `*p`, `a[3]`, `&x`), and a marker evaluates nothing by itself: \
         write `keep name = ...`"
    )
}
