//! Markers on targets without an installed standard library, down to the bytes of the object file.
//!
//! The compiler can still generate code for them. A crate with `#![no_core]` declares the few items
//! that the expansion needs, and calls the procedural macro as `simple_mark!` does on that target.
//! The output is read with `readelf` and `llvm-objdump`, and compared with the output of
//! `simple_marker.h` for the same markers with the C compiler of that target.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools;

/// A target, with facts from its ABI and from the ELF supplement of its architecture.
struct Target {
    /// Its name in `simple_mark!`.
    name: &'static str,
    triple: &'static str,
    big_endian: bool,
    address_size: u8,
    /// The relocation types of an address, and of an offset in the string table.
    relocations: [&'static str; 2],
    /// The operands of `marked` below. `None` on x86, where arguments are on the stack and the
    /// compiler chooses the registers.
    operands: Option<&'static str>,
    /// The bytes of a `nop`.
    nop: &'static [u8],
    /// The C compiler and its options.
    gcc: &'static [&'static str],
}

const TARGETS: [Target; 6] = [
    Target {
        name: "x86",
        triple: "i686-unknown-linux-gnu",
        big_endian: false,
        address_size: 4,
        relocations: ["R_386_32", "R_386_32"],
        operands: None,
        nop: &[0x90],
        gcc: &["gcc", "-m32", "-msse2"],
    },
    Target {
        name: "x86_64",
        triple: "x86_64-unknown-linux-gnu",
        big_endian: false,
        address_size: 8,
        relocations: ["R_X86_64_64", "R_X86_64_32"],
        operands: Some("-4@edi 8@rsi 8@rdx 1@cl 8f@rax 4f@r8d"),
        nop: &[0x90],
        gcc: &["gcc", "-m64"],
    },
    Target {
        name: "aarch64",
        triple: "aarch64-unknown-linux-gnu",
        big_endian: false,
        address_size: 8,
        relocations: ["R_AARCH64_ABS64", "R_AARCH64_ABS32"],
        operands: Some("-4@w0 8@x1 8@x2 1@w3 8f@x8 4f@w9"),
        nop: &[0x1f, 0x20, 0x03, 0xd5],
        gcc: &["aarch64-linux-gnu-gcc"],
    },
    Target {
        name: "aarch64",
        triple: "aarch64_be-unknown-linux-gnu",
        big_endian: true,
        address_size: 8,
        relocations: ["R_AARCH64_ABS64", "R_AARCH64_ABS32"],
        operands: Some("-4@w0 8@x1 8@x2 1@w3 8f@x8 4f@w9"),
        nop: &[0x1f, 0x20, 0x03, 0xd5],
        gcc: &["aarch64-linux-gnu-gcc", "-mbig-endian"],
    },
    Target {
        name: "riscv64",
        triple: "riscv64gc-unknown-linux-gnu",
        big_endian: false,
        address_size: 8,
        relocations: ["R_RISCV_64", "R_RISCV_32"],
        operands: Some("-4@a0 8@a1 8@a2 1@a3 8f@a4 4f@a5"),
        nop: &[0x01, 0x00],
        gcc: &["riscv64-linux-gnu-gcc"],
    },
    Target {
        name: "riscv32",
        triple: "riscv32gc-unknown-linux-gnu",
        big_endian: false,
        address_size: 4,
        relocations: ["R_RISCV_32", "R_RISCV_32"],
        operands: Some("-4@a0 4@a1 4@a2 1@a3 8f@fa0 4f@a4"),
        nop: &[0x01, 0x00],
        gcc: &["riscv64-linux-gnu-gcc", "-march=rv32gc", "-mabi=ilp32d"],
    },
];

/// The items that the compiler requires, and those of `core` and `simple_markers` that the
/// expansion uses.
const PRELUDE: &str = r#"
#![feature(no_core, lang_items, rustc_attrs, auto_traits)]
#![allow(internal_features, non_camel_case_types)]
#![no_core]
#![crate_type = "lib"]

#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "copy"]
pub trait Copy: Sized {}
impl Copy for i32 {}
impl Copy for u8 {}
impl Copy for u32 {}
impl Copy for u64 {}
impl Copy for usize {}
impl Copy for f32 {}
impl Copy for f64 {}
impl<T: PointeeSized> Copy for *const T {}
impl<T: PointeeSized> Copy for &T {}
#[lang = "freeze"]
unsafe auto trait Freeze {}
#[lang = "sync"]
unsafe auto trait Sync {}

