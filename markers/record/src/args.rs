//! The argument list of a record: the arguments as written, separated by commas.

/// The arguments of `list`, without the white space around each. Commas inside brackets, strings
/// and character constants do not separate arguments (`f(a, b)` in a kept C expression). An empty
/// list has no arguments.
pub fn split(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(list).filter(|list| !list.trim_ascii().is_empty());
    core::iter::from_fn(move || {
        let list = rest?;
        let end = argument_end(list);
        rest = list.get(end + 1..);
        Some(list.get(..end).unwrap_or_default().trim_ascii())
    })
}

/// Offset of the comma that ends the first argument of `list`, or its length.
fn argument_end(list: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut quote = None;
    let mut escaped = false;
    for (offset, &byte) in list.iter().enumerate() {
        if escaped {
            escaped = false;
            continue;
        }
        match (quote, byte) {
            (Some(_), b'\\') => escaped = true,
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            (None, b',') if depth == 0 => return offset,
            (None, _) => {}
        }
    }
    list.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{vec, vec::Vec};

    fn split_str(list: &str) -> Vec<&str> {
        split(list.as_bytes()).map(|argument| core::str::from_utf8(argument).unwrap()).collect()
    }

    #[test]
    fn arguments_are_split_at_their_own_commas_only() {
        assert_eq!(split_str(""), Vec::<&str>::new());
        assert_eq!(split_str("  "), Vec::<&str>::new());
        assert_eq!(split_str("cmd, rtn"), vec!["cmd", "rtn"]);
        assert_eq!(split_str("a,b"), vec!["a", "b"]);
        assert_eq!(
            split_str("f(a, b), c[x, y], ',', \"\\\",\", d"),
            vec!["f(a, b)", "c[x, y]", "','", "\"\\\",\"", "d"]
        );
        assert_eq!(split_str("a,"), vec!["a", ""]);
        assert_eq!(split_str(")),("), vec!["))", "("]);
    }
}
