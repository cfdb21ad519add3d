//! The grammar of places: the text of an argument in Rust's and C's notation (`self.queue.depth`,
//! `p->f`, `*p`, `a[3]`, `t.0`, `&x`), and C's casts (`(struct node *)p`, `static_cast<long>(x)`).
//!
//! `arguments` looks places up. An argument that is not a place cannot be looked up, and the error
//! says why.

/// The path of the variable that a place starts from: `["p"]` for `(*p->q).r[1]`.
///
/// # Errors
///
/// `text` is not a place.
pub fn root_of(text: &str) -> Result<Vec<String>, PlaceError> {
    Ok(Place::parse(text)?.root().to_vec())
}

/// What an argument is called that is the result of the function.
pub(super) const RESULT: &str = "$return";

/// Why a text is not a place that can be looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaceError {
    /// It calls a function.
    Call,
    /// The place is followed by a character that is not part of it.
    NotPart {
        /// The character.
        character: char,
    },
    /// It has too many operators.
    TooManyOperators {
        /// The most that are accepted.
        most: usize,
    },
    /// Its path has too many names.
    TooManyNames {
        /// The most that are accepted.
        most: usize,
    },
    /// A parenthesis is not closed.
    OpenParenthesis,
    /// An index is not a number.
    Index,
    /// There is a number instead of a variable.
    Number {
        /// The number.
        text: String,
    },
    /// There is no variable.
    Empty,
    /// The place starts with a character that starts no place.
    Start {
        /// The character.
        character: char,
    },
    /// A member has no name.
    Member,
    /// The address of a place is only a part of the argument.
    InnerAddress,
}

impl std::error::Error for PlaceError {}

/// A place as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A variable by its path (`crate::STATE`); a local variable has one name.
    Variable(Vec<String>),
    /// A member of a structure or tuple, or of the target of a pointer.
    Member(Box<Place>, String),
    /// An element.
    Index(Box<Place>, u64),
    /// The target of a pointer.
    Deref(Box<Place>),
    /// The address of a place.
    Address(Box<Place>),
    /// A place that C converts to another type.
    Cast(TypeName, Box<Place>),
}

/// The type of a cast, as written and without qualifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeName {
    /// The words without `*`: `["unsigned", "long"]`, `["struct", "node"]`, `["std::size_t"]`.
    pub(super) words: Vec<String>,
    /// How many `*` follow.
    pub(super) pointers: usize,
}

impl TypeName {
    /// The type as C writes it.
    pub(super) fn text(&self) -> String {
        let mut text = self.words.join(" ");
        if self.pointers > 0 {
            text.push(' ');
            text.extend(std::iter::repeat_n('*', self.pointers));
        }
        text
    }
}

/// Words before the name of a type that do not change its values.
const QUALIFIERS: [&str; 6] = ["const", "volatile", "restrict", "__restrict", "__restrict__", "_Atomic"];

/// The casts of C++ that convert as C's do.
const NAMED_CASTS: [&str; 3] = ["static_cast", "reinterpret_cast", "const_cast"];

/// How deep operators may nest. Each level is a recursive call.
const DEEPEST: usize = 64;

impl Place {
    /// The place that `text` describes.
    pub(super) fn parse(text: &str) -> Result<Self, PlaceError> {
        let mut parser = Parser { rest: text.trim(), depth: 0 };
        let place = parser.unary()?;
        match parser.rest.chars().next() {
            None => Ok(place),
            Some('(') => Err(PlaceError::Call),
            Some(character) => Err(PlaceError::NotPart { character }),
        }
    }

    /// The path of the variable that the place starts from.
    pub(super) fn root(&self) -> &[String] {
        let mut place = self;
        loop {
            match place {
                Self::Variable(path) => return path,
                Self::Member(inner, _)
                | Self::Index(inner, _)
                | Self::Deref(inner)
                | Self::Address(inner)
                | Self::Cast(_, inner) => {
                    place = inner;
                }
            }
        }
    }
}

struct Parser<'t> {
    rest: &'t str,
    depth: usize,
}

