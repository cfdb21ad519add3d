//! A ghost changes no byte of the program: builds with ghosts and with an empty macro in their place
//! have the same loaded sections. For clang, which does not keep that for every function, the test
//! counts the functions that differ.
//!
//! The declarations of the ghosts are complete all the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SectionFlags, SectionKind, SymbolKind, elf};
use simple_markers_resolver::resolve::{Detail, Diagnostic, DiagnosticSeverity, resolve_with};
use simple_markers_tests::fixture;
use simple_markers_tests::generator::{Form, Program, Variant};
use simple_markers_tests::header::{Compiler, Language};
use simple_markers_tests::matrix::{Build, Markers, TOOLCHAIN};
use simple_markers_tests::tools::{find, run, slice};

const SEED: u64 = 1;
const FUNCTIONS: usize = 16;

const GHOST: Form = Form::Marked(Variant::Ghost);

/// The levels of each compiler, and options for link-time optimisation: then a program is linked.
const RUST: [&[&str]; 5] =
    [&["-Copt-level=3"], &["-Copt-level=2"], &["-Copt-level=s"], &["-Copt-level=1"], &["-Copt-level=3", "-Clto=fat"]];
const C: [&[&str]; 5] = [&["-O3"], &["-O2"], &["-Os"], &["-O1"], &["-O2", "-flto"]];

/// The bytes of a section, and its relocations.
type Section = (Vec<u8>, Vec<String>);

/// The sections that a program has in memory, with their bytes and relocations. The hash in a mangled
/// name is left out.
fn loaded(image: &Path) -> BTreeMap<String, Vec<Section>> {
    let data = fs::read(image).unwrap_or_else(|error| panic!("{}: {error}", image.display()));
    let file = object::File::parse(&*data).expect("an ELF file");
    let mut sections: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags } = section.flags() else { continue };
        let name = section.name().expect("a name");
        if sh_flags & u64::from(elf::SHF_ALLOC) == 0 || section.size() == 0 || section.kind() == SectionKind::Note {
            continue;
        }
        let relocations = section.relocations().map(|(offset, relocation)| format!("{offset} {relocation:?}"));
        let relocations = match file.kind() {
            object::ObjectKind::Relocatable => relocations.map(|text| without_symbol(&text)).collect(),
            _ => Vec::new(),
        };
        let of_name = sections.entry(name.to_owned()).or_default();
        of_name.push((section.data().expect("its bytes").to_vec(), relocations));
    }
    assert!(!sections.is_empty(), "{} has sections", image.display());
    sections
}

/// A relocation without the number of its symbol: a ghost may add symbols.
fn without_symbol(relocation: &str) -> String {
    let start = relocation.find("target: ").unwrap_or(relocation.len());
    let end = relocation[start..].find(')').map_or(relocation.len(), |end| start + end);
    format!("{}{}", &relocation[..start], &relocation[end..])
}

pub(crate) fn assert_same(what: &str, ghosts: &Path, empty: &Path) {
    let (ghosts, empty) = (loaded(ghosts), loaded(empty));
    let different: Vec<_> =
        ghosts.keys().chain(empty.keys()).filter(|name| ghosts.get(*name) != empty.get(*name)).collect();
    assert!(different.is_empty(), "{what}: {different:?} differ");
}

/// Whether the options ask for link-time optimisation.
fn is_linked(options: &[&str]) -> bool {
    options.iter().any(|option| option.contains("lto"))
}

/// Compiles one file of Rust, as an object or as a program.
fn rust(build: &Build<'_>, source: &Path, options: &[&str], more: &[&str]) -> PathBuf {
    let (kind, emit, extension) = match is_linked(options) {
        true => ("--crate-type=bin", "--emit=link", ""),
        false => ("--crate-type=lib", "--emit=obj", "o"),
    };
    let mut compilation = build.compilation(source, &[kind, emit, "-Ccodegen-units=1", "-Cdebuginfo=2"]);
    compilation.args(options).args(more);
    run(&mut compilation);
    build.folder().join(source.file_stem().expect("a name")).with_extension(extension)
}

