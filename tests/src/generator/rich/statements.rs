//! Generates statements.

use super::maker::{Maker, Scope};
use super::{Count, Expression, Given, Kind, Operator, Place, ResultType, Returned, Scalar, Statement, U32, Variable};

impl Maker {
    /// About `count` statements, with markers between them, in a scope of their own.
    pub(super) fn statements(&mut self, count: u32) -> Vec<Statement> {
        let outer = self.scope.clone();
        self.scope.depth += 1;
        let mut statements = Vec::new();
        for _ in 0..1 + self.choices.below(count) + count / 2 {
            if self.choices.chance(35) {
                statements.extend(self.marker());
            }
            self.statement(&mut statements);
        }
        if self.choices.chance(50) {
            statements.extend(self.marker());
        }
        self.use_since(outer.variables.len(), &mut statements);
        self.scope = outer;
        statements
    }

    pub(super) fn marker(&mut self) -> Option<Statement> {
        let places = self.places(false);
        if places.is_empty() {
            return None;
        }
        let mut chosen: Vec<Place> = Vec::new();
        for _ in 0..1 + self.choices.below(4) {
            // The latest variables are the ones that the statements around use.
            let first = if self.choices.chance(50) { places.len().saturating_sub(4) } else { 0 };
            let place = self.choices.one(&places[first..]).clone();
            if !chosen.contains(&place) {
                chosen.push(place);
            }
        }
        self.markers += 1;
        Some(Statement::Marker(self.markers, chosen))
    }

    fn statement(&mut self, into: &mut Vec<Statement>) {
        let is_deep = self.scope.depth > 3;
        let statement = match self.choices.below(if is_deep { 50 } else { 100 }) {
            0..14 => self.a_let(),
            14..34 => self.assign(),
            34..40 => self.store(),
            40..50 => self.call(),
            50..58 => self.a_for(),
            58..64 => self.for_each(),
            64..78 => self.an_if(),
            78..84 => self.a_match(),
            84..90 => self.closure(),
            90..94 => self.rotate(),
            94..97 => Some(Statement::Block(self.statements(2))),
            _ => self.early_return(),
        };
        into.extend(statement);
    }

    fn declare(&mut self, letter: &str, kind: Kind) -> Variable {
        let variable = Variable { name: self.name(letter), kind, by_reference: false, is_mutable: true };
        self.scope.variables.push(variable.clone());
        variable
    }

    fn a_let(&mut self) -> Option<Statement> {
        Some(match self.choices.below(10) {
            0..6 => {
                let of = self.scalar();
                let value = self.expression(of, 2);
                Statement::Let(self.declare("x", Kind::Scalar(of)).name, of, value)
            }
            6 | 7 => {
                let number = self.choices.below(4) as usize;
                let fields: Vec<_> = self.structs[number].clone();
                let values = fields.into_iter().map(|of| self.expression(of, 1)).collect();
                Statement::LetStruct(self.declare("v", Kind::Struct(number)).name, number, values)
            }
            8 => {
                let of = self.integer();
                let length = *self.choices.one(&[2, 4, 8]);
                let values = (0..length).map(|_| self.expression(of, 1)).collect();
                Statement::LetArray(self.declare("t", Kind::Array(of, length)).name, of, values)
            }
            _ => {
                let number = self.choices.below(2) as usize;
                let variant = self.choices.below(self.enums[number].len() as u32) as usize;
                let payload = self.enums[number][variant].clone();
                let values = payload.into_iter().map(|of| self.expression(of, 1)).collect();
                let name = self.declare("e", Kind::Enum(number)).name;
                Statement::LetEnum(name, number, variant, values)
            }
        })
    }

    fn assign(&mut self) -> Option<Statement> {
        let places = self.places(true);
        if places.is_empty() {
            return None;
        }
        let place = self.choices.one(&places).clone();
        let value = self.expression(place.of, 2);
        // Often from its own value.
        let value = match place.of {
            Scalar::Int { .. } if self.is_used || self.choices.chance(50) => Expression::Binary(
                *self.choices.one(&[Operator::Add, Operator::Xor, Operator::Subtract]),
                place.of,
                Box::new(Expression::Place(place.clone())),
                Box::new(value),
            ),
            _ => value,
        };
        let old = self.use_of(&place);
        let assign = Statement::Assign(place, value);
        Some(match old {
            Some(old) => Statement::Block(vec![old, assign]),
            None => assign,
        })
    }

