//! A hit as text and as JSON.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use simple_markers_record::printf::{Conversion, Count, Piece, parse};
use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::resolve::names_of;
use simple_markers_resolver::text::from_bytes;
use simple_markers_resolver::types::{
    Language, Limits, MemoryFunction, Names, Object, ReadContext, Shape, Type, printf,
};

use crate::function_names::{FunctionNames, NoFunctions};
use crate::hit::Hit;
use crate::plan::{Placeholder, PlannedArgument};
use crate::value::{Missing, Value};

/// A marker's format, parsed.
#[derive(Clone, Debug)]
pub struct Format {
    text: Arc<str>,
    pieces: Vec<Piece>,
    /// The names of each argument.
    names: Vec<Option<Arc<Names>>>,
}

impl Format {
    /// Parses a format. A malformed conversion and what follows it are literal text.
    #[must_use]
    pub fn new(text: &Arc<str>) -> Self {
        let mut pieces = Vec::new();
        for piece in parse(text.as_bytes()) {
            match piece {
                Ok(piece) => pieces.push(piece),
                Err(error) => {
                    pieces.push(Piece::Literal(error.range.start..text.len()));
                    break;
                }
            }
        }
        Self { text: Arc::clone(text), pieces, names: names_of(text) }
    }

    /// Appends what the format says of a hit. A value that is missing stands as `<lost>`,
    /// `<doubtful>` or `<unreadable>`. A question mark follows a value that is doubtful, and two dots a
    /// text that is cut.
    pub fn write(&self, hit: &Hit<'_>, out: &mut String) {
        self.write_named(hit, &NoFunctions, out);
    }

    /// The same with the names of the functions whose addresses values have.
    pub fn write_named(&self, hit: &Hit<'_>, functions: &dyn FunctionNames, out: &mut String) {
        let names = self.names.iter().map(Option::as_deref).chain(std::iter::repeat(None));
        let shown = hit.site.own_arguments().iter().map(|argument| argument.shown.as_deref());
        let mut values = hit.values().zip(names.zip(shown.chain(std::iter::repeat(None))));
        for piece in &self.pieces {
            match piece {
                Piece::Literal(range) => out.push_str(self.text.get(range.clone()).unwrap_or_default()),
                Piece::Percent(_) => out.push('%'),
                Piece::Conversion(conversion) => {
                    let stars = values.by_ref().take(conversion.stars());
                    let mut is_doubtful = false;
                    let mut maybe = |value| match value {
                        Err(Missing::Doubtful(Some(value))) => {
                            is_doubtful = true;
                            Ok(value)
                        }
                        value => value,
                    };
                    let stars: Result<Vec<i64>, Missing<'_>> =
                        stars.map(|(star, _)| maybe(star).map(|star| count(&star))).collect();
                    // Without a record of the marker's arguments there are fewer values.
                    let Some((value, (names, shown))) = values.next() else { continue };
                    let from = out.len();
                    match stars.and_then(|stars| Ok((stars, maybe(value)?))) {
                        Ok((_, value)) if shown.is_some_and(|shown| shown.write(&value, hit, functions, out)) => {}
                        Ok((stars, value)) => match names.and_then(|names| value.name(names)) {
                            Some(name) => padded(conversion, &stars, &name, out),
                            None => converted(conversion, &stars, &value, out),
                        },
                        Err(missing) => {
                            _ = write!(out, "<{}>", word(&missing));
                            continue;
                        }
                    }
                    if is_doubtful {
                        mark(from, out);
                    }
                }
            }
        }
    }
}

/// Puts a question mark after what was appended from a place on: in place of the first of the blanks
/// that fill the field, if there are any.
fn mark(from: usize, out: &mut String) {
    let end = from + out.get(from..).map_or(0, |text| text.trim_end_matches(' ').len());
    match end {
        end if from < end && end < out.len() => out.replace_range(end..end + 1, "?"),
        _ => out.push('?'),
    }
}

/// The value of a `*`.
fn count(value: &Value<'_>) -> i64 {
    value.integer().and_then(|count| i64::try_from(count).ok()).unwrap_or(0)
}

