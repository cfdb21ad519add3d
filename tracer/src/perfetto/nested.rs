//! Whole values as nested annotations: those of their JSON (`docs/json.md`, "Whole values").

use serde_json::Value as Json;

use super::message::{annotation, double, integer, message, text};

/// Appends a value, without its name. Null has no value.
pub(super) fn nested(value: &Json, out: &mut Vec<u8>) {
    match value {
        Json::Null => {}
        Json::Bool(is_true) => integer(annotation::BOOL_VALUE, u64::from(*is_true), out),
        Json::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(unsigned), ..) => integer(annotation::UINT_VALUE, unsigned, out),
            (_, Some(signed), _) => integer(annotation::INT_VALUE, signed as u64, out),
            (_, _, float) => double(annotation::DOUBLE_VALUE, float.unwrap_or(f64::NAN), out),
        },
        Json::String(value) => text(annotation::STRING_VALUE, value, out),
        Json::Array(values) => {
            for value in values {
                message(annotation::ARRAY_VALUES, out, |out| nested(value, out));
            }
        }
        Json::Object(members) => {
            for (name, value) in members {
                message(annotation::DICT_ENTRIES, out, |out| {
                    text(annotation::NAME, name, out);
                    nested(value, out);
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_entries_and_elements_are_values() {
        let mut out = Vec::new();
        nested(&json!({"a": [true, null, -1], "b": 2.5, "c": "x"}), &mut out);
        let mut expected = Vec::new();
        message(11, &mut expected, |out| {
            text(10, "a", out);
            message(12, out, |out| integer(2, 1, out));
            message(12, out, |_| {});
            message(12, out, |out| integer(4, u64::MAX, out));
        });
        message(11, &mut expected, |out| {
            text(10, "b", out);
            double(5, 2.5, out);
        });
        message(11, &mut expected, |out| {
            text(10, "c", out);
            text(6, "x", out);
        });
        assert_eq!(out, expected);
    }
}
