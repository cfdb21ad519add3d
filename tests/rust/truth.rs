//! Values that are called live or constant are those that the program has at that place. The
//! programs themselves say so: see `oracle`.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use simple_markers_resolver::resolve::{Verdict, resolve};
use simple_markers_tests::fixture::workspace;
use simple_markers_tests::oracle::builds::{self, Options, With};
use simple_markers_tests::oracle::corpus::{Generated, Job, Run, examine_all};
use simple_markers_tests::oracle::examine::Found;
use simple_markers_tests::oracle::form::Form;
use simple_markers_tests::oracle::twin::{self, Truth};
use simple_markers_tests::oracle::{row::Row, tables};
use simple_markers_tests::tools;

/// A marker, an argument, and the name of a compiler.
type Case = (String, String, String);

/// The arguments that the comments of a source announce after a mark, `//~ ` for wrong values and `//= ` for
/// those that are called live or constant and are right:
/// `simple_mark(name, ..); //~ ARGUMENT: COMPILER COMPILER, ARGUMENT: COMPILER`.
fn announced(source: &Path, mark: &str) -> BTreeSet<Case> {
    let text = fs::read_to_string(source).expect("a source");
    let mut cases = BTreeSet::new();
    for (code, comment) in text.lines().filter_map(|line| line.split_once(mark)) {
        let name = code.split_once('(').and_then(|(_, rest)| rest.split_once(',')).expect("a marker").0;
        for argument in comment.split(", ") {
            let (argument, compilers) = argument.split_once(": ").expect("an argument and compilers");
            for compiler in compilers.split_whitespace() {
                cases.insert((name.to_owned(), argument.to_owned(), compiler.to_owned()));
            }
        }
    }
    cases
}

/// The reasons that the comments of a source announce for doubtful arguments, after the compiler:
/// `simple_mark(name, ..); //? ARGUMENT: COMPILER REASON`.
fn doubted(source: &Path) -> Vec<(Case, String)> {
    let text = fs::read_to_string(source).expect("a source");
    let lines = text.lines().filter_map(|line| line.split_once("//? "));
    lines
        .map(|(code, comment)| {
            let name = code.split_once('(').and_then(|(_, rest)| rest.split_once(',')).expect("a marker").0;
            let (argument, said) = comment.split_once(": ").expect("an argument");
            let (compiler, reason) = said.split_once(' ').expect("a compiler and a reason");
            ((name.to_owned(), argument.to_owned(), compiler.to_owned()), reason.to_owned())
        })
        .collect()
}

fn wrong(rows: &[Row]) -> BTreeSet<Case> {
    let wrong = rows.iter().filter(|row| row.is_claimed() && row.wrong > 0);
    wrong.map(case_of).collect()
}

fn case_of(row: &Row) -> Case {
    (row.marker.to_string(), row.argument.to_string(), row.build.compiler.clone())
}

fn compilers() -> Vec<With> {
    With::ALL.into_iter().filter(|with| builds::is_installed(*with)).collect()
}

fn every_build(with: With) -> Vec<Options> {
    let mut all = Vec::new();
    for level in with.levels() {
        for dwarf in [4, 5] {
            all.push(Options { with, level: (*level).to_owned(), lto: "none".to_owned(), dwarf });
        }
    }
    all
}

fn rows(found: Vec<Found>, failures: &[String]) -> Vec<Row> {
    let complaints: Vec<_> = found.iter().flat_map(|of| &of.complaints).chain(failures).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    found.into_iter().flat_map(|of| of.rows).collect()
}

#[test]
fn the_twin_prints_what_the_source_means() {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, with) in [("tests/truth/updated.rs", With::Rustc), ("tests/truth/updated.c", With::Gcc)] {
        if !builds::is_installed(with) {
            continue;
        }
        let image = folder.path().join("twin");
        builds::twin(&[PathBuf::from(file)], with, &image).expect("it compiles");
        let passes = twin::passes(&image, &[], None, twin::SMALL).expect("it runs");
        let gcd = passes.of.iter().find(|((name, ..), _)| name == "updated:gcd").expect("it is passed").1;
        let value = |value: u64| Truth { bytes: value.to_le_bytes().to_vec(), behind: None };
        assert_eq!(*gcd, [vec![value(84), value(36)], vec![value(36), value(12)]], "{file}");
    }
}

