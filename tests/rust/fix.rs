//! `smark check --fix` and `cargo smark fix`: from findings in real programs to a check that holds,
//! and what they refuse to change.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use simple_markers_tests::fixture::{smark, target, workspace};
use simple_markers_tests::tools::{find, run, skipped};
use tempfile::TempDir;

/// A folder with sources, in its own repository.
struct Project {
    folder: TempDir,
}

/// The exit status and output of a command.
struct Ended {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let project = Self { folder };
        project.git(&["init", "--quiet", "."]);
        project
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).expect("read")
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(self.path()).args(["-c", "user.name=smark", "-c", "user.email=smark@example.org"]);
        run(git.args(arguments))
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "sources"]);
    }

    /// The lines that a change removed and added.
    fn changed(&self) -> Vec<String> {
        let diff = self.git(&["diff", "--unified=0", "--no-color"]);
        let is_change = |line: &&str| {
            (line.starts_with('-') || line.starts_with('+')) && !line.starts_with("---") && !line.starts_with("+++")
        };
        diff.lines().filter(is_change).map(str::to_owned).collect()
    }

    fn smark(&self, arguments: &[&str]) -> Ended {
        ended(Command::new(smark()).current_dir(self.path()).args(arguments))
    }

    fn check(&self, arguments: &[&str]) -> Ended {
        self.smark(&[&["check"], arguments].concat())
    }

    /// Runs `cargo smark` in a clean environment.
    fn cargo_smark(&self, arguments: &[&str]) -> Ended {
        ended(&mut self.cargo_smark_command(arguments))
    }

    fn cargo_smark_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(smark().with_file_name("cargo-smark"));
        command.arg("smark").args(arguments).args(["--offline", "--profile", "fixed"]).current_dir(self.path());
        command.env("CARGO_TARGET_DIR", target()).env("CARGO_INCREMENTAL", "0").env("CARGO_TERM_COLOR", "never");
        for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER"] {
            command.env_remove(variable);
        }
        command
    }
}

fn ended(command: &mut Command) -> Ended {
    let Output { status, stdout, stderr } = command.output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ended { status: status.code().expect("an exit status"), stdout: text(stdout), stderr: text(stderr) }
}

/// Copies the files of an example.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the example") {
        let entry = entry.expect("an entry");
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).expect("copied");
        }
    }
}

/// The lines of a file, from 1, with invocations of markers, including their parentheses.
fn lines_of_markers(text: &str, macros: &str) -> Vec<(usize, usize)> {
    let pattern = regex::Regex::new(macros).expect("a regular expression");
    let line = |at: usize| text[..at].matches('\n').count() + 1;
    let range = |found: regex::Match<'_>| {
        let mut depth = 1;
        let behind = text[found.end()..].char_indices().find(|(_, character)| {
            depth += i32::from(*character == '(') - i32::from(*character == ')');
            depth == 0
        });
        (line(found.start()), line(found.end() + behind.expect("a parenthesis").0))
    };
    pattern.find_iter(text).map(range).collect()
}

/// Asserts that every line that a diff removes belongs to a marker's invocation.
#[track_caller]
fn only_markers_change(project: &Project, macros: &str) {
    let diff = project.git(&["diff", "--unified=0", "--no-color"]);
    let hunk = regex::Regex::new(r"^@@ -(\d+)(?:,(\d+))? ").expect("a regular expression");
    let (mut old, mut hunks) = (Vec::new(), 0);
    for line in diff.lines() {
        if let Some(file) = line.strip_prefix("--- a/") {
            old = lines_of_markers(&project.git(&["show", &format!("HEAD:{file}")]), macros);
        }
        let Some(found) = hunk.captures(line) else { continue };
        let number = |group: usize| found.get(group).map(|number| number.as_str().parse::<usize>().expect("a number"));
        let (start, count) = (number(1).expect("a line"), number(2).unwrap_or(1));
        // Markers on adjacent lines share a hunk.
        let is_marker = |line: usize| old.iter().any(|(from, to)| (*from..=*to).contains(&line));
        assert!((start..start + count.max(1)).all(is_marker), "{line} changes more than markers");
        hunks += 1;
    }
    assert!(hunks > 0, "nothing changed");
}

