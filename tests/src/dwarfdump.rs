//! Reads the output of `llvm-dwarfdump` for `.debug_info` as a tree of scopes and variables: which
//! variables are described where, and by which operations.
//!
//! `llvm-dwarfdump` decodes the sections but looks no names up. This module finds the scope of a
//! name independently of the resolver (DWARF 5, 3.3 to 3.5, 4.1, 7.7.3).

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::location::{Expr, Location, Node, Piece, Register, Source, ValueType};

use crate::tools;
use crate::views::{Point, Views};

/// The entries of an image for scopes and variables, in the order of the dump.
pub struct Dump {
    entries: Vec<Entry>,
    by_offset: HashMap<u64, usize>,
    views: Views,
}

/// An entry of `.debug_info`.
#[derive(Clone, Debug, Default)]
struct Entry {
    offset: u64,
    depth: usize,
    tag: String,
    name: Option<String>,
    /// The name printed for an origin; for a function this is the mangled name.
    origin_name: Option<String>,
    origin: Option<u64>,
    line: Option<u32>,
    ranges: Vec<(u64, u64)>,
    low: Option<u64>,
    frame_base: Option<String>,
    location: Described,
    is_constant: bool,
    /// The end of the entries that belong to it.
    end: usize,
}

/// The described location of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Described {
    /// No location.
    #[default]
    Nowhere,
    /// One location for its whole scope.
    Everywhere(String),
    /// A list: its offset, and from, to, operations of each entry.
    List(Option<u64>, Vec<(u64, u64, String)>),
}

/// The description of a variable at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// No scope of the function covers the address.
    NoScope,
    /// These scopes have no variable of the name.
    NoVariable,
    /// A variable without a location at the address.
    Nothing,
    /// A constant.
    Constant,
    /// Operations, and the operations of the function's frame base.
    Operations(String, Option<String>),
}

impl Dump {
    /// Reads the dump of an image, and gcc's views if `readelf` is installed.
    ///
    /// # Panics
    ///
    /// `llvm-dwarfdump` or `readelf` fails.
    #[must_use]
    pub fn of(tool: &Path, image: &Path) -> Self {
        let views = tools::find("readelf").map(|_| Views::of(image)).unwrap_or_default();
        Self { views, ..Self::read(&tools::run(Command::new(tool).arg("--debug-info").arg(image))) }
    }

    /// The last view of a marker's line at an address.
    #[must_use]
    pub fn view_of(&self, file: &str, line: u32, pc: u64) -> Option<u64> {
        self.views.of_line(file, line, pc)
    }

