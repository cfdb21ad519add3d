//! The tokens of a filter.

use std::ops::Range;
use std::sync::Arc;

use super::error::{FilterError, FilterErrorKind, Quote};
use crate::plan::Operator;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Or,
    And,
    Not,
    Open,
    Close,
    Compare(Operator),
    /// The name of an argument, without white space.
    Name(Arc<str>),
    Integer(i128),
    Text(Vec<u8>),
}

/// The text of an argument without white space, which is how names are compared.
#[must_use]
pub fn normalized(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The tokens of a text with their byte ranges.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, FilterError> {
    let mut reader = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        reader.skip_space();
        let start = reader.at;
        let Some(first) = reader.peek() else { return Ok(tokens) };
        let token = reader.token(first)?;
        tokens.push((token, start..reader.at));
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn eat(&mut self, what: &str) -> bool {
        let is_there = self.rest().starts_with(what);
        if is_there {
            self.at += what.len();
        }
        is_there
    }

    fn skip_space(&mut self) {
        self.skip(char::is_whitespace);
    }

    fn skip(&mut self, is_part: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&is_part) {
            self.next();
        }
    }

    fn error(&self, start: usize, kind: FilterErrorKind) -> FilterError {
        let text = self.text.get(start..self.at).unwrap_or_default();
        FilterError { range: start..start + text.trim_end().len(), kind }
    }

    fn token(&mut self, first: char) -> Result<Token, FilterError> {
        let start = self.at;
        const FIXED: [(&str, Token); 11] = [
            ("||", Token::Or),
            ("&&", Token::And),
            ("==", Token::Compare(Operator::Equal)),
            ("!=", Token::Compare(Operator::NotEqual)),
            ("<=", Token::Compare(Operator::LessEqual)),
            (">=", Token::Compare(Operator::GreaterEqual)),
            ("<", Token::Compare(Operator::Less)),
            (">", Token::Compare(Operator::Greater)),
            ("!", Token::Not),
            ("(", Token::Open),
            (")", Token::Close),
        ];
        if let Some((_, token)) = FIXED.into_iter().find(|(text, _)| self.eat(text)) {
            return Ok(token);
        }
        match first {
            '=' => {
                self.next();
                Err(self.error(start, FilterErrorKind::Assignment))
            }
            '|' => {
                self.next();
                Err(self.error(start, FilterErrorKind::Single('|')))
            }
            '"' => self.text().map(Token::Text),
            '\'' => self.character().map(Token::Integer),
            '`' => self.quoted_name(),
            '0'..='9' | '-' | '+' => self.integer().map(Token::Integer),
            _ if is_name_start(first) || matches!(first, '*' | '&') => self.name(),
            _ => {
                self.next();
                Err(self.error(start, FilterErrorKind::Character(first)))
            }
        }
    }

    /// A number in decimal or hexadecimal, with `_` between digits.
    fn integer(&mut self) -> Result<i128, FilterError> {
        let start = self.at;
        let is_negative = match self.peek() {
            Some('-') => {
                self.next();
                self.skip_space();
                true
            }
            Some('+') => {
                self.next();
                false
            }
            _ => false,
        };
        let digits_start = self.at;
        self.skip(|c| c.is_alphanumeric() || c == '_');
        let digits = self.text.get(digits_start..self.at).unwrap_or_default();
        if self.peek() == Some('.') {
            self.next();
            self.skip(char::is_alphanumeric);
            return Err(self.error(start, FilterErrorKind::Fraction));
        }
        let plain: String = digits.chars().filter(|c| *c != '_').collect();
        let hexadecimal = plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X"));
        if hexadecimal.is_none()
            && plain.len() > 1
            && plain.starts_with('0')
            && plain.bytes().all(|b| b.is_ascii_digit())
        {
            return Err(self.error(start, FilterErrorKind::LeadingZero));
        }
        let (digits, radix) = hexadecimal.map_or((plain.as_str(), 10), |digits| (digits, 16));
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            return Err(self.error(start, FilterErrorKind::Number));
        }
        let magnitude = u64::from_str_radix(digits, radix).map_err(|_| self.error(start, FilterErrorKind::TooLarge))?;
        let value = if is_negative { -i128::from(magnitude) } else { i128::from(magnitude) };
        match value < i128::from(i64::MIN) {
            true => Err(self.error(start, FilterErrorKind::TooLarge)),
            false => Ok(value),
        }
    }

    fn text(&mut self) -> Result<Vec<u8>, FilterError> {
        let start = self.at;
        self.next();
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                None => return Err(self.error(start, FilterErrorKind::Unterminated(Quote::Text))),
                Some('"') => {
                    self.next();
                    return Ok(bytes);
                }
                Some('\\') => match self.escape()? {
                    Escape::Byte(byte) => bytes.push(byte),
                    Escape::Character(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                },
                Some(c) => {
                    self.next();
                    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
    }

    fn character(&mut self) -> Result<i128, FilterError> {
        let start = self.at;
        self.next();
        let value = match self.peek() {
            None => return Err(self.error(start, FilterErrorKind::Unterminated(Quote::Character))),
            Some('\'') => {
                self.next();
                return Err(self.error(start, FilterErrorKind::OneCharacter));
            }
            Some('\\') => match self.escape()? {
                Escape::Byte(byte) => i128::from(byte),
                Escape::Character(c) => i128::from(u32::from(c)),
            },
            Some(c) => {
                self.next();
                i128::from(u32::from(c))
            }
        };
        if self.eat("'") {
            return Ok(value);
        }
        self.skip(|c| c != '\'');
        let kind = match self.eat("'") {
            true => FilterErrorKind::OneCharacter,
            false => FilterErrorKind::Unterminated(Quote::Character),
        };
        Err(self.error(start, kind))
    }

    fn escape(&mut self) -> Result<Escape, FilterError> {
        let start = self.at;
        self.next();
        let byte = match self.next() {
            Some('n') => b'\n',
            Some('t') => b'\t',
            Some('r') => b'\r',
            Some('0') => 0,
            Some('a') => 7,
            Some(c @ ('\\' | '"' | '\'')) => c as u8,
            Some('x') => {
                let digits = self.rest().get(..2).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                let byte = byte.ok_or_else(|| self.error(start, FilterErrorKind::Escape))?;
                self.at += 2;
                byte
            }
            Some('u') if self.eat("{") => {
                let from = self.at;
                self.skip(|c| c.is_ascii_hexdigit());
                let value = u32::from_str_radix(self.text.get(from..self.at).unwrap_or_default(), 16).ok();
                let c = value.and_then(char::from_u32).filter(|_| self.eat("}"));
                return c.map(Escape::Character).ok_or_else(|| self.error(start, FilterErrorKind::Escape));
            }
            _ => return Err(self.error(start, FilterErrorKind::Escape)),
        };
        Ok(Escape::Byte(byte))
    }

    fn quoted_name(&mut self) -> Result<Token, FilterError> {
        let start = self.at;
        self.next();
        let from = self.at;
        self.skip(|c| c != '`');
        let name = normalized(self.text.get(from..self.at).unwrap_or_default());
        if !self.eat("`") {
            return Err(self.error(start, FilterErrorKind::Unterminated(Quote::Name)));
        }
        match name.is_empty() {
            true => Err(self.error(start, FilterErrorKind::NoName)),
            false => Ok(Token::Name(name.into())),
        }
    }

    /// A name such as `tag`, `self.depth`, `req->tag`, `ns::x`, `*p`, `&x` or `a[i + 1]`.
    fn name(&mut self) -> Result<Token, FilterError> {
        let start = self.at;
        while self.eat("*") || self.eat("&") {
            self.skip_space();
        }
        if !self.peek().is_some_and(is_name_start) {
            let kind = if self.text.get(start..self.at).map(str::trim_end) == Some("&") {
                FilterErrorKind::Single('&')
            } else {
                FilterErrorKind::NoName
            };
            return Err(self.error(start, kind));
        }
        self.skip(is_name_part);
        loop {
            let end = self.at;
            self.skip_space();
            if self.eat("[") {
                self.index(start)?;
            } else if self.eat("->") || self.eat(".") || self.eat("::") {
                self.skip_space();
                let from = self.at;
                self.skip(is_name_part);
                if self.at == from {
                    return Err(self.error(start, FilterErrorKind::NoName));
                }
            } else {
                self.at = end;
                let name = normalized(self.text.get(start..end).unwrap_or_default());
                return Ok(Token::Name(name.into()));
            }
        }
    }

    /// The rest of an index, after its `[`.
    fn index(&mut self, start: usize) -> Result<(), FilterError> {
        let mut depth = 1usize;
        while depth > 0 {
            match self.next() {
                None => return Err(self.error(start, FilterErrorKind::Unterminated(Quote::Index))),
                Some('[') => depth += 1,
                Some(']') => depth -= 1,
                Some(_) => {}
            }
        }
        Ok(())
    }
}

enum Escape {
    Byte(u8),
    Character(char),
}

fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
