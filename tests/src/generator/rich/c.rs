//! Writes a program in C or C++.

use super::super::writer::Writer;
use super::super::{ROUNDS, Variant};
use super::c_expressions::{conversion, random, scalar};
use super::{Count, Function, Given, Kind, Place, ResultType, Returned, Rich, Statement, Variable};

const HEAD: &str = "\
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <simple_marker.h>
#define NOINLINE __attribute__((noinline))
static uint64_t state = 1;
static NOINLINE uint64_t next(void)
{
state = state * 6364136223846793005u + 1442695040888963407u;
return state >> 33;
}";

pub(super) fn text(rich: &Rich, is_cxx: bool, variant: Variant) -> String {
    let mut writer = C { out: Writer::default(), rich, is_cxx, variant };
    writer.out.block(HEAD);
    writer.types();
    for function in rich.functions.iter().filter(|function| !function.is_gone) {
        writer.function(function);
    }
    writer.run();
    writer.out.text
}

pub(super) struct C<'p> {
    out: Writer,
    rich: &'p Rich,
    pub(super) is_cxx: bool,
    variant: Variant,
}

impl C<'_> {
    fn types(&mut self) {
        for (number, fields) in self.rich.structs.iter().enumerate() {
            self.out.line(&format!("struct S{number} {{"));
            for (index, of) in fields.iter().enumerate() {
                self.out.line(&format!("{} f{index};", scalar(*of)));
            }
            let is_method = |function: &&Function| {
                function.is_method
                    && function.parameters.first().map(|first| &first.kind) == Some(&Kind::Struct(number))
            };
            let methods = self.rich.functions.iter().filter(is_method).filter(|_| self.is_cxx);
            let declarations: Vec<_> = methods.map(|function| format!("{};", self.head(function, None))).collect();
            declarations.iter().for_each(|line| self.out.line(line));
            self.out.line("};");
        }
        for (number, variants) in self.rich.enums.iter().enumerate() {
            self.out.line(&format!("struct E{number} {{"));
            self.out.line("uint32_t tag;");
            self.out.line("union {");
            for (index, payload) in variants.iter().enumerate().filter(|(_, payload)| !payload.is_empty()) {
                let fields = payload.iter().enumerate().map(|(at, of)| format!("{} w{at}; ", scalar(*of)));
                self.out.line(&format!("struct {{ {}}} v{index};", fields.collect::<String>()));
            }
            self.out.line("char none;");
            self.out.line("} u;");
            self.out.line("};");
        }
    }

    /// The head of a function; in C++, of a method of `class`.
    fn head(&self, function: &Function, class: Option<usize>) -> String {
        let is_method = self.is_cxx && function.is_method;
        let parameters = function.parameters.iter().skip(usize::from(is_method));
        let parameters: Vec<_> = parameters.map(|of| self.parameter(function, of)).collect();
        let result = match &function.result {
            ResultType::Scalar(of) => scalar(*of).to_owned(),
            ResultType::Struct(number) => format!("struct S{number}"),
        };
        let how = match (function.is_inline, is_method && class.is_some()) {
            (true, false) if is_method => "inline ",
            (true, _) if !is_method => "static inline ",
            (true, _) => "inline ",
            (false, false) if is_method => "NOINLINE ",
            (false, true) => "",
            (false, false) => "static NOINLINE ",
        };
        let class = class.map_or(String::new(), |number| format!("S{number}::"));
        format!("{how}{result} {class}{}({})", function.name, parameters.join(", "))
    }

    fn parameter(&self, function: &Function, of: &Variable) -> String {
        let name = &of.name;
        let restrict = match (function.is_restrict, self.is_cxx) {
            (false, _) => "",
            (true, false) => "restrict ",
            (true, true) => "__restrict ",
        };
        match &of.kind {
            Kind::Scalar(of) => format!("{} {name}", scalar(*of)),
            Kind::Struct(number) if of.by_reference && self.is_cxx => format!("struct S{number} &{name}"),
            Kind::Struct(number) if of.by_reference => format!("struct S{number} *{restrict}{name}"),
            Kind::Struct(number) => format!("struct S{number} {name}"),
            Kind::Enum(number) => format!("struct E{number} {name}"),
            Kind::Array(of, _) | Kind::Slice(of) => format!("{} *{restrict}{name}, uint32_t {name}_n", scalar(*of)),
        }
    }

    fn function(&mut self, function: &Function) {
        let class = match function.parameters.first().map(|first| &first.kind) {
            Some(Kind::Struct(number)) if function.is_method && self.is_cxx => Some(*number),
            _ => None,
        };
        let head = self.head(function, class);
        self.out.line(&head);
        self.out.line("{");
        self.statements(&function.body);
        self.out.line("}");
    }

    fn run(&mut self) {
        self.out.line("int main(int count, char **words)");
        self.out.line("{");
        self.out.line(&format!("uint32_t rounds = count > 1 ? (uint32_t)atoi(words[1]) : {ROUNDS};"));
        for number in 0..self.rich.structs.len() {
            self.out.line(&format!("struct S{number} s{number} = {{}};"));
        }
        self.out.line("uint64_t result = 0;");
        self.out.line("for (uint32_t round = 0; round < rounds; round++) {");
        for function in self.rich.functions.iter().filter(|function| function.is_root) {
            self.root(function);
        }
        self.out.line("}");
        self.out.line("printf(\"%lu\\n\", (unsigned long)result);");
        self.out.line("return 0;");
        self.out.line("}");
    }

    /// The call of a function with random arguments.
    fn root(&mut self, function: &Function) {
        self.out.line("{");
        let mut arguments = Vec::new();
        for (index, of) in function.parameters.iter().enumerate() {
            match &of.kind {
                Kind::Scalar(_) if of.name == "n" => {
                    self.out.line("uint32_t n = next() & 15;");
                    arguments.push("n".to_owned());
                }
                // One statement for each random number: arguments have no order in C.
                Kind::Scalar(of) => {
                    self.out.line(&format!("{} a{index} = {};", scalar(*of), random(*of)));
                    arguments.push(format!("a{index}"));
                }
                Kind::Struct(number) if of.by_reference => arguments.push(self.address(&format!("s{number}"))),
                Kind::Struct(number) => arguments.push(format!("s{number}")),
                Kind::Enum(number) => {
                    let variants = &self.rich.enums[*number];
                    self.out.line(&format!("struct E{number} e{index} = {{}};"));
                    self.out.line(&format!("e{index}.tag = next() % {};", variants.len()));
                    for (variant, payload) in variants.iter().enumerate() {
                        let values = payload.iter().enumerate();
                        let values: String =
                            values.map(|(at, of)| format!("e{index}.u.v{variant}.w{at} = {}; ", random(*of))).collect();
                        self.out.line(&format!("if (e{index}.tag == {variant}) {{ {values} }}"));
                    }
                    arguments.push(format!("e{index}"));
                }
                Kind::Slice(of) | Kind::Array(of, _) => {
                    self.out.line(&format!("{} t{index}[8];", scalar(*of)));
                    self.out.line(&format!("for (int at = 0; at < 8; at++) t{index}[at] = {};", random(*of)));
                    arguments.push(format!("t{index}, 8"));
                }
            }
        }
        let call = self.callee(function, &arguments);
        match &function.result {
            ResultType::Scalar(_) => self.out.line(&format!("result = result * 31 + (uint64_t){call};")),
            ResultType::Struct(number) => self.out.line(&format!("s{number} = {call};")),
        }
        self.out.line("}");
    }

    /// What is passed for a reference to a variable.
    fn address(&self, name: &str) -> String {
        if self.is_cxx { name.to_owned() } else { format!("&{name}") }
    }

    fn callee(&self, function: &Function, arguments: &[String]) -> String {
        match (self.is_cxx && function.is_method, arguments.split_first()) {
            (true, Some((first, rest))) => format!("{first}.{}({})", function.name, rest.join(", ")),
            _ => format!("{}({})", function.name, arguments.join(", ")),
        }
    }

    fn statements(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn block(&mut self, head: &str, statements: &[Statement]) {
        self.out.line(&format!("{head}{{"));
        self.statements(statements);
        self.out.line("}");
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Marker(number, places) => self.marker(*number, places),
            Statement::Let(name, of, value) => {
                let value = self.expression(value);
                self.out.line(&format!("{} {name} = {value};", scalar(*of)));
            }
            Statement::LetStruct(name, number, values) => {
                let values: Vec<_> = values.iter().map(|value| self.expression(value)).collect();
                self.out.line(&format!("struct S{number} {name} = {{ {} }};", values.join(", ")));
            }
            Statement::LetEnum(name, number, variant, values) => {
                self.out.line(&format!("struct E{number} {name} = {{ {variant}, {{}} }};"));
                for (at, value) in values.iter().enumerate() {
                    let value = self.expression(value);
                    self.out.line(&format!("{name}.u.v{variant}.w{at} = {value};"));
                }
            }
            Statement::LetArray(name, of, values) => {
                let values: Vec<_> = values.iter().map(|value| self.expression(value)).collect();
                self.out.line(&format!("{} {name}[{}] = {{ {} }};", scalar(*of), values.len(), values.join(", ")));
            }
            Statement::Assign(to, value) => {
                let line = format!("{} = {};", self.place(to), self.expression(value));
                self.out.line(&line);
            }
            Statement::Store(to, index, mask, value) => {
                let (index, value) = (self.expression(index), self.expression(value));
                self.out.line(&format!("{}[{index} & {mask}] = {value};", to.name));
            }
            Statement::If(of, then, otherwise) => {
                let of = self.expression(of);
                self.out.line(&format!("if ({of}) {{"));
                self.statements(then);
                if !otherwise.is_empty() {
                    self.out.line("} else {");
                    self.statements(otherwise);
                }
                self.out.line("}");
            }
            Statement::For { variable: i, of, count, times, body } => {
                let (of, times) = (scalar(*of), self.expression(times));
                let head = match count {
                    Count::Up => format!("for ({of} {i} = 0, end{i} = {times}; {i} < end{i}; {i}++) "),
                    Count::Down => format!("for ({of} {i} = {times}; {i}-- > 0;) "),
                    Count::Step(by) => format!("for ({of} {i} = 0, end{i} = {times}; {i} < end{i}; {i} += {by}) "),
                    Count::While => {
                        self.out.line(&format!("{of} {i} = 0;"));
                        self.out.line(&format!("{of} end{i} = {times};"));
                        self.out.line(&format!("while ({i} < end{i}) {{"));
                        self.statements(body);
                        self.out.line(&format!("{i} = {i} + 1;"));
                        self.out.line("}");
                        return;
                    }
                };
                self.block(&head, body);
            }
            Statement::ForEach { variable, of, over, body, .. } => {
                let (of, p) = (scalar(*of), format!("at_{variable}"));
                let (name, end) = match &over.kind {
                    Kind::Array(_, length) => (&over.name, length.to_string()),
                    _ => (&over.name, format!("{}_n", over.name)),
                };
                self.out.line(&format!("for ({of} *{p} = {name}; {p} < {name} + {end}; {p}++) {{"));
                self.out.line(&format!("{of} {variable} = *{p};"));
                self.statements(body);
                self.out.line("}");
            }
            Statement::Match(variable, number, arms) => {
                let name = &variable.name;
                self.out.line(&format!("switch ({name}.tag) {{"));
                for (index, (names, body)) in arms.iter().enumerate() {
                    self.out.line(&format!("case {index}: {{"));
                    for (at, (bound, of)) in names.iter().zip(&self.rich.enums[*number][index]).enumerate() {
                        self.out.line(&format!("{} {bound} = {name}.u.v{index}.w{at};", scalar(*of)));
                    }
                    self.statements(body);
                    self.out.line("} break;");
                }
                self.out.line("}");
            }
            Statement::Closure { name, parameter, of, body, result, calls } => {
                let of = scalar(*of);
                if self.is_cxx {
                    self.out.line(&format!("auto {name} = [&]({of} {parameter}) -> {of} {{"));
                    self.statements(body);
                    let result = self.expression(result);
                    self.out.line(&format!("return {result};"));
                    self.out.line("};");
                }
                for (assigned, argument) in calls {
                    let argument = self.expression(argument);
                    match self.is_cxx {
                        true => self.out.line(&format!("{of} {assigned} = {name}({argument});")),
                        // C has no closures.
                        false => {
                            let result = self.expression(result);
                            self.out.line(&format!("{of} {assigned};"));
                            self.out.line("{");
                            self.out.line(&format!("{of} {parameter} = {argument};"));
                            self.statements(body);
                            self.out.line(&format!("{assigned} = {result};"));
                            self.out.line("}");
                        }
                    }
                }
            }
            Statement::Call(name, of, function, arguments) => {
                let call = self.call(*function, arguments);
                self.out.line(&format!("{} {name} = {call};", scalar(*of)));
            }
            Statement::CallStruct(to, function, arguments) => {
                let call = self.call(*function, arguments);
                let to = self.whole(to);
                self.out.line(&format!("{to} = {call};"));
            }
            Statement::Return(Returned::Scalar(value)) => {
                let value = self.expression(value);
                self.out.line(&format!("return {value};"));
            }
            Statement::Return(Returned::Struct(variable)) => self.out.line(&format!("return {};", variable.name)),
            Statement::Return(Returned::Tail(function, arguments)) => {
                let call = self.call(*function, arguments);
                self.out.line(&format!("return {call};"));
            }
            Statement::Block(body) => self.block("", body),
        }
    }

    /// A variable that may be a pointer, as a value.
    fn whole(&self, variable: &Variable) -> String {
        match (variable.by_reference, self.is_cxx, &*variable.name) {
            (true, true, "self") => "(*this)".to_owned(),
            (true, false, name) => format!("(*{name})"),
            (_, _, name) => name.to_owned(),
        }
    }

    fn call(&self, function: usize, arguments: &[Given]) -> String {
        let argument = |argument: &Given| match argument {
            Given::Value(value) => self.expression(value),
            Given::Copy(variable) => self.whole(variable),
            Given::Reference(variable) if self.is_cxx => self.whole(variable),
            Given::Reference(variable) if variable.by_reference => variable.name.clone(),
            Given::Reference(variable) => format!("&{}", variable.name),
            Given::Slice(variable) => format!("{}, 8", variable.name),
        };
        let arguments: Vec<_> = arguments.iter().map(argument).collect();
        match self.rich.functions.get(function) {
            Some(function) => self.callee(function, &arguments),
            None => unreachable!("a function of the program"),
        }
    }

    fn marker(&mut self, number: usize, places: &[Place]) {
        let name = match self.variant {
            Variant::Place => "simple_mark",
            Variant::Keep => "simple_mark_keep",
            Variant::Anchor => "simple_mark_anchor",
            Variant::KeepAnchor => "simple_mark_keep_anchor",
            Variant::Ghost | Variant::Ghosts => "simple_mark_ghost",
        };
        let format: Vec<_> = places.iter().map(|place| conversion(place.of)).collect();
        let arguments: String = places.iter().map(|of| format!(", {}", self.place(of))).collect();
        self.out.line(&format!("{name}(rich:m{number}, \"{}\"{arguments});", format.join(" ")));
    }
}
