//! Makes images with ghosts from a few bytes.

use images::{Linked, Strings, declaration, ghost};
use simple_markers_resolver::record::ghost::Hash;

use super::{byte, part, section_bytes};

/// The files of the declarations. The line program has the first three.
const FILES: [&str; 4] = ["a.c", "/src/a.c", "b.h", "x.c"];

/// So many names have variables in [`names`].
const NAMES: u8 = 4;

/// Where the names of [`names`] start, in bytes from one to the next.
const STEP: usize = 64;

fn name(index: u8) -> String {
    format!("g:{index}")
}

/// `.debug_str`: the name of a label, then for each ghost the names of its two variables.
pub fn names() -> Vec<u8> {
    let hashes = (0..NAMES).map(|index| Hash::new(name(index).as_bytes(), b"", b""));
    let variables = hashes.flat_map(|hash| [hash.variable(), hash.block()]);
    let mut bytes = Vec::new();
    for (index, name) in (1..).zip(std::iter::once("simple_ghost_1_0".to_owned()).chain(variables)) {
        bytes.extend(name.as_bytes());
        bytes.resize(STEP * index, 0);
    }
    bytes
}

/// An image of an input: a part with declarations of ghosts, a part with the code, then what
/// [`section_bytes`] reads. A declaration has a byte for its file and name, and one for its line.
pub fn image(input: &mut &[u8]) -> Vec<u8> {
    let mut declarations = vec![declaration("a:b", "a.c", 3, "", "a")];
    let mut declared = part(input);
    while !declared.is_empty() {
        let (which, line) = (byte(&mut declared), byte(&mut declared));
        declarations.push(ghost(&name(which % NAMES), FILES[usize::from(which >> 2 & 3)], line.into()));
    }
    let mut strings = Strings::default();
    let site = strings.site(0x1018, 3, ["a:b", "a.c", "", "a", ""]);
    let code = part(input);
    let mut image = Linked::new();
    image.functions = vec![("f", 0x1000, 0x100, false)];
    for text in &mut image.sections {
        text.data.iter_mut().zip(code).for_each(|(byte, code)| *byte = *code);
    }
    image.markers(&declarations, &[site], strings).sections(section_bytes(input)).build()
}
