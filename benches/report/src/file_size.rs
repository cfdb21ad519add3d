//! Bytes of the file for each further copy of a point: a point that is inlined 10,000 times,
//! compared with the same code without it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use object::{Object as _, ObjectSection as _, SectionFlags, elf};

use crate::contender::{C, C_COMPILERS, Contender, RUST};
use crate::generate::{Package, c_library};
use crate::markdown;

const FUNCTIONS: usize = 100;
const COPIES_IN_A_FUNCTION: usize = 100;
const COPIES: usize = FUNCTIONS * COPIES_IN_A_FUNCTION;

/// Sizes of a file in bytes.
#[derive(Clone, Copy)]
struct Sizes {
    /// All of it.
    file: u64,
    /// The sections that are loaded.
    loaded: u64,
}

impl Sizes {
    fn read(path: &Path) -> Result<Self> {
        let data = fs::read(path).with_context(|| path.display().to_string())?;
        let file = object::File::parse(&*data)?;
        let is_loaded =
            |flags| matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_ALLOC));
        let loaded = file.sections().filter(|section| is_loaded(section.flags())).map(|section| section.size()).sum();
        Ok(Self { file: data.len() as u64, loaded })
    }

    /// Bytes for each copy over those of `none`.
    fn for_each_copy(self, none: Self) -> [String; 2] {
        [(self.file, none.file), (self.loaded, none.loaded)]
            .map(|(with, without)| format!("{:.1}", (with as f64 - without as f64) / COPIES as f64))
    }
}

/// One row for each contender: bytes of the file and loaded bytes for each copy, without debug
/// information and with all of it.
pub(crate) fn table(folder: &Path) -> Result<String> {
    let mut columns = Vec::new();
    for debug in ["none", "full"] {
        let mut column = Vec::new();
        for contender in RUST.iter().filter(|contender| !contender.is_only_timed()) {
            let name = format!("file_size_{}", contender.name);
            let package = Package::new(folder, &name, "cdylib", contender, "", &rust_source(contender))?;
            // Without debug information cargo would strip the file, including the sites of markers.
            let variables = [("CARGO_PROFILE_RELEASE_DEBUG", debug), ("CARGO_PROFILE_RELEASE_STRIP", "none")];
            column.push((contender.title.to_owned(), Sizes::read(&package.library(&variables)?)?));
        }
        columns.push(column);
    }
    let mut rows = rows(&columns);
    for compiler in C_COMPILERS {
        let mut columns = Vec::new();
        for debug in ["-g0", "-g"] {
            let mut column = Vec::new();
            for (contender, title) in C {
                let title = if contender == "NONE" { format!("{compiler}: {title}") } else { title.to_owned() };
                let file =
                    c_library(&folder.join("c"), compiler, contender, &["-O2", debug], "file_size", &c_source())?;
                column.push((title, Sizes::read(&file)?));
            }
            columns.push(column);
        }
        rows.extend(self::rows(&columns));
    }
    Ok(markdown::table(
        &["bytes for each copy", "file, no debug information", "loaded", "file, full debug information", "loaded"],
        &rows,
    ))
}

/// A row for each contender; the others are compared with the first.
fn rows(columns: &[Vec<(String, Sizes)>]) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for column in columns {
        let Some(&(_, none)) = column.first() else { continue };
        rows.resize(column.len(), Vec::new());
        for (row, (title, sizes)) in rows.iter_mut().zip(column) {
            if row.is_empty() {
                row.push(title.clone());
            }
            row.extend(sizes.for_each_copy(none));
        }
    }
    rows
}

fn rust_source(contender: &Contender) -> String {
    let mut source = contender.head(1);
    let point = contender.point(0, "x", "y");
    let _ = writeln!(
        source,
        "#[inline(always)]\nfn step(x: u32, y: u32) -> u32 {{\n    let x = x.wrapping_mul(y);\n    {point}\n    x ^ y\n}}"
    );
    for function in 0..FUNCTIONS {
        let _ = writeln!(source, "#[unsafe(no_mangle)]\npub extern \"C\" fn f{function}(mut x: u32, y: u32) -> u32 {{");
        source.push_str(&"    x = step(x, y);\n".repeat(COPIES_IN_A_FUNCTION));
        // All functions differ, so compilers do not merge them.
        let _ = writeln!(source, "    x ^ {function}\n}}");
    }
    source
}

fn c_source() -> String {
    let mut source = "#include <stdint.h>\n#include \"point.h\"\n\
         static inline __attribute__((always_inline)) uint32_t step(uint32_t x, uint32_t y)\n\
         {\n    x *= y;\n    POINT(step, x, y);\n    return x ^ y;\n}\n"
        .to_owned();
    for function in 0..FUNCTIONS {
        let _ = writeln!(source, "uint32_t f{function}(uint32_t x, uint32_t y)\n{{");
        source.push_str(&"    x = step(x, y);\n".repeat(COPIES_IN_A_FUNCTION));
        let _ = writeln!(source, "    return x ^ {function};\n}}");
    }
    source
}
