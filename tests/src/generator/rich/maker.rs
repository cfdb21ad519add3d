//! Generates the functions of a program.

use super::{Function, Kind, Part, Place, ResultType, Returned, Rich, Scalar, Statement, U32, Variable};
use crate::tools::Choices;

/// What a function is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Scalars,
    StructByValue,
    Method,
    Reference,
    Slice,
    Enum,
    TailCall,
}

pub(super) struct Maker {
    pub(super) choices: Choices,
    pub(super) structs: Vec<Vec<Scalar>>,
    pub(super) enums: Vec<Vec<Vec<Scalar>>>,
    pub(super) functions: Vec<Function>,
    pub(super) names: usize,
    pub(super) markers: usize,
    pub(super) scope: Scope,
    /// Whether every value goes into the result.
    pub(super) is_used: bool,
}

/// The variables in scope, and the position in the program.
#[derive(Clone, Default)]
pub(super) struct Scope {
    pub(super) variables: Vec<Variable>,
    pub(super) loops: u32,
    pub(super) depth: u32,
    /// Whether calls are allowed: helpers and closures call nothing.
    pub(super) may_call: bool,
    /// The result of the function; `None` where nothing may be returned.
    pub(super) result: Option<ResultType>,
}

impl Maker {
    pub(super) fn program(seed: u64, functions: usize, is_used: bool) -> Rich {
        let mut maker = Self {
            choices: Choices::new(seed ^ 0x7269_6368),
            structs: Vec::new(),
            enums: Vec::new(),
            functions: Vec::new(),
            names: 0,
            markers: 0,
            scope: Scope::default(),
            is_used,
        };
        for _ in 0..4 {
            let fields = 1 + maker.choices.below(5);
            let fields = (0..fields).map(|_| maker.scalar()).collect();
            maker.structs.push(fields);
        }
        for _ in 0..2 {
            let variants = 2 + maker.choices.below(3);
            let payload = |maker: &mut Self| (0..maker.choices.below(3)).map(|_| maker.scalar()).collect();
            let variants = (0..variants).map(|_| payload(&mut maker)).collect();
            maker.enums.push(variants);
        }
        for index in 0..functions {
            let function = maker.function(index, functions);
            maker.functions.push(function);
        }
        let Self { structs, enums, functions, .. } = maker;
        Rich { structs, enums, functions }
    }

    pub(super) fn scalar(&mut self) -> Scalar {
        match self.choices.below(20) {
            0..2 => Scalar::Bool,
            2 => Scalar::Float,
            _ => self.integer(),
        }
    }

    pub(super) fn integer(&mut self) -> Scalar {
        let bits = *self.choices.one(&[8, 16, 32, 32, 32, 64, 64]);
        Scalar::Int { bits, signed: self.choices.chance(40) }
    }

    pub(super) fn name(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn function(&mut self, index: usize, functions: usize) -> Function {
        use About::{Enum, Method, Reference, Scalars, Slice, StructByValue, TailCall};
        let about = *self.choices.one(&[Scalars, Scalars, StructByValue, Method, Reference, Slice, Enum, TailCall]);
        let is_helper = index < functions / 3;
        let mut parameters = Vec::new();
        let value =
            |name: &str, kind, by_reference| Variable { name: name.to_owned(), kind, by_reference, is_mutable: true };
        let number = self.choices.below(4) as usize;
        match about {
            StructByValue => parameters.push(value("v", Kind::Struct(number), false)),
            Method => parameters.push(value("self", Kind::Struct(number), true)),
            Reference => {
                parameters.push(value("p", Kind::Struct(number), true));
                if self.choices.chance(40) {
                    parameters.push(value("q", Kind::Struct((number + 1) % 4), true));
                }
            }
            Slice => {
                let element = self.integer();
                parameters.push(value("items", Kind::Slice(element), true));
            }
            Enum => parameters.push(Variable { is_mutable: false, ..value("e", Kind::Enum(number % 2), false) }),
            TailCall => parameters.push(Variable { is_mutable: false, ..value("n", Kind::Scalar(U32), false) }),
            Scalars => {}
        }
        for letter in ["a", "b", "c"].iter().take(1 + self.choices.below(3) as usize) {
            let of = self.scalar();
            parameters.push(value(letter, Kind::Scalar(of), false));
        }
        let result = match about {
            StructByValue if !self.is_used && self.choices.chance(50) => ResultType::Struct(number),
            _ => ResultType::Scalar(self.integer()),
        };
        self.scope = Scope {
            variables: parameters.clone(),
            loops: 0,
            depth: 0,
            may_call: !is_helper,
            result: Some(result.clone()),
        };
        let mut body = self.used_start();
        if about == TailCall {
            self.tail_call_head(&mut body);
        }
        body.extend(self.statements(4));
        self.use_since(0, &mut body);
        let last = match about {
            TailCall => self.tail_call(index, &parameters),
            _ => self.returned(),
        };
        body.push(Statement::Return(last));
        Function {
            name: format!("{}{index}", if is_helper { "h" } else { "f" }),
            is_method: about == Method,
            parameters,
            result,
            body,
            is_inline: self.choices.chance(if is_helper { 70 } else { 10 }),
            is_restrict: self.choices.chance(50),
            is_root: !is_helper || self.choices.chance(30),
            is_gone: false,
        }
    }

    /// Every place of a scalar in scope. Elements of arrays are those at some constant index.
    pub(super) fn places(&mut self, only_mutable: bool) -> Vec<Place> {
        let mut places = Vec::new();
        for variable in self.scope.variables.clone() {
            if only_mutable && !variable.is_mutable {
                continue;
            }
            let mut add = |part, of| places.push(Place { variable: variable.clone(), part, of });
            match &variable.kind {
                Kind::Scalar(of) => add(Part::Whole, *of),
                Kind::Struct(number) => {
                    let fields = self.structs[*number].iter().enumerate();
                    fields.for_each(|(index, of)| add(Part::Field(index), *of));
                }
                Kind::Array(of, length) => add(Part::Element(self.choices.below(*length)), *of),
                Kind::Slice(of) => add(Part::Element(self.choices.below(8)), *of),
                Kind::Enum(_) => {}
            }
        }
        places
    }

    /// What a function returns.
    pub(super) fn returned(&mut self) -> Returned {
        match self.scope.result.clone() {
            Some(ResultType::Struct(number)) => {
                let fits = |variable: &&Variable| variable.kind == Kind::Struct(number) && !variable.by_reference;
                let variable = self.scope.variables.iter().find(fits).cloned();
                Returned::Struct(variable.expect("the parameter has this type"))
            }
            Some(ResultType::Scalar(of)) => {
                let value = self.expression(of, 2);
                Returned::Scalar(self.with_used(of, value))
            }
            None => unreachable!("nothing is returned there"),
        }
    }
}