    fn store(&mut self) -> Option<Statement> {
        let arrays = self.arrays();
        if arrays.is_empty() {
            return self.assign();
        }
        let (variable, length) = self.choices.one(&arrays).clone();
        let (Kind::Array(of, _) | Kind::Slice(of)) = variable.kind else { return None };
        let (index, mut value) = (self.expression(U32, 1), self.expression(of, 1));
        if self.is_used {
            let old = Expression::ElementAt(variable.clone(), Box::new(index.clone()), length - 1);
            value = Expression::Binary(Operator::Xor, of, Box::new(old), Box::new(value));
        }
        Some(Statement::Store(variable, index, length - 1, value))
    }

    fn an_if(&mut self) -> Option<Statement> {
        let condition = self.condition(1);
        let then = self.statements(2);
        let otherwise = if self.choices.chance(50) { self.statements(2) } else { Vec::new() };
        Some(Statement::If(condition, then, otherwise))
    }

    fn early_return(&mut self) -> Option<Statement> {
        self.scope.result.as_ref()?;
        let condition = self.condition(1);
        let mut then: Vec<_> = self.marker().into_iter().collect();
        then.push(Statement::Return(self.returned()));
        Some(Statement::If(condition, then, Vec::new()))
    }

    /// `t = a; a = b; b = t`, with a marker.
    fn rotate(&mut self) -> Option<Statement> {
        let places = self.places(true);
        if places.is_empty() {
            return None;
        }
        let first = self.choices.one(&places).clone();
        let second = places.iter().find(|place| place.of == first.of && **place != first)?.clone();
        let outer = self.scope.clone();
        let value = self.expression(first.of, 1);
        let name = self.declare("r", Kind::Scalar(first.of)).name;
        let mut body = vec![Statement::Let(name.clone(), first.of, value)];
        body.extend(self.marker());
        let variable = self.scope.variables.last()?.clone();
        let last = Place { variable, part: super::Part::Whole, of: first.of };
        body.extend(self.use_of(&first));
        body.push(Statement::Assign(first, Expression::Place(second.clone())));
        body.push(Statement::Assign(second, Expression::Place(last)));
        body.extend(self.marker());
        self.scope = outer;
        Some(Statement::Block(body))
    }

    fn a_for(&mut self) -> Option<Statement> {
        if self.scope.loops >= 2 {
            return self.assign();
        }
        let outer = self.scope.clone();
        let of =
            *self.choices.one(&[U32, Scalar::Int { bits: 32, signed: true }, Scalar::Int { bits: 64, signed: false }]);
        let times = match self.choices.chance(40) {
            true => Expression::Constant(of, 1 + i64::from(self.choices.below(5))),
            false => Expression::Binary(
                Operator::And,
                of,
                Box::new(self.expression(of, 1)),
                Box::new(Expression::Constant(of, *self.choices.one(&[3, 7, 7, 15]))),
            ),
        };
        let count = *self.choices.one(&[Count::Up, Count::Up, Count::Down, Count::Step(3), Count::While]);
        let variable = Variable { is_mutable: false, ..self.declare("i", Kind::Scalar(of)) };
        self.scope.variables.pop();
        self.scope.variables.push(variable.clone());
        self.scope.loops += 1;
        let body = self.statements(2);
        self.scope = outer;
        Some(Statement::For { variable: variable.name, of, count, times, body })
    }

    fn for_each(&mut self) -> Option<Statement> {
        let arrays = self.arrays();
        if arrays.is_empty() || self.scope.loops >= 2 {
            return self.a_for();
        }
        let outer = self.scope.clone();
        let (over, _) = self.choices.one(&arrays).clone();
        let (Kind::Array(of, _) | Kind::Slice(of)) = over.kind else { return None };
        let name = self.name("y");
        // The loop borrows what it is over.
        self.scope.variables.retain(|variable| *variable != over);
        let element = Variable { name: name.clone(), kind: Kind::Scalar(of), by_reference: false, is_mutable: false };
        self.scope.variables.push(element);
        self.scope.loops += 1;
        let body = self.statements(2);
        self.scope = outer;
        let reference = if self.choices.chance(50) { name.clone() } else { self.name("z") };
        Some(Statement::ForEach { variable: name, reference, of, over, body })
    }

    fn a_match(&mut self) -> Option<Statement> {
        let is_enum = |variable: &&Variable| matches!(variable.kind, Kind::Enum(_));
        let enums: Vec<_> = self.scope.variables.iter().filter(is_enum).cloned().collect();
        if enums.is_empty() {
            return self.an_if();
        }
        let variable = self.choices.one(&enums).clone();
        let Kind::Enum(number) = variable.kind else { return None };
        let mut arms = Vec::new();
        for payload in self.enums[number].clone() {
            let outer = self.scope.clone();
            let names: Vec<String> = payload.into_iter().map(|of| self.declare("w", Kind::Scalar(of)).name).collect();
            let mut body = self.statements(1);
            self.use_since(outer.variables.len(), &mut body);
            arms.push((names, body));
            self.scope = outer;
        }
        Some(Statement::Match(variable, number, arms))
    }

