//! Static probes of `<sys/sdt.h>` are watched as markers are: what is traced is what the program
//! prints.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use simple_markers_resolver::resolve::{Detail, SitePlace};
use simple_markers_tests::fixture;
use simple_markers_tests::notes::{readelf, resolved};
use simple_markers_tests::tools::{ended, find, output, run, skipped};
use simple_markers_tests::watched::{can_watch, compile};

use crate::trace::{hits, trace};

/// Compiles `tests/notes/values.c`; `None` if the compiler or the header is missing.
fn compiled(folder: &Path, compiler: &str, options: &[&str]) -> Option<PathBuf> {
    find(compiler)?;
    let mut header = Command::new(compiler);
    header.args(["-E", "-include", "sys/sdt.h", "-x", "c", "/dev/null"]);
    if !output(&mut header).status.success() {
        skipped("there is no sys/sdt.h");
        return None;
    }
    let program = folder.join(format!("values-{compiler}{}", options.concat()));
    let source = fixture::workspace().join("tests/notes/values.c");
    run(Command::new(compiler).arg("-Wall").args(options).arg(source).arg("-o").arg(&program));
    Some(program)
}

/// What smark says of the hits, and what the program printed. The program prints after each probe.
fn compared(program: &Path) -> (Vec<String>, Vec<String>) {
    let lines = trace(&[], &[program]);
    let said = |line: &String| Some(line.split_once(" values:")?.1.to_owned());
    let printed = lines.iter().filter(|line| !line.contains(" values:")).cloned().collect();
    (lines.iter().filter_map(said).collect(), printed)
}

/// Whether a line has what was printed, but for the variables that an operand may name by a symbol.
fn is_read(said: &str, printed: &str) -> bool {
    let is_named = |argument: &str| {
        let named = if printed.starts_with("memory:") { &["arg1 ", "arg2 ", "arg3 "][..] } else { &["arg"] };
        (printed.starts_with("memory:") || printed.starts_with("symbols:"))
            && named.iter().any(|it| argument.starts_with(it))
    };
    let mut pairs = said.split(", ").zip(printed.split(", "));
    pairs.all(|(said, printed)| said == printed || said.ends_with("<unreadable>") && is_named(said))
}

#[test(cases = ["gcc", "clang"])]
fn values_are_those_that_the_program_prints(compiler: &str) {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for options in [&["-O0"][..], &["-O1"], &["-O2"], &["-O3"], &["-O2", "-fno-pie", "-no-pie"]] {
        let Some(program) = compiled(folder.path(), compiler, options) else { return };
        let (said, printed) = compared(&program);
        assert_eq!(said.len(), 4 * 7, "{compiler} {options:?}: {said:#?}");
        assert_eq!(said, printed, "{compiler} {options:?}");
        // Without symbols the notes are still there.
        run(Command::new("strip").arg(&program));
        let (said, printed) = compared(&program);
        let alike = said.iter().zip(&printed).filter(|(said, printed)| is_read(said, printed)).count();
        assert_eq!((said.len(), alike), (4 * 7, 4 * 7), "{compiler} {options:?}, stripped: {said:#?} {printed:#?}");
    }
}

#[test]
fn notes_are_counted_filtered_recorded_and_planned() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled(folder.path(), "gcc", &["-g", "-O2", "-Wl,--build-id"]) else { return };
    let smark = |arguments: &[&str]| {
        let mut smark = Command::new(fixture::smark());
        smark.args(arguments).current_dir(folder.path());
        ended(&mut smark)
    };
    let path = program.to_str().expect("UTF-8");
    let listed: serde_json::Value =
        serde_json::from_str(&smark(&["list", "--json", "values:numbers", path]).success()).expect("JSON");
    let source = std::fs::read_to_string(fixture::workspace().join("tests/notes/values.c")).expect("the source");
    let line = source.lines().position(|line| line.contains("STAP_PROBE8(values, numbers")).expect("the line") + 1;
    assert_eq!(listed["images"][0]["markers"][0]["line"], line);
    let counted = smark(&["count", "--json", "values:numbers", "--where", "arg0 < -2", "--", path]).success();
    let object = counted.lines().find_map(|line| {
        serde_json::from_str::<serde_json::Value>(line).ok().filter(|line| line["marker"] == "values:numbers")
    });
    assert_eq!(object.expect("the count")["hits"], 2);
    smark(&["record", "-o", "recorded", "--", path]).success();
    let reported = smark(&["report", "--json", "recorded"]).lines();
    let (found, _) = hits(&reported);
    assert_eq!(found.len(), 4 * 7);
    smark(&["plan", "-o", "plan.json", path]).success();
    run(Command::new("strip").arg("--remove-section=.note.stapsdt").arg(&program));
    let planned = smark(&["trace", "--json", "--plan", "plan.json", "--", path]).lines();
    assert_eq!(hits(&planned).0.len(), 4 * 7);
}

