//! Inserts a ghost at every fourth statement of C.
//!
//! It knows comments, literals, brackets and directives, and no declarations. So it leaves out a place
//! if the next word may belong to the statement before it.

use super::EVERY;

/// The text with calls of `GHOST`, which name parameters of the function. `first` is the number of the
/// first ghost. Also returns the number of ghosts.
pub(super) fn insert(text: &str, name: &str, first: usize) -> (String, usize) {
    let tokens = tokens(text);
    let mut reader = Reader::default();
    let mut marked = String::new();
    let (mut from, mut ghosts) = (0, 0);
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index + 1..).unwrap_or_default().iter().find(|next| !next.text.starts_with('#'));
        if !reader.read(token) || next.is_none_or(|next| matches!(next.text, "else" | "while")) {
            continue;
        }
        let end = token.offset + token.text.len();
        marked.push_str(&text[from..end]);
        let parameters = &reader.parameters;
        let format = parameters.iter().map(|(conversion, _)| *conversion).collect::<String>();
        let arguments = parameters.iter().map(|(_, parameter)| format!(", {parameter}")).collect::<String>();
        marked.push_str(&format!(" GHOST({name}:n{}, \"{format}\"{arguments})", first + ghosts));
        from = end;
        ghosts += 1;
        reader.state.statements = 0;
    }
    marked.push_str(&text[from..]);
    (marked, ghosts)
}

/// A word, a literal, a character or a directive.
struct Token<'a> {
    offset: usize,
    text: &'a str,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut tokens = Vec::new();
    let (mut at, mut is_line_start) = (0, true);
    while let Some(&byte) = bytes.get(at) {
        let rest = &text[at..];
        let length = match byte {
            b'#' if is_line_start => directive(rest),
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            b'"' | b'\'' => literal(rest.as_bytes()),
            _ if is_word(byte) => rest.bytes().position(|byte| !is_word(byte)).unwrap_or(rest.len()),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        let is_space = byte.is_ascii_whitespace();
        is_line_start = byte == b'\n' || (is_line_start && is_space);
        if !is_space && !rest.starts_with("//") && !rest.starts_with("/*") {
            tokens.push(Token { offset: at, text: &rest[..length] });
        }
        at += length;
    }
    tokens
}

/// The length of a directive with its continued lines.
fn directive(text: &str) -> usize {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        end += line.len();
        if !line.trim_end().ends_with('\\') {
            // A comment may go on behind the line.
            let is_open = line.rfind("/*").is_some_and(|start| !line[start..].contains("*/"));
            return if is_open { text[end..].find("*/").map_or(text.len(), |more| end + more + 2) } else { end - 1 };
        }
    }
    end
}

fn literal(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        at += if byte == b'\\' { 2 } else { 1 };
        if Some(&byte) == text.first() {
            break;
        }
    }
    at.min(text.len())
}

#[derive(Clone, Copy, PartialEq)]
enum Bracket {
    /// A function body, or a block in one.
    Block,
    /// Members, enumerators or an initialiser.
    List,
    /// `(` or `[`.
    Round,
}

#[derive(Clone, Default)]
struct State {
    open: Vec<Bracket>,
    statements: usize,
    /// Whether the statement is a jump: what stands behind it is not executed.
    is_jump: bool,
}

#[derive(Default)]
struct Reader {
    state: State,
    /// The state at the open `#if`s.
    conditions: Vec<State>,
    last: String,
    /// The words between the last `(` outside of functions and its `)`.
    declared: Vec<String>,
    /// Conversion and name.
    parameters: Vec<(&'static str, String)>,
}

impl Reader {
    /// Whether a ghost can stand behind this token, and is due.
    fn read(&mut self, token: &Token<'_>) -> bool {
        let text = token.text;
        if let Some(directive) = text.strip_prefix('#') {
            self.directive(directive.trim_start());
            return false;
        }
        let starts = matches!(self.last.as_str(), ";" | "{" | "}" | ":" | ")" | "else");
        let mut is_due = false;
        let state = &mut self.state;
        match text {
            "{" => {
                let is_inside = state.open.iter().all(|open| *open == Bracket::Block);
                let is_block = match state.open.is_empty() {
                    true => self.last == ")",
                    false => is_inside && matches!(self.last.as_str(), ")" | "else" | "do" | ";" | "{" | "}" | ":"),
                };
                if is_block && state.open.is_empty() {
                    self.parameters = parameters(&self.declared);
                }
                state.open.push(if is_block { Bracket::Block } else { Bracket::List });
            }
            "(" | "[" => {
                if state.open.is_empty() {
                    self.declared.clear();
                }
                state.open.push(Bracket::Round);
            }
            "}" | ")" | "]" => drop(state.open.pop()),
            ";" => {
                let is_statement = !state.open.is_empty() && state.open.iter().all(|open| *open == Bracket::Block);
                state.statements += usize::from(is_statement);
                is_due = is_statement && state.statements >= EVERY && !state.is_jump;
                state.is_jump = false;
            }
            "return" | "break" | "continue" | "goto" if starts => state.is_jump = true,
            _ => {}
        }
        if self.state.open.first() == Some(&Bracket::Round) {
            self.declared.push(text.to_owned());
        }
        text.clone_into(&mut self.last);
        is_due
    }

    fn directive(&mut self, directive: &str) {
        if directive.starts_with("if") {
            self.conditions.push(self.state.clone());
        } else if directive.starts_with("el") {
            if let Some(state) = self.conditions.last() {
                self.state = state.clone();
            }
        } else if directive.starts_with("endif") {
            self.conditions.pop();
        }
    }
}

/// At most two parameters of a declaration `(type name, ..`.
fn parameters(declared: &[String]) -> Vec<(&'static str, String)> {
    let declared = declared.get(1..).unwrap_or_default();
    let is_plain = |text: &String| text.chars().all(|it| it.is_ascii_alphanumeric() || "_*".contains(it));
    let all = declared.split(|text| text == ",").filter_map(|parameter| {
        let (name, of) = parameter.split_last()?;
        if of.is_empty() || !parameter.iter().all(is_plain) || name == "*" {
            return None;
        }
        Some((if of.iter().any(|text| text == "*") { "%p" } else { "%d" }, name.clone()))
    });
    all.take(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fourth_statement_has_a_ghost() {
        let text = "struct s { int a; int b; int c; int d; };\n#define M(x) do { a; b; c; \\\n d; } while (0)\n\
                    int f(int a, const char *b, int c[2])\n{ int x[] = {1, 2}; for (i = 0; i < 3; i++) a++; b; \"}\";\n\
                    a; b; c; if (a) d; else e;\n#if A\nif (a) {\n#else\nif (b) {\n#endif\nf; g; h; /* ; */ return 1; } i; }\n";
        let marked = text
            .replace("\"}\";", "\"}\"; GHOST(c:n0, \"%d%p\", a, b)")
            .replace("else e;", "else e; GHOST(c:n1, \"%d%p\", a, b)")
            .replace("} i;", "} i; GHOST(c:n2, \"%d%p\", a, b)");
        assert_eq!(insert(text, "c", 0), (marked, 3));
    }
}
