//! What a marker may name of a type of Rust, by the debug information.

use std::collections::HashSet;

use gimli::constants as dw;

use crate::field::places::{Argument, WholeVariable};
use crate::field::scopes::{self, Dwarf, Entry, Offset, Type, Unit, Variable, encoding, name, number, reference};

/// Members of members are named up to this depth.
const DEPTH: u32 = 2;

/// Types of Rust.
pub(super) struct Types {
    /// The crates whose private members the program's sources may name.
    crates: Vec<String>,
    /// The structures of the unit that are in other crates.
    foreign: HashSet<Offset>,
}

impl Types {
    pub(super) fn new(crates: impl IntoIterator<Item = String>) -> Self {
        Self { crates: crates.into_iter().collect(), foreign: HashSet::new() }
    }
}

impl scopes::Types for Types {
    fn unit(&mut self, dwarf: &Dwarf<'_>, unit: &Unit<'_>) -> gimli::Result<()> {
        self.foreign.clear();
        let mut entries = unit.entries();
        let (mut depth, mut is_foreign) = (0, false);
        while let Some((delta, entry)) = entries.next_dfs()? {
            depth += delta;
            if depth == 1 {
                let name = name(dwarf, unit, entry).filter(|_| entry.tag() == dw::DW_TAG_namespace);
                is_foreign = name.is_some_and(|name| !self.crates.contains(&name));
            } else if is_foreign && entry.tag() == dw::DW_TAG_structure_type {
                self.foreign.insert(entry.offset());
            }
        }
        Ok(())
    }

    fn describe(&self, dwarf: &Dwarf<'_>, unit: &Unit<'_>, offset: Offset) -> Option<Type> {
        let entry = unit.entry(offset).ok()?;
        if let Some(conversion) = scalar(dwarf, unit, &entry) {
            return Some(Type::Scalar(conversion));
        }
        let mut members = Vec::new();
        if entry.tag() != dw::DW_TAG_pointer_type {
            self.members(dwarf, unit, offset, ("", 1), &mut members);
            return Some(Type::Structure { pointer: None, members });
        }
        let is_reference = name(dwarf, unit, &entry)?.starts_with('&');
        let target = reference(&entry, dw::DW_AT_type).filter(|_| is_reference);
        let behind = target.and_then(|target| Some((target, unit.entry(target).ok()?)));
        match behind {
            // A marker shows the number behind a reference.
            Some((_, target)) if target.tag() == dw::DW_TAG_base_type => scalar(dwarf, unit, &target).map(Type::Scalar),
            Some((target, _)) => {
                self.members(dwarf, unit, target, ("", 1), &mut members);
                Some(Type::Structure { pointer: Some("%p"), members })
            }
            None => Some(Type::Scalar("%p")),
        }
    }
}

impl Types {
    /// The scalars in a structure.
    fn members(
        &self,
        dwarf: &Dwarf<'_>,
        unit: &Unit<'_>,
        offset: Offset,
        (path, depth): (&str, u32),
        found: &mut Vec<Argument>,
    ) {
        let Ok(entry) = unit.entry(offset) else { return };
        let of = Some(&entry).filter(|entry| entry.tag() == dw::DW_TAG_structure_type);
        let Some(of) = of.and_then(|entry| name(dwarf, unit, entry)) else { return };
        let is_public = of.starts_with('(') || of.starts_with("Range");
        // A fat pointer and the variables of a closure are structures too.
        if of.starts_with(['&', '*', '{']) || self.foreign.contains(&offset) && !is_public {
            return;
        }
        let Ok(mut tree) = unit.entries_tree(Some(offset)) else { return };
        let Ok(root) = tree.root() else { return };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() != dw::DW_TAG_member {
                continue;
            }
            let (Some(of), Some(ty)) = (name(dwarf, unit, entry), reference(entry, dw::DW_AT_type)) else { continue };
            let path = format!("{path}.{}", of.strip_prefix("__").unwrap_or(&of));
            let Ok(target) = unit.entry(ty) else { continue };
            match scalar(dwarf, unit, &target) {
                Some(conversion) => found.push((path, conversion)),
                None if depth < DEPTH && target.tag() == dw::DW_TAG_structure_type => {
                    self.members(dwarf, unit, ty, (&path, depth + 1), found);
                }
                None => {}
            }
        }
    }
}

/// What a marker may name of these variables.
pub(super) fn arguments(variables: &[&Variable]) -> Vec<Argument> {
    let mut found = Vec::new();
    for Variable { name, of, .. } in variables.iter().filter(|variable| is_name(&variable.name)) {
        // What a closure captured of a variable: `self__inner__low`.
        let name = &name.replace("__", ".");
        match of {
            Type::Scalar(conversion) => found.push((name.clone(), *conversion)),
            Type::Structure { pointer, members } => {
                found.extend(pointer.map(|conversion| (name.clone(), conversion)));
                found.extend(members.iter().map(|(member, conversion)| (format!("{name}{member}"), *conversion)));
            }
            Type::Other => {}
        }
    }
    found
}

