//! Compares one argument at one stop with what gdb reads.

use simple_markers_resolver::location::{Location, Machine, Node, Piece, Source};
use simple_markers_resolver::resolve::{Argument, Encoding, Verdict};
use simple_markers_resolver::types::Shape;

use super::{Answer, Leaf, Variable};

/// A scalar on which we and gdb differ: its path, our bytes, and gdb's bytes. `None` is an
/// optimised-out value.
pub type Scalar = (String, Option<Vec<u8>>, Option<Vec<u8>>);

/// Why an argument was compared with the variable of the scope, and not with gdb's own parser in
/// the frame, or was not compared at all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// gdb chooses a variable that is declared below the marker. Its symbol tables do not have C's
    /// scope rule, and the line of the variable proves the case.
    DeclaredLater,
    /// The marker is the last thing in its scope, and gdb uses the scope of the address, which is
    /// another one.
    ScopeEnded,
    /// A block has several variables of the name. The marker means the last one declared above it,
    /// and gdb chooses the first (clang drops the blocks of static variables).
    FirstOfSeveral,
    /// gdb's parser rejects the text, or reads it as a place of another type: members of the value
    /// in an `Rc`, `pair.1.0`, or an element of an array behind a reference, because gdb indexes
    /// the reference as if it pointed to several arrays.
    Parser,
    /// The data after the last piece of a location is gone. gdb 13 reads zeros there and prints a
    /// synthetic pointer of any type.
    BehindPieces,
    /// gdb 13 reads memory to find the variant of a Rust enum, even if the enum is in registers or
    /// optimised out.
    VariantInRegisters,
    /// gdb is wrong; the list of these errors has the proof.
    GdbWrong,
    /// gdb has no block or frame for the marker's function.
    NoFrame,
    /// gdb reads the register's value on entry from the caller's frame. A probe has no frames.
    EntryFromCaller,
    /// gdb cannot print the value: a float of another size, or a synthetic pointer.
    Unwritten,
    /// The program keeps a value that is no place of the source, so there is nothing to compare.
    NoPlace,
    /// We do not support it, and say why.
    Unsupported,
    /// We say that it is optimised out, and gdb has no symbol of the name: the variable appears
    /// only in the abstract instance, or the instance has no code.
    NotRepeated,
    /// The block that declares the variable has no code, so gdb is never in it; `llvm-dwarfdump`
    /// shows it.
    EmptyBlock,
    /// A value of zero bytes.
    Empty,
    /// Neither side can read the memory behind the pointer.
    Unmapped,
    /// The symbol table alone says where the thread-local variable is. gdb does not ask it, and qemu
    /// does not show the thread pointer of AArch64.
    ThreadLocalSymbol,
    /// gcc's views put the marker before the entry of the location list that gdb reads, which
    /// begins at the same address. `readelf` shows the views.
    Views,
}

/// The outcome of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// Both are the same, with this number of scalars.
    Same(usize),
    /// Same as the variable of the marker's scope, but gdb's own parser differs, with the reason.
    SameInScope(usize, Reason),
    /// Both say that it is optimised out.
    Gone,
    /// Both say that there is no such variable.
    Absent,
    /// Nothing to compare.
    Unjudged(Reason),
    /// They differ.
    Different(String),
}

/// Our bytes, and a mask of the known bits; `Err` if our evaluator fails.
type Bytes = Result<(Vec<u8>, Vec<u8>), String>;

