//! Splits the arguments of a note of `<sys/sdt.h>`: operands with a size, `[-]SIZE[f]@OPERAND`.
//! Notes of its first versions have operands alone.

/// An operand, and how its value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizedOperand<'a> {
    /// The size in bytes, as written; `None` if the operand stands alone.
    pub size: Option<&'a str>,
    /// Whether the value is a signed integer.
    pub is_signed: bool,
    /// Whether the value is a floating-point number.
    pub is_float: bool,
    /// What the assembler takes.
    pub operand: &'a str,
}

impl<'a> SizedOperand<'a> {
    /// The operands of a note. Spaces in brackets and parentheses belong to an operand.
    pub fn all(arguments: &'a str) -> impl Iterator<Item = Self> {
        let mut rest = arguments;
        std::iter::from_fn(move || {
            rest = rest.trim_ascii_start();
            let mut depth = 0u32;
            let end = rest.find(|character: char| {
                match character {
                    '[' | '(' => depth = depth.saturating_add(1),
                    ']' | ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0 && character.is_ascii_whitespace()
            });
            let (entry, after) = rest.split_at(end.unwrap_or(rest.len()));
            rest = after;
            (!entry.is_empty()).then(|| Self::parse(entry))
        })
    }

    fn parse(entry: &'a str) -> Self {
        let sized = entry.split_once('@').and_then(|(size, operand)| {
            let (is_signed, size) = size.strip_prefix('-').map_or((false, size), |size| (true, size));
            let (is_float, size) = size.strip_suffix('f').map_or((false, size), |size| (true, size));
            let is_size = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
            is_size.then_some(Self { size: Some(size), is_signed, is_float, operand })
        });
        // A symbol may have an `@` too (`sym@tpoff`).
        sized.unwrap_or(Self { size: None, is_signed: false, is_float: false, operand: entry })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_have_a_size_and_a_sign() {
        let all: Vec<_> = SizedOperand::all("-4@%eax 8@[sp, 16]  8f@%xmm0 8@[x0, x1, lsl 3]\t-4@%fs:own@tpoff")
            .map(|operand| (operand.size, operand.is_signed, operand.is_float, operand.operand))
            .collect();
        assert_eq!(
            all,
            [
                (Some("4"), true, false, "%eax"),
                (Some("8"), false, false, "[sp, 16]"),
                (Some("8"), false, true, "%xmm0"),
                (Some("8"), false, false, "[x0, x1, lsl 3]"),
                (Some("4"), true, false, "%fs:own@tpoff"),
            ]
        );
        let alone = |operand| SizedOperand { size: None, is_signed: false, is_float: false, operand };
        let all: Vec<_> = SizedOperand::all(" %rdi $5 own@tpoff (%rax, -@x f@x").collect();
        assert_eq!(all, ["%rdi", "$5", "own@tpoff", "(%rax, -@x f@x"].map(alone));
        assert_eq!(SizedOperand::all(" ").count(), 0);
    }
}
