//! Adds every value to a sum that goes into the result of the function.

use super::maker::Maker;
use super::{Expression, Kind, Operator, Part, Place, Scalar, Statement, U64, Variable};

/// The sum. It is no variable that other statements or markers name.
fn sum() -> Place {
    let kind = Kind::Scalar(U64);
    let variable = Variable { name: "used".to_owned(), kind, by_reference: false, is_mutable: true };
    Place { variable, part: Part::Whole, of: U64 }
}

impl Maker {
    /// The start of a function: the sum is 0.
    pub(super) fn used_start(&self) -> Vec<Statement> {
        match self.is_used {
            true => vec![Statement::Let("used".to_owned(), U64, Expression::Constant(U64, 0))],
            false => Vec::new(),
        }
    }

    /// Adds the value of a place to the sum. Nothing for a float, which may not fit, and for what
    /// the caller sees anyway.
    pub(super) fn use_of(&self, place: &Place) -> Option<Statement> {
        if !self.is_used || place.of == Scalar::Float || place.variable.by_reference {
            return None;
        }
        let boxed = |expression| Box::new(expression);
        let factor = Expression::Constant(U64, 31);
        let old = Expression::Binary(Operator::Multiply, U64, boxed(Expression::Place(sum())), boxed(factor));
        let value = match place.of == U64 {
            true => Expression::Place(place.clone()),
            false => Expression::Cast(U64, place.of, boxed(Expression::Place(place.clone()))),
        };
        Some(Statement::Assign(sum(), Expression::Binary(Operator::Add, U64, boxed(old), boxed(value))))
    }

    /// Adds the variables in scope to the sum, but the first ones.
    pub(super) fn use_since(&self, first: usize, statements: &mut Vec<Statement>) {
        for variable in self.scope.variables.iter().skip(first) {
            let place = |part, of| Place { variable: variable.clone(), part, of };
            let places: Vec<Place> = match &variable.kind {
                Kind::Scalar(of) => vec![place(Part::Whole, *of)],
                Kind::Struct(number) => {
                    self.structs[*number].iter().enumerate().map(|(index, of)| place(Part::Field(index), *of)).collect()
                }
                Kind::Array(of, length) => (0..*length).map(|index| place(Part::Element(index), *of)).collect(),
                Kind::Slice(_) | Kind::Enum(_) => Vec::new(),
            };
            statements.extend(places.iter().filter_map(|place| self.use_of(place)));
        }
    }

    /// An integer with the sum added.
    pub(super) fn with_used(&self, of: Scalar, value: Expression) -> Expression {
        if !self.is_used || !matches!(of, Scalar::Int { .. }) {
            return value;
        }
        let sum = match of == U64 {
            true => Expression::Place(sum()),
            false => Expression::Cast(of, U64, Box::new(Expression::Place(sum()))),
        };
        Expression::Binary(Operator::Add, of, Box::new(value), Box::new(sum))
    }
}