/// The macro's errors are calls of `::core::compile_error!`.
extern crate self as core;
#[rustc_builtin_macro]
#[macro_export]
macro_rules! compile_error { () => {}; }
#[rustc_builtin_macro]
macro_rules! asm { () => {}; }
#[rustc_builtin_macro]
macro_rules! global_asm { () => {}; }
#[rustc_builtin_macro]
macro_rules! concat { () => {}; }
#[rustc_builtin_macro]
macro_rules! file { () => {}; }
#[rustc_builtin_macro]
macro_rules! line { () => {}; }
#[rustc_builtin_macro]
macro_rules! column { () => {}; }

pub mod conversion {
    pub enum d {}
    pub enum zu {}
    pub enum hhu {}
    pub enum f {}
    pub enum lu {}
}

pub mod __private {
    use super::PointeeSized;
    pub(crate) use {asm, column, concat, file, global_asm, line};
    pub mod primitive {
        pub use {f32, f64, i32, u64, u8, usize};
    }
    #[inline(always)]
    pub fn bits32(value: f32) -> u32 { unsafe { *(&raw const value as *const u32) } }
    #[inline(always)]
    pub fn bits64(value: f64) -> u64 { unsafe { *(&raw const value as *const u64) } }
    pub const fn check_path(_: &str) {}
    pub const fn check_template_path(_: &str) {}
    pub const fn shown<L, T: PointeeSized>(_: *const T) {}
    pub const fn address<T: PointeeSized>(_: *const T) {}
    pub const fn kept_scalar<L, T>(_: *const T) {}
    pub const fn kept_pointer<T>(_: *const T) {}
}
use simple_markers_macros::marker;

"#;

/// `TARGET` is replaced by the target's name.
const MARKED: &str = r#"#[no_mangle]
pub fn marked(x: i32, n: usize, p: *const u8, b: u8, g: f64, h: f32) {
    marker!(crate TARGET targets:plain, "nothing $ {{}} \" \\ %%");
    marker!(crate TARGET targets:anchored, "%p %d", &x, x, options(anchor));
    marker!(crate TARGET targets:kept, "%d %zu %p %hhu %f %f", keep x, keep n, keep p, keep b, keep g, keep h: f32);
}
"#;

const MARKED_IN_C: &str = r#"#include "simple_marker.h"
void marked(int x, __SIZE_TYPE__ n, const unsigned char *p, unsigned char b, double g, float h)
{
    simple_mark(targets:plain, "nothing $ {} \" \\ %%");
    simple_mark_anchor(targets:anchored, "%p %d", &x, x);
    simple_mark_keep(targets:kept, "%d %zu %p %hhu %f %f", x, n, p, b, g, h);
}
"#;

/// A record of `.debug.simple_marker.2` in an object file, with its strings.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    length: u16,
    flags: u8,
    address_size: u8,
    line: u32,
    column: u32,
    /// Name, file, format, args, operands.
    strings: [String; 5],
    pc: Relocation,
    /// The types of the strings' five relocations.
    kinds: Vec<String>,
}

/// A relocation: its type, its symbol, and the symbol's value plus the addend. The addend may be in
/// the record.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Relocation {
    kind: String,
    value: u64,
}

struct Object<'a> {
    path: PathBuf,
    target: &'a Target,
}

impl Object<'_> {
    fn integer(&self, bytes: &[u8]) -> u64 {
        let push = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        if self.target.big_endian { bytes.iter().fold(0, push) } else { bytes.iter().rev().fold(0, push) }
    }

    /// The relocations of a section by offset, from `readelf`.
    fn relocations(&self, section: &str) -> BTreeMap<u64, Relocation> {
        let printed = tools::run(Command::new("readelf").args(["--relocs", "--wide"]).arg(&self.path));
        let ours = printed.split("Relocation section '").filter(|part| {
            let name = part.split('\'').next().unwrap_or_default();
            name == format!(".rel{section}") || name == format!(".rela{section}")
        });
        let number = |digits: &str| u64::from_str_radix(digits, 16).ok();
        let row = |line: &str| {
            let words: Vec<_> = line.split_whitespace().collect();
            let (offset, symbol) = (number(words.first()?)?, number(words.get(3)?)?);
            let addend = if words.get(5) == Some(&"+") { number(words.get(6)?)? } else { 0 };
            Some((offset, Relocation { kind: (*words.get(2)?).to_owned(), value: symbol + addend }))
        };
        ours.flat_map(str::lines).filter_map(row).collect()
    }

    fn records(&self) -> Vec<Record> {
        let sites = fixture::section(&self.path, ".debug.simple_marker.2").expect("sites");
        let strings = fixture::section(&self.path, ".debug.simple_marker.str").expect("strings");
        let relocations = self.relocations(".debug.simple_marker.2");
        let size = usize::from(self.target.address_size);
        let relocated = |at: usize, size: usize| {
            let Relocation { kind, value } = relocations[&(at as u64)].clone();
            Relocation { kind, value: value + self.integer(&sites[at..at + size]) }
        };
        let starts = (0..sites.len()).step_by(32 + size);
        let record = |start: usize| {
            let field = |at: usize, size: usize| self.integer(&sites[start + at..start + at + size]);
            let string = |index: usize| relocated(start + 12 + size + 4 * index, 4);
            let text = |index: usize| {
                let bytes = &strings[string(index).value as usize..];
                let end = bytes.iter().position(|byte| *byte == 0).expect("a NUL");
                String::from_utf8(bytes[..end].to_vec()).expect("UTF-8")
            };
            Record {
                length: field(0, 2) as u16,
                flags: field(2, 1) as u8,
                address_size: field(3, 1) as u8,
                line: field(4 + size, 4) as u32,
                column: field(8 + size, 4) as u32,
                strings: [0, 1, 2, 3, 4].map(text),
                pc: relocated(start + 4, size),
                kinds: (0..5).map(|index| string(index).kind).collect(),
            }
        };
        let mut records: Vec<_> = starts.map(record).collect();
        records.sort_by_key(|record| record.line);
        records
    }

    /// The bytes of the code section.
    fn code(&self) -> Vec<u8> {
        [".text.marked", ".text"]
            .into_iter()
            .filter_map(|name| fixture::section(&self.path, name))
            .find(|code| !code.is_empty())
            .expect("code")
    }
}

