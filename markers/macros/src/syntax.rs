//! The syntax of a marker: `NAME, "FORMAT" [, ARGUMENT]... [, options(keep, anchor)]`, or with
//! `options(ghost)`, and that of a probe, whose arguments are expressions and which has no options.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::discouraged::Speculative as _;
use syn::parse::{Parse, ParseStream};
use syn::{Expr, Ident, LitStr, Token, parenthesized};

use crate::argument::Argument;
use crate::format::Format;
use crate::place::Place;
use crate::rust_format::{self, Arrangement, NamedArgument};
use crate::target::Target;

/// A marker, with what `simple_mark!` adds to it.
pub(crate) struct Invocation {
    /// The path of the `simple-markers` crate: `$crate`.
    pub(crate) krate: TokenTree,
    /// The target of the crate; `None` if nothing is emitted.
    pub(crate) target: Option<Target>,
    pub(crate) marker: Marker,
}

/// A probe, with what `simple_probe!` adds to it.
pub(crate) struct ProbeInvocation {
    /// The path of the `simple-markers` crate: `$crate`.
    pub(crate) krate: TokenTree,
    /// The target of the crate and how its switch is read; `None` if nothing is emitted.
    pub(crate) target: Option<(Target, Branch)>,
    /// Whether it is a span, whose `marker` is its name and what its begin records.
    pub(crate) is_span: bool,
    /// The probe as a marker: every argument is kept.
    pub(crate) marker: Marker,
}

/// How the code reads a switch and branches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Branch {
    /// The assembly compares and jumps.
    Goto,
    /// The assembly loads, and the compiler compares and jumps.
    Load,
}

/// A marker as written.
pub(crate) struct Marker {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) anchor: Option<Anchor>,
    /// `options(ghost)`: no argument is kept, and it is not anchored.
    pub(crate) is_ghost: bool,
    /// What the compiler itself refuses, in place of the marker.
    pub(crate) refusal: Option<TokenStream>,
}

impl Parse for Invocation {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let krate = input.parse()?;
        let target = Target::from_name(&input.parse::<Ident>()?)?;
        Ok(Self { krate, target, marker: input.parse()? })
    }
}

impl Parse for ProbeInvocation {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let krate = input.parse()?;
        let target = Target::from_name(&input.parse::<Ident>()?)?;
        let branch = if input.parse::<Ident>()? == "goto" { Branch::Goto } else { Branch::Load };
        let is_span = input.parse::<Option<Token![@]>>()?.is_some();
        if is_span {
            input.parse::<Ident>()?;
        }
        let marker = Marker::parse_with(input, if is_span { &SPAN } else { &PROBE })?;
        Ok(Self { krate, target: target.map(|target| (target, branch)), is_span, marker })
    }
}

impl Parse for Marker {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Self::parse_with(input, &MARK)
    }
}