/// The word for a missing value.
#[must_use]
pub fn word(missing: &Missing<'_>) -> &'static str {
    let placeholder = match missing {
        Missing::EntryUnseen => return "not seen at the entry",
        Missing::Unread(placeholder) => *placeholder,
        Missing::Doubtful(_) => Placeholder::Doubtful,
        Missing::Unreadable { .. } => Placeholder::Unreadable,
    };
    placeholder.as_str()
}

/// Appends a name in the width of a conversion.
fn padded(conversion: &Conversion, stars: &[i64], name: &str, out: &mut String) {
    let width = match conversion.width {
        None => 0,
        Some(Count::Digits(digits)) => i64::from(digits),
        Some(Count::Argument) => stars.first().copied().unwrap_or(0),
    };
    let is_left = conversion.flags.minus || width < 0;
    let fill = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX).min(WIDEST);
    let _ = match is_left {
        true => write!(out, "{name:<fill$}"),
        false => write!(out, "{name:>fill$}"),
    };
}

/// The widest field of a name.
const WIDEST: usize = 1 << 14;

/// Appends a value as a conversion writes it.
fn converted(conversion: &Conversion, stars: &[i64], value: &Value<'_>, out: &mut String) {
    let letter = conversion.specifier.letter();
    let number;
    let (of, bytes, is_cut) = match value {
        Value::Number { bits, size, kind } => {
            number = bits.to_le_bytes();
            let shape = match kind {
                _ if letter == 'p' => Shape::Pointer { to: None },
                NumberKind::Float => Shape::Float,
                NumberKind::Unicode if letter == 'c' => Shape::Character { signed: false },
                kind => Shape::Integer { signed: *kind == NumberKind::Signed },
            };
            let size = if letter == 'p' { 8 } else { *size };
            (of(shape, size.into()), number.get(..size.into()).unwrap_or_default(), false)
        }
        Value::Text { bytes, is_cut } => (text(bytes), *bytes, *is_cut),
        Value::Null => (text(b"(null)"), b"(null)".as_slice(), false),
        // No marker has one.
        Value::Array { .. } | Value::Whole(_) => return plain(value, out),
    };
    let limits = Limits { text: usize::MAX, memory: usize::MAX, ..Limits::default() };
    let memory = MemoryFunction(|_: u64, _: &mut [u8]| false);
    let context = ReadContext { limits, ..ReadContext::new(Language::Rust, &memory) };
    match printf(conversion, stars, &of, Object::new(bytes), &context) {
        Ok(rendered) => out.push_str(&rendered.text),
        // The conversion does not fit the type, as `check` says.
        Err(_) => plain(value, out),
    }
    if is_cut && conversion.precision.is_none() {
        out.push_str("..");
    }
}

fn of(shape: Shape, size: u64) -> Type {
    Type { name: Arc::from(""), size: Some(size), shape }
}

fn text(bytes: &[u8]) -> Type {
    let count = Some(bytes.len() as u64);
    let element = Arc::new(of(Shape::Integer { signed: false }, 1));
    Type { name: Arc::from(""), size: count, shape: Shape::Array { element, count, stride: None } }
}

/// Appends a value without a conversion.
fn plain(value: &Value<'_>, out: &mut String) {
    let _ = match (value.integer(), value.float(), value) {
        (Some(number), ..) => write!(out, "{number}"),
        (None, Some(number), _) => write!(out, "{number}"),
        (.., Value::Text { bytes, .. }) => write!(out, "{}", from_bytes(bytes)),
        (.., Value::Array { .. }) => {
            let numbers: Vec<String> = value.numbers().filter_map(|it| Some(it.integer()?.to_string())).collect();
            write!(out, "{{{}}}", numbers.join(", "))
        }
        _ => write!(out, "(null)"),
    };
}

/// The largest integer that every reader of JSON keeps (RFC 8259, 6).
const MAX_INTEGER: i128 = 1 << 53;

/// An integer as JSON: a text if its absolute value exceeds 2^53.
#[must_use]
pub fn json_integer(number: i128) -> Json {
    match i64::try_from(number) {
        Ok(small) if number.abs() <= MAX_INTEGER => Json::from(small),
        _ => Json::from(number.to_string()),
    }
}