const RUST: &str = r"simple_mark!\s*\(";
const C: &str = r"simple_mark(_keep|_anchor|_keep_anchor)?\s*\(";

/// An example as a separate workspace with maximum optimisation. Tests share a target folder, so no
/// two of them can build the same example.
fn example(name: &str) -> Project {
    let project = Project::new();
    copy(&workspace().join("examples").join(name), &project.path().join(name));
    let manifest = fs::read_to_string(workspace().join("Cargo.toml")).expect("the manifest");
    let package = manifest.split_once("[workspace.package]").expect("a table").1.split_once("\n[").expect("an end").0;
    project.file(
        "Cargo.toml",
        format!(
            "[workspace]\nresolver = \"3\"\nmembers = [{name:?}]\n[workspace.package]{package}\n\
             [workspace.dependencies]\nsimple-markers = {{ path = {:?} }}\n[workspace.lints.rust]\n\
             [profile.fixed]\ninherits = \"release\"\nopt-level = 3\ndebug = \"full\"\n",
            workspace().join("markers")
        ),
    );
    fs::copy(workspace().join("Cargo.lock"), project.path().join("Cargo.lock")).expect("the lock file");
    // Unused entries of the lock file are removed before the commit.
    assert_ne!(project.cargo_smark(&["check", "-q", "--allow", "all"]).status, 2);
    project.commit();
    project
}

/// The lines about markers that were not fixed.
fn not_fixed(stdout: &str) -> Vec<&str> {
    stdout.lines().filter_map(|line| line.strip_prefix("not fixed ")).collect()
}

#[test]
fn a_program_of_rust_is_fixed_without_a_hand_on_its_source() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("what is lost was seen on x86-64");
    }
    let project = example("io-queue");
    let program = target().join("fixed/io-queue");
    // The marker in deliberately dead code stays.
    let denied = ["-p", "io-queue", "--deny", "arguments,exactness", "--allow", "eliminated"];
    let before = project.cargo_smark(&[&["check"], &denied[..]].concat());
    assert_eq!(before.status, 1, "{}", before.stdout);
    let printed = run(&mut Command::new(&program));
    let fixed = project.cargo_smark(&[&["fix"], &denied[..]].concat());
    assert_eq!(fixed.status, 0, "{}{}", fixed.stderr, fixed.stdout);
    assert_eq!(not_fixed(&fixed.stdout), [""; 0]);
    assert!(fixed.stdout.contains("\ncheck holds: 17 markers, 0 errors"), "{}", fixed.stdout);
    only_markers_change(&project, RUST);
    let changed = project.changed();
    let added = |what: &str| {
        changed.iter().filter(|line| line.starts_with('+')).map(|line| line.matches(what).count()).sum::<usize>()
    };
    let removed = |what: &str| {
        changed.iter().filter(|line| line.starts_with('-')).map(|line| line.matches(what).count()).sum::<usize>()
    };
    println!("io-queue: {} keeps, {} anchors", added("keep ") - removed("keep "), added("options(anchor)"));
    assert!(added("keep ") - removed("keep ") >= 10 && added("options(anchor)") >= 3, "{changed:#?}");
    assert_eq!(run(&mut Command::new(&program)), printed, "the program does what it did");
    // If the check holds, nothing changes.
    project.commit();
    let again = project.cargo_smark(&[&["fix"], &denied[..]].concat());
    assert_eq!((again.status, project.changed().len()), (0, 0), "{}", again.stdout);
    assert!(!again.stdout.contains("fixed "), "{}", again.stdout);
}

