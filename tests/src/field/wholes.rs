//! Markers that show a whole value: its members are compared as if each were an argument.

use serde_json::{Value as Json, json};

use super::compare::{Argument, Marker, said};
use super::places::Place;

/// Puts the members of whole values in their place.
pub fn split(markers: &mut [Marker], places: &[Place]) {
    for marker in markers {
        let Some(place) = places.iter().find(|place| place.name() == marker.name) else { continue };
        let Some(whole) = &place.whole else { continue };
        for site in &mut marker.sites {
            let Some(all) = site.arguments.first().cloned() else { continue };
            let of = whole.members.iter().zip(&whole.paths).map(|((text, conversion), path)| Argument {
                text: text.clone(),
                conversion: (*conversion).to_owned(),
                member: Some(path.clone()),
                ..all.clone()
            });
            site.arguments = of.collect();
        }
    }
}

/// The values of the arguments of a hit. Those of members are in that of the whole value.
pub(super) fn values(arguments: &[Argument], hit: &Json) -> Vec<Json> {
    let all = hit["args"].as_array().map_or(&[][..], |all| all);
    let value = |(number, argument): (usize, &Argument)| match &argument.member {
        None => all.get(number).cloned().unwrap_or_default(),
        Some(path) => {
            let whole = all.first().map_or(&Json::Null, said);
            json!({ "value": member(whole, path, &argument.conversion) })
        }
    };
    arguments.iter().enumerate().map(value).collect()
}

/// A member of a whole value, as an argument of its own has it: null if it was not read, or is shown by a
/// name. Of an address only whether it is null.
fn member(whole: &Json, path: &str, conversion: &str) -> Json {
    let mut of = whole;
    for name in path.split('.') {
        let found = match (of, name.parse::<usize>()) {
            (Json::Array(items), Ok(number)) => items.get(number),
            (Json::Object(members), _) => members.get(name),
            // A structure with one member is what that is.
            (newtype, Ok(0)) => Some(newtype),
            _ => None,
        };
        let Some(found) = found else { return Json::Null };
        of = found;
    }
    let is_missing = of.get("?").is_some() || of.get("..").is_some();
    match of {
        _ if is_missing => Json::Null,
        other if conversion == "%p" => json!(u8::from(!other.is_null())),
        Json::Bool(is_true) => json!(u8::from(*is_true)),
        Json::String(text) if matches!(conversion, "%hhd" | "%hhu") => character(text),
        Json::String(text) if text.parse::<f64>().is_err() => Json::Null,
        Json::Object(_) | Json::Array(_) => Json::Null,
        other => other.clone(),
    }
}

/// The number of a character of C.
fn character(text: &str) -> Json {
    if let Some(digits) = text.strip_prefix("\\x").filter(|digits| digits.len() == 2) {
        return u8::from_str_radix(digits, 16).map_or(Json::Null, |byte| json!(byte as i8));
    }
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(one), None) => json!(u32::from(one)),
        (None, None) => json!(0),
        _ => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_and_read_as_arguments() {
        let whole = json!({
            "a": -3, "c": "x", "wide": "18446744073709551615", "flag": true, "kind": "IDLE", "next": null,
            "to": {"@": "0x1000"}, "gone": {"?": "optimized_out"}, "inner": {"pair": [1, {"..": null}], "only": 7},
        });
        let same = [
            ("a", "%d", json!(-3)),
            ("c", "%hhd", json!(120)),
            ("wide", "%lu", json!("18446744073709551615")),
            ("flag", "%d", json!(1)),
            ("kind", "%d", Json::Null),
            ("next", "%p", json!(0)),
            ("to", "%p", json!(1)),
            ("gone", "%p", Json::Null),
            ("gone", "%d", Json::Null),
            ("inner.pair.0", "%hhu", json!(1)),
            ("inner.pair.1", "%d", Json::Null),
            ("inner.only.0", "%d", json!(7)),
            ("inner.other", "%d", Json::Null),
        ];
        for (path, conversion, expected) in same {
            assert_eq!(member(&whole, path, conversion), expected, "{path}");
        }
        assert_eq!(["", "a", "\\xff", "ab"].map(character), [json!(0), json!(97), json!(-1), Json::Null]);
    }
}
