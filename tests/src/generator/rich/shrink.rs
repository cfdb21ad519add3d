//! Makes a program smaller while it keeps a property.

use std::ops::Range;

use super::{Expression, Given, Returned, Rich, Statement};

impl Rich {
    /// The smallest program that is found by leaving out functions, statements and operands, while
    /// `has_it` says that the property is still there. A candidate may not compile.
    #[must_use]
    pub fn minimise(&self, has_it: &mut dyn FnMut(&Self) -> bool) -> Self {
        let mut smallest = self.clone();
        loop {
            let before = smallest.size();
            smallest = without_functions(smallest, has_it);
            smallest = reduce(smallest, has_it, &Self::statement_count, &Self::without_statements);
            smallest = simpler(smallest, has_it);
            if smallest.size() >= before {
                return smallest;
            }
        }
    }

    fn size(&self) -> usize {
        let mut expressions = 0;
        let mut counted = self.clone();
        counted.each_expression(&mut |_| expressions += 1);
        self.statement_count() + self.functions.iter().filter(|function| !function.is_gone).count() + expressions
    }

    fn statement_count(&self) -> usize {
        self.functions.iter().map(|function| count(&function.body)).sum()
    }

    /// The program without the statements with these numbers, in the order of the text. The last
    /// statement of a function returns, and stays.
    fn without_statements(&self, range: &Range<usize>) -> Self {
        let mut program = self.clone();
        let mut at = 0;
        for function in &mut program.functions {
            let last = function.body.pop();
            function.body = without(std::mem::take(&mut function.body), &mut at, range);
            at += usize::from(last.is_some());
            function.body.extend(last);
        }
        program
    }

    /// Calls `change` for every expression, the outer ones first.
    fn each_expression(&mut self, change: &mut dyn FnMut(&mut Expression)) {
        for function in &mut self.functions {
            function.body.iter_mut().for_each(|statement| each_of(statement, change));
        }
    }
}

fn without_functions(mut smallest: Rich, has_it: &mut dyn FnMut(&Rich) -> bool) -> Rich {
    for index in (0..smallest.functions.len()).rev() {
        if smallest.functions[index].is_gone {
            continue;
        }
        let mut candidate = smallest.clone();
        let function = &mut candidate.functions[index];
        (function.is_gone, function.is_root) = (true, false);
        let last = function.body.pop();
        function.body = last.into_iter().collect();
        if has_it(&candidate) {
            smallest = candidate;
        }
    }
    smallest
}

/// Leaves out parts by their numbers: halves first, then single ones.
fn reduce(
    mut smallest: Rich,
    has_it: &mut dyn FnMut(&Rich) -> bool,
    count: &dyn Fn(&Rich) -> usize,
    without: &dyn Fn(&Rich, &Range<usize>) -> Rich,
) -> Rich {
    let mut chunk = count(&smallest).max(1).next_power_of_two() / 2;
    while chunk > 0 {
        let mut end = count(&smallest);
        while end > 0 {
            let range = end.saturating_sub(chunk)..end;
            let candidate = without(&smallest, &range);
            if count(&candidate) < count(&smallest) && has_it(&candidate) {
                smallest = candidate;
            }
            end = range.start;
        }
        chunk /= 2;
    }
    smallest
}

/// Replaces operations by one of their operands.
fn simpler(mut smallest: Rich, has_it: &mut dyn FnMut(&Rich) -> bool) -> Rich {
    let mut at = 0;
    loop {
        let mut count = 0;
        let mut options = Vec::new();
        smallest.clone().each_expression(&mut |expression| {
            if count == at {
                options = operands(expression);
            }
            count += 1;
        });
        if at >= count {
            return smallest;
        }
        let mut was_replaced = false;
        for option in options {
            let (mut candidate, mut index) = (smallest.clone(), 0);
            candidate.each_expression(&mut |expression| {
                if index == at {
                    *expression = option.clone();
                }
                // What is below was replaced, and is counted as it is now.
                index += 1;
            });
            if has_it(&candidate) {
                (smallest, was_replaced) = (candidate, true);
                break;
            }
        }
        at += usize::from(!was_replaced);
    }
}