/// What differs between the macros.
struct MacroSyntax {
    /// The example for one that is empty.
    example: &'static str,
    argument: fn(ParseStream<'_>) -> syn::Result<Argument>,
    has_options: bool,
}

const MARK: MacroSyntax = MacroSyntax {
    example: "a marker has a name and a format: `simple_mark!(subsystem:component, \"format %d\", x)`",
    argument,
    has_options: true,
};

const PROBE: MacroSyntax = MacroSyntax {
    example: "a probe has a name and a format: `simple_probe!(subsystem:component, \"format %d\", x)`",
    argument: probe_argument,
    has_options: false,
};

const SPAN: MacroSyntax = MacroSyntax {
    example: "a span has a name and a format: `simple_span!(subsystem:component, \"format %d\", x)`",
    ..PROBE
};

impl Marker {
    fn parse_with(input: ParseStream<'_>, kind: &MacroSyntax) -> syn::Result<Self> {
        if input.is_empty() {
            return Err(syn::Error::new(Span::call_site(), kind.example));
        }
        let name = name(input)?;
        comma(input, "a marker has a format after its name: `, \"format\"`")?;
        let format = format(input)?;
        let is_rusts = format.in_rusts_notation().is_some();
        let mut arguments = Vec::new();
        let mut options = None;
        while !input.is_empty() {
            comma(input, "expected `,` before the next argument")?;
            if input.is_empty() {
                break;
            }
            if options.is_some() {
                return Err(input.error("`options(...)` comes last"));
            }
            if !is_options(input) {
                let name = if is_rusts { argument_name(input)? } else { None };
                let argument = match (kind.argument)(input)? {
                    // All arguments of a probe are kept, and none has to say so.
                    Argument::KeptPlace { place, .. } if is_rusts && !kind.has_options => Argument::Place(place),
                    argument => argument,
                };
                arguments.push(NamedArgument { name, argument });
            } else if kind.has_options {
                options = Some(Options::parse(input)?);
            } else {
                return Err(
                    input.error("a probe has no options: its arguments are always kept, at an instruction of its own")
                );
            }
        }
        let Options { keep, anchor, ghost } = options.unwrap_or_default();
        let mut refusal = None;
        let mut arguments: Vec<Argument> = match format.in_rusts_notation() {
            None => arguments.into_iter().map(|it| it.argument).collect(),
            Some(literal) => match rust_format::arrange(literal, arguments)? {
                Arrangement::Arguments(arguments) => arguments,
                Arrangement::Refusal(tokens) => {
                    refusal = Some(tokens);
                    Vec::new()
                }
            },
        };
        if keep {
            arguments = arguments.into_iter().map(Argument::into_kept).collect();
        }
        if let Some(kept) = arguments.iter().find(|argument| ghost && argument.is_kept()) {
            return Err(syn::Error::new(
                kept.span(),
                "a ghost is no code, so it keeps no value: mark the place without `keep`",
            ));
        }
        if ghost && format.has_values() {
            return Err(syn::Error::new(
                format.span(),
                "a ghost has no site, whose record would have the values of the words: write them as numbers",
            ));
        }
        Ok(Self { name, format, arguments, anchor, is_ghost: ghost, refusal })
    }
}

fn comma(input: ParseStream<'_>, otherwise: &str) -> syn::Result<()> {
    if input.is_empty() {
        return Err(syn::Error::new(Span::call_site(), otherwise));
    }
    input.parse::<Token![,]>().map(drop).map_err(|error| syn::Error::new(error.span(), otherwise))
}

/// Identifiers joined by `:`, or a string.
fn name(input: ParseStream<'_>) -> syn::Result<String> {
    const WANTED: &str = "a marker's name is identifiers joined by `:` (`subsystem:component`) or a string literal";
    if input.peek(LitStr) {
        let literal: LitStr = input.parse()?;
        let name = without_nul(&literal)?;
        if name.is_empty() {
            return Err(syn::Error::new(literal.span(), "a marker's name is not empty"));
        }
        return Ok(name);
    }
    let mut name = String::new();
    loop {
        let part = input.call(Ident::parse_any).map_err(|error| syn::Error::new(error.span(), WANTED))?;
        name.push_str(&part.unraw().to_string());
        if input.peek(Token![::]) || !input.peek(Token![:]) {
            break;
        }
        input.parse::<Token![:]>()?;
        name.push(':');
    }
    if input.peek(Token![,]) || input.is_empty() { Ok(name) } else { Err(input.error(WANTED)) }
}

fn format(input: ParseStream<'_>) -> syn::Result<Format> {
    let format: LitStr = input.parse().map_err(|error| {
        syn::Error::new(error.span(), "a marker's format must be a string literal, because it is read at compile time")
    })?;
    without_nul(&format)?;
    Format::of_marker(format)
}

fn without_nul(literal: &LitStr) -> syn::Result<String> {
    let value = literal.value();
    if value.contains('\0') {
        return Err(syn::Error::new(literal.span(), "a NUL would end the string in the record: remove it"));
    }
    Ok(value)
}

fn is_options(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    fork.parse::<Ident>().is_ok_and(|ident| ident == "options") && fork.peek(syn::token::Paren)
}

/// The instructions of a marker's own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// `anchor`: one `nop`.
    Plain,
    /// `anchor = fast`: on x86-64 a `nop` and one that new kernels rewrite to a call.
    Fast,
}

/// What `options(..)` asks for.
#[derive(Clone, Copy, Default)]
struct Options {
    /// Every argument is kept.
    keep: bool,
    anchor: Option<Anchor>,
    ghost: bool,
}

impl Options {
    /// `options(keep)`, `options(anchor)` or `options(anchor = fast)`, or two of them in either order;
    /// `options(ghost)`.
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        const KNOWN: &str = "the options of a marker are `keep` and `anchor`, or `ghost`";
        const FAST: &str = "an anchor is `anchor`, or `anchor = fast`";
        let start: Ident = input.parse()?;
        let content;
        parenthesized!(content in input);
        if content.is_empty() {
            return Err(syn::Error::new(start.span(), KNOWN));
        }
        let mut options = Self::default();
        while !content.is_empty() {
            let option: Ident = content.parse().map_err(|error| syn::Error::new(error.span(), KNOWN))?;
            let was_set = match option.to_string().as_str() {
                "keep" => std::mem::replace(&mut options.keep, true),
                "anchor" => {
                    let mut anchor = Anchor::Plain;
                    if content.parse::<Option<Token![=]>>()?.is_some() {
                        let kind: Ident = content.parse().map_err(|error| syn::Error::new(error.span(), FAST))?;
                        if kind != "fast" {
                            return Err(syn::Error::new(kind.span(), FAST));
                        }
                        anchor = Anchor::Fast;
                    }
                    options.anchor.replace(anchor).is_some()
                }
                "ghost" => std::mem::replace(&mut options.ghost, true),
                _ => return Err(syn::Error::new(option.span(), KNOWN)),
            };
            if was_set {
                return Err(syn::Error::new(
                    option.span(),
                    format!("the option `{option}` is there twice: remove one"),
                ));
            }
            if options.ghost && (options.keep || options.anchor.is_some()) {
                return Err(syn::Error::new(
                    option.span(),
                    "a ghost is no code: it has no instruction for `anchor` and no operand for `keep`",
                ));
            }
            if content.is_empty() {
                break;
            }
            content.parse::<Token![,]>().map_err(|error| syn::Error::new(error.span(), KNOWN))?;
        }
        Ok(options)
    }
}