/// The procedural macro, built by cargo as for a user.
fn macros() -> &'static Path {
    static MACROS: LazyLock<PathBuf> = LazyLock::new(build_macros);
    &MACROS
}

fn build_macros() -> PathBuf {
    let fixture = Fixture::new("targets-macros").file("src/lib.rs", "");
    let messages = tools::run(fixture.cargo("build").arg("--message-format=json"));
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let macros = artifacts.filter(|message| message["target"]["name"] == "simple_markers_macros");
    let files: Vec<_> = macros.filter_map(|message| message["filenames"][0].as_str().map(PathBuf::from)).collect();
    let [file] = &files[..] else { panic!("{messages}") };
    file.clone()
}

/// The `rustc` command for a crate of [`PRELUDE`] and `marked`, in the target's folder.
fn compile(target: &Target, name: &str, marked: &str, macros: &Path) -> (Command, PathBuf) {
    let source = format!("{}{}", PRELUDE, marked.replace("TARGET", target.name));
    let fixture = Fixture::empty(&format!("targets-{name}-{}", target.triple)).file("marked.rs", &source);
    let object = fixture.folder().join("marked.o");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(fixture.folder()).env("RUSTC_BOOTSTRAP", "1");
    rustc.args(["--edition=2021", "-O", "--target", target.triple, "marked.rs", "--emit"]);
    rustc.arg(format!("obj={}", object.display())).arg("--extern");
    rustc.arg(format!("simple_markers_macros={}", macros.display()));
    (rustc, object)
}

#[test]
fn the_records_of_each_target() {
    // The items that the compiler requires from `core` differ between versions.
    if !tools::is_recorded_compiler() {
        return;
    }
    let macros = macros();
    for target in &TARGETS {
        let (mut rustc, path) = compile(target, "rust", MARKED, macros);
        fixture::succeeds_silently(&mut rustc);
        let object = Object { path, target };
        check_rust(&object);
        compare_with_c(&object);
    }
}

