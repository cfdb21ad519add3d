//! How values are written as JSON where it is not as serde does it.

use serde::Serializer;

/// An integer of 64 bits is a text.
pub(super) fn text<T: ToString, S: Serializer>(number: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&number.to_string())
}

/// Integers of 64 bits are texts.
pub(super) fn texts<T: ToString, S: Serializer>(numbers: &[T], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(numbers.iter().map(T::to_string))
}

/// JSON has no infinities and no NaN: they are texts.
pub(super) fn double<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
    match *number {
        finite if finite.is_finite() => to.serialize_f64(finite),
        nan if nan.is_nan() => to.serialize_str("NaN"),
        positive if positive > 0.0 => to.serialize_str("Infinity"),
        _ => to.serialize_str("-Infinity"),
    }
}

/// The same, if there is a number.
pub(super) fn maybe_double<S: Serializer>(number: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => double(number, to),
        None => to.serialize_none(),
    }
}

/// Ids are hexadecimal, and not in base64.
pub(super) fn hexadecimal<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}
