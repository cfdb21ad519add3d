//! Names of fields: identifiers of C, made of the text of arguments.

/// The longest identifier that is made.
const MOST: usize = 64;

/// An identifier for an argument that is not in `used`, without the `_` that the metadata puts
/// before each name.
///
/// What is neither an ASCII letter nor a digit becomes `_`, several in a row become one.
pub(super) fn identifier(text: &str, used: &[String]) -> String {
    let mut name = String::new();
    for letter in text.chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => name.push(letter),
            _ if name.ends_with('_') || name.is_empty() => {}
            _ => name.push('_'),
        }
        if name.len() >= MOST {
            break;
        }
    }
    let name = match name.trim_end_matches('_') {
        "" => "argument",
        name => name,
    };
    let numbered = (2u32..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !used.contains(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_identifiers() {
        let name = |text| identifier(text, &[]);
        assert_eq!(name("tag"), "tag");
        assert_eq!(name("request->tag"), "request_tag");
        assert_eq!(name("*self.inner[3].name()"), "self_inner_3_name");
        assert_eq!(name("Größe"), "Gr_e");
        assert_eq!(name("&*"), "argument");
        assert_eq!(name("0"), "0");
        assert_eq!(name(&"x".repeat(1000)).len(), MOST);
    }

    #[test]
    fn names_are_different() {
        let used = ["tag".to_owned(), "tag_2".to_owned()];
        assert_eq!(identifier("tag", &used), "tag_3");
        assert_eq!(identifier("tag_2", &used), "tag_2_2");
    }
}
