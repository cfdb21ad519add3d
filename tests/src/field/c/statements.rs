//! The lines of a C or C++ source where a statement begins, so that a marker can stand before it.
//!
//! It reads tokens, not the language: a line counts if the token before it ends a statement, it is
//! in a block of code and outside of parentheses, and no directive of the preprocessor lies between.
//! Whether the line is in a function, and which variables are in scope, the debug information says.

/// What a brace is around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Brace {
    /// Statements or declarations.
    Block,
    /// Members of an initialiser, a structure or an enumeration.
    Other,
}

/// Where a reader of tokens is.
#[derive(Clone, Debug, Default)]
struct State {
    braces: Vec<Brace>,
    parentheses: Vec<usize>,
    /// The token before: a word, or one character.
    last: String,
    /// Whether a word since the last statement makes the next brace one of members.
    is_type: bool,
    /// Whether a directive follows the token before.
    is_interrupted: bool,
}

impl State {
    fn token(&mut self, token: &str) {
        match token {
            "{" => {
                let is_block = !self.is_type
                    && matches!(
                        &*self.last,
                        ")" | "{" | "}" | ";" | "else" | "do" | ":" | "" | "noexcept" | "const" | "override"
                    );
                self.braces.push(if is_block { Brace::Block } else { Brace::Other });
                self.parentheses.push(0);
                self.is_type = false;
            }
            "}" => {
                self.braces.pop();
                self.parentheses.pop();
                self.is_type = false;
            }
            "(" | "[" => {
                if let Some(depth) = self.parentheses.last_mut() {
                    *depth += 1;
                }
                // A function that returns a structure.
                self.is_type = false;
            }
            ")" | "]" => {
                if let Some(depth) = self.parentheses.last_mut() {
                    *depth = depth.saturating_sub(1);
                }
            }
            ";" => self.is_type = false,
            "struct" | "union" | "enum" | "class" => self.is_type = true,
            _ => {}
        }
        token.clone_into(&mut self.last);
        self.is_interrupted = false;
    }

    /// Whether a statement may begin here, with this line.
    fn is_statement(&self, line: &str) -> bool {
        let begins = |word: &str| {
            line.strip_prefix(word)
                .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
        };
        let first = line.chars().next().unwrap_or(';');
        let is_label = || line.trim_end().ends_with(':') && !line.contains('?');
        matches!(&*self.last, ";" | "{" | "}" | "label")
            && !self.is_interrupted
            && self.braces.last() == Some(&Brace::Block)
            && self.parentheses.last() == Some(&0)
            && (first.is_alphabetic() || first == '_' || first == '*' || first == '(' || first == '+')
            && !["case", "default", "else", "catch"].into_iter().any(begins)
            && !(self.last == "}" && begins("while"))
            && !is_label()
    }
}

/// The numbers of these lines, from 1.
#[must_use]
pub(super) fn of_c(text: &str) -> Vec<u32> {
    let (mut found, mut state) = (Vec::new(), State::default());
    let mut conditions: Vec<State> = Vec::new();
    let (mut in_comment, mut in_directive) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim();
        let is_directive = in_directive || (!in_comment && trimmed.starts_with('#'));
        if is_directive {
            if !in_directive {
                directive(trimmed, &mut state, &mut conditions);
            }
            in_directive = trimmed.ends_with('\\');
            state.is_interrupted = true;
            // A comment that begins behind a directive.
            if let Some((_, comment)) = trimmed.rsplit_once("/*") {
                in_comment = !comment.contains("*/");
                in_directive &= !in_comment;
            }
            continue;
        }
        if !in_comment && state.is_statement(trimmed) {
            found.push(number);
        }
        tokens(line, &mut in_comment, &mut state);
        // A label or a case on a line of its own: the statement behind it.
        let code = trimmed.split("/*").next().unwrap_or(trimmed).trim_end();
        if state.last == ":" && is_label(code) {
            state.last = "label".to_owned();
        }
    }
    found
}

/// Whether a line is a label, and not the middle of `a ? b : c`.
fn is_label(code: &str) -> bool {
    let Some(before) = code.strip_suffix(':') else { return false };
    let is_name = |text: &str| text.chars().all(|at| at.is_alphanumeric() || at == '_');
    !code.contains('?') && (code.starts_with("case") || is_name(before.trim_end()))
}

/// Each branch of a condition begins as the first one.
fn directive(line: &str, state: &mut State, conditions: &mut Vec<State>) {
    let word = line.trim_start_matches('#').trim_start();
    if word.starts_with("if") {
        conditions.push(state.clone());
    } else if word.starts_with("el") {
        if let Some(before) = conditions.last() {
            *state = before.clone();
        }
    } else if word.starts_with("endif") {
        conditions.pop();
    }
}

fn tokens(line: &str, in_comment: &mut bool, state: &mut State) {
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        if *in_comment {
            let Some((_, behind)) = rest.split_once("*/") else { return };
            *in_comment = false;
            rest = behind;
        } else if rest.starts_with("//") {
            return;
        } else if rest.starts_with("/*") {
            *in_comment = true;
            rest = &rest[2..];
        } else if next == '"' || next == '\'' {
            rest = behind_literal(&rest[1..], next);
            state.token("literal");
        } else if next.is_alphanumeric() || next == '_' {
            let end = rest.find(|at: char| !at.is_alphanumeric() && at != '_').unwrap_or(rest.len());
            // A digit separator of C++ is part of a number.
            state.token(&rest[..end]);
            rest = &rest[end..];
        } else {
            if !next.is_whitespace() && next != '\\' {
                state.token(next.encode_utf8(&mut [0; 4]));
            }
            rest = &rest[next.len_utf8()..];
        }
    }
}

fn behind_literal(text: &str, quote: char) -> &str {
    let mut characters = text.char_indices();
    while let Some((at, next)) = characters.next() {
        match next {
            '\\' => drop(characters.next()),
            _ if next == quote => return &text[at + next.len_utf8()..],
            _ => {}
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_begin_behind_statements_and_labels() {
        let source = "\
int g[] = {
    1,
};
struct s {
    int a;
    int b;
};
int f(int a)
{
    int b = a;
    for (;
         a < 3;
         a++)
        b++;
    if (a) { /* two
        b = 1; lines */
        b++;
    } else
        b--;
    do {
        b = '}';
    } while (b > 9);
#ifdef X
    if (a) {
#else
    if (b) {
#endif
        a++;
        b = \"{;\"[0];
    }
    switch (a) {
    case 1:
        b = 2;
        break;
    default:
        return b;
    }
    int t[] = {
        1,
    };
    a = b ? 1 :
        2;
    b = a ?
        f(1) :
        2;
    b = a;
    return a;
}
";
        let lines: Vec<&str> = source.lines().collect();
        let found: Vec<&str> = of_c(source).into_iter().map(|line| lines[line as usize - 1].trim()).collect();
        let expected = [
            "int b = a;",
            "for (;",
            "if (a) { /* two",
            "b++;",
            "do {",
            "b = '}';",
            "b = \"{;\"[0];",
            "switch (a) {",
            "b = 2;",
            "break;",
            "return b;",
            "int t[] = {",
            "a = b ? 1 :",
            "b = a ?",
            "b = a;",
            "return a;",
        ];
        assert_eq!(found, expected);
    }
}
