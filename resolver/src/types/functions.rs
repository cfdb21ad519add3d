//! The functions whose addresses a value has. A type does not say where its image is loaded, so whoever
//! reads a value finds the names.

use std::collections::HashSet;
use std::sync::Arc;

use super::tree::{AddressKind, MemberValue, ValueTree};
use super::{Shape, Type};

/// Gives the addresses of functions in a value the names that are found for them.
pub fn name_functions(tree: &mut ValueTree, find: &mut dyn FnMut(u64) -> Option<Arc<str>>) {
    let all = |members: &mut Vec<MemberValue>, find: &mut dyn FnMut(u64) -> Option<Arc<str>>| {
        members.iter_mut().for_each(|member| name_functions(&mut member.value, find));
    };
    match tree {
        ValueTree::Address(address) => {
            if address.kind == AddressKind::Function && address.address != 0 {
                address.function = find(address.address);
            }
            address.to.iter_mut().for_each(|to| name_functions(to, find));
        }
        ValueTree::Structure(structure) => all(&mut structure.members, find),
        ValueTree::Variant(variant) => {
            name_functions(&mut variant.value, find);
            all(&mut variant.common, find);
        }
        ValueTree::Dynamic(dynamic) => dynamic.value.iter_mut().for_each(|value| name_functions(value, find)),
        ValueTree::Future(future) => {
            all(&mut future.variables, find);
            future.awaited.iter_mut().for_each(|awaited| name_functions(awaited, find));
        }
        ValueTree::List(list) => list.items.iter_mut().for_each(|item| name_functions(item, find)),
        ValueTree::Map(map) => map.entries.iter_mut().for_each(|(key, value)| {
            name_functions(key, find);
            name_functions(value, find);
        }),
        ValueTree::Interval(interval) => {
            [&mut interval.start, &mut interval.end].into_iter().flatten().for_each(|end| name_functions(end, find));
        }
        _ => {}
    }
}

/// Whether it needs to be known where the image is loaded to show values of a type: they may have the
/// address of a function or of a vtable.
#[must_use]
pub fn needs_load_bias(of: &Arc<Type>) -> bool {
    let (mut known, mut left): (HashSet<*const Type>, _) = (HashSet::new(), vec![of]);
    while let Some(of) = left.pop() {
        if !known.insert(Arc::as_ptr(of)) {
            continue;
        }
        match &of.shape {
            Shape::Function | Shape::Dynamic(_) => return true,
            Shape::Pointer { to } => left.extend(to),
            Shape::Struct { members } | Shape::Union { members } => {
                left.extend(members.iter().map(|member| &member.of));
            }
            Shape::Variants(variants) => {
                let members = variants.variants.iter().flat_map(|variant| &variant.members);
                left.extend(members.chain(&variants.common).map(|member| &member.of));
            }
            Shape::Array { element, .. } => left.push(element),
            Shape::Sequence(sequence) => left.extend(&sequence.element),
            Shape::Collection(collection) => {
                left.extend([&collection.key, &collection.value].into_iter().flatten().map(|part| &part.of));
            }
            _ => {}
        }
    }
    false
}
