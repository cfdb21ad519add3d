//! Assigns the arguments of a marker to the conversions of its format.

use proc_macro2::Span;
use simple_markers_record::printf::{self, Length, Piece};
use simple_markers_record::specifier::Specifier;
use simple_markers_record::{conversion, names};
use syn::{Expr, Lit, Type};

use crate::syntax::{Argument, Marker};

/// An argument with its conversion.
pub(crate) struct Pair<'a> {
    pub(crate) shown: FormatUse,
    /// Whether the conversion has `{}`: the debug information names the values of the argument.
    pub(crate) is_named: bool,
    pub(crate) argument: &'a Argument,
}

impl Pair<'_> {
    /// Whether `%p` shows the address of a place: `&x`. Every other conversion shows the place.
    pub(crate) fn shows_address(&self) -> bool {
        self.argument.is_address() && matches!(self.shown, FormatUse::By(_, specifier) if specifier.letter() == 'p')
    }
}

/// How the format uses an argument.
#[derive(Clone, Copy)]
pub(crate) enum FormatUse {
    /// A conversion prints it.
    By(Length, Specifier),
    /// It is a width or a precision, written `*`.
    Star,
}

/// The arguments of `marker`, each with its conversion, in their order.
///
/// Fails if the format is malformed, has a conversion without a Rust type, or takes another number
/// of arguments than the marker has. All errors are reported at once.
pub(crate) fn pair(marker: &Marker) -> syn::Result<Vec<Pair<'_>>> {
    let format = marker.format.declared();
    let mut errors = Errors(None);
    let placeholders = marker.format.placeholders();
    // With a conversion or a name among them, the arguments are not in their order.
    let is_in_order = placeholders.len() == marker.arguments.len() && placeholders.iter().all(|text| text == "{}");
    for (index, placeholder) in placeholders.iter().enumerate() {
        let argument = marker.arguments.get(index).filter(|_| is_in_order);
        errors.push(marker.format.span(), no_placeholder(placeholder, argument));
    }
    errors.finish()?;
    let mut errors = Errors(None);
    let mut wanted = Vec::new();
    for piece in printf::parse(format.as_bytes()) {
        match piece {
            Ok(Piece::Literal(_) | Piece::Percent(_)) => {}
            Ok(Piece::Conversion(conversion)) => {
                let text = format.get(conversion.range.clone()).unwrap_or_default().to_owned();
                if conversion::accepts(conversion.length, conversion.specifier).is_empty() {
                    errors.push(marker.format.span(), no_such_type(&text, conversion.length, conversion.specifier));
                }
                let at = conversion.written().end;
                if let Some(mistake) = names::mistake(format.as_bytes(), at, conversion.specifier) {
                    let wrong = format.get(mistake.range).unwrap_or_default();
                    errors.push(marker.format.span(), format!("{}, at `{wrong}`", mistake.kind));
                }
                let is_named = conversion.words(format.as_bytes()).is_some_and(|words| words.is_empty());
                wanted.extend((0..conversion.stars()).map(|_| (FormatUse::Star, false, text.clone())));
                wanted.push((FormatUse::By(conversion.length, conversion.specifier), is_named, text));
            }
            Err(error) => {
                let bytes = format.as_bytes().get(error.range.clone()).unwrap_or_default();
                errors.push(marker.format.span(), format!("{error}, at `{}`", String::from_utf8_lossy(bytes)));
            }
        }
    }
    errors.finish()?;
    let mut errors = Errors(None);
    for (shown, _, text) in wanted.iter().skip(marker.arguments.len()) {
        let what = if matches!(shown, FormatUse::Star) { format!("the `*` of `{text}`") } else { format!("`{text}`") };
        errors.push(
            marker.format.span(),
            format!(
                "{what} has no argument: the format wants {}, given {}: add one",
                wanted.len(),
                marker.arguments.len()
            ),
        );
    }
    for extra in marker.arguments.iter().skip(wanted.len()) {
        errors.push(
            extra.span(),
            format!(
                "no conversion shows `{}`: the format wants {}, given {}: add one to the format",
                extra.text(),
                arguments(wanted.len()),
                marker.arguments.len()
            ),
        );
    }
    errors.finish()?;
    let mut errors = Errors(None);
    let pairs: Vec<Pair<'_>> = wanted
        .into_iter()
        .zip(&marker.arguments)
        .map(|((shown, is_named, _), argument)| Pair { shown, is_named, argument })
        .collect();
    for pair in pairs.iter().filter(|pair| pair.is_named) {
        if let Argument::KeptValue { name, .. } = pair.argument {
            errors.push(pair.argument.span(), format!(
                "the debug information has no names for an expression (`{name}`): mark a place of an enumeration, or write \
                 the names into the braces, as in `{{IDLE=0,BUSY=1}}`"
            ));
        } else if pair.argument.is_address() {
            errors.push(pair.argument.span(), "`{}` shows an enumeration, not an address: remove the `&`".to_owned());
        }
    }
    errors.finish()?;
    Ok(pairs)
}

