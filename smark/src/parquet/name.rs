//! Names of columns and of folders.

use simple_markers_resolver::record::identifier::Identifier;

/// The longest name of a folder before the digits that tell it from others.
const LONGEST: usize = 120;

/// A name for a column that is not among `used`, where case does not matter: ASCII letters, digits
/// and `_`. One that begins with a digit gets a `_` in front.
pub(super) fn column_name(text: &str, used: &[&str]) -> String {
    let identifier = Identifier::new(text);
    let name = identifier.as_str();
    let sign = if name.starts_with(|first: char| first.is_ascii_digit()) { "_" } else { "" };
    let first = format!("{sign}{name}");
    let numbered = (2u32..).map(|number| format!("{first}_{number}"));
    let mut names = std::iter::once(first.clone()).chain(numbered);
    names.find(|name| !used.iter().any(|known| known.eq_ignore_ascii_case(name))).unwrap_or_default()
}

/// The name of the folder of a marker: other markers have other ones. `:` becomes `.`, and what is
/// neither an ASCII letter nor a digit nor `_` nor `-` becomes `_`. Where the name of the marker
/// cannot be told from that, `-` and 16 digits follow, which are made of it.
pub(super) fn folder_name(marker: &str) -> String {
    let safe = |letter: char| match letter {
        ':' => '.',
        '-' | '_' => letter,
        letter if letter.is_ascii_alphanumeric() => letter,
        _ => '_',
    };
    let mut name: String = marker.chars().map(safe).take(LONGEST).collect();
    // Readers pass over folders that begin with `_` or `.`.
    if name.is_empty() || name.starts_with(['_', '.']) {
        name.insert(0, 'm');
    }
    if name.replace('.', ":") != marker {
        name.push_str(&format!("-{:016x}", fnv1a(marker.as_bytes())));
    }
    name
}

/// The hash FNV-1a of 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_markers_differ() {
        assert_eq!(folder_name("queue:submit"), "queue.submit");
        assert_eq!(folder_name("tick"), "tick");
        assert_eq!(
            folder_name("push()"),
            "push__-6ae9b8e4dc1f2ebf".replace("6ae9b8e4dc1f2ebf", &format!("{:016x}", fnv1a(b"push()")))
        );
        let others = ["a:b", "a.b", "a_b", "a b", "_a:b", ":a", "", "..", "a/b", "ma:b"];
        let names: std::collections::BTreeSet<String> = others.into_iter().map(folder_name).collect();
        assert_eq!(names.len(), others.len(), "{names:?}");
        assert!(names.iter().all(|name| !name.contains(['/', ':']) && !name.starts_with(['_', '.'])));
        assert_eq!(folder_name(&"x".repeat(1000)).len(), LONGEST + 17);
        // The examples of the authors of the hash.
        assert_eq!((fnv1a(b""), fnv1a(b"a")), (0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c));
    }

    #[test]
    fn columns_differ_where_case_does_not_matter() {
        let used = ["time", "tag"];
        let name = |text| column_name(text, &used);
        assert_eq!(name("Time"), "Time_2");
        assert_eq!(name("request->tag"), "request_tag");
        assert_eq!(name("0"), "_0");
    }
}
