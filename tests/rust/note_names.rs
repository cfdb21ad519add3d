//! The names and types that notes of static probes get from debug information: those that the source
//! has there, and no other ones.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use simple_markers_resolver::resolve::{DeclaredArgument, Detail, Marker, NoteParameter, NoteSource, resolve_with};
use simple_markers_tests::fixture;
use simple_markers_tests::tools::{find, output, run, skipped};

/// The names of the arguments of each probe, which the comment behind it has.
fn expected(source: &str) -> BTreeMap<String, Vec<String>> {
    let of = |line: &str| {
        let (call, comment) = line.trim().strip_prefix("STAP_PROBE")?.split_once(" /* ")?;
        let name = call.split(", ").nth(1)?.to_owned();
        let names = comment.strip_suffix(" */")?.split(' ').map(str::to_owned).collect();
        Some((format!("named:{name}"), names))
    };
    source.lines().filter_map(of).collect()
}

/// The name that the debug information gives each argument of a note; `None` where it gives none.
fn given(marker: &Marker) -> Vec<Option<String>> {
    let note = marker.note.as_ref().expect("it is a note");
    let name = |(parameter, declared): (&NoteParameter, &DeclaredArgument)| {
        (parameter.name_from == NoteSource::DebugInfo).then(|| declared.text.to_string())
    };
    note.parameters.iter().zip(&*marker.args).map(name).collect()
}

#[test(cases = ["gcc", "clang"])]
fn a_name_is_that_of_the_source(compiler: &str) {
    if find(compiler).is_none() {
        return;
    }
    let mut header = Command::new(compiler);
    if !output(header.args(["-E", "-include", "sys/sdt.h", "-x", "c", "/dev/null"])).status.success() {
        return skipped("there is no sys/sdt.h");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = fixture::workspace().join("tests/notes/named.c");
    let expected = expected(&fs::read_to_string(&path).expect("the source"));
    assert_eq!(expected.len(), 8);
    for level in ["-O0", "-O1", "-O2", "-O3", "-Os"] {
        let program = folder.path().join("named");
        run(Command::new(compiler).args(["-g", level]).arg(&path).arg("-o").arg(&program));
        let bytes = fs::read(&program).expect("the program");
        let image = resolve_with("named", &bytes, Detail::Places).images.remove(0);
        let (mut named, mut all) = (0, 0);
        for marker in &image.markers {
            let names = &expected[&*marker.name];
            let given = given(marker);
            assert_eq!(given.len(), names.len(), "{compiler} {level} {}", marker.name);
            for (given, name) in given.iter().zip(names) {
                let is_right = given.as_ref().is_none_or(|given| given == name);
                assert!(is_right, "{compiler} {level} {}: {given:?} is {name}", marker.name);
                named += usize::from(given.is_some());
                all += usize::from(name != "-");
            }
        }
        assert_eq!(image.markers.len(), expected.len(), "{compiler} {level}");
        note!("{compiler} {level}: {named} of {all} variables have a name");
        // Without optimisation each variable has a place of its own. clang copies each operand to the stack,
        // where no variable is.
        let least = match (compiler, level) {
            ("clang", _) => 0,
            (_, "-O0") => all,
            _ => all / 2,
        };
        assert!(named >= least, "{compiler} {level}: {named} of {all}");
        let of = |name: &str| image.markers.iter().find(|marker| &*marker.name == name).expect("the note");
        if (compiler, level) == ("gcc", "-O0") {
            let format = "count %d, text %s, state %u{IDLE=0,BUSY=4,DONE=7}, node %p";
            assert_eq!(&*of("named:plain").format, format, "{compiler}");
            let types: Vec<_> = of("named:plain").sites[0].args.iter().map(|it| it.type_name.as_deref()).collect();
            assert_eq!(types, [Some("int"), Some("const char *"), Some("enum state"), Some("const struct node *")]);
            assert_eq!(&*of("named:block").format, "seen %ld", "{compiler}");
        }
    }
}
