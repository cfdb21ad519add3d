//! Patterns for the names of probes: `*` is any text, `?` one character, a comma separates
//! patterns.

/// Whether one of the patterns matches the whole name.
pub(crate) fn matches(patterns: &str, name: &str) -> bool {
    patterns.split(',').any(|pattern| matches_one(pattern.trim().as_bytes(), name.as_bytes()))
}

fn matches_one(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where the last `*` is, and what it has matched up to.
    let mut star: Option<(usize, usize)> = None;
    while let Some(&byte) = name.get(from) {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
                continue;
            }
            Some(&letter) if letter == b'?' || letter == byte => {
                at += 1;
                from += 1;
                continue;
            }
            _ => {}
        }
        let Some((star_at, matched)) = star else { return false };
        star = Some((star_at, matched + 1));
        (at, from) = (star_at + 1, matched + 1);
    }
    pattern.get(at..).unwrap_or_default().iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_names() {
        for (patterns, name, expected) in [
            ("*", "queue:submit", true),
            ("queue:*", "queue:submit", true),
            ("queue:*", "my_queue:submit", false),
            ("*:submit", "queue:submit", true),
            ("q*e:s*t", "queue:submit", true),
            ("queue:submi?", "queue:submit", true),
            ("queue:submi", "queue:submit", false),
            ("queue:submit", "queue:submit", true),
            ("io:*, queue:*", "queue:submit", true),
            ("io:*,net:*", "queue:submit", false),
            ("", "", true),
            ("", "a", false),
            ("*a*b", "xaxxbxb", true),
            ("*a*b", "xaxxbxc", false),
        ] {
            assert_eq!(matches(patterns, name), expected, "{patterns} {name}");
        }
    }
}
