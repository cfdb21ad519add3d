//! The members of a structure under names of their own, as JSON and tables have them.

use std::borrow::Cow;

use super::tree::{MemberValue, ValueTree};
use super::{NULLOPT, NULLPTR, OPTIONAL, StructureValue, TARGET, VALUELESS, VariantValue};

/// What the name of a variant says besides which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantRole {
    /// It is one of several with names, or with numbers.
    Alternative,
    /// There is no value: `nullopt` and the like. The text is the word of C++.
    Nothing(&'static str),
    /// The variant is the value: that of a `std::optional`.
    Value,
}

impl VariantValue {
    /// What the name of the variant says.
    #[must_use]
    pub fn role(&self) -> VariantRole {
        match &*self.name {
            NULLOPT => VariantRole::Nothing("nullopt"),
            NULLPTR => VariantRole::Nothing("nullptr"),
            VALUELESS => VariantRole::Nothing("valueless"),
            OPTIONAL | TARGET => VariantRole::Value,
            _ => VariantRole::Alternative,
        }
    }
}

impl StructureValue {
    /// The value that a newtype stands for; `None` for any other structure.
    #[must_use]
    pub fn newtype(&self) -> Option<&ValueTree> {
        match &*self.members {
            [member] if self.is_tuple && !self.name.starts_with('(') && !self.is_cut => Some(&member.value),
            _ => None,
        }
    }

    /// The members with their names. Those of anonymous members and base classes are its own, if their
    /// names are; otherwise such a member has the name of its type, or `<1>` by its position.
    #[must_use]
    pub fn named_members(&self) -> Vec<(Cow<'_, str>, &ValueTree)> {
        let mut all = Vec::with_capacity(self.members.len());
        add(&self.members, &self.members, &mut all);
        all
    }
}

fn add<'t>(of: &'t [MemberValue], outer: &[MemberValue], all: &mut Vec<(Cow<'t, str>, &'t ValueTree)>) {
    for (index, member) in of.iter().enumerate() {
        if !member.name.is_empty() {
            all.push((Cow::Borrowed(&*member.name), &member.value));
            continue;
        }
        match &member.value {
            ValueTree::Structure(inner) if !inner.is_cut && are_new(inner, outer, index) => {
                add(&inner.members, outer, all);
            }
            ValueTree::Structure(inner) if !inner.name.is_empty() => {
                all.push((Cow::Borrowed(&*inner.name), &member.value));
            }
            value => all.push((Cow::Owned(format!("<{index}>")), value)),
        }
    }
}

/// Whether no member of an anonymous structure has the name of another member of the outer one, or
/// is anonymous itself.
fn are_new(inner: &StructureValue, outer: &[MemberValue], own: usize) -> bool {
    let names = |members: &[MemberValue], name: &str| members.iter().any(|member| *member.name == *name);
    inner.members.iter().all(|member| {
        let is_known = outer.iter().enumerate().any(|(index, other)| match &other.value {
            ValueTree::Structure(other) if index != own && outer.get(index).is_some_and(|it| it.name.is_empty()) => {
                names(&other.members, &member.name)
            }
            _ => other.name == member.name && index != own,
        });
        !member.name.is_empty() && !is_known
    })
}
