//! The bytes of values by their shapes, as `types` describes them.

use std::borrow::Cow;

use simple_markers_resolver::types::{Language, ValueTree, write_text};

use super::types::{is_enumeration, is_small};
use crate::tree_shape::{
    ABSENT, IntegerWidth, NodeContent, NodeMember, ShapeMember, TreeContent, TreeNode, TreeShape, aligned,
    has_same_members,
};

/// Appends a value. `None` if it is not of this shape, or if there would be more than `most` bytes.
pub(super) fn place(
    shape: &TreeShape,
    tree: &ValueTree,
    language: Language,
    most: usize,
    out: &mut Vec<u8>,
) -> Option<()> {
    FieldWriter { language, most, out }.place(shape, tree)
}

/// Appends a text with a NUL. It ends before its first one.
pub(super) fn text(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(bytes.iter().take_while(|byte| **byte != 0));
    out.push(0);
}

struct FieldWriter<'o> {
    language: Language,
    /// The most bytes of the output.
    most: usize,
    out: &'o mut Vec<u8>,
}

impl FieldWriter<'_> {
    fn place(&mut self, shape: &TreeShape, tree: &ValueTree) -> Option<()> {
        if shape.is_any() {
            let mut all = String::new();
            write_text(tree, self.language, &mut all);
            text(all.as_bytes(), self.out);
            return self.is_small_enough();
        }
        self.node(shape, &TreeNode::new(tree))
    }

    fn is_small_enough(&self) -> Option<()> {
        (self.out.len() <= self.most).then_some(())
    }

    /// A place where there is no value.
    fn absent(&mut self, shape: &TreeShape) -> Option<()> {
        if shape.is_any() {
            text(format!("<{ABSENT}>").as_bytes(), self.out);
            return self.is_small_enough();
        }
        self.node(shape, &TreeNode::missing(ABSENT))
    }

    fn node(&mut self, shape: &TreeShape, node: &TreeNode<'_>) -> Option<()> {
        let number = shape.find(&node.label)?;
        let content = &shape.alternatives.get(number)?.content;
        if shape.only().is_none() {
            match is_small(shape.alternatives.len()) {
                true => self.out.push(u8::try_from(number).ok()?),
                false => self.out.extend(u16::try_from(number).ok()?.to_le_bytes()),
            }
            if is_enumeration(shape) {
                return self.is_small_enough();
            }
        }
        self.content(content, &node.content)?;
        self.is_small_enough()
    }

    fn content(&mut self, content: &TreeContent, of: &NodeContent<'_>) -> Option<()> {
        match (content, of) {
            (TreeContent::Nothing, NodeContent::Nothing) => {}
            (TreeContent::Boolean, NodeContent::Boolean(is_true)) => self.out.push((*is_true).into()),
            (
                TreeContent::Integer(width) | TreeContent::Enumeration { width, .. },
                NodeContent::Integer(number, _) | NodeContent::Enumerator(number, ..),
            ) => self.integer(*number, *width)?,
            (TreeContent::Float, NodeContent::Float(number)) => self.out.extend(number.to_le_bytes()),
            (TreeContent::Digits, number) => text(digits(number)?.as_bytes(), self.out),
            (TreeContent::Text, NodeContent::Text(bytes)) => text(bytes, self.out),
            (TreeContent::Bytes, NodeContent::Bytes(bytes)) => {
                self.length(bytes.len())?;
                self.out.extend_from_slice(bytes);
            }
            (TreeContent::Pointer(place), NodeContent::Pointer(address, to)) => {
                self.out.extend(address.to_le_bytes());
                match (place, to) {
                    (None, None) => {}
                    (Some(place), Some(to)) => self.place(place, to)?,
                    (Some(place), None) => self.absent(place)?,
                    (None, Some(_)) => return None,
                }
            }
            (TreeContent::Members(shape), NodeContent::Members(members)) => self.members(shape, members)?,
            (TreeContent::Payload(place), NodeContent::Payload(value)) => self.place(place, value)?,
            (TreeContent::List { element, is_cut }, NodeContent::List(items, rest)) => {
                self.length(items.len())?;
                self.rest(*is_cut, *rest)?;
                items.iter().try_for_each(|item| self.place(element, item))?;
            }
            (TreeContent::Map { key, value, is_cut }, NodeContent::Map(entries, rest)) => {
                self.length(entries.len())?;
                self.rest(*is_cut, *rest)?;
                for (one, other) in *entries {
                    self.place(key, one)?;
                    self.place(value, other)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn integer(&mut self, number: i128, width: IntegerWidth) -> Option<()> {
        let size = usize::from(width.bits / 8);
        self.out.extend_from_slice(number.to_le_bytes().get(..size)?);
        Some(())
    }

    fn length(&mut self, length: usize) -> Option<()> {
        self.out.extend(u32::try_from(length).ok()?.to_le_bytes());
        Some(())
    }

    /// How many elements are missing; -1 if nobody knows.
    fn rest(&mut self, is_cut: bool, rest: Option<u64>) -> Option<()> {
        let rest = rest.map_or(-1, |rest| i64::try_from(rest).unwrap_or(i64::MAX));
        match is_cut {
            true => self.out.extend(rest.to_le_bytes()),
            false if rest == 0 => {}
            false => return None,
        }
        Some(())
    }

    fn members(&mut self, shape: &[ShapeMember], members: &[NodeMember<'_>]) -> Option<()> {
        if has_same_members(shape, members) {
            return shape.iter().zip(members).try_for_each(|(of, member)| self.place(&of.shape, &member.value));
        }
        let mut written = 0;
        for (of, place) in shape.iter().zip(aligned(shape, members)) {
            match place {
                Some(place) => {
                    self.place(&of.shape, &members.get(place)?.value)?;
                    written += 1;
                }
                None => self.absent(&of.shape)?,
            }
        }
        (written == members.len()).then_some(())
    }
}

/// A number as text.
fn digits<'n>(number: &'n NodeContent<'_>) -> Option<Cow<'n, str>> {
    match number {
        NodeContent::Digits(digits) => Some(Cow::Borrowed(digits)),
        NodeContent::Integer(number, _) => Some(number.to_string().into()),
        NodeContent::Enumerator(.., name) => Some(Cow::Borrowed(name)),
        NodeContent::Float(number) => Some(format!("{number:?}").into()),
        _ => None,
    }
}
