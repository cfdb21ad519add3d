//! What the copies of a marker in an unrolled loop say of each other (LLVM).
//!
//! The counter of an unrolled loop is a constant in each copy of its body. LLVM orders the instructions of
//! two copies anew and leaves the marker of the first one behind the change of the counter, so 7 to 0 is
//! described as 6, 6, 4, 4, 2, 2, 0, 0. An anchor does not help: the changes of constants have no
//! instructions that it could part.
//!
//! The trace: consecutive copies have the same constant, and yet the constant changes by about one step
//! for each copy. In two nested loops that are both unrolled, the outer counter changes once for
//! all copies of the inner one: 0, 0, 1, 1.
//!
//! Smallest case: `left:digits`, of whose refused values 27 of 54 are wrong. In generated programs by
//! rustc (seeds 9310 and 9311), 20 of 40 are; in bzip2 `i` was, by clang. None of gcc's 20 was.

use std::collections::HashMap;

use crate::location::{Node, Source};
use crate::rates::Compiler;
use crate::resolve::pc::Pc;
use crate::resolve::site_answer::Surroundings;
use crate::resolve::{Argument, InlinedFunction, Reason, Verdict};

/// The most sites of a marker that are compared.
const MOST: usize = 4096;

/// Doubts the constants of copies that repeat that of the copy before or behind them.
pub(in crate::resolve) fn doubt_copies<'s>(sites: impl Iterator<Item = (Pc, &'s mut Surroundings)>) {
    let mut copies: HashMap<_, Vec<_>> = HashMap::new();
    for (pc, site) in sites.take(MOST) {
        let inlined: Vec<InlinedFunction> = site.inlined.clone();
        let of = (pc.section, site.instance, site.function.clone(), inlined.len());
        copies.entry(of).or_default().push((pc.address, inlined, site));
    }
    for mut sites in copies.into_values().filter(|sites| sites.len() > 2) {
        sites.sort_by_key(|(address, ..)| *address);
        // A function that is inlined twice has copies of each of its calls.
        for run in sites.chunk_by_mut(|(_, one, _), (_, other, _)| one == other).filter(|run| run.len() > 2) {
            let count = run.first().map_or(0, |(.., site)| site.args.len());
            for index in 0..count {
                let constants: Vec<_> = run.iter().map(|(.., site)| site.args.get(index).and_then(constant)).collect();
                for at in repeated(&constants) {
                    let other = at.checked_add(1).filter(|next| constants.get(*next) == constants.get(at));
                    let other =
                        other.or(at.checked_sub(1)).and_then(|other| run.get(other)).map(|(address, ..)| *address);
                    if let (Some((.., site)), Some(other)) = (run.get_mut(at), other) {
                        if let Some(argument) = site.args.get_mut(index) {
                            argument.verdict = Some(Verdict::Doubtful);
                            argument.reason = Some(Reason::SameInCopy { other });
                        }
                    }
                }
            }
        }
    }
}

/// The value of an argument that LLVM describes as a constant.
fn constant(argument: &Argument) -> Option<i64> {
    let is_known = argument.verdict == Some(Verdict::Constant) && argument.compiler != Some(Compiler::Gcc);
    let bits = match argument.location.as_ref().filter(|_| is_known)?.source()? {
        Source::Value(value) => match value.node() {
            Node::Constant(value) => value.bits,
            _ => return None,
        },
        Source::Bytes(bytes) => {
            let mut word = [0; 8];
            word.get_mut(..bytes.len())?.copy_from_slice(bytes);
            u64::from_le_bytes(word)
        }
        _ => return None,
    };
    let unused = 64u32.checked_sub(u32::try_from(argument.size?.checked_mul(8)?).ok()?)?;
    Some((bits.checked_shl(unused)? as i64) >> unused)
}

/// The copies whose constant is that of the copy before or behind, in a sequence that changes by a step
/// for nearly each copy. Copies that are no constant are left out.
fn repeated(constants: &[Option<i64>]) -> Vec<usize> {
    let known: Vec<(usize, i64)> =
        constants.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
    let changes = || known.iter().zip(known.iter().skip(1)).map(|((_, one), (_, next))| next.saturating_sub(*one));
    let is_monotonic = changes().all(|change| change >= 0) || changes().all(|change| change <= 0);
    let longest = known.chunk_by(|one, next| one.1 == next.1).map(<[_]>::len).max().unwrap_or(0);
    let total = known.first().zip(known.last()).map_or(0, |((_, first), (_, last))| last.abs_diff(*first));
    // A loop that counts by one and has all of its copies here changes by one less than their number.
    if !is_monotonic || longest != 2 || total == 0 || total < known.len().saturating_sub(longest) as u64 {
        return Vec::new();
    }
    let runs = known.chunk_by(|one, next| one.1 == next.1).filter(|run| run.len() > 1);
    runs.flat_map(|run| run.iter().map(|(at, _)| *at)).collect()
}

#[cfg(test)]
mod tests {
    use super::repeated;

    fn of(constants: &[i64]) -> Vec<usize> {
        repeated(&constants.iter().copied().map(Some).collect::<Vec<_>>())
    }

    #[test]
    fn copies_of_one_loop_do_not_repeat() {
        assert_eq!(of(&[6, 6, 4, 4, 2, 2, 0, 0]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(of(&[7, 6, 4, 4, 3, 2, 0, 0]), [2, 3, 6, 7]);
        assert_eq!(of(&[7, 6, 5, 4, 3, 2, 1, 0]), [0; 0]);
        assert_eq!(repeated(&[None, Some(6), Some(4), Some(4), None]), [2, 3]);
    }

    #[test]
    fn a_variable_that_the_loop_does_not_change_repeats() {
        assert_eq!(of(&[3, 3, 3, 3]), [0; 0]);
        // Nested loops.
        assert_eq!(of(&[0, 0, 1, 1, 2, 2]), [0; 0]);
        assert_eq!(of(&[0, 0, 0, 0, 4, 4, 4, 4]), [0; 0]);
        assert_eq!(of(&[0, 1, 0, 1]), [0; 0]);
        assert_eq!(of(&[1, 1]), [0; 0]);
        assert_eq!(of(&[]), [0; 0]);
    }
}
