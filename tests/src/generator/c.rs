//! Writes a program in C.

use super::program::{Call, Condition, Expression, Function, Operator, Place, Program, SINK, Statement};
use super::writer::{self, Writer};
use super::{Form, ROUNDS, Source, Variant};

const HEAD: &str = "\
#define NOINLINE __attribute__((noinline))
struct state {
uint32_t cells[8];
uint32_t depth;
};
static NOINLINE uint32_t sink(struct state *s, uint32_t x)
{
s->cells[x & 7] += x ^ s->depth;
return s->cells[(x >> 3) & 7] + x * 3;
}";

impl Program {
    /// The program in C, for gcc and clang. `main` is omitted if `SMARK_NO_MAIN` is defined.
    #[must_use]
    pub fn c(&self, form: Form) -> Source {
        let mut writer = C { out: Writer::default(), program: self, form };
        writer.out.line("#include <stdint.h>");
        writer.out.line("#include <stdio.h>");
        writer.out.line("#include <stdlib.h>");
        if form == Form::Empty {
            writer.out.line("#define simple_mark_ghost(...)");
        } else if form != Form::Counted {
            writer.out.line("#include <simple_marker.h>");
        }
        writer.out.block(HEAD);
        if form == Form::Counted {
            writer.out.line(&format!("static unsigned long counts[{}];", self.markers.len()));
        }
        for function in &self.functions {
            writer.function(function);
        }
        writer.run();
        writer.out.line("#ifndef SMARK_NO_MAIN");
        writer.out.line("int main(int count, char **words)");
        writer.out.line("{");
        writer.out.line(&format!("uint32_t result = run(count > 1 ? (uint32_t)atoi(words[1]) : {ROUNDS});"));
        if form == Form::Counted {
            for (index, marker) in self.markers.iter().enumerate() {
                writer.out.line(&format!("printf(\"{} %lu\\n\", counts[{index}]);", marker.name));
            }
        }
        writer.out.line("printf(\"%lu\\n\", (unsigned long)result);");
        writer.out.line("return 0;");
        writer.out.line("}");
        writer.out.line("#endif");
        Source { text: writer.out.text, lines: writer.out.lines }
    }
}

struct C<'p> {
    out: Writer,
    program: &'p Program,
    form: Form,
}

