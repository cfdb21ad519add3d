//! The names of a span's two probes, and the argument that says which end belongs to which begin.

use alloc::format;
use alloc::string::String;

/// The argument that both probes have first.
pub const ID: &str = "id";

/// How the id is written, in front of the format of the begin and as that of the end.
pub const FORMAT: &str = "[%lu]";

const BEGIN: &str = "_begin";
const END: &str = "_end";

/// The name of the probe where a span begins.
#[must_use]
pub fn begin(name: &str) -> String {
    format!("{name}{BEGIN}")
}

/// The name of the probe where it ends.
#[must_use]
pub fn end(name: &str) -> String {
    format!("{name}{END}")
}

/// The span that begins at a probe of this name; `None` if it is not a name of a begin.
#[must_use]
pub fn of_begin(name: &str) -> Option<&str> {
    name.strip_suffix(BEGIN).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned as _;

    #[test]
    fn names_are_those_of_one_span() {
        assert_eq!((begin("db:query"), end("db:query")), ("db:query_begin".to_owned(), "db:query_end".to_owned()));
        assert_eq!(of_begin("db:query_begin"), Some("db:query"));
        assert_eq!([of_begin("db:query_end"), of_begin("_begin"), of_begin("begin")], [None; 3]);
    }
}