/// The bytes of an argument at a stop, with a mask that has a 1 for each known bit; `None` if it
/// has no value.
///
/// # Errors
///
/// The evaluator cannot read it.
pub fn known_bytes(argument: &Argument, machine: &dyn Machine) -> Option<Bytes> {
    let (location, size) = (argument.location.as_ref()?, argument.size?);
    let length = usize::try_from(size).ok()?;
    let mut mask = vec![0xff; length];
    let mut bit = 0;
    let mut pieces = location.pieces.to_vec();
    for piece in &mut pieces {
        let bits = piece.bits.unwrap_or((size * 8).saturating_sub(bit));
        if matches!(piece.source, Source::OptimizedOut | Source::ImplicitPointer { .. }) {
            for gone in bit..(bit + bits).min(size * 8) {
                mask[(gone / 8) as usize] &= !(1 << (gone % 8));
            }
            // Replaced by zeros, which the mask excludes.
            let zeros = vec![0; bits.div_ceil(8) as usize].into();
            *piece = Piece { bits: piece.bits, source: Source::Bytes(zeros), offset: 0 };
        }
        bit += bits;
    }
    let location = Location { pieces: pieces.into() };
    let read = location.evaluate(machine, size).map_err(|why| why.to_string());
    Some(read.map(|mut bytes| {
        bytes.resize(length, 0);
        (bytes, mask)
    }))
}

/// Compares an argument with gdb. `ended` says that the marker's scope has ended at the address.
pub fn judge(argument: &Argument, theirs: &Variable, machine: &dyn Machine, ended: bool) -> Judged {
    match argument.verdict {
        None => Judged::Unjudged(Reason::NoPlace),
        Some(Verdict::Unsupported) => Judged::Unjudged(Reason::Unsupported),
        Some(Verdict::Absent) => match &theirs.scope {
            scope if scope.is_missing() => Judged::Absent,
            Answer::Error(why) if why.contains("text:") => Judged::Unjudged(Reason::NoPlace),
            scope => Judged::Different(format!("we see no such variable, gdb says {}", said(scope))),
        },
        Some(Verdict::Lost) => match &theirs.scope {
            scope if is_gone(scope) => Judged::Gone,
            scope if is_synthetic(scope) => Judged::Unjudged(Reason::BehindPieces),
            scope if scope.is_missing() && is_gone(&theirs.frame) => Judged::Gone,
            scope if scope.is_missing() => Judged::Unjudged(Reason::NotRepeated),
            // `&x` of a value in a register.
            Answer::Error(why) if why == "no address" => Judged::Gone,
            Answer::Error(why) if why.contains("memory") && has_variants(argument) => {
                Judged::Unjudged(Reason::VariantInRegisters)
            }
            Answer::Error(why) => Judged::Different(format!("we say lost, gdb says {why}")),
            scope => Judged::Different(format!("we say lost, gdb reads {}", said(scope))),
        },
        Some(Verdict::Entry) => match &theirs.scope {
            scope if is_gone(scope) => Judged::Gone,
            Answer::Value { .. } => Judged::Unjudged(Reason::EntryFromCaller),
            Answer::Error(why) => Judged::Different(format!("we say entry, gdb says {why}")),
        },
        Some(Verdict::Live | Verdict::Constant | Verdict::Partial | Verdict::Doubtful) => {
            match known_bytes(argument, machine) {
                None => Judged::Different("readable, and neither value nor size to read it by".to_owned()),
                Some(ours) => compare(argument, &ours, theirs, ended),
            }
        }
        Some(other) => Judged::Different(format!("a verdict that this test does not know: {}", other.as_str())),
    }
}

