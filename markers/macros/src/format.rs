//! The format of a marker, and the constants in its words.
//!
//! A value of a word is a constant expression. The declaration stands at module level, where the names
//! of the function are not known, so it has `?` for a value that is no literal. The record of the site
//! is written where the marker is, and has the value as a `const` operand of the assembly.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote_spanned};
use simple_markers_record::assembler;
use simple_markers_record::names::{self, UNKNOWN};
use simple_markers_record::placeholders::{self, Placeholder};
use simple_markers_record::printf::{self, Piece};
use simple_markers_record::rust_format;
use syn::ext::IdentExt as _;
use syn::{Expr, LitStr};

/// The format of a marker.
pub(crate) struct Format {
    literal: LitStr,
    parts: Vec<Part>,
    /// The values of words that are no literals.
    values: Vec<Expr>,
    /// What `format!` would replace, in a format of printf: `{id}`.
    placeholders: Vec<String>,
    is_in_rusts_notation: bool,
}

enum Part {
    Text(String),
    /// A value by its number.
    Value(usize),
}

impl Format {
    /// Reads a format of printf.
    ///
    /// Fails if the value of a word is no expression.
    pub(crate) fn new(literal: LitStr) -> syn::Result<Self> {
        let written = literal.value();
        let of_value = |it: Placeholder| (!it.is_text).then(|| written.get(it.range).unwrap_or_default().to_owned());
        let placeholders = placeholders::placeholders(&written).into_iter().filter_map(of_value).collect();
        let text = placeholders::as_text(&written);
        let mut format =
            Self { literal, parts: Vec::new(), values: Vec::new(), placeholders, is_in_rusts_notation: false };
        let mut copied = 0;
        for piece in printf::parse(text.as_bytes()) {
            let Ok(Piece::Conversion(conversion)) = piece else { continue };
            let end = conversion.range.end;
            let braces = names::takes_words(conversion.specifier).then(|| text.get(end..)).flatten();
            let Some(inner) = braces.and_then(|rest| std::str::from_utf8(names::braced(rest.as_bytes())?).ok()) else {
                continue;
            };
            if conversion.words.is_some() || !(inner.contains('=') || inner.contains("::")) {
                continue;
            }
            format.text(text.get(copied..=end));
            format.words(inner)?;
            copied = end + 1 + inner.len();
        }
        format.text(text.get(copied..));
        Ok(format)
    }

    /// The format of a marker, in Rust's notation or in that of printf.
    pub(crate) fn of_marker(literal: LitStr) -> syn::Result<Self> {
        let written = literal.value();
        match rust_format::is_in_rusts_notation(&written) {
            false => Self::new(literal),
            true => {
                let text = match rust_format::to_printf(&written) {
                    Ok(text) => text,
                    // The compiler reports the others when the arguments are known.
                    Err(_) => crate::rust_format::check(&literal).map(|()| written)?,
                };
                let parts = vec![Part::Text(text)];
                Ok(Self { literal, parts, values: Vec::new(), placeholders: Vec::new(), is_in_rusts_notation: true })
            }
        }
    }

    /// The literal, if it is in Rust's notation.
    pub(crate) fn in_rusts_notation(&self) -> Option<&LitStr> {
        self.is_in_rusts_notation.then_some(&self.literal)
    }

    fn text(&mut self, text: Option<&str>) {
        let text = text.unwrap_or_default();
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    /// The format with text and conversions of printf before it.
    pub(crate) fn behind(mut self, text: &str) -> Self {
        self.parts.insert(0, Part::Text(text.to_owned()));
        self
    }

    /// Adds what is between the braces of words.
    fn words(&mut self, inner: &str) -> syn::Result<()> {
        for part in names::parts(inner.as_bytes()) {
            let separator = inner.get(part.end..).and_then(|rest| rest.get(..1));
            let word = inner.get(part).unwrap_or_default();
            match word.split_once('=') {
                Some((name, value)) => {
                    self.text(Some(name));
                    self.text(Some("="));
                    self.value(value)?;
                }
                // A path is named by its last part.
                None if word.contains("::") => {
                    let expression = self.expression(word)?;
                    let name = last_of_path(&expression).ok_or_else(|| {
                        syn::Error::new(self.span(), format!("`{word}` in braces has no name: write `NAME={word}`"))
                    })?;
                    self.text(Some(&name));
                    self.text(Some("="));
                    self.value(word)?;
                }
                None => self.text(Some(word)),
            }
            self.text(separator);
        }
        Ok(())
    }

    fn value(&mut self, text: &str) -> syn::Result<()> {
        if text.trim().is_empty() || names::constant(text.trim().as_bytes()).is_some() {
            self.text(Some(text));
            return Ok(());
        }
        let expression = self.expression(text)?;
        self.parts.push(Part::Value(self.values.len()));
        self.values.push(expression);
        Ok(())
    }

    /// An expression with the names that are known where the format is written.
    fn expression(&self, text: &str) -> syn::Result<Expr> {
        let wrong = || {
            let message = format!(
                "`{}` in braces is no constant expression: the words of a conversion are `NAME=VALUE`",
                text.trim()
            );
            syn::Error::new(self.span(), message)
        };
        let tokens: TokenStream = text.parse().map_err(|_| wrong())?;
        syn::parse2(respanned(tokens, self.span())).map_err(|_| wrong())
    }

    pub(crate) fn span(&self) -> Span {
        self.literal.span()
    }

    /// What `format!` would replace by a value, and printf prints as it is.
    pub(crate) fn placeholders(&self) -> &[String] {
        &self.placeholders
    }

    /// Whether a word has a value that only the record of the site has.
    pub(crate) fn has_values(&self) -> bool {
        !self.values.is_empty()
    }

    /// The format as the declaration has it.
    pub(crate) fn declared(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Value(_) => UNKNOWN.to_owned(),
        };
        self.parts.iter().map(text).collect()
    }

