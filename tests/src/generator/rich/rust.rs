//! Writes a program in Rust.

use super::super::writer::Writer;
use super::super::{ROUNDS, Variant};
use super::{
    Comparison, Count, Expression, Function, Given, Kind, Operator, Part, Place, ResultType, Returned, Rich, Scalar,
    Statement, Variable,
};

const HEAD: &str = "\
#![allow(warnings)]
use simple_markers::simple_mark;
static mut STATE: u64 = 1;
#[inline(never)]
fn next() -> u64 {
unsafe {
STATE = STATE.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
STATE >> 33
}
}";

pub(super) fn text(rich: &Rich, variant: Variant) -> String {
    let mut writer = Rust { out: Writer::default(), rich, variant };
    writer.out.block(HEAD);
    for (number, fields) in rich.structs.iter().enumerate() {
        writer.out.line("#[derive(Clone, Copy, Default)]");
        let fields = fields.iter().enumerate().map(|(index, of)| format!("f{index}: {}, ", scalar(*of)));
        writer.out.line(&format!("pub struct S{number} {{ {}}}", fields.collect::<String>()));
    }
    for (number, variants) in rich.enums.iter().enumerate() {
        writer.out.line("#[derive(Clone, Copy)]");
        let payload = |payload: &Vec<Scalar>| payload.iter().map(|of| format!("{}, ", scalar(*of))).collect::<String>();
        let variants = variants.iter().enumerate().map(|(index, of)| match of.is_empty() {
            true => format!("V{index}, "),
            false => format!("V{index}({}), ", payload(of)),
        });
        writer.out.line(&format!("pub enum E{number} {{ {}}}", variants.collect::<String>()));
    }
    for function in rich.functions.iter().filter(|function| !function.is_gone) {
        writer.function(function);
    }
    writer.run();
    writer.out.text
}

struct Rust<'p> {
    out: Writer,
    rich: &'p Rich,
    variant: Variant,
}

