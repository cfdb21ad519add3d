//! The abstract program, and its generation.

use crate::tools::Choices;

/// A program of small functions with markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub(super) functions: Vec<Function>,
    /// The markers, in the order of the text.
    pub markers: Vec<Marker>,
}

/// A marker of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Its name: `generated:m17`.
    pub name: String,
    /// The function that it is in.
    pub function: String,
    /// Its position in the code.
    pub shape: Shape,
    /// Its arguments.
    pub arguments: Vec<Place>,
}

/// The position of a marker in the code, on which the compiler's treatment depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shape {
    /// The construct around it.
    pub within: Within,
    /// Its position among the statements.
    pub position: Position,
}

/// The construct whose statements contain a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "they say it")]
pub enum Within {
    Function,
    Helper,
    Recursion,
    Arm,
    Loop,
    Case,
    /// A block with jumps to its end.
    Block,
}

/// The position of a marker among the statements of its construct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    /// The only one.
    Alone,
    /// The first.
    First,
    /// After a branch, a loop or a block, where paths meet.
    Join,
    /// In a straight line.
    Middle,
    /// Before a tail that other paths share, which compilers may merge.
    Tail,
    /// Before a jump out of the construct: `return`, `break`, `continue`.
    Exit,
    /// The last statement, at the end of the construct.
    Last,
}

/// An argument of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A parameter, or a variable.
    Variable(String),
    /// The number `depth` of the state that all functions share.
    Depth,
    /// A cell of the state's array.
    Cell(u32),
}

/// A function `u32 name(state, a, b)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// Whether the compiler may inline it.
    pub(super) is_inline: bool,
    /// Whether `run` calls it.
    pub(super) is_root: bool,
    pub(super) body: Vec<Statement>,
    pub(super) result: Expression,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    Marker(usize),
    Let(String, Expression),
    Assign(String, Expression),
    /// `cells[n] = e`.
    Store(u32, Expression),
    /// `depth += e`.
    Deepen(Expression),
    /// Assigns the result of a call to a variable.
    Call(String, Call),
    /// A call for its effects.
    Discard(Call),
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// A loop with a count, and a variable that counts up.
    For(Loop),
    /// A loop with a count that runs at least once, and tests at the end.
    Until(Loop),
    /// A switch on a value. A case may have several values.
    Switch(Expression, Vec<(Vec<u32>, Vec<Statement>)>, Vec<Statement>),
    /// A block. `Leave` jumps to its end.
    Block(usize, Vec<Statement>),
    Leave(usize),
    /// Leaves a loop. C cannot use `break` if a switch is in between.
    Break {
        number: usize,
        is_in_switch: bool,
    },
    Continue(usize),
    Return(Expression),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loop {
    pub(super) number: usize,
    pub(super) variable: String,
    pub(super) times: Expression,
    pub(super) body: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) function: String,
    pub(super) arguments: Vec<Expression>,
}

/// An expression without side effects, because C does not define the order of evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Constant(u32),
    Variable(String),
    Depth,
    Cell(u32),
    Binary(Operator, Box<Expression>, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    And,
    Xor,
    /// A shift by a constant below 32.
    Right,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Less(Expression, Expression),
    Equal(Expression, Expression),
    /// Whether the result of a call is below a number.
    Calls(Call, u32),
    Both(Box<Condition>, Box<Condition>),
    Either(Box<Condition>, Box<Condition>),
}

/// The function that both languages define by hand. It is never inlined, and has side effects.
pub(super) const SINK: &str = "sink";

impl Program {
    /// Generates a program of `functions` functions, the same for the same seed. A function has
    /// about five markers.
    #[must_use]
    pub fn generate(seed: u64, functions: usize) -> Self {
        let mut maker = Maker {
            choices: Choices::new(seed),
            markers: Vec::new(),
            helpers: Vec::new(),
            names: 0,
            scope: Scope::default(),
        };
        let mut made = Vec::new();
        for index in 0..functions {
            let kind = match index % 8 {
                0 => Within::Helper,
                5 => Within::Recursion,
                _ => Within::Function,
            };
            made.push(maker.function(index, kind));
        }
        Self { functions: made, markers: maker.markers }
    }
}

