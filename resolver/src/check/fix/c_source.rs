//! Finds markers in a C or C++ file, with a lexer that handles comments, strings, raw strings,
//! directives and continued lines.
//!
//! The lexer expands no macros. The source need not be UTF-8.

use std::ops::Range;
use std::sync::Arc;

use super::change::{Edits, FixRefusal, Replacement};
use super::tokens::{ArgumentTokens, LineCounter, MacroCall, MarkerTokens};
use crate::text;

/// The macro of a ghost.
const GHOST: &str = "simple_mark_ghost";

/// Which instructions of its own a macro emits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchoring {
    None,
    Plain,
    Fast,
}

/// The macros of `simple_marker.h`, and whether each keeps and anchors.
const MACROS: [(&str, bool, Anchoring); 8] = [
    ("simple_mark", false, Anchoring::None),
    ("trace_simple", false, Anchoring::None),
    (GHOST, false, Anchoring::None),
    ("simple_mark_anchor", false, Anchoring::Plain),
    ("simple_mark_anchor_fast", false, Anchoring::Fast),
    ("simple_mark_keep", true, Anchoring::None),
    ("simple_mark_keep_anchor", true, Anchoring::Plain),
    ("simple_mark_keep_anchor_fast", true, Anchoring::Fast),
];

/// The number of arguments that `simple_mark_keep` takes.
const MOST_KEPT: usize = 8;

/// All calls of these macros in a file.
pub(super) fn calls(bytes: &[u8]) -> Vec<MacroCall> {
    let tokens = Lexer::new(bytes).tokens();
    let mut lines = LineCounter::new(bytes);
    let mut calls = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let name = bytes.get(token.range.clone()).unwrap_or_default();
        let Some((name, is_kept, _)) = MACROS.iter().find(|(known, _, _)| known.as_bytes() == name) else { continue };
        if token.kind != TokenKind::Word || token.is_defined {
            continue;
        }
        let Some((inner, close)) = parenthesised(bytes, &tokens, index.saturating_add(1)) else { continue };
        let before = bytes.get(..token.range.start).unwrap_or_default();
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at.saturating_add(1));
        let column = text::from_bytes(before.get(start..).unwrap_or_default()).chars().count();
        let column = u32::try_from(column.saturating_add(1)).unwrap_or(u32::MAX);
        let line = lines.line(token.range.start);
        let last = lines.line(close.range.end);
        calls.push(MacroCall {
            name: (*name).to_owned(),
            name_range: token.range.clone(),
            range: token.range.start..close.range.end,
            lines: (line, last),
            column,
            outermost: (line, column),
            is_marker: true,
            definition: token.definition.clone(),
            marker: marker(bytes, inner, *is_kept),
        });
    }
    calls
}

/// Renames the macro to the one that makes the edits.
pub(super) fn replacements(
    call: &MacroCall,
    tokens: &MarkerTokens,
    edits: &Edits,
) -> Result<Vec<Replacement>, FixRefusal> {
    let (is_kept, anchoring) = MACROS
        .iter()
        .find(|(name, _, _)| *name == call.name)
        .map_or((false, Anchoring::None), |(_, keep, anchor)| (*keep, *anchor));
    let keep = is_kept || !edits.keep.is_empty();
    let anchor = if edits.anchor && anchoring == Anchoring::None { Anchoring::Plain } else { anchoring };
    if (keep, anchor) == (is_kept, anchoring) && !(edits.plain && call.name == GHOST) {
        return Ok(Vec::new());
    }
    if keep && !is_kept {
        let count = tokens.arguments.len();
        if count > MOST_KEPT {
            return Err(FixRefusal::TooMany { count });
        }
        if let Some(argument) = tokens.arguments.iter().find(|argument| !argument.is_place) {
            return Err(FixRefusal::WouldEvaluate { argument: argument.text.as_str().into() });
        }
    }
    // The first of those that do the same is the one to write.
    let wanted = MACROS.iter().find(|(_, keeps, anchors)| (*keeps, *anchors) == (keep, anchor));
    let text = wanted.map(|(name, _, _)| (*name).to_owned()).unwrap_or_default();
    Ok(vec![Replacement { range: call.name_range.clone(), text }])
}

/// The tokens inside the parenthesis at `open`, and the closing parenthesis.
fn parenthesised<'t>(bytes: &[u8], tokens: &'t [Token], open: usize) -> Option<(&'t [Token], &'t Token)> {
    let is = |token: &Token, byte: u8| token.is(bytes, byte);
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if is(token, b'(') {
            depth = depth.saturating_add(1);
        } else if is(token, b')') {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            return Some((tokens.get(open.saturating_add(1)..index)?, token));
        }
    }
    None
}

