//! Static probes in lock files: a program that was built without them, or lost them, does not pass.

use std::path::{Path, PathBuf};
use std::process::Command;

use simple_markers_tests::fixture;
use simple_markers_tests::tools::{Ended, ended, find, output, run, skipped};

const SOURCE: &str = r#"
#ifdef SEMAPHORES
#define _SDT_HAS_SEMAPHORES 1
#endif
#ifdef PROBES
#include <sys/sdt.h>
#else
#define STAP_PROBE1(provider, name, a) ((void) (a))
#define STAP_PROBE2(provider, name, a, b) ((void) (a), (void) (b))
#endif
#ifdef SEMAPHORES
unsigned short store_start_semaphore __attribute__((used, section(".probes")));
unsigned short store_commit_semaphore __attribute__((used, section(".probes")));
#endif
#ifndef TYPE
#define TYPE short
#endif
int main(int argc, char **argv)
{
    STAP_PROBE2(store, start, argc, argv);
    STAP_PROBE1(store, commit, (TYPE) argc);
    return 0;
}
"#;

struct Programs {
    folder: tempfile::TempDir,
}

impl Programs {
    /// `None` if something that is needed is missing.
    fn new() -> Option<Self> {
        if ["gcc", "objcopy"].iter().any(|tool| find(tool).is_none()) {
            return None;
        }
        let mut header = Command::new("gcc");
        if !output(header.args(["-E", "-include", "sys/sdt.h", "-x", "c", "/dev/null"])).status.success() {
            skipped("there is no sys/sdt.h");
            return None;
        }
        Some(Self { folder: tempfile::tempdir().expect("a folder") })
    }

    fn build(&self, name: &str, options: &[&str]) -> PathBuf {
        let (source, program) = (self.folder.path().join("store.c"), self.folder.path().join(name));
        std::fs::write(&source, SOURCE).expect("a file");
        run(Command::new("gcc").args(["-O1", "-Wno-unused"]).args(options).arg(&source).arg("-o").arg(&program));
        program
    }

    fn check(&self, options: &[&str], program: &Path) -> Ended {
        let mut smark = Command::new(fixture::smark());
        ended(smark.arg("check").args(options).arg(program).current_dir(self.folder.path()))
    }

    /// The codes of the findings with the markers, and what causes each has.
    fn findings(&self, options: &[&str], program: &Path) -> Vec<(String, String, String)> {
        let checked = self.check(&[&["--format", "json"], options].concat(), program);
        let report: serde_json::Value = serde_json::from_str(&checked.stdout).expect("JSON");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let of = |it: &serde_json::Value| (text(&it["code"]), text(&it["message"]), text(&it["causes"][0]));
        report["findings"].as_array().expect("a list").iter().map(of).collect()
    }
}

#[test]
fn a_program_without_the_probes_of_the_lock_file_does_not_pass() {
    let Some(programs) = Programs::new() else { return };
    let program = programs.build("store", &["-DPROBES"]);
    programs.check(&["--notes", "--lock", "store.lock", "--update"], &program).success();
    let lock = std::fs::read_to_string(programs.folder.path().join("store.lock")).expect("the lock file");
    let start = "[[profile.marker]]\nname = \"store:start\"\nnote = \"-4, 8\"\nsites = 1\nargs.arg0 = \"live\"\n\
        args.arg1 = \"live\"\n";
    assert!(lock.contains(start), "{lock}");
    let locked = ["--lock", "store.lock"];
    programs.check(&locked, &program).success();
    // Debug information gives its arguments names, which are not those of the lock file.
    let described = programs.build("described", &["-g", "-DPROBES"]);
    assert_eq!(programs.findings(&locked, &described), []);
    let gone = |cause: &str| {
        ["store:commit", "store:start"].map(|name| {
            let message = format!("{name} is gone: the program has no note of this static probe");
            ("SM066".to_owned(), message, cause.to_owned())
        })
    };
    let without = programs.build("without", &[]);
    programs.check(&locked, &without).fails(1);
    let built = "without: it has neither `.note.stapsdt` nor `.stapsdt.base`: it was built without static probes, or the \
        linker dropped them";
    let causes = |findings: Vec<(String, String, String)>| -> Vec<(String, String, String)> {
        let folder = format!("{}/", programs.folder.path().display());
        findings.into_iter().map(|(code, what, cause)| (code, what, cause.replace(&folder, ""))).collect()
    };
    assert_eq!(causes(programs.findings(&locked, &without)), gone(built));
    run(Command::new("objcopy").args(["--remove-section", ".note.stapsdt"]).arg(&program));
    let removed = "store: it has no section `.note.stapsdt`, but sections that come with it: a tool removed it after the \
        build";
    assert_eq!(causes(programs.findings(&locked, &program)), gone(removed));
    // A person may accept it.
    assert_eq!(programs.check(&[&locked[..], &["--warn", "SM066"]].concat(), &program).status, 0);
}

#[test]
fn changed_arguments_and_lost_semaphores_are_told() {
    let Some(programs) = Programs::new() else { return };
    let program = programs.build("store", &["-DPROBES", "-DSEMAPHORES"]);
    programs.check(&["--notes", "--lock", "store.lock", "--update"], &program).success();
    let changed = programs.build("changed", &["-DPROBES", "-DTYPE=long"]);
    let told: Vec<_> = programs
        .findings(&["--lock", "store.lock"], &changed)
        .into_iter()
        .map(|(code, what, _)| (code, what))
        .collect();
    let expected = [
        "store:commit has the arguments `-8` in place of `-2`",
        "store:commit has no semaphore any more",
        "store:start has no semaphore any more",
    ];
    assert_eq!(told, expected.map(|what| ("SM067".to_owned(), what.to_owned())));
    assert_eq!(programs.check(&["--lock", "store.lock"], &changed).status, 0);
    programs.check(&["--lock", "store.lock", "--deny", "baseline"], &changed).fails(1);
}

#[test]
fn notes_are_checked_if_they_are_asked_for() {
    let Some(programs) = Programs::new() else { return };
    let program = programs.build("store", &["-DPROBES"]);
    // No marker of ours is there.
    assert_eq!(programs.check(&[], &program).status, 2);
    for options in [&["--notes"][..], &["store:*"], &["store:start"]] {
        let said = programs.check(options, &program).success();
        assert!(said.starts_with("check holds: "), "{said}");
    }
}
