//! Shell globs over whole texts: `*` and `?` match any character, also `:` and `/`.

use globset::{GlobBuilder, GlobMatcher};

/// What matches a glob. Braces without a comma are those of Rust's closures (`main::{{closure}}`).
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(&literal_braces(pattern)).literal_separator(false).backslash_escape(true).build();
    Ok(glob.map_err(|error| error.kind().to_string())?.compile_matcher())
}

/// The pattern with a backslash before the braces that are no list.
fn literal_braces(pattern: &str) -> String {
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut literal = Vec::new();
    let mut is_escaped = false;
    for (at, character) in pattern.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '{' => open.push((at, false)),
            ',' => {
                if let Some((_, is_list)) = open.last_mut() {
                    *is_list = true;
                }
            }
            '}' => {
                if let Some((start, false)) = open.pop() {
                    literal.extend([start, at]);
                }
            }
            _ => {}
        }
    }
    let mut text = String::new();
    for (at, character) in pattern.char_indices() {
        if literal.contains(&at) {
            text.push('\\');
        }
        text.push(character);
    }
    text
}