    fn closure(&mut self) -> Option<Statement> {
        let outer = self.scope.clone();
        let of = self.integer();
        self.scope = Scope { may_call: false, result: None, ..outer.clone() };
        let name = self.name("k");
        let parameter = self.declare("d", Kind::Scalar(of)).name;
        let mut body = self.statements(1);
        self.use_since(outer.variables.len(), &mut body);
        let result = self.expression(of, 1);
        self.scope = outer;
        let mut calls = Vec::new();
        for _ in 0..1 + self.choices.below(3) {
            // The closure borrows the variables, so its arguments are constants.
            let argument = Expression::Constant(of, i64::from(self.choices.below(100)));
            calls.push((self.name("c"), argument));
        }
        for (name, _) in &calls {
            let variable =
                Variable { name: name.clone(), kind: Kind::Scalar(of), by_reference: false, is_mutable: true };
            self.scope.variables.push(variable);
        }
        Some(Statement::Closure { name, parameter, of, body, result, calls })
    }

    fn call(&mut self) -> Option<Statement> {
        let helpers = self.functions.iter().filter(|function| function.name.starts_with('h')).count();
        if !self.scope.may_call || helpers == 0 {
            return self.assign();
        }
        let index = self.choices.below(helpers as u32) as usize;
        let (parameters, result) = (self.functions[index].parameters.clone(), self.functions[index].result.clone());
        let arguments = self.arguments(&parameters)?;
        Some(match result {
            ResultType::Scalar(of) => Statement::Call(self.declare("g", Kind::Scalar(of)).name, of, index, arguments),
            ResultType::Struct(number) => {
                let fits = |variable: &&Variable| variable.kind == Kind::Struct(number) && variable.is_mutable;
                let variable = self.scope.variables.iter().rev().find(fits)?.clone();
                Statement::CallStruct(variable, index, arguments)
            }
        })
    }

    /// The arguments of a call; `None` if no variable in scope fits, or two would be the same.
    fn arguments(&mut self, parameters: &[Variable]) -> Option<Vec<Given>> {
        let mut used: Vec<Variable> = Vec::new();
        let mut arguments = Vec::new();
        for parameter in parameters {
            let mut of_kind = |fits: &dyn Fn(&Variable) -> bool| {
                let found =
                    self.scope.variables.iter().rev().find(|variable| fits(variable) && !used.contains(variable))?;
                used.push(found.clone());
                Some(found.clone())
            };
            let argument = match &parameter.kind {
                Kind::Scalar(_) if parameter.name == "n" => Given::Value(Expression::Constant(U32, 5)),
                Kind::Scalar(of) => Given::Value(self.expression(*of, 1)),
                Kind::Struct(_) if parameter.by_reference => {
                    Given::Reference(of_kind(&|variable| variable.kind == parameter.kind && variable.is_mutable)?)
                }
                Kind::Struct(_) | Kind::Enum(_) => Given::Copy(of_kind(&|variable| variable.kind == parameter.kind)?),
                Kind::Slice(of) => Given::Slice(of_kind(&|variable| {
                    variable.is_mutable && (variable.kind == Kind::Array(*of, 8) || variable.kind == parameter.kind)
                })?),
                Kind::Array(..) => return None,
            };
            arguments.push(argument);
        }
        Some(arguments)
    }

    /// The start of a function that calls itself at its end: a marker, and the end of the recursion.
    pub(super) fn tail_call_head(&mut self, body: &mut Vec<Statement>) {
        body.extend(self.marker());
        let n = self.scope.variables[0].clone();
        let n = Expression::Place(Place { variable: n, part: super::Part::Whole, of: U32 });
        let zero = Expression::Constant(U32, 0);
        let is_zero = Expression::Compare(super::Comparison::Equal, Box::new(n), Box::new(zero));
        let mut then: Vec<_> = self.marker().into_iter().collect();
        then.push(Statement::Return(self.returned()));
        body.push(Statement::If(is_zero, then, Vec::new()));
    }

    pub(super) fn tail_call(&mut self, index: usize, parameters: &[Variable]) -> Returned {
        let n = Expression::Place(Place { variable: parameters[0].clone(), part: super::Part::Whole, of: U32 });
        let less = Expression::Binary(Operator::Subtract, U32, Box::new(n), Box::new(Expression::Constant(U32, 1)));
        let mut arguments = vec![Given::Value(less)];
        for parameter in &parameters[1..] {
            let Kind::Scalar(of) = parameter.kind else { continue };
            let value = self.expression(of, 1);
            arguments.push(Given::Value(self.with_used(of, value)));
        }
        Returned::Tail(index, arguments)
    }
}