fn compare(argument: &Argument, ours: &Bytes, theirs: &Variable, ended: bool) -> Judged {
    let (bytes, mask) = match ours {
        Ok((bytes, mask)) => (bytes, mask),
        Err(why) => {
            let unmapped = |answer: &Answer| match answer {
                Answer::Error(why) => why.contains("memory"),
                Answer::Value { leaves, .. } => {
                    !leaves.is_empty()
                        && leaves.iter().all(|leaf| matches!(&leaf.bytes, Err(why) if why.contains("memory")))
                }
            };
            if unmapped(&theirs.scope) || unmapped(&theirs.frame) {
                return Judged::Unjudged(Reason::Unmapped);
            }
            let is_thread_local = argument.location.as_ref().and_then(Location::source).is_some_and(
                |source| matches!(source, Source::Memory(at) if matches!(at.node(), Node::ThreadLocal(_))),
            );
            let is_gone = |answer: &Answer| match answer {
                Answer::Error(why) => why.starts_with("No symbol"),
                Answer::Value { leaves, .. } => leaves.iter().all(|leaf| leaf.bytes == Ok(None)),
            };
            if is_thread_local && is_gone(&theirs.scope) {
                return Judged::Unjudged(Reason::ThreadLocalSymbol);
            }
            return Judged::Different(format!("we cannot read it ({why}), gdb says {}", said(&theirs.scope)));
        }
    };
    if argument.is_kept {
        return kept(argument, bytes, theirs);
    }
    let frame = held_against(bytes, mask, &theirs.frame);
    if let Held::Same(count) = frame {
        return Judged::Same(count);
    }
    let scope = held_against(bytes, mask, &theirs.scope);
    let reason = match (&theirs.frame, theirs.line, theirs.frame_line) {
        (Answer::Error(why), ..) if why.contains("no frame") => Some(Reason::NoFrame),
        _ if ended => Some(Reason::ScopeEnded),
        (_, Some(line), Some(frame_line)) if line < frame_line => Some(Reason::DeclaredLater),
        (_, Some(line), Some(frame_line)) if line > frame_line => Some(Reason::FirstOfSeveral),
        (Answer::Error(_), ..) => Some(Reason::Parser),
        (Answer::Value { size, .. }, ..) if *size != bytes.len() as u64 => Some(Reason::Parser),
        _ => None,
    };
    match (scope, frame, reason) {
        (Held::Same(count), _, Some(reason)) => Judged::SameInScope(count, reason),
        (Held::Same(_), _, None) => {
            Judged::Different(format!("as the variable in scope, while gdb in the frame says {}", said(&theirs.frame)))
        }
        (Held::Empty, ..) | (_, Held::Empty, _) => Judged::Unjudged(Reason::Empty),
        (Held::Unwritten, ..) => Judged::Unjudged(Reason::Unwritten),
        (Held::Different(differences), ..) => Judged::Different(differences),
        (Held::Nothing(_), Held::Different(differences), _) => Judged::Different(differences),
        (Held::Nothing(why), Held::Nothing(_), _) if why.contains("memory") && has_variants(argument) => {
            Judged::Unjudged(Reason::VariantInRegisters)
        }
        (Held::Nothing(why), ..) => Judged::Different(format!("gdb cannot judge: {why}; {}", said(&theirs.frame))),
    }
}

fn has_variants(argument: &Argument) -> bool {
    argument.ty.as_ref().is_some_and(|of| matches!(of.shape, Shape::Variants(_)))
}

/// Compares a kept value. If it keeps a place of the source, the lowest bytes must be the number
/// there.
fn kept(argument: &Argument, bytes: &[u8], theirs: &Variable) -> Judged {
    let scalar = [&theirs.frame, &theirs.scope].into_iter().find_map(|answer| match answer {
        Answer::Value { leaves, .. } => match &leaves[..] {
            [Leaf { bytes: Ok(Some(bytes)), .. }] => Some(bytes),
            _ => None,
        },
        Answer::Error(_) => None,
    });
    match scalar {
        None => Judged::Unjudged(Reason::NoPlace),
        Some(theirs) => {
            // A `float` is kept as a `double`, as C passes it.
            let widened = match (argument.encoding, <[u8; 4]>::try_from(&theirs[..])) {
                (Some(Encoding::Float), Ok(single)) if bytes.len() == 8 => {
                    f64::from(f32::from_le_bytes(single)).to_le_bytes().to_vec()
                }
                _ => theirs.clone(),
            };
            let length = bytes.len().min(widened.len());
            match bytes[..length] == widened[..length] {
                true => Judged::Same(1),
                // `keep length = N` may keep something other than the variable of that name.
                false => Judged::Different(format!("kept {}: {bytes:x?} and not {theirs:x?}", argument.text)),
            }
        }
    }
}

enum Held {
    Same(usize),
    /// gdb has a value but cannot print it.
    Unwritten,
    Empty,
    Different(String),
    /// gdb has no value.
    Nothing(String),
}