/// The names of the ghosts that an image declares, sorted.
fn declared(image: &Path) -> Vec<String> {
    let data = fs::read(image).expect("the image");
    let resolution = resolve_with(&image.to_string_lossy(), &data, Detail::Names);
    assert!(resolution.failures.is_empty(), "{:?}", resolution.failures);
    let mut names = Vec::new();
    for image in &resolution.images {
        let is_note = |it: &Diagnostic| it.severity == DiagnosticSeverity::Note;
        assert!(image.diagnostics.iter().all(is_note), "{}: {:?}", image.path, image.diagnostics);
        for marker in &image.markers {
            assert!(marker.is_ghost && marker.declared, "{}", marker.name);
            names.push(marker.name.to_string());
        }
    }
    names.sort();
    names
}

/// The names of all markers of a program, sorted.
fn all(program: &Program) -> Vec<String> {
    let mut names: Vec<String> = program.markers.iter().map(|marker| marker.name.clone()).collect();
    names.sort();
    names
}

#[test(cases = RUST, desk = [0])]
fn ghosts_change_no_byte_of_generated_rust(options: &[&str]) {
    let toolchain = &*TOOLCHAIN;
    let program = Program::generate(SEED, FUNCTIONS);
    let build = |form| {
        let build = toolchain.build(Markers::On);
        let source = build.folder().join("program.rs");
        fs::write(&source, program.rust(form).text).expect("the source");
        let image = rust(&build, &source, options, &[&remapped(&build)]);
        (build, image)
    };
    let (_empty, empty) = build(Form::Empty);
    assert_eq!(declared(&empty), Vec::<String>::new());
    for form in [GHOST, Form::Marked(Variant::Ghosts)] {
        let (_ghosts, ghosts) = build(form);
        assert_same(&format!("{form:?} {options:?}"), &ghosts, &empty);
        assert_eq!(declared(&ghosts), all(&program), "{form:?} {options:?}");
    }
}

/// Both builds have the same path.
pub(crate) fn remapped(build: &Build<'_>) -> String {
    format!("--remap-path-prefix={}=/source", build.folder().display())
}

/// Turns each plain marker that is a statement on a line of its own into `simple_ghost!`.
fn with_ghosts(text: &str) -> (String, usize) {
    let mut count = 0;
    let line = |line: &str| {
        let code = line.split("//~").next().unwrap_or_default().trim();
        let is_ghost = code.starts_with("simple_mark!(") && code.ends_with(");");
        if !is_ghost || code.contains("keep") || code.contains("options(") || code.matches("simple_mark!").count() > 1 {
            return line.to_owned();
        }
        count += 1;
        line.replacen("simple_mark!", "simple_ghost!", 1)
    };
    (text.lines().map(line).collect::<Vec<_>>().join("\n"), count)
}