fn arguments(count: usize) -> String {
    match count {
        0 => "no argument".to_owned(),
        1 => "1 argument".to_owned(),
        count => format!("{count} arguments"),
    }
}

fn no_placeholder(text: &str, argument: Option<&Argument>) -> String {
    if let Some((argument, (of, conversion))) = argument.and_then(|of| Some((of, written_type(of)?))) {
        return format!(
            "`{text}` is no conversion, because a format is that of printf: write `{conversion}` for `{}`, which is {of}",
            argument.text()
        );
    }
    let inner = text.trim_matches(['{', '}']);
    let name = inner.split(':').next().unwrap_or_default();
    let behind = match name.starts_with(|first: char| first == '_' || first.is_alphabetic()) {
        true => format!(", and `{name}` behind the format"),
        false => String::new(),
    };
    format!(
        "`{text}` is no conversion, because a format is that of printf: write `%d` for an i32, `%u` for a u32, `%lu` for a u64, \
         `%zu` for a usize, `%f` for a float or `%s` for text{behind}; the text `{{{inner}}}` is written `{{{{{inner}}}}}`"
    )
}

/// The type of an argument, and the conversion for it, if the type is written in the argument: in
/// `keep x: T`, in a cast, or by a literal. A macro does not know the types of variables.
fn written_type(argument: &Argument) -> Option<(String, &'static str)> {
    let of = match argument {
        Argument::Place(_) => return None,
        Argument::KeptPlace { width, .. } => named_type(width.as_ref()?)?,
        Argument::KeptValue { width: Some(width), .. } => named_type(width)?,
        Argument::KeptValue { value, .. } => match value.as_ref() {
            Expr::Cast(cast) => named_type(&cast.ty)?,
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => number.suffix().to_owned(),
                Lit::Float(_) => "f64".to_owned(),
                Lit::Bool(_) => "bool".to_owned(),
                Lit::Char(_) => "char".to_owned(),
                Lit::Str(_) => "str".to_owned(),
                _ => return None,
            },
            _ => return None,
        },
    };
    let conversion = match of.as_str() {
        "i8" => "%hhd",
        "i16" => "%hd",
        "i32" | "bool" => "%d",
        "i64" => "%ld",
        "isize" => "%zd",
        "u8" => "%hhu",
        "u16" => "%hu",
        "u32" => "%u",
        "u64" => "%lu",
        "usize" => "%zu",
        "char" => "%c",
        "f32" | "f64" => "%f",
        "str" => "%s",
        _ => return None,
    };
    let article = if of.starts_with('i') || of.starts_with('f') { "an" } else { "a" };
    Some((format!("{article} {of}"), conversion))
}

/// The name of a type without a path.
fn named_type(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) if path.qself.is_none() => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

fn no_such_type(text: &str, length: Length, specifier: Specifier) -> String {
    let plain = specifier.letter();
    match length {
        Length::BigL => format!("`{text}` is for C's long double, which Rust does not have: use `%{plain}`"),
        _ => format!("`{text}`: `%{plain}` takes no length modifier `{}`: use `%{plain}`", length.as_str()),
    }
}

