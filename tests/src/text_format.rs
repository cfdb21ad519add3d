//! Reads the text format that `protoc --decode` writes.

/// A message in the text format of protoc.
#[derive(Clone, Debug, Default)]
pub struct Message(pub Vec<(String, Field)>);

/// The value of a field.
#[derive(Clone, Debug)]
pub enum Field {
    /// A number or the name of an enumerator.
    Scalar(String),
    /// A text.
    Text(Vec<u8>),
    /// A message.
    Message(Message),
}

impl Message {
    /// Reads a message up to its closing brace.
    ///
    /// # Panics
    ///
    /// It is malformed, or has a field that the schema does not have.
    #[must_use]
    pub fn parse(lines: &mut std::str::Lines<'_>) -> Self {
        let mut fields = Vec::new();
        while let Some(line) = lines.next() {
            let line = line.trim_start();
            let name = |name: &str| {
                assert!(!name.starts_with(|first: char| first.is_ascii_digit()), "unknown field: {line}");
                name.to_owned()
            };
            if line == "}" {
                break;
            } else if let Some(of) = line.strip_suffix(" {") {
                let name = name(of);
                fields.push((name, Field::Message(Self::parse(lines))));
            } else {
                let (of, value) = line.split_once(": ").expect("a field");
                let field = match value.strip_prefix('"') {
                    Some(quoted) => Field::Text(unescaped(quoted)),
                    None => Field::Scalar(value.to_owned()),
                };
                fields.push((name(of), field));
            }
        }
        Self(fields)
    }

    /// The values of a field.
    pub fn all<'m>(&'m self, name: &'m str) -> impl Iterator<Item = &'m Field> {
        self.0.iter().filter(move |(of, _)| of == name).map(|(_, field)| field)
    }

    /// The messages of a field.
    ///
    /// # Panics
    ///
    /// They are no messages.
    pub fn messages<'m>(&'m self, name: &'m str) -> impl Iterator<Item = &'m Self> {
        self.all(name).map(move |field| match field {
            Field::Message(message) => message,
            field => panic!("{name}: {field:?}"),
        })
    }

    /// The first message of a field.
    #[must_use]
    pub fn message<'m>(&'m self, name: &'m str) -> Option<&'m Self> {
        self.messages(name).next()
    }

    /// A scalar as it is written; `None` if it is not there.
    ///
    /// # Panics
    ///
    /// It is no scalar.
    #[must_use]
    pub fn scalar<'m>(&'m self, name: &'m str) -> Option<&'m str> {
        self.all(name).next().map(|field| match field {
            Field::Scalar(value) => value.as_str(),
            field => panic!("{name}: {field:?}"),
        })
    }

    /// A number.
    ///
    /// # Panics
    ///
    /// It is not there, or no number.
    #[must_use]
    pub fn number(&self, name: &str) -> u64 {
        self.scalar(name).unwrap_or_else(|| panic!("no {name} in {self:?}")).parse().expect("a number")
    }

    /// A text.
    ///
    /// # Panics
    ///
    /// It is not there, or not UTF-8.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        match self.all(name).next() {
            Some(Field::Text(bytes)) => String::from_utf8(bytes.clone()).expect("UTF-8"),
            field => panic!("{name}: {field:?}"),
        }
    }
}

/// A string up to its closing quote.
fn unescaped(quoted: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), quoted.strip_suffix('"').expect("a closing quote").bytes());
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match rest.next().expect("an escape") {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            high @ b'0'..=b'7' => {
                let digits = [high, rest.next().expect("a digit"), rest.next().expect("a digit")];
                digits.iter().fold(0, |number, digit| number << 3 | (digit - b'0'))
            }
            other => other,
        });
    }
    out
}