/// The names and jump targets that a statement may use.
#[derive(Clone, Debug, Default)]
struct Scope {
    readable: Vec<String>,
    writable: Vec<String>,
    /// The loop around it, whether `continue` is allowed, and whether a switch is in between.
    around: Option<(usize, bool, bool)>,
    blocks: Vec<usize>,
    loops: u32,
    depth: u32,
    function: String,
    is_recursive: bool,
}

struct Maker {
    choices: Choices,
    markers: Vec<Marker>,
    helpers: Vec<String>,
    /// The number of variables, blocks and loops named so far.
    names: usize,
    scope: Scope,
}

impl Maker {
    fn function(&mut self, index: usize, kind: Within) -> Function {
        let name = match kind {
            Within::Helper => format!("h{index}"),
            Within::Recursion => format!("r{index}"),
            _ => format!("f{index}"),
        };
        let parameters = vec!["a".to_owned(), "b".to_owned()];
        // The parameter that limits a recursion must not change.
        let writable = if kind == Within::Recursion { vec!["b".to_owned()] } else { parameters.clone() };
        self.scope = Scope {
            readable: parameters,
            writable,
            depth: if kind == Within::Function { 0 } else { 2 },
            function: name.clone(),
            is_recursive: kind == Within::Recursion,
            ..Scope::default()
        };
        let mut body = Vec::new();
        if kind == Within::Recursion {
            let marker = self.marker(kind, Position::Exit);
            let result = Statement::Return(self.expression(1));
            body.push(Statement::If(
                Condition::Equal(Expression::Variable("a".to_owned()), Expression::Constant(0)),
                vec![marker, result],
                Vec::new(),
            ));
        }
        body.extend(self.statements(kind));
        if kind == Within::Recursion {
            let less = Expression::Binary(
                Operator::Subtract,
                Box::new(Expression::Variable("a".to_owned())),
                Box::new(Expression::Constant(1)),
            );
            let arguments = vec![less, self.expression(1)];
            body.push(Statement::Call("b".to_owned(), Call { function: name.clone(), arguments }));
            if self.choices.chance(60) {
                body.push(self.marker(kind, Position::Last));
            }
        }
        let result = self.expression(2);
        let is_inline = kind == Within::Helper;
        if is_inline {
            self.helpers.push(name.clone());
        }
        // A function that only others call may disappear when all calls of it are inlined, so some
        // are both.
        let is_root = !is_inline || self.choices.chance(30);
        Function { name, is_inline, is_root, body, result }
    }

    /// The statements of a construct, including the markers.
    fn statements(&mut self, within: Within) -> Vec<Statement> {
        let outer = self.scope.clone();
        self.scope.depth += 1;
        let mut statements = Vec::new();
        if self.choices.chance(12) {
            statements.push(self.marker(within, Position::Alone));
            self.scope = outer;
            return statements;
        }
        if self.choices.chance(30) {
            statements.push(self.marker(within, Position::First));
        }
        let is_whole = matches!(within, Within::Function | Within::Helper | Within::Recursion);
        let count = 1 + self.choices.below(if within == Within::Function { 4 } else { 2 });
        for _ in 0..count {
            let statement = self.statement();
            let is_compound = matches!(
                statement,
                Statement::If(..)
                    | Statement::For(_)
                    | Statement::Until(_)
                    | Statement::Switch(..)
                    | Statement::Block(..)
            );
            statements.push(statement);
            if is_compound && self.choices.chance(45) {
                statements.push(self.marker(within, Position::Join));
            } else if self.choices.chance(12) {
                statements.push(self.marker(within, Position::Middle));
            }
        }
        let jump = if is_whole { None } else { self.jump() };
        match jump {
            Some(jump) => {
                if self.choices.chance(50) {
                    statements.push(self.marker(within, Position::Exit));
                }
                statements.push(jump);
            }
            None if self.choices.chance(40) => statements.push(self.marker(within, Position::Last)),
            None => {}
        }
        self.scope = outer;
        statements
    }

    /// Occasionally a jump out of the construct.
    fn jump(&mut self) -> Option<Statement> {
        if !self.choices.chance(22) {
            return None;
        }
        let mut ways = Vec::new();
        if let Some((number, may_continue, is_in_switch)) = self.scope.around {
            ways.push(Statement::Break { number, is_in_switch });
            if may_continue {
                ways.push(Statement::Continue(number));
            }
        }
        ways.extend(self.scope.blocks.iter().map(|&block| Statement::Leave(block)));
        ways.push(Statement::Return(self.expression(1)));
        Some(self.choices.one(&ways).clone())
    }