/// A value as JSON: an integer (a text if its absolute value exceeds 2^53), a number, or a text.
#[must_use]
pub fn json_value(value: &Value<'_>) -> Json {
    match (value.integer(), value.float(), value) {
        (Some(number), ..) => json_integer(number),
        // JSON has no infinities and no NaN.
        (None, Some(number), _) if number.is_finite() => Json::from(number),
        (None, Some(number), _) => Json::from(number.to_string()),
        (.., Value::Text { bytes, .. }) => Json::from(from_bytes(bytes)),
        (.., Value::Array { .. }) => value.numbers().map(|number| json_value(&number)).collect(),
        _ => Json::Null,
    }
}

/// Why a value is missing, as programs read it: `lost`, `doubtful`, `unreadable`, or `unreadable at
/// 0x..`.
#[must_use]
pub fn json_why(missing: &Missing<'_>) -> String {
    match missing {
        Missing::Unreadable { at: Some(at) } => format!("unreadable at {at:#x}"),
        missing => word(missing).to_owned(),
    }
}

/// A hit of a marker as a JSON object (`docs/live.md`).
#[must_use]
pub fn json(hit: &Hit<'_>) -> Json {
    json_named(hit, &NoFunctions)
}

/// The same with the names of the functions whose addresses values have.
#[must_use]
pub fn json_named(hit: &Hit<'_>, functions: &dyn FunctionNames) -> Json {
    let args: Vec<Json> = hit
        .arguments()
        .map(|(PlannedArgument { text, names, shown, .. }, value)| {
            let mut argument = json!({ "text": &**text, "value": null, "why": null });
            let Some(object) = argument.as_object_mut() else { return argument };
            let mut insert = |name: &str, value: Json| _ = object.insert(name.to_owned(), value);
            let json = |value: &Value<'_>| {
                let shown = shown.as_ref().and_then(|shown| shown.json(value, hit, functions));
                shown.unwrap_or_else(|| json_value(value))
            };
            let name = |value: &Value<'_>| names.as_ref().and_then(|names| value.name(names));
            if let Ok(value) | Err(Missing::Doubtful(Some(value))) = &value {
                value.is_changing().then(|| insert("changing", true.into()));
            }
            match &value {
                Ok(value) => {
                    insert("value", json(value));
                    name(value).into_iter().for_each(|name| insert("name", name.into()));
                }
                Err(missing) => {
                    insert("why", json_why(missing).into());
                    if let Missing::Doubtful(Some(maybe)) = missing {
                        insert("maybe", json(maybe));
                        name(maybe).into_iter().for_each(|name| insert("maybe_name", name.into()));
                    }
                }
            }
            argument
        })
        .collect();
    let site = hit.address.map(|site| site.to_string());
    let own = [("module", (*hit.image.module).into()), ("site", site.into()), ("args", args.into())];
    let mut object = object(hit, "marker", own);
    if let (Some(task), Some(members)) = (hit.task(), object.as_object_mut()) {
        let (number, why) = match task {
            Ok(task) => (task.map_or(Json::Null, |number| json_integer(number.get().into())), None),
            Err(missing) => (Json::Null, Some(json_why(&missing))),
        };
        members.insert("task".to_owned(), number);
        members.extend(why.map(|why| ("task_why".to_owned(), why.into())));
    }
    object
}

/// An event of the kernel as a JSON object (`docs/live.md`), with the kernel's text.
#[must_use]
pub fn json_event(hit: &Hit<'_>, text: &str) -> Json {
    let field = |(argument, value): (&PlannedArgument, Result<Value<'_>, Missing<'_>>)| {
        (argument.text.to_string(), value.map_or(Json::Null, |value| json_value(&value)))
    };
    let fields: Map<String, Json> = hit.arguments().map(field).collect();
    object(hit, "event", [("fields", fields.into()), ("text", text.into())])
}

/// The object of a hit: what every hit has, its name under `what`, and then what is its own.
fn object<const N: usize>(hit: &Hit<'_>, what: &str, own: [(&str, Json); N]) -> Json {
    let common = [
        ("time_ns", hit.time.into()),
        ("cpu", hit.cpu.into()),
        ("pid", hit.process.into()),
        ("tid", hit.thread.into()),
        ("comm", hit.thread_name().into()),
        (what, (*hit.marker.name).into()),
    ];
    common.into_iter().chain(own).map(|(name, value)| (name.to_owned(), value)).collect()
}
