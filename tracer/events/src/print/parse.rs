//! Reads the expressions of a `print fmt`: C's grammar (C11 6.5) without assignments.

use super::build::{Expression, Type};
use super::error::PrintError;
use super::integer::{BaseType, Integer, is_word_of_type, known};
use super::node::{Binary, Node, Place, Unary};
use super::token::{Token, tokens};
use crate::format::{Field, Format};
use crate::names::Names;

/// Reads one `print fmt`.
pub(super) struct Parser<'a> {
    tokens: Vec<(usize, Token)>,
    next: usize,
    pub(super) format: &'a Format,
    names: &'a dyn Names,
    locals: Vec<(String, Expression)>,
    nesting: usize,
    /// The indexes of the fields that were read since this was last taken.
    pub(super) fields: Vec<usize>,
    /// The names that were looked up.
    pub(super) enumerators: Vec<(String, i64)>,
}

const DEEPEST: usize = 200;

/// The numbers of the kernel that are no enumerators.
const VARIABLES: [&str; 5] = ["jiffies", "vmemmap_base", "page_offset_base", "vmalloc_base", "nr_cpu_ids"];

/// The operators of each level, the loosest first.
const LEVELS: [&[(&str, Binary)]; 10] = [
    &[("||", Binary::LogicalOr)],
    &[("&&", Binary::LogicalAnd)],
    &[("|", Binary::Or)],
    &[("^", Binary::Xor)],
    &[("&", Binary::And)],
    &[("==", Binary::Equal), ("!=", Binary::NotEqual)],
    &[("<", Binary::Less), ("<=", Binary::LessEqual), (">", Binary::Greater), (">=", Binary::GreaterEqual)],
    &[("<<", Binary::Left), (">>", Binary::Right)],
    &[("+", Binary::Plus), ("-", Binary::Minus)],
    &[("*", Binary::Times), ("/", Binary::Divide), ("%", Binary::Remainder)],
];

impl<'a> Parser<'a> {
    pub(super) fn new(text: &str, format: &'a Format, names: &'a dyn Names) -> Result<Self, PrintError> {
        let (locals, fields, enumerators) = Default::default();
        Ok(Self { tokens: tokens(text)?, next: 0, format, names, locals, nesting: 0, fields, enumerators })
    }

    fn peek(&self) -> &Token {
        self.ahead(0)
    }

    fn ahead(&self, count: usize) -> &Token {
        self.tokens.get(self.next.saturating_add(count)).map_or(&Token::End, |(_, token)| token)
    }

    /// The offset of the next token.
    pub(super) fn offset(&self) -> usize {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(0, |(offset, _)| *offset)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next = self.next.saturating_add(1);
        token
    }

    pub(super) fn is_end(&self) -> bool {
        *self.peek() == Token::End
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    /// Takes a sign if it is next.
    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.is_sign(sign);
        self.next = self.next.saturating_add(usize::from(is_next));
        is_next
    }

    pub(super) fn expect(&mut self, sign: &'static str) -> Result<(), PrintError> {
        if self.takes(sign) { Ok(()) } else { Err(PrintError::Expected { offset: self.offset(), wanted: sign }) }
    }

    pub(super) fn name(&mut self) -> Result<String, PrintError> {
        let offset = self.offset();
        match self.take() {
            Token::Name(name) => Ok(name),
            _ => Err(PrintError::Expected { offset, wanted: "a name" }),
        }
    }

    /// A text: one or several strings, also in parentheses. `None` if there is none.
    pub(super) fn text(&mut self) -> Option<String> {
        let Token::Text(_) = self.peek() else { return None };
        let mut text = String::new();
        while let Token::Text(part) = self.peek() {
            text.push_str(part);
            self.next = self.next.saturating_add(1);
        }
        Some(text)
    }

    pub(super) fn expression(&mut self) -> Result<Expression, PrintError> {
        let offset = self.offset();
        self.nesting += 1;
        if self.nesting > DEEPEST {
            return Err(PrintError::TooLarge { offset });
        }
        let mut value = self.level(0)?;
        if self.takes("?") {
            // `a ?: b` is gcc's.
            let yes = if self.is_sign(":") { value.clone() } else { self.expression()? };
            self.expect(":")?;
            let no = self.expression()?;
            value = Expression::conditional(value, yes, no, offset)?;
        }
        self.nesting -= 1;
        Ok(value)
    }

    fn level(&mut self, from: usize) -> Result<Expression, PrintError> {
        let mut value = self.unary()?;
        loop {
            let offset = self.offset();
            let Token::Sign(sign) = *self.peek() else { return Ok(value) };
            let found = LEVELS.iter().enumerate().skip(from).find_map(|(level, operators)| {
                operators.iter().find(|(of, _)| *of == sign).map(|(_, binary)| (level, *binary))
            });
            let Some((level, binary)) = found else { return Ok(value) };
            self.next += 1;
            let right = self.level(level + 1)?;
            value = Expression::binary(binary, value, right, offset)?;
        }
    }