#[test]
fn every_construct_of_rust_is_fixed_or_said_why_not() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("what is lost was seen on x86-64");
    }
    let project = example("constructs");
    let denied = ["-p", "constructs", "--deny", "arguments,exactness", "--allow", "survival,names"];
    let before = project.cargo_smark(&[&["check"], &denied[..]].concat());
    assert_eq!(before.status, 1, "{}", before.stdout);
    let fixed = project.cargo_smark(&[&["fix"], &denied[..]].concat());
    assert!(fixed.status < 2, "{}{}", fixed.stderr, fixed.stdout);
    only_markers_change(&project, RUST);
    let why = not_fixed(&fixed.stdout);
    let changed = project.changed().len();
    println!("constructs: {changed} lines; {why:#?}");
    assert!(changed > 100, "{changed}");
    // Only findings that no edit of a marker can fix remain, each with its reason.
    let reasons = ["no register holds", "writes the marker", "did not help", "helped and stays", "does not compile"];
    assert!(why.iter().all(|line| reasons.iter().any(|reason| line.contains(reason))), "{why:#?}");
    let left: Vec<&str> = why.iter().filter_map(|line| line.split(' ').next()).collect();
    let document = project.cargo_smark(&[&["check", "-q", "--format", "json"], &denied[..]].concat());
    let document: serde_json::Value = serde_json::from_str(&document.stdout).expect("JSON");
    for finding in document["findings"].as_array().expect("findings") {
        let marker = finding["marker"].as_str().expect("a marker");
        assert!(left.contains(&marker), "nothing is said of {finding:#}");
    }
    // If the rest is accepted the check holds, and a second run changes nothing.
    project.commit();
    let lock = ["--lock", "markers.lock"];
    let updated = project.cargo_smark(&[&["check", "--update", "--warn", "exactness"], &denied[..2], &lock].concat());
    assert!(updated.status < 2, "{}", updated.stderr);
    let lenient = ["-p", "constructs", "--deny", "arguments", "--allow", "survival,names", "--lock", "markers.lock"];
    let again = project.cargo_smark(&[&["fix", "--allow-dirty"], &lenient[..]].concat());
    assert_eq!((again.status, project.changed().len()), (0, 0), "{}", again.stdout);
}

#[test]
fn a_program_of_c_is_fixed_without_a_hand_on_its_source() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    let project = Project::new();
    copy(&workspace().join("examples/c-queue"), &project.path().join("src"));
    project.file(".gitignore", "/queue\n");
    project.commit();
    let include = workspace().join("markers/include");
    let build = format!("gcc -O3 -g -I {} src/*.c -o queue", include.display());
    let denied = ["--deny", "arguments,exactness", "--allow", "survival,names"];
    let fix = ["--fix", "--build", &build, "./queue"];
    run(Command::new("sh").current_dir(project.path()).args(["-c", &build]));
    let printed = run(&mut Command::new(project.path().join("queue")));
    assert_eq!(project.check(&[&denied[..], &["./queue"]].concat()).status, 1);
    let fixed = project.check(&[&denied[..], &fix[..]].concat());
    assert_eq!(fixed.status, 0, "{}{}", fixed.stderr, fixed.stdout);
    only_markers_change(&project, C);
    let changed = project.changed();
    println!("c-queue: {changed:#?}");
    assert!(changed.iter().any(|line| line.contains("simple_mark_keep(")), "{changed:#?}");
    assert_eq!(run(&mut Command::new(project.path().join("queue"))), printed, "the program does what it did");
    project.commit();
    let again = project.check(&[&denied[..], &fix[..]].concat());
    assert_eq!((again.status, project.changed().len()), (0, 0), "{}", again.stdout);
}

#[test]
fn a_doubtful_argument_is_kept_where_it_is_denied() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is doubtful was seen with gcc on x86-64");
    }
    // The first store is dropped, because only the marker would read it.
    let marker = "simple_mark(fix:slot, \"slot %d\", slots[1])";
    let functions = format!(
        "void fill(int *slots);\nvoid reset(int count);\nvoid reset(int count)\n{{\n    int slots[4];\n    slots[1] = 77;\n    \
         {marker};\n    slots[1] = count;\n    fill(slots);\n}}\n\
         void fill(int *slots) {{ __asm__ volatile(\"\" : : \"r\"(slots) : \"memory\"); }}\n"
    );
    let (project, build) = built(&functions);
    let fix = ["--fix", "--build", &build, "./program"];
    let warned = project.check(&fix);
    assert_eq!((warned.status, project.changed().len()), (0, 0), "{}", warned.stdout);
    assert!(warned.stdout.contains("warning[SM038.overwritten_unread]"), "{}", warned.stdout);
    // It can be accepted by its reason.
    let by = |reason: &str| project.check(&["--deny", "doubtful", "--allow", reason, "./program"]).status;
    assert_eq!((by("SM038.overwritten_unread"), by("doubtful.replaced")), (0, 1));
    let fixed = project.check(&[&["--deny", "doubtful"], &fix[..]].concat());
    assert_eq!(fixed.status, 0, "{}{}", fixed.stderr, fixed.stdout);
    let kept = marker.replace("simple_mark(", "simple_mark_keep(");
    assert_eq!(project.changed(), [format!("-    {marker};"), format!("+    {kept};")]);
}

