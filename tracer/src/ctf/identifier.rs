//! Names of fields: identifiers of C, made of the text of arguments.

use simple_markers_record::identifier::Identifier;

/// An identifier for an argument that is not in `used`, without the `_` that the metadata puts
/// before each name.
pub(super) fn identifier(text: &str, used: &[String]) -> String {
    let identifier = Identifier::new(text);
    let name = identifier.as_str();
    let numbered = (2u32..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !used.contains(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_different() {
        let used = ["tag".to_owned(), "tag_2".to_owned()];
        assert_eq!(identifier("tag", &used), "tag_3");
        assert_eq!(identifier("tag_2", &used), "tag_2_2");
    }
}