impl Rust<'_> {
    fn function(&mut self, function: &Function) {
        let self_type = match function.parameters.first().map(|first| &first.kind) {
            Some(Kind::Struct(number)) if function.is_method => Some(*number),
            _ => None,
        };
        if let Some(number) = self_type {
            self.out.line(&format!("impl S{number} {{"));
        }
        let inline = if function.is_inline { "#[inline]" } else { "#[inline(never)]" };
        let ghosts = if self.variant == Variant::Ghosts { " #[simple_markers::ghosts]" } else { "" };
        self.out.line(&format!("{inline}{ghosts}"));
        let parameters: Vec<_> = function.parameters.iter().map(parameter).collect();
        let result = match &function.result {
            ResultType::Scalar(of) => scalar(*of).to_owned(),
            ResultType::Struct(number) => format!("S{number}"),
        };
        self.out.line(&format!("fn {}({}) -> {result} {{", function.name, parameters.join(", ")));
        self.statements(&function.body);
        self.out.line("}");
        if self_type.is_some() {
            self.out.line("}");
        }
    }

    fn run(&mut self) {
        self.out.line("fn main() {");
        let otherwise = ROUNDS;
        self.out.line(&format!(
            "let rounds: u32 = std::env::args().nth(1).map_or({otherwise}, |word| word.parse().unwrap());"
        ));
        for number in 0..self.rich.structs.len() {
            self.out.line(&format!("let mut s{number} = S{number}::default();"));
        }
        self.out.line("let mut result = 0u64;");
        self.out.line("for _ in 0..rounds {");
        for function in self.rich.functions.iter().filter(|function| function.is_root) {
            self.out.line("{");
            let mut arguments = Vec::new();
            for (index, of) in function.parameters.iter().enumerate() {
                match &of.kind {
                    Kind::Scalar(_) if of.name == "n" => arguments.push("next() as u32 & 15".to_owned()),
                    Kind::Scalar(of) => arguments.push(random(*of)),
                    Kind::Struct(number) if of.by_reference => arguments.push(format!("&mut s{number}")),
                    Kind::Struct(number) => arguments.push(format!("s{number}")),
                    Kind::Enum(number) => {
                        let variants = &self.rich.enums[*number];
                        let arm = |(index, payload): (usize, &Vec<Scalar>)| {
                            let values: Vec<_> = payload.iter().map(|of| random(*of)).collect();
                            let values =
                                if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
                            let pattern = if index == 0 { "_".to_owned() } else { index.to_string() };
                            format!("{pattern} => E{number}::V{index}{values}, ")
                        };
                        let arms: String = variants.iter().enumerate().rev().map(arm).collect();
                        arguments.push(format!("match next() % {} {{ {arms}}}", variants.len()));
                    }
                    Kind::Slice(of) | Kind::Array(of, _) => {
                        let values = vec![random(*of); 8].join(", ");
                        self.out.line(&format!("let mut t{index} = [{values}];"));
                        arguments.push(format!("&mut t{index}[..]"));
                    }
                }
            }
            let call = self.callee(function, &arguments);
            match &function.result {
                ResultType::Scalar(_) => {
                    self.out.line(&format!("result = result.wrapping_mul(31).wrapping_add({call} as u64);"));
                }
                ResultType::Struct(number) => self.out.line(&format!("s{number} = {call};")),
            }
            self.out.line("}");
        }
        self.out.line("}");
        self.out.line("println!(\"{result}\");");
        self.out.line("}");
    }

    fn callee(&self, function: &Function, arguments: &[String]) -> String {
        match (function.is_method, function.parameters.first().map(|first| &first.kind)) {
            (true, Some(Kind::Struct(number))) => format!("S{number}::{}({})", function.name, arguments.join(", ")),
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
                self.out.line(&format!("let mut {name}: {} = {};", scalar(*of), expression(value)));
            }
            Statement::LetStruct(name, number, values) => {
                let fields =
                    values.iter().enumerate().map(|(index, value)| format!("f{index}: {}, ", expression(value)));
                let fields: String = fields.collect();
                self.out.line(&format!("let mut {name} = S{number} {{ {fields}}};"));
            }
            Statement::LetEnum(name, number, variant, values) => {
                let values: Vec<_> = values.iter().map(expression).collect();
                let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
                self.out.line(&format!("let {name} = E{number}::V{variant}{values};"));
            }
            Statement::LetArray(name, of, values) => {
                let values: Vec<_> = values.iter().map(expression).collect();
                let (of, length) = (scalar(*of), values.len());
                self.out.line(&format!("let mut {name}: [{of}; {length}] = [{}];", values.join(", ")));
            }
            Statement::Assign(to, value) => self.out.line(&format!("{} = {};", place(to), expression(value))),
            Statement::Store(to, index, mask, value) => {
                let (index, value) = (expression(index), expression(value));
                self.out.line(&format!("{}[({index} & {mask}) as usize] = {value};", to.name));
            }
            Statement::If(of, then, otherwise) => {
                self.out.line(&format!("if {} {{", expression(of)));
                self.statements(then);
                if !otherwise.is_empty() {
                    self.out.line("} else {");
                    self.statements(otherwise);
                }
                self.out.line("}");
            }
            Statement::For { variable, of, count, times, body } => {
                let (of, times) = (scalar(*of), expression(times));
                let range = format!("0{of}..{times}");
                match count {
                    Count::Up => self.block(&format!("for {variable} in {range} "), body),
                    Count::Down => self.block(&format!("for {variable} in ({range}).rev() "), body),
                    Count::Step(by) => self.block(&format!("for {variable} in ({range}).step_by({by}) "), body),
                    Count::While => {
                        self.out.line(&format!("let mut {variable} = 0{of};"));
                        self.out.line(&format!("let end{variable} = {times};"));
                        self.out.line(&format!("while {variable} < end{variable} {{"));
                        self.statements(body);
                        self.out.line(&format!("{variable} += 1;"));
                        self.out.line("}");
                    }
                }
            }
            Statement::ForEach { variable, reference, over, body, .. } => {
                match variable == reference {
                    true => self.out.line(&format!("for &{variable} in {}.iter() {{", over.name)),
                    false => {
                        self.out.line(&format!("for {reference} in {}.iter() {{", over.name));
                        self.out.line(&format!("let {variable} = *{reference};"));
                    }
                }
                self.statements(body);
                self.out.line("}");
            }
            Statement::Match(variable, number, arms) => {
                self.out.line(&format!("match {} {{", variable.name));
                for (index, (names, body)) in arms.iter().enumerate() {
                    let names: Vec<_> = names.iter().map(|name| format!("mut {name}")).collect();
                    let names = if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
                    self.block(&format!("E{number}::V{index}{names} => "), body);
                }
                self.out.line("}");
            }
            Statement::Closure { name, parameter, of, body, result, calls } => {
                let of = scalar(*of);
                self.out.line(&format!("let mut {name} = |mut {parameter}: {of}| -> {of} {{"));
                self.statements(body);
                self.out.line(&expression(result));
                self.out.line("};");
                for (result, argument) in calls {
                    self.out.line(&format!("let mut {result} = {name}({});", expression(argument)));
                }
            }
            Statement::Call(name, of, function, arguments) => {
                let call = self.call(*function, arguments);
                self.out.line(&format!("let mut {name}: {} = {call};", scalar(*of)));
            }
            Statement::CallStruct(to, function, arguments) => {
                let call = self.call(*function, arguments);
                self.out.line(&format!("{}{} = {call};", if to.by_reference { "*" } else { "" }, to.name));
            }
            Statement::Return(Returned::Scalar(value)) => self.out.line(&format!("return {};", expression(value))),
            Statement::Return(Returned::Struct(variable)) => self.out.line(&format!("return {};", variable.name)),
            Statement::Return(Returned::Tail(function, arguments)) => {
                let call = self.call(*function, arguments);
                self.out.line(&format!("return {call};"));
            }
            Statement::Block(body) => self.block("", body),
        }
    }

    /// Evaluates the values first: nothing may be read while a reference to it is passed.
    fn call(&self, function: usize, arguments: &[Given]) -> String {
        let mut before = String::new();
        let arguments = arguments.iter().enumerate().map(|(index, argument)| match argument {
            Given::Value(value) => {
                before.push_str(&format!("let m{index} = {}; ", expression(value)));
                format!("m{index}")
            }
            Given::Copy(variable) if variable.by_reference => format!("*{}", variable.name),
            Given::Copy(variable) => variable.name.clone(),
            Given::Reference(variable) if variable.by_reference => format!("&mut *{}", variable.name),
            Given::Reference(variable) => format!("&mut {}", variable.name),
            Given::Slice(variable) if variable.by_reference => format!("&mut *{}", variable.name),
            Given::Slice(variable) => format!("&mut {}[..]", variable.name),
        });
        let arguments: Vec<_> = arguments.collect();
        // Only other functions are called as methods: there is no recursion with references.
        let call = match self.rich.functions.get(function) {
            Some(function) => self.callee(function, &arguments),
            None => unreachable!("a function of the program"),
        };
        if before.is_empty() { call } else { format!("{{ {before}{call} }}") }
    }

    fn marker(&mut self, number: usize, places: &[Place]) {
        let keep = if matches!(self.variant, Variant::Keep | Variant::KeepAnchor) { "keep " } else { "" };
        let options = match self.variant {
            Variant::Anchor | Variant::KeepAnchor => ", options(anchor)",
            Variant::Place | Variant::Keep | Variant::Ghosts => "",
            Variant::Ghost => ", options(ghost)",
        };
        let format: Vec<_> = places.iter().map(|place| super::c_expressions::conversion(place.of)).collect();
        let arguments: String = places.iter().map(|of| format!(", {keep}{}", place(of))).collect();
        self.out.line(&format!("simple_mark!(rich:m{number}, \"{}\"{arguments}{options});", format.join(" ")));
    }
}

