//! Crates as users write them. Each must build without a warning, and its image must have the
//! expected records in `readelf`.

use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_tests::fixture::{self, Fixture, Site};
use simple_markers_tests::tools;

/// Asserts that an image has these declarations, and a matching site for each.
///
/// `expected`: name, file, the text on its line of `source`, format, args.
#[track_caller]
fn has(image: &Path, source: &str, expected: &[[&str; 5]]) -> Vec<Site> {
    let mut expected: Vec<_> = expected
        .iter()
        .map(|[name, file, needle, format, args]| {
            [name, file, line(source, needle).to_string().as_str(), format, args].map(str::to_owned)
        })
        .collect();
    expected.sort();
    assert_eq!(fixture::declarations(image), expected);
    let sites = fixture::sites(image);
    let mut said: Vec<_> = sites
        .iter()
        .map(|site| [&site.name, &site.file, &site.line.to_string(), &site.format, &site.args].map(String::clone))
        .collect();
    said.dedup();
    assert_eq!(said, expected);
    assert!(sites.iter().all(|site| site.column != 0), "{sites:?}");
    sites
}

/// The only line that contains `needle`.
#[track_caller]
fn line(source: &str, needle: &str) -> usize {
    let mut lines = source.lines().enumerate().filter(|(_, line)| line.contains(needle));
    let Some((index, _)) = lines.next() else { panic!("no `{needle}`") };
    assert!(lines.next().is_none(), "two lines have `{needle}`");
    index + 1
}

#[track_caller]
fn has_none(image: &Path) {
    let headers = fixture::section_headers(image);
    assert!(headers.contains(".text") && !headers.contains("simple_marker"), "{headers}");
}

/// A binary in which the optimiser cannot remove the markers.
const MAIN: &str = r#"
use simple_markers::simple_mark;

struct Queue {
    depth: u32,
    tags: [u64; 2],
}

#[inline(never)]
fn dispatch(queue: &Queue, name: &str, scale: f64) {
    simple_mark!(queue:dispatch, "%s: %u waiting, %lx %g", name, queue.depth, queue.tags[1], scale);
    simple_mark!(queue:kept, "%u of %zu", keep queue.depth, keep length = queue.tags.len(), options(anchor));
    simple_mark!("plain name", "nothing");
}

fn main() {
    let queue = Queue { depth: 1, tags: [2, 3] };
    dispatch(std::hint::black_box(&queue), "main", 0.5);
}
"#;

const MAIN_RECORDS: &[[&str; 5]] = &[
    [
        "queue:dispatch",
        "src/main.rs",
        "queue:dispatch",
        "%s: %u waiting, %lx %g",
        "name, queue.depth, queue.tags[1], scale",
    ],
    ["queue:kept", "src/main.rs", "queue:kept", "%u of %zu", "queue.depth, length"],
    ["plain name", "src/main.rs", "plain name", "nothing", ""],
];

#[test]
fn editions() {
    for edition in ["2018", "2021", "2024"] {
        let dependency = format!("[dependencies]\nsimple-markers = {}", fixture::markers(""));
        let fixture = Fixture::empty(&format!("usage-edition-{edition}")).manifest(edition, &dependency);
        let sites = has(&fixture.file("src/main.rs", MAIN).binary(), MAIN, MAIN_RECORDS);
        let [plain, dispatch, kept] = &sites[..] else { panic!("{sites:?}") };
        assert_eq!((plain.flags, dispatch.flags, kept.flags), (0, 0, 3));
        assert_eq!((plain.column, dispatch.operands.as_str()), (5, ""));
        let operands: Vec<_> = kept.operands.split(' ').map(|entry| &entry[..2]).collect();
        assert_eq!(operands, ["4@", "8@"], "{}", kept.operands);
    }
}

#[test]
fn a_renamed_dependency() {
    let source = "fn main() {\n    marks::simple_mark!(renamed:marker, \"here\");\n}\n";
    let dependency = fixture::markers(", package = \"simple-markers\"");
    let fixture = Fixture::empty("usage-renamed").manifest("2024", &format!("[dependencies]\nmarks = {dependency}"));
    let image = fixture.file("src/main.rs", source).binary();
    has(&image, source, &[["renamed:marker", "src/main.rs", "renamed", "here", ""]]);
}

