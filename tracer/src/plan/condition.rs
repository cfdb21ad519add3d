//! A filter, as it is checked at a site: a condition on what is read there.

use simple_markers_resolver::export::fetch::NumberKind;

use crate::record::NAME_SIZE;

/// The most bytes of a text that a filter compares. With its NUL it takes 64 bytes of the stack.
pub const LONGEST_TEXT: usize = 63;

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl Operator {
    /// The operator that holds for exchanged operands.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
        }
    }

    /// Whether it holds for operands in this order.
    #[must_use]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterEqual => order.is_ge(),
        }
    }
}

/// A condition on the inputs of a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// It always has this result. It is not a part of another condition.
    Known(bool),
    /// One of two holds. The second is not evaluated if the first holds.
    Or(Box<Condition>, Box<Condition>),
    /// Both hold. The second is not evaluated if the first does not hold.
    And(Box<Condition>, Box<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// Two numbers are compared. At least one of them is read.
    Numbers {
        /// What is left of the operator.
        left: Number,
        /// The operator.
        operator: Operator,
        /// What is right of the operator.
        right: Number,
    },
    /// A text is compared with a literal.
    Text {
        /// Where the text is.
        at: TextPlace,
        /// The literal, at most [`LONGEST_TEXT`] bytes.
        literal: Vec<u8>,
        /// Whether the condition is that they are equal.
        is_equal: bool,
    },
}

/// A number at a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// It is always the same.
    Known(i128),
    /// It is read.
    Read {
        /// Where it is.
        at: Place,
        /// The second place that it may be at. It is known if both have the same value.
        other: Option<Place>,
        /// Its size in bytes.
        size: u8,
        /// Whether it is signed.
        is_signed: bool,
    },
}

/// Where a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In an input.
    Input(usize),
    /// It is always the same. The bits beyond its size are 0.
    Constant(u64),
    /// The kernel knows it of the thread that runs.
    Context(ContextNumber),
}

/// A number that the kernel knows of the thread that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContextNumber {
    /// The process.
    Process,
    /// The thread.
    Thread,
    /// The CPU.
    Cpu,
    /// The control group of version 2, as `stat -c %i` says it of its folder.
    Group,
}

impl ContextNumber {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Process, Self::Thread, Self::Cpu, Self::Group];

    /// The name for it in filters and keys.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "pid",
            Self::Thread => "tid",
            Self::Cpu => "cpu",
            Self::Group => "cgroup",
        }
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(self) -> u8 {
        if self == Self::Group { 8 } else { 4 }
    }

    /// What it is at a recorded hit; `None` for the control group, which is not recorded.
    #[must_use]
    pub(crate) fn recorded(self, process: u32, thread: u32, cpu: u32) -> Option<u64> {
        match self {
            Self::Process => Some(process.into()),
            Self::Thread => Some(thread.into()),
            Self::Cpu => Some(cpu.into()),
            Self::Group => None,
        }
    }
}

/// The name of the thread that runs, in filters and keys.
pub const THREAD_NAME: &str = "comm";

/// The number of the async runtime's task that the thread runs, in filters and keys.
pub const TASK: &str = "task";

/// The most bytes of the name of a thread, without the NUL.
pub const LONGEST_THREAD_NAME: usize = NAME_SIZE as usize - 1;

/// Where a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextPlace {
    /// In an input.
    Input(usize),
    /// It is the name of the thread that runs.
    ThreadName,
}

impl TextPlace {
    /// The input that it needs.
    #[must_use]
    pub fn input(self) -> Option<usize> {
        match self {
            Self::Input(field) => Some(field),
            Self::ThreadName => None,
        }
    }
}

/// An argument that a program can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readable {
    /// A number.
    Number {
        /// Where it is.
        number: Number,
        /// Its size in bytes.
        size: u8,
        /// How its bits are read.
        kind: NumberKind,
    },
    /// A text.
    Text(TextPlace),
}