    fn read(text: &str) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if let Some((offset, rest)) = line.strip_prefix("0x").and_then(|line| line.split_once(':')) {
                let tag = rest.trim_start();
                let (Ok(offset), true) = (u64::from_str_radix(offset, 16), tag.starts_with("DW_TAG_") || tag == "NULL")
                else {
                    continue;
                };
                let depth = rest.len() - tag.len();
                entries.push(Entry { offset, depth, tag: tag.to_owned(), ..Entry::default() });
                continue;
            }
            let Some(entry) = entries.last_mut() else { continue };
            let Some((attribute, value)) = line.trim_start().split_once('\t') else { continue };
            let mut parts = vec![value.strip_prefix('(').unwrap_or(value)];
            while let Some(more) = lines.next_if(|line| line.trim_start().starts_with('[')) {
                parts.push(more.trim_start());
            }
            if let Some(last) = parts.last_mut() {
                *last = last.strip_suffix(')').unwrap_or(last);
            }
            entry.attribute(attribute, &parts);
        }
        let mut open: Vec<usize> = Vec::new();
        for index in 0..entries.len() {
            while let Some(top) = open.last().copied().filter(|top| entries[*top].depth >= entries[index].depth) {
                entries[top].end = index;
                open.pop();
            }
            open.push(index);
        }
        for top in open {
            entries[top].end = entries.len();
        }
        let by_offset = entries.iter().enumerate().map(|(index, entry)| (entry.offset, index)).collect();
        Self { entries, by_offset, views: Views::default() }
    }

    /// The description at the address `pc` of the variable that `name` means on `line` of
    /// `function`. `ended` says that the function's scope has ended at `pc`.
    #[must_use]
    pub fn variable(&self, name: &str, line: u32, function: &str, pc: u64, ended: bool) -> At {
        self.variable_at(name, line, function, (pc, None), ended)
    }

    /// As [`Dump::variable`], at a view of the address. A list without views is read by the address.
    #[must_use]
    pub fn variable_at(
        &self,
        name: &str,
        line: u32,
        function: &str,
        (pc, view): (u64, Option<u64>),
        ended: bool,
    ) -> At {
        match self.variable_around(name, line, function, (pc, view), ended) {
            At::NoScope if ended => {
                let instance = self.empty_instance(function, pc);
                instance.map_or(At::NoScope, |instance| self.variable_in(&[instance], name, line, (pc, view), None))
            }
            found => found,
        }
    }

    /// The entries of a tag without code at an address: `[0x13e0, 0x13e0)`.
    fn empty_at(&self, tag: &str, pc: u64) -> impl Iterator<Item = usize> {
        let is_there = move |entry: &Entry| entry.tag == tag && entry.ranges.contains(&(pc, pc));
        (0..self.entries.len()).filter(move |index| is_there(&self.entries[*index]))
    }

    /// The instance of a function without code at an address.
    fn empty_instance(&self, function: &str, pc: u64) -> Option<usize> {
        self.empty_at("DW_TAG_inlined_subroutine", pc).find(|index| self.is_called(*index, function))
    }

    fn is_called(&self, index: usize, function: &str) -> bool {
        self.name(index).is_some_and(|found| plain(&found) == plain(function))
    }

    /// Whether a function was inlined at an address without code, so that no debugger can stop in
    /// it.
    #[must_use]
    pub fn is_empty_at(&self, function: &str, pc: u64) -> bool {
        self.empty_instance(function, pc).is_some()
    }

    /// Whether a block without code at an address declares a variable of the name. rustc makes such
    /// blocks if only a marker and a move of the variable follow its declaration.
    #[must_use]
    pub fn has_empty_block_with(&self, name: &str, pc: u64) -> bool {
        self.empty_at("DW_TAG_lexical_block", pc).any(|block| {
            let inside = block + 1..self.entries[block].end;
            inside
                .into_iter()
                .any(|index| self.entries[index].tag == "DW_TAG_variable" && self.name(index).as_deref() == Some(name))
        })
    }

    fn variable_around(
        &self,
        name: &str,
        line: u32,
        function: &str,
        (pc, view): (u64, Option<u64>),
        ended: bool,
    ) -> At {
        let at = if ended { pc.saturating_sub(1) } else { pc };
        let holds = |entry: &Entry| entry.ranges.iter().any(|(from, to)| (*from..*to).contains(&at));
        let subprogram = |entry: &Entry| entry.tag == "DW_TAG_subprogram" && holds(entry);
        let Some(outer) = self.entries.iter().position(subprogram) else { return At::NoScope };
        let mut path = vec![outer];
        let mut index = outer + 1;
        while index < self.entries[path[path.len() - 1]].end {
            let entry = &self.entries[index];
            let is_scope = matches!(&*entry.tag, "DW_TAG_inlined_subroutine" | "DW_TAG_lexical_block");
            if is_scope && holds(entry) {
                path.push(index);
                index += 1;
            } else {
                index = entry.end;
            }
        }
        let is_function = |index: &usize| self.entries[*index].tag != "DW_TAG_lexical_block";
        let is_it = |index: &usize| is_function(index) && self.is_called(*index, function);
        let Some(instance) = path.iter().rposition(is_it) else {
            return At::NoScope;
        };
        let behind = path[instance + 1..].iter().position(is_function).map_or(path.len(), |found| instance + 1 + found);
        self.variable_in(&path[instance..behind], name, line, (pc, view), self.entries[outer].frame_base.clone())
    }

    /// The variable in the innermost of `scopes` that has one. The outermost scope comes first.
    fn variable_in(
        &self,
        scopes: &[usize],
        name: &str,
        line: u32,
        at: (u64, Option<u64>),
        frame_base: Option<String>,
    ) -> At {
        for scope in scopes.iter().rev() {
            let mut found: Option<(u32, usize)> = None;
            let mut index = scope + 1;
            while index < self.entries[*scope].end {
                let is_variable = matches!(&*self.entries[index].tag, "DW_TAG_variable" | "DW_TAG_formal_parameter");
                if is_variable && self.name(index).as_deref() == Some(name) {
                    let declared = self.line(index).unwrap_or_default();
                    if declared <= line && found.is_none_or(|(best, _)| best <= declared) {
                        found = Some((declared, index));
                    }
                }
                index = self.entries[index].end;
            }
            if let Some((_, found)) = found {
                return self.described(found, at, frame_base);
            }
        }
        At::NoVariable
    }

    fn described(&self, index: usize, (pc, view): (u64, Option<u64>), frame_base: Option<String>) -> At {
        for entry in self.origins(index) {
            match &entry.location {
                Described::Everywhere(operations) => return At::Operations(operations.clone(), frame_base),
                Described::List(offset, list) => {
                    let views = offset.and_then(|offset| self.views.list(offset)).filter(|it| it.len() == list.len());
                    let covering = match (view, views) {
                        (Some(view), Some(views)) => {
                            let is_same = |((from, to, _), (start, end)): (&(u64, u64, _), &(Point, Point))| {
                                (*from, *to) == (start.0, end.0)
                            };
                            assert!(list.iter().zip(views).all(is_same), "readelf reads another list: {views:x?}");
                            let holds = |(start, end): &(Point, Point)| (*start..*end).contains(&(pc, view));
                            views.iter().position(holds).map(|index| &list[index])
                        }
                        _ => list.iter().find(|(from, to, _)| (*from..*to).contains(&pc)),
                    };
                    return covering
                        .map_or(At::Nothing, |(.., operations)| At::Operations(operations.clone(), frame_base));
                }
                Described::Nowhere if entry.is_constant => return At::Constant,
                Described::Nowhere => {}
            }
        }
        At::Nothing
    }

    /// An entry, its origin, the origin of that, and so on.
    fn origins(&self, index: usize) -> impl Iterator<Item = &Entry> {
        let origin =
            |entry: &&Entry| entry.origin.and_then(|offset| Some(&self.entries[*self.by_offset.get(&offset)?]));
        std::iter::successors(self.entries.get(index), origin).take(5)
    }

    fn name(&self, index: usize) -> Option<String> {
        let own = self.origins(index).find_map(|entry| entry.name.clone());
        own.or_else(|| self.origins(index).filter_map(|entry| entry.origin_name.clone()).last())
    }

    fn line(&self, index: usize) -> Option<u32> {
        self.origins(index).find_map(|entry| entry.line)
    }
}

