//! Which members of a value unknown bits belong to.

use std::ops::Range;

use super::{Member, Shape, Type};

/// The most members that are named.
const MOST: usize = 64;

/// The members that have one of the unknown bits, as paths: `owner.id`, `[2].x`. A member of which
/// nothing is known is named, and not its own members. The path of a value that has no members is empty.
///
/// `gone` are the unknown bits, numbered as in [`Member::bit_offset`]. Padding belongs to no member.
#[must_use]
pub fn members_at(of: &Type, gone: &[Range<u64>]) -> Vec<String> {
    let mut search = Search { gone, found: Vec::new() };
    search.value(of, 0, &mut String::new());
    search.found
}

struct Search<'a> {
    gone: &'a [Range<u64>],
    found: Vec<String>,
}

impl Search<'_> {
    /// How many of these bits are unknown.
    fn unknown(&self, bits: &Range<u64>) -> u64 {
        let overlap = |gone: &Range<u64>| gone.end.min(bits.end).saturating_sub(gone.start.max(bits.start));
        self.gone.iter().map(overlap).sum()
    }

    fn value(&mut self, of: &Type, start: u64, path: &mut String) {
        match &of.shape {
            Shape::Struct { members } | Shape::Union { members } => {
                members.iter().for_each(|member| self.member(member, start, path));
            }
            Shape::Array { element, count: Some(count), stride } => {
                let Some(stride) = stride.or(element.size) else { return self.found.push(path.clone()) };
                for index in 0..*count {
                    let from = start.saturating_add(index.saturating_mul(stride).saturating_mul(8));
                    if self.gone.iter().all(|gone| gone.end <= from) {
                        break;
                    }
                    self.part(element, from, None, &format!("[{index}]"), path);
                }
            }
            Shape::Void => {}
            _ => self.found.push(path.clone()),
        }
    }

    fn member(&mut self, Member { name, bit_offset, bit_size, of }: &Member, start: u64, path: &mut String) {
        let dot = if path.is_empty() || name.is_empty() { "" } else { "." };
        self.part(of, start.saturating_add(*bit_offset), *bit_size, &format!("{dot}{name}"), path);
    }

    /// A member or an element, whose path ends with `step`.
    fn part(&mut self, of: &Type, start: u64, bits: Option<u64>, step: &str, path: &mut String) {
        let bits = bits.or(of.size.map(|size| size.saturating_mul(8))).unwrap_or(0);
        let range = start..start.saturating_add(bits);
        let unknown = self.unknown(&range);
        if unknown == 0 || self.found.len() >= MOST {
            return;
        }
        let length = path.len();
        path.push_str(step);
        match unknown >= bits && !step.is_empty() {
            true => self.found.push(path.clone()),
            false => self.value(of, start, path),
        }
        path.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn of(size: u64, shape: Shape) -> Arc<Type> {
        Arc::new(Type { name: "type".into(), size: Some(size), shape })
    }

    fn member(name: &str, byte: u64, of: &Arc<Type>) -> Member {
        Member { name: name.into(), bit_offset: 8 * byte, bit_size: None, of: Arc::clone(of) }
    }

    #[test]
    fn members_with_unknown_bits_are_named_and_padding_is_not() {
        let int = of(4, Shape::Integer { signed: true });
        let owner = of(8, Shape::Struct { members: [member("id", 0, &int), member("kind", 4, &int)].into() });
        let long = of(8, Shape::Integer { signed: true });
        let array = of(12, Shape::Array { element: Arc::clone(&int), count: Some(3), stride: None });
        let inner = of(4, Shape::Union { members: [member("a", 0, &int), member("b", 0, &int)].into() });
        let flag = Member { bit_size: Some(3), ..member("flag", 40, &int) };
        // `tag` is followed by 4 bytes of padding.
        let members = [
            member("tag", 0, &int),
            member("long", 8, &long),
            member("owner", 16, &owner),
            member("array", 24, &array),
        ];
        let whole = of(48, Shape::Struct { members: [&members[..], &[member("", 36, &inner), flag]].concat().into() });
        let found = |of: &Type, gone: &[(u64, u64)]| {
            members_at(of, &gone.iter().map(|(start, end)| *start..*end).collect::<Vec<_>>())
        };
        let at = |gone: &[(u64, u64)]| found(&whole, gone);
        assert_eq!(at(&[(32, 64)]), Vec::<String>::new(), "padding");
        assert_eq!(at(&[(0, 64)]), ["tag"]);
        assert_eq!(at(&[(0, 32), (128, 192)]), ["tag", "owner"]);
        assert_eq!(at(&[(160, 192)]), ["owner.kind"]);
        assert_eq!(at(&[(96, 128)]), ["long"], "a half of it");
        assert_eq!(at(&[(208, 264)]), ["array[0]", "array[1]", "array[2]"]);
        assert_eq!(at(&[(192, 288)]), ["array"]);
        assert_eq!(at(&[(288, 320)]), ["a", "b"]);
        assert_eq!((at(&[(320, 321)]), at(&[(323, 384)])), (vec!["flag".to_owned()], vec![]));
        assert_eq!(found(&long, &[(0, 32)]), [""]);
    }
}