impl Readable {
    /// The inputs that it needs.
    #[must_use]
    pub fn inputs(&self) -> Vec<usize> {
        match self {
            Self::Number { number, .. } => number.inputs().collect(),
            Self::Text(at) => at.input().into_iter().collect(),
        }
    }

    /// What it needs of the thread that runs.
    #[must_use]
    pub fn contexts(&self) -> Vec<ContextNumber> {
        match self {
            Self::Number { number, .. } => number.contexts().collect(),
            Self::Text(_) => Vec::new(),
        }
    }
}

impl Number {
    /// The smallest and the largest value.
    pub(crate) fn range(&self) -> (i128, i128) {
        match *self {
            Self::Known(value) => (value, value),
            Self::Read { size, is_signed, .. } => {
                let bits = u32::from(size.clamp(1, 8)) * 8;
                match is_signed {
                    true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
                    false => (0, (1 << bits) - 1),
                }
            }
        }
    }

    /// Whether it is signed.
    pub(crate) fn is_signed(&self) -> bool {
        match *self {
            Self::Known(value) => value < 0,
            Self::Read { is_signed, .. } => is_signed,
        }
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        let places = match *self {
            Self::Known(_) => [None, None],
            Self::Read { at, other, .. } => [Some(at), other],
        };
        places.into_iter().flatten()
    }

    /// The inputs that it needs.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = usize> {
        self.places().filter_map(|place| match place {
            Place::Input(field) => Some(field),
            Place::Constant(_) | Place::Context(_) => None,
        })
    }

    /// What it needs of the thread that runs.
    pub(crate) fn contexts(&self) -> impl Iterator<Item = ContextNumber> {
        self.places().filter_map(|place| match place {
            Place::Context(of) => Some(of),
            Place::Input(_) | Place::Constant(_) => None,
        })
    }
}

impl Condition {
    pub(crate) fn or(left: Self, right: Self) -> Self {
        match (left, right) {
            (Self::Known(true), _) | (_, Self::Known(true)) => Self::Known(true),
            (Self::Known(false), other) | (other, Self::Known(false)) => other,
            (left, right) => Self::Or(Box::new(left), Box::new(right)),
        }
    }

    pub(crate) fn and(left: Self, right: Self) -> Self {
        match (left, right) {
            (Self::Known(false), _) | (_, Self::Known(false)) => Self::Known(false),
            (Self::Known(true), other) | (other, Self::Known(true)) => other,
            (left, right) => Self::And(Box::new(left), Box::new(right)),
        }
    }

    pub(crate) fn not(inner: Self) -> Self {
        match inner {
            Self::Known(result) => Self::Known(!result),
            inner => Self::Not(Box::new(inner)),
        }
    }

    /// The inputs that it needs, each once, in the order of their first use.
    #[must_use]
    pub fn inputs(&self) -> Vec<usize> {
        let mut inputs = Vec::new();
        self.add_inputs(&mut inputs);
        inputs
    }

    fn add_inputs(&self, inputs: &mut Vec<usize>) {
        let add = |field: usize| {
            if !inputs.contains(&field) {
                inputs.push(field);
            }
        };
        match self {
            Self::Known(_) => {}
            Self::Or(left, right) | Self::And(left, right) => {
                left.add_inputs(inputs);
                right.add_inputs(inputs);
            }
            Self::Not(inner) => inner.add_inputs(inputs),
            Self::Numbers { left, right, .. } => left.inputs().chain(right.inputs()).for_each(add),
            Self::Text { at, .. } => at.input().into_iter().for_each(add),
        }
    }

    /// What it needs of the thread that runs.
    #[must_use]
    pub fn contexts(&self) -> Vec<ContextNumber> {
        match self {
            Self::Known(_) | Self::Text { .. } => Vec::new(),
            Self::Or(left, right) | Self::And(left, right) => [left.contexts(), right.contexts()].concat(),
            Self::Not(inner) => inner.contexts(),
            Self::Numbers { left, right, .. } => left.contexts().chain(right.contexts()).collect(),
        }
    }
}
