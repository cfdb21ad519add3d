//! Writes a program in Rust.

use super::program::{Call, Condition, Expression, Function, Operator, Place, Program, Statement};
use super::writer::{self, Writer};
use super::{Form, ROUNDS, Source, Variant};

const HEAD: &str = "\
pub struct State {
cells: [u32; 8],
depth: u32,
}
#[inline(never)]
fn sink(s: &mut State, x: u32) -> u32 {
s.cells[(x & 7) as usize] = s.cells[(x & 7) as usize].wrapping_add(x ^ s.depth);
s.cells[((x >> 3) & 7) as usize].wrapping_add(x.wrapping_mul(3))
}";

impl Program {
    /// The program in Rust, as a program of edition 2024 or as a library. `run` has the C ABI.
    #[must_use]
    pub fn rust(&self, form: Form) -> Source {
        let mut writer = Rust { out: Writer::default(), program: self, form };
        writer.out.line("#![allow(warnings)]");
        if form == Form::Counted {
            writer.out.line("use std::sync::atomic::{AtomicU64, Ordering::Relaxed};");
            let count = self.markers.len();
            writer
                .out
                .line(&format!("static COUNTS: [AtomicU64; {count}] = [const {{ AtomicU64::new(0) }}; {count}];"));
        } else if form == Form::Empty {
            writer.out.line("macro_rules! simple_mark { ($($marker:tt)*) => {} }");
        } else {
            writer.out.line("use simple_markers::simple_mark;");
        }
        writer.out.block(HEAD);
        for function in &self.functions {
            writer.function(function);
        }
        writer.run();
        writer.out.line("fn main() {");
        writer
            .out
            .line(&format!("let rounds = std::env::args().nth(1).map_or({ROUNDS}, |word| word.parse().unwrap());"));
        writer.out.line("let result = run(rounds);");
        if form == Form::Counted {
            for (index, marker) in self.markers.iter().enumerate() {
                writer.out.line(&format!("println!(\"{} {{}}\", COUNTS[{index}].load(Relaxed));", marker.name));
            }
        }
        writer.out.line("println!(\"{result}\");");
        writer.out.line("}");
        Source { text: writer.out.text, lines: writer.out.lines }
    }
}

struct Rust<'p> {
    out: Writer,
    program: &'p Program,
    form: Form,
}

