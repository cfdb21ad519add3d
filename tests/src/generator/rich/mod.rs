//! Programs that are richer than [`super::Program`]: integers of all sizes, floats, structs by
//! value and by reference, methods, slices, arrays, tagged unions, closures, loops of many shapes,
//! early returns and tail calls; in C, C++ and Rust.
//!
//! In a program of the kind "used", every value that is computed goes into the result, so that no
//! assignment is dead. Code that people write has few dead assignments, and compilers describe them
//! badly.
//!
//! The programs in the three languages need not print the same: each is compared with its own twin.
//! None has undefined behaviour: arithmetic wraps, indices are masked, and each loop and recursion
//! is bounded.

mod c;
mod c_expressions;
mod expressions;
mod maker;
mod rust;
mod shrink;
mod statements;
mod used;

/// A program.
#[derive(Clone, Debug)]
pub struct Rich {
    structs: Vec<Vec<Scalar>>,
    /// The payloads of the variants of each tagged union.
    enums: Vec<Vec<Vec<Scalar>>>,
    functions: Vec<Function>,
}

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "they say it")]
pub enum Tongue {
    C,
    Cxx,
    Rust,
}

/// The type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scalar {
    Int { bits: u8, signed: bool },
    Bool,
    Float,
}

const U32: Scalar = Scalar::Int { bits: 32, signed: false };
const U64: Scalar = Scalar::Int { bits: 64, signed: false };

/// The type of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Scalar(Scalar),
    Struct(usize),
    Enum(usize),
    /// A local array; its length is a power of 2.
    Array(Scalar, u32),
    /// A slice of at least 8 elements.
    Slice(Scalar),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    name: String,
    kind: Kind,
    /// Whether it is a reference or pointer to that type.
    by_reference: bool,
    is_mutable: bool,
}

/// A scalar place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    variable: Variable,
    part: Part,
    of: Scalar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    Field(usize),
    Element(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    And,
    Or,
    Xor,
    /// The divisor is a positive constant.
    Divide,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    Equal,
    GreaterEqual,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expression {
    Constant(Scalar, i64),
    Place(Place),
    Binary(Operator, Scalar, Box<Expression>, Box<Expression>),
    /// A shift by a constant.
    Shift {
        left: bool,
        of: Scalar,
        value: Box<Expression>,
        by: u8,
    },
    /// To, from.
    Cast(Scalar, Scalar, Box<Expression>),
    /// The type of the operands. The result is a Boolean.
    Compare(Comparison, Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Select(Box<Expression>, Box<Expression>, Box<Expression>),
    /// An element of an array or slice: a `u32` that is masked.
    ElementAt(Variable, Box<Expression>, u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Given {
    Value(Expression),
    /// A variable, as the parameter takes it.
    Copy(Variable),
    Reference(Variable),
    Slice(Variable),
}

/// How a loop counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Up,
    Down,
    /// In steps of this size.
    Step(u32),
    /// A `while` loop with the variable changed at the end of its body.
    While,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Statement {
    Marker(usize, Vec<Place>),
    Let(String, Scalar, Expression),
    LetStruct(String, usize, Vec<Expression>),
    /// Struct, variant, payload.
    LetEnum(String, usize, usize, Vec<Expression>),
    LetArray(String, Scalar, Vec<Expression>),
    Assign(Place, Expression),
    Store(Variable, Expression, u32, Expression),
    If(Expression, Vec<Statement>, Vec<Statement>),
    /// A loop with a variable of an integer type, and a number of rounds.
    For {
        variable: String,
        of: Scalar,
        count: Count,
        times: Expression,
        body: Vec<Statement>,
    },
    /// A loop over the elements of a slice or an array. The second name is that of the reference.
    ForEach {
        variable: String,
        reference: String,
        of: Scalar,
        over: Variable,
        body: Vec<Statement>,
    },
    /// The variable, and names of the payload of each variant.
    Match(Variable, usize, Vec<(Vec<String>, Vec<Statement>)>),
    /// A closure with one parameter, which is called with each argument. The results are assigned.
    Closure {
        name: String,
        parameter: String,
        of: Scalar,
        body: Vec<Statement>,
        result: Expression,
        calls: Vec<(String, Expression)>,
    },
    /// The new variable, its type, the function.
    Call(String, Scalar, usize, Vec<Given>),
    /// The result is assigned to a struct.
    CallStruct(Variable, usize, Vec<Given>),
    Return(Returned),
    Block(Vec<Statement>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Returned {
    Scalar(Expression),
    Struct(Variable),
    /// A call of the function itself.
    Tail(usize, Vec<Given>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ResultType {
    Scalar(Scalar),
    Struct(usize),
}

#[derive(Clone, Debug)]
struct Function {
    name: String,
    /// Whether the first parameter is `self`.
    is_method: bool,
    parameters: Vec<Variable>,
    result: ResultType,
    body: Vec<Statement>,
    is_inline: bool,
    /// Whether pointers are `restrict` in C.
    is_restrict: bool,
    /// Whether `run` calls it.
    is_root: bool,
    /// Whether it is left out.
    is_gone: bool,
}

impl Rich {
    /// Generates a program, the same for the same seed. `is_used` says that every value goes into
    /// the result.
    #[must_use]
    pub fn generate(seed: u64, functions: usize, is_used: bool) -> Self {
        maker::Maker::program(seed, functions, is_used)
    }

    /// The text, with markers of this variant.
    #[must_use]
    pub fn text(&self, tongue: Tongue, variant: super::Variant) -> String {
        match tongue {
            Tongue::Rust => rust::text(self, variant),
            Tongue::C | Tongue::Cxx => c::text(self, tongue == Tongue::Cxx, variant),
        }
    }
}