/// A function whose argument is lost at the marker.
fn lost(function: &str, marker: &str) -> String {
    format!(
        "int work(int);\nint {function}(void);\nint {function}(void)\n{{\n    int tag = work(0);\n    int status = work(tag);\n    \
         {marker};\n    return status;\n}}\n"
    )
}

const WORK: &str =
    "int work(int a) { __asm__ volatile(\"\" ::: \"memory\"); return a + 1; }\nint main(void) { return 0; }\n";
const MARKER: &str = "simple_mark(fix:lost, \"tag %d\", tag)";

/// A project with one marker in `lost.c`, and the command that builds it.
fn one(marker: &str) -> (Project, String) {
    built(&lost("submit", marker))
}

/// A project whose `lost.c` includes the header and has `functions`, and the command that builds it.
fn built(functions: &str) -> (Project, String) {
    let project = Project::new();
    project.file("lost.c", format!("#include <simple_marker.h>\n{functions}"));
    project.file("work.c", WORK);
    project.file(".gitignore", "/program\n");
    project.commit();
    let build = format!("gcc -O2 -g -I {} lost.c work.c -o program", workspace().join("markers/include").display());
    run(Command::new("sh").current_dir(project.path()).args(["-c", &build]));
    (project, build)
}

/// Runs `--fix` with `more` options. It must change nothing, and print the text.
#[track_caller]
fn refused(project: &Project, more: &[&str], status: i32, says: &str) {
    let ended = project.check(&[&["--fix"], more, &["./program"]].concat());
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains(says), "{says:?} is not in {said}");
    assert_eq!(ended.status, status, "{said}");
    assert_eq!(project.changed(), [""; 0]);
}

#[test]
fn without_a_build_the_sources_are_changed_once() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    let (project, build) = one(MARKER);
    let dry = project.check(&["--fix", "--dry-run", "./program"]);
    assert_eq!((dry.status, project.changed().len()), (1, 0));
    assert!(dry.stdout.starts_with("--- a/lost.c\n+++ b/lost.c\n@@ "), "{}", dry.stdout);
    assert!(dry.stderr.contains("fixed fix:lost (lost.c:8): kept `tag`"), "{}", dry.stderr);
    project.file("change.diff", &dry.stdout);
    project.git(&["apply", "--check", "change.diff"]);
    fs::remove_file(project.path().join("change.diff")).expect("removed");
    #[cfg(unix)]
    let mode = {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = || fs::metadata(project.path().join("lost.c")).expect("the source").permissions().mode();
        fs::set_permissions(project.path().join("lost.c"), fs::Permissions::from_mode(0o664)).expect("permissions");
        mode
    };
    let fixed = project.check(&["--fix", "./program"]);
    assert_eq!(fixed.status, 1, "the program is the old one");
    assert!(fixed.stdout.contains("build the program, and check it again"), "{}", fixed.stdout);
    assert_eq!(
        project.changed(),
        [format!("-    {MARKER};"), format!("+    {};", MARKER.replace("mark(", "mark_keep("))]
    );
    #[cfg(unix)]
    assert_eq!(mode() & 0o777, 0o664);
    let names = fs::read_dir(project.path()).expect("the folder").count();
    assert_eq!(names, 5, "no other file is left");
    run(Command::new("sh").current_dir(project.path()).args(["-c", &build]));
    assert_eq!(project.check(&["./program"]).status, 0);
}

