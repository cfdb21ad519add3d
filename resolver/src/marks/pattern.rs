//! Which functions a mark means.

use globset::{GlobBuilder, GlobMatcher};

use super::error::MarkErrorKind;

/// Functions, by name and, if several have it, by the place of their declaration.
#[derive(Clone, Debug)]
pub struct FunctionPattern {
    /// As it was written.
    text: String,
    /// The end of the path of the file that declares it; `None` if any may.
    file: Option<String>,
    /// The line of its declaration, from 1; `None` if it may be any.
    line: Option<u32>,
    /// The parts of its path, outermost first.
    parts: Vec<String>,
    /// The glob for its last part, or for its path; `None` if the name is no glob.
    glob: Option<GlobMatcher>,
}

impl PartialEq for FunctionPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for FunctionPattern {}

impl FunctionPattern {
    /// Reads `[FILE:[LINE:]]NAME`.
    pub(super) fn parse(text: &str) -> Result<Self, MarkErrorKind> {
        let text = text.trim();
        let (place, name) = split(text);
        if name.is_empty() {
            return Err(MarkErrorKind::NoFunction);
        }
        let (file, line) = match place.rsplit_once(':') {
            Some((file, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => {
                (file, Some(line.parse().ok().filter(|line| *line > 0).ok_or(MarkErrorKind::Line)?))
            }
            _ => (place, None),
        };
        let parts: Vec<String> = parts(name).into_iter().map(str::to_owned).collect();
        let is_operator = parts.last().is_some_and(|last| last.starts_with("operator"));
        let is_glob = name.contains(['*', '?', '[']) && !is_operator;
        let glob = match is_glob {
            true => Some(GlobBuilder::new(name).build().map_err(|_| MarkErrorKind::Glob)?.compile_matcher()),
            false => None,
        };
        Ok(Self { text: text.to_owned(), file: (!file.is_empty()).then(|| file.to_owned()), line, parts, glob })
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it may mean several functions.
    #[must_use]
    pub fn is_glob(&self) -> bool {
        self.glob.is_some()
    }

    /// The end of the path of the file that declares it.
    pub(crate) fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The line of its declaration.
    pub(crate) fn line(&self) -> Option<u32> {
        self.line
    }

    /// Whether it may mean a function of a name, which has no path.
    pub(crate) fn may_be(&self, name: &str) -> bool {
        match (&self.glob, self.parts.last()) {
            // The glob may be one for a path.
            (Some(glob), _) => self.parts.len() > 1 || glob.is_match(name),
            (None, Some(last)) => without_generics(last) == without_generics(name),
            (None, None) => false,
        }
    }

    /// Whether it means a function of a path (`queue::Queue<u32>::push<T>`). Generic arguments that the
    /// pattern does not have may be any.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let of_path = parts(path);
        if let Some(glob) = &self.glob {
            return glob.is_match(path) || of_path.last().is_some_and(|last| glob.is_match(last));
        }
        let Some(skipped) = of_path.len().checked_sub(self.parts.len()) else { return false };
        let pairs = self.parts.iter().zip(of_path.into_iter().skip(skipped));
        pairs.into_iter().all(|(wanted, part)| match without_generics(wanted) == wanted {
            true => without_generics(part) == wanted,
            false => squeezed(part) == squeezed(wanted),
        })
    }
}

/// The name of a function in its path, without generic arguments.
pub(crate) fn own_name(path: &str) -> &str {
    parts(path).last().copied().map_or(path, without_generics)
}

/// The place before the name of a function, and the name. A single colon ends the place.
fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let is_single = |at: &usize| {
        let is_colon = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&b':');
        is_colon(Some(*at)) && !is_colon(at.checked_sub(1)) && !is_colon(at.checked_add(1))
    };
    let last = (0..bytes.len()).rev().find(is_single);
    match last.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?))) {
        Some((place, name)) => (place, name.trim()),
        None => ("", text),
    }
}

/// The parts of a path between `::` that is not inside of generic arguments. `<queue::Queue<u32>>::push`, as symbols of
/// Rust's mangling v0 have it, has those of `queue::Queue<u32>::push`.
fn parts(path: &str) -> Vec<&str> {
    match own_type(path) {
        Some((of, rest)) => [plain_parts(of), plain_parts(rest)].concat(),
        None => plain_parts(path),
    }
}

/// The type in brackets at the start of a path, and what follows it. `None` if there is none, or it is an
/// implementation (`<impl A>`, `<A as Trait>`).
fn own_type(path: &str) -> Option<(&str, &str)> {
    let inside = path.strip_prefix('<').filter(|inside| !inside.starts_with("impl "))?;
    let mut depth = 0_u32;
    for (at, letter) in inside.char_indices() {
        let rest = inside.get(at..)?;
        match letter {
            '<' => depth += 1,
            '>' if inside.get(..at)?.ends_with('-') => {}
            '>' if depth == 0 => return Some((inside.get(..at)?, rest.strip_prefix(">::")?)),
            '>' => depth -= 1,
            ' ' if depth == 0 && rest.starts_with(" as ") => return None,
            _ => {}
        }
    }
    None
}

