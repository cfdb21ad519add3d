//! Where gdb finds an image in memory.
//!
//! gdb relocates no number. It evaluates the expression of a breakpoint again whenever it loads or
//! relocates a file, so an expression with a symbol follows its file. But gdb may read a name in another
//! way: it takes `f.part.0` for `f`, quoted text of two characters for a character, `clo::main` for a
//! namespace, and prefers a local variable, or a function of another file. So one name is used for all
//! places, of a function where none of that is likely, and the bytes in memory must confirm each place:
//! the build id, or the code itself. The expression of another place divides by zero.

use std::collections::HashMap;

use super::SiteOmission;
use crate::address::Vaddr;
use crate::image::{Image, ImageKind};

/// Expressions for the addresses of an image.
pub(super) struct LoadAddresses<'a> {
    image: &'a Image<'a>,
    /// The convenience variable that holds the difference to the link-time addresses.
    base: String,
    /// A function that gdb finds by its name, and its address; `None` if the image is loaded at its
    /// link-time addresses.
    anchor: Option<(&'a str, Vaddr)>,
    /// The address and the first bytes of the build id.
    id: Option<(Vaddr, u64)>,
}

impl<'a> LoadAddresses<'a> {
    /// `module` is an identifier.
    pub(super) fn of(image: &'a Image<'a>, module: &str) -> Result<Self, SiteOmission> {
        let anchor = match image.kind() {
            ImageKind::Executable => None,
            kind => Some(anchor(image, kind).ok_or(SiteOmission::NoAnchor)?),
        };
        // The note begins with three numbers and `GNU`.
        let id =
            image.section_address(".note.gnu.build-id", None).and_then(|note| Some(Vaddr(note.0.checked_add(16)?)));
        let id = id.filter(|_| image.build_id().is_some_and(|id| id.len() >= 16));
        let id = id.and_then(|at| Some((at, word(image, at)?)));
        Ok(Self { image, base: format!("$smark_base_{module}"), anchor, id })
    }

    /// The commands that find the image.
    pub(super) fn find(&self) -> Vec<String> {
        let base = &self.base;
        let (name, at) = match self.anchor {
            None => ("", Vaddr(0)),
            Some((name, at)) => (name, at),
        };
        let found = match self.anchor {
            None => "0".to_owned(),
            // gdb would read a quoted letter, or two, as a character.
            Some(_) if name.len() < 3 => format!("(unsigned long)&{name} - {at}"),
            Some(_) => format!("(unsigned long)&'{name}' - {at}"),
        };
        let mut lines = vec![format!("set $smark_try = {found}")];
        if let Some(check) = self.check("$smark_try", at) {
            lines.extend([
                format!("if !({check})"),
                "echo smark: the script was made for another build of the program\\n".to_owned(),
                "smark_refuses".to_owned(),
                "end".to_owned(),
            ]);
        }
        lines.push(format!("set {base} = $smark_try"));
        if self.anchor.is_some() {
            let check = self.check("$smark_try", at).unwrap_or_else(|| "1".to_owned());
            lines.extend([
                "# It never stops: gdb evaluates its expression again, before those of the others, when it loads the program"
                    .to_owned(),
                format!("break *(($smark_try = {found}), {check} ? ({base} = $smark_try) + {at} : 1/0)"),
                "disable $bpnum".to_owned(),
            ]);
        }
        lines
    }

    /// How many breakpoints these commands set.
    pub(super) fn breakpoints(&self) -> usize {
        usize::from(self.anchor.is_some())
    }

    /// An expression for a link-time address at run time.
    pub(super) fn reach(&self, to: Vaddr) -> String {
        let base = &self.base;
        match self.check(base, to) {
            Some(check) => format!("({check} ? {base} + {to} : 1/0)"),
            None => format!("({base} + {to})"),
        }
    }

    /// An expression that says whether the image is at a base. Without a build id the code at `to` tells.
    fn check(&self, base: &str, to: Vaddr) -> Option<String> {
        let (at, bits) = self.id.or_else(|| Some((to, word(self.image, to)?)))?;
        Some(format!("*(unsigned long *)({base} + {at}) == {bits:#x}UL"))
    }
}

/// Eight bytes of the file, which no loader changes.
fn word(image: &Image<'_>, at: Vaddr) -> Option<u64> {
    let is_constant = !image.is_writable(at, 8);
    let bytes = image.bytes(at, 8).filter(|_| is_constant)?;
    Some(u64::from_le_bytes(*bytes.first_chunk()?))
}

/// The function that gdb is most likely to find by its name: `main` of a program, and otherwise the one
/// with the longest name, because no local variable and no other file has such a name.
fn anchor<'a>(image: &'a Image<'_>, kind: ImageKind) -> Option<(&'a str, Vaddr)> {
    let symbols = image.functions();
    let mut count: HashMap<&[u8], u32> = HashMap::new();
    symbols.every().for_each(|symbol| *count.entry(symbols.name(symbol)).or_default() += 1);
    let is_plain = |name: &&str| {
        !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
    };
    // A crate may be called `main`, and gdb takes that name for the crate.
    let is_rust_main = |name: &str| name.contains("4main17h") || name.starts_with("_RNvC") && name.ends_with("4main");
    let candidates = symbols.every().filter(|symbol| symbol.size() > 0 && !symbol.is_indirect() && !symbol.is_weak());
    let candidates = candidates.filter_map(|symbol| {
        let name = symbols.name(symbol);
        let is_unique = count.get(name) == Some(&1);
        let name = std::str::from_utf8(name).ok().filter(is_plain).filter(|_| is_unique)?;
        let is_program = kind == ImageKind::Pie;
        let rank = (is_program && is_rust_main(name), is_program && name == "main", symbol.is_global(), name.len());
        Some((rank, name, Vaddr(symbol.start)))
    });
    candidates.filter(|(_, _, at)| image.bytes(*at, 1).is_some()).max().map(|(_, name, at)| (name, at))
}