/// The contents of a call, if they parse as a marker.
fn marker(bytes: &[u8], tokens: &[Token], is_kept: bool) -> Option<MarkerTokens> {
    let mut elements = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (index, token) in tokens.iter().enumerate() {
        // Brackets and braces do not protect commas in macro arguments.
        match token.byte(bytes) {
            Some(b'(') => depth = depth.saturating_add(1),
            Some(b')') => depth = depth.saturating_sub(1),
            Some(b',') if depth == 0 => {
                elements.push(tokens.get(start..index)?);
                start = index.saturating_add(1);
            }
            _ => {}
        }
    }
    elements.push(tokens.get(start..)?);
    let mut elements = elements.into_iter();
    let name = text_of(bytes, elements.next().filter(|name| !name.is_empty())?);
    elements.next()?;
    let argument = |element: &[Token]| -> Option<ArgumentTokens> {
        Some(ArgumentTokens {
            range: element.first()?.range.start..element.last()?.range.end,
            text: text_of(bytes, element),
            is_kept,
            is_place: is_place(bytes, element),
            keep: None,
            has_width: false,
        })
    };
    let arguments = elements.map(argument).collect::<Option<Vec<_>>>()?;
    let end = tokens.last()?.range.end;
    let separator = " ".to_owned();
    Some(MarkerTokens {
        name,
        format: None,
        placed: None,
        arguments,
        options: None,
        end,
        has_comma: false,
        comments_end: end,
        separator,
    })
}

/// The tokens as the preprocessor's `#` operator writes them, without spaces.
fn text_of(bytes: &[u8], tokens: &[Token]) -> String {
    tokens.iter().map(|token| text::from_bytes(bytes.get(token.range.clone()).unwrap_or_default())).collect()
}

/// Whether reading an argument has no side effect: it calls nothing and stores nothing.
fn is_place(bytes: &[u8], tokens: &[Token]) -> bool {
    let mut before: Option<&Token> = None;
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index.saturating_add(1));
        let is_next = |byte: u8| next.is_some_and(|next| next.is(bytes, byte) && next.range.start == token.range.end);
        let is_after =
            |byte: u8| before.is_some_and(|before| before.is(bytes, byte) && before.range.end == token.range.start);
        match token.byte(bytes) {
            Some(b'(') if before.is_some_and(|before| before.is_callee(bytes)) => return false,
            Some(sign @ (b'+' | b'-')) if is_next(sign) => return false,
            // An assignment, not a comparison.
            Some(b'=') if !is_next(b'=') && ![b'=', b'!', b'<', b'>'].iter().any(|sign| is_after(*sign)) => {
                return false;
            }
            Some(b'{') => return false,
            _ => {}
        }
        before = Some(token);
    }
    true
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenKind {
    Word,
    Number,
    Text,
    /// One character.
    Sign,
}

#[derive(Clone, Debug)]
struct Token {
    kind: TokenKind,
    range: Range<usize>,
    /// The macro whose definition contains it.
    definition: Option<Arc<str>>,
    /// Whether it is the name in a `#define`.
    is_defined: bool,
}

impl Token {
    /// The character of a one-character token.
    fn byte(&self, bytes: &[u8]) -> Option<u8> {
        bytes.get(self.range.start).copied().filter(|_| self.kind == TokenKind::Sign)
    }

    fn is(&self, bytes: &[u8], byte: u8) -> bool {
        self.byte(bytes) == Some(byte)
    }

    /// Whether a parenthesis after it would call it.
    fn is_callee(&self, bytes: &[u8]) -> bool {
        match self.kind {
            TokenKind::Word => !matches!(bytes.get(self.range.clone()), Some(b"sizeof" | b"_Alignof" | b"alignof")),
            // This also matches a cast. It treats everything that looks like a call as a call.
            TokenKind::Sign => matches!(self.byte(bytes), Some(b')' | b']')),
            TokenKind::Number | TokenKind::Text => false,
        }
    }
}

struct Lexer<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Whether the line has only had whitespace so far.
    starts_line: bool,
    /// The state of the directive on this line.
    directive: Directive,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Directive {
    None,
    /// After `#`.
    Hash,
    /// After `#define`.
    Define,
    /// In the definition of a macro.
    Definition(Arc<str>),
    /// In another directive.
    Other,
}

