//! The arguments of a note of a static probe: each operand becomes an [`Argument`], and all of a
//! marker its format.

use simple_markers_record::operand::KeptValue;

use super::{Argument, DeclaredArgument, Reason, Verdict, kept};
use crate::location::operand::{self, OperandContext, OperandProblem};
use crate::location::{Processor, SizedOperand};
use crate::text;

/// How the value of an argument is read at all sites of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoteArgument {
    size: u8,
    is_signed: bool,
    is_float: bool,
}

impl NoteArgument {
    /// The arguments of a note. One whose size no value has counts as an address.
    pub(super) fn all(arguments: &[u8], address_size: u8) -> Vec<Self> {
        let of = |operand: SizedOperand<'_>| Self {
            size: size(&operand, address_size).unwrap_or(address_size),
            is_signed: operand.is_signed,
            is_float: operand.is_float,
        };
        SizedOperand::all(&text::from_bytes(arguments)).map(of).collect()
    }

    /// What holds the values of two sites.
    pub(super) fn or(self, other: Self) -> Self {
        let (is_signed, is_float) = (self.is_signed || other.is_signed, self.is_float && other.is_float);
        Self { size: self.size.max(other.size), is_signed, is_float }
    }

    /// The conversion of `printf`, where a `long` has the size of an address.
    fn conversion(self, address_size: u8) -> &'static str {
        match (self.is_float, self.size, self.is_signed) {
            (true, ..) => "%f",
            (_, 1, true) => "%hhd",
            (_, 1, false) => "%hhu",
            (_, 2, true) => "%hd",
            (_, 2, false) => "%hu",
            (_, 4, true) => "%d",
            (_, 4, false) => "%u",
            (_, _, true) if address_size == 8 => "%ld",
            (_, _, false) if address_size == 8 => "%lu",
            (_, _, true) => "%lld",
            (_, _, false) => "%llu",
        }
    }

    /// The format and the names of some arguments: `arg0 %d, arg1 %lu` and `arg0, arg1`.
    pub(super) fn described(arguments: &[Self], address_size: u8) -> (String, String) {
        let numbered = || arguments.iter().enumerate();
        let formats = numbered().map(|(index, argument)| format!("arg{index} {}", argument.conversion(address_size)));
        let names = numbered().map(|(index, _)| format!("arg{index}"));
        (formats.collect::<Vec<_>>().join(", "), names.collect::<Vec<_>>().join(", "))
    }
}

/// The size of a value in bytes.
fn size(operand: &SizedOperand<'_>, address_size: u8) -> Result<u8, OperandProblem> {
    let Some(written) = operand.size else { return Ok(address_size) };
    let size = written.parse().ok().filter(|size| match operand.is_float {
        true => matches!(size, 4 | 8),
        false => matches!(size, 1 | 2 | 4 | 8),
    });
    size.ok_or_else(|| OperandProblem::Size { size: written.into() })
}

/// The declared arguments at a site with these operands.
pub(super) fn arguments(
    declared: &[DeclaredArgument],
    operands: &[u8],
    address_size: u8,
    context: &OperandContext<'_>,
) -> Vec<Argument> {
    let operands = text::from_bytes(operands);
    let of = |(declared, operand): (&DeclaredArgument, SizedOperand<'_>)| {
        argument(Argument::unresolved(&declared.text), &operand, address_size, context)
    };
    declared.iter().zip(SizedOperand::all(&operands)).map(of).collect()
}

fn argument(
    unresolved: Argument,
    operand: &SizedOperand<'_>,
    address_size: u8,
    context: &OperandContext<'_>,
) -> Argument {
    let size = size(operand, address_size);
    let located = size.clone().and_then(|size| operand::located(operand.operand, size, context));
    let value = KeptValue {
        size: size.as_ref().map_or(address_size, |size| *size),
        signed: operand.is_signed,
        float: operand.is_float,
        place: operand.operand.as_bytes(),
    };
    let processor: Processor = context.processor;
    match located {
        Ok(location) => kept::value(unresolved, &value, Some(location), processor),
        Err(problem) => Argument {
            verdict: Some(Verdict::Unsupported),
            reason: Some(Reason::Operand { operand: operand.operand.into(), problem }),
            location: None,
            location_text: None,
            size: size.ok().map(u64::from),
            ..kept::value(unresolved, &value, None, processor)
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::Encoding;
    use simple_markers_record::ByteOrder;

    #[test]
    fn operands_become_arguments() {
        let operands = b"-4@%eax 8f@%xmm0 16@%rax 8@.LC0(%rip) %rdi 1@$5";
        let all = NoteArgument::all(operands, 8);
        let (format, names) = NoteArgument::described(&all, 8);
        assert_eq!(format, "arg0 %d, arg1 %f, arg2 %lu, arg3 %lu, arg4 %lu, arg5 %hhu");
        assert_eq!(names, "arg0, arg1, arg2, arg3, arg4, arg5");
        let described = crate::resolve::describe(format.as_bytes(), names.as_bytes());
        let symbols = |name: &str| Err(OperandProblem::NoSymbol { name: name.into() });
        let context =
            OperandContext { processor: Processor::X86_64, order: ByteOrder::Little, here: None, symbols: &symbols };
        let found = arguments(&described.args, operands, 8, &context);
        let shown: Vec<_> =
            found.iter().map(|it| (&*it.text, it.size, it.encoding, it.location_text.as_deref())).collect();
        let (signed, unsigned, float) = (Some(Encoding::Signed), Some(Encoding::Unsigned), Some(Encoding::Float));
        assert_eq!(
            shown,
            [
                ("arg0", Some(4), signed, Some("%eax")),
                ("arg1", Some(8), float, Some("%xmm0")),
                ("arg2", None, unsigned, None),
                ("arg3", Some(8), unsigned, None),
                ("arg4", Some(8), unsigned, Some("%rdi")),
                ("arg5", Some(1), unsigned, Some("= 5")),
            ]
        );
        let verdicts: Vec<_> = found.iter().map(|argument| argument.verdict.unwrap()).collect();
        let (live, unsupported) = (Verdict::Live, Verdict::Unsupported);
        assert_eq!(verdicts, [live, live, unsupported, unsupported, live, Verdict::Constant]);
        let problem = OperandProblem::Size { size: "16".into() };
        assert_eq!(found[2].reason, Some(Reason::Operand { operand: "%rax".into(), problem }));
        assert!(found.iter().all(|argument| argument.is_kept));
    }

    #[test]
    fn a_format_holds_the_values_of_all_sites() {
        let of = |text: &str| NoteArgument::all(text.as_bytes(), 8);
        let joined: Vec<_> =
            of("4@%eax 8f@%xmm0 2@%ax").into_iter().zip(of("-8@%rax 8@%rax 2@$5")).map(|(a, b)| a.or(b)).collect();
        assert_eq!(NoteArgument::described(&joined, 4).0, "arg0 %lld, arg1 %llu, arg2 %hu");
    }
}