fn plain_parts(path: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    let bytes = path.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            // `operator<` opens nothing.
            b'<' if !path.get(start..at).is_some_and(is_operator) => depth = depth.saturating_add(1),
            b'>' if at.checked_sub(1).and_then(|before| bytes.get(before)) != Some(&b'-') => {
                depth = depth.saturating_sub(1);
            }
            b':' if depth == 0 && bytes.get(at + 1) == Some(&b':') && !is_before_generics(path, at) => {
                parts.push(path.get(start..at).unwrap_or_default());
                at += 1;
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(path.get(start..).unwrap_or_default());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether the `::` at a place is before generic arguments, as in `push::<u8>`, and not before an implementation.
fn is_before_generics(path: &str, at: usize) -> bool {
    let rest = path.get(at..).and_then(|rest| rest.strip_prefix("::<"));
    at > 0 && rest.is_some_and(|inside| !inside.starts_with("impl "))
}

fn is_operator(text: &str) -> bool {
    text.strip_prefix("operator").is_some_and(|rest| rest.chars().all(|next| "<=>- ".contains(next)))
}

/// A name without its generic arguments.
fn without_generics(name: &str) -> &str {
    if let Some(symbol) = name.strip_prefix("operator") {
        // `operator< <int>`.
        return symbol.find(" <").and_then(|at| name.get(.."operator".len() + at)).unwrap_or(name);
    }
    match name.find('<') {
        Some(at) if at > 0 => name.get(..at).map_or(name, |own| own.strip_suffix("::").unwrap_or(own)),
        _ => name,
    }
}

/// A name without spaces, and without the `::` that Rust's expressions have before generic arguments.
fn squeezed(name: &str) -> String {
    name.chars().filter(|next| !next.is_whitespace()).collect::<String>().replace("::<", "<")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> FunctionPattern {
        FunctionPattern::parse(text).expect("a pattern")
    }

    #[test]
    fn the_end_of_a_path_is_enough() {
        let push = pattern("Queue::push");
        assert!(push.matches("Queue::push") && push.matches("core::Queue<u32>::push<T>"));
        assert!(!push.matches("push") && !push.matches("OtherQueue::push") && !push.matches("Queue::push::inner"));
        assert!(push.may_be("push<u8>") && !push.may_be("pushed"));
        assert!(pattern("submit").matches("submit") && !pattern("submit").matches("submit_all"));
    }

    #[test]
    fn generic_arguments_choose() {
        let of_u32 = pattern("Queue<u32>::push");
        assert!(of_u32.matches("q::Queue<u32>::push<u8>") && !of_u32.matches("q::Queue<u64>::push<u8>"));
        assert!(pattern("get<std::map<int, long>, 2>").matches("ns::get<std::map<int,long>,2>"));
        assert!(!pattern("get<int>").matches("ns::get<long>"));
        assert!(pattern("<impl a::B>::f").matches("c::<impl a::B>::f"));
    }

    #[test]
    fn symbols_of_v0_have_types_in_brackets() {
        let poll = pattern("task::harness::Harness::poll");
        assert!(poll.matches("<tokio::runtime::task::harness::Harness<fn() -> F, S>>::poll"));
        assert!(
            !poll.matches("<tokio::task::Harness<F>>::poll") && !poll.matches("<task::harness::Harness<F> as A>::poll")
        );
        assert!(pattern("Queue<u32>::push").matches("<queue::Queue<u32>>::push::<u8>"));
        for odd in ["<", "<<>>::", "<a>", "<a>::", "<é>::f"] {
            assert!(!poll.matches(odd), "{odd}");
        }
    }

    #[test]
    fn operators_are_names() {
        for name in ["operator<", "operator<<", "operator->", "operator>>", "operator()", "operator*", "operator[]"] {
            assert!(pattern(&format!("T::{name}")).matches(&format!("ns::T::{name}")), "{name}");
            assert!(pattern(name).may_be(name) && !pattern(name).is_glob(), "{name}");
        }
        assert!(pattern("operator<").matches("ns::operator< <int>"));
    }

    #[test]
    fn a_place_chooses_among_functions_of_one_name() {
        let at = pattern("src/queue.cc:12:ns::submit");
        assert_eq!((at.file(), at.line()), (Some("src/queue.cc"), Some(12)));
        assert!(at.matches("ns::submit"));
        assert_eq!((pattern("queue.c:submit").file(), pattern("queue.c:submit").line()), (Some("queue.c"), None));
        assert_eq!(FunctionPattern::parse("queue.c:0:submit"), Err(MarkErrorKind::Line));
    }

    #[test]
    fn globs_match_names_and_paths() {
        let all = pattern("queue_*");
        assert!(
            all.is_glob() && all.matches("queue_init") && all.matches("ns::queue_init") && !all.matches("requeue_it")
        );
        assert!(pattern("ns::*").matches("ns::queue_init") && !pattern("ns::*").matches("mm::queue_init"));
        assert!(pattern("ns::*").may_be("queue_init"));
    }
}