fn held_against(bytes: &[u8], mask: &[u8], answer: &Answer) -> Held {
    let (leaves, size) = match answer {
        Answer::Error(why) => return Held::Nothing(why.clone()),
        Answer::Value { leaves, size, .. } => (leaves, *size),
    };
    if leaves.is_empty() {
        return Held::Empty;
    }
    let (mut same, mut unwritten, mut partial, mut differences): (_, _, _, Vec<Scalar>) = (0, false, false, Vec::new());
    for leaf in leaves {
        let ours = bits(bytes, leaf.bits);
        let is_known = bits(mask, leaf.bits).is_some_and(|mask| {
            let whole = bits(&vec![0xff; mask.len() + 16], (0, leaf.bits.1));
            whole.is_some_and(|whole| whole == mask)
        });
        let ours = ours.filter(|_| is_known);
        match &leaf.bytes {
            Err(why) if why == SYNTHETIC && ours.is_none() => {}
            Err(why) if why == SYNTHETIC => differences.push((leaf.path.clone(), ours, None)),
            Err(_) => unwritten = true,
            // If a scalar is partly optimised out, gdb has nothing and we have the rest.
            Ok(None) if partly(mask, leaf.bits) => partial = true,
            Ok(theirs) if *theirs == ours => same += usize::from(ours.is_some()),
            Ok(theirs) => differences.push((leaf.path.clone(), ours, theirs.clone())),
        }
    }
    match (differences.is_empty(), same, unwritten) {
        (false, ..) if size != bytes.len() as u64 && size != 0 => {
            Held::Different(format!("{} bytes, gdb reads {size}: {differences:x?}", bytes.len()))
        }
        (false, ..) => Held::Different(format!("[scalar, ours, gdb's] {differences:x?}")),
        (true, 0, true) => Held::Unwritten,
        (true, 0, false) if partial => Held::Unwritten,
        (true, 0, false) => Held::Different("readable, and gdb says that all of it is optimised out".to_owned()),
        (true, ..) => Held::Same(same),
    }
}

/// Whether some but not all of the bits are known.
fn partly(mask: &[u8], range: (u64, u64)) -> bool {
    bits(mask, range).is_some_and(|mask| {
        let known: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
        known > 0 && u64::from(known) < range.1
    })
}

/// `count` bits from bit `start`, as bytes; `None` if there are too few.
fn bits(bytes: &[u8], (start, count): (u64, u64)) -> Option<Vec<u8>> {
    if start.checked_add(count)? > bytes.len() as u64 * 8 {
        return None;
    }
    let mut found = vec![0; count.div_ceil(8) as usize];
    for bit in 0..count {
        let at = start + bit;
        found[(bit / 8) as usize] |= (bytes[(at / 8) as usize] >> (at % 8) & 1) << (bit % 8);
    }
    Some(found)
}

/// The name of a synthetic pointer in `session.py`.
const SYNTHETIC: &str = "synthetic pointer";

fn is_synthetic(answer: &Answer) -> bool {
    let is_none = |leaf: &Leaf| match &leaf.bytes {
        Ok(bytes) => bytes.is_none(),
        Err(why) => why == SYNTHETIC,
    };
    matches!(answer, Answer::Value { leaves, .. } if !leaves.is_empty() && leaves.iter().all(is_none))
}

fn is_gone(answer: &Answer) -> bool {
    match answer {
        Answer::Value { leaves, .. } => !leaves.is_empty() && leaves.iter().all(|leaf| leaf.bytes == Ok(None)),
        Answer::Error(_) => false,
    }
}

fn said(answer: &Answer) -> String {
    match answer {
        Answer::Error(why) => why.clone(),
        Answer::Value { type_name, size, leaves } => {
            let shown: Vec<_> = leaves.iter().take(6).map(|leaf| (&leaf.path, &leaf.bytes)).collect();
            format!("{type_name} ({size} bytes) {shown:x?}")
        }
    }
}