#[test]
fn the_smallest_wrong_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Run { arguments: Vec::new(), stdin: None, most: 100, folder: folder.path().to_owned(), keeps: false };
    let mut names: Vec<_> = fs::read_dir(workspace().join("tests/truth")).expect("the sources").collect();
    names.sort_by_key(|entry| entry.as_ref().map(std::fs::DirEntry::path).ok());
    let (mut jobs, mut expected, mut believed, mut reasons) =
        (Vec::new(), BTreeSet::new(), BTreeSet::new(), Vec::new());
    for source in names.into_iter().map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file()) {
        for with in compilers().into_iter().filter(|with| with.compiles(&source)) {
            let cases = |mark| announced(&source, mark).into_iter().filter(|(.., compiler)| compiler == with.name());
            expected.extend(cases("//~ "));
            believed.extend(cases("//= "));
            reasons.extend(doubted(&source).into_iter().filter(|((.., compiler), _)| compiler == with.name()));
            let what = format!("the smallest cases by {}", with.name());
            // -O2 or -Os with DWARF 5.
            let picked = [3, 7][jobs.len() % 2];
            let (program, builds) = (source.display().to_string(), tools::slice(&what, &every_build(with), &[picked]));
            jobs.push(Job { program, variant: "source".to_owned(), source: source.clone(), with, builds });
        }
    }
    let (found, failures) = examine_all(&jobs, &run, 2);
    let rows = rows(found, &failures);
    // These values are right by construction, also for a verdict that promises nothing.
    let exact: Vec<_> = rows.iter().filter(|row| row.build.program.contains("tests/truth/exact.")).collect();
    assert!(!exact.is_empty(), "the programs are compiled");
    exact.iter().for_each(|row| assert_eq!((row.right, row.wrong_behind), (row.passes, 0), "{row:?}"));
    for (case, reason) in reasons {
        let of_case = rows.iter().filter(|row| row.wrong > 0 && case == case_of(row));
        let found: Vec<_> = of_case.map(|row| row.reason).collect();
        let is_at_another_level = found.is_empty() && !tools::tries_everything();
        assert!(is_at_another_level || found.contains(&Some(&*reason)), "{case:?} is {reason}: {found:?}");
    }
    assert!(!believed.is_empty() || compilers().len() < With::ALL.len());
    for case in believed {
        let of_case: Vec<_> = rows.iter().filter(|row| case == case_of(row)).collect();
        assert!(of_case.iter().all(|row| row.is_claimed() && row.wrong == 0), "{of_case:#?}");
        assert!(of_case.iter().any(|row| row.right > 0), "{case:?} is compared");
    }
    // What is announced is what no rule finds yet (docs/measured/truth.md).
    let found = wrong(&rows);
    assert!(found.is_subset(&expected), "{}", tables::wrong(&rows));
    // Some values are wrong at other levels only.
    assert!(!found.is_empty() && (!tools::tries_everything() || found == expected), "{found:?}, not {expected:?}");
}

