//! What a compiler says of a build that fails: the places of its errors. rustc writes JSON (`cargo
//! build --message-format=json`; the rustc book, "JSON Output") or text, gcc and clang write text.
//!
//! The messages only choose which change is left out first. If nothing is read from them, the
//! changes that do not compile are found by halves.

use serde_json::Value;

/// An error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    /// Its first line.
    pub(super) message: String,
    /// The places that it names.
    pub(super) places: Vec<SourcePlace>,
}

/// A place that an error names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourcePlace {
    /// The file, as the compiler names it.
    pub(super) file: String,
    /// The line, from 1.
    pub(super) line: u32,
    /// The column in characters, from 1; `None` if it is not known in this unit.
    pub(super) column: Option<u32>,
}

impl Complaint {
    /// The type of the kept value, as the checks of `simple_mark!` name it (`markers/src/check/kept.rs`).
    pub(super) fn given_type(&self) -> Option<&str> {
        self.message.split_once("given `")?.1.split('`').next()
    }
}

/// The error in a line of JSON, and the text for people; `None` for other lines.
pub(super) fn of_json(line: &str) -> Option<(Option<Complaint>, String)> {
    let value: Value = serde_json::from_str(line).ok()?;
    // Cargo wraps the message of rustc.
    let message = value.get("message").filter(|inner| inner.is_object()).unwrap_or(&value);
    let Some(spans) = message.get("spans").and_then(Value::as_array) else {
        // Another message of cargo.
        return value.get("reason").map(|_| (None, String::new()));
    };
    let text = |key| message.get(key).and_then(Value::as_str).unwrap_or_default();
    let rendered = text("rendered").to_owned();
    if !text("level").starts_with("error") {
        return Some((None, rendered));
    }
    let place = |span: &Value| {
        let number = |key| span.get(key).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
        let file = span.get("file_name")?.as_str()?.to_owned();
        Some(SourcePlace { file, line: number("line_start")?, column: number("column_start") })
    };
    let mut places = Vec::new();
    for span in spans {
        // A place inside a macro has the place of its call.
        let mut next = Some(span);
        while let Some(span) = next {
            places.extend(place(span));
            next = span.get("expansion").and_then(|expansion| expansion.get("span"));
        }
    }
    Some((Some(Complaint { message: text("message").to_owned(), places }), rendered))
}

/// The errors in text: `FILE:LINE:COLUMN: error: ..` of gcc and clang with the notes that follow, and
/// those of rustc with `--> FILE:LINE:COLUMN`.
pub(super) fn of_text(text: &str) -> Vec<Complaint> {
    let mut complaints: Vec<Complaint> = Vec::new();
    // Whether the places that follow are those of the last error.
    let mut is_error = false;
    for line in text.lines() {
        if let Some(place) = line.trim_start().strip_prefix("--> ") {
            if let (Some(complaint), Some(place)) = (complaints.last_mut().filter(|_| is_error), of_rustc(place)) {
                complaint.places.push(place);
            }
            continue;
        }
        if line.starts_with("error") || line.starts_with("warning") {
            is_error = line.starts_with("error");
            if is_error {
                let message = line.split_once(": ").map_or(line, |(_, message)| message).to_owned();
                complaints.push(Complaint { message, places: Vec::new() });
            }
            continue;
        }
        let Some((place, kind, message)) = of_gcc(line) else { continue };
        if kind != "note" {
            is_error = kind != "warning";
            if is_error {
                complaints.push(Complaint { message: message.to_owned(), places: Vec::new() });
            }
        }
        if let Some(complaint) = complaints.last_mut().filter(|_| is_error) {
            complaint.places.push(place);
        }
    }
    complaints
}

/// `FILE:LINE:COLUMN`.
fn of_rustc(place: &str) -> Option<SourcePlace> {
    let (rest, column) = place.trim_end().rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some(SourcePlace { file: file.to_owned(), line: line.parse().ok()?, column: Some(column.parse().ok()?) })
}