impl Entry {
    fn attribute(&mut self, attribute: &str, parts: &[&str]) {
        let value = parts.first().copied().unwrap_or_default();
        let quoted = || Some(value.split_once('"')?.1.strip_suffix('"')?.to_owned());
        match attribute {
            "DW_AT_name" => self.name = quoted(),
            "DW_AT_abstract_origin" | "DW_AT_specification" => {
                self.origin = hexadecimal(value.split(' ').next().unwrap_or_default());
                self.origin_name = quoted();
            }
            "DW_AT_decl_line" => self.line = value.parse().ok(),
            "DW_AT_low_pc" => self.low = hexadecimal(value),
            "DW_AT_high_pc" => self.ranges.extend(self.low.zip(hexadecimal(value))),
            "DW_AT_ranges" => {
                self.ranges.extend(parts[1..].iter().filter_map(|part| range(part).map(|(range, _)| range)));
            }
            "DW_AT_frame_base" => self.frame_base = Some(value.to_owned()),
            "DW_AT_const_value" => self.is_constant = true,
            "DW_AT_location" if parts.len() > 1 => {
                let entry = |part: &&str| range(part).map(|((from, to), rest)| (from, to, rest.to_owned()));
                let offset = hexadecimal(value.trim_end_matches([':', ' ']));
                self.location = Described::List(offset, parts[1..].iter().filter_map(entry).collect());
            }
            // `llvm-dwarfdump` prints the offset of an empty list.
            "DW_AT_location"
                if value.contains("loclist") || hexadecimal(value.trim_end_matches([':', ' '])).is_some() =>
            {
                self.location = Described::List(None, Vec::new());
            }
            "DW_AT_location" if !value.is_empty() && value != "<empty>" => {
                self.location = Described::Everywhere(value.to_owned());
            }
            _ => {}
        }
    }
}

