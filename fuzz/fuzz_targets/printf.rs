//! The printf grammar on arbitrary bytes: pieces and errors cover the format without gaps.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_record::conversion;
use simple_markers_record::printf::{self, Piece};

fuzz_target!(|format: &[u8]| {
    let mut end = 0;
    for piece in printf::parse(format) {
        let range = match piece {
            Ok(Piece::Literal(range) | Piece::Percent(range)) => range,
            Ok(Piece::Conversion(conversion)) => {
                assert!(conversion.stars() <= 2);
                let _ = conversion::accepts(conversion.length, conversion.specifier);
                conversion.range
            }
            Err(error) => error.range,
        };
        assert_eq!(range.start, end);
        assert!(range.end > range.start);
        end = range.end;
    }
    assert_eq!(end, format.len());
});