/// The structures among these variables. An enumeration is shown by the names of its variants, and a
/// character as one, so these are not compared with numbers.
pub(super) fn wholes(variables: &[&Variable]) -> Vec<WholeVariable> {
    let whole = |Variable { name, of, .. }: &Variable| {
        let (Type::Structure { members, .. }, name) = (of, name.replace("__", ".")) else { return None };
        let is_number = |(_, conversion): &&Argument| !["%d{}", "%c"].contains(conversion);
        let members: Vec<Argument> = members.iter().filter(is_number).cloned().collect();
        WholeVariable::new(name.clone(), &name, &members)
    };
    variables.iter().filter(|variable| is_name(&variable.name)).filter_map(|variable| whole(variable)).collect()
}

fn is_name(name: &str) -> bool {
    name.chars().all(|next| next.is_alphanumeric() || next == '_') && !name.starts_with("__")
}

/// The conversion of a number, or of an enumeration without fields.
fn scalar(dwarf: &Dwarf<'_>, unit: &Unit<'_>, entry: &Entry<'_, '_>) -> Option<&'static str> {
    let size = number(entry, dw::DW_AT_byte_size)?;
    match entry.tag() {
        dw::DW_TAG_enumeration_type if size > 0 => Some("%d{}"),
        dw::DW_TAG_base_type => Some(match (&*name(dwarf, unit, entry)?, encoding(entry)?) {
            ("bool", _) => "%d",
            ("char", _) => "%c",
            ("f32" | "f64", dw::DW_ATE_float) => "%g",
            ("i8", _) => "%hhd",
            ("u8", _) => "%hhu",
            ("i16", _) => "%hd",
            ("u16", _) => "%hu",
            ("i32", _) => "%d",
            ("u32", _) => "%u",
            ("i64", _) => "%ld",
            ("u64", _) => "%lu",
            ("isize", _) => "%zd",
            ("usize", _) => "%zu",
            _ => return None,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{fs, process};

    use super::*;
    use crate::field::scopes::Scopes;

    const SOURCE: &str = "\
#[derive(Clone, Copy)]
enum Kind { One = 1, Two = 2 }
struct Inner { low: i16, text: String, pair: (u8, f32) }
struct Outer<'a, T> { inner: Inner, kind: Kind, of: &'a [T], range: std::ops::Range<usize>, wide: u128 }
impl<T> Outer<'_, T> {
    fn run(&mut self, letter: char, count: &u64, far: *const u8) -> usize {
        let flag = *count > 3;
        drop(3);
        let closure = |step: isize| {
            drop(step + self.inner.low as isize);
            step
        };
        let later = closure(4);
        later.unsigned_abs()
    }
}
fn main() {
    let inner = Inner { low: 1, text: String::new(), pair: (2, 3.0) };
    let mut outer = Outer { inner, kind: Kind::Two, of: &[1u8], range: 1..2, wide: 3 };
    outer.kind = Kind::One;
    outer.run('x', &4, std::ptr::null());
}
";

    /// What a marker may name before the line with this text.
    fn named(scopes: &Scopes, file: &Path, text: &str) -> Vec<String> {
        let line = SOURCE.lines().position(|line| line.contains(text)).expect("the line");
        let (_, variables) = scopes.at(file, line as u32 + 1).expect("code");
        let mut found: Vec<_> =
            arguments(&variables).into_iter().map(|(name, conversion)| format!("{name} {conversion}")).collect();
        found.sort();
        found
    }

    #[test]
    fn the_scalars_in_scope_are_named_with_their_conversions() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, image) = (folder.path().join("scopes.rs"), folder.path().join("scopes"));
        fs::write(&file, SOURCE).expect("a file");
        let mut rustc = process::Command::new("rustc");
        rustc.arg(&file).args(["-Cdebuginfo=2", "--edition=2021", "--cap-lints=allow", "-o"]).arg(&image);
        assert!(rustc.status().is_ok_and(|status| status.success()));
        let mut types = Types::new(["scopes".to_owned()]);
        let scopes = Scopes::read(&fs::read(&image).expect("the image"), &mut types).expect("its scopes");
        let of_self = ["self %p", "self.inner.low %hd", "self.kind %d{}", "self.range.end %zu", "self.range.start %zu"];
        let mut all = vec!["count %lu", "far %p", "flag %d", "later %zd", "letter %c"];
        all.extend(of_self);
        assert_eq!(named(&scopes, &file, "later.unsigned_abs"), all);
        let before: Vec<_> = all.iter().filter(|name| !name.starts_with("later")).copied().collect();
        assert_eq!(named(&scopes, &file, "drop(3)"), before);
        assert_eq!(named(&scopes, &file, "drop(step"), ["self.inner.low %hd", "step %zd"]);
        let of_main = ["inner.low %hd", "inner.pair.0 %hhu", "inner.pair.1 %g"];
        assert_eq!(named(&scopes, &file, "let mut outer"), of_main);
    }
}