const FACADE: &str = r#"
pub use simple_markers;
pub use simple_markers::simple_mark as mark;

#[macro_export]
macro_rules! traced {
    ($($t:tt)*) => { $crate::mark!($($t)*) };
}
#[macro_export]
macro_rules! parts {
    ($name:ident, $format:literal, $($argument:expr),*) => { $crate::traced!($name, $format, $($argument),*) };
}
#[macro_export]
macro_rules! kept {
    ($format:expr, $value:expr, $place:expr, $width:ty) => {
        $crate::mark!(facade:kept, $format, keep value = $value, keep $place, keep narrow: $width = $place)
    };
}
"#;

/// Like `file!()` and DWARF, the records have the place where the outermost macro was called.
#[test]
fn re_exported_and_wrapped_by_another_crate() {
    let source = r#"
macro_rules! own {
    ($($t:tt)*) => {
        facade::parts!($($t)*)
    };
}

fn main() {
    let (x, pair) = (5i32, (1u8, 2u64));
    facade::simple_markers::simple_mark!(facade:path, "%d", x);
    facade::mark!(facade:renamed, "%hhu", pair.0);
    let _: () = facade::traced!(facade:wrapped, "%lu", pair.1, options(anchor));
    facade::parts!(parts, "%d %lu", x, pair.1);
    facade::kept!("%d %d %hd", x + 1, x, i32);
        own!(own, "%p", &x);
}
"#
    .replace("%hd", "%d");
    let fixture = Fixture::empty("usage-facade")
        .manifest("2021", "[dependencies]\nfacade = { path = \"facade\" }")
        .file("src/main.rs", &source)
        .file("facade/src/lib.rs", FACADE)
        .file(
            "facade/Cargo.toml",
            &(fixture::package("facade", "2018") + "[dependencies]\nsimple-markers = " + &fixture::markers("")),
        );
    let sites = has(
        &fixture.binary(),
        &source,
        &[
            ["facade:path", "src/main.rs", "facade:path", "%d", "x"],
            ["facade:renamed", "src/main.rs", "facade:renamed", "%hhu", "pair.0"],
            ["facade:wrapped", "src/main.rs", "facade:wrapped", "%lu", "pair.1"],
            ["parts", "src/main.rs", "parts!(parts", "%d %lu", "x, pair.1"],
            ["facade:kept", "src/main.rs", "facade::kept!", "%d %d %d", "value, x, narrow"],
            ["own", "src/main.rs", "own!(own", "%p", "&x"],
        ],
    );
    let own = sites.iter().find(|site| site.name == "own");
    assert_eq!(own.map(|site| site.column), Some(9));
}

/// Every form of argument, in a crate that forbids what can be forbidden.
const STRICT: &str = r#"//! Strict.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unused, clippy::all, clippy::pedantic, clippy::nursery)]
#![deny(rust_2018_idioms, rust_2021_compatibility, rust_2024_compatibility, future_incompatible)]
#![deny(unused_qualifications, trivial_casts, trivial_numeric_casts, unused_results, single_use_lifetimes)]
use core::cell::Cell;
use simple_markers::simple_mark;

/// A command.
#[derive(Debug)]
pub struct Command<'a, T> {
    /// Its tag.
    pub tag: u64,
    /// Its name.
    pub name: &'a str,
    /// What it carries.
    pub payload: T,
    /// A raw identifier.
    pub r#type: [i16; 4],
    /// A pair.
    pub pair: (bool, Option<Box<u8>>),
}

mod counts {
    pub static COUNT: (u32, u8) = (7, 8);
}

