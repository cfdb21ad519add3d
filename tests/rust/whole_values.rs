//! Formats with whole values: what the records say, that the code is that of a `%p`, and what `smark
//! check` says of members that are not there.

use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_tests::fixture::{self, Fixture};
use simple_markers_tests::tools;
use tempfile::TempDir;

/// Each `%p` shows a reference here, so that the same code can be compiled without the braces.
const WHOLE: &str = r#"#![no_std]
use simple_markers::simple_mark;

pub struct Owner {
    pub tag: u32,
    pub name: &'static str,
}

pub struct Queue {
    pub depth: usize,
    pub owner: &'static Owner,
    pub pair: (u8, Owner),
}

#[unsafe(no_mangle)]
pub fn submit(queue: &mut Queue, number: &u32) -> usize {
    simple_mark!(whole:value, "%p{} is %p{*}", queue, *queue);
    queue.depth += 1;
    simple_mark!(whole:members, "%p{depth, owner.name,pair.1.tag} of %p{**}", queue, queue.owner);
    queue.depth += queue.owner.name.len();
    simple_mark!(whole:formatted, "%p{:#06x} %p{:?}", number, &number);
    simple_mark!(whole:ghost, "%p{depth} %p", queue, queue, options(ghost));
    queue.depth
}
"#;

/// Compiles a library to an object, without debug information.
fn object(name: &str, source: &str, level: &str) -> PathBuf {
    let fixture = Fixture::new(name).file("src/lib.rs", source);
    let object = fixture.folder().join("code.o");
    let level = format!("-Copt-level={level}");
    let emit = format!("--emit=obj={}", object.display());
    fixture::succeeds_silently(&mut fixture.rustc(&["-Ccodegen-units=1", &level, &emit]));
    object
}

/// The bytes of all functions, and how long the one with the markers is.
fn code(object: &Path) -> (Vec<Vec<u8>>, usize) {
    let headers = fixture::section_headers(object);
    let names = headers.lines().flat_map(str::split_whitespace).filter(|word| word.starts_with(".text"));
    let code = names.filter_map(|name| fixture::section(object, name)).collect();
    let marked = fixture::section(object, ".text.submit").unwrap_or_else(|| panic!("{headers}"));
    (code, marked.len())
}

#[test]
fn a_whole_value_costs_what_an_address_costs() {
    let without = ["{}", "{*}", "{**}", "{:#06x}", "{:?}", "{depth, owner.name,pair.1.tag}", "{depth}"]
        .iter()
        .fold(WHOLE.to_owned(), |source, braces| source.replace(&format!("%p{braces}"), "%p"))
        .replace("*queue)", "&*queue)");
    for level in tools::slice("whole values", &["0", "1", "2", "3", "s", "z"], &[0, 3]) {
        let whole = object("whole-values", WHOLE, level);
        let address = object("whole-values-address", &without, level);
        let (with, length) = code(&whole);
        assert!(with == code(&address).0 && length > 10, "at opt-level {level}: {length} bytes");
    }
}

#[test]
fn the_records_say_how_a_value_is_shown() {
    let image = object("whole-values-records", WHOLE, "1");
    let records: Vec<_> =
        fixture::declarations(&image).into_iter().map(|[name, _, _, format, args]| [name, format, args]).collect();
    let expected = [
        ["whole:formatted", "%p{:#06x} %p{:?}", "number, &number"],
        ["whole:ghost", "%p{depth} %p", "queue, queue"],
        ["whole:members", "%p{depth, owner.name,pair.1.tag} of %p{**}", "queue, queue.owner"],
        ["whole:value", "%p{} is %p{*}", "queue, *queue"],
    ];
    assert_eq!(records, expected.map(|record| record.map(str::to_owned)));
    let sites: Vec<_> = fixture::sites(&image).into_iter().map(|site| [site.name, site.format, site.args]).collect();
    let expected = expected.into_iter().filter(|[name, ..]| *name != "whole:ghost");
    assert_eq!(sites, expected.map(|record| record.map(str::to_owned)).collect::<Vec<_>>());
}

