//! The members that a format names.

use proc_macro2::Span;
use simple_markers_record::value_form::MemberPath;
use syn::{Ident, Index, Member};

/// The span of a member that is named in the format at `format`. The compiler does not suggest to replace
/// the format by another name, as it would with the span itself.
pub(crate) fn of_member(format: Span) -> Span {
    Span::mixed_site().located_at(format)
}

/// The members on a path; `None` if Rust has no such name.
pub(crate) fn members(path: MemberPath<'_>, span: Span) -> Option<Vec<Member>> {
    let member = |text: &str| match text.parse() {
        Ok(index) => Some(Member::Unnamed(Index { index, span })),
        Err(_) => name(text, span).map(Member::Named),
    };
    path.members().map(member).collect()
}

/// A name, with `r#` if it is a keyword; `None` if Rust has no such name.
pub(crate) fn name(text: &str, span: Span) -> Option<Ident> {
    let mut name: Ident = syn::parse_str(text).or_else(|_| syn::parse_str(&format!("r#{text}"))).ok()?;
    name.set_span(span);
    Some(name)
}