    fn statement(&mut self) -> Statement {
        let is_deep = self.scope.depth > 3;
        match self.choices.below(if is_deep { 46 } else { 100 }) {
            0..10 => {
                let name = self.name("v");
                let value = self.expression(2);
                self.scope.readable.push(name.clone());
                self.scope.writable.push(name.clone());
                Statement::Let(name, value)
            }
            10..22 => Statement::Assign(self.writable(), self.expression(2)),
            22..30 => Statement::Store(self.choices.below(8), self.expression(2)),
            30..34 => Statement::Deepen(self.expression(1)),
            34..42 => {
                let call = self.call();
                Statement::Call(self.writable(), call)
            }
            42..46 => Statement::Discard(self.call()),
            46..70 => {
                let condition = self.condition(2);
                if self.choices.chance(15) {
                    let tail = self.tail();
                    let arm = self.with_tail(Within::Arm, &tail);
                    return Statement::If(condition, arm, self.with_tail(Within::Arm, &tail));
                }
                let arm = self.statements(Within::Arm);
                let other = if self.choices.chance(45) { self.statements(Within::Arm) } else { Vec::new() };
                Statement::If(condition, arm, other)
            }
            70..82 if self.scope.loops < 2 => self.a_loop(),
            70..91 => self.switch(),
            _ => {
                let block = self.number();
                let outer = self.scope.clone();
                self.scope.blocks.push(block);
                let mut body = Vec::new();
                // Several paths to one tail.
                for _ in 0..=self.choices.below(2) {
                    let mut arm = Vec::new();
                    let condition = self.condition(1);
                    if self.choices.chance(60) {
                        arm.push(self.marker(Within::Block, Position::Exit));
                    }
                    arm.push(Statement::Leave(block));
                    body.push(Statement::If(condition, arm, Vec::new()));
                }
                body.extend(self.statements(Within::Block));
                self.scope = outer;
                Statement::Block(block, body)
            }
        }
    }

    fn a_loop(&mut self) -> Statement {
        let outer = self.scope.clone();
        let (number, variable) = (self.number(), self.name("i"));
        let mask = *self.choices.one(&[1, 3, 7]);
        // Compilers unroll loops with a constant count.
        let times = match self.choices.chance(35) {
            true => Expression::Constant(1 + self.choices.below(5)),
            false => Expression::Binary(
                Operator::And,
                Box::new(Expression::Variable(self.choices.one(&outer.readable).clone())),
                Box::new(Expression::Constant(mask)),
            ),
        };
        let is_until = self.choices.chance(35);
        self.scope.loops += 1;
        self.scope.readable.push(variable.clone());
        self.scope.around = Some((number, !is_until, false));
        let body = self.statements(Within::Loop);
        self.scope = outer;
        let made = Loop { number, variable, times, body };
        if is_until { Statement::Until(made) } else { Statement::For(made) }
    }

    fn switch(&mut self) -> Statement {
        let outer = self.scope.clone();
        if let Some((number, may_continue, _)) = self.scope.around {
            self.scope.around = Some((number, may_continue, true));
        }
        let is_dense = self.choices.chance(65);
        let count = if is_dense { 4 + self.choices.below(5) } else { 2 + self.choices.below(3) };
        let tail = self.tail();
        let mut cases = Vec::new();
        for index in 0..count {
            let value = if is_dense { index } else { index * index * 7 + index };
            let is_another = self.choices.chance(15);
            match cases.last_mut() {
                Some((values, _)) if is_another => Vec::push(values, value),
                _ if self.choices.chance(25) => cases.push((vec![value], self.with_tail(Within::Case, &tail))),
                _ => cases.push((vec![value], self.statements(Within::Case))),
            }
        }
        let default = self.statements(Within::Case);
        self.scope = outer;
        let mask = if is_dense { 15 } else { 63 };
        let of = Expression::Binary(
            Operator::And,
            Box::new(Expression::Variable(self.choices.one(&self.scope.readable).clone())),
            Box::new(Expression::Constant(mask)),
        );
        Statement::Switch(of, cases, default)
    }