/// Errors, combined into one.
struct Errors(Option<syn::Error>);

impl Errors {
    fn push(&mut self, span: Span, message: String) {
        let error = syn::Error::new(span, message);
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    fn finish(self) -> syn::Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a marker, or nothing.
    fn error(marker: &str) -> String {
        let parsed = syn::parse_str::<Marker>(marker);
        parsed.and_then(|marker| pair(&marker).map(drop)).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn placeholders_of_format_are_errors() {
        let which = "is no conversion, because a format is that of printf: write `%d` for an i32, `%u` for a u32, `%lu` for a u64, \
                     `%zu` for a usize, `%f` for a float or `%s` for text";
        assert_eq!(
            error(r#"a, "request {id}""#),
            format!("`{{id}}` {which}, and `id` behind the format; the text `{{id}}` is written `{{{{id}}}}`")
        );
        assert_eq!(error(r#"a, "{:?}", x"#), format!("`{{:?}}` {which}; the text `{{:?}}` is written `{{{{:?}}}}`"));
    }

    /// Only a type that is written is known.
    #[test]
    fn a_placeholder_names_the_conversion_of_a_written_type() {
        let right = |argument: &str| {
            let error = error(&format!(r#"a, "{{}}", {argument}"#));
            error.split_once("printf: write ").map(|(_, right)| right.to_owned()).unwrap_or(error)
        };
        for (argument, says) in [
            ("keep x: u64", "`%lu` for `x`, which is a u64"),
            ("keep n = v.len() as u32", "`%u` for `n`, which is a u32"),
            ("keep n: i16 = f()", "`%hd` for `n`, which is an i16"),
            ("keep n = 5u8", "`%hhu` for `n`, which is a u8"),
            ("keep n = 'c'", "`%c` for `n`, which is a char"),
            ("keep n = 0.5", "`%f` for `n`, which is an f64"),
        ] {
            assert_eq!(right(argument), says);
        }
        for argument in ["x", "keep x", "keep n = v.len()", "keep n = 5", "keep n: Other = f()", "keep n = a as m::u8"]
        {
            assert!(right(argument).starts_with("`%d` for an i32, "), "{argument}");
        }
        // It is not known which argument is meant.
        assert!(error(r#"a, "{} %d", keep x: u64, y"#).contains("`%d` for an i32, "));
        assert!(error(r#"a, "{x}", keep x: u64"#).contains("`%d` for an i32, "));
    }

    #[test]
    fn mistakes_in_words_are_errors() {
        let wrong = [
            (r#"a, "%u{A=1,A=2}", x"#, "a name is twice in the braces: remove one, at `A=2`"),
            (r#"a, "%u{=1}", x"#, "a word in braces has no name before its `=`, at `=1`"),
            (r#"a, "%u{A=1,B}", x"#, "a word in braces has no value: write `NAME=VALUE`, at `B`"),
            (r#"a, "%s{A=1}", x"#, "only an integer conversion (d i u o x X b B) takes words in braces, at `A=1`"),
            (
                r#"a, "%d{A=1 +}", x"#,
                "`1 +` in braces is no constant expression: the words of a conversion are `NAME=VALUE`",
            ),
            (r#"a, "%d{}", &x"#, "`{}` shows an enumeration, not an address: remove the `&`"),
        ];
        for (marker, message) in wrong {
            assert_eq!(error(marker), message);
        }
        assert!(error(r#"a, "%u{A=1|B=2,C=3}", x"#).starts_with("words in braces are separated either by"));
        assert!(
            error(r#"a, "%d{}", keep n = f()"#)
                .starts_with("the debug information has no names for an expression (`n`)")
        );
        for right in
            ["%u{A=1,B=f(2),}", "%x{A::B|C::D|}", "%u{", "%u{}", "%u{a b}", "%d {A=1,A=2}", "%d{a=%%", "{{}} %d {{x}}"]
        {
            assert_eq!(error(&format!("a, \"{right}\", x")), "", "{right}");
        }
    }
}
