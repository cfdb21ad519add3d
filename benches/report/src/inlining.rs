//! The size up to which a function is inlined, with a point and without.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;

use crate::code::Code;
use crate::contender::{C, C_COMPILERS, Contender, RUST};
use crate::generate::{Package, c_library};
use crate::markdown;

/// The number of operations of the largest function.
const LARGEST: usize = 120;

/// How many places call each function. One would be special: the only call of a private function is
/// always inlined.
const CALLERS: usize = 3;

/// One row for each contender: the size of the largest function that is inlined at all of its
/// calls.
pub(crate) fn table(folder: &Path) -> Result<String> {
    let mut rows = Vec::new();
    for contender in &RUST {
        if contender.is_only_timed() {
            continue;
        }
        let mut row = vec![contender.title.to_owned()];
        for level in ["2", "3", "s"] {
            let name = format!("inlining_{}", contender.name);
            let source =
                format!("{}{}{}", contender.head(LARGEST + 1), rust_functions(contender, ""), rust_callers(""));
            let package = Package::new(folder, &name, "cdylib", contender, "", &source)?;
            row.push(largest(&package.library(&[("CARGO_PROFILE_RELEASE_OPT_LEVEL", level)])?)?);
        }
        let name = format!("inlining_{}_library", contender.name);
        let source = format!("{}{}", contender.head(LARGEST + 1), rust_functions(contender, "pub "));
        let library = Package::new(folder, &name, "rlib", contender, "", &source)?;
        let dependency = format!("{name} = {{ path = \"{}\" }}", library.folder().display());
        let name = format!("inlining_{}_user", contender.name);
        let source = rust_callers(&format!("inlining_{}_library::", contender.name));
        let user = Package::new(folder, &name, "cdylib", contender, &dependency, &source)?;
        row.push(largest(&user.library(&[("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3")])?)?);
        rows.push(row);
    }
    let rust = markdown::table(&["", "`-O2`", "`-O3`", "`-Os`", "of another crate, `-O3`"], &rows);

    let mut rows = Vec::new();
    for (contender, title) in C {
        let mut row = vec![title.to_owned()];
        for compiler in C_COMPILERS {
            for level in ["-O2", "-O3", "-Os"] {
                let file = c_library(&folder.join("c"), compiler, contender, &[level], "inlining", &c_source())?;
                row.push(largest(&file)?);
            }
        }
        rows.push(row);
    }
    let c = markdown::table(&["C", "gcc `-O2`", "`-O3`", "`-Os`", "clang `-O2`", "`-O3`", "`-Os`"], &rows);
    Ok(format!("{rust}\n{c}"))
}

/// The largest size up to which every function is inlined at all calls.
fn largest(file: &Path) -> Result<String> {
    let code = Code::read(file)?;
    let stands_alone = |size: &usize| {
        let name = format!("sized_{size}");
        code.functions().any(|function| function.name.rsplit("::").next() == Some(&name))
    };
    Ok((1..=LARGEST).find(stands_alone).map_or_else(|| format!("> {LARGEST}"), |size| (size - 1).to_string()))
}

/// A body of `size` operations on `x`, with `point` in the middle.
fn body(size: usize, point: &str, multiply: &str) -> String {
    let mut body = String::new();
    for operation in 0..size {
        if operation == size / 2 {
            let _ = writeln!(body, "    {point}");
        }
        let constant = 0x9e37_79b1 + 2 * (size * LARGEST + operation);
        let operation =
            if operation % 2 == 0 { multiply.replace("{}", &constant.to_string()) } else { format!("x ^= {constant}") };
        let _ = writeln!(body, "    {operation};");
    }
    body
}

fn rust_functions(contender: &Contender, visibility: &str) -> String {
    let mut source = String::new();
    for size in 1..=LARGEST {
        let body = body(size, &contender.point(size, "x", "y"), "x = x.wrapping_mul({})");
        let _ = writeln!(source, "{visibility}fn sized_{size}(mut x: u32, y: u32) -> u32 {{\n{body}    x ^ y\n}}");
    }
    source
}

fn rust_callers(path: &str) -> String {
    let mut source = String::new();
    for size in 1..=LARGEST {
        for caller in 0..CALLERS {
            let _ = writeln!(
                source,
                "#[unsafe(no_mangle)]\npub extern \"C\" fn caller_{caller}_{size}(x: u32, y: u32) -> u32 {{\n    \
                 {path}sized_{size}(x, y) ^ {caller}\n}}"
            );
        }
    }
    source
}

fn c_source() -> String {
    let mut source = "#include <stdint.h>\n#include \"point.h\"\n".to_owned();
    for size in 1..=LARGEST {
        let body = body(size, &format!("POINT(p{size}, x, y);"), "x *= {}u");
        let _ = writeln!(
            source,
            "static inline uint32_t sized_{size}(uint32_t x, uint32_t y)\n{{\n{body}    return x ^ y;\n}}"
        );
        for caller in 0..CALLERS {
            let _ = writeln!(
                source,
                "uint32_t caller_{caller}_{size}(uint32_t x, uint32_t y) {{ return sized_{size}(x, y) ^ {caller}; }}"
            );
        }
    }
    source
}
