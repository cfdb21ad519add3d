//! Functions that the linker folded (identical code folding): which other functions have the code
//! of a marker's function. Found from the other names of the function and from the debug
//! information (`docs/design.md`, "Exactness").
//!
//! lld and mold give the symbols of a folded function the address of the function that they kept,
//! and write a tombstone into its records and debug information. gold gives those the address as
//! well. An alias has the address too, but no debug information of its own. `markers`, which has
//! all records, says whether the other function passes the marker as well.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::{FoldingUnknown, FunctionNames};
use crate::address::Vaddr;
use crate::demangle::{demangle, demangle_in_full};
use crate::dwarf::{DebugInfo, Definition, DefinitionFilter};
use crate::image::symbols::{Symbol, Symbols};
use crate::image::{Image, ImageKind};

/// What is known of the other names of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OtherNames {
    /// The linker folded these functions.
    Several(FunctionNames),
    /// It has these names, and nothing says whether all of them are its own.
    Perhaps(FunctionNames),
    /// Its names are not known.
    Unknown(FoldingUnknown),
}

/// The functions of an image that are at one address.
pub(super) struct Folding<'a> {
    image: &'a Image<'a>,
    debug: Option<&'a DebugInfo<'a>>,
    may_fold: bool,
    /// Whether the linker leaves out local symbols of folded functions: mold does.
    leaves_out: bool,
    groups: OnceLock<Groups>,
}

struct Groups {
    /// Whether the symbol table has local functions.
    has_local: bool,
    /// The functions of those names in the debug information.
    definitions: HashMap<Vec<u8>, Vec<Definition>>,
    /// The addresses and sizes of functions without a symbol, if the linker leaves out such
    /// symbols.
    nameless: HashSet<Definition>,
}

impl<'a> Folding<'a> {
    /// `linked` is the image itself, `named` the file that has its symbols.
    pub(super) fn new(linked: &Image<'_>, named: &'a Image<'a>, debug: Option<&'a DebugInfo<'a>>) -> Self {
        let may_fold = may_fold(linked);
        let leaves_out = linked.has_section(".note.gnu.gold-version") || says(linked, b"mold");
        Self { image: named, debug, may_fold, leaves_out, groups: OnceLock::new() }
    }

    /// What is known of the other functions whose code starts at an address; `None` if there are
    /// none.
    pub(super) fn at(&self, start: u64) -> Option<OtherNames> {
        if !self.may_fold {
            return None;
        }
        let groups = self.groups.get_or_init(|| self.read());
        let group: Vec<&Symbol> = self.symbols().starting_at(start).collect();
        if group.len() > 1 {
            return self.of_group(groups, &group, start);
        }
        let size = group.first().map(|symbol| symbol.size());
        let is_nameless = |start| groups.nameless.contains(&Definition { start, size });
        match () {
            () if is_nameless(None) || is_nameless(Some(start)) => {
                Some(OtherNames::Unknown(FoldingUnknown::SameSizeDropped))
            }
            () if group.is_empty() => Some(OtherNames::Unknown(FoldingUnknown::NoSymbol)),
            () if !groups.has_local => Some(OtherNames::Unknown(FoldingUnknown::NoLocalSymbols)),
            () => None,
        }
    }

    /// Reads the functions of the image in parallel. The first question would read them too, while
    /// those who ask next have to wait.
    pub(super) fn prepare(&self) {
        if self.may_fold {
            self.groups.get_or_init(|| self.read());
        }
    }

