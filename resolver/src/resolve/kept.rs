//! Arguments that the program keeps at hand: an operands string as [`Argument`]s.

use std::sync::Arc;

use simple_markers_record::operand::{self, Kept, Operand};

use super::{Argument, DeclaredArgument, Encoding, Verdict};
use crate::text;

/// The arguments `declared` at a site, as far as its operands say. An entry that is no operand goes to `bad`.
pub(super) fn arguments(
    declared: &[DeclaredArgument],
    operands: &[u8],
    is_x86: bool,
    mut bad: impl FnMut(&[u8]),
) -> Vec<Argument> {
    let mut entries = operand::parse(operands);
    let argument = |declared: &DeclaredArgument| {
        let unresolved =
            Argument { text: Arc::clone(&declared.text), size: None, encoding: None, verdict: None, location: None };
        match entries.next() {
            Some(Ok(Operand::Kept(kept))) => resolve(unresolved, &kept, is_x86),
            Some(Err(entry)) => {
                bad(entry);
                unresolved
            }
            Some(Ok(Operand::None)) | None => unresolved,
        }
    };
    declared.iter().map(argument).collect()
}

fn resolve(argument: Argument, kept: &Kept<'_>, is_x86: bool) -> Argument {
    let encoding = match kept {
        Kept { float: true, .. } => Encoding::Float,
        Kept { signed: true, .. } => Encoding::Signed,
        _ => Encoding::Unsigned,
    };
    let place = text::from_bytes(kept.place);
    let (verdict, location) = match immediate(&place) {
        Some(value) => (Verdict::Constant, format!("= {value}")),
        // The assembler takes a register with or without `%`, people and gdb's `info registers` expect it.
        None if is_x86 && place.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            (Verdict::Live, format!("%{place}"))
        }
        None => (Verdict::Live, place),
    };
    Argument {
        size: Some(kept.size.into()),
        encoding: Some(encoding),
        verdict: Some(verdict),
        location: Some(location.into()),
        ..argument
    }
}

/// The value of an immediate operand: `$5` on x86, `5` or `#5` elsewhere; `None` for a register or memory.
fn immediate(place: &str) -> Option<&str> {
    let value = place.strip_prefix(['$', '#']).unwrap_or(place);
    let digits = value.strip_prefix('-').unwrap_or(value);
    let is_number = match digits.strip_prefix("0x") {
        Some(digits) => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
    };
    is_number.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_become_locations() {
        let declared: Vec<_> =
            ["a", "b", "c", "d", "e"].map(|text| DeclaredArgument { text: text.into(), conversion: None }).into();
        let mut bad = Vec::new();
        let args = arguments(&declared, b"-4@edi - 8f@-8(%rbp) 3@x 8@$-5", true, |entry| bad.push(entry.to_vec()));
        let found: Vec<_> =
            args.iter().map(|arg| (arg.size, arg.encoding, arg.verdict, arg.location.as_deref())).collect();
        assert_eq!(
            found,
            [
                (Some(4), Some(Encoding::Signed), Some(Verdict::Live), Some("%edi")),
                (None, None, None, None),
                (Some(8), Some(Encoding::Float), Some(Verdict::Live), Some("-8(%rbp)")),
                (None, None, None, None),
                (Some(8), Some(Encoding::Unsigned), Some(Verdict::Constant), Some("= -5")),
            ]
        );
        assert_eq!(bad, [b"3@x".to_vec()]);
        let on_arm = arguments(&declared, b"8@x0 4@[sp,8]", false, |_| ());
        assert_eq!(on_arm.first().and_then(|arg| arg.location.as_deref()), Some("x0"));
        assert_eq!(on_arm.get(1).and_then(|arg| arg.location.as_deref()), Some("[sp,8]"));
    }
}