fn scalar(of: Scalar) -> &'static str {
    match of {
        Scalar::Bool => "bool",
        Scalar::Float => "f64",
        Scalar::Int { bits: 8, signed: true } => "i8",
        Scalar::Int { bits: 8, signed: false } => "u8",
        Scalar::Int { bits: 16, signed: true } => "i16",
        Scalar::Int { bits: 16, signed: false } => "u16",
        Scalar::Int { bits: 32, signed: true } => "i32",
        Scalar::Int { bits: 32, signed: false } => "u32",
        Scalar::Int { signed: true, .. } => "i64",
        Scalar::Int { signed: false, .. } => "u64",
    }
}

fn parameter(of: &Variable) -> String {
    let name = &of.name;
    match &of.kind {
        _ if name == "self" => "&mut self".to_owned(),
        Kind::Scalar(scalar_type) => format!("mut {name}: {}", scalar(*scalar_type)),
        Kind::Struct(number) if of.by_reference => format!("{name}: &mut S{number}"),
        Kind::Struct(number) => format!("mut {name}: S{number}"),
        Kind::Enum(number) => format!("{name}: E{number}"),
        Kind::Array(element, _) | Kind::Slice(element) => format!("{name}: &mut [{}]", scalar(*element)),
    }
}

fn random(of: Scalar) -> String {
    match of {
        Scalar::Bool => "(next() & 1 == 1)".to_owned(),
        Scalar::Float => "((next() & 255) as f64)".to_owned(),
        Scalar::Int { .. } => format!("(next() as {})", scalar(of)),
    }
}

