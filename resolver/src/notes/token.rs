//! The tokens of a provider file, without comments and directives. A `#define` of a word is kept,
//! because such files name types so.

/// A provider file that cannot be read. `Display` gives line, column and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub problem: ProviderProblem,
}

/// What is wrong with a provider file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProviderProblem {
    /// Something else must be here.
    Expected {
        /// What, for people: `;`, or `the name of a probe`.
        what: &'static str,
        /// What is here; `None` at the end of the file.
        instead: Option<Box<str>>,
    },
    /// A comment does not end.
    OpenComment,
    /// A character that no token has.
    Character {
        /// It, or `\xNN` for a byte that is not ASCII.
        character: Box<str>,
    },
    /// The parameters of a probe end with `...`.
    Ellipsis,
    /// There is no provider in the file.
    NoProvider,
}

/// A token, and where it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProviderToken<'t> {
    pub(super) text: &'t str,
    pub(super) line: u32,
    pub(super) column: u32,
}

impl ProviderToken<'_> {
    /// Whether it is a name, a keyword or a number.
    pub(super) fn is_word(&self) -> bool {
        self.text.bytes().next().is_some_and(is_word_byte)
    }
}

/// The tokens of a file.
#[derive(Debug, Default)]
pub(super) struct ProviderTokens<'t> {
    pub(super) tokens: Vec<ProviderToken<'t>>,
    /// The name and the tokens of each `#define` of a word, in their order.
    pub(super) defines: Vec<(&'t str, Vec<ProviderToken<'t>>)>,
    /// Where the file ends.
    pub(super) end: (u32, u32),
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

struct TokenReader<'t> {
    rest: &'t [u8],
    line: u32,
    column: u32,
}

impl<'t> TokenReader<'t> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn starts_with(&self, text: &[u8]) -> bool {
        self.rest.starts_with(text)
    }

    /// Takes some bytes, and counts the lines and columns in them.
    fn take(&mut self, count: usize) -> &'t [u8] {
        let (taken, rest) = self.rest.split_at_checked(count).unwrap_or((self.rest, &[]));
        self.rest = rest;
        for byte in taken {
            match byte {
                b'\n' => (self.line, self.column) = (self.line.saturating_add(1), 1),
                // The bytes of one character but the first.
                0x80..0xc0 => {}
                _ => self.column = self.column.saturating_add(1),
            }
        }
        taken
    }

    fn error(&self, problem: ProviderProblem) -> ProviderError {
        ProviderError { line: self.line, column: self.column, problem }
    }

    /// Takes blanks and comments, up to the end of the line if `is_line`.
    fn skip(&mut self, is_line: bool) -> Result<(), ProviderError> {
        loop {
            match self.peek() {
                Some(b'\n') if is_line => return Ok(()),
                Some(byte) if byte.is_ascii_whitespace() => {
                    self.take(1);
                }
                Some(b'\\') if self.starts_with(b"\\\n") => {
                    self.take(2);
                }
                Some(b'/') if self.starts_with(b"/*") => {
                    let open = self.error(ProviderProblem::OpenComment);
                    let end = self.rest.windows(2).skip(2).position(|two| two == b"*/").ok_or(open)?;
                    self.take(end.saturating_add(4));
                }
                Some(b'/') if self.starts_with(b"//") => {
                    let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
                    self.take(end);
                }
                _ => return Ok(()),
            }
        }
    }

    /// The next token, of which there is one.
    fn token(&mut self) -> Result<ProviderToken<'t>, ProviderError> {
        let (line, column) = (self.line, self.column);
        let words = self.rest.iter().take_while(|byte| is_word_byte(**byte)).count();
        let first = self.peek().unwrap_or_default();
        let size = match first {
            _ if words > 0 => words,
            b'.' if self.starts_with(b"...") => 3,
            b'{' | b'}' | b'(' | b')' | b'[' | b']' | b';' | b',' | b':' | b'*' | b'-' | b'=' | b'.' | b'&' => 1,
            b'"' => match self.rest.iter().skip(1).position(|byte| matches!(byte, b'"' | b'\n')) {
                Some(end) => end.saturating_add(2),
                None => self.rest.len(),
            },
            _ => {
                let character = match first.is_ascii_graphic() {
                    true => char::from(first).to_string(),
                    false => format!("\\x{first:02x}"),
                };
                return Err(self.error(ProviderProblem::Character { character: character.into() }));
            }
        };
        let text = std::str::from_utf8(self.take(size)).unwrap_or("\"\"");
        Ok(ProviderToken { text, line, column })
    }

    /// The directive at a `#`: the name and the tokens of a `#define`, or nothing.
    fn directive(&mut self) -> Option<(&'t str, Vec<ProviderToken<'t>>)> {
        self.take(1);
        let line = self.line;
        let mut tokens = Vec::new();
        // A directive of another kind may have any characters, and is not looked at.
        while self.skip(true).is_ok() && self.peek().is_some_and(|byte| byte != b'\n') {
            match self.token() {
                Ok(token) => tokens.push(token),
                Err(_) => break,
            }
        }
        if self.line == line || self.peek().is_some_and(|byte| byte != b'\n') {
            let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
            self.take(end);
        }
        let mut tokens = tokens.into_iter();
        let is_define = tokens.next().is_some_and(|token| token.text == "define");
        let name = tokens.next().filter(|token| is_define && token.is_word())?;
        let tokens: Vec<_> = tokens.collect();
        // `#define NAME(a)` is a macro with parameters.
        tokens.first().is_some_and(ProviderToken::is_word).then_some((name.text, tokens))
    }
}

