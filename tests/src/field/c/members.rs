//! What a marker before a line may name.

use crate::field::places::{Argument, WholeVariable};
use crate::field::scopes::{Type, Variable};

/// The variables, and the members that the line reads itself, for which their structure must be there.
pub(super) fn arguments(line: &str, variables: &[&Variable]) -> Vec<Argument> {
    let mut found = Vec::new();
    for Variable { name, of, .. } in variables {
        match of {
            Type::Scalar(conversion) => found.push((name.clone(), *conversion)),
            Type::Structure { pointer: Some(conversion), members } if name != "this" => {
                found.push((name.clone(), *conversion));
                for (member, conversion) in members {
                    let text = format!("{name}{member}");
                    if is_read(line, name, &text) {
                        found.push((text, *conversion));
                    }
                }
            }
            Type::Structure { .. } | Type::Other => {}
        }
    }
    found
}

/// The structures that are there, and those behind pointers of which the line reads a member itself.
pub(super) fn wholes(line: &str, variables: &[&Variable]) -> Vec<WholeVariable> {
    let whole = |Variable { name, of, .. }: &Variable| match of {
        Type::Structure { pointer: Some(_), members } if name != "this" => {
            let is_there = members.iter().any(|(member, _)| is_read(line, name, &format!("{name}{member}")));
            WholeVariable::new(name.clone(), name, members).filter(|_| is_there)
        }
        Type::Structure { pointer: None, members } => WholeVariable::new(format!("&{name}"), name, members),
        Type::Structure { .. } | Type::Scalar(_) | Type::Other => None,
    };
    variables.iter().filter_map(|variable| whole(variable)).collect()
}

/// Whether a line certainly reads a member.
fn is_read(line: &str, variable: &str, text: &str) -> bool {
    let is_part = |next: Option<char>| next.is_some_and(|next| next.is_alphanumeric() || next == '_');
    let is_there = line.match_indices(text).any(|(at, _)| {
        let before = line[..at].trim_end();
        !is_part(line[at + text.len()..].chars().next())
            && !is_part(line[..at].chars().next_back())
            && !before.ends_with(['.', '&'])
            && !before.ends_with("->")
    });
    let is_assigned = line.match_indices(variable).any(|(at, _)| {
        let behind = line[at + variable.len()..].trim_start();
        behind.starts_with('=') && !behind.starts_with("==") || behind.starts_with("++") || behind.starts_with("--")
    });
    let may_not = ["&&", "||", "?", "sizeof", "assert", "ASSERT", "for ", "for(", "offsetof"];
    is_there && !is_assigned && !may_not.iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_named_where_the_line_reads_it() {
        let is_read = |line| is_read(line, "p", "p->x");
        assert!(is_read("p->x = 3;"));
        assert!(is_read("if (p->x > 2) f();"));
        assert!(!is_read("p->xy = 3;"));
        assert!(!is_read("q->p->x = 3;"));
        assert!(!is_read("up->x = 3;"));
        assert!(!is_read("p = q; p->x = 3;"));
        assert!(!is_read("return p && p->x;"));
        assert!(!is_read("f(&p->x);"));
    }
}
