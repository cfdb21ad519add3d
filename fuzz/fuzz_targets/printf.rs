//! The printf grammar on arbitrary bytes: pieces and errors cover the format without gaps, and words
//! have names and values. The form of a value has levels, or members with names. A format in Rust's
//! notation is one of printf too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_record::printf::{self, Piece};
use simple_markers_record::rust_format::{self, RustPiece};
use simple_markers_record::value_form::{MAX_LEVELS, ValueForm};
use simple_markers_record::{conversion, names};

fuzz_target!(|format: &[u8]| {
    let mut end = 0;
    for piece in printf::parse(format) {
        let range = match piece {
            Ok(Piece::Literal(range) | Piece::Percent(range)) => range,
            Ok(Piece::Conversion(conversion)) => {
                assert!(conversion.stars() <= 2);
                let _ = conversion::accepts(conversion.length, conversion.specifier);
                if let Some(words) = conversion.words(format) {
                    assert!(names::takes_words(conversion.specifier));
                    assert!(words.is_empty() || words.iter().next().is_some());
                    for word in words.iter() {
                        assert!(!word.name.is_empty() && word.name.iter().copied().all(names::is_in_name));
                        let value = word.value.unwrap_or(0);
                        assert!((i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value));
                    }
                }
                match conversion.form(format) {
                    Some(ValueForm::Levels(levels)) => assert!((1..=MAX_LEVELS).contains(&levels)),
                    Some(ValueForm::Members(paths)) => {
                        assert!(paths.iter().all(|path| path.members().all(|member| !member.is_empty())));
                    }
                    Some(ValueForm::Whole | ValueForm::Formatted(_)) | None => {}
                }
                assert_eq!(conversion.form.is_some(), conversion.form(format).is_some());
                if let Some(mistake) = conversion.mistake(format) {
                    assert!(format.get(mistake.range).is_some());
                }
                conversion.range
            }
            Err(error) => error.range,
        };
        assert_eq!(range.start, end);
        assert!(range.end > range.start);
        end = range.end;
    }
    assert_eq!(end, format.len());
    if let Ok(format) = std::str::from_utf8(format) {
        rusts_notation(format);
    }
});

/// A format in Rust's notation has a conversion for each placeholder in that of printf.
fn rusts_notation(format: &str) {
    let placeholders = rust_format::pieces(format).filter(|piece| matches!(piece, Ok(RustPiece::Value(_)))).count();
    let _ = (rust_format::is_in_rusts_notation(format), rust_format::as_recorded(format));
    let Ok(printf) = rust_format::to_printf(format) else { return };
    let values = printf::parse(printf.as_bytes()).filter_map(|piece| match piece.expect("a format of printf") {
        Piece::Conversion(conversion) => Some(conversion.form(printf.as_bytes())),
        Piece::Literal(_) | Piece::Percent(_) => None,
    });
    let values: Vec<_> = values.collect();
    assert!(values.len() == placeholders && values.iter().all(Option::is_some), "{format:?} {printf:?}");
}