impl<'t> Parser<'t> {
    /// Skips white space, then `token` and the white space after it; `false` if it is not there.
    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest).trim_start();
        rest.is_some()
    }

    fn unary(&mut self) -> Result<Place, PlaceError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(PlaceError::TooManyOperators { most: DEEPEST });
        }
        let place = if self.take("*") {
            match self.unary()? {
                // `*&x` is `x`.
                Place::Address(place) => *place,
                place => Place::Deref(Box::new(place)),
            }
        } else if self.take("&") {
            // `&raw const x` in Rust is the same address.
            for word in ["raw const ", "raw mut ", "mut "] {
                if self.take(word) {
                    break;
                }
            }
            Place::Address(Box::new(self.unary()?))
        } else if let Some(of) = self.cast() {
            Place::Cast(of, Box::new(self.unary()?))
        } else {
            self.postfix()?
        };
        self.depth -= 1;
        Ok(place)
    }

    /// The type of a cast, if one stands here and an operand follows. `(a)` alone is a variable.
    fn cast(&mut self) -> Option<TypeName> {
        let before = self.rest;
        let of = self.take("(").then(|| self.type_name()).flatten();
        let is_operand = |first: char| first.is_alphanumeric() || matches!(first, '_' | '$' | '(' | '*' | '&');
        let is_cast = of.is_some() && self.take(")") && self.rest.starts_with(is_operand);
        if is_cast {
            return of;
        }
        self.rest = before;
        None
    }

    /// The name of a type, without its qualifiers.
    fn type_name(&mut self) -> Option<TypeName> {
        let (mut words, mut pointers) = (Vec::new(), 0);
        for _ in 0..DEEPEST {
            if self.take("*") {
                pointers += 1;
            } else if self.take("::") {
                // A name from the outermost scope.
            } else if let Some(word) = self.word() {
                if word.starts_with(|c: char| c.is_ascii_digit()) {
                    return None;
                }
                let mut name = word.to_owned();
                while self.take("::") {
                    name.push_str("::");
                    name.push_str(self.word()?);
                }
                if QUALIFIERS.contains(&word) {
                    continue;
                }
                if pointers > 0 {
                    return None;
                }
                words.push(name);
            } else {
                break;
            }
        }
        (!words.is_empty()).then_some(TypeName { words, pointers })
    }

    /// A cast of C++ with its operand; `None` if none stands here.
    fn named_cast(&mut self) -> Result<Option<Place>, PlaceError> {
        let before = self.rest;
        if NAMED_CASTS.iter().any(|name| self.take(name)) && self.take("<") {
            if let Some(of) = self.type_name() {
                if self.take(">") && self.take("(") {
                    let inner = self.unary()?;
                    if !self.take(")") {
                        return Err(PlaceError::OpenParenthesis);
                    }
                    return Ok(Some(Place::Cast(of, Box::new(inner))));
                }
            }
        }
        self.rest = before;
        Ok(None)
    }

    fn postfix(&mut self) -> Result<Place, PlaceError> {
        let mut place = if let Some(cast) = self.named_cast()? {
            cast
        } else if self.take("(") {
            let inner = self.unary()?;
            if !self.take(")") {
                return Err(PlaceError::OpenParenthesis);
            }
            inner
        } else {
            self.path()?
        };
        for _ in 0..DEEPEST {
            if self.take("->") {
                let member = self.member()?;
                place = Place::Member(Box::new(Place::Deref(Box::new(place))), member);
            } else if self.take(".") {
                place = Place::Member(Box::new(place), self.member()?);
            } else if self.take("[") {
                let index = self.integer().ok_or(PlaceError::Index)?;
                if !self.take("]") {
                    return Err(PlaceError::Index);
                }
                place = Place::Index(Box::new(place), index);
            } else {
                return Ok(place);
            }
        }
        Err(PlaceError::TooManyOperators { most: DEEPEST })
    }

    fn path(&mut self) -> Result<Place, PlaceError> {
        let mut segments = Vec::new();
        self.take("::");
        loop {
            match self.word() {
                Some(name) if !name.starts_with(|c: char| c.is_ascii_digit()) => segments.push(name.to_owned()),
                Some(number) => return Err(PlaceError::Number { text: number.to_owned() }),
                None if self.rest.is_empty() => return Err(PlaceError::Empty),
                None => {
                    return Err(PlaceError::Start { character: self.rest.chars().next().unwrap_or(' ') });
                }
            }
            if segments.len() > DEEPEST {
                return Err(PlaceError::TooManyNames { most: DEEPEST });
            }
            if !self.take("::") {
                return Ok(Place::Variable(segments));
            }
        }
    }

    /// A member's name, or its number in a tuple.
    fn member(&mut self) -> Result<String, PlaceError> {
        self.word().map(str::to_owned).ok_or(PlaceError::Member)
    }

    /// An identifier or digits. A raw identifier (`r#type`) gives its name.
    fn word(&mut self) -> Option<&'t str> {
        let rest = self.rest.strip_prefix("r#").unwrap_or(self.rest);
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
        let (word, rest) = rest.split_at_checked(end).filter(|(word, _)| !word.is_empty())?;
        self.rest = rest.trim_start();
        Some(word)
    }

    /// A decimal or hexadecimal number, which may have `_` and a suffix.
    fn integer(&mut self) -> Option<u64> {
        let word: String = self.word()?.chars().filter(|&c| c != '_').collect::<String>().to_ascii_lowercase();
        match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits.trim_end_matches(['u', 'l']), 16).ok(),
            None => {
                let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
                let (digits, suffix) = word.split_at_checked(end)?;
                matches!(suffix, "" | "u" | "l" | "ul" | "ull" | "ll" | "usize").then(|| digits.parse().ok())?
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place, written with every operator in front.
    fn shown(place: &Place) -> String {
        match place {
            Place::Variable(path) => path.join("::"),
            Place::Member(inner, name) => format!("member({}, {name})", shown(inner)),
            Place::Index(inner, index) => format!("index({}, {index})", shown(inner)),
            Place::Deref(inner) => format!("deref({})", shown(inner)),
            Place::Address(inner) => format!("address({})", shown(inner)),
            Place::Cast(of, inner) => format!("cast({}, {})", of.text(), shown(inner)),
        }
    }

    fn parsed(text: &str) -> Result<String, String> {
        Place::parse(text).map(|place| shown(&place)).map_err(|error| error.to_string())
    }

    #[test]
    fn places_of_both_languages() {
        for (text, expected) in [
            ("n", "n"),
            (" self.queue.depth ", "member(member(self, queue), depth)"),
            ("p->f.g", "member(member(deref(p), f), g)"),
            ("**p", "deref(deref(p))"),
            ("*p.f", "deref(member(p, f))"),
            ("(*p).f[3]", "index(member(deref(p), f), 3)"),
            ("t.0.1", "member(member(t, 0), 1)"),
            ("a[0x10][2usize][1_0UL]", "index(index(index(a, 16), 2), 10)"),
            ("&x", "address(x)"),
            ("& raw const x.y", "address(member(x, y))"),
            ("crate::state::COUNT", "crate::state::COUNT"),
            ("::a::B", "a::B"),
            ("s.r#type", "member(s, type)"),
            ("*&p->f", "member(deref(p), f)"),
            ("(int)x", "cast(int, x)"),
            ("(const unsigned  char)*p", "cast(unsigned char, deref(p))"),
            ("(void *)c.d", "cast(void *, member(c, d))"),
            ("((struct node const *)p)->next", "member(deref(cast(struct node *, p)), next)"),
            ("*(char **)&q[1]", "deref(cast(char **, address(index(q, 1))))"),
            ("(long)(x)", "cast(long, x)"),
            ("(x)->y", "member(deref(x), y)"),
            ("(x)", "x"),
            ("static_cast<long>(x.y)", "cast(long, member(x, y))"),
            ("reinterpret_cast<ns::node *>(p)->n", "member(deref(cast(ns::node *, p)), n)"),
        ] {
            assert_eq!(parsed(text).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(Place::parse("&(*p->q).r[1]").map(|place| place.root().to_vec()), Ok(vec!["p".to_owned()]));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for (text, reason) in [
            ("", "no variable"),
            ("n + 1", "`+` is not part of a place (a variable, its members, elements and what it points at)"),
            ("f(x)", "a call cannot be looked up"),
            ("a[i]", "an index that is not a number"),
            ("a[1", "an index that is not a number"),
            ("5", "`5` is no variable"),
            ("\"s\"", "`\"` starts no place"),
            ("(a)[1](x)", "a call cannot be looked up"),
            ("static_cast<int>(x", "a parenthesis that is not closed around a place"),
            ("p->", "a member without a name"),
        ] {
            assert_eq!(parsed(text), Err(reason.to_owned()), "{text}");
        }
        assert!(parsed(&"*".repeat(100_000)).is_err());
        assert!(parsed(&format!("x{}", ".y".repeat(100_000))).is_err());
        assert!(parsed(&"(".repeat(100_000)).is_err());
    }
}
