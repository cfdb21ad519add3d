//! Programs of C.

use std::fs;
use std::process::Command;

use simple_markers_tests::fixture::workspace;
use simple_markers_tests::tools::{find, run, skipped};

use super::project::{C, MARKER, Project, WORK, built, copy, lost, not_fixed, one, only_markers_change};

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
    note!("c-queue: {changed:#?}");
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

/// A header with a function that has a marker with a lost argument.
fn header() -> String {
    let marked =
        lost("submit", MARKER).replace("int submit(void)", "static __attribute__((noinline)) int submit(void)");
    format!("#include <simple_marker.h>\n{marked}")
}

/// One header by two paths: each of its markers is one, and is changed once.
#[test]
fn a_header_by_two_paths_is_fixed_once() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    let project = Project::new();
    project.file("c/m.h", header());
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

/// A header that is named only from a folder below: `../include/m.h`. In the folder of the project that
/// is a path outside of it.
#[test]
fn a_header_that_is_named_from_below_is_fixed() {
    if cfg!(not(target_arch = "x86_64")) || find("gcc").is_none() {
        return skipped("what is lost was seen with gcc on x86-64");
    }
    let project = Project::new();
    project.file("top/include/m.h", header());
    project.file("top/src/main.c", "#include \"m.h\"\nint main(void) { return submit(); }\n");
    project.file("top/src/work.c", WORK.split("int main").next().expect("a text"));
    project.file("top/build/keep", "");
    project.file(".gitignore", "program\n");
    project.commit();
    let include = workspace().join("markers/include");
    let build = format!(
        "cd top/build && gcc -O2 -g -I {} -I ../include ../src/main.c ../src/work.c -o program",
        include.display()
    );
    let program = "top/build/program";
    run(Command::new("sh").current_dir(project.path()).args(["-c", &build]));
    assert!(project.check(&[program]).stdout.contains("--> ../include/m.h:8"));
    let fixed = project.check(&["--fix", "--build", &build, program]);
    assert_eq!((fixed.status, not_fixed(&fixed.stdout).len()), (0, 0), "{}", fixed.stdout);
    assert!(fixed.stdout.contains("fixed fix:lost (top/include/m.h:8): kept `tag`"), "{}", fixed.stdout);
    assert_eq!(project.changed().len(), 2, "{:?}", project.changed());
}
