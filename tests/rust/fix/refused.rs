//! What is not changed or is taken back, and what is said of it.

use std::fs;
use std::process::Command;

use simple_markers_tests::fixture::workspace;
use simple_markers_tests::tools::{find, run, skipped};

use super::project::{MARKER, Project, WORK, built, failures, lost, not_fixed, one, refused};

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
    let other = lost("other", "simple_mark(fix:other, \"%d\", tag)");
    project.file("vendor/fix/lost.c", format!("#include <simple_marker.h>\n{}{other}", lost("submit", MARKER)));
    project.file("vendor/fix/.cargo-checksum.json", "{}");
    project.file("work.c", WORK);
    project.file(".gitignore", "/program\n");
    project.commit();
    let include = workspace().join("markers/include");
    let build = format!("gcc -O2 -g -I {} vendor/fix/lost.c work.c -o program", include.display());
    run(Command::new("sh").current_dir(project.path()).args(["-c", &build]));
    let says = "not fixed fix:lost (vendor/fix/lost.c:8): its source file belongs to a dependency, because of \
                vendor/fix/.cargo-checksum.json, which cargo puts into a package that it unpacks or vendors: if the copy is \
                yours to change, remove that file\nnot fixed for the same reason: fix:other (vendor/fix/lost.c:17)\n";
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
