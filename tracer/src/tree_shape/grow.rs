//! Adds values to a shape.

use std::borrow::Cow;
use std::sync::Arc;

use simple_markers_resolver::types::ValueTree;

use super::label::{ABSENT, AlternativeLabel, NULL, ValueCategory};
use super::node::{NodeContent, NodeMember, TreeNode};
use super::shape::{Alternative, MAX_DEPTH, MAX_WIDTH, ShapeMember, TreeContent, TreeShape, aligned, has_same_members};

impl TreeShape {
    /// Adds a value. `budget` is how many alternatives, members and names may be added yet, and becomes
    /// less.
    pub fn add(&mut self, tree: &ValueTree, budget: &mut usize) {
        self.add_at(tree, 0, budget);
    }

    fn add_at(&mut self, tree: &ValueTree, depth: u32, budget: &mut usize) {
        if !self.is_any() {
            self.add_node(&TreeNode::new(tree), depth, budget);
        }
    }

    /// Makes the place one for text.
    fn give_up(&mut self) {
        let label = AlternativeLabel::Value(ValueCategory::Any);
        self.alternatives = vec![Alternative { label, content: TreeContent::Any }];
    }

    fn add_node(&mut self, node: &TreeNode<'_>, depth: u32, budget: &mut usize) {
        if self.is_any() {
            return;
        }
        if depth > MAX_DEPTH || self.try_add(node, depth, budget).is_none() {
            self.give_up();
        }
    }

    /// Adds a value, or returns `None` if the limits do not suffice.
    fn try_add(&mut self, node: &TreeNode<'_>, depth: u32, budget: &mut usize) -> Option<()> {
        let known = self.find(&node.label).or_else(|| {
            // What was null so far is a pointer.
            let is_pointer = node.label == AlternativeLabel::Value(ValueCategory::Pointer);
            let null = self.find(&NULL).filter(|_| is_pointer)?;
            self.alternatives.get_mut(null)?.label = node.label.clone();
            Some(null)
        });
        let number = match known {
            Some(number) => number,
            None => {
                if self.alternatives.len() >= MAX_WIDTH {
                    return None;
                }
                spend(budget)?;
                let content = empty(&node.content);
                self.alternatives.push(Alternative { label: node.label.clone(), content });
                self.alternatives.len() - 1
            }
        };
        let is_new = known.is_none();
        self.alternatives.get_mut(number)?.content.add(&node.content, is_new, depth + 1, budget)
    }
}

fn spend(budget: &mut usize) -> Option<()> {
    *budget = budget.checked_sub(1)?;
    Some(())
}

/// The content of a value, before anything of it was added.
fn empty(content: &NodeContent<'_>) -> TreeContent {
    match content {
        NodeContent::Nothing => TreeContent::Nothing,
        NodeContent::Boolean(_) => TreeContent::Boolean,
        NodeContent::Integer(_, width) => TreeContent::Integer(*width),
        NodeContent::Enumerator(_, width, _) => TreeContent::Enumeration { width: *width, names: Vec::new() },
        NodeContent::Float(_) => TreeContent::Float,
        NodeContent::Digits(_) => TreeContent::Digits,
        NodeContent::Text(_) => TreeContent::Text,
        NodeContent::Bytes(_) => TreeContent::Bytes,
        NodeContent::Pointer(..) => TreeContent::Pointer(None),
        NodeContent::Members(_) => TreeContent::Members(Vec::new()),
        NodeContent::Payload(_) => TreeContent::Payload(Box::default()),
        NodeContent::List(..) => TreeContent::List { element: Box::default(), is_cut: false },
        NodeContent::Map(..) => TreeContent::Map { key: Box::default(), value: Box::default(), is_cut: false },
    }
}