#[test]
fn what_is_not_committed_is_not_mixed_with_changes() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    let (project, _) = one(MARKER);
    project.file("notes", "text\n");
    refused(&project, &[], 2, "notes (dirty)");
    project.git(&["add", "notes"]);
    refused(&project, &[], 2, "notes (staged)");
    assert_eq!(project.check(&["--fix", "--allow-staged", "./program"]).status, 1);
    assert_eq!(project.changed().len(), 2);
    project.git(&["checkout", "--quiet", "lost.c"]);
    project.file("notes", "other\n");
    let ended = project.check(&["--fix", "--allow-staged", "./program"]);
    assert!(ended.status == 2 && ended.stderr.contains("notes (dirty)"), "{}", ended.stderr);
    assert_eq!(project.check(&["--fix", "--allow-dirty", "./program"]).status, 1);
    assert!(project.read("lost.c").contains("simple_mark_keep"));
    project.git(&["checkout", "--quiet", "lost.c"]);
    fs::rename(project.path().join(".git"), project.path().join("git")).expect("renamed");
    let ended = project.check(&["--fix", "./program"]);
    assert!(ended.status == 2 && ended.stderr.contains("--allow-no-vcs"), "{}", ended.stderr);
    assert_eq!(project.check(&["--fix", "--allow-no-vcs", "./program"]).status, 1);
    assert!(project.read("lost.c").contains("simple_mark_keep"));
}

#[test]
fn a_change_that_does_not_build_is_taken_back() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    let (project, build) = one(MARKER);
    let strict = format!("! grep -q simple_mark_keep lost.c && {build}");
    refused(&project, &["--build", &strict], 1, "not fixed fix:lost (lost.c:8): ");
    refused(&project, &["--build", "false"], 2, "the build fails; nothing was changed");
    // Only one of two markers may be kept.
    let other = lost("other", "simple_mark(fix:other, \"%d\", tag)");
    let (project, build) = built(&format!("{}{other}", lost("submit", MARKER)));
    let strict = format!("! grep -q 'simple_mark_keep(fix:lost' lost.c && {build}");
    let fixed = project.check(&["--fix", "--build", &strict, "./program"]);
    assert_eq!(fixed.status, 1);
    assert_eq!(
        project.changed(),
        ["-    simple_mark(fix:other, \"%d\", tag);", "+    simple_mark_keep(fix:other, \"%d\", tag);"]
    );
    assert!(fixed.stdout.contains("fixed fix:other (lost.c:17): kept `tag`"), "{}", fixed.stdout);
    assert!(fixed.stdout.contains("not fixed fix:lost (lost.c:8): "), "{}", fixed.stdout);
}

/// How often the build command of [`counted`] failed.
fn failures(project: &Project) -> usize {
    fs::read_to_string(project.path().join(".git/failures")).map_or(0, |text| text.lines().count())
}

/// A build command that counts how often it fails. It fails if a marker in `bad` is kept, and then runs
/// `says` for each line that has one: `$line` of `lost.c`.
fn counted(build: &str, bad: &str, says: &str) -> String {
    format!(
        "lines=$(grep -nE 'simple_mark_keep\\(fix:({bad}),' lost.c | cut -d: -f1); if [ -n \"$lines\" ]; then \
         echo failed >> .git/failures; for line in $lines; do {says}; done; exit 1; fi; {build}"
    )
}

#[test]
fn few_builds_fail_before_the_changes_that_do_not_build_are_found() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    let functions: String = (0..24)
        .map(|number| lost(&format!("f{number}"), &format!("simple_mark(fix:m{number}, \"tag %d\", tag)")))
        .collect();
    let fix = |bad: &str, says: &str| {
        let (project, build) = built(&functions);
        let fixed = project.check(&["--fix", "--build", &counted(&build, bad, says), "./program"]);
        let left = not_fixed(&fixed.stdout).into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!((fixed.status, project.changed().len()), (1, 2 * (24 - left.len())), "{}", fixed.stdout);
        (failures(&project), left)
    };
    // The compiler names the lines, in its own file or in a note on the use of the macro.
    let direct = "echo \"lost.c:$line:5: error: no such thing\" >&2";
    let (failed, left) = fix("m3|m17|m20", direct);
    assert_eq!((failed, left.len()), (1, 3), "{left:?}");
    let ends = "the program does not compile with `keep` of `tag`, which was taken back: no such thing";
    assert!(left.iter().all(|line| line.ends_with(ends)), "{left:?}");
    let note = "echo \"/usr/x.h:3:9: error: no\"; echo \"./lost.c:$line:5: note: in expansion of macro\"";
    assert_eq!(fix("m3|m17|m20", note).0, 1);
    // Nothing is said: one of 24 is found by halves, and what is known to fail is not built again.
    let (failed, left) = fix("m17", ":");
    assert!(failed <= 6 && left.len() == 1 && left[0].starts_with("fix:m17 "), "{failed} {left:?}");
    let (failed, left) = fix("m3|m4", ":");
    assert!(failed <= 8 && left.len() == 2, "{failed} {left:?}");
}

