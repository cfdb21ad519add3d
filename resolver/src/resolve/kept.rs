//! Arguments that the program keeps for a marker: an operands string becomes [`Argument`]s.

use simple_markers_record::operand::{Kept, Operand, parse};

use super::{Argument, DeclaredArgument, Encoding, Verdict};
use crate::location::{Processor, operand};
use crate::text;

/// The declared arguments of a site, as far as its operands describe them. A malformed entry goes
/// to `bad`.
pub(super) fn arguments(
    declared: &[DeclaredArgument],
    operands: &[u8],
    processor: Processor,
    mut bad: impl FnMut(&[u8]),
) -> Vec<Argument> {
    let mut entries = parse(operands);
    let argument = |declared: &DeclaredArgument| {
        let unresolved = Argument::unresolved(&declared.text);
        match entries.next() {
            Some(Ok(Operand::Kept(kept))) => resolve(unresolved, &kept, processor),
            Some(Err(entry)) => {
                bad(entry);
                unresolved
            }
            Some(Ok(Operand::None | Operand::Text { .. })) | None => unresolved,
        }
    };
    declared.iter().map(argument).collect()
}

fn resolve(argument: Argument, kept: &Kept<'_>, processor: Processor) -> Argument {
    let encoding = match kept {
        Kept { float: true, .. } => Encoding::Float,
        Kept { signed: true, .. } => Encoding::Signed,
        _ => Encoding::Unsigned,
    };
    let place = text::from_bytes(kept.place);
    let parsed = operand::location(&place, kept.size, processor);
    let (verdict, location) = match operand::immediate(&place) {
        Some(_) => (Verdict::Constant, format!("= {}", place.trim_start_matches(['$', '#']))),
        // The assembler accepts a register with or without `%`; people expect it.
        None if matches!(processor, Processor::X86_64 | Processor::I386)
            && place.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            (Verdict::Live, format!("%{place}"))
        }
        None => (Verdict::Live, place),
    };
    Argument {
        size: Some(kept.size.into()),
        encoding: Some(encoding),
        verdict: Some(verdict),
        is_kept: true,
        location: parsed,
        location_text: Some(location.into()),
        ..argument
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_become_locations() {
        let declared: Vec<_> =
            ["a", "b", "c", "d", "e"].map(|text| DeclaredArgument { text: text.into(), conversion: None }).into();
        let mut bad = Vec::new();
        let args = arguments(&declared, b"-4@edi - 8f@-8(%rbp) 3@x 8@$-5", Processor::X86_64, |entry| {
            bad.push(entry.to_vec());
        });
        let found: Vec<_> =
            args.iter().map(|arg| (arg.size, arg.encoding, arg.verdict, arg.location_text.as_deref())).collect();
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
        let on_arm = arguments(&declared, b"8@x0 4@[sp,8]", Processor::Aarch64, |_| ());
        assert_eq!(on_arm.first().and_then(|arg| arg.location_text.as_deref()), Some("x0"));
        assert_eq!(on_arm.get(1).and_then(|arg| arg.location_text.as_deref()), Some("[sp,8]"));
    }
}