/// The operands of an operation that have its type.
fn operands(expression: &Expression) -> Vec<Expression> {
    match expression {
        Expression::Binary(_, _, left, right) => vec![(**left).clone(), (**right).clone()],
        Expression::Select(_, then, otherwise) => vec![(**then).clone(), (**otherwise).clone()],
        Expression::Shift { value, .. } | Expression::Not(value) => vec![(**value).clone()],
        Expression::Cast(to, from, value) if to == from => vec![(**value).clone()],
        _ => Vec::new(),
    }
}

fn each(expression: &mut Expression, change: &mut dyn FnMut(&mut Expression)) {
    change(expression);
    match expression {
        Expression::Constant(..) | Expression::Place(_) => {}
        Expression::Binary(_, _, left, right) | Expression::Compare(_, left, right) => {
            each(left, change);
            each(right, change);
        }
        Expression::Shift { value, .. } | Expression::Cast(_, _, value) | Expression::Not(value) => each(value, change),
        Expression::Select(of, then, otherwise) => {
            each(of, change);
            each(then, change);
            each(otherwise, change);
        }
        Expression::ElementAt(_, index, _) => each(index, change),
    }
}

fn each_of(statement: &mut Statement, change: &mut dyn FnMut(&mut Expression)) {
    let given = |given: &mut Vec<Given>, change: &mut dyn FnMut(&mut Expression)| {
        for given in given {
            if let Given::Value(value) = given {
                each(value, change);
            }
        }
    };
    match statement {
        Statement::Let(_, _, value) | Statement::Assign(_, value) | Statement::Return(Returned::Scalar(value)) => {
            each(value, change);
        }
        Statement::LetStruct(_, _, values)
        | Statement::LetEnum(_, _, _, values)
        | Statement::LetArray(_, _, values) => {
            values.iter_mut().for_each(|value| each(value, change));
        }
        Statement::Store(_, index, _, value) => {
            each(index, change);
            each(value, change);
        }
        Statement::If(of, ..) | Statement::For { times: of, .. } | Statement::Closure { result: of, .. } => {
            each(of, change);
        }
        Statement::Call(_, _, _, arguments)
        | Statement::CallStruct(_, _, arguments)
        | Statement::Return(Returned::Tail(_, arguments)) => given(arguments, change),
        Statement::Marker(..)
        | Statement::ForEach { .. }
        | Statement::Match(..)
        | Statement::Return(Returned::Struct(_))
        | Statement::Block(_) => {}
    }
    bodies(statement).into_iter().flatten().for_each(|statement| each_of(statement, change));
}

/// The statements inside a statement.
fn bodies(statement: &mut Statement) -> Vec<&mut Vec<Statement>> {
    match statement {
        Statement::If(_, then, otherwise) => vec![then, otherwise],
        Statement::For { body, .. } | Statement::ForEach { body, .. } | Statement::Closure { body, .. } => vec![body],
        Statement::Match(_, _, arms) => arms.iter_mut().map(|(_, body)| body).collect(),
        Statement::Block(body) => vec![body],
        _ => Vec::new(),
    }
}

fn count(statements: &[Statement]) -> usize {
    let inside = |statement: &Statement| {
        let mut statement = statement.clone();
        bodies(&mut statement).into_iter().map(|body| count(body)).sum::<usize>()
    };
    statements.iter().map(|statement| 1 + inside(statement)).sum()
}

fn without(statements: Vec<Statement>, at: &mut usize, range: &Range<usize>) -> Vec<Statement> {
    let mut rest = Vec::new();
    for mut statement in statements {
        let stays = !range.contains(at);
        if stays {
            *at += 1;
            for body in bodies(&mut statement) {
                *body = without(std::mem::take(body), at, range);
            }
            rest.push(statement);
        } else {
            *at += count(std::slice::from_ref(&statement));
        }
    }
    rest
}