impl C<'_> {
    fn function(&mut self, function: &Function) {
        let how = if function.is_inline { "inline" } else { "NOINLINE" };
        self.out.line(&format!("static {how} uint32_t {}(struct state *s, uint32_t a, uint32_t b)", function.name));
        self.out.line("{");
        self.statements(&function.body);
        self.out.line(&format!("return {};", expression(&function.result)));
        self.out.line("}");
    }

    fn run(&mut self) {
        self.out.line("uint32_t run(uint32_t rounds);");
        self.out.line("uint32_t run(uint32_t rounds)");
        self.out.line("{");
        self.out.line("struct state s = { { 0 }, 0 };");
        self.out.line("uint32_t result = 0;");
        self.out.line("for (uint32_t round = 0; round < rounds; round++) {");
        for (index, function) in self.program.functions.iter().enumerate().filter(|(_, function)| function.is_root) {
            self.out.line(&format!(
                "result = result * 31 + {}(&s, (round * 7 + {index}) & 15, (round * {}) & 63);",
                function.name,
                index * 2 + 1
            ));
        }
        self.out.line("}");
        self.out.line("return result;");
        self.out.line("}");
    }

    fn statements(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Marker(index) => self.marker(*index),
            Statement::Let(name, value) => self.out.line(&format!("uint32_t {name} = {};", expression(value))),
            Statement::Assign(name, value) => self.out.line(&format!("{name} = {};", expression(value))),
            Statement::Store(cell, value) => self.out.line(&format!("s->cells[{cell}] = {};", expression(value))),
            Statement::Deepen(value) => self.out.line(&format!("s->depth += {};", expression(value))),
            Statement::Call(name, of) => self.out.line(&format!("{name} = {};", call(of))),
            Statement::Discard(of) => self.out.line(&format!("{};", call(of))),
            Statement::If(of, then, otherwise) => {
                self.out.line(&format!("if ({}) {{", condition(of)));
                self.statements(then);
                if !otherwise.is_empty() {
                    self.out.line("} else {");
                    self.statements(otherwise);
                }
                self.out.line("}");
            }
            Statement::For(of) => {
                let (i, times) = (&of.variable, expression(&of.times));
                self.out.line(&format!("for (uint32_t {i} = 0, end{i} = {times}; {i} < end{i}; {i}++) {{"));
                self.statements(&of.body);
                self.out.line("}");
                self.out.line(&format!("leave{}: __attribute__((unused));", of.number));
            }
            Statement::Until(of) => {
                let i = &of.variable;
                self.out.line(&format!("uint32_t {i} = {};", expression(&of.times)));
                self.out.line("do {");
                self.statements(&of.body);
                self.out.line(&format!("}} while ({i}-- != 0);"));
                self.out.line(&format!("leave{}: __attribute__((unused));", of.number));
            }
            Statement::Switch(of, cases, default) => {
                self.out.line(&format!("switch ({}) {{", expression(of)));
                for (values, body) in cases {
                    let values: Vec<_> = values.iter().map(|value| format!("case {value}:")).collect();
                    self.out.line(&format!("{} {{", values.join(" ")));
                    self.statements(body);
                    self.out.line("} break;");
                }
                self.out.line("default: {");
                self.statements(default);
                self.out.line("} break;");
                self.out.line("}");
            }
            Statement::Block(number, body) => {
                self.out.line("{");
                self.statements(body);
                self.out.line("}");
                self.out.line(&format!("leave{number}: __attribute__((unused));"));
            }
            Statement::Leave(number) | Statement::Break { number, is_in_switch: true } => {
                self.out.line(&format!("goto leave{number};"));
            }
            Statement::Break { .. } => self.out.line("break;"),
            Statement::Continue(_) => self.out.line("continue;"),
            Statement::Return(value) => self.out.line(&format!("return {};", expression(value))),
        }
    }

    fn marker(&mut self, index: usize) {
        let marker = &self.program.markers[index];
        let arguments = marker.arguments.iter().map(|place| match place {
            Place::Variable(name) => format!(", {name}"),
            Place::Depth => ", s->depth".to_owned(),
            Place::Cell(cell) => format!(", s->cells[{cell}]"),
        });
        let arguments: String = arguments.collect();
        let format = vec!["%u"; marker.arguments.len()].join(" ");
        let code = match self.form {
            Form::Counted => format!("counts[{index}]++;"),
            Form::Marked(variant) => {
                let name = match variant {
                    Variant::Place => "simple_mark",
                    Variant::Keep => "simple_mark_keep",
                    Variant::Anchor => "simple_mark_anchor",
                    Variant::KeepAnchor => "simple_mark_keep_anchor",
                    Variant::Ghost | Variant::Ghosts => "simple_mark_ghost",
                };
                format!("{name}({}, \"{format}\"{arguments});", marker.name)
            }
            Form::Empty => format!("simple_mark_ghost({}, \"{format}\"{arguments});", marker.name),
        };
        self.out.marker(index, &code);
    }
}

fn expression(of: &Expression) -> String {
    writer::expression(of, "s->", &|operator, left, right| {
        let operator = match operator {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::And => "&",
            Operator::Xor => "^",
            Operator::Right => ">>",
        };
        // Unsigned 32-bit arithmetic, for all constants.
        format!("(uint32_t)((uint32_t){left} {operator} {right})")
    })
}

fn call(of: &Call) -> String {
    let arguments: Vec<_> = of.arguments.iter().map(expression).collect();
    format!("{}(s, {})", if of.function == SINK { SINK } else { &of.function }, arguments.join(", "))
}

fn condition(of: &Condition) -> String {
    match of {
        Condition::Less(left, right) => format!("(uint32_t){} < (uint32_t){}", expression(left), expression(right)),
        Condition::Equal(left, right) => format!("(uint32_t){} == (uint32_t){}", expression(left), expression(right)),
        Condition::Calls(of, limit) => format!("{} < {limit}u", call(of)),
        Condition::Both(left, right) => format!("({}) && ({})", condition(left), condition(right)),
        Condition::Either(left, right) => format!("({}) || ({})", condition(left), condition(right)),
    }
}