    /// Statements without markers that may appear in several places.
    fn tail(&mut self) -> Vec<Statement> {
        let count = 2 + self.choices.below(2);
        let statement = |maker: &mut Self| match maker.choices.below(3) {
            0 => Statement::Store(maker.choices.below(8), maker.expression(2)),
            1 => Statement::Assign(maker.writable(), maker.expression(2)),
            _ => Statement::Discard(maker.sink()),
        };
        (0..count).map(|_| statement(self)).collect()
    }

    fn with_tail(&mut self, within: Within, tail: &[Statement]) -> Vec<Statement> {
        let mut statements = Vec::new();
        if self.choices.chance(40) {
            statements.push(Statement::Store(self.choices.below(8), self.expression(1)));
        }
        if self.choices.chance(60) {
            statements.push(self.marker(within, Position::Tail));
        }
        statements.extend_from_slice(tail);
        statements
    }

    fn marker(&mut self, within: Within, position: Position) -> Statement {
        let mut arguments = Vec::new();
        for _ in 0..self.choices.below(4) {
            let place = match self.choices.below(10) {
                0..7 => Place::Variable(self.choices.one(&self.scope.readable).clone()),
                7..9 => Place::Depth,
                _ => Place::Cell(self.choices.below(8)),
            };
            if !arguments.contains(&place) {
                arguments.push(place);
            }
        }
        let index = self.markers.len();
        let name = format!("generated:m{index}");
        let function = self.scope.function.clone();
        self.markers.push(Marker { name, function, shape: Shape { within, position }, arguments });
        Statement::Marker(index)
    }

    fn call(&mut self) -> Call {
        // A helper calls no helper, because nested loops of helpers would take too long.
        let is_helper = self.helpers.is_empty() || self.scope.function.starts_with('h') || self.scope.is_recursive;
        let function = match self.choices.chance(45) && !is_helper {
            true => self.choices.one(&self.helpers).clone(),
            false => return self.sink(),
        };
        Call { function, arguments: (0..2).map(|_| self.expression(1)).collect() }
    }

    fn sink(&mut self) -> Call {
        Call { function: SINK.to_owned(), arguments: vec![self.expression(1)] }
    }

    fn condition(&mut self, depth: u32) -> Condition {
        let constant = |value| Expression::Constant(value);
        let variable = Expression::Variable(self.choices.one(&self.scope.readable).clone());
        match self.choices.below(if depth == 0 { 60 } else { 100 }) {
            0..20 => Condition::Less(variable, constant(self.choices.below(40))),
            20..40 => {
                let mask = *self.choices.one(&[1, 2, 3, 7]);
                let value = self.choices.below(mask + 1) & mask;
                let masked = Expression::Binary(Operator::And, Box::new(variable), Box::new(constant(mask)));
                Condition::Equal(masked, constant(value))
            }
            40..50 => Condition::Less(self.expression(1), self.expression(1)),
            50..60 => Condition::Calls(self.sink(), 1 << 31),
            60..80 => Condition::Both(Box::new(self.condition(depth - 1)), Box::new(self.condition(depth - 1))),
            _ => Condition::Either(Box::new(self.condition(depth - 1)), Box::new(self.condition(depth - 1))),
        }
    }

    fn expression(&mut self, depth: u32) -> Expression {
        match self.choices.below(if depth == 0 { 60 } else { 100 }) {
            0..12 => Expression::Constant(self.choices.below(100)),
            12..48 => Expression::Variable(self.choices.one(&self.scope.readable).clone()),
            48..52 => Expression::Depth,
            52..60 => Expression::Cell(self.choices.below(8)),
            _ => {
                use Operator::{Add, And, Multiply, Right, Subtract, Xor};
                let operator = *self.choices.one(&[Add, Add, Subtract, Multiply, And, Xor, Right]);
                let left = self.expression(depth - 1);
                let right = match operator {
                    Right => Expression::Constant(1 + self.choices.below(7)),
                    _ => self.expression(depth - 1),
                };
                Expression::Binary(operator, Box::new(left), Box::new(right))
            }
        }
    }

    fn writable(&mut self) -> String {
        self.choices.one(&self.scope.writable).clone()
    }

    fn number(&mut self) -> usize {
        self.names += 1;
        self.names
    }

    fn name(&mut self, letter: &str) -> String {
        format!("{letter}{}", self.number())
    }
}