impl<'b> Lexer<'b> {
    fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, starts_line: true, directive: Directive::None }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at.checked_add(ahead)?).copied()
    }

    fn skip(&mut self, count: usize) {
        self.at = self.at.saturating_add(count);
    }

    fn tokens(mut self) -> Vec<Token> {
        let mut tokens = Vec::new();
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' => {
                    self.skip(1);
                    self.starts_line = true;
                    self.directive = Directive::None;
                }
                // A continued line.
                b'\\' if self.peek(1) == Some(b'\n') => self.skip(2),
                b'\\' if self.peek(1) == Some(b'\r') && self.peek(2) == Some(b'\n') => self.skip(3),
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.skip(1),
                b'/' if self.peek(1) == Some(b'/') => self.line_comment(),
                b'/' if self.peek(1) == Some(b'*') => self.block_comment(),
                b'#' if self.starts_line => {
                    self.skip(1);
                    self.starts_line = false;
                    self.directive = Directive::Hash;
                }
                _ => {
                    self.starts_line = false;
                    let token = self.token(byte);
                    tokens.extend(token);
                }
            }
        }
        tokens
    }

    fn token(&mut self, first: u8) -> Option<Token> {
        let start = self.at;
        let kind = match first {
            b'"' | b'\'' => {
                self.quoted(first);
                TokenKind::Text
            }
            b'0'..=b'9' => {
                self.number();
                TokenKind::Number
            }
            _ if is_word(first) => {
                while self.peek(0).is_some_and(is_word) {
                    self.skip(1);
                }
                let word = self.bytes.get(start..self.at).unwrap_or_default();
                match self.peek(0) {
                    Some(b'"') if matches!(word, b"R" | b"LR" | b"uR" | b"UR" | b"u8R") => {
                        self.raw_string();
                        TokenKind::Text
                    }
                    Some(quote @ (b'"' | b'\'')) if matches!(word, b"L" | b"u" | b"U" | b"u8") => {
                        self.quoted(quote);
                        TokenKind::Text
                    }
                    _ => TokenKind::Word,
                }
            }
            _ => {
                self.skip(1);
                TokenKind::Sign
            }
        };
        let range = start..self.at;
        let word = self.bytes.get(range.clone()).unwrap_or_default();
        let mut is_defined = false;
        match &self.directive {
            Directive::Hash => {
                self.directive = if word == b"define" { Directive::Define } else { Directive::Other };
                return None;
            }
            Directive::Define => {
                self.directive = Directive::Definition(text::from_bytes(word).into());
                is_defined = true;
            }
            Directive::Other => return None,
            Directive::None | Directive::Definition(_) => {}
        }
        let definition = match &self.directive {
            Directive::Definition(name) => Some(Arc::clone(name)),
            _ => None,
        };
        Some(Token { kind, range, definition, is_defined })
    }

    /// Reads to the end of the line. A backslash continues the line.
    fn line_comment(&mut self) {
        while let Some(byte) = self.peek(0) {
            let continues =
                byte == b'\\' && matches!((self.peek(1), self.peek(2)), (Some(b'\n'), _) | (Some(b'\r'), Some(b'\n')));
            match byte {
                b'\n' => return,
                _ if continues => self.skip(if self.peek(1) == Some(b'\n') { 2 } else { 3 }),
                _ => self.skip(1),
            }
        }
    }

    fn block_comment(&mut self) {
        self.skip(2);
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        match rest.windows(2).position(|two| two == b"*/") {
            Some(at) => self.skip(at.saturating_add(2)),
            None => self.at = self.bytes.len(),
        }
    }

    /// A string or character literal. An unterminated one ends with its line.
    fn quoted(&mut self, quote: u8) {
        self.skip(1);
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' if self.peek(1) == Some(b'\r') => self.skip(3),
                b'\\' => self.skip(2),
                b'\n' => break,
                _ => {
                    self.skip(1);
                    if byte == quote {
                        break;
                    }
                }
            }
        }
        self.at = self.at.min(self.bytes.len());
    }

    /// Reads `R"delimiter( .. )delimiter"`, starting at the quote.
    fn raw_string(&mut self) {
        self.skip(1);
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some(open) = rest.iter().position(|byte| *byte == b'(') else { return };
        let delimiter = rest.get(..open).unwrap_or_default();
        let end = [b")".as_slice(), delimiter, b"\""].concat();
        match rest.windows(end.len()).position(|window| window == end) {
            Some(at) => self.skip(at.saturating_add(end.len())),
            None => self.at = self.bytes.len(),
        }
    }

    /// A preprocessing number: digits, letters, points, exponent signs, and C++ digit separators.
    fn number(&mut self) {
        let mut before = 0;
        while let Some(byte) = self.peek(0) {
            let is_sign = matches!(byte, b'+' | b'-') && matches!(before, b'e' | b'E' | b'p' | b'P');
            let is_separator = byte == b'\'' && self.peek(1).is_some_and(is_word);
            if !(is_word(byte) || byte == b'.' || is_sign || is_separator) {
                return;
            }
            before = byte;
            self.skip(1);
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte == b'$' || byte.is_ascii_alphanumeric() || byte >= 0x80
}