fn place(of: &Place) -> String {
    match of.part {
        Part::Whole => of.variable.name.clone(),
        Part::Field(index) => format!("{}.f{index}", of.variable.name),
        Part::Element(index) => format!("{}[{index}]", of.variable.name),
    }
}

fn expression(of: &Expression) -> String {
    match of {
        Expression::Constant(Scalar::Bool, value) => (*value != 0).to_string(),
        Expression::Constant(Scalar::Float, value) => format!("{:?}", *value as f64 * 0.5 + 0.5),
        Expression::Constant(of, value) if *value < 0 => format!("({value}{})", scalar(*of)),
        Expression::Constant(of, value) => format!("{value}{}", scalar(*of)),
        Expression::Place(of) => place(of),
        Expression::Binary(operator, of, left, right) => {
            let (left, right) = (expression(left), expression(right));
            let symbol = match operator {
                Operator::Add => "+",
                Operator::Subtract => "-",
                Operator::Multiply => "*",
                Operator::And => "&",
                Operator::Or => "|",
                Operator::Xor => "^",
                Operator::Divide => "/",
                Operator::Remainder => "%",
            };
            match (operator, of) {
                (_, Scalar::Float) => format!("({left} {symbol} {right})"),
                (Operator::Add, _) => format!("{left}.wrapping_add({right})"),
                (Operator::Subtract, _) => format!("{left}.wrapping_sub({right})"),
                (Operator::Multiply, _) => format!("{left}.wrapping_mul({right})"),
                _ => format!("({left} {symbol} {right})"),
            }
        }
        Expression::Shift { left, value, by, .. } => {
            format!("({} {} {by})", expression(value), if *left { "<<" } else { ">>" })
        }
        Expression::Cast(Scalar::Bool, from, value) => format!("({} != 0{})", expression(value), scalar(*from)),
        Expression::Cast(to, _, value) => format!("({} as {})", expression(value), scalar(*to)),
        Expression::Compare(comparison, left, right) => {
            let symbol = match comparison {
                Comparison::Less => "<",
                Comparison::Equal => "==",
                Comparison::GreaterEqual => ">=",
            };
            format!("({} {symbol} {})", expression(left), expression(right))
        }
        Expression::Not(value) => format!("(!{})", expression(value)),
        Expression::Select(of, then, otherwise) => {
            format!("(if {} {{ {} }} else {{ {} }})", expression(of), expression(then), expression(otherwise))
        }
        Expression::ElementAt(variable, index, mask) => {
            format!("{}[({} & {mask}) as usize]", variable.name, expression(index))
        }
    }
}