fn check_rust(object: &Object<'_>) {
    let Target { triple, address_size, relocations, nop, .. } = object.target;
    let first_line = PRELUDE.lines().count() as u32 + 3;
    let records = object.records();
    let expected = [
        ("targets:plain", r#"nothing $ {} " \ %%"#, "", 0),
        ("targets:anchored", "%p %d", "&x, x", 1),
        ("targets:kept", "%d %zu %p %hhu %f %f", "x, n, p, b, g, h", 2),
    ];
    assert_eq!(records.len(), expected.len(), "{triple}");
    for (index, (record, (name, format, args, flags))) in records.iter().zip(expected).enumerate() {
        let line = first_line + index as u32;
        assert_eq!((record.length, record.address_size), (u16::from(*address_size) + 30, *address_size), "{triple}");
        assert_eq!((record.flags, record.line, record.column), (flags, line, 5), "{triple}");
        assert_eq!(record.strings[..4], [name, "marked.rs", format, args], "{triple}");
        assert_eq!(record.pc.kind, relocations[0], "{triple}");
        assert_eq!(record.kinds, [relocations[1]; 5], "{triple}");
    }
    let operands = &records[2].strings[4];
    match object.target.operands {
        Some(expected) => assert_eq!(operands, expected, "{triple}"),
        None => {
            let registers = operands.split(' ').map(|entry| entry.split_once('@').expect("an operand"));
            let (sizes, registers): (Vec<_>, Vec<_>) = registers.unzip();
            assert_eq!(sizes, ["-4", "4", "4", "1", "8f", "4f"], "{triple}");
            for (size, register) in sizes.iter().zip(registers) {
                let kind = match *size {
                    "1" => register.len() == 2 && register.ends_with('l'),
                    "4" | "-4" | "4f" => register.len() == 3 && register.starts_with('e'),
                    _ => register.starts_with("xmm"),
                };
                assert!(kind, "{triple}: {size}@{register}");
            }
        }
    }
    assert_eq!([&records[0].strings[4], &records[1].strings[4]], ["", ""], "{triple}");

    // Only the anchor is between the first marker and the next two.
    let (anchor, kept) = (records[1].pc.value as usize, records[2].pc.value as usize);
    let code = object.code();
    assert_eq!(records[0].pc.value as usize, anchor, "{triple}");
    assert_eq!(code[anchor..anchor + nop.len()], **nop, "{triple}");
    assert!(kept >= anchor + nop.len() && kept < code.len(), "{triple}: {kept}");

    let declarations = fixture::declarations(&object.path);
    let mut expected: Vec<_> = records
        .iter()
        .map(|Record { line, strings: [name, file, format, args, _], .. }| {
            [name, file, &line.to_string(), format, args].map(String::clone)
        })
        .collect();
    expected.sort();
    assert_eq!(declarations, expected, "{triple}");

    let headers = fixture::section_headers(&object.path);
    for (section, flags) in
        [("__simple_marker.1", None), (".debug.simple_marker.2", None), (".debug.simple_marker.str", Some("MS"))]
    {
        let row = headers.lines().find(|row| row.split_whitespace().any(|word| word == section)).expect("a section");
        let fields: Vec<_> = row.split(section).nth(1).unwrap_or_default().split_whitespace().collect();
        let said = match fields[..] {
            ["PROGBITS", _, _, _, "00", _, _, "1"] => None,
            ["PROGBITS", _, _, _, "01", flags, _, _, "1"] => Some(flags),
            _ => panic!("{triple}: {row}"),
        };
        assert_eq!(said, flags, "{triple}: {row}");
    }
}

/// The same markers in C must have the same records, except for their place and the compilers'
/// choice of registers.
fn compare_with_c(rust: &Object<'_>) {
    let Target { triple, gcc: [gcc, options @ ..], .. } = rust.target else { panic!("no compiler") };
    if tools::find(gcc).is_none() {
        return;
    }
    let source = Fixture::empty(&format!("targets-c-{triple}")).file("marked.c", MARKED_IN_C);
    let path = source.folder().join("marked.o");
    let mut compile = Command::new(gcc);
    compile.current_dir(source.folder()).args(options).args(["-O2", "-fno-pic", "-Wall", "-Werror", "-c", "marked.c"]);
    compile.arg("-I").arg(fixture::workspace().join("markers/include")).arg("-o").arg(&path);
    fixture::succeeds_silently(&mut compile);
    let c = Object { path, target: rust.target };

    let comparable = |object: &Object<'_>| -> Vec<_> {
        let records = object.records().into_iter().map(|record| {
            let [name, _, format, args, operands] = record.strings;
            let registers = operands.split(' ').map(|entry| entry.split('@').next().unwrap_or_default().to_owned());
            let sizes: Vec<_> = registers.collect();
            let strings = [name, format, args];
            (record.length, record.flags, record.address_size, strings, sizes, record.pc.kind, record.kinds)
        });
        records.collect()
    };
    assert_eq!(comparable(rust), comparable(&c), "{triple}");
    let declared = |object: &Object<'_>| -> Vec<_> {
        let declarations = fixture::declarations(&object.path).into_iter();
        declarations.map(|[name, _, _, format, args]| [name, format, args]).collect()
    };
    assert_eq!(declared(rust), declared(&c), "{triple}");
}

/// The macro reports an error if no register holds 64 bits.
#[test]
fn a_64_bit_value_is_not_kept_on_a_32_bit_target() {
    if !tools::is_recorded_compiler() {
        return;
    }
    const MESSAGE: &str = "a 64-bit value does not fit a register of this 32-bit target: mark the place without `keep`";
    const WIDE: &str =
        "#[no_mangle]\npub fn marked(w: u64) {\n    marker!(crate TARGET targets:wide, \"%lu\", keep w);\n}\n";
    let macros = macros();
    for target in &TARGETS {
        let (mut rustc, _) = compile(target, "wide", WIDE, macros);
        let rustc = rustc.args(["-A", "dead_code"]);
        if target.address_size == 8 {
            fixture::succeeds_silently(&mut *rustc);
        } else {
            let error = fixture::fails(&mut *rustc);
            assert!(error.contains(MESSAGE), "{}: {error}", target.triple);
        }
    }
}
