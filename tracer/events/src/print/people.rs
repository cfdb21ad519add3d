//! What a `print fmt` says to people about the fields: names of values, and a line that describes
//! the event.

use super::choices::Choices;
use super::node::{Binary, Node, TextFunction};
use super::{Form, Kind, Needs, Part, Printer};
use crate::format::{Field, Format};

impl Printer {
    /// The fields whose values have names, each once.
    #[must_use]
    pub fn choices(&self, format: &Format) -> Vec<Choices> {
        let mut found: Vec<Choices> = Vec::new();
        self.each_node(&mut |node| {
            let Node::Function(made) = node else { return };
            let (value, delimiter, pairs) = match &**made {
                TextFunction::Flags { value, delimiter, pairs } => (value, Some(delimiter.to_string()), pairs),
                TextFunction::Symbolic { value, pairs } => (value, None, pairs),
                _ => return,
            };
            let Some((field, mask)) = masked(value, format) else { return };
            if found.iter().any(|known| known.field == field.name) {
                return;
            }
            let pairs = pairs.iter().map(|(value, name)| (*value, name.to_string())).collect();
            found.push(Choices { field: field.name.clone(), mask, delimiter, pairs });
        });
        found
    }

    /// Which names it asks for.
    #[must_use]
    pub fn needs(&self) -> Needs {
        let mut needs = Needs { enumerators: self.enumerators.clone(), ..Needs::default() };
        if let Form::Pieces(parts) = &self.form {
            for part in parts {
                let Part::Argument(argument) = part else { continue };
                match argument.conversion.kind {
                    Kind::Pointer(pointer) => needs.symbols |= pointer.needs_symbols(),
                    Kind::Text => needs.texts |= is_address(&argument.value),
                    _ => {}
                }
            }
        }
        self.each_node(&mut |node| {
            if let Node::Variable(name) = node {
                if !needs.variables.iter().any(|known| **known == **name) {
                    needs.variables.push(name.to_string());
                }
            }
        });
        needs
    }

    /// The text of the event with each conversion replaced by the fields that it prints: `pid=$pid`.
    /// Several fields in one conversion are `${a,b}`.
    #[must_use]
    pub fn description(&self, format: &Format) -> String {
        let mut text = String::new();
        match &self.form {
            Form::Syscall(syscall) if syscall.is_exit() => text = format!("{} -> $ret", syscall.name()),
            Form::Syscall(syscall) => {
                let arguments = syscall.arguments().map(|name| format!("{name}: ${name}")).collect::<Vec<_>>();
                text = format!("{}({})", syscall.name(), arguments.join(", "));
            }
            Form::Pieces(parts) => {
                for part in parts {
                    match part {
                        Part::Literal(literal) => text.push_str(literal),
                        Part::Argument(argument) => {
                            let names = argument.fields.iter().filter_map(|index| format.fields.get(*index));
                            let names: Vec<&str> = names.map(|field| field.name.as_str()).collect();
                            match (names.as_slice(), &argument.value) {
                                ([], Node::Text(literal)) => text.push_str(literal),
                                ([], Node::Constant(value)) => text.push_str(&(*value as i64).to_string()),
                                ([], _) => text.push('?'),
                                ([name], _) => {
                                    text.push('$');
                                    text.push_str(name);
                                }
                                (names, _) => text.push_str(&format!("${{{}}}", names.join(","))),
                            }
                        }
                    }
                }
            }
        }
        text
    }

    fn each_node(&self, each: &mut dyn FnMut(&Node)) {
        let Form::Pieces(parts) = &self.form else { return };
        for part in parts {
            let Part::Argument(argument) = part else { continue };
            let nodes = argument.width.iter().chain(&argument.precision).chain([&argument.value]);
            nodes.for_each(|node| visit(node, each));
        }
    }
}

/// Whether it is a pointer into the memory of the kernel in some case.
fn is_address(node: &Node) -> bool {
    match node {
        Node::Conditional(parts) => is_address(&parts.1) || is_address(&parts.2),
        _ => !node.is_place(),
    }
}

fn visit(node: &Node, each: &mut dyn FnMut(&Node)) {
    each(node);
    match node {
        Node::Constant(_)
        | Node::Load { .. }
        | Node::Place(_)
        | Node::Length(_)
        | Node::Text(_)
        | Node::Variable(_) => {}
        Node::Element { place: a, index: b, .. } | Node::Skip { place: a, count: b, .. } => {
            visit(a, each);
            visit(b, each);
        }
        Node::Unary(_, _, inner) | Node::Convert(_, inner) => visit(inner, each),
        Node::Binary(_, _, both) => {
            visit(&both.0, each);
            visit(&both.1, each);
        }
        Node::Conditional(parts) => {
            visit(&parts.0, each);
            visit(&parts.1, each);
            visit(&parts.2, each);
        }
        Node::Function(made) => match &**made {
            TextFunction::Flags { value, .. }
            | TextFunction::Symbolic { value, .. }
            | TextFunction::MemoryError(value) => visit(value, each),
            TextFunction::Array { place, count, size } => {
                [place, count, size].into_iter().for_each(|node| visit(node, each));
            }
            TextFunction::Hex { place, length, .. } => [place, length].into_iter().for_each(|node| visit(node, each)),
            TextFunction::Dump(dump) => {
                let nodes = [&dump.kind, &dump.row, &dump.group, &dump.place, &dump.length, &dump.has_text];
                nodes.into_iter().for_each(|node| visit(node, each));
            }
            TextFunction::Bitmask(_) => {}
        },
    }
}

/// The field that an expression is, and the bits of it.
fn masked<'a>(node: &Node, format: &'a Format) -> Option<(&'a Field, u64)> {
    match node {
        Node::Load { offset, of } => {
            let is_it = |field: &&Field| field.offset as usize == *offset && field.size == u32::from(of.size);
            format.fields.iter().find(is_it).map(|field| (field, u64::MAX))
        }
        Node::Convert(of, inner) => {
            // A longer type keeps all bits.
            let (field, mask) = masked(inner, format)?;
            (u32::from(of.size) >= field.size).then_some((field, mask))
        }
        Node::Binary(Binary::And, _, both) => match &**both {
            (inner, Node::Constant(mask)) | (Node::Constant(mask), inner) => {
                let (field, outer) = masked(inner, format)?;
                Some((field, outer & mask))
            }
            _ => None,
        },
        _ => None,
    }
}