impl Rust<'_> {
    fn function(&mut self, function: &Function) {
        let inline = if function.is_inline { "#[inline]" } else { "#[inline(never)]" };
        let ghosts = if self.form == Form::Marked(Variant::Ghosts) { " #[simple_markers::ghosts]" } else { "" };
        self.out.line(&format!("{inline}{ghosts}"));
        self.out.line(&format!("fn {}(s: &mut State, mut a: u32, mut b: u32) -> u32 {{", function.name));
        self.statements(&function.body);
        self.out.line(&format!("return {};", expression(&function.result)));
        self.out.line("}");
    }

    fn run(&mut self) {
        self.out.line("#[unsafe(no_mangle)]");
        self.out.line("pub extern \"C\" fn run(rounds: u32) -> u32 {");
        self.out.line("let mut s = State { cells: [0; 8], depth: 0 };");
        self.out.line("let mut result = 0u32;");
        self.out.line("for round in 0..rounds {");
        for (index, function) in self.program.functions.iter().enumerate().filter(|(_, function)| function.is_root) {
            self.out.line(&format!(
                "result = result.wrapping_mul(31).wrapping_add({}(&mut s, round.wrapping_mul(7).wrapping_add({index}) & 15, \
                 round.wrapping_mul({}) & 63));",
                function.name,
                index * 2 + 1
            ));
        }
        self.out.line("}");
        self.out.line("result");
        self.out.line("}");
    }

    fn statements(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Marker(index) => self.marker(*index),
            Statement::Let(name, value) => self.out.line(&format!("let mut {name}: u32 = {};", expression(value))),
            Statement::Assign(name, value) => self.out.line(&format!("{name} = {};", expression(value))),
            Statement::Store(cell, value) => self.out.line(&format!("s.cells[{cell}] = {};", expression(value))),
            Statement::Deepen(value) => {
                self.out.line(&format!("s.depth = s.depth.wrapping_add({});", expression(value)));
            }
            Statement::Call(name, of) => {
                self.call_before(of);
                self.out.line(&format!("{name} = {};", call(of)));
            }
            Statement::Discard(of) => {
                self.call_before(of);
                self.out.line(&format!("{};", call(of)));
            }
            Statement::If(of, then, otherwise) => {
                self.out.line(&format!("if {} {{", condition(of)));
                self.statements(then);
                if !otherwise.is_empty() {
                    self.out.line("} else {");
                    self.statements(otherwise);
                }
                self.out.line("}");
            }
            Statement::For(of) => {
                let times = expression(&of.times);
                self.out.line(&format!("'leave{}: for {} in 0u32..{times} {{", of.number, of.variable));
                self.statements(&of.body);
                self.out.line("}");
            }
            Statement::Until(of) => {
                let i = &of.variable;
                self.out.line(&format!("let mut {i}: u32 = {};", expression(&of.times)));
                self.out.line(&format!("'leave{}: loop {{", of.number));
                self.statements(&of.body);
                self.out.line(&format!("if {i} == 0 {{ break; }}"));
                self.out.line(&format!("{i} -= 1;"));
                self.out.line("}");
            }
            Statement::Switch(of, cases, default) => {
                self.out.line(&format!("match {} {{", expression(of)));
                for (values, body) in cases {
                    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
                    self.out.line(&format!("{} => {{", values.join(" | ")));
                    self.statements(body);
                    self.out.line("}");
                }
                self.out.line("_ => {");
                self.statements(default);
                self.out.line("}");
                self.out.line("}");
            }
            Statement::Block(number, body) => {
                self.out.line(&format!("'leave{number}: {{"));
                self.statements(body);
                self.out.line("}");
            }
            Statement::Leave(number) | Statement::Break { number, .. } => {
                self.out.line(&format!("break 'leave{number};"));
            }
            Statement::Continue(number) => self.out.line(&format!("continue 'leave{number};")),
            Statement::Return(value) => self.out.line(&format!("return {};", expression(value))),
        }
    }

    /// Evaluates the arguments first: the borrow checker allows no read of the state while `&mut`
    /// of it is passed.
    fn call_before(&mut self, of: &Call) {
        for (index, argument) in of.arguments.iter().enumerate() {
            self.out.line(&format!("let x{index} = {};", expression(argument)));
        }
    }

    fn marker(&mut self, index: usize) {
        let marker = &self.program.markers[index];
        let kept = matches!(self.form, Form::Marked(Variant::Keep | Variant::KeepAnchor));
        let arguments = marker.arguments.iter().map(|place| {
            let place = match place {
                Place::Variable(name) => name.clone(),
                Place::Depth => "s.depth".to_owned(),
                Place::Cell(cell) => format!("s.cells[{cell}]"),
            };
            format!(", {}{place}", if kept { "keep " } else { "" })
        });
        let arguments: String = arguments.collect();
        let format = vec!["%u"; marker.arguments.len()].join(" ");
        let code = match self.form {
            Form::Counted => format!("COUNTS[{index}].fetch_add(1, Relaxed);"),
            Form::Marked(_) | Form::Empty => {
                let options = match self.form {
                    Form::Marked(Variant::Anchor | Variant::KeepAnchor) => ", options(anchor)",
                    Form::Marked(Variant::Ghost) | Form::Empty => ", options(ghost)",
                    _ => "",
                };
                format!("simple_mark!({}, \"{format}\"{arguments}{options});", marker.name)
            }
        };
        self.out.marker(index, &code);
    }
}

fn expression(of: &Expression) -> String {
    writer::expression(of, "s.", &|operator, left, right| {
        // A lone constant needs a type suffix.
        let left = if left.parse::<u32>().is_ok() { format!("{left}u32") } else { left.to_owned() };
        match operator {
            Operator::Add => format!("{left}.wrapping_add({right})"),
            Operator::Subtract => format!("{left}.wrapping_sub({right})"),
            Operator::Multiply => format!("{left}.wrapping_mul({right})"),
            Operator::And => format!("({left} & {right})"),
            Operator::Xor => format!("({left} ^ {right})"),
            Operator::Right => format!("({left} >> {right})"),
        }
    })
}

/// The call, after [`Rust::call_before`].
fn call(of: &Call) -> String {
    let arguments: Vec<_> = (0..of.arguments.len()).map(|index| format!("x{index}")).collect();
    format!("{}(s, {})", of.function, arguments.join(", "))
}

fn condition(of: &Condition) -> String {
    match of {
        Condition::Less(left, right) => format!("{} < {}", side(left), side(right)),
        Condition::Equal(left, right) => format!("{} == {}", side(left), side(right)),
        Condition::Calls(of, limit) => {
            let arguments = of.arguments.iter().enumerate();
            let arguments: String =
                arguments.map(|(index, argument)| format!("let x{index} = {}; ", expression(argument))).collect();
            format!("{{ {arguments}{} < {limit} }}", call(of))
        }
        Condition::Both(left, right) => format!("({}) && ({})", condition(left), condition(right)),
        Condition::Either(left, right) => format!("({}) || ({})", condition(left), condition(right)),
    }
}

fn side(of: &Expression) -> String {
    match of {
        Expression::Constant(value) => format!("{value}u32"),
        _ => expression(of),
    }
}