    fn unary(&mut self) -> Result<Expression, PrintError> {
        let offset = self.offset();
        self.nesting += 1;
        if self.nesting > DEEPEST {
            return Err(PrintError::TooLarge { offset });
        }
        let value = match *self.peek() {
            Token::Sign("-") => self.operator(Unary::Minus, offset),
            Token::Sign("~") => self.operator(Unary::Complement, offset),
            Token::Sign("!") => self.operator(Unary::Not, offset),
            Token::Sign("+") => {
                self.next += 1;
                self.unary()
            }
            Token::Sign("*") => {
                self.next += 1;
                let place = self.unary()?;
                Expression::element(place, Expression::number(0, Integer::INT), offset)
            }
            Token::Sign("&") => {
                self.next += 1;
                let inner = self.unary()?;
                address(inner, offset)
            }
            Token::Sign("(") if self.is_type(1) => {
                self.next += 1;
                let to = self.type_name()?;
                self.expect(")")?;
                let inner = self.unary()?;
                inner.convert(to, offset)
            }
            _ => self.postfix(),
        }?;
        self.nesting -= 1;
        Ok(value)
    }

    fn operator(&mut self, unary: Unary, offset: usize) -> Result<Expression, PrintError> {
        self.next += 1;
        Expression::unary(unary, self.unary()?, offset)
    }

