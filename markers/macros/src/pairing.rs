//! Assigns the arguments of a marker to the conversions of its format.

use proc_macro2::Span;
use simple_markers_record::conversion;
use simple_markers_record::printf::{self, Length, Piece};
use simple_markers_record::specifier::Specifier;
use simple_markers_record::value_form::ValueForm;
use syn::{Expr, Lit, Member, Type};

use crate::argument::Argument;
use crate::errors::Errors;
use crate::member;
use crate::syntax::Marker;

/// An argument with its conversion.
pub(crate) struct Pair<'a> {
    pub(crate) shown: FormatUse,
    /// Whether the conversion has `{}`: the debug information names the values of the argument.
    pub(crate) is_named: bool,
    /// The paths to the members that `%p{a,b.c}` shows.
    pub(crate) members: Vec<Vec<Member>>,
    pub(crate) argument: &'a Argument,
}

impl Pair<'_> {
    /// Whether the argument is shown by its type.
    pub(crate) fn shows_value(&self) -> bool {
        matches!(self.shown, FormatUse::Whole | FormatUse::Formatted)
    }

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
    /// `%p{}`, `%p{*}` or `%p{a,b.c}` shows the value, or a part of it.
    Whole,
    /// `%p{:SPEC}` shows it as Rust's `{:SPEC}` does.
    Formatted,
}

/// What the format wants as an argument.
struct Want {
    shown: FormatUse,
    is_named: bool,
    members: Vec<Vec<Member>>,
    /// The conversion as written.
    text: String,
}