/// Two sources whose images are the same to the last byte, but whose marked values differ.
struct Pair {
    source: &'static str,
    with: With,
    /// The text of the source that the other one has another text for.
    text: [&'static str; 2],
    /// The values of all passes of both programs.
    values: [&'static [i32]; 2],
    verdicts: &'static [Verdict],
}

const PAIRS: [Pair; 18] = [
    Pair {
        source: "recursion.c",
        with: With::Gcc,
        text: ["return count(next)", "goto again"],
        values: [&[5, 4, 3, 2, 1], &[5; 5]],
        verdicts: &[Verdict::Live],
    },
    Pair {
        source: "assigned_before.c",
        with: With::Gcc,
        text: ["place = value", "(void)0"],
        values: [&[1, 1], &[5, 7]],
        verdicts: &[Verdict::Live, Verdict::Constant],
    },
    Pair {
        source: "assigned.c",
        with: With::Clang,
        text: ["place = value", "(void)0"],
        values: [&[2, 1, 3, 3, 3], &[5, 1, 1, 1, 1]],
        verdicts: &[Verdict::Live, Verdict::Constant],
    },
    Pair {
        source: "assigned.rs",
        with: With::Rustc,
        text: ["$place = $value", "{ let _ = $value; }"],
        values: [&[1, 7, 3, 4, 3, 4, 3, 4], &[1, 7, 1, 7, 1, 7, 1, 7]],
        verdicts: &[Verdict::Live, Verdict::Constant],
    },
    Pair {
        source: "copied.c",
        with: With::Gcc,
        text: ["next) old", "next) next"],
        values: [&[5], &[15]],
        verdicts: &[Verdict::Live],
    },
    Pair {
        source: "masked.c",
        with: With::Clang,
        text: ["place ^= 2", "(void)0"],
        values: [&[7], &[5]],
        verdicts: &[Verdict::Live],
    },
    Pair {
        source: "late.c",
        with: With::Clang,
        text: ["assign; mark\n", "mark; assign\n"],
        values: [&[10], &[5]],
        verdicts: &[Verdict::Live],
    },
    Pair {
        source: "late.rs",
        with: With::Rustc,
        text: ["$assign;\n        $mark;", "$mark;\n        $assign;"],
        values: [&[10], &[5]],
        verdicts: &[Verdict::Live],
    },
    Pair {
        source: "ahead.c",
        with: With::Clang,
        text: ["while (!count[m]) m--; mark; last = m", "while (!count[m--]); mark; last = m + 1"],
        values: [&[1], &[0]],
        verdicts: &[Verdict::Doubtful],
    },
    Pair {
        source: "kept.c",
        with: With::Clang,
        text: ["while (!count[m]) m--; mark; return m * 3", "while (!count[m--]); mark; return (m + 1) * 3"],
        values: [&[1], &[0]],
        verdicts: &[Verdict::Doubtful],
    },
    Pair {
        source: "merged.c",
        with: With::Clang,
        text: ["d -= c; mark; return used * 31 + d", "mark; return used * 31 + (d - c)"],
        values: [&[32], &[37]],
        verdicts: &[Verdict::Constant],
    },
    Pair {
        source: "shifted.c",
        with: With::Clang,
        text: ["<< 8", "<< 9"],
        values: [&[261], &[517]],
        verdicts: &[Verdict::Live],
    },
    Pair {
        source: "restored.c",
        with: With::Clang,
        text: ["assign; mark", "mark; assign"],
        values: [&[5], &[1]],
        verdicts: &[Verdict::Live],
    },
    Pair {
        source: "unread.c",
        with: With::Clang,
        text: ["FIRST 5", "FIRST 7"],
        values: [&[5], &[7]],
        verdicts: &[Verdict::Live],
    },
    Pair {
        source: "unread.c",
        with: With::Gcc,
        text: ["FIRST 5", "FIRST 7"],
        values: [&[5], &[7]],
        verdicts: &[Verdict::Live],
    },
    Pair {
        source: "order.c",
        with: With::Clang,
        text: ["mark; assign", "assign; mark"],
        values: [&[5], &[2]],
        verdicts: &[Verdict::Doubtful],
    },
    Pair {
        source: "order.rs",
        with: With::Rustc,
        text: ["$mark;\n        $assign;", "$assign;\n        $mark;"],
        values: [&[5], &[2]],
        verdicts: &[Verdict::Doubtful],
    },
    Pair {
        source: "begins.c",
        with: With::Clang,
        text: ["assign; mark\n", "mark; assign\n"],
        values: [&[3], &[5]],
        verdicts: &[Verdict::Doubtful],
    },
];

/// No reader of images can be right about both programs of a pair (docs/measured/truth.md).
#[test(desk = false)]
fn one_image_of_two_sources() {
    for Pair { source, with, text: [text, other], values, verdicts } in PAIRS {
        if !builds::is_installed(with) {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(source);
        let first = fs::read_to_string(workspace().join("tests/truth/pair").join(source)).expect("the source");
        assert_eq!(first.matches(text).count(), 1, "{source}");
        // With DWARF 5, clang writes a checksum of the source into the image.
        let options = Options { with, level: "2".to_owned(), lto: "none".to_owned(), dwarf: 4 };
        let images = [first.clone(), first.replace(text, other)].map(|text| {
            fs::write(&file, text).expect("it is written");
            let (image, twin) = (folder.path().join("image"), folder.path().join("twin"));
            builds::program(std::slice::from_ref(&file), &options, &image).expect("it compiles");
            builds::twin(std::slice::from_ref(&file), with, &twin).expect("it compiles");
            let passes = twin::passes(&twin, &[], None, twin::SMALL).expect("it runs");
            let mut of: Vec<_> = passes.of.into_iter().collect();
            of.sort_by(|one, other| one.0.cmp(&other.0));
            let values = of.into_iter().flat_map(|(_, passes)| passes.into_iter().flatten());
            let number = |value: Truth| {
                let mut bytes = [0; 4];
                bytes.iter_mut().zip(&value.bytes).for_each(|(to, from)| *to = *from);
                i32::from_le_bytes(bytes)
            };
            (fs::read(&image).expect("the image"), values.map(number).collect::<Vec<_>>())
        });
        assert_eq!(images.each_ref().map(|(_, values)| values.as_slice()), values, "{source}");
        let [(image, _), (same, _)] = images;
        if image != same {
            // Another version of the compiler may write different instructions.
            tools::skipped(&format!("{source}: this compiler writes different images"));
            continue;
        }
        let resolution = resolve("image", &image);
        let sites = resolution.images[0].markers.iter().flat_map(|marker| &marker.sites);
        let found: Vec<_> = sites.flat_map(|site| &site.args).filter_map(|argument| argument.verdict).collect();
        assert_eq!(found, verdicts, "{source}");
    }
}

/// A slice of what `benches/truth` measures.
#[test]
fn values_of_generated_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let run =
        Run { arguments: vec!["20".to_owned()], stdin: None, most: 60, folder: folder.path().to_owned(), keeps: false };
    let generated = Generated {
        seeds: 1..2,
        functions: if tools::tries_everything() { 16 } else { 8 },
        kinds: vec!["plain".to_owned(), "used".to_owned()],
        variants: vec!["place".to_owned(), "anchor".to_owned(), "keep".to_owned()],
    };
    // -Os with DWARF 5.
    let picked: HashMap<&str, _> = compilers()
        .into_iter()
        .map(|with| (with.name(), tools::slice(&format!("truth of {}", with.name()), &every_build(with), &[7])))
        .collect();
    let builds = |with: With| picked[with.name()].clone();
    let jobs = generated.jobs(folder.path(), &compilers(), &builds).expect("the sources are written");
    let (found, failures) = examine_all(&jobs, &run, 2);
    let rows = rows(found, &failures);
    note!("{}\n{}", tables::by_build(&rows), tables::by_form(&rows));
    let total = tables::total(&rows);
    assert!(total.values > 5_000, "{total:?}");
    let kept: Vec<_> = rows.iter().filter(|row| row.form == Form::Kept).collect();
    assert!(kept.iter().all(|row| row.wrong == 0), "a kept value is wrong");
    assert!(kept.iter().map(|row| row.right).sum::<usize>() > 500, "kept values are compared");
    assert_eq!(total.unreadable, 0, "{}", tables::wrong(&rows));
    // A value in the frame or at a fixed address is either right or doubtful. By gcc and clang it may also be
    // one that nothing reads again: too many of these are right (docs/measured/truth.md, "Which rules pay").
    let of_forms = |row: &&Row| matches!(row.form, Form::Stack | Form::Static);
    let in_memory: Vec<_> = rows.iter().filter(|row| row.is_claimed()).filter(of_forms).collect();
    let (by_rustc, by_others): (Vec<&Row>, Vec<&Row>) =
        in_memory.into_iter().partition(|row| row.build.compiler == With::Rustc.name());
    assert!(by_rustc.iter().all(|row| row.wrong == 0), "{}", tables::wrong(&rows));
    let wrong: usize = by_others.iter().map(|row| row.wrong).sum();
    let right: usize = by_others.iter().map(|row| row.right).sum();
    assert!(wrong * 20 <= right, "{wrong} beside {right}\n{}", tables::wrong(&rows));
    let doubted: usize = rows.iter().filter(|row| row.verdict == "doubtful").map(|row| row.wrong).sum();
    assert!(doubted > total.wrong, "{doubted} of the wrong values are doubtful, {} are not", total.wrong);
}
