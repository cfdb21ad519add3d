//! The arguments of a note of a static probe: each operand becomes an [`Argument`].

use std::sync::Arc;

use simple_markers_record::operand::KeptValue;

use super::{Argument, Encoding, Reason, Verdict, kept};
use crate::location::operand::{self, OperandContext, OperandProblem};
use crate::location::{Processor, SizedOperand};
use crate::notes::{CClass, CSize};
use crate::text;

/// How the value of an argument is read at all sites of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoteArgument {
    /// In bytes.
    pub(super) size: u8,
    pub(super) is_signed: bool,
    pub(super) is_float: bool,
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

    /// The conversion of `printf` for values of a class, if that is known. A `long` has the size of an
    /// address. The note decides how many bytes are read, and about the sign if its size is not that of
    /// the class.
    pub(super) fn conversion(self, class: Option<CClass>, address_size: u8) -> &'static str {
        let is_signed = self.sign(class, address_size);
        match (class, self.is_float) {
            (Some(CClass::Text), false) if self.size == address_size => return "%s",
            (Some(CClass::Pointer), false) if self.size == address_size => return "%p",
            _ => {}
        }
        match (self.is_float, self.size, is_signed) {
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

    /// Whether its values are signed.
    fn sign(self, class: Option<CClass>, address_size: u8) -> bool {
        match class {
            Some(CClass::Integer { size, is_signed: Some(is_signed) })
                if size_of(size, address_size) == self.size && !self.is_float =>
            {
                is_signed
            }
            _ => self.is_signed,
        }
    }
}

fn size_of(size: CSize, address_size: u8) -> u8 {
    match size {
        CSize::Bytes(size) => size,
        CSize::Address => address_size,
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

/// The arguments at a site with these operands, in their order.
pub(super) fn arguments(operands: &[u8], address_size: u8, context: &OperandContext<'_>) -> Vec<Argument> {
    let operands = text::from_bytes(operands);
    let of = |(index, operand): (usize, SizedOperand<'_>)| {
        argument(Argument::unresolved(&alias(index)), &operand, address_size, context)
    };
    SizedOperand::all(&operands).enumerate().map(of).collect()
}

/// The name that an argument always has.
pub(super) fn alias(index: usize) -> Arc<str> {
    format!("arg{index}").into()
}

/// Says of an argument at a site what its values are.
pub(super) fn classify(argument: &mut Argument, class: Option<CClass>, address_size: u8) {
    let (Some(encoding), Some(size)) = (argument.encoding, argument.size.and_then(|size| u8::try_from(size).ok()))
    else {
        return;
    };
    let (is_signed, is_float) = (encoding == Encoding::Signed, encoding == Encoding::Float);
    if !is_float {
        let is_signed = NoteArgument { size, is_signed, is_float }.sign(class, address_size);
        argument.encoding = Some(if is_signed { Encoding::Signed } else { Encoding::Unsigned });
    }
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
    use simple_markers_record::ByteOrder;

    #[test]
    fn operands_become_arguments() {
        let operands = b"-4@%eax 8f@%xmm0 16@%rax 8@.LC0(%rip) %rdi 1@$5";
        let all = NoteArgument::all(operands, 8);
        let conversions: Vec<_> = all.iter().map(|argument| argument.conversion(None, 8)).collect();
        assert_eq!(conversions, ["%d", "%f", "%lu", "%lu", "%lu", "%hhu"]);
        let symbols = |name: &str| Err(OperandProblem::NoSymbol { name: name.into() });
        let context =
            OperandContext { processor: Processor::X86_64, order: ByteOrder::Little, here: None, symbols: &symbols };
        let found = arguments(operands, 8, &context);
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
        let conversions: Vec<_> = joined.iter().map(|argument| argument.conversion(None, 4)).collect();
        assert_eq!(conversions, ["%lld", "%llu", "%hu"]);
    }

    #[test]
    fn a_type_decides_about_the_sign_of_a_value_of_its_size() {
        let of = |text: &str| *NoteArgument::all(text.as_bytes(), 8).first().unwrap();
        let integer = |size, is_signed| Some(CClass::Integer { size, is_signed: Some(is_signed) });
        for (operand, class, expected) in [
            ("8@%rax", Some(CClass::Text), "%s"),
            ("4@%eax", Some(CClass::Text), "%u"),
            ("8@%rax", Some(CClass::Pointer), "%p"),
            ("-4@%eax", integer(CSize::Bytes(4), false), "%u"),
            ("4@%eax", integer(CSize::Bytes(4), true), "%d"),
            ("-8@%rax", integer(CSize::Bytes(4), false), "%ld"),
            ("8@%rax", integer(CSize::Address, true), "%ld"),
            ("8f@%xmm0", integer(CSize::Bytes(8), true), "%f"),
            ("1@%al", Some(CClass::Boolean), "%hhu"),
            ("-1@%al", Some(CClass::Integer { size: CSize::Bytes(1), is_signed: None }), "%hhd"),
            ("-2@%ax", Some(CClass::Unknown), "%hd"),
        ] {
            assert_eq!(of(operand).conversion(class, 8), expected, "{operand} {class:?}");
        }
    }
}