impl<T: Copy + Into<u64>> Command<'_, T> {
    /// Marks each form.
    pub fn mark(&self, cell: &Cell<i8>, mut scratch: u8, only_marked: char) -> u64 {
        simple_mark!(strict:places, "%lu %s %p %hd %d %p", self.tag, self.name, &self.payload, self.r#type[3], self.pair.0, self.pair.1);
        simple_mark!(strict:references, "%s %hhd %c %hhu", *self.name, cell, only_marked, scratch,);
        simple_mark!(strict:path, "%u %hhu", counts::COUNT.0, keep counts::COUNT.1);
        simple_mark!(strict:kept, "%lu %p %p %hhu %f %c", keep self.tag, keep self, keep &self.payload, keep scratch, keep half = 0.5f32, keep only_marked);
        simple_mark!(strict:values, "%lu %*d %s", keep payload: u64 = self.payload.into(), keep width = 4i16, keep (self.r#type)[0], self.name);
        simple_mark!("strict anchor", "%%", options(anchor));
        scratch = scratch.wrapping_add(1);
        let closure = |extra: u64| {
            simple_mark!(strict:closure, "%lu %hhu", extra, scratch);
            extra + self.tag
        };
        match closure(1) {
            0 => simple_mark!(strict:arm, "zero"),
            more => simple_mark!(strict:arm, "%lu", more),
        }
        self.tag
    }
}

/// For `if let`.
#[must_use]
pub fn moved(command: Command<'static, u8>) -> Option<Box<u8>> {
    let Command { pair, .. } = command;
    simple_mark!(strict:unmoved, "%lu %s", command.tag, keep start = command.name.as_ptr().cast::<core::ffi::c_char>());
    pair.1
}
"#;

#[test]
fn lints_are_silent() {
    if tools::find("cargo-clippy").is_none() {
        return;
    }
    for (name, features) in [("usage-strict", ""), ("usage-strict-off", ", features = [\"off\"]")] {
        let dependency = format!("[dependencies]\nsimple-markers = {}", fixture::markers(features));
        let package = "license = \"MIT\"\n";
        let fixture = Fixture::empty(name).manifest("2024", &format!("{package}{dependency}"));
        let fixture = fixture.file("src/lib.rs", STRICT);
        fixture::succeeds_silently(&mut fixture.cargo("clippy"));
    }
}

#[test]
fn names_of_the_user_do_not_reach_into_the_expansion() {
    let source = r#"
#![allow(dead_code, non_camel_case_types, unused_macros)]
use simple_markers::simple_mark;

mod core {}
mod std {}
mod simple_marker {}
mod declaration {
    pub static COUNT: u32 = 1;
}
struct Option;
struct Some;
struct None;
struct bool;
struct i32;
struct u32;
struct u64;
struct f64;
struct c_char;
macro_rules! asm { ($($t:tt)*) => { compile_error!("the user's") }; }
macro_rules! global_asm { ($($t:tt)*) => { compile_error!("the user's") }; }
macro_rules! concat { ($($t:tt)*) => { compile_error!("the user's") }; }
macro_rules! file { () => { compile_error!("the user's") }; }
macro_rules! line { () => { compile_error!("the user's") }; }
macro_rules! column { () => { compile_error!("the user's") }; }
macro_rules! simple_mark_inner { () => { compile_error!("the user's") }; }
macro_rules! marker { ($($t:tt)*) => { compile_error!("the user's") }; }

fn main() {
    let (keep, options, declaration, kept0, d, shown) = (1u8, 2u8, 3u8, 4u8, 5i8, (6u16, 7u8));
    simple_mark!(names:variables, "%u %u %u %u %d %hu", keep, options, declaration, kept0, d, shown.0);
    simple_mark!(names:kept, "%u %u %u %d %g", keep keep, keep kept0 = kept0 + 1, keep kept1 = kept0, keep d, keep float = 1.5f32);
    simple_mark!(names:module, "%u %p", declaration::COUNT, keep &declaration::COUNT);
    simple_mark!(names:parentheses, "%hhu %hhu", keep (shown).1, (shown).1);
    simple_mark!(keep, "%u", options, options(anchor));
    simple_mark!(self:type:fn, "%u", keep r#type = keep);
}
"#;
    let fixture = Fixture::new("usage-shadowed").file("src/main.rs", source);
    has(
        &fixture.binary(),
        source,
        &[
            [
                "names:variables",
                "src/main.rs",
                "names:variables",
                "%u %u %u %u %d %hu",
                "keep, options, declaration, kept0, d, shown.0",
            ],
            ["names:kept", "src/main.rs", "names:kept", "%u %u %u %d %g", "keep, kept0, kept1, d, float"],
            ["names:module", "src/main.rs", "names:module", "%u %p", "declaration::COUNT, &declaration::COUNT"],
            ["names:parentheses", "src/main.rs", "names:parentheses", "%hhu %hhu", "(shown).1, (shown).1"],
            ["keep", "src/main.rs", "simple_mark!(keep,", "%u", "options"],
            ["self:type:fn", "src/main.rs", "self:type", "%u", "type"],
        ],
    );
}

#[test]
fn without_an_allocator_and_without_std() {
    let source = r#"#![no_std]
#![no_main]
use simple_markers::simple_mark;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    simple_mark!(bare:panic, "stopped");
    loop {}
}

#[unsafe(no_mangle)]
extern "C" fn _start(stack: *const u64) -> ! {
    let text = c"text";
    simple_mark!(bare:start, "%p %s %u", keep stack, *text, keep seven = 7u8);
    loop {}
}
"#;
    let dependency = format!("simple-markers = {}", fixture::markers(", default-features = false"));
    let manifest = format!("[dependencies]\n{dependency}\n[profile.dev.package.simple-markers]\nopt-level = 1\n");
    let fixture = Fixture::empty("usage-bare").manifest("2024", &manifest).file("src/main.rs", source);
    let mut build = fixture.cargo("rustc");
    build.args(["--config", "profile.dev.panic='abort'", "--"]);
    fixture::succeeds_silently(build.args(["-Clink-arg=-nostdlib", "-Clink-arg=-static", "-Crelocation-model=static"]));
    has(
        &fixture.built("usage-bare"),
        source,
        &[
            ["bare:panic", "src/main.rs", "bare:panic", "stopped", ""],
            ["bare:start", "src/main.rs", "bare:start", "%p %s %u", "stack, *text, seven"],
        ],
    );
}

/// Prints how often a kept value was evaluated.
const COUNTS: &str = r#"
#![deny(warnings)]
use simple_markers::simple_mark;

fn main() {
    let mut evaluated = 0u32;
    let only_marked = 5i64;
    simple_mark!(off:marker, "%u %ld", keep count = { evaluated += 1; evaluated }, only_marked);
    println!("{evaluated}");
}
"#;

/// The compiler's target. If it is named, cargo does not apply `RUSTFLAGS` to procedural macros.
fn host() -> String {
    let version = tools::run(Command::new("rustc").arg("-vV"));
    version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host").to_owned()
}

/// `cargo build` with `RUSTFLAGS`, and the path of its binary.
fn with_flags(fixture: &Fixture, name: &str, flags: &str) -> (Command, PathBuf) {
    let mut build = fixture.cargo("build");
    build.args(["--target", &host()]).env("RUSTFLAGS", flags);
    (build, fixture::target().join(host()).join("debug").join(name))
}

fn off_dependency() -> String {
    fixture::markers(", features = [\"off\"]")
}

/// Errors are the same if nothing is emitted.
#[test]
fn off_checks_and_emits_nothing() {
    let on = Fixture::new("usage-on").file("src/main.rs", COUNTS).binary();
    assert_eq!(tools::run(&mut Command::new(&on)), "1\n");
    has(&on, COUNTS, &[["off:marker", "src/main.rs", "off:marker", "%u %ld", "count, only_marked"]]);

    let dependency = format!("[dependencies]\nsimple-markers = {}", off_dependency());
    let off = Fixture::empty("usage-off").manifest("2024", &dependency).file("src/main.rs", COUNTS);
    let binary = off.binary();
    assert_eq!(tools::run(&mut Command::new(&binary)), "0\n");
    has_none(&binary);
    let wrong = off.file("src/main.rs", &COUNTS.replace("%ld", "%d"));
    let error = fixture::fails(&mut wrong.cargo("build"));
    assert!(error.contains("`%d` expects (i8, i16, i32, bool), given `i64`: use `%ld`"), "{error}");

    let borrowed = COUNTS.replace(
        "    println!",
        "    let exclusive = &mut evaluated;\n    BORROWED\n    *exclusive += 1;\n    println!",
    );
    for (marker, compiles) in [
        ("simple_mark!(off:place, \"%u\", evaluated);", true),
        ("simple_mark!(off:address, \"%p\", &evaluated);", true),
        ("simple_mark!(off:kept, \"%u\", keep evaluated);", false),
        ("simple_mark!(off:value, \"%u\", keep value = evaluated);", false),
    ] {
        for (name, dependency) in [("usage-borrowed", fixture::markers("")), ("usage-borrowed-off", off_dependency())] {
            let dependency = format!("[dependencies]\nsimple-markers = {dependency}");
            let fixture = Fixture::empty(name).manifest("2024", &dependency);
            let mut check = fixture.file("src/main.rs", &borrowed.replace("BORROWED", marker)).cargo("check");
            if compiles {
                fixture::succeeds_silently(&mut check);
            } else {
                let error = fixture::fails(&mut check);
                assert!(
                    error.contains("error[E0503]: cannot use `evaluated` because it was mutably borrowed"),
                    "{error}"
                );
            }
        }
    }

    let flagged = Fixture::new("usage-off-flag").file("src/main.rs", COUNTS);
    for flags in ["--cfg simple_marker_off", "--cfg miri -Aexplicit_builtin_cfgs_in_flags"] {
        let (mut build, binary) = with_flags(&flagged, "usage-off-flag", flags);
        fixture::succeeds_silently(&mut build);
        assert_eq!(tools::run(&mut Command::new(&binary)), "0\n", "{flags}");
        has_none(&binary);
    }
}

const ODD: &str = "pub fn odd(x: u32) {\n    simple_markers::simple_mark!(odd:path, \"%u\", x);\n}\n";
const ODD_KEPT: &str = "pub fn odd(x: u32) {\n    simple_markers::simple_mark!(odd:path, \"%u\", keep x);\n}\n";

/// A crate whose module `odd` is in the file `src/{path}`.
fn with_path(name: &str, path: &str, text: &str) -> Fixture {
    let main = format!("#[path = {path:?}]\nmod odd;\n\nfn main() {{\n    odd::odd(1);\n}}\n");
    Fixture::new(name).file("src/main.rs", &main).file(&format!("src/{path}"), text)
}

#[test]
fn paths_survive_byte_for_byte() {
    let path = "a b/\u{e9}\u{4e2d}{}{0}{{}} %d %% 'q' $x $$ $0 ${:uid} #;@|&,(c) *.rs";
    let file = format!("src/{path}");
    let fixture = with_path("usage-path", path, ODD);
    has(&fixture.binary(), ODD, &[["odd:path", &file, "odd:path", "%u", "x"]]);

    let path = "a b/\u{e9}\u{4e2d} %d %% 'q' #;@|&,(c) *.rs";
    let file = format!("src/{path}");
    let fixture = with_path("usage-path-kept", path, ODD_KEPT);
    has(&fixture.binary(), ODD_KEPT, &[["odd:path", &file, "odd:path", "%u", "x"]]);
}

#[test]
fn strings_survive_byte_for_byte() {
    let printable: String = (b' '..=b'~').map(char::from).collect();
    let text = format!("{}\t\u{e9}\u{1f980}\x01\u{7f} $x ${{:uid}} {{0}} \\n", printable.replace('%', "%%"));
    // In a format these two braces are text if they are doubled.
    let doubled = text.replace("{:uid}", "{{:uid}}").replace("{0}", "{{0}}");
    let source = format!(
        "use simple_markers::simple_mark;\nfn main() {{\nlet x = 5u8;\nsimple_mark!({text:?}, {doubled:?});\n\
         simple_mark!({:?}, {:?}, keep x, options(anchor));\n}}\n",
        format!("{text}%u"),
        format!("{doubled}%u")
    );
    let binary = Fixture::new("usage-strings").file("src/main.rs", &source).binary();
    let kept = format!("{text}%u");
    let expected = [["4", &text, ""], ["5", &kept, "x"]]
        .map(|[line, text, args]| [text, "src/main.rs", line, text, args].map(str::to_owned));
    assert_eq!(fixture::declarations(&binary), expected);
    let sites = fixture::sites(&binary);
    let sites = sites.iter().map(|site| (&site.name, &site.format, &site.args));
    let expected = expected.each_ref().map(|[name, _, _, format, args]| (name, format, args));
    assert_eq!(sites.collect::<Vec<_>>(), expected);
}

#[test]
fn paths_that_would_not_survive_are_refused() {
    const QUOTE: &str = "the path of this source file has a quote, a backslash or a control character: rename it";
    const BRACE: &str =
        "the path of this source file has a brace or a `$`, which a marker with `keep` cannot record: rename it";
    let cases = [
        ("quote", "a\"b.rs", ODD, QUOTE),
        ("backslash", "a\\b.rs", ODD_KEPT, QUOTE),
        ("newline", "a\nb.rs", ODD, QUOTE),
        // Otherwise the compiler would write a register there, a single brace, or only an error
        // about a template.
        ("placeholder", "a{0}b.rs", ODD_KEPT, BRACE),
        ("next-placeholder", "a{}b.rs", ODD_KEPT, BRACE),
        ("doubled", "a{{b}}.rs", ODD_KEPT, BRACE),
        ("open", "a{b.rs", ODD_KEPT, BRACE),
        ("closed", "a}b.rs", ODD_KEPT, BRACE),
        ("dollar", "a$b.rs", ODD_KEPT, BRACE),
    ];
    for (name, path, text, message) in cases {
        let error = fixture::fails(&mut with_path(&format!("usage-path-{name}"), path, text).cargo("build"));
        let ours = error.split("error[E0080]: ").find(|error| error.contains(message));
        let ours = ours.unwrap_or_else(|| panic!("{path:?}: {error}"));
        assert!(ours.contains(&format!("src/{path}:2:5\n")), "{path:?}: not at the marker: {ours}");
    }
}

#[test]
fn files_that_are_included() {
    let main = r#"
#[path = "elsewhere/other.rs"]
mod module;

fn main() {
    module::f();
    include!("included.in");
    simple_markers::simple_mark!(files:main, "");
}
"#;
    let module = "pub fn f() {\n    simple_markers::simple_mark!(files:module, \"\");\n}\n";
    let fixture = Fixture::new("usage-files")
        .file("src/main.rs", main)
        .file("src/elsewhere/other.rs", module)
        .file("src/included.in", "{\n\n    simple_markers::simple_mark!(files:included, \"\");\n}\n");
    let records = [
        ("files:included", "src/included.in", "3"),
        ("files:main", "src/main.rs", "8"),
        ("files:module", "src/elsewhere/other.rs", "2"),
    ];
    let expected = records.map(|(name, file, line)| [name, file, line, "", ""].map(str::to_owned));
    assert_eq!(fixture::declarations(&fixture.binary()), expected);
}

#[test]
fn documentation_tests() {
    let source =
        "//! ```\n//! let x = 1;\n//! simple_markers::simple_mark!(documentation:test, \"%d\", keep x);\n//! ```\n";
    let fixture = Fixture::new("usage-doc").file("src/lib.rs", source);
    let printed = tools::run(fixture.cargo("test").arg("--doc"));
    assert!(printed.contains("1 passed"), "{printed}");
}

/// A marker must not make a future hold its arguments: it stays the same size, and stays `Send`.
#[test(desk = false)]
fn futures_stay_as_they_are() {
    let source = r#"
#![deny(warnings)]
use simple_markers::simple_mark;
use std::cell::Cell;

async fn other() {}

macro_rules! future {
    (|$array:ident, $pointer:ident, $cell:ident| $($marker:tt)*) => {
        async {
            let $array = [0u64; 64];
            let $pointer: *const u64 = $array.as_ptr();
            let $cell = Cell::new(5i32);
            let _ = std::hint::black_box(($pointer.addr(), $cell.get()));
            $($marker)*
            other().await;
        }
    };
}

fn size<T: Send>(future: &T) -> usize {
    size_of_val(future)
}

fn main() {
    let without = future!(|array, pointer, cell|);
    let places = future! { |array, pointer, cell| simple_mark!(future:places, "%p %d %p", pointer, cell, &array); };
    let kept = future! { |array, pointer, cell| simple_mark!(future:kept, "%p %d", keep pointer, keep value = cell.get()); };
    println!("{}", size(&places) == size(&without) && size(&kept) == size(&without));
}
"#;
    let binary = Fixture::new("usage-async").file("src/main.rs", source).binary();
    assert_eq!(tools::run(&mut Command::new(&binary)), "true\n");
    let args: Vec<_> = fixture::declarations(&binary).into_iter().map(|[name, .., args]| (name, args)).collect();
    let expected = [("future:kept", "pointer, value"), ("future:places", "pointer, cell, &array")];
    assert_eq!(args, expected.map(|(name, args)| (name.to_owned(), args.to_owned())));
}

#[test(desk = false)]
fn flags_of_the_compiler() {
    let fixture = Fixture::new("usage-flags").file("src/main.rs", MAIN);
    let binary = "usage-flags";
    let all = [
        (&["opt-level=3", "lto='fat'", "codegen-units=1"][..], ""),
        (&["opt-level=2", "lto='thin'", "codegen-units=16"], ""),
        (&["opt-level='z'", "debug='full'", "split-debuginfo='off'"], "-Cforce-frame-pointers=yes"),
        (&[], "-Cinstrument-coverage"),
        (&["opt-level=1"], "-Crelocation-model=static -Ctarget-cpu=x86-64-v3"),
    ];
    for (config, flags) in tools::slice("flags", &all, &[1]) {
        let (mut build, binary) = with_flags(&fixture, binary, flags);
        for setting in config {
            build.args(["--config", &format!("profile.dev.{setting}")]);
        }
        fixture::succeeds_silently(&mut build);
        has(&binary, MAIN, MAIN_RECORDS);
        let _ = tools::run(Command::new(&binary).env("LLVM_PROFILE_FILE", "/dev/null"));
    }
}

/// `options(keep)` acts as `keep` before each argument that is a place; an argument with `keep` is
/// unchanged.
#[test]
fn the_option_keep_keeps_every_argument() {
    let source = r#"
use simple_markers::simple_mark;

struct Queue {
    depth: u32,
    load: f32,
    open: bool,
}

#[inline(never)]
fn dispatch(queue: &Queue, small: i16, pointer: *const u8) {
    simple_mark!(all:option, "%u %f %d %d %p %hd %zu", queue.depth, queue.load, queue.open, small, pointer, keep small: i16, keep half = small as usize / 2, options(keep));
    simple_mark!(all:each, "%u %f %d %d %p %hd %zu", keep queue.depth, keep queue.load, keep queue.open, keep small, keep pointer, keep small: i16, keep half = small as usize / 2);
    simple_mark!(all:anchored, "%u", queue.depth, options(keep, anchor,));
    simple_mark!(all:nothing, "no argument", options(anchor, keep));
}

fn main() {
    let queue = Queue { depth: 1, load: 0.5, open: true };
    dispatch(std::hint::black_box(&queue), 7, std::ptr::null());
}
"#;
    let image = Fixture::new("usage-option-keep").file("src/main.rs", source).binary();
    let sites = fixture::sites(&image);
    let site = |name: &str| sites.iter().find(|site| site.name == name).expect("a site");
    let sizes = |site: &Site| -> Vec<String> {
        site.operands.split(' ').map(|entry| entry.split('@').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(sizes(site("all:option")), ["4", "8f", "-4", "-4", "8", "-2", "8"]);
    assert_eq!(sizes(site("all:option")), sizes(site("all:each")));
    assert_eq!(site("all:option").args, site("all:each").args);
    let flags = ["all:option", "all:each", "all:anchored", "all:nothing"].map(|name| site(name).flags);
    assert_eq!(flags, [2, 2, 3, 1]);
}