/// The arguments of `marker`, each with its conversion, in their order.
///
/// Fails if the format is malformed, has a conversion without a Rust type, or takes another number
/// of arguments than the marker has. All errors are reported at once.
pub(crate) fn pair(marker: &Marker) -> syn::Result<Vec<Pair<'_>>> {
    let format = marker.format.declared();
    let mut errors = Errors::default();
    let placeholders = marker.format.placeholders();
    let conversion = printf::parse(format.as_bytes()).find_map(|piece| match piece {
        Ok(Piece::Conversion(conversion)) => format.get(conversion.range),
        _ => None,
    });
    for placeholder in placeholders {
        errors.push(marker.format.span(), two_notations(placeholder, conversion.unwrap_or("%d")));
    }
    errors.finish()?;
    let mut errors = Errors::default();
    let mut wanted = Vec::new();
    for piece in printf::parse(format.as_bytes()) {
        match piece {
            Ok(Piece::Literal(_) | Piece::Percent(_)) => {}
            Ok(Piece::Conversion(conversion)) => {
                let text = format.get(conversion.range.clone()).unwrap_or_default().to_owned();
                if conversion::accepts(conversion.length, conversion.specifier).is_empty() {
                    errors.push(marker.format.span(), no_such_type(&text, conversion.length, conversion.specifier));
                }
                if let Some(mistake) = conversion.mistake(format.as_bytes()) {
                    let wrong = format.get(mistake.range).unwrap_or_default();
                    errors.push(marker.format.span(), format!("{}, at `{wrong}`", mistake.kind));
                }
                let star = || Want { shown: FormatUse::Star, is_named: false, members: Vec::new(), text: text.clone() };
                wanted.extend((0..conversion.stars()).map(|_| star()));
                wanted.push(Want::new(&conversion, &format, text.clone(), marker.format.span(), &mut errors));
            }
            Err(error) => {
                let bytes = format.as_bytes().get(error.range.clone()).unwrap_or_default();
                errors.push(marker.format.span(), format!("{error}, at `{}`", String::from_utf8_lossy(bytes)));
            }
        }
    }
    errors.finish()?;
    let mut errors = Errors::default();
    for Want { shown, text, .. } in wanted.iter().skip(marker.arguments.len()) {
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
    let mut errors = Errors::default();
    let pairs: Vec<Pair<'_>> = wanted
        .into_iter()
        .zip(&marker.arguments)
        .map(|(Want { shown, is_named, members, .. }, argument)| Pair { shown, is_named, members, argument })
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

impl Want {
    fn new(conversion: &printf::Conversion, format: &str, text: String, span: Span, errors: &mut Errors) -> Self {
        let is_named = conversion.words(format.as_bytes()).is_some_and(|words| words.is_empty());
        let (shown, members) = match conversion.form(format.as_bytes()) {
            None => (FormatUse::By(conversion.length, conversion.specifier), Vec::new()),
            Some(ValueForm::Whole | ValueForm::Levels(_)) => (FormatUse::Whole, Vec::new()),
            Some(ValueForm::Formatted(_)) => (FormatUse::Formatted, Vec::new()),
            Some(ValueForm::Members(paths)) => {
                let members = paths.iter().filter_map(|path| {
                    let members = member::members(path, member::of_member(span));
                    if members.is_none() {
                        errors.push(span, format!("`{}` of `{text}` is no path to a member", path.as_str()));
                    }
                    members
                });
                (FormatUse::Whole, members.collect())
            }
        };
        Self { shown, is_named, members, text }
    }
}

/// Fails if an argument of a marker is kept that `%p{..}` cannot show then.
pub(crate) fn check_kept(pairs: &[Pair<'_>]) -> syn::Result<()> {
    let mut errors = Errors::default();
    for pair in pairs.iter().filter(|pair| pair.argument.is_kept()) {
        if let Some(message) = not_kept(pair) {
            errors.push(pair.argument.span(), message);
        }
    }
    errors.finish()
}

/// Fails if a whole value of a probe is no place: a tool finds the type by the place.
pub(crate) fn check_probe(pairs: &[Pair<'_>]) -> syn::Result<()> {
    let mut errors = Errors::default();
    for pair in pairs.iter().filter(|pair| pair.shows_value()) {
        if let Argument::KeptValue { name, .. } = pair.argument {
            errors.push(
                pair.argument.span(),
                format!(
                    "`%p{{..}}` and `{{}}` show a value by the type that the debug information has for its place, and `{name}` \
                     is no place: bind it to a variable first, or use a conversion such as `%lu` or `%s`"
                ),
            );
        }
    }
    errors.finish()
}

/// Why a kept argument cannot be shown as `%p{..}` does; `None` if it can.
fn not_kept(pair: &Pair<'_>) -> Option<String> {
    let name = pair.argument.text();
    match pair.shown {
        FormatUse::Whole => Some(format!(
            "`%p{{}}` and `{{:?}}` show a whole value, and a kept value is one number or pointer: keep the members of `{name}` \
             that you want, or write no `keep`"
        )),
        FormatUse::Formatted if kept_type(pair.argument).is_none() => {
            let typed = match pair.argument {
                Argument::KeptPlace { place, .. } if !matches!(place.expression, Expr::Path(_)) => {
                    format!("keep name: u64 = {name}")
                }
                _ => format!("keep {name}: u64"),
            };
            Some(format!(
                "the macro does not know the type of `{name}`, which decides how it is kept: write it, as in `{typed}`, or use a \
                 conversion of printf, such as `%lu` for a u64"
            ))
        }
        FormatUse::Formatted | FormatUse::By(..) | FormatUse::Star => None,
    }
}

/// The type of a kept argument, if it is a primitive type that is written in the argument.
pub(crate) fn kept_type(argument: &Argument) -> Option<String> {
    written_type(argument).filter(|of| conversion_for(of).is_some_and(|conversion| conversion != "%s"))
}

fn arguments(count: usize) -> String {
    match count {
        0 => "no argument".to_owned(),
        1 => "1 argument".to_owned(),
        count => format!("{count} arguments"),
    }
}

/// What is wrong with a placeholder beside a conversion.
fn two_notations(placeholder: &str, conversion: &str) -> String {
    let inner = placeholder.trim_matches(['{', '}']);
    format!(
        "`{placeholder}` is Rust's notation, and `{conversion}` is that of printf: write `{{}}` in place of `{conversion}`, or a \
         conversion in place of `{placeholder}`, such as `%d` for an i32; the text `{placeholder}` is written `{{{{{inner}}}}}`"
    )
}

/// The type of an argument, if it is written in the argument: in `keep x: T`, in a cast, or by a literal. A
/// macro does not know the types of variables.
fn written_type(argument: &Argument) -> Option<String> {
    match argument {
        Argument::Place(_) => None,
        Argument::KeptPlace { width, .. } => named_type(width.as_ref()?),
        Argument::KeptValue { width: Some(width), .. } => named_type(width),
        Argument::KeptValue { value, .. } => match value.as_ref() {
            Expr::Cast(cast) => named_type(&cast.ty),
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => Some(number.suffix().to_owned()),
                Lit::Float(_) => Some("f64".to_owned()),
                Lit::Bool(_) => Some("bool".to_owned()),
                Lit::Char(_) => Some("char".to_owned()),
                Lit::Str(_) => Some("str".to_owned()),
                _ => None,
            },
            _ => None,
        },
    }
}

/// The conversion for a primitive type.
fn conversion_for(of: &str) -> Option<&'static str> {
    Some(match of {
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
    })
}

/// The name of a type without a path.
fn named_type(of: &Type) -> Option<String> {
    match of {
        // Another macro passed the type on as `$t:ty`.
        Type::Group(group) => named_type(&group.elem),
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

#[cfg(test)]
mod tests {
    use simple_markers_record::names;

    use super::*;
    use crate::syntax::ProbeInvocation;

    /// The error of a marker, or nothing.
    fn error(marker: &str) -> String {
        let parsed = syn::parse_str::<Marker>(marker);
        parsed.and_then(|marker| pair(&marker).map(drop)).map_or_else(|error| error.to_string(), |()| String::new())
    }

    /// The error of a probe, or nothing.
    fn error_of_probe(probe: &str) -> String {
        let parsed = syn::parse_str::<ProbeInvocation>(&format!("crate x86_64 goto {probe}"));
        let checked = parsed.and_then(|probe| check_probe(&pair(&probe.marker)?));
        checked.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn a_probe_shows_places_as_whole_values() {
        for right in [
            r#"a, "{id} of {c.name:?}, {}", q.depth"#,
            r#"a, "%p{} %p{a,b.0} %lu", *x, y, z + 1"#,
            r#"a, "{n} {n}", n = self.n"#,
        ] {
            assert_eq!(error_of_probe(right), "", "{right}");
        }
        for (wrong, name) in
            [(r#"a, "{}", f(x)"#, "f(x)"), (r#"a, "%p{}", n = v.len()"#, "n"), (r#"a, "{n}", n = 5"#, "5")]
        {
            let error = error_of_probe(wrong);
            assert!(error.contains(&format!("`{name}` is no place: bind it to a variable first")), "{error}");
        }
        assert!(error_of_probe(r#"a, "{x} %d", x, 5"#).contains("is Rust's notation"));
    }

    #[test]
    fn placeholders_beside_conversions_are_errors() {
        assert_eq!(
            error(r#"a, "{x} %lu %d", y, z"#),
            "`{x}` is Rust's notation, and `%lu` is that of printf: write `{}` in place of `%lu`, or a conversion in place of \
             `{x}`, such as `%d` for an i32; the text `{x}` is written `{{x}}`"
        );
    }

    /// The format and the arguments as the record has them.
    fn recorded(marker: &str) -> (String, String) {
        let marker: Marker = syn::parse_str(marker).unwrap_or_else(|error| panic!("{marker}: {error}"));
        assert!(marker.refusal.is_none());
        let pairs = pair(&marker).unwrap();
        let arguments: Vec<_> = pairs.iter().map(|pair| pair.argument.text()).collect();
        (marker.format.declared(), arguments.join(", "))
    }

    #[test]
    fn formats_in_rusts_notation_have_an_argument_for_each_placeholder() {
        for (marker, format, arguments) in [
            (
                r#"a, "request {id} from {c.name:?}, {} waiting", q.depth"#,
                "request %p{:} from %p{}, %p{:} waiting",
                "id, c.name, q.depth",
            ),
            (r#"a, "{0} {1:#x} {0:?} {}", x, *y"#, "%p{:} %p{:#x} %p{} %p{:}", "x, *y, x, x"),
            (
                r#"a, "{depth} of {self.type.0}", depth = self.queue.depth"#,
                "%p{:} of %p{:}",
                "self.queue.depth, self.type.0",
            ),
            (r#"a, "{x} {n} 5% done", keep n: u8 = f(), keep x: u32"#, "%p{:} %p{:} 5%% done", "x, n"),
            (r#"a, "{{x}} %d", x"#, "{x} %d", "x"),
        ] {
            assert_eq!(recorded(marker), (format.to_owned(), arguments.to_owned()), "{marker}");
        }
        let kept: Marker = syn::parse_str(r#"a, "{x} {n} {y}", keep n: u8 = f(), keep x: u32"#).unwrap();
        assert_eq!(kept.arguments.iter().map(Argument::is_kept).collect::<Vec<_>>(), [true, true, false]);
        assert!(syn::parse_str::<Marker>(r#"a, "{} {}", x"#).unwrap().refusal.is_some());
        assert!(syn::parse_str::<Marker>(r#"a, "{}", x, y"#).unwrap().refusal.is_some());
        assert!(syn::parse_str::<Marker>(r#"a, "{} }""#).unwrap().refusal.is_some());
        for (marker, message) in [
            (
                r#"a, "{:.*}", 5, x"#,
                "a width or precision is a number here, because nothing of a marker is evaluated: `$` and `*` \
                 take an argument, at `{:.*}`",
            ),
            (r#"a, "{x.y} {}""#, "1 positional argument in the format, but there are 0 arguments"),
            (r#"a, "{x.y} {2}", x"#, "invalid reference to positional argument 2 (there is 1 argument)"),
            (r#"a, "{x.y}", x.y"#, "redundant argument: the format has `{x.y}`, remove it"),
            (r#"a, "{x.y}", x"#, "argument never used: write `{}` into the format"),
            (r#"a, "{x.y} }""#, "unmatched `}` in the format: write `}}` for the text `}`, at `}`"),
            (
                r#"a, "{n} {n}", keep n = f()"#,
                "`n` would be evaluated for each placeholder: bind it to a variable first, and write `keep n`",
            ),
        ] {
            assert_eq!(error(marker), message);
        }
    }

    #[test]
    fn whole_values_have_members_and_are_not_kept() {
        let parsed: Marker = syn::parse_str(r#"a, "%p{a,b.0.type} %p{*} %p{:x} %p", x, y, z, p"#).unwrap();
        let pairs = pair(&parsed).unwrap();
        let path = |path: &Vec<Member>| quote::quote! { #(#path).* }.to_string();
        let members: Vec<Vec<String>> = pairs.iter().map(|pair| pair.members.iter().map(path).collect()).collect();
        assert_eq!(members[0], ["a", "b . 0 . r#type"]);
        assert!(members[1..].iter().all(Vec::is_empty));
        let shown = pairs.iter().map(|pair| match pair.shown {
            FormatUse::Whole => "whole",
            FormatUse::Formatted => "formatted",
            FormatUse::By(..) | FormatUse::Star => "converted",
        });
        assert_eq!(shown.collect::<Vec<_>>(), ["whole", "whole", "formatted", "converted"]);
        let kept = |marker: &str| {
            let marker: Marker = syn::parse_str(marker).unwrap();
            check_kept(&pair(&marker).unwrap()).map_or_else(|error| error.to_string(), |()| String::new())
        };
        assert!(kept(r#"a, "%p{}", keep x"#).contains("keep the members of `x`"));
        assert!(kept(r#"a, "%p{:x}", keep x"#).contains("`keep x: u64`"));
        assert!(kept(r#"a, "%p{:x}", keep x.y"#).contains("`keep name: u64 = x.y`"));
        assert!(kept(r#"a, "%p{:x}", keep x: Other"#).contains("does not know the type"));
        for right in ["%p{:x}\", keep x: u8", "%p{:x}\", keep x = y as u8", "%p\", keep x", "%p{}\", x"] {
            assert_eq!(kept(&format!("a, \"{right}")), "", "{right}");
        }
        assert_eq!(error(r#"a, "%p{a,}", x"#), format!("{}, at `a,`", names::MistakeKind::Path));
        assert_eq!(error(r#"a, "%p{self}", x"#), "`self` of `%p{self}` is no path to a member");
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