#[test]
fn a_reference_that_no_debug_information_describes_is_kept_by_its_target() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("what is lost was seen on x86-64");
    }
    let project = Project::new();
    project.file(
        "Cargo.toml",
        format!(
            "[package]\nname = \"fix-references\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
             simple-markers = {{ path = {:?} }}\n\
             [profile.fixed]\ninherits = \"release\"\nopt-level = 3\ndebug = \"full\"\n",
            workspace().join("markers")
        ),
    );
    fs::copy(workspace().join("Cargo.lock"), project.path().join("Cargo.lock")).expect("the lock file");
    // The block of the second variable has no code, so the debug information does not tell the two apart.
    project.file(
        "src/main.rs",
        "use simple_markers::simple_mark;\nuse std::hint::black_box;\n\
         #[inline(never)]\nfn one(id: usize) -> usize {\n    let next = black_box(id + 1);\n    {\n        let id = &next;\n        \
         simple_mark!(fix:one, \"%zu\", id);\n    }\n    black_box(next)\n}\n\
         #[inline(never)]\nfn two(id: u32, n: u64) -> u64 {\n    let next = black_box(n);\n    {\n        \
         let (id, n) = (&next, &&id);\n        \
         simple_mark!(fix:two, \"%lu %u\", id, n);\n    }\n    next\n}\n\
         fn main() {\n    println!(\"{} {}\", one(black_box(5)), two(1, black_box(2)));\n}\n",
    );
    project.file(
        "cargo.sh",
        "#!/bin/sh\n\"$REAL_CARGO\" \"$@\" || { status=$?; echo failed >> .git/failures; exit $status; }\n",
    );
    let _ = project.cargo_smark(&["check", "-q"]);
    let real = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let script = project.path().join("cargo.sh");
    run(Command::new("chmod").arg("+x").arg(&script));
    project.commit();
    let mut command = project.cargo_smark_command(&["fix", "--deny", "arguments"]);
    let fixed = ended(command.env("CARGO", &script).env("REAL_CARGO", real));
    let changed = project.changed().join("\n");
    assert!(changed.contains("\"%zu\", keep id = *id)"), "{changed}\n{}{}", fixed.stdout, fixed.stderr);
    assert!(
        changed.contains("\"%lu %u\", keep id = *id, keep n = **n)"),
        "{changed}\n{}{}",
        fixed.stdout,
        fixed.stderr
    );
    assert_eq!((fixed.status, not_fixed(&fixed.stdout).len()), (0, 0), "{}", fixed.stdout);
    assert!((1..=2).contains(&failures(&project)), "{}", fixed.stderr);
}