    /// The format in the template of the site, with a placeholder for each value.
    pub(crate) fn in_template(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => assembler::escape(text.as_bytes()),
            Part::Value(number) => format!("{{{}}}", operand(*number)),
        };
        self.parts.iter().map(text).collect()
    }

    /// The operands of these placeholders, which follow operands without a name.
    pub(crate) fn operands(&self) -> TokenStream {
        let operands = self.values.iter().enumerate().map(|(number, value)| {
            let name = operand(number);
            quote_spanned! { self.span()=> #name = const (#value), }
        });
        operands.collect()
    }

    /// Statements that compile if the values are constants of integers; for a marker that emits nothing.
    pub(crate) fn check(&self) -> TokenStream {
        let checks =
            self.values.iter().map(|value| quote_spanned! { self.span()=> let _ = const { (#value) as i128 }; });
        checks.collect()
    }

    /// An expression for the text of the format between two other texts, as a constant.
    pub(crate) fn constant(&self, krate: &TokenTree, before: &TokenStream, after: &str) -> TokenStream {
        let part = |part: &Part| match part {
            Part::Text(text) => quote_spanned! { Span::mixed_site()=> #krate::__private::Part::Text(#text), },
            Part::Value(number) => {
                let value = self.values.get(*number);
                quote_spanned! { self.span()=> #krate::__private::Part::Value((#value) as i128), }
            }
        };
        let parts: TokenStream = self.parts.iter().map(part).collect();
        quote_spanned! { Span::mixed_site()=>
            {
                const PARTS: &[#krate::__private::Part] = &[
                    #krate::__private::Part::Text(#before), #parts #krate::__private::Part::Text(#after),
                ];
                const TEXT: [#krate::__private::primitive::u8; #krate::__private::length(PARTS)] =
                    #krate::__private::joined(PARTS);
                #krate::__private::as_text(&TEXT)
            }
        }
    }
}

/// The operand with the value of a word.
fn operand(number: usize) -> Ident {
    format_ident!("simple_marker_word{number}", span = Span::call_site())
}

/// The tokens at another place.
fn respanned(tokens: TokenStream, span: Span) -> TokenStream {
    let each = tokens.into_iter().map(|mut token| {
        if let TokenTree::Group(group) = &token {
            token = proc_macro2::Group::new(group.delimiter(), respanned(group.stream(), span)).into();
        }
        token.set_span(span);
        token
    });
    each.collect()
}

/// The last name of the path that an expression starts from: `READ` of `Flags::READ.bits()`.
fn last_of_path(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Path(path) => path.path.segments.last().map(|segment| segment.ident.unraw().to_string()),
        Expr::MethodCall(call) => last_of_path(&call.receiver),
        Expr::Field(field) => last_of_path(&field.base),
        Expr::Cast(cast) => last_of_path(&cast.expr),
        Expr::Paren(paren) => last_of_path(&paren.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> syn::Result<Format> {
        Format::new(LitStr::new(text, Span::call_site()))
    }

    fn declared(text: &str) -> String {
        read(text).map_or_else(|error| error.to_string(), |format| format.declared())
    }

    #[test]
    fn values_that_are_no_literals_are_unknown_to_the_declaration() {
        assert_eq!(declared("a %d{A=1,B=(1 << 2)} {A=b}"), "a %d{A=1,B=(1 << 2)} {A=b}");
        assert_eq!(declared("%x{A=READ|B=2} %s{A=x}"), "%x{A=?|B=2} %s{A=x}");
        assert_eq!(declared("%x{Flags::READ.bits()|libc::r#O as u32|}"), "%x{READ=?|O=?|}");
        assert_eq!(declared("%x{A=f(1, 2),B=(x | y)}."), "%x{A=?,B=?}.");
        assert_eq!(declared("%d{} %d{ %d{a} %d{a b}"), "%d{} %d{ %d{a} %d{a b}");
        assert!(declared("%d{A=1 +}").contains("`1 +` in braces is no constant expression"));
        assert!(declared("%d{a::b + 1}").contains("has no name"));
        let format = read("%x{A=READ|B=2}").unwrap();
        assert_eq!(format.in_template(), "%x\\173A={simple_marker_word0}|B=2\\175");
        assert!(format.has_values() && !read("%d{A=1}").unwrap().has_values());
    }
}
