//! Generates expressions.

use super::maker::Maker;
use super::{Comparison, Expression, Kind, Operator, Place, Scalar, U32, Variable};

impl Maker {
    /// An expression of a type.
    pub(super) fn expression(&mut self, of: Scalar, depth: u32) -> Expression {
        match of {
            Scalar::Bool => self.condition(depth),
            Scalar::Float => self.float(depth),
            Scalar::Int { .. } => self.number(of, depth),
        }
    }

    /// A place of this type, or a cast of another one.
    fn leaf(&mut self, of: Scalar) -> Expression {
        let places = self.places(false);
        let fitting: Vec<&Place> = places.iter().filter(|place| place.of == of).collect();
        if !fitting.is_empty() && self.choices.chance(70) {
            return Expression::Place((*self.choices.one(&fitting)).clone());
        }
        let numbers: Vec<&Place> = places.iter().filter(|place| matches!(place.of, Scalar::Int { .. })).collect();
        if numbers.is_empty() || self.choices.chance(25) {
            return self.constant(of);
        }
        let place = (*self.choices.one(&numbers)).clone();
        let from = place.of;
        match from == of {
            true => Expression::Place(place),
            false => Expression::Cast(of, from, Box::new(Expression::Place(place))),
        }
    }

    fn constant(&mut self, of: Scalar) -> Expression {
        let value = match of {
            Scalar::Bool => i64::from(self.choices.below(2)),
            Scalar::Int { signed: true, .. } if self.choices.chance(30) => -1 - i64::from(self.choices.below(100)),
            Scalar::Int { bits: 64, .. } if self.choices.chance(20) => 0x9e37_79b9_7f4a_7c15_u64 as i64 & i64::MAX,
            Scalar::Int { bits: 32 | 64, .. } if self.choices.chance(30) => i64::from(self.choices.below(1 << 20)),
            _ => i64::from(self.choices.below(100)),
        };
        Expression::Constant(of, value)
    }

    fn number(&mut self, of: Scalar, depth: u32) -> Expression {
        if depth == 0 {
            return self.leaf(of);
        }
        let Scalar::Int { bits, .. } = of else { return self.leaf(of) };
        let boxed = |expression| Box::new(expression);
        match self.choices.below(100) {
            0..30 => self.leaf(of),
            30..75 => {
                use Operator::{Add, And, Divide, Multiply, Or, Remainder, Subtract, Xor};
                let operators = [Add, Add, Add, Subtract, Subtract, Multiply, And, Or, Xor, Divide, Remainder];
                let operator = *self.choices.one(&operators);
                let left = self.number(of, depth - 1);
                let right = match operator {
                    Divide | Remainder => Expression::Constant(of, i64::from(1 + self.choices.below(40))),
                    _ => self.number(of, depth - 1),
                };
                Expression::Binary(operator, of, boxed(left), boxed(right))
            }
            75..84 => Expression::Shift {
                left: self.choices.chance(40),
                of,
                value: boxed(self.number(of, depth - 1)),
                by: 1 + self.choices.below(u32::from(bits) - 1) as u8,
            },
            84..90 => {
                let from = self.integer();
                Expression::Cast(of, from, boxed(self.number(from, depth - 1)))
            }
            90..95 => {
                let condition = self.condition(1);
                let (then, otherwise) = (self.number(of, depth - 1), self.number(of, depth - 1));
                Expression::Select(boxed(condition), boxed(then), boxed(otherwise))
            }
            _ => self.element(of).unwrap_or_else(|| self.leaf(of)),
        }
    }

    fn element(&mut self, of: Scalar) -> Option<Expression> {
        let arrays: Vec<(Variable, u32)> = self.arrays();
        let arrays: Vec<_> = arrays
            .into_iter()
            .filter(|(variable, _)| matches!(variable.kind, Kind::Array(element, _) | Kind::Slice(element) if element == of))
            .collect();
        if arrays.is_empty() {
            return None;
        }
        let (variable, length) = self.choices.one(&arrays).clone();
        Some(Expression::ElementAt(variable, Box::new(self.number(U32, 1)), length - 1))
    }

    /// The arrays and slices in scope, with their lengths.
    pub(super) fn arrays(&self) -> Vec<(Variable, u32)> {
        let length = |variable: &Variable| match variable.kind {
            Kind::Array(_, length) => Some((variable.clone(), length)),
            Kind::Slice(_) => Some((variable.clone(), 8)),
            _ => None,
        };
        self.scope.variables.iter().filter_map(length).collect()
    }

    pub(super) fn condition(&mut self, depth: u32) -> Expression {
        match self.choices.below(100) {
            0..15 => self.leaf(Scalar::Bool),
            15..25 if depth > 0 => Expression::Not(Box::new(self.condition(depth - 1))),
            _ => {
                let of = self.integer();
                let comparison = *self.choices.one(&[Comparison::Less, Comparison::Equal, Comparison::GreaterEqual]);
                let left = self.number(of, depth.min(1));
                let (left, right) = match comparison {
                    Comparison::Equal => {
                        let mask = Expression::Constant(of, 3);
                        let left = Expression::Binary(Operator::And, of, Box::new(left), Box::new(mask));
                        (left, Expression::Constant(of, i64::from(self.choices.below(4))))
                    }
                    _ => (left, self.number(of, 0)),
                };
                Expression::Compare(comparison, Box::new(left), Box::new(right))
            }
        }
    }

    /// Sums with halves, which stay finite.
    fn float(&mut self, depth: u32) -> Expression {
        if depth == 0 || self.choices.chance(40) {
            return self.leaf(Scalar::Float);
        }
        let half = |value| {
            let half = Expression::Constant(Scalar::Float, 0);
            Expression::Binary(Operator::Multiply, Scalar::Float, Box::new(value), Box::new(half))
        };
        let (left, right) = (half(self.float(depth - 1)), half(self.float(depth - 1)));
        let operator = *self.choices.one(&[Operator::Add, Operator::Subtract]);
        Expression::Binary(operator, Scalar::Float, Box::new(left), Box::new(right))
    }
}