    fn symbols(&self) -> Symbols<'a> {
        self.image.functions()
    }

    fn name(&self, symbol: &Symbol) -> &'a [u8] {
        self.symbols().name(symbol)
    }

    fn read(&self) -> Groups {
        let table = self.symbols();
        let wanted = DefinitionFilter {
            names: table.sharing().map(|symbol| base(self.name(symbol))).collect(),
            starts: table.sharing().map(|symbol| symbol.start).collect(),
        };
        // If the debug information cannot be read, nothing is known of them.
        let definitions = match (wanted.names.is_empty() && !self.leaves_out, self.debug) {
            (false, Some(debug)) => debug.definitions_of((!self.leaves_out).then_some(&wanted)).unwrap_or_default(),
            _ => HashMap::new(),
        };
        let symbols: HashSet<&[u8]> = match self.leaves_out {
            true => table.function_names().map(base).collect(),
            false => HashSet::new(),
        };
        let without = definitions.iter().filter(|(name, _)| self.leaves_out && !symbols.contains(base(name)));
        let nameless = without.flat_map(|(_, all)| all).copied().collect();
        Groups { has_local: table.has_local_function(), definitions, nameless }
    }

    fn of_group(&self, groups: &Groups, group: &[&Symbol], start: u64) -> Option<OtherNames> {
        let is = |symbol: &Symbol, what: &dyn Fn(&Definition) -> bool| {
            groups.definitions.get(base(self.name(symbol))).is_some_and(|all| all.iter().any(what))
        };
        let is_here = |symbol: &Symbol| is(symbol, &|it| it.start == Some(start));
        let is_dropped = |symbol: &Symbol| is(symbol, &|it| it.start.is_none() && it.size == Some(symbol.size()));
        // The function that the linker kept, as far as the debug information says.
        let kept = group.iter().find(|symbol| is_here(symbol));
        let kept = kept.or(group.iter().find(|symbol| !is_dropped(symbol))).or(group.first())?;
        let (mut folded, mut perhaps) = (vec![self.name(kept)], vec![self.name(kept)]);
        for symbol in group.iter().filter(|symbol| !std::ptr::eq(*symbol, kept)) {
            let name = self.name(symbol);
            let of = self.name(kept);
            if symbol.is_indirect() || is_variant(name, of) || is_alias(name, of) {
                continue;
            }
            match is_here(symbol) || is_dropped(symbol) {
                true => folded.push(name),
                false => perhaps.push(name),
            }
        }
        match (folded.len(), perhaps.len()) {
            (1, 1) => None,
            (1, _) if self.is_inside_a_piece(start) => None,
            (1, _) => Some(OtherNames::Perhaps(self.listed(&perhaps, start))),
            _ => Some(OtherNames::Several(self.listed(&folded, start))),
        }
    }

    /// The names of functions at an address, the first of which is described there.
    fn listed(&self, names: &[&[u8]], start: u64) -> FunctionNames {
        let described = || self.debug?.function_starting_at(Vaddr(start)).ok().flatten();
        listed(names, || described().map(|name| without_repeated(&name).into()))
    }

    /// Whether the function is in the middle of a section whose first function has no other name.
    /// Linkers fold whole sections, so they did not fold this one.
    fn is_inside_a_piece(&self, start: u64) -> bool {
        let Some(first) = self.debug.and_then(|debug| debug.one_piece_around(start)) else { return false };
        first < start && self.symbols().starting_at(first).count() == 1
    }
}

/// Whether the linker of an image may have folded functions. GNU ld never does. It is recognised by
/// the notes that the other linkers write and it does not.
fn may_fold(image: &Image<'_>) -> bool {
    if matches!(image.kind(), ImageKind::Relocatable | ImageKind::Module | ImageKind::Kernel) {
        return false;
    }
    // BOLT folds functions of an image that GNU ld linked.
    if image.has_section(".note.gnu.gold-version") || image.has_section(".note.bolt_info") {
        return true;
    }
    image.contents(".comment").flatten().next().is_none()
        || [&b"lld"[..], b"mold", b"Linker:"].iter().any(|what| says(image, what))
}

/// Whether a tool left such a note in `.comment`.
fn says(image: &Image<'_>, what: &[u8]) -> bool {
    let has = |bytes: &[u8]| bytes.windows(what.len()).any(|window| window.eq_ignore_ascii_case(what));
    image.contents(".comment").flatten().any(|it| has(&it.bytes))
}

/// The name that the debug information has for a symbol: without the suffix that gcc and LLVM add
/// for a part or a copy (`f.part.0`, `f.llvm.123`).
fn base(symbol: &[u8]) -> &[u8] {
    match symbol.iter().skip(1).position(|&byte| byte == b'.') {
        // Rust's older mangling has dots for `::` in generic arguments.
        Some(_) if symbol.starts_with(b"_ZN") && symbol.ends_with(b"E") => symbol,
        Some(at) => symbol.get(..at.saturating_add(1)).unwrap_or(symbol),
        None => symbol,
    }
}

