//! A project of its own for each test, with sources in a repository, and what its changes are compared with.

use std::fs;
use std::path::Path;
use std::process::Command;

use simple_markers_tests::fixture::{smark, target, workspace};
use simple_markers_tests::tools::{Ended, ended, run};
use tempfile::TempDir;

/// A folder with sources, in its own repository.
pub(super) struct Project {
    folder: TempDir,
}

impl Project {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let project = Self { folder };
        project.git(&["init", "--quiet", "."]);
        project
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).expect("read")
    }

    pub(super) fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.current_dir(self.path()).args(["-c", "user.name=smark", "-c", "user.email=smark@example.org"]);
        run(git.args(arguments))
    }

    pub(super) fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "sources"]);
    }

    /// The lines that a change removed and added.
    pub(super) fn changed(&self) -> Vec<String> {
        let diff = self.git(&["diff", "--unified=0", "--no-color"]);
        let is_change = |line: &&str| {
            (line.starts_with('-') || line.starts_with('+')) && !line.starts_with("---") && !line.starts_with("+++")
        };
        diff.lines().filter(is_change).map(str::to_owned).collect()
    }

    pub(super) fn smark(&self, arguments: &[&str]) -> Ended {
        ended(Command::new(smark()).current_dir(self.path()).args(arguments))
    }

    pub(super) fn check(&self, arguments: &[&str]) -> Ended {
        self.smark(&[&["check"], arguments].concat())
    }

    /// Runs `cargo smark` in a clean environment.
    pub(super) fn cargo_smark(&self, arguments: &[&str]) -> Ended {
        ended(&mut self.cargo_smark_command(arguments))
    }

    pub(super) fn cargo_smark_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(smark().with_file_name("cargo-smark"));
        command.arg("smark").args(arguments).args(["--offline", "--profile", "fixed"]).current_dir(self.path());
        command.env("CARGO_TARGET_DIR", target()).env("CARGO_INCREMENTAL", "0").env("CARGO_TERM_COLOR", "never");
        for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "RUSTC_WRAPPER"] {
            command.env_remove(variable);
        }
        command
    }
}

/// Copies the files of an example.
pub(super) fn copy(from: &Path, to: &Path) {
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
pub(super) fn lines_of_markers(text: &str, macros: &str) -> Vec<(usize, usize)> {
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
pub(super) fn only_markers_change(project: &Project, macros: &str) {
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

pub(super) const RUST: &str = r"simple_mark!\s*\(";

pub(super) const C: &str = r"simple_mark(_keep|_anchor|_keep_anchor)?\s*\(";

/// An example as a separate workspace with maximum optimisation. Tests share a target folder, so no
/// two of them can build the same example.
pub(super) fn example(name: &str) -> Project {
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
pub(super) fn not_fixed(stdout: &str) -> Vec<&str> {
    stdout.lines().filter_map(|line| line.strip_prefix("not fixed ")).collect()
}

/// A function whose argument is lost at the marker.
pub(super) fn lost(function: &str, marker: &str) -> String {
    format!(
        "int work(int);\nint {function}(void);\nint {function}(void)\n{{\n    int tag = work(0);\n    int status = work(tag);\n    \
         {marker};\n    return status;\n}}\n"
    )
}

pub(super) const WORK: &str =
    "int work(int a) { __asm__ volatile(\"\" ::: \"memory\"); return a + 1; }\nint main(void) { return 0; }\n";

pub(super) const MARKER: &str = "simple_mark(fix:lost, \"tag %d\", tag)";

/// A project with one marker in `lost.c`, and the command that builds it.
pub(super) fn one(marker: &str) -> (Project, String) {
    built(&lost("submit", marker))
}

/// A project whose `lost.c` includes the header and has `functions`, and the command that builds it.
pub(super) fn built(functions: &str) -> (Project, String) {
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
pub(super) fn refused(project: &Project, more: &[&str], status: i32, says: &str) {
    let ended = project.check(&[&["--fix"], more, &["./program"]].concat());
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains(says), "{says:?} is not in {said}");
    assert_eq!(ended.status, status, "{said}");
    assert_eq!(project.changed(), [""; 0]);
}

/// How many lines a build that counts its failures wrote.
pub(super) fn failures(project: &Project) -> usize {
    fs::read_to_string(project.path().join(".git/failures")).map_or(0, |text| text.lines().count())
}

/// A package of Rust with one source file, whose profile `fixed` has maximum optimisation.
pub(super) fn package(name: &str, source: &str) -> Project {
    let project = Project::new();
    project.file(
        "Cargo.toml",
        format!(
            "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
             simple-markers = {{ path = {:?} }}\n\
             [profile.fixed]\ninherits = \"release\"\nopt-level = 3\ndebug = \"full\"\n",
            workspace().join("markers")
        ),
    );
    fs::copy(workspace().join("Cargo.lock"), project.path().join("Cargo.lock")).expect("the lock file");
    project.file("src/main.rs", source);
    // Unused entries of the lock file are removed before the commit.
    let _ = project.cargo_smark(&["check", "-q"]);
    project.commit();
    project
}

/// Runs `cargo smark` with a script in place of cargo, which has the path of cargo in `REAL_CARGO`.
pub(super) fn with_cargo(project: &Project, script: &str, arguments: &[&str]) -> Ended {
    let path = project.path().join(".git/cargo.sh");
    fs::write(&path, script).expect("written");
    run(Command::new("chmod").arg("+x").arg(&path));
    let real = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    ended(project.cargo_smark_command(arguments).env("CARGO", &path).env("REAL_CARGO", real))
}
