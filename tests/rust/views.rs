//! Views of library types: a value in a running process is shown as the program itself prints it.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use simple_markers_resolver::resolve::{Argument, Detail, Request, resolve_request};
use simple_markers_resolver::types::{
    MemoryFunction, Object, ReadContext, Shape, Type, TypeTable, ValueTree, tree, write_json, write_text,
};
use simple_markers_resolver::views::ViewTable;
use simple_markers_tests::fixture::{self, Fixture, Process, workspace};
use simple_markers_tests::own_views::{example, with_own_types};
use simple_markers_tests::tools::{find, output, run, skipped};

/// A value: its name, the text that the program prints, and its text and JSON as they are read.
type Shown = (String, String, [String; 2]);

/// Runs a program and reads the values that it prints.
fn shown(program: &Path) -> Vec<Shown> {
    shown_with(program, &ViewTable::default())
}

/// The same with views of a user.
fn shown_with(program: &Path, views: &ViewTable) -> Vec<Shown> {
    let request = Request::new(Detail::Everything).views(views);
    let resolution = resolve_request(&program.to_string_lossy(), &fs::read(program).expect("the program"), request);
    let markers = || resolution.images.iter().flat_map(|image| &image.markers);
    let mut process = Process::start(Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()));
    let lines = BufReader::new(process.stdout.take().expect("its output")).lines();
    let lines: Vec<String> = lines.map(|line| line.expect("a line")).take_while(|line| line != "end").collect();
    let memory = File::open(format!("/proc/{}/mem", process.id())).expect("its memory");
    let value = |line: String| {
        let [name, address, text] = line.splitn(3, '\t').collect::<Vec<_>>().try_into().expect("three words");
        let marker = markers().find(|marker| *marker.name == format!("views:{name}"));
        let site = marker.and_then(|marker| marker.sites.first()).unwrap_or_else(|| panic!("no site of {name}"));
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("an address");
        let tree = read(&site.args[0], address, &memory);
        let (mut ours, mut json) = (String::new(), String::new());
        write_text(&tree, site.args[0].language, &mut ours);
        write_json(&tree, &mut json);
        (name.to_owned(), text.to_owned(), [ours, json])
    };
    lines.into_iter().map(value).collect()
}

/// The value of an argument, or what it refers to, at an address. Its type was in a file.
fn read(argument: &Argument, address: u64, memory: &File) -> ValueTree {
    let of = argument.ty.clone().expect("a type");
    let of = match &of.shape {
        Shape::Pointer { to: Some(to) } => Arc::clone(to),
        _ => of,
    };
    let (table, numbers) = TypeTable::new(&[of]);
    let types = table.types("types").expect("a table");
    let of: &Type = &types[numbers[0].expect("a number")];
    let mut bytes = vec![0; of.size.and_then(|size| usize::try_from(size).ok()).expect("a size")];
    memory.read_exact_at(&mut bytes, address).expect("the value");
    let memory = MemoryFunction(|address: u64, into: &mut [u8]| memory.read_exact_at(into, address).is_ok());
    tree(of, Object::new(&bytes), &ReadContext::new(argument.language, &memory))
}

/// The names of the values that were compared. All of them are what the program prints.
fn names(values: &[Shown]) -> Vec<&str> {
    let wrong: Vec<_> = values.iter().filter(|(_, text, [ours, _])| text != ours).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    values.iter().map(|(name, ..)| &**name).collect()
}

fn json<'v>(values: &'v [Shown], name: &str) -> &'v str {
    values.iter().find(|(known, ..)| known == name).map(|(.., [_, json])| &**json).expect("a value")
}

