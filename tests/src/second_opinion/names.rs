//! Names of functions and files in a form that two readers share.

/// The last component of a function's name, without parameters, generic arguments and compiler
/// suffixes: `step` for `queue::Queue<T>::step`, `_ZN5queue4step17h0123456789abcdefE`,
/// `queue::step(int)` and `step.constprop.0`.
pub(crate) fn short(name: &str) -> String {
    let demangled = addr2line::demangle_auto(name.into(), None).into_owned();
    let name = demangled.strip_suffix(".cold").unwrap_or(&demangled);
    // Text in brackets does not matter here. `{closure#0}` and `{{closure}}` are the same.
    let (mut plain, mut depth) = (String::new(), 0usize);
    let name = name.replace("->", "");
    for character in name.chars() {
        match character {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            '{' | '}' => {}
            _ if depth == 0 => plain.push(character),
            _ => {}
        }
    }
    let plain = plain.trim_end_matches(':');
    let last = plain.rsplit("::").next().unwrap_or(plain);
    let last = last.split([' ', '.', '#', '@']).next().unwrap_or(last);
    match last {
        "" => name,
        // Symbols call them closures.
        "async_block" | "async_fn" | "async_closure" => "closure".to_owned(),
        _ => last.to_owned(),
    }
}

/// Whether two paths name the same file, compared up to the length of the shorter one. Resolves `.`
/// and `..`.
pub(super) fn is_same_file(one: &str, other: &str) -> bool {
    let (one, other) = (components(one), components(other));
    !one.is_empty() && !other.is_empty() && one.iter().rev().zip(other.iter().rev()).all(|(one, other)| one == other)
}

fn components(path: &str) -> Vec<&str> {
    let mut components = Vec::new();
    for component in path.split('/').filter(|component| !component.is_empty() && *component != ".") {
        match (component, components.last()) {
            ("..", Some(last)) if *last != ".." => _ = components.pop(),
            _ => components.push(component),
        }
    }
    components
}