/// Reads the tokens of a provider file.
///
/// # Errors
///
/// A comment does not end, or a character is none of the grammar.
pub(super) fn tokens(text: &[u8]) -> Result<ProviderTokens<'_>, ProviderError> {
    let mut reader = TokenReader { rest: text, line: 1, column: 1 };
    let mut found = ProviderTokens::default();
    loop {
        reader.skip(false)?;
        match reader.peek() {
            None => break,
            Some(b'#') => found.defines.extend(reader.directive()),
            Some(_) => found.tokens.push(reader.token()?),
        }
    }
    found.end = (reader.line, reader.column);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        tokens(text.as_bytes()).unwrap().tokens.iter().map(|token| token.text.to_owned()).collect()
    }

    #[test]
    fn comments_and_directives_are_no_tokens() {
        let text = "/* a */ provider x { // b\n# file: src/a.c'\n#pragma D attributes \\\n  y\nprobe a(int); };";
        assert_eq!(texts(text), ["provider", "x", "{", "probe", "a", "(", "int", ")", ";", "}", ";"]);
        let found =
            tokens(b"#define Oid unsigned int /* one */\n#define F(x) x\n#define EMPTY\n#define A\\\n  long\n;")
                .unwrap();
        let defined: Vec<(&str, Vec<&str>)> =
            found.defines.iter().map(|(name, of)| (*name, of.iter().map(|token| token.text).collect())).collect();
        // `F(x)` starts with a parenthesis.
        assert_eq!(defined, [("Oid", vec!["unsigned", "int"]), ("A", vec!["long"])]);
        assert_eq!(found.tokens, [ProviderToken { text: ";", line: 6, column: 1 }]);
    }

    #[test]
    fn errors_have_a_line_and_a_column() {
        let error = |text: &[u8]| tokens(text).unwrap_err();
        let character = |character: &str| ProviderProblem::Character { character: character.into() };
        assert_eq!(error(b"a\n  ?"), ProviderError { line: 2, column: 3, problem: character("?") });
        assert_eq!(error("/* \u{e9} */ \u{e9}".as_bytes()).column, 9);
        assert_eq!(error(b"\xff").problem, character("\\xff"));
        assert_eq!(error(b"x /* y\n"), ProviderError { line: 1, column: 3, problem: ProviderProblem::OpenComment });
        assert_eq!(error(b"/*/").problem, ProviderProblem::OpenComment);
    }
}
