//! Writes a tree as text in the syntax of its language: `Queue { depth: 3, name: "a" }`, `{depth =
//! 3, name = "a"}`. Omitted parts are shown as `..`.

use std::fmt::Write as _;

use super::tree::{
    AddressKind, AddressValue, DynamicValue, FutureValue, IntervalValue, ListValue, MapValue, MemberValue,
    StructureValue, TextValue, ValueTree,
};
use super::wrappers::short_name;
use super::{FutureState, Language, quote};
use crate::english::values::problem;

/// The longest line that [`write_lines`] does not break, in bytes.
const LINE: usize = 80;

/// How far [`write_lines`] indents what is in a value.
const INDENTATION: usize = 4;

/// Appends a value in one line.
pub fn write_text(tree: &ValueTree, language: Language, out: &mut String) {
    TreeWriter { is_rust: language == Language::Rust, lines: None, out }.value(tree);
}

/// Appends a value in several lines, unless it is short. The lines after the first one are indented
/// by `indentation` more spaces.
pub fn write_lines(tree: &ValueTree, language: Language, indentation: usize, out: &mut String) {
    TreeWriter { is_rust: language == Language::Rust, lines: Some(indentation), out }.value(tree);
}

struct TreeWriter<'a> {
    is_rust: bool,
    /// The indentation of the line, if long values are broken into lines.
    lines: Option<usize>,
    out: &'a mut String,
}

