//! Reads the parts of a value that somebody chose: `%p{tag, owner.name}`.

use std::sync::Arc;

use super::layout::{BitRange, choose};
use super::object::Object;
use super::tree::{AddressKind, MemberValue, StructureValue, ValueTree, VariantValue};
use super::tree_reader::{CountedPointer, NESTING, TreeReader, is_tuple_index, missing, pointer};
use super::wrappers::{short_name, transparent};
use super::{Member, Shape, Type, ValueProblem};

/// Maximum nesting depth of anonymous members in which a member is looked for.
const ANONYMOUS: u32 = 16;

impl TreeReader<'_> {
    /// The parts of a value that the paths name. An empty path stands for the whole value.
    pub(super) fn chosen(
        &mut self,
        of: &Type,
        object: Object<'_>,
        at: BitRange,
        paths: &[&[Arc<str>]],
    ) -> Result<ValueTree, ValueProblem> {
        if paths.iter().any(|path| path.is_empty()) || self.is_exhausted() || self.nesting >= NESTING {
            return Ok(self.value(of, object, at));
        }
        self.nesting += 1;
        let value = self.try_chosen(of, object, at, paths);
        self.nesting -= 1;
        value
    }

    fn try_chosen(
        &mut self,
        of: &Type,
        object: Object<'_>,
        at: BitRange,
        paths: &[&[Arc<str>]],
    ) -> Result<ValueTree, ValueProblem> {
        let behind = |reader: &mut Self, kind, address: u64, to: Option<(u64, &Type)>| {
            let Some((offset, to)) = to.filter(|_| address != 0) else { return Ok(pointer(kind, address, None)) };
            let target = address.wrapping_add(offset);
            let size = to.size.ok_or(ValueProblem::NoSize)?;
            let bytes = reader.context.start_at(target, size)?;
            let value = reader.chosen(to, Object::start(&bytes, size), BitRange::default(), paths)?;
            Ok(pointer(kind, address, Some(value)))
        };
        match &of.shape {
            Shape::Pointer { to } => {
                let kind = match self.is_raw(of) {
                    true => AddressKind::Raw,
                    false if self.is_rust() && !of.name.starts_with('&') => AddressKind::Owner,
                    false => AddressKind::Reference,
                };
                let address = self.address(of, object, at)?;
                behind(self, kind, address, to.as_deref().map(|to| (0, to)))
            }
            Shape::Struct { members } => {
                if self.is_rust() {
                    if let Some(member) = transparent(of) {
                        return self.chosen(&member.of, object, at.of_member(member)?, paths);
                    }
                    if let Some(CountedPointer { address, to }) = self.counted(of, object, at)? {
                        return behind(self, AddressKind::Owner, address, to);
                    }
                }
                Ok(self.chosen_members(short_name(&of.name).into(), members, object, at, paths))
            }
            Shape::Union { members } => {
                Ok(self.chosen_members(short_name(&of.name).into(), members, object, at, paths))
            }
            Shape::Variants(variants) => {
                let (chosen, value) = choose(variants, object, at.bit, self.context)?;
                let name: Arc<str> = short_name(&of.name).into();
                let Some(chosen) = chosen else { return Err(ValueProblem::InvalidDiscriminant { of: name, value }) };
                let [member] = &*chosen.members else { return Ok(self.value(of, object, at)) };
                let (Shape::Struct { members }, inner) = (&member.of.shape, at.of_member(member)?) else {
                    return Ok(self.value(of, object, at));
                };
                let value = match (&*chosen.name, &**members) {
                    ("None", []) => return Ok(self.value(of, object, at)),
                    // Looked through as `?` does.
                    ("Some", [payload]) => {
                        let value = self.chosen(&payload.of, object, inner.of_member(payload)?, paths)?;
                        let members = vec![MemberValue { name: Arc::clone(&payload.name), value }];
                        let name = Arc::clone(&chosen.name);
                        ValueTree::Structure(StructureValue { name, is_tuple: true, members, is_cut: false })
                    }
                    _ => self.chosen_members(Arc::clone(&chosen.name), members, object, inner, paths),
                };
                let (name, of) = (Arc::clone(&chosen.name), name);
                Ok(ValueTree::Variant(Box::new(VariantValue { of, name, value, common: Vec::new() })))
            }
            _ => {
                let first = paths.iter().find_map(|path| path.first());
                Err(ValueProblem::NoMember(first.map_or_else(|| "".into(), Arc::clone)))
            }
        }
    }

    fn chosen_members(
        &mut self,
        name: Arc<str>,
        members: &[Member],
        object: Object<'_>,
        at: BitRange,
        paths: &[&[Arc<str>]],
    ) -> ValueTree {
        let mut groups: Vec<PathGroup<'_>> = Vec::new();
        for path in paths {
            let Some((first, rest)) = path.split_first() else { continue };
            match groups.iter_mut().find(|(known, _)| *known == first) {
                Some((_, group)) => group.push(rest),
                None => groups.push((first, vec![rest])),
            }
        }
        let is_tuple =
            self.is_rust() && members.iter().all(|member| is_tuple_index(&member.name)) && !members.is_empty();
        let name = if name.starts_with('(') { "".into() } else { name };
        let mut structure = StructureValue { name, is_tuple: false, members: Vec::new(), is_cut: false };
        self.spend(structure.name.len());
        for (name, group) in groups {
            self.spend(name.len().saturating_add(4));
            let value = match find(members, name, is_tuple, at, ANONYMOUS) {
                Some((member, Ok(at))) => self.chosen(&member.of, object, at, &group),
                Some((_, Err(problem))) => Err(problem),
                None => Err(ValueProblem::NoMember(Arc::clone(name))),
            };
            structure.members.push(MemberValue { name: Arc::clone(name), value: value.unwrap_or_else(missing) });
        }
        ValueTree::Structure(structure)
    }
}

/// Paths that begin with the same name, without it.
type PathGroup<'p> = (&'p Arc<str>, Vec<&'p [Arc<str>]>);

/// The member of this name and its position, also in anonymous members and base classes.
fn find<'t>(
    members: &'t [Member],
    name: &str,
    is_tuple: bool,
    at: BitRange,
    left: u32,
) -> Option<(&'t Member, Result<BitRange, ValueProblem>)> {
    let is_it = |member: &&Member| {
        *member.name == *name || is_tuple && member.name.strip_prefix("__").is_some_and(|index| index == name)
    };
    if let Some(member) = members.iter().find(is_it) {
        return Some((member, at.of_member(member)));
    }
    let left = left.checked_sub(1)?;
    members.iter().filter(|member| member.name.is_empty()).find_map(|outer| {
        let (Shape::Struct { members } | Shape::Union { members }) = &outer.of.shape else { return None };
        find(members, name, false, at.of_member(outer).ok()?, left)
    })
}