fn argument(input: ParseStream<'_>) -> syn::Result<Argument> {
    if is_keep(input) {
        input.parse::<Ident>()?;
        return kept(input);
    }
    let expression: Expr = input.parse()?;
    Place::new(expression).map(Argument::Place)
}

/// The name of an argument for a format in Rust's notation: `name = place`.
fn argument_name(input: ParseStream<'_>) -> syn::Result<Option<Ident>> {
    let is_named = input.peek(Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) && !input.peek2(Token![=>]);
    if !is_named {
        return Ok(None);
    }
    let name = input.parse()?;
    input.parse::<Token![=]>()?;
    Ok(Some(name))
}

/// `x`, `value`, `name = value`; `keep` before them has no further meaning.
fn probe_argument(input: ParseStream<'_>) -> syn::Result<Argument> {
    if is_keep(input) {
        input.parse::<Ident>()?;
    }
    if input.peek(Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) && !input.peek2(Token![=>]) {
        let name: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        return Ok(Argument::KeptValue {
            name: name.unraw().to_string(),
            span: name.span(),
            width: None,
            value: Box::new(input.parse()?),
        });
    }
    let fork = input.fork();
    if let Ok(place) = fork.parse().and_then(Place::new) {
        input.advance_to(&fork);
        return Ok(Argument::KeptPlace { place, width: None });
    }
    let value: Box<Expr> = Box::new(input.parse()?);
    let span = syn::spanned::Spanned::span(&value);
    Ok(Argument::KeptValue { name: as_written(&value), span, width: None, value })
}

/// The expression as text, with spaces where two words would join, behind commas, and around
/// operators with two sides.
fn as_written(expression: &Expr) -> String {
    // Not `|`, which also stands around the parameters of a closure.
    const OPERATORS: [&str; 16] =
        ["+", "-", "*", "/", "%", "^", "&", "<<", ">>", "==", "!=", "<=", ">=", "&&", "||", "as"];
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut text = String::new();
    for part in quote::ToTokens::to_token_stream(expression).to_string().split_whitespace() {
        let behind_operand = text.ends_with(|last| is_word(last) || matches!(last, ')' | ']' | '"'));
        if OPERATORS.contains(&part) && behind_operand {
            text.push(' ');
            text.push_str(part);
            text.push(' ');
            continue;
        }
        let joins = text.ends_with(is_word) && part.starts_with(is_word);
        if joins || text.ends_with(',') {
            text.push(' ');
        }
        text.push_str(part);
    }
    text
}

/// Whether `keep` is the keyword here and not a variable of that name: a place must follow. A call
/// of a function `keep` would not be a place.
fn is_keep(input: ParseStream<'_>) -> bool {
    let fork = input.fork();
    fork.parse::<Ident>().is_ok_and(|ident| ident == "keep")
        && (fork.peek(Ident::peek_any) || fork.peek(Token![*]) || fork.peek(Token![&]) || fork.peek(syn::token::Paren))
        && !fork.peek(Token![as])
}

/// What follows `keep`.
fn kept(input: ParseStream<'_>) -> syn::Result<Argument> {
    let named = input.peek(Ident)
        && ((input.peek2(Token![=]) && !input.peek2(Token![==]) && !input.peek2(Token![=>]))
            || (input.peek2(Token![:]) && !input.peek2(Token![::])));
    if !named {
        let expression: Expr = input.parse()?;
        let span = syn::spanned::Spanned::span(&expression);
        return Place::new(expression)
            .map(|place| Argument::KeptPlace { place, width: None })
            .map_err(|_| syn::Error::new(span, "give the kept value a name: `keep name = ...`"));
    }
    let name: Ident = input.parse()?;
    let width = if input.peek(Token![:]) {
        input.parse::<Token![:]>()?;
        Some(input.parse()?)
    } else {
        None
    };
    if !input.peek(Token![=]) {
        let place = Place::new(syn::parse_quote!(#name))?;
        return Ok(Argument::KeptPlace { place, width });
    }
    input.parse::<Token![=]>()?;
    Ok(Argument::KeptValue { name: name.unraw().to_string(), span: name.span(), width, value: input.parse()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_named_as_it_is_written() {
        let named = |text: &str| as_written(&syn::parse_str(text).expect("an expression"));
        for text in [
            "b * 3",
            "-1i32",
            "x as u32",
            "self.queue.len()",
            "f(a, b[i + 1])",
            "&*name",
            "!a & b",
            "a - -b",
            "v.iter().map(|x|x + 1).max()",
        ] {
            assert_eq!(named(text), text);
        }
        assert_eq!(named("self . a(  1,2 )"), "self.a(1, 2)");
    }
}