/// A format in Rust's notation, and the same format in that of printf.
const NOTATIONS: &str = r#"#![no_std]
use simple_markers::{ghosts, simple_mark};

pub struct Queue {
    pub depth: usize,
    pub r#type: (u8, f32),
}

impl Queue {
    #[unsafe(no_mangle)]
    pub fn submit(&mut self, id: u32, name: &str) {
        simple_mark!(rust:places, "request {id} from {name:?}, {} {{waiting}}, {:#010x} 5% {self.type.0:>3}", self.depth, id);
        simple_mark!(printf:places, "request %p{:} from %p{}, %p{:} {{waiting}}, %p{:#010x} 5%% %p{:>3}", id, name, self.depth, id, self.r#type.0);
        self.depth += 1;
        simple_mark!(rust:numbers, "{1:e} {0} {type:?} {}", &self.depth, self.r#type.1, r#type = self.r#type, options(anchor));
        simple_mark!(printf:numbers, "%p{:e} %p{:} %p{} %p{:}", self.r#type.1, &self.depth, self.r#type, &self.depth, options(anchor));
        simple_mark!(rust:kept, "{id} {n:x} {f}", keep id: u32, keep n = id as i16, keep f: f32 = self.r#type.1);
        simple_mark!(printf:kept, "%p{:} %p{:x} %p{:}", keep id: u32, keep n = id as i16, keep f: f32 = self.r#type.1);
        simple_mark!(rust:ghost, "{self.depth}", options(ghost));
        simple_mark!(printf:ghost, "%p{:}", self.depth, options(ghost));
    }

    #[ghosts]
    pub fn pop(&mut self) {
        simple_mark!(rust:attribute, "{self.depth:?}");
        simple_mark!(printf:attribute, "%p{}", self.depth);
        self.depth -= 1;
    }
}
"#;

/// Both notations make the same records.
#[test]
fn rusts_notation_is_that_of_printf_in_the_records() {
    let image = object("whole-values-notations", NOTATIONS, "1");
    let (mut rusts, mut printfs) = (Vec::new(), Vec::new());
    for [name, _, _, format, args] in fixture::declarations(&image) {
        match name.split_once(':') {
            Some(("rust", name)) => rusts.push([name.to_owned(), format, args]),
            Some((_, name)) => printfs.push([name.to_owned(), format, args]),
            None => panic!("{name}"),
        }
    }
    assert_eq!(rusts, printfs);
    let texts: Vec<_> = rusts.iter().map(|[name, format, args]| [name.as_str(), format, args]).collect();
    assert_eq!(
        texts,
        [
            ["attribute", "%p{}", "self.depth"],
            ["ghost", "%p{:}", "self.depth"],
            ["kept", "%p{:} %p{:x} %p{:}", "id, n, f"],
            ["numbers", "%p{:e} %p{:} %p{} %p{:}", "self.type.1, &self.depth, self.type, &self.depth"],
            [
                "places",
                "request %p{:} from %p{}, %p{:} {waiting}, %p{:#010x} 5%% %p{:>3}",
                "id, name, self.depth, id, self.type.0",
            ],
        ]
    );
    let sites = fixture::sites(&image);
    assert_eq!(sites.len(), 6);
    for site in sites.iter().filter(|site| site.name.ends_with(":kept")) {
        // The size, the sign and the kind of each number.
        let kinds: Vec<_> =
            site.operands.split(' ').filter_map(|entry| entry.split_once('@')).map(|(kind, _)| kind).collect();
        assert_eq!(kinds, ["4", "-2", "4f"], "{}", site.operands);
    }
}

/// Members that are there, also of an anonymous structure, of a base class and behind pointers, and some
/// that are not.
const MEMBERS: &str = r#"#include <simple_marker.h>
struct declared;
struct owner { int tag; const char *name; };
struct queue { unsigned depth; struct owner *owner; struct declared *declared; struct { int inner; }; };
#ifdef __cplusplus
struct base { static int total; int id; };
struct derived : base { queue held; };
int base::total;
__attribute__((noinline)) void cxx(derived &derived) {
    simple_mark_anchor(right:derived, "%p{id,held.inner,held.owner.tag} %p{total}", &derived, &derived);
    simple_mark_anchor(wrong:derived, "%p{held.tag}", &derived);
    derived.id++;
}
#endif
__attribute__((noinline)) void submit(struct queue *queue, struct declared *declared, int number) {
    simple_mark_anchor(right:members, "%p{depth,owner.tag,inner} %p{*} %p{} %p{:>5}", queue, queue, declared, &number);
    simple_mark_anchor(right:unknown, "%p{depth} %p{declared.depth}", declared, queue);
    simple_mark_anchor(wrong:member, "%p{depth,dept}", queue);
    simple_mark_anchor(wrong:inner, "%p{owner.nam}", queue);
    simple_mark_anchor(wrong:number, "%p{depth.x} %p{x}", queue, &number);
    simple_mark_anchor(wrong:braces, "%p{depth,}", queue);
    queue->depth += number;
}
int main(int count, char **arguments) {
    (void)arguments;
    struct owner owner = { count, "name" };
    struct queue queue = { 1, &owner, 0, { 2 } };
    submit(&queue, 0, count);
#ifdef __cplusplus
    derived derived;
    derived.id = 1, derived.held = queue;
    cxx(derived);
#endif
    return 0;
}
"#;

#[test]
fn smark_check_finds_members_that_are_not_there() {
    let folder = TempDir::new().expect("a folder");
    let (source, program) = (folder.path().join("members.c"), folder.path().join("members"));
    std::fs::write(&source, MEMBERS).expect("the source");
    let compilers: [&[&str]; 4] = [&["gcc"], &["clang"], &["g++", "-x", "c++"], &["clang++", "-x", "c++"]];
    for compiler in tools::slice("members", &compilers, &[0, 2]) {
        let Some(found) = tools::find(compiler[0]) else { continue };
        let mut build = Command::new(found);
        build.args(&compiler[1..]).args(["-g", "-O1", "-Wall", "-Werror", "-I"]);
        let source = source.as_path();
        tools::run(build.arg(fixture::workspace().join("markers/include")).arg(source).arg("-o").arg(&program));
        let check = tools::output(Command::new(fixture::smark()).arg("check").arg(&program));
        let said = String::from_utf8_lossy(&check.stdout);
        let is_cxx = compiler.len() > 1;
        let (queue, owner) = if is_cxx { ("queue", "owner") } else { ("struct queue", "struct owner") };
        let mut wrong = vec![
            format!("`dept` of `%p{{..}}`: `{queue}` has no member `dept`"),
            format!("`owner.nam` of `%p{{..}}`: `{owner}` has no member `nam`"),
            "`depth.x` of `%p{..}`: `unsigned int` has no members".to_owned(),
            "`x` of `%p{..}`: `int` has no members".to_owned(),
            "`%p{..}` takes members with `,` between them, as in `%p{tag,owner.name}`, at `depth,`".to_owned(),
        ];
        wrong.extend(is_cxx.then(|| "`held.tag` of `%p{..}`: `queue` has no member `tag`".to_owned()));
        for wrong in &wrong {
            assert!(said.contains(wrong), "{compiler:?}: {wrong}\n{said}");
        }
        // One marker has two.
        let findings: Vec<_> = said.lines().filter(|line| line.starts_with("error[SM040]")).collect();
        assert_eq!(findings.len(), wrong.len() - 1, "{said}");
        assert!(findings.iter().all(|line| line.contains("wrong:")), "{findings:?}");
    }
}