    fn postfix(&mut self) -> Result<Expression, PrintError> {
        let mut value = self.primary()?;
        loop {
            let offset = self.offset();
            if self.takes("[") {
                let index = self.expression()?;
                self.expect("]")?;
                value = Expression::element(value, index, offset)?;
            } else if value.of == Type::Record && self.takes("->") {
                let name = self.name()?;
                let field = self.field(&name, offset)?;
                value = Expression::field(field, self.element_type(field));
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Result<Expression, PrintError> {
        let offset = self.offset();
        if let Some(text) = self.text() {
            return Ok(Expression::text(text));
        }
        match self.take() {
            Token::Number(value, of) => Ok(Expression::number(value, of)),
            Token::Sign("(") if self.is_sign("{") => self.block(),
            Token::Sign("(") => {
                let value = self.expression()?;
                self.expect(")")?;
                Ok(value)
            }
            Token::Name(name) if name == "sizeof" => self.size_of(),
            Token::Name(name) if self.is_sign("(") => self.call(&name, offset),
            Token::Name(name) => self.named(name, offset),
            _ => Err(PrintError::Expected { offset, wanted: "a value" }),
        }
    }

    fn named(&mut self, name: String, offset: usize) -> Result<Expression, PrintError> {
        if let Some((_, value)) = self.locals.iter().rev().find(|(local, _)| *local == name) {
            return Ok(value.clone());
        }
        match name.as_str() {
            "REC" => return Ok(Expression::new(Node::Constant(1), Type::Record)),
            "NULL" => return Ok(Expression::new(Node::Constant(0), Type::Pointer { of: None, stride: 1 })),
            "true" | "false" => return Ok(Expression::number(u64::from(name == "true"), Integer::INT)),
            variable if VARIABLES.contains(&variable) => {
                return Ok(Expression::new(Node::Variable(variable.into()), Type::Integer(Integer::UNSIGNED_LONG)));
            }
            _ => {}
        }
        let Some(value) = self.names.enumerator(&name) else { return Err(PrintError::UnknownName { offset, name }) };
        let of = if i32::try_from(value).is_ok() { Integer::INT } else { Integer::LONG };
        let of = if u32::try_from(value).is_ok() && of == Integer::LONG { Integer::UNSIGNED } else { of };
        self.enumerators.push((name, value));
        Ok(Expression::number(value as u64, of))
    }

    /// `({ int a = 1; a + 2; })`, behind the `(`.
    fn block(&mut self) -> Result<Expression, PrintError> {
        self.expect("{")?;
        let outer = self.locals.len();
        while self.is_type(0) {
            let of = self.type_name()?;
            let (offset, name) = (self.offset(), self.name()?);
            self.expect("=")?;
            let value = self.expression()?.convert(of, offset)?;
            self.expect(";")?;
            self.locals.push((name, value));
        }
        let value = self.expression()?;
        self.expect(";")?;
        self.expect("}")?;
        self.expect(")")?;
        self.locals.truncate(outer);
        Ok(value)
    }

    fn size_of(&mut self) -> Result<Expression, PrintError> {
        let offset = self.offset();
        let size = if self.is_sign("(") && self.is_type(1) {
            self.next += 1;
            let size = match self.type_words() {
                (words, 0) => self.type_of(&words).map(|named| match named {
                    BaseType::Integer(of) => of.size.into(),
                    BaseType::Bool | BaseType::Void => 1,
                    BaseType::Other(size) => size,
                }),
                _ => Some(8),
            };
            self.expect(")")?;
            size
        } else {
            match self.unary()? {
                Expression { node: Node::Place(Place::Fixed { size, .. }), .. } => Some(size as u64),
                value if value.node.is_place() => None,
                value => Some(value.of.size()),
            }
        };
        Ok(Expression::number(size.ok_or(PrintError::Operand { offset })?, Integer::UNSIGNED_LONG))
    }

    /// A field of the event, noted as read.
    pub(super) fn field(&mut self, name: &str, offset: usize) -> Result<&'a Field, PrintError> {
        let format: &'a Format = self.format;
        let found = format.fields.iter().enumerate().find(|(_, field)| field.name == name);
        let unknown = || PrintError::UnknownField { offset, name: name.to_owned() };
        let (index, field) = found.ok_or_else(unknown)?;
        if !self.fields.contains(&index) {
            self.fields.push(index);
        }
        Ok(field)
    }

    /// The type of the elements of a field.
    fn element_type(&self, field: &Field) -> Option<BaseType> {
        let words = field.of.trim_end_matches("[]").replace('*', " ");
        let words = words.trim_start_matches("__data_loc").trim_start_matches("__rel_loc");
        self.type_of(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    /// Whether a type and a sign start so many tokens ahead. A name in parentheses is a type if an
    /// operand follows: the texts call no functions by pointers.
    fn is_type(&self, ahead: usize) -> bool {
        let Token::Name(first) = self.ahead(ahead) else { return false };
        if is_word_of_type(first) {
            return true;
        }
        let is_value = first == "REC"
            || self.locals.iter().any(|(local, _)| local == first)
            || VARIABLES.contains(&first.as_str());
        if is_value {
            return false;
        }
        let mut after = ahead.saturating_add(1);
        while *self.ahead(after) == Token::Sign("*") {
            after = after.saturating_add(1);
        }
        let is_pointer = after > ahead.saturating_add(1);
        let is_known = known(&[first.as_str()]).is_some();
        match self.ahead(after) {
            Token::Sign(")") if is_known || is_pointer => true,
            Token::Sign(")") => match self.ahead(after.saturating_add(1)) {
                Token::Name(_) | Token::Number(..) | Token::Text(_) => true,
                Token::Sign("(" | "~" | "!") => self.names.type_of(first).is_some(),
                _ => false,
            },
            // A declaration in a block.
            Token::Name(_) => ahead == 0 && is_known,
            _ => false,
        }
    }

    /// The words of a type, and the number of its `*`.
    fn type_words(&mut self) -> (Vec<String>, usize) {
        let (mut words, mut pointers) = (Vec::new(), 0usize);
        loop {
            match self.peek() {
                // A type has one name, and the name of a variable may follow.
                Token::Name(word)
                    if is_word_of_type(word)
                        || words.iter().all(|before: &String| matches!(&**before, "const" | "volatile" | "__user"))
                        || matches!(words.last().map(String::as_str), Some("struct" | "union" | "enum")) =>
                {
                    if !matches!(&**word, "const" | "volatile" | "__user") {
                        words.push(word.clone());
                    }
                }
                Token::Sign("*") => pointers = pointers.saturating_add(1),
                _ => return (words, pointers),
            }
            self.next += 1;
        }
    }

    fn type_of(&self, words: &[String]) -> Option<BaseType> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        known(&words).or_else(|| {
            let of = self.names.type_of(&words.join(" "))?;
            Some(of.integer.map_or(BaseType::Other(of.size), BaseType::Integer))
        })
    }

    fn type_name(&mut self) -> Result<Type, PrintError> {
        let offset = self.offset();
        let (words, pointers) = self.type_words();
        let named = self.type_of(&words);
        Type::new(named, pointers).ok_or_else(|| PrintError::UnknownType { offset, name: words.join(" ") })
    }
}

/// `&a[b]`, `&REC->field`.
fn address(inner: Expression, offset: usize) -> Result<Expression, PrintError> {
    match (&inner.node, inner.of) {
        (Node::Place(_), _) => Ok(inner),
        (Node::Load { offset, of }, _) => {
            let place = Place::Fixed { offset: *offset, size: of.size.into() };
            Ok(Expression::new(Node::Place(place), Type::Pointer { of: Some(*of), stride: of.size.into() }))
        }
        (Node::Element { place, index, of }, _) => {
            let weight = Expression::weigh(&[&inner], offset)?;
            let stride = of.size.into();
            let node = Node::Skip { place: place.clone(), count: index.clone(), stride };
            Ok(Expression::weighing(node, Type::Pointer { of: Some(*of), stride }, weight))
        }
        _ => Err(PrintError::NotInRecord { offset }),
    }
}