#[test]
fn ghosts_change_no_byte_of_the_examples() {
    const DEFINITIONS: [&str; 2] = [
        "macro_rules! simple_ghost { ($($ghost:tt)*) => { simple_markers::simple_mark! { $($ghost)*, options(ghost) } } }",
        "macro_rules! simple_ghost { ($($ghost:tt)*) => {} }",
    ];
    // The last root uses the others. A macro of `constructs` has ghosts, so there are more than in the text.
    const EXAMPLES: [(&str, &[&str]); 3] =
        [("ringlog", &["lib.rs"]), ("io-queue", &["main.rs"]), ("constructs", &["library.rs", "main.rs"])];
    let toolchain = &*TOOLCHAIN;
    for (example, roots) in slice("ghosts in examples", &EXAMPLES, &[0, 2]) {
        let sources = fixture::workspace().join("examples").join(example).join("src");
        let levels = if roots.contains(&"main.rs") { &RUST[..] } else { &RUST[..4] };
        for options in slice(example, levels, &[1]) {
            let builds = DEFINITIONS.map(|definition| {
                let build = toolchain.build(Markers::On);
                let mut count = 0;
                for entry in fs::read_dir(&sources).expect("the folder").map(|entry| entry.expect("a file").path()) {
                    let name = entry.file_name().and_then(|name| name.to_str()).expect("a name");
                    let (mut text, ghosts) = with_ghosts(&fs::read_to_string(&entry).expect("the source"));
                    count += ghosts;
                    if roots.contains(&name) {
                        // Behind the documentation of the crate.
                        let at = text.find("\n\n").expect("an empty line");
                        text.insert_str(at + 1, definition);
                    }
                    fs::write(build.folder().join(name), text).expect("the source");
                }
                let mut more = vec![remapped(&build), "--cap-lints=allow".to_owned()];
                let mut images = Vec::new();
                for root in roots {
                    let source = build.folder().join(root);
                    let with = more.clone();
                    let with: Vec<&str> = with.iter().map(String::as_str).collect();
                    if *root == "library.rs" {
                        let library = build.folder().join(format!("lib{example}_library.rlib"));
                        let mut compilation = build.compilation(&source, &["--crate-type=lib", "--emit=link"]);
                        compilation.arg(format!("--crate-name={example}_library")).arg(options[0]).args(&with);
                        run(&mut compilation);
                        more.push(format!("--extern={example}_library={}", library.display()));
                    }
                    if !is_linked(options) || *root == "main.rs" {
                        images.push(rust(&build, &source, options, &with));
                    }
                }
                (build, images, count)
            });
            let [(_, ghosts, count), (_, empty, _)] = &builds;
            assert!(*count > 3, "{example}: {count} ghosts");
            let declarations = |image: &PathBuf| {
                let declarations = fixture::declarations(image);
                declarations.into_iter().filter(|[_, _, line, _, _]| line.starts_with('0')).count()
            };
            let [declared, none] = [ghosts, empty].map(|images| images.iter().map(declarations).sum::<usize>());
            assert!(declared >= *count && none == 0, "{example}: {declared} of {count} ghosts, {none}");
            for (ghosts, empty) in ghosts.iter().zip(empty) {
                assert_same(&format!("{example} {options:?}"), ghosts, empty);
            }
        }
    }
}

/// Compiles the generated program with a C compiler, with ghosts and with the empty macro.
fn c(compiler: Compiler, program: &Program, options: &[&str], folder: &Path) -> [PathBuf; 2] {
    [(GHOST, "ghosts"), (Form::Empty, "empty")].map(|(form, name)| {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let source = folder.join("program.c");
        fs::write(&source, program.c(form).text).expect("the source");
        let image = folder.join(if is_linked(options) { "program" } else { "program.o" });
        let mut command = compiler.command(Language::C);
        command.args(["-g", "-w"]).args(options).arg(format!("-ffile-prefix-map={}=/source", folder.display()));
        command.args(if is_linked(options) { &["-Wl,--build-id=none"][..] } else { &["-c"] });
        run(command.arg(&source).arg("-o").arg(&image));
        image
    })
}

#[test(cases = C, desk = [0, 2])]
fn ghosts_change_no_byte_of_generated_c_by_gcc(options: &[&str]) {
    if find("gcc").is_none() {
        return;
    }
    let program = Program::generate(SEED, FUNCTIONS);
    let folder = tempfile::tempdir().expect("a folder");
    let [ghosts, empty] = c(Compiler::Gcc, &program, options, folder.path());
    assert_same(&format!("gcc {options:?}"), &ghosts, &empty);
    assert_eq!(declared(&ghosts), all(&program), "gcc {options:?}");
    assert_eq!(declared(&empty), Vec::<String>::new());
}