/// Whether one of two symbols is the name under which gcc calls the other's function in the same file
/// (`f.localalias`, with `-fno-semantic-interposition`).
fn is_alias(one: &[u8], other: &[u8]) -> bool {
    let is_of = |one: &[u8], other: &[u8]| {
        let rest = one.strip_prefix(other).and_then(|rest| rest.strip_prefix(b".localalias"));
        rest.is_some_and(|rest| rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.'))
    };
    is_of(one, other) || is_of(other, one)
}

/// Whether two symbols are variants that C++ makes of one constructor or destructor (`C1` and `C2`;
/// Itanium C++ ABI, 5.1.4.3). They have one source.
fn is_variant(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() || !one.starts_with(b"_Z") {
        return false;
    }
    let mut differing = one.iter().zip(other).enumerate().filter(|(_, (one, other))| one != other);
    let (Some((at, (first, second))), None) = (differing.next(), differing.next()) else { return false };
    let before = at.checked_sub(1).and_then(|before| one.get(before));
    first.is_ascii_digit()
        && second.is_ascii_digit()
        && matches!(before, Some(b'C' | b'D'))
        && demangle(one) == demangle(other)
}

/// How many names are demangled: thousands of functions may be folded into one.
const NAMED: usize = 4;

/// rustc names a method of a generic type `Core<T>::roll<T>`. This is the name without the second
/// `<T>`.
fn without_repeated(name: &str) -> &str {
    let mut depth = 0_usize;
    let start = name.bytes().enumerate().rev().find_map(|(at, byte)| {
        match byte {
            // An arrow (`fn() -> T`) closes nothing.
            b'>' if at.checked_sub(1).and_then(|before| name.as_bytes().get(before)) != Some(&b'-') => depth += 1,
            b'<' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(at)
    });
    let parts = start.and_then(|start| Some((name.get(..start)?, name.get(start..)?)));
    match parts {
        Some((before, arguments)) if arguments.starts_with('<') => {
            let parent = before.rsplit_once("::").map(|(parent, _)| parent);
            if parent.is_some_and(|parent| parent.ends_with(arguments)) { before } else { name }
        }
        _ => name,
    }
}

/// Names of functions for people. The instances of a generic function, and the overloads of one in
/// C++, have the same name. Then the first is `described`, which has the type arguments, and the
/// others have what distinguishes their symbols.
fn listed(names: &[&[u8]], described: impl Fn() -> Option<Arc<str>>) -> FunctionNames {
    let short: Vec<String> = names.iter().take(NAMED).map(|name| demangle(name)).collect();
    let named = |(index, (name, short_name)): (usize, (&&[u8], &String))| -> Arc<str> {
        let is_alone = short.iter().filter(|other| *other == short_name).count() == 1;
        let described = if index == 0 && !is_alone { described() } else { None };
        match described.filter(|described| **described != **short_name) {
            Some(described) => described,
            None if is_alone => short_name.as_str().into(),
            None => demangle_in_full(name).into(),
        }
    };
    let first = names.iter().zip(&short).enumerate().map(named).collect();
    FunctionNames { first, count: names.len() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::english::exactness::names;

    #[test]
    fn parts_are_named_as_what_they_are_of() {
        for (symbol, name) in [
            ("f", "f"),
            ("f.part.0", "f"),
            ("f.llvm.123", "f"),
            (".f", ".f"),
            (
                "_ZN4core3ptr42drop_in_place$LT$a..B$GT$17h0123456789abcdefE",
                "_ZN4core3ptr42drop_in_place$LT$a..B$GT$17h0123456789abcdefE",
            ),
        ] {
            assert_eq!(base(symbol.as_bytes()), name.as_bytes());
        }
    }

    #[test]
    fn constructors_have_variants() {
        assert!(is_variant(b"_ZN1SC1Ev", b"_ZN1SC2Ev"));
        assert!(is_variant(b"_ZN1SD2Ev", b"_ZN1SD0Ev"));
        // Functions that are called `C1` and `C2`, and others.
        assert!(!is_variant(b"_ZN1S2C1Ev", b"_ZN1S2C2Ev"));
        assert!(!is_variant(b"_ZN1SC1Ev", b"_ZN1TC1Ev"));
        assert!(!is_variant(b"C1", b"C2"));
    }

    #[test]
    fn gcc_makes_local_aliases() {
        assert!(is_alias(b"f.localalias", b"f") && is_alias(b"f", b"f.localalias.1"));
        assert!(!is_alias(b"f.localalias", b"g") && !is_alias(b"f.part.0", b"f") && !is_alias(b"f", b"f"));
        assert!(!is_alias(b"f.localaliases", b"f"));
    }

    #[test]
    fn what_shares_an_address_is_named() {
        let listed = |names: &[&[u8]]| super::listed(names, || None);
        assert_eq!(names(&listed(&[b"a", b"_ZN1SC1Ev"])), "`a` and `S::S`");
        assert_eq!(names(&listed(&[b"a", b"b", b"c"])), "`a`, `b` and 1 more");
        let many: Vec<&[u8]> = vec![b"a"; 1000];
        assert_eq!(names(&listed(&many)), "`a`, `a` and 998 more");
        assert_eq!(listed(&many).first.len(), NAMED);
    }

    #[test]
    fn arguments_of_a_type_are_not_repeated() {
        assert_eq!(without_repeated("a::Core<&M, b::S<T>>::roll<&M, b::S<T>>"), "a::Core<&M, b::S<T>>::roll");
        assert_eq!(without_repeated("a::Core<fn() -> M>::roll<fn() -> M>"), "a::Core<fn() -> M>::roll");
        for name in ["a::f<T>", "a::Core<T>::map<T, U>", "a::Core<T>::roll", "f", ""] {
            assert_eq!(without_repeated(name), name);
        }
    }

    #[test]
    fn instances_of_one_function_are_told_apart() {
        let [one, two]: [&[u8]; 2] =
            [b"_ZN1a13Core$LT$M$GT$4roll17h0123456789abcdefE", b"_ZN1a13Core$LT$M$GT$4roll17hfedcba9876543210E"];
        let listed = |described: Option<&str>| names(&super::listed(&[one, two], || described.map(Arc::from)));
        assert_eq!(listed(None), "`a::Core<M>::roll::h0123456789abcdef` and `a::Core<M>::roll::hfedcba9876543210`");
        assert_eq!(listed(Some("a::Core<u8>::roll")), "`a::Core<u8>::roll` and `a::Core<M>::roll::hfedcba9876543210`");
        let overloads: [&[u8]; 2] = [b"_ZN1a1fEi", b"_ZN1a1fEl"];
        assert_eq!(names(&super::listed(&overloads, || None)), "`a::f(int)` and `a::f(long)`");
    }
}
