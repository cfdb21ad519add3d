//! Names of fields in recordings: identifiers of C, made of the text of arguments.

/// The longest identifier that is made, in bytes.
pub const MAX_LENGTH: usize = 64;

/// An identifier for an argument.
///
/// What is neither an ASCII letter nor a digit becomes `_`, several in a row become one, and none is
/// at the start or the end. It may start with a digit. A text without letters and digits becomes
/// `argument`.
#[derive(Clone, Copy, Debug)]
pub struct Identifier {
    bytes: [u8; MAX_LENGTH],
    length: usize,
}

impl Identifier {
    /// The identifier for an argument as written.
    #[must_use]
    pub fn new(argument: &str) -> Self {
        let mut this = Self { bytes: [0; MAX_LENGTH], length: 0 };
        for letter in argument.chars() {
            match u8::try_from(letter) {
                Ok(letter) if letter.is_ascii_alphanumeric() => this.push(letter),
                _ if this.length == 0 || this.as_str().ends_with('_') => {}
                _ => this.push(b'_'),
            }
        }
        this.length = this.as_str().trim_end_matches('_').len();
        if this.length == 0 {
            b"argument".iter().for_each(|&letter| this.push(letter));
        }
        this
    }

    fn push(&mut self, letter: u8) {
        if let Some(to) = self.bytes.get_mut(self.length) {
            *to = letter;
            self.length += 1;
        }
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.bytes.get(..self.length).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_identifiers() {
        let name = |text| Identifier::new(text);
        assert_eq!(name("tag").as_str(), "tag");
        assert_eq!(name("request->tag").as_str(), "request_tag");
        assert_eq!(name("*self.inner[3].name()").as_str(), "self_inner_3_name");
        assert_eq!(name("Größe").as_str(), "Gr_e");
        assert_eq!(name("&*").as_str(), "argument");
        assert_eq!(name("0").as_str(), "0");
        let long = "x".repeat(1000);
        assert_eq!(name(&long).as_str().len(), MAX_LENGTH);
    }
}