impl TreeWriter<'_> {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn value(&mut self, tree: &ValueTree) {
        match tree {
            ValueTree::Void => self.push(if self.is_rust { "()" } else { "void" }),
            ValueTree::Integer(integer) => {
                // Writing to a String cannot fail.
                let _ = match integer.number() {
                    Some(number) => write!(self.out, "{number}"),
                    None => write!(self.out, "{}", integer.bits),
                };
            }
            ValueTree::Boolean(value) => self.push(if *value { "true" } else { "false" }),
            ValueTree::Character(character) => quote::character(self.out, *character),
            ValueTree::HalfCharacter(code) => _ = write!(self.out, "'\\u{{{code:x}}}'"),
            ValueTree::Float(float) => self.push(&float.text),
            ValueTree::Text(text) => self.text(text),
            ValueTree::Address(address) => self.address(address),
            ValueTree::Dynamic(dynamic) => self.dynamic(dynamic),
            ValueTree::Enumerator { name, .. } => self.push(name),
            ValueTree::Flags { names, .. } => self.push(names),
            ValueTree::Structure(structure) => self.structure(structure),
            ValueTree::Variant(variant) if variant.is_numbered() => {
                _ = write!(self.out, "{{[{}] = ", variant.name);
                self.value(&variant.value);
                self.push("}");
            }
            ValueTree::Variant(variant) => {
                self.value(&variant.value);
                if !variant.common.is_empty() {
                    self.push(" with ");
                    self.members("", false, &variant.common, false);
                }
            }
            ValueTree::Future(future) => self.future(future),
            ValueTree::List(list) => self.list(list),
            ValueTree::Map(map) => self.map(map),
            ValueTree::Duration(duration) => _ = write!(self.out, "{duration:?}"),
            ValueTree::Internet(address) => _ = write!(self.out, "{address}"),
            ValueTree::Socket(address) => _ = write!(self.out, "{address}"),
            ValueTree::Interval(interval) => self.interval(interval),
            ValueTree::Uninitialized => self.push("<uninit>"),
            ValueTree::Problem(why) => self.push(&problem(why)),
            ValueTree::Cut => self.push(".."),
        }
    }

    fn text(&mut self, text: &TextValue) {
        quote::quoted(self.out, &text.bytes, '"');
        if text.is_cut {
            self.push("..");
        }
    }

    fn address(&mut self, address: &AddressValue) {
        match (&address.to, address.kind) {
            (None, _) | (Some(_), AddressKind::Raw) => _ = write!(self.out, "{:#x}", address.address),
            // A reference of C++ stands for what it refers to.
            (Some(_), AddressKind::Reference) => self.push(if self.is_rust { "&" } else { "" }),
            (Some(_), AddressKind::Owner | AddressKind::Function) => {}
        }
        if let Some(function) = &address.function {
            _ = write!(self.out, " <{function}>");
        }
        if let Some(to) = &address.to {
            if address.kind == AddressKind::Raw {
                self.push(" ");
            }
            self.value(to);
        }
    }

    fn dynamic(&mut self, dynamic: &DynamicValue) {
        let DynamicValue { of, address, vtable, kind, types, value } = dynamic;
        let at = match kind {
            AddressKind::Raw => {
                _ = write!(self.out, "{address:#x} ");
                String::new()
            }
            _ => format!(" at {address:#x}"),
        };
        match (value, &**types) {
            (Some(value), _) => {
                self.push(if *kind == AddressKind::Reference { "&" } else { "" });
                if let Some(name) = dynamic.untold_type() {
                    _ = write!(self.out, "<{name}> ");
                }
                self.value(value);
            }
            (None, []) => _ = write!(self.out, "<{of}{at}, vtable {vtable:#x}>"),
            (None, types) => _ = write!(self.out, "<{}{at}>", types.join(" or ")),
        }
    }

    fn interval(&mut self, interval: &IntervalValue) {
        interval.start.iter().for_each(|start| self.value(start));
        self.push(if interval.is_closed { "..=" } else { ".." });
        interval.end.iter().for_each(|end| self.value(end));
        self.push(if interval.is_exhausted { " (exhausted)" } else { "" });
    }

    fn structure(&mut self, structure: &StructureValue) {
        let StructureValue { name, is_tuple, members, is_cut } = structure;
        if self.is_rust && !name.starts_with('(') {
            self.push(name);
            if members.is_empty() && !is_cut {
                return;
            }
        }
        self.members(name, *is_tuple, members, *is_cut);
    }

    /// The members in their brackets. `name` is what precedes them.
    fn members(&mut self, name: &str, is_tuple: bool, members: &[MemberValue], is_cut: bool) {
        let is_rust = self.is_rust;
        let brackets = match (is_rust, is_tuple) {
            (true, true) => ("(", ")"),
            (true, false) if name.is_empty() => ("{ ", " }"),
            (true, false) => (" { ", " }"),
            (false, _) => ("{", "}"),
        };
        let is_single = is_rust && name.starts_with('(') && members.len() == 1;
        self.bracketed(brackets, members, is_cut, is_single, |writer, member| {
            if !is_tuple && !member.name.is_empty() {
                writer.push(&member.name);
                writer.push(if is_rust { ": " } else { " = " });
            }
            writer.value(&member.value);
        });
    }

    fn future(&mut self, future: &FutureValue) {
        let FutureValue { name, state, variables, awaited, is_cut } = future;
        let name = short_name(name);
        match name.strip_suffix('}').and_then(|name| name.split_once("::{async_fn#")) {
            Some((function, _)) => _ = write!(self.out, "{function}()"),
            None => self.push(name),
        }
        match state {
            FutureState::Suspended { at: Some((file, line)) } => _ = write!(self.out, " suspended at {file}:{line}"),
            state => _ = write!(self.out, " {}", state.word()),
        }
        let awaited = awaited.as_ref().map(|awaited| (".await", awaited));
        let members = variables.iter().map(|variable| (&*variable.name, &variable.value));
        let members: Vec<(&str, &ValueTree)> = members.chain(awaited).collect();
        if members.is_empty() && !is_cut {
            return;
        }
        self.bracketed((" { ", " }"), &members, *is_cut, false, |writer, (name, value)| {
            writer.push(name);
            writer.push(": ");
            writer.value(value);
        });
    }

    fn list(&mut self, list: &ListValue) {
        let brackets = if self.is_rust && !list.is_set { ("[", "]") } else { ("{", "}") };
        self.bracketed(brackets, &list.items, list.rest() != Some(0), false, |writer, item| {
            writer.value(item);
        });
    }

    fn map(&mut self, map: &MapValue) {
        let is_rust = self.is_rust;
        self.bracketed(("{", "}"), &map.entries, map.rest() != Some(0), false, |writer, (key, value)| {
            writer.push(if is_rust { "" } else { "[" });
            writer.value(key);
            writer.push(if is_rust { ": " } else { "] = " });
            writer.value(value);
        });
    }

    /// Items with commas between them, in one line or each in a line.
    fn bracketed<T>(
        &mut self,
        (open, close): (&str, &str),
        items: &[T],
        is_cut: bool,
        has_last_comma: bool,
        write: impl Fn(&mut TreeWriter<'_>, &T),
    ) {
        let in_one_line = |out: &mut String| {
            let mut writer = TreeWriter { is_rust: self.is_rust, lines: None, out };
            writer.push(open);
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    writer.push(", ");
                }
                write(&mut writer, item);
            }
            if is_cut {
                writer.push(if items.is_empty() { ".." } else { ", .." });
            }
            writer.push(if has_last_comma { "," } else { "" });
            writer.push(close);
        };
        let Some(indentation) = self.lines else { return in_one_line(self.out) };
        let mut line = String::new();
        in_one_line(&mut line);
        let column = self.out.len().saturating_sub(self.out.rfind('\n').map_or(0, |at| at.saturating_add(1)));
        if items.is_empty() || column.saturating_add(line.len()) <= LINE {
            return self.push(&line);
        }
        let inner = indentation.saturating_add(INDENTATION);
        self.push(open.trim_end());
        self.lines = Some(inner);
        for item in items {
            _ = write!(self.out, "\n{:inner$}", "");
            write(self, item);
            self.push(",");
        }
        if is_cut {
            _ = write!(self.out, "\n{:inner$}..", "");
        }
        self.lines = Some(indentation);
        _ = write!(self.out, "\n{:indentation$}{}", "", close.trim_start());
    }
}