impl TreeContent {
    /// Adds what is in a value with the same label. `None` if the limits do not suffice, or if both have
    /// nothing in common.
    fn add(&mut self, content: &NodeContent<'_>, is_new: bool, depth: u32, budget: &mut usize) -> Option<()> {
        let joined = match (&mut *self, content) {
            (Self::Nothing, NodeContent::Nothing)
            | (Self::Boolean, NodeContent::Boolean(_))
            | (Self::Text, NodeContent::Text(_))
            | (Self::Bytes, NodeContent::Bytes(_))
            | (Self::Float, NodeContent::Float(_)) => return Some(()),
            (Self::Integer(width), NodeContent::Integer(_, other)) => Self::Integer(match width.joined(*other) {
                Some(width) => width,
                None => {
                    *self = Self::Digits;
                    return Some(());
                }
            }),
            (Self::Enumeration { width, names }, NodeContent::Integer(number, other))
            | (Self::Enumeration { width, names }, NodeContent::Enumerator(number, other, _)) => {
                if let NodeContent::Enumerator(.., name) = content {
                    add_name(names, *number, name, budget)?;
                }
                match width.joined(*other) {
                    Some(joined) => {
                        *width = joined;
                        return Some(());
                    }
                    None => Self::Digits,
                }
            }
            (Self::Integer(width), NodeContent::Enumerator(number, other, name)) => match width.joined(*other) {
                Some(width) => {
                    spend(budget)?;
                    Self::Enumeration { width, names: vec![(*number, Arc::clone(name))] }
                }
                None => Self::Digits,
            },
            (
                Self::Integer(_) | Self::Enumeration { .. } | Self::Float | Self::Digits,
                NodeContent::Integer(..) | NodeContent::Enumerator(..) | NodeContent::Float(_) | NodeContent::Digits(_),
            ) => Self::Digits,
            (Self::Pointer(place), NodeContent::Pointer(_, to)) => {
                match (place, to) {
                    (None, None) => {}
                    (place @ None, Some(to)) => {
                        let mut shape = TreeShape::default();
                        if !is_new {
                            shape.add_node(&TreeNode::missing(ABSENT), depth, budget);
                        }
                        shape.add_at(to, depth, budget);
                        *place = Some(Box::new(shape));
                    }
                    (Some(place), Some(to)) => place.add_at(to, depth, budget),
                    (Some(place), None) => place.add_node(&TreeNode::missing(ABSENT), depth, budget),
                }
                return Some(());
            }
            (Self::Members(shape), NodeContent::Members(members)) => {
                return add_members(shape, members, is_new, depth, budget);
            }
            (Self::Payload(place), NodeContent::Payload(value)) => {
                place.add_at(value, depth, budget);
                return Some(());
            }
            (Self::List { element, is_cut }, NodeContent::List(items, rest)) => {
                items.iter().for_each(|item| element.add_at(item, depth, budget));
                *is_cut |= *rest != Some(0);
                return Some(());
            }
            (Self::Map { key, value, is_cut }, NodeContent::Map(entries, rest)) => {
                for (one, other) in *entries {
                    key.add_at(one, depth, budget);
                    value.add_at(other, depth, budget);
                }
                *is_cut |= *rest != Some(0);
                return Some(());
            }
            // Values of different types with the same label.
            _ => return None,
        };
        *self = joined;
        Some(())
    }
}

/// Adds the name of a number, unless it has one. A name that another number has gets the number behind it.
fn add_name(names: &mut Vec<(i128, Arc<str>)>, number: i128, name: &Arc<str>, budget: &mut usize) -> Option<()> {
    if names.iter().any(|(known, _)| *known == number) {
        return Some(());
    }
    if names.len() >= MAX_WIDTH {
        return None;
    }
    spend(budget)?;
    let is_taken = |name: &str| names.iter().any(|(_, known)| **known == *name);
    let name = if is_taken(name) { format!("{name} ({number})").into() } else { Arc::clone(name) };
    names.push((number, name));
    Some(())
}

/// Adds a structure to the members of all structures so far.
fn add_members(
    shape: &mut Vec<ShapeMember>,
    members: &[NodeMember<'_>],
    is_new: bool,
    depth: u32,
    budget: &mut usize,
) -> Option<()> {
    let absent = TreeNode::missing(ABSENT);
    if has_same_members(shape, members) {
        for (member, NodeMember { value, .. }) in shape.iter_mut().zip(members) {
            member.shape.add_at(value, depth, budget);
        }
        return Some(());
    }
    let places = aligned(shape, members);
    let mut is_known = vec![false; members.len()];
    for (member, place) in shape.iter_mut().zip(&places) {
        match place.and_then(|place| Some((members.get(place)?, is_known.get_mut(place)?))) {
            Some((NodeMember { value, .. }, is_known)) => {
                *is_known = true;
                member.shape.add_at(value, depth, budget);
            }
            None => member.shape.add_node(&absent, depth, budget),
        }
    }
    for (NodeMember { name, value }, _) in members.iter().zip(&is_known).filter(|(_, is_known)| !**is_known) {
        if shape.len() >= MAX_WIDTH {
            return None;
        }
        spend(budget)?;
        let mut place = TreeShape::default();
        if !is_new {
            place.add_node(&absent, depth, budget);
        }
        place.add_at(value, depth, budget);
        shape.push(ShapeMember { name: Arc::from(Cow::as_ref(name)), shape: place });
    }
    Some(())
}
