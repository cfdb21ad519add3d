//! Provider files of DTrace: which probes a program has, with the types of their arguments, and
//! sometimes their names (Dynamic Tracing Guide, "Statically Defined Tracing for User Applications").
//!
//! ```text
//! #define Oid unsigned int
//! typedef unsigned long Size;
//! provider store {
//!     probe query__start(const char *text);
//!     probe read(Oid, Size size) : (Oid, uint64_t);
//! };
//! ```
//!
//! `#if` and its kin are not evaluated: all branches count. The types behind a colon are those that
//! scripts of DTrace see; a note has the others.

use std::sync::Arc;

use super::c_type::{CClass, CType, TypeAliases, parameter};
use super::token::{ProviderError, ProviderProblem, ProviderToken, ProviderTokens, tokens};

/// The probes of a provider file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderFile {
    /// In the order of the file.
    pub probes: Vec<ProviderProbe>,
}

/// A probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderProbe {
    /// The name of its provider, as written.
    pub provider: Arc<str>,
    /// Its name as in a note, with `__` for each `-` of DTrace.
    pub name: Arc<str>,
    /// Its parameters.
    pub parameters: Vec<ProviderParameter>,
    /// Its line, from 1.
    pub line: u32,
}

/// A parameter of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderParameter {
    /// Its name; `None` if the file has its type alone.
    pub name: Option<Arc<str>>,
    /// Its type.
    pub c_type: CType,
}

impl ProviderFile {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// It is no provider file.
    pub fn parse(text: &[u8]) -> Result<Self, ProviderError> {
        let ProviderTokens { tokens, defines, end } = tokens(text)?;
        let mut aliases = TypeAliases::new();
        for (name, of) in &defines {
            if let Some((None, of)) = parameter(of, &aliases) {
                aliases.insert(name, of.class);
            }
        }
        let mut parser = ProviderParser { tokens: &tokens, at: 0, end, aliases, probes: Vec::new() };
        let mut has_provider = false;
        while let Some(token) = parser.next() {
            match token.text {
                "provider" => {
                    has_provider = true;
                    parser.provider()?;
                }
                "typedef" => parser.typedef(),
                ";" => {}
                // Another declaration.
                _ if token.is_word() => drop(parser.up_to_semicolon()),
                _ => return Err(parser.expected_at(Some(token), "`provider`")),
            }
        }
        match has_provider {
            true => Ok(Self { probes: parser.probes }),
            false => Err(ProviderError { line: end.0, column: end.1, problem: ProviderProblem::NoProvider }),
        }
    }

    /// The probe of a note with this name (`provider:name`); `None` if there is none.
    #[must_use]
    pub fn probe(&self, name: &str) -> Option<&ProviderProbe> {
        let (provider, name) = name.rsplit_once(':').unwrap_or(("", name));
        let named = |probe: &&ProviderProbe| *probe.name == *name;
        let exact = self.probes.iter().find(|probe| named(probe) && *probe.provider == *provider);
        // DTrace appends the number of a process, and scripts have that, or `*` or `$target`.
        let plain = |name: &str| name.trim_end_matches(|last: char| last.is_ascii_digit()).to_owned();
        exact.or_else(|| self.probes.iter().find(|probe| named(probe) && plain(&probe.provider) == plain(provider)))
    }
}

struct ProviderParser<'p, 't> {
    tokens: &'p [ProviderToken<'t>],
    at: usize,
    /// Where the file ends.
    end: (u32, u32),
    aliases: TypeAliases<'t>,
    probes: Vec<ProviderProbe>,
}