#[test]
fn an_anchor_that_helps_some_copies_stays() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() || find("ld.gold").is_none() {
        return skipped("the copies were seen with gcc and gold on x86-64");
    }
    // `one` and `two` have the same code, of which the linker keeps one; the others have copies of their own.
    let functions = "int work(int);\nstatic inline int step(int x)\n{\n    static volatile int last;\n    if (x & 1) {\n        \
                     last = x;\n        simple_mark(fix:step, \"\");\n    }\n    return work(x + 2);\n}\n\
                     int one(int x);\nint one(int x) { return step(x) + 5; }\n\
                     int two(int x);\nint two(int x) { return step(x) + 5; }\n\
                     int other(int x);\nint other(int x) { return step(x) * 7; }\n\
                     int more(int x);\nint more(int x) { return step(x) * 9; }\n";
    let (project, build) = built(functions);
    let build = format!("{build} -ffunction-sections -fno-ipa-icf -fuse-ld=gold -Wl,--icf=all");
    run(Command::new("sh").current_dir(project.path()).args(["-c", &build]));
    let fixed = project.check(&["--fix", "--build", &build, "--deny", "exactness", "./program"]);
    assert_eq!(fixed.status, 1, "{}", fixed.stdout);
    assert!(project.read("lost.c").contains("simple_mark_anchor(fix:step"), "{}", fixed.stdout);
    assert!(fixed.stdout.contains("fixed fix:step (lost.c:8): anchored"), "{}", fixed.stdout);
    let left =
        "not fixed fix:step (lost.c:8): an anchor helped and stays, but 1 of 3 copies are left; before it was 3 of 3";
    assert!(fixed.stdout.contains(left), "{}", fixed.stdout);
    // A second run says what is left, and changes nothing.
    project.commit();
    let again = project.check(&["--fix", "--build", &build, "--deny", "exactness", "./program"]);
    assert_eq!((again.status, project.changed().len()), (1, 0), "{}", again.stdout);
    assert!(
        again.stdout.contains("not fixed fix:step (lost.c:8): SM024 (unproven) needs another change"),
        "{}",
        again.stdout
    );
}

#[test]
fn an_update_of_the_lock_file_says_which_lost_arguments_it_accepts() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    let (project, _) =
        built(&format!("{}{}", lost("submit", MARKER), lost("other", "simple_mark(fix:other, \"%d\", tag)")));
    let update = ["--lock", "markers.lock", "--update", "./program"];
    let first = project.check(&update);
    let says = "smark: markers.lock: accepts 2 arguments that are lost: `tag` of fix:lost, `tag` of fix:other\n";
    assert_eq!((first.status, first.stderr.as_str()), (0, says), "{}", first.stdout);
    // Only what is new is said.
    assert_eq!(project.check(&update).stderr, "");
    let lock = project.read("markers.lock").replacen("\"lost\"", "\"live\"", 1);
    project.file("markers.lock", lock);
    let says = "smark: markers.lock: accepts 1 argument that is lost: `tag` of fix:lost\n";
    assert_eq!(project.check(&update).stderr, says);
}

#[test]
fn what_no_edit_fixes_is_said() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    let (project, build) = built(&format!("{}{}", lost("submit", MARKER), lost("other", MARKER)));
    let fixed = project.check(&["--fix", "--build", &build, "./program"]);
    assert_eq!((fixed.status, project.changed().len()), (1, 4), "{}", fixed.stdout);
    let says =
        "not fixed fix:lost (lost.c:17): SM050 (duplicate) needs another change: give each marker a name of its own";
    assert!(fixed.stdout.contains(says), "{}", fixed.stdout);
}

/// One header by two paths: each of its markers is one, and is changed once.
#[test]
fn a_header_by_two_paths_is_fixed_once() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    let project = Project::new();
    let marked =
        lost("submit", MARKER).replace("int submit(void)", "static __attribute__((noinline)) int submit(void)");
    project.file("c/m.h", format!("#include <simple_marker.h>\n{marked}"));
    project.file("a/a.c", "#include \"../c/m.h\"\nint a(void);\nint a(void) { return submit(); }\n");
    project.file("main.c", "#include \"./c/m.h\"\nint a(void);\nint main(void) { return a() + submit(); }\n");
    project.file("work.c", WORK.split("int main").next().expect("a text"));
    project.file(".gitignore", "/program\n*.o\n");
    project.commit();
    // The two start in different folders.
    let include = workspace().join("markers/include");
    let build = format!(
        "(cd a && gcc -O2 -g -I {0} -c a.c -o a.o) && gcc -O2 -g -I {0} a/a.o main.c work.c -o program",
        include.display()
    );
    let fixed = project.check(&["--fix", "--build", &build, "./program"]);
    assert_eq!((fixed.status, not_fixed(&fixed.stdout).len()), (0, 0), "{}", fixed.stdout);
    assert_eq!(project.changed().len(), 2, "{:?}", project.changed());
}