/// `[0x1, 0x2): REST`
fn range(text: &str) -> Option<((u64, u64), &str)> {
    let (range, rest) = text.strip_prefix('[')?.split_once(')').unwrap_or((text.get(1..)?, ""));
    let (from, to) = range.split_once(", ")?;
    Some(((hexadecimal(from)?, hexadecimal(to)?), rest.strip_prefix(": ").unwrap_or(rest)))
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The name of a function without its path, generic arguments and the suffixes that compilers
/// append to symbols. It also unifies what demanglers write differently.
#[must_use]
pub fn plain(name: &str) -> String {
    let (mut depth, mut short) = (0_usize, String::new());
    for character in name.replace("->", "").chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => short.push(character),
            _ => {}
        }
    }
    let last = short.split('(').next().unwrap_or_default().split("::").filter(|part| !part.is_empty()).last();
    let last = last.unwrap_or_default();
    match last.trim_matches(['{', '}']) {
        inner if inner != last => match inner.split(['#', '_', ':']).next().unwrap_or_default() {
            // An asynchronous block in the debug information is a closure in the symbol.
            "async" => "{closure}".to_owned(),
            kind => format!("{{{kind}}}"),
        },
        _ => last.split('.').next().unwrap_or_default().to_owned(),
    }
}

/// The location for operations of the simplest forms; `None` for others. Computes nothing.
#[must_use]
pub fn location(operations: &str, frame_base: Option<&str>) -> Option<Location> {
    if !operations.contains("DW_OP_piece") {
        return Some(Location::whole(source(operations, frame_base)?));
    }
    let mut pieces = Vec::new();
    let mut rest = operations;
    while !rest.is_empty() {
        let (before, behind) = rest.split_once("DW_OP_piece ")?;
        let (size, behind) = behind.split_once(", ").unwrap_or((behind, ""));
        let source = match before.trim_end_matches(", ") {
            "" => Source::OptimizedOut,
            operations => source(operations, frame_base)?,
        };
        pieces.push(Piece { bits: Some(hexadecimal(size)? * 8), source, offset: 0 });
        rest = behind;
    }
    Some(Location { pieces: pieces.into() })
}

fn source(operations: &str, frame_base: Option<&str>) -> Option<Source> {
    if let Some(value) = operations.strip_suffix(", DW_OP_stack_value") {
        return Some(Source::Value(expression(value, frame_base)?));
    }
    match operations.strip_prefix("DW_OP_reg") {
        Some(register) => Some(Source::Register(Register(register.split(' ').next()?.parse().ok()?))),
        None => Some(Source::Memory(expression(operations, frame_base)?)),
    }
}