#[test]
fn types_of_rusts_library_are_shown_as_debug_shows_them() {
    let source = fs::read_to_string(workspace().join("tests/views/main.rs")).expect("the source");
    let fixture = Fixture::new("views").file("src/main.rs", &source);
    fixture::succeeds_silently(&mut fixture.rustc(&["-Cdebuginfo=2"]));
    let values = shown(&fixture.built("views"));
    let expected = [
        "ring",
        "jobs",
        "empty",
        "units",
        "map",
        "numbers",
        "none",
        "set",
        "tree",
        "leaf",
        "no_tree",
        "names",
        "list",
        "heap",
        "cell",
        "lock",
        "shared",
        "times",
        "addresses",
        "address",
        "time",
        "instant",
        "ranges",
        "sockets",
        "cows",
        "cells",
        "locks",
        "lazies",
        "pins",
        "maybe",
    ];
    assert_eq!(names(&values), expected);
    assert_eq!(json(&values, "leaf"), r#"{"a":1,"b":2}"#);
    assert_eq!(json(&values, "numbers"), r#"[[1,{"id":1,"name":"job1","owner":null}]]"#);
    assert_eq!(json(&values, "times"), r#"["1.5s","42ns","0ns"]"#);
    assert_eq!(
        ["sockets", "cows", "cells", "locks"].map(|name| json(&values, name)),
        [r#"["127.0.0.1:80","[::1%3]:443"]"#, r#"["a","b",[1]]"#, r#"["a",null]"#, r#"["a",null]"#]
    );
    assert!(
        json(&values, "ranges")
            .starts_with(r#"[{"start":1,"end":5},{"start":1,"end":5},{"start":2,"end":2,"exhausted":true},"#)
    );
}

/// The compilers, each with the library that it takes.
fn cpp_compiler(name: &str) -> Option<Command> {
    let (compiler, flags): (_, &[&str]) = match name {
        "libc++" => ("clang++", &["-stdlib=libc++"]),
        compiler => (compiler, &[]),
    };
    let mut command = Command::new(find(compiler)?);
    command.args(flags).args(["-std=c++17", "-g", "-O0", "-I"]).arg(workspace().join("markers/include"));
    if name == "libc++" {
        let mut empty = Command::new(compiler);
        empty.args(flags).args(["-fsyntax-only", "-include", "version", "-x", "c++", "/dev/null"]);
        if !output(&mut empty).status.success() {
            skipped("libc++ is not installed");
            return None;
        }
    }
    Some(command)
}

#[test(cases = ["g++", "clang++", "libc++"], desk = [0])]
fn types_of_the_library_of_cpp_are_shown_with_their_elements(compiler: &str) {
    let Some(mut build) = cpp_compiler(compiler) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("views");
    run(build.arg(workspace().join("tests/views/main.cc")).arg("-o").arg(&program));
    let values = shown(&program);
    let source = fs::read_to_string(workspace().join("tests/views/main.cc")).expect("the source");
    let marked: Vec<_> = source.split("simple_mark(views:").skip(1).filter_map(|rest| rest.split(',').next()).collect();
    assert_eq!(names(&values), marked);
    let json = |name| json(&values, name);
    assert_eq!(
        [json("tree"), json("hash"), json("maybe"), json("not_there"), json("none")],
        [r#"{"a":1,"b":2}"#, r#"[[7,{"id":7,"name":"seven"}]]"#, "4", "null", "null"]
    );
    assert_eq!(
        [json("pair"), json("tuple"), json("single"), json("second"), json("third"), json("valueless")],
        [
            r#"{"first":1,"second":"one"}"#,
            r#"[1,"two",{},0.5]"#,
            "[7]",
            r#"{"1":"text"}"#,
            r#"{"2":{"id":2,"name":"b"}}"#,
            "null"
        ]
    );
    assert_eq!([json("in_front"), json("forward"), json("no_function")], [r#"["a","b","c","d"]"#, "[1,2,3]", "null"]);
    let referred = r#"{"number":5,"text":"there","letter":"t","named":-7,"job":{"id":1,"name":"job"}}"#;
    assert_eq!([json("references"), json("wrapped")], [referred, "5"]);
}

#[test]
fn a_user_describes_types_of_other_crates() {
    let fixture = with_own_types("own-views");
    let program = fixture.built("own-views");
    let values = shown_with(&program, &ViewTable::parse(&example()).expect("views"));
    let expected = ["bytes", "slice", "few", "many", "texts", "more_texts", "buffer", "other"];
    assert_eq!(names(&values), expected);
    assert_eq!([json(&values, "bytes"), json(&values, "few")], [r#""hello""#, "[1,2]"]);
    // Without its view it is the structure that it is.
    let plain = shown(&program);
    let [text, _] = &plain.iter().find(|(name, ..)| name == "buffer").expect("the buffer").2;
    assert!(text.starts_with("Buffer { start: 0x"), "{text}");
}