/// Place, kind and message of `FILE:LINE: KIND: MESSAGE`, with or without a column, whose unit is another
/// one in each compiler.
fn of_gcc(line: &str) -> Option<(SourcePlace, &'static str, &str)> {
    let kinds = ["error", "fatal error", "note", "warning"];
    let split = kinds.into_iter().filter_map(|kind| {
        let (place, message) = line.split_once(&format!(": {kind}: "))?;
        Some((place, kind, message))
    });
    let (place, kind, message) = split.min_by_key(|(place, ..)| place.len())?;
    let (before, last) = place.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    let with_column = before.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    let (file, line) = with_column.unwrap_or((before, last));
    Some((SourcePlace { file: file.to_owned(), line, column: None }, kind, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<(String, u32, Option<u32>)> {
        of_text(text).into_iter().flat_map(|it| it.places).map(|it| (it.file, it.line, it.column)).collect()
    }

    #[test]
    fn errors_of_gcc_and_clang_have_places() {
        // gcc 12 and clang 14.
        let text = "In file included from lost.c:1:\n\
                    lost.c: In function 'submit':\n\
                    lost.c:8:44: error: 'tag' undeclared (first use in this function)\n    8 |     simple_mark_keep(..)\n\
                    ../include/simple_marker.h:200:5: note: in definition of macro 'X'\n\
                    lost.c:9:5: note: in expansion of macro 'simple_mark_keep'\n\
                    lost.c:12:3: warning: unused variable: error: no\n\
                    lost.c:13:3: note: declared here\n\
                    other.c:7: error: without a column\n\
                    make: *** [Makefile:3: lost.o] Error 1\n";
        assert_eq!(
            places(text),
            [
                ("lost.c".to_owned(), 8, None),
                ("../include/simple_marker.h".to_owned(), 200, None),
                ("lost.c".to_owned(), 9, None),
                ("other.c".to_owned(), 7, None)
            ]
        );
        assert_eq!(of_text(text)[0].message, "'tag' undeclared (first use in this function)");
    }

    #[test]
    fn errors_of_rustc_have_places() {
        let text = "warning: unused variable: `x`\n --> src/main.rs:3:9\n\n\
                    error[E0277]: `keep` with `%zu` takes integers, bool, char and floats, given `&usize`\n \
                    --> src/main.rs:6:49\n  |\nhelp: the trait\n  --> /m/kept.rs:62:9\n\nerror: could not compile `refs`\n";
        assert_eq!(places(text), [("src/main.rs".to_owned(), 6, Some(49)), ("/m/kept.rs".to_owned(), 62, Some(9))]);
        assert_eq!(of_text(text)[0].given_type(), Some("&usize"));
    }

    #[test]
    fn messages_in_json_have_the_places_of_the_calls_of_macros() {
        let span = |file: &str, line: u32, expansion: Value| serde_json::json!({ "file_name": file, "line_start": line, "column_start": 5, "expansion": expansion });
        let call = serde_json::json!({ "span": span("src/main.rs", 6, Value::Null) });
        let message = |level: &str| {
            let spans = [span("/m/kept.rs", 62, call.clone())];
            let message =
                serde_json::json!({ "level": level, "message": "no", "rendered": "error: no\n", "spans": spans });
            serde_json::json!({ "reason": "compiler-message", "message": message }).to_string()
        };
        let (complaint, rendered) = of_json(&message("error")).unwrap();
        assert_eq!(rendered, "error: no\n");
        let places = complaint.unwrap().places;
        let places: Vec<(&str, u32)> = places.iter().map(|it| (it.file.as_str(), it.line)).collect();
        assert_eq!(places, [("/m/kept.rs", 62), ("src/main.rs", 6)]);
        assert_eq!(of_json(&message("warning")), Some((None, "error: no\n".to_owned())));
        assert_eq!(of_json(r#"{"reason":"build-finished","success":false}"#), Some((None, String::new())));
        assert_eq!((of_json("text"), of_json("[1]"), of_json("{}")), (None, None, None));
    }
}