#[test(cases = C.into_iter().take(4), desk = [1])]
fn few_functions_differ_by_clang(options: &[&str]) {
    if find("clang").is_none() {
        return;
    }
    let program = Program::generate(SEED, FUNCTIONS);
    let folder = tempfile::tempdir().expect("a folder");
    let [ghosts, empty] = c(Compiler::Clang, &program, options, folder.path());
    assert_eq!(declared(&ghosts), all(&program), "clang {options:?}");
    let [ghosts, empty] = [ghosts, empty].map(|image| functions(&image));
    let different: Vec<_> = empty.iter().filter(|(name, code)| ghosts.get(*name) != Some(code)).collect();
    note!("clang {options:?}: {} of {} functions differ", different.len(), empty.len());
    assert!(different.len() * 50 <= empty.len(), "clang {options:?}: {}", different.len());
}

/// The bytes of each function of an object.
fn functions(image: &Path) -> BTreeMap<String, Vec<u8>> {
    let data = fs::read(image).expect("the object");
    let file = object::File::parse(&*data).expect("an ELF file");
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let code = functions.map(|symbol| {
        let section = file.section_by_index(symbol.section_index().expect("a section")).expect("a section");
        let code = section.data_range(symbol.address(), symbol.size()).expect("its bytes").expect("its bytes");
        (symbol.name().expect("a name").to_owned(), code.to_vec())
    });
    code.collect()
}

const HEADER: &str = r#"
#include <simple_marker.h>
struct queue { unsigned depth; };
static inline int inlined(int a) {
    if (a > 3) {
        simple_mark_ghost(ghost:inlined, "%d", a);
        a += 2;
    }
    return a;
}
int twice(const struct queue *queue, const char *name);
int twice(const struct queue *queue, const char *name) {
    simple_mark_ghost(ghost:twice, "%u of \"%s\"", queue->depth, name); simple_mark_ghost(ghost:empty, "");
    return inlined((int)queue->depth);
}
#if defined __cplusplus
inline int extern_inline(int a) { simple_mark_ghost(ghost:comdat, "%d", a); return a; }
int uses(int a);
int uses(int a) { return extern_inline(a) + 1; }
#endif
#if defined WRONG
void wrong(long a);
void wrong(long a) { simple_mark_ghost(ghost:wrong, "%d", a); }
#endif
"#;

#[test]
fn ghosts_of_the_header_are_checked_and_declared() {
    let folder = tempfile::tempdir().expect("a folder");
    for (compiler, language, of) in [
        (Compiler::Gcc, Language::C, "c"),
        (Compiler::Clang, Language::C, "c"),
        (Compiler::Gcc, Language::Cxx, "cc"),
        (Compiler::Clang, Language::Cxx, "cc"),
    ] {
        if find(compiler.name()).is_none() {
            continue;
        }
        let source = folder.path().join(format!("ghosts.{of}"));
        fs::write(&source, HEADER).expect("the source");
        let image = source.with_extension("o");
        let compile = |more: &[&str]| {
            let mut command = compiler.command(language);
            command.args(["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-O2", "-c"]);
            command.args(more).arg(&source).arg("-o").arg(&image);
            command
        };
        fixture::succeeds_silently(&mut compile(&[]));
        let mut names = vec!["ghost:empty", "ghost:inlined", "ghost:twice"];
        if language == Language::Cxx {
            names.insert(0, "ghost:comdat");
        }
        assert_eq!(declared(&image), names, "{}", compiler.name());
        let text = |image: &Path| loaded(image).into_iter().filter(|(name, _)| name.contains("simple")).count();
        assert_eq!(text(&image), 0, "{}", compiler.name());
        fixture::succeeds_silently(&mut compile(&["-DSIMPLE_MARKER_OFF"]));
        assert_eq!(declared(&image), Vec::<String>::new());
        let errors = fixture::fails(&mut compile(&["-DWRONG"]));
        assert!(errors.contains("-Werror") && errors.contains("format"), "{errors}");
    }
}