#[test]
fn what_is_not_for_sure_is_not_changed() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    // The file changed after the build.
    let (project, _) = one(MARKER);
    project.file("lost.c", format!("\n{}", project.read("lost.c")));
    project.commit();
    refused(&project, &[], 1, "not fixed fix:lost (lost.c:8): its source line has no such marker");
    // A macro writes the marker, or the argument has side effects.
    let define = "#define MARK(x) simple_mark(fix:lost, \"%d\", x)\n";
    let (project, _) = built(&format!("{define}{}", lost("submit", "MARK(tag)")));
    refused(&project, &[], 1, "the macro `MARK` writes the marker");
    let (project, _) = one("simple_mark(fix:lost, \"%d %d\", tag, work(1))");
    refused(&project, &["--deny", "arguments"], 1, "`work(1)` is not kept");
    // Other folders and other files.
    let (project, _) = one(MARKER);
    project.file("inner/empty", "");
    project.commit();
    refused(&project, &["--within", "inner"], 1, "outside of the folder that may be changed");
    let project = Project::new();
    project.file("vendor/fix/lost.c", format!("#include <simple_marker.h>\n{}", lost("submit", MARKER)));
    project.file("vendor/fix/.cargo-checksum.json", "{}");
    project.file("work.c", WORK);
    project.file(".gitignore", "/program\n");
    project.commit();
    let include = workspace().join("markers/include");
    let build = format!("gcc -O2 -g -I {} vendor/fix/lost.c work.c -o program", include.display());
    run(Command::new("sh").current_dir(project.path()).args(["-c", &build]));
    let says = "not fixed fix:lost (vendor/fix/lost.c:8): its source file belongs to a dependency, because of \
                vendor/fix/.cargo-checksum.json, which cargo puts into a package that it unpacks or vendors: if the copy is \
                yours to change, remove that file";
    refused(&project, &[], 1, says);
    fs::rename(project.path().join("vendor/fix/.cargo-checksum.json"), project.path().join("vendor/fix/.cargo-ok"))
        .expect("renamed");
    project.commit();
    refused(&project, &[], 1, "because of vendor/fix/.cargo-ok, which");
    fs::remove_file(project.path().join("vendor/fix/.cargo-ok")).expect("removed");
    project.commit();
    assert_eq!(project.check(&["--fix", "./program"]).status, 1);
    assert!(project.read("vendor/fix/lost.c").contains("simple_mark_keep"));
}

#[test]
fn files_that_may_not_be_changed_stay() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    let include = workspace().join("markers/include");
    let source = format!("#include <simple_marker.h>\n{}", lost("submit", MARKER));
    let project = |folder: &str, option: &str| {
        let project = Project::new();
        project.file(&format!("{folder}/lost.c"), &source);
        project.file("work.c", WORK);
        project.file(".gitignore", "/program\n/generated\n");
        project.commit();
        let mut gcc = Command::new("gcc");
        gcc.current_dir(project.path()).args(["-O2", "-g", "-I"]).arg(&include);
        gcc.args(option.split_whitespace()).args([&format!("{folder}/lost.c"), "work.c", "-o", "program"]);
        run(&mut gcc);
        project
    };
    refused(&project("generated", ""), &[], 1, "its source file was made by a build");
    let remapped = project("src", "-fmacro-prefix-map=src=/elsewhere -ffile-prefix-map=src=/elsewhere");
    refused(&remapped, &[], 1, "not fixed fix:lost (/elsewhere/lost.c:8): its source file is not found");
    let built = project("build", "");
    built.file("build/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    built.commit();
    refused(&built, &[], 1, "its source file was made by a build");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let read_only = project("src", "");
        let path = read_only.path().join("src/lost.c");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("permissions");
        refused(&read_only, &[], 1, "its source file is read-only");
        // A link to a file outside of the folder.
        let elsewhere = tempfile::tempdir().expect("a folder");
        let linked = project("src", "");
        let (path, outside) = (linked.path().join("src/lost.c"), elsewhere.path().join("lost.c"));
        fs::rename(&path, &outside).expect("moved");
        std::os::unix::fs::symlink(&outside, &path).expect("a link");
        linked.commit();
        refused(&linked, &[], 1, "outside of the folder that may be changed");
        assert_eq!(fs::read_to_string(outside).expect("read"), source);
    }
}