#[test]
fn notes_of_libraries_are_watched_by_their_names_only() {
    const LIBRARY: &str = "#include <sys/sdt.h>\nvoid pass(int a) { STAP_PROBE1(library, passed, a); }\n";
    const PROGRAM: &str = "#include <sys/sdt.h>\nvoid pass(int);\n\
        int main(void) { STAP_PROBE(program, started); pass(7); return 0; }\n";
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    if compiled(folder.path(), "gcc", &[]).is_none() {
        return;
    }
    let library = compile(folder.path(), "libpass.so", LIBRARY, &["-shared", "-fPIC"]);
    let linked = ["-Wl,--no-as-needed,-rpath,$ORIGIN", library.to_str().expect("UTF-8")];
    let program = compile(folder.path(), "program", PROGRAM, &linked);
    let watched = |selected: &[&str]| -> Vec<String> {
        let mut smark = Command::new(fixture::smark());
        let lines = ended(smark.args(["trace", "--json"]).args(selected).arg("--").arg(&program)).lines();
        hits(&lines).0.iter().map(|hit| hit["marker"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(watched(&[]), ["program:started"]);
    assert_eq!(watched(&["library:*"]), ["library:passed"]);
    assert_eq!(watched(&["*:*"]), ["program:started", "library:passed"]);
    assert_eq!(watched(&[linked[1]]), ["program:started", "library:passed"]);
}

/// A hit: the name of the marker and its values.
type Hit = (String, Vec<i128>);

/// Python passes it for each line, and gdb would stop there.
const TOO_MANY: &str = "python:line";

/// Has `smark trace` watch the notes of a file while gdb stops the program behind each of them. Returns
/// the hits of the two.
fn both(folder: &Path, file: &Path, program: &[&str]) -> (Vec<Hit>, Vec<Hit>) {
    let image = resolved(file, Detail::Places);
    let sites: Vec<_> = image
        .markers
        .iter()
        .flat_map(|marker| marker.sites.iter().map(move |site| (marker, site)))
        .filter(|(marker, _)| &*marker.name != TOO_MANY)
        .filter_map(|(marker, site)| match site.place {
            Some(SitePlace::Address(address)) => {
                Some(json!({ "address": address.0, "name": &*marker.name, "count": site.args.len() }))
            }
            _ => None,
        })
        .collect();
    let is_moved = std::fs::read(file).expect("the file").get(16) == Some(&3);
    let [asked, traced, answered] = ["asked", "traced", "hits"].map(|name| folder.join(name));
    let smark = fixture::smark();
    let question = json!({
        "file": file, "is_moved": is_moved, "sites": sites, "smark": smark, "traced": traced, "hits": answered,
    });
    std::fs::write(&asked, question.to_string()).expect("the file is written");
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-q", "-batch", "-x"]).arg(fixture::workspace().join("tests/notes/stops.py"));
    gdb.arg("--args").args(program).current_dir(folder).env("NOTES_STOPS", &asked);
    let said = ended(&mut gdb).stderr;
    let read = |path| std::fs::read_to_string(path).unwrap_or_else(|_| panic!("{said}"));
    let (mut hits, _) = hits(&read(&traced).lines().map(str::to_owned).collect::<Vec<_>>());
    hits.retain(|hit| hit["marker"] != TOO_MANY);
    let number = |value: &Value| value.to_string().parse::<i128>().unwrap_or_else(|_| panic!("{value} is a number"));
    let ours = hits.iter().map(|hit| {
        let values = hit["args"].as_array().expect("arguments").iter().map(|argument| number(&argument["value"]));
        (hit["marker"].as_str().expect("a name").to_owned(), values.collect())
    });
    let answers = read(&answered);
    let theirs = answers.lines().map(|line| {
        let hit: Vec<Value> = serde_json::from_str(line).expect("JSON");
        (hit[0].as_str().expect("a name").to_owned(), hit[1..].iter().map(number).collect())
    });
    (ours.collect(), theirs.collect())
}

/// Compares the hits, and returns how many there are of how many markers.
fn alike(what: &str, (ours, theirs): (Vec<Hit>, Vec<Hit>)) -> (usize, usize) {
    let first = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
    assert!(
        first.is_none() && ours.len() == theirs.len(),
        "{what}: {} hits, {} of gdb; {:?}",
        ours.len(),
        theirs.len(),
        first.map(|index| (&ours[index], &theirs[index]))
    );
    let names: BTreeSet<_> = ours.iter().map(|(name, _)| name).collect();
    note!("{what}: {} hits of {names:?}", ours.len());
    (ours.len(), names.len())
}

#[test]
fn values_of_other_programs_are_those_of_gdb_at_the_same_stop() {
    const PYTHON: &str = "import gc\nimport sys\ndef f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\n\
        gc.collect(0)\ngc.collect(2)\nf(4)\nsys.audit('probe', 1)\n";
    const THROWS: &str = "#include <string>\nstatic void f(int n) {\n    if (n % 3 == 0) throw n;\n    \
        try { throw std::string(\"text\"); } catch (...) { throw; }\n}\nint main() {\n    int caught = 0;\n    \
        for (int n = 0; n < 7; n++) try { f(n); } catch (int) { caught++; } catch (const std::string &) { caught += 2; }\n    \
        return caught == 11 ? 0 : 1;\n}\n";
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("another processor than x86-64");
    }
    if !can_watch() || find("gdb").is_none() || find("g++").is_none() || find("readelf").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let has_notes = |path: &Path| path.exists() && !readelf::notes(path).is_empty();
    let mut total = (0, 0);
    let mut add = |(hits, names)| total = (total.0 + hits, total.1 + names);
    let library = Path::new("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
    if has_notes(library) {
        let (source, program) = (folder.path().join("throws.cc"), folder.path().join("throws"));
        std::fs::write(&source, THROWS).expect("the source is written");
        run(Command::new("g++").arg(&source).arg("-o").arg(&program));
        let library = std::fs::canonicalize(library).expect("the library");
        add(alike("libstdc++", both(folder.path(), &library, &[program.to_str().expect("UTF-8")])));
    }
    let python = Path::new("/usr/bin/python3.11");
    if has_notes(python) {
        std::fs::write(folder.path().join("program.py"), PYTHON).expect("the program is written");
        let program = ["/usr/bin/python3.11", "-I", "-S", "program.py"];
        add(alike("python3.11", both(folder.path(), python, &program)));
    }
    note!("{} hits of {} markers", total.0, total.1);
    if total.0 == 0 {
        skipped("neither libstdc++ nor python3.11 of this machine has notes");
    }
}

/// What is said of the arguments of the notes of `tests/notes/values.c`.
const PROVIDER: &str = "provider values {\n    probe many(long number);\n    probe memory(short, long wide, int, long, \
    int, struct item *item, int index);\n};\n";

#[test]
fn arguments_have_the_names_and_formats_that_the_user_says() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = compiled(folder.path(), "gcc", &["-O2"]) else { return };
    let provider = folder.path().join("values.d");
    std::fs::write(&provider, PROVIDER).expect("a file");
    let provider = provider.to_str().expect("UTF-8");
    let traced = |options: &[&str]| -> (Vec<String>, Vec<String>) {
        let lines = trace(&[&["--provider", provider], options].concat(), &[&program]);
        let said = |line: &String| Some(line.split_once(" values:")?.1.to_owned());
        let printed = lines.iter().filter(|line| line.starts_with("many: ")).cloned().collect();
        (lines.iter().filter_map(said).collect(), printed)
    };
    let (said, printed) = traced(&["values:many"]);
    let named: Vec<_> = printed.iter().map(|line| line.replace("arg0", "number")).collect();
    assert!(said.len() == 8 && said == named, "{said:?} {printed:?}");
    // The plain name stays.
    let few: Vec<_> = named.iter().filter(|line| line.contains('-')).cloned().collect();
    assert_eq!(traced(&["values:many", "--where", "arg0 < 0"]).0, few);
    assert_eq!(traced(&["values:many", "--where", "number < 0"]).0, few);
    let (said, printed) = traced(&["values:many", "--note-format", "*:many=\"%lx is %ld\", number, arg0"]);
    let shown: Vec<_> = printed
        .iter()
        .map(|line| line.trim_start_matches("many: arg0 ").parse::<i64>().expect("a number"))
        .map(|number| format!("many: {number:x} is {number}"))
        .collect();
    assert_eq!(said, shown);
    let mut smark = Command::new(fixture::smark());
    smark.args(["count", "--provider", provider, "--by", "number", "values:many", "--json", "--"]).arg(&program);
    let counted = ended(&mut smark).success();
    let object: serde_json::Value =
        counted.lines().find_map(|line| serde_json::from_str(line).ok()).expect("the count");
    assert_eq!((&object["marker"], &object["hits"]), (&"values:many".into(), &8.into()), "{object}");
    assert_eq!(object["by"].as_array().map(Vec::len), Some(7), "{object}");
}

#[test]
fn a_text_is_read_where_a_provider_file_says_so() {
    const PROGRAM: &str = "#include <stdio.h>\n#include <sys/sdt.h>\nint main(int argc, char **argv) {\n    \
        for (int i = 1; i < argc; i++) { STAP_PROBE2(texts, word, argv[i], i); puts(argv[i]); }\n    return 0;\n}\n";
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    if compiled(folder.path(), "gcc", &[]).is_none() {
        return;
    }
    let program = compile(folder.path(), "texts", PROGRAM, &["-O1"]);
    let provider = folder.path().join("texts.d");
    std::fs::write(&provider, "provider texts { probe word(const char *, int number); };").expect("a file");
    let traced = |options: &[&str]| -> Vec<String> {
        let mut smark = Command::new(fixture::smark());
        smark.args(["trace", "-q"]).args(options).arg("--").arg(&program).args(["one", "a b", "\u{e9}"]);
        let said = |line: String| Some(line.split_once(" texts:")?.1.to_owned());
        ended(&mut smark).lines().into_iter().filter_map(said).collect()
    };
    let provider = ["--provider", provider.to_str().expect("UTF-8")];
    let expected = ["word: arg0 one, number 1", "word: arg0 a b, number 2", "word: arg0 \u{e9}, number 3"];
    assert_eq!(traced(&provider), expected);
    assert_eq!(traced(&[provider[0], provider[1], "--where", "arg0 == \"a b\""]), expected[1..2]);
    let format = ["--note-format", "texts:word=\"%.*s|\", arg1, arg0"];
    assert_eq!(traced(&format), ["word: o|", "word: a |", "word: \u{e9}|"]);
    let mut smark = Command::new(fixture::smark());
    let recorded = folder.path().join("recorded");
    smark.args(["record", "-o"]).arg(&recorded).args(provider).arg("--").arg(&program).args(["one", "two"]);
    ended(&mut smark).success();
    let mut smark = Command::new(fixture::smark());
    let reported = ended(smark.args(["report", "--where", "arg1 == 2"]).arg(&recorded)).lines();
    let said: Vec<_> = reported.iter().filter_map(|line| Some(line.split_once(" texts:")?.1)).collect();
    assert_eq!(said, ["word: arg0 two, number 2"]);
}