impl<'p, 't> ProviderParser<'p, 't> {
    fn peek(&self) -> Option<&'t str> {
        self.tokens.get(self.at).map(|token| token.text)
    }

    fn next(&mut self) -> Option<ProviderToken<'t>> {
        let token = self.tokens.get(self.at).copied();
        self.at = self.at.saturating_add(1);
        token
    }

    fn eat(&mut self, text: &str) -> bool {
        let is_there = self.peek() == Some(text);
        self.at = self.at.saturating_add(usize::from(is_there));
        is_there
    }

    fn expected_at(&self, token: Option<ProviderToken<'t>>, what: &'static str) -> ProviderError {
        let (line, column) = token.map_or(self.end, |token| (token.line, token.column));
        let instead = token.map(|token| token.text.into());
        ProviderError { line, column, problem: ProviderProblem::Expected { what, instead } }
    }

    fn expected(&self, what: &'static str) -> ProviderError {
        self.expected_at(self.tokens.get(self.at).copied(), what)
    }

    fn expect(&mut self, text: &str, what: &'static str) -> Result<(), ProviderError> {
        if self.eat(text) { Ok(()) } else { Err(self.expected(what)) }
    }

    /// The tokens up to the next semicolon outside of braces, which is taken too.
    fn up_to_semicolon(&mut self) -> &'p [ProviderToken<'t>] {
        let (start, mut depth) = (self.at, 0u32);
        while let Some(token) = self.next() {
            match token.text {
                "{" => depth = depth.saturating_add(1),
                "}" => depth = depth.saturating_sub(1),
                ";" if depth == 0 => break,
                _ => {}
            }
        }
        let end = self.at.min(self.tokens.len());
        self.tokens.get(start..end).unwrap_or_default()
    }

    /// Notes the name of a type. One with a body is not described.
    fn typedef(&mut self) {
        let tokens = self.up_to_semicolon();
        let tokens = match tokens.split_last() {
            Some((last, before)) if last.text == ";" => before,
            _ => tokens,
        };
        if let Some((Some(name), of)) = parameter(tokens, &self.aliases) {
            self.aliases.insert(name, of.class);
        }
    }

    fn provider(&mut self) -> Result<(), ProviderError> {
        let what = "the name of a provider";
        let name = self.next().filter(ProviderToken::is_word);
        let Some(name) = name else {
            self.at = self.at.saturating_sub(1);
            return Err(self.expected(what));
        };
        self.eat("*");
        let name: Arc<str> = name.text.split('$').next().unwrap_or_default().into();
        self.expect("{", "`{` and the probes of the provider")?;
        while !self.eat("}") {
            self.expect("probe", "`probe`, or the `}` of the provider")?;
            self.probe(&name)?;
        }
        self.eat(";");
        Ok(())
    }

    fn probe(&mut self, provider: &Arc<str>) -> Result<(), ProviderError> {
        let first = self.tokens.get(self.at).copied().filter(ProviderToken::is_word);
        let first = first.ok_or_else(|| self.expected("the name of a probe"))?;
        self.at = self.at.saturating_add(1);
        let mut name = first.text.to_owned();
        while self.eat("-") {
            name.push_str("__");
            // `a--b` is as good as `a__b`.
            if let Some(part) = self.tokens.get(self.at).filter(|token| token.is_word()) {
                name.push_str(part.text);
                self.at = self.at.saturating_add(1);
            }
        }
        self.expect("(", "`(` and the parameters of the probe")?;
        let parameters = self.parameters()?;
        if self.eat(":") {
            self.expect("(", "`(` and the parameters that scripts see")?;
            self.parameters()?;
        }
        self.expect(";", "`;`")?;
        let provider = Arc::clone(provider);
        self.probes.push(ProviderProbe { provider, name: name.into(), parameters, line: first.line });
        Ok(())
    }

    /// The parameters up to the `)`, which is taken too.
    fn parameters(&mut self) -> Result<Vec<ProviderParameter>, ProviderError> {
        let mut parameters = Vec::new();
        if self.eat(")") {
            return Ok(parameters);
        }
        loop {
            let (start, mut depth) = (self.at, 0u32);
            loop {
                match self.peek() {
                    Some("," | ")") if depth == 0 => break,
                    Some("(" | "[") => depth = depth.saturating_add(1),
                    Some(")" | "]") => depth = depth.saturating_sub(1),
                    Some("...") => {
                        let ellipsis = self.expected("");
                        return Err(ProviderError { problem: ProviderProblem::Ellipsis, ..ellipsis });
                    }
                    Some(";" | "{" | "}") | None => return Err(self.expected("`,` or `)`")),
                    Some(_) => {}
                }
                self.at = self.at.saturating_add(1);
            }
            let tokens = self.tokens.get(start..self.at).unwrap_or_default();
            let is_void = matches!(tokens, [only] if only.text == "void");
            match parameter(tokens, &self.aliases) {
                _ if is_void && parameters.is_empty() && self.peek() == Some(")") => {}
                Some((name, c_type)) if c_type.class != CClass::Unknown || !is_void => {
                    parameters.push(ProviderParameter { name: name.map(Into::into), c_type });
                }
                _ => {
                    let at = self.tokens.get(start).copied();
                    return Err(self.expected_at(at, "the type of a parameter"));
                }
            }
            if !self.eat(",") {
                self.expect(")", "`,` or `)`")?;
                return Ok(parameters);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::c_type::CSize;
    use super::*;

    fn parsed(text: &str) -> ProviderFile {
        ProviderFile::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The name, the type as written, and the class of each parameter of the only probe.
    fn parameters(list: &str) -> Vec<(Option<String>, String, CClass)> {
        let text = format!(
            "#define Oid unsigned int\n#define flag char\ntypedef const char *Text;\ntypedef struct {{ int a; }} pair;\n\
             provider p {{ probe a({list}); }};"
        );
        let [probe] = &*parsed(&text).probes else { panic!() };
        let of = |it: &ProviderParameter| {
            (it.name.as_deref().map(str::to_owned), it.c_type.name.to_string(), it.c_type.class)
        };
        probe.parameters.iter().map(of).collect()
    }

    #[test]
    fn parameters_have_types_and_names() {
        let integer = |size, is_signed| CClass::Integer { size, is_signed };
        let bytes = |size, is_signed| integer(CSize::Bytes(size), Some(is_signed));
        for (list, name, written, class) in [
            ("int", None, "int", bytes(4, true)),
            ("unsigned", None, "unsigned", bytes(4, false)),
            ("unsigned int a", Some("a"), "unsigned int", bytes(4, false)),
            ("long unsigned int n", Some("n"), "long unsigned int", integer(CSize::Address, Some(false))),
            ("long long", None, "long long", bytes(8, true)),
            ("short s", Some("s"), "short", bytes(2, true)),
            ("char c", Some("c"), "char", integer(CSize::Bytes(1), None)),
            ("unsigned char", None, "unsigned char", bytes(1, false)),
            ("const char *", None, "const char *", CClass::Text),
            ("char const* const text", Some("text"), "char const *const", CClass::Text),
            ("char name[16]", Some("name"), "char *", CClass::Text),
            ("char **", None, "char **", CClass::Pointer),
            ("unsigned char *bytes", Some("bytes"), "unsigned char *", CClass::Pointer),
            ("void *", None, "void *", CClass::Pointer),
            ("struct node *head", Some("head"), "struct node *", CClass::Pointer),
            ("struct node", None, "struct node", CClass::Unknown),
            ("enum state s", Some("s"), "enum state", integer(CSize::Bytes(4), None)),
            ("void (*callback)(int, char *)", Some("callback"), "void (*)()", CClass::Pointer),
            ("Oid", None, "Oid", bytes(4, false)),
            ("Oid relation", Some("relation"), "Oid", bytes(4, false)),
            ("flag", None, "flag", integer(CSize::Bytes(1), None)),
            ("Text query", Some("query"), "Text", CClass::Text),
            ("pid_t pid", Some("pid"), "pid_t", CClass::Unknown),
            ("pair *", None, "pair *", CClass::Pointer),
            ("uint64_t", None, "uint64_t", bytes(8, false)),
            ("size_t size", Some("size"), "size_t", integer(CSize::Address, Some(false))),
            ("string", None, "string", CClass::Text),
            ("double", None, "double", CClass::Float { size: 8 }),
            ("float f", Some("f"), "float", CClass::Float { size: 4 }),
            ("_Bool", None, "_Bool", CClass::Boolean),
            ("bool b", Some("b"), "bool", CClass::Boolean),
        ] {
            assert_eq!(parameters(list), [(name.map(str::to_owned), written.to_owned(), class)], "{list}");
        }
        assert_eq!(parameters("").len(), 0);
        assert_eq!(parameters("void").len(), 0);
        assert_eq!(parameters("int a, char *, void (*f)(int, int)").len(), 3);
    }

    #[test]
    fn a_file_has_providers_with_probes() {
        let file = parsed(
            "/* (c) */\nstruct q;\nprovider store {\n\tprobe query__start(const char *text);\n\
             \tprobe lock-wait-start(int a, int b) : (uint32_t x);\n# file: a.c\n\tprobe idle();\n};\n\
             #pragma D attributes Evolving/Evolving/Common provider store provider\nprovider other$target { };",
        );
        let names: Vec<_> = file.probes.iter().map(|it| (&*it.provider, &*it.name, it.line)).collect();
        assert_eq!(names, [("store", "query__start", 4), ("store", "lock__wait__start", 5), ("store", "idle", 7)]);
        let count = |name: &str| file.probe(name).map(|probe| probe.parameters.len());
        assert_eq!(count("store:lock__wait__start"), Some(2));
        assert_eq!(count("store1234:idle"), Some(0));
        assert_eq!((count("shop:idle"), count("store:start"), count("idle")), (None, None, None));
    }

    #[test]
    fn errors_say_where_and_what() {
        for (text, expected) in [
            ("", "1:1: there is no provider in the file"),
            ("int x;", "1:7: there is no provider in the file"),
            ("provider {", "1:10: expected the name of a provider, found `{`"),
            ("provider p\n(", "2:1: expected `{` and the probes of the provider, found `(`"),
            ("provider p {\n  prove a(); };", "2:3: expected `probe`, or the `}` of the provider, found `prove`"),
            ("provider p { probe a; };", "1:21: expected `(` and the parameters of the probe, found `;`"),
            ("provider p { probe a(int,); };", "1:26: expected the type of a parameter, found `)`"),
            ("provider p { probe a(int b c); };", "1:22: expected the type of a parameter, found `int`"),
            ("provider p { probe a(unsigned void); };", "1:22: expected the type of a parameter, found `unsigned`"),
            ("provider p { probe a(int", "1:25: expected `,` or `)`, found the end of the file"),
            ("provider p { probe a() };", "1:24: expected `;`, found `}`"),
            ("provider p { probe a(int, ...); };", "1:27: a probe has a fixed number of parameters, not `...`"),
            (
                "provider p { probe a(); ",
                "1:25: expected `probe`, or the `}` of the provider, found the end of the file",
            ),
            ("@", "1:1: `@` is not a character of a provider file"),
        ] {
            let error = ProviderFile::parse(text.as_bytes()).map(|_| ()).unwrap_err();
            assert_eq!(error.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn truncated_and_flipped_files_are_no_panic() {
        let text = b"#define Oid unsigned int\ntypedef char *T;\nprovider p { probe a-b(T x, void (*f)(int), int y[2]) : (int); };";
        for end in 0..text.len() {
            let _ = ProviderFile::parse(&text[..end]);
        }
        for bit in 0..text.len() * 8 {
            let mut text = text.to_vec();
            text[bit / 8] ^= 1 << (bit % 8);
            let _ = ProviderFile::parse(&text);
        }
    }
}
