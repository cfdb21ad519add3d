//! Static probes in images that a program makes in memory while it runs, as libstapsdt does.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use simple_markers_tests::fixture::{self, Process};
use simple_markers_tests::tools::{ended, find, output, run, skipped};
use simple_markers_tests::watched::{can_watch, compile};

use crate::groups::Smark;

const LIBRARY: &str = "#include <stdio.h>\n#include <sys/sdt.h>\nvoid pass(long a) {\n    \
    STAP_PROBE1(store, passed, a);\n    printf(\"passed: arg0 %ld\\n\", a);\n    fflush(stdout);\n}\n";

/// Whether the program keeps the descriptor of the image.
#[test(cases = ["open", "closed"])]
fn an_image_in_memory_is_found_by_its_mapping(descriptor: &str) {
    if !can_watch() || find("gcc").is_none() {
        return;
    }
    let mut header = Command::new("gcc");
    if !output(header.args(["-E", "-include", "sys/sdt.h", "-x", "c", "/dev/null"])).status.success() {
        return skipped("there is no sys/sdt.h");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let library = compile(folder.path(), "libpass.so", LIBRARY, &["-shared", "-fPIC", "-g0"]);
    let program = folder.path().join("runtime");
    run(Command::new("gcc")
        .arg(fixture::workspace().join("tests/notes/runtime.c"))
        .arg("-o")
        .arg(&program)
        .arg("-ldl"));
    let mut command = Command::new(&program);
    command.arg(&library).args((descriptor == "closed").then_some("close"));
    let mut process = Process::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines().map(|line| line.expect("UTF-8"));
    assert_eq!(lines.next().as_deref(), Some("ready"));
    let pid = process.id().to_string();
    // The file from which it was copied is another one.
    std::fs::remove_file(&library).expect("it is there");
    let listed = ended(Command::new(fixture::smark()).args(["list", "-p", &pid, "store:*"])).success();
    assert!(listed.contains(" pass (note) ") && listed.contains(" store:passed "), "{listed}");
    let traces = [&[][..], &["store:*"]].map(|patterns: &[&str]| {
        let mut trace = Smark::start(&[&["trace", "-p", &pid], patterns].concat());
        trace.wait_for("watching 1 site of 1 marker");
        trace
    });
    let mut count = Smark::start(&["count", "--json", "--by", "arg0", "-p", &pid, "store:*"]);
    count.wait_for("watching 1 site of 1 marker");
    let mut input = process.stdin.take().expect("a pipe");
    let values = [7i64, -3, 7, 1 << 40];
    let mut printed = Vec::new();
    for value in values {
        writeln!(input, "{value}").expect("it reads");
        printed.push(lines.next().expect("a line"));
    }
    for trace in traces {
        let said: Vec<_> =
            trace.end().iter().filter_map(|line| Some(line.split_once(" store:")?.1.to_owned())).collect();
        assert_eq!(said, printed);
    }
    let counted = count.end();
    let object: serde_json::Value = counted.iter().find_map(|line| serde_json::from_str(line).ok()).expect("the count");
    assert_eq!((&object["marker"], &object["hits"]), (&"store:passed".into(), &4.into()), "{object}");
    let by: Vec<_> = object["by"].as_array().expect("a list").iter().map(|it| (it[0].clone(), it[1].clone())).collect();
    assert!(by.contains(&(7.into(), 2.into())), "{object}");
}