fn expression(operation: &str, frame_base: Option<&str>) -> Option<Expr> {
    if operation.contains(", ") {
        return None;
    }
    let (name, operand) = operation.split_once(' ').unwrap_or((operation, ""));
    if let Some(literal) = name.strip_prefix("DW_OP_lit") {
        return Some(Expr::constant(literal.parse().ok()?));
    }
    if let Some(register) = name.strip_prefix("DW_OP_breg") {
        let offset = operand.find(['+', '-']).and_then(|at| operand.get(at..)?.parse().ok())?;
        return Expr::new(Node::Register(Register(register.parse().ok()?), ValueType::Generic))?.plus(offset);
    }
    match name {
        "DW_OP_fbreg" => {
            let register = frame_base?.strip_prefix("DW_OP_reg")?.split(' ').next()?.parse().ok()?;
            Expr::new(Node::Register(Register(register), ValueType::Generic))?.plus(operand.parse().ok()?)
        }
        "DW_OP_addr" => Expr::new(Node::Address(Vaddr(hexadecimal(operand)?))),
        _ if name.starts_with("DW_OP_const") && !name.contains("_type") => {
            let value = hexadecimal(operand).or_else(|| operand.parse::<i64>().ok().map(|value| value as u64));
            Some(Expr::constant(value?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
0x0000000c: DW_TAG_compile_unit
              DW_AT_name\t(\"a.c\")

0x000000a0:   DW_TAG_subprogram
                DW_AT_name\t(\"f\")
                DW_AT_low_pc\t(0x0000000000001040)
                DW_AT_high_pc\t(0x0000000000001060)
                DW_AT_frame_base\t(DW_OP_reg6 RBP)

0x000000c2:     DW_TAG_variable
                  DW_AT_name\t(\"n\")
                  DW_AT_decl_line\t(28)
                  DW_AT_location\t(0x000060f9: 
                     [0x0000000000001040, 0x000000000000104c): DW_OP_reg5 RDI
                     [0x0000000000001050, 0x0000000000001054): DW_OP_breg5 RDI+2, DW_OP_stack_value)

0x000000d0:     DW_TAG_lexical_block
                  DW_AT_ranges\t(0x0000000c
                     [0x0000000000001040, 0x0000000000001048)
                     [0x000000000000104a, 0x0000000000001050))

0x000000d8:       DW_TAG_variable
                    DW_AT_name\t(\"n\")
                    DW_AT_decl_line\t(31)
                    DW_AT_location\t(DW_OP_fbreg -20)

0x000000e0:       NULL

0x000000e1:     NULL
";

    #[test]
    fn the_scope_and_the_line_choose() {
        let dump = Dump::read(TEXT);
        let n = |line, pc| dump.variable("n", line, "f", pc, false);
        let base = Some("DW_OP_reg6 RBP".to_owned());
        assert_eq!(n(30, 0x1041), At::Operations("DW_OP_reg5 RDI".into(), base.clone()));
        assert_eq!(n(31, 0x1041), At::Operations("DW_OP_fbreg -20".into(), base.clone()));
        assert_eq!(n(31, 0x1050), At::Operations("DW_OP_breg5 RDI+2, DW_OP_stack_value".into(), base.clone()));
        assert_eq!(n(31, 0x1054), At::Nothing);
        assert_eq!(n(27, 0x1041), At::NoVariable);
        assert_eq!(n(27, 0x1060), At::NoScope);
        assert_eq!(dump.variable("n", 31, "f", 0x1050, true), At::Operations("DW_OP_fbreg -20".into(), base));
        assert_eq!(dump.variable("n", 31, "g", 0x1041, false), At::NoScope);
    }

    #[test]
    fn simple_operations_are_locations() {
        let register = |number| Expr::new(Node::Register(Register(number), ValueType::Generic)).expect("light");
        let memory = |number, offset| Some(Location::whole(Source::Memory(register(number).plus(offset)?)));
        assert_eq!(location("DW_OP_reg5 RDI", None), Some(Location::whole(Source::Register(Register(5)))));
        assert_eq!(location("DW_OP_breg7 RSP-8", None), memory(7, -8));
        assert_eq!(location("DW_OP_fbreg -20", Some("DW_OP_reg6 RBP")), memory(6, -20));
        assert_eq!(location("DW_OP_fbreg -20", Some("DW_OP_call_frame_cfa")), None);
        assert_eq!(
            location("DW_OP_lit5, DW_OP_stack_value", None),
            Some(Location::whole(Source::Value(Expr::constant(5))))
        );
        assert_eq!(location("DW_OP_breg5 RDI+0, DW_OP_lit3, DW_OP_mul, DW_OP_stack_value", None), None);
        let pieces = location("DW_OP_reg0 RAX, DW_OP_piece 0x8, DW_OP_piece 0x8", None).expect("a location");
        let sources: Vec<_> = pieces.pieces.iter().map(|piece| (piece.bits, piece.source.clone())).collect();
        assert_eq!(sources, [(Some(64), Source::Register(Register(0))), (Some(64), Source::OptimizedOut)]);
    }

    #[test]
    fn names_lose_what_tools_write_differently() {
        let same = [
            ("io_queue::queue::Queue::submit", "submit"),
            ("<constructs::traits::Loud as constructs::traits::Speak>::speak", "speak"),
            ("constructs::generics::generic<i32>", "generic"),
            ("constructs::run::{{closure}}", "{closure}"),
            ("constructs::run::{closure#0}", "{closure}"),
            ("constructs::run::{closure_env#0}<i32>", "{closure}"),
            ("constructs::tasks::block::{async_block#0}", "{closure}"),
            ("drain.part.0", "drain"),
            ("f(int)", "f"),
        ];
        for (name, expected) in same {
            assert_eq!(plain(name), expected, "{name}");
        }
    }
}
