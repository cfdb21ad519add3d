//! `smark export` of probes with the tools that it serves: they arm the switches, read the values that
//! the program prints, and leave the program asleep.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::fs;
use std::process::{Command, Output};
use std::sync::LazyLock;

use simple_markers_tests::fixture;
use simple_markers_tests::tools::{self, find, run, skipped};
use simple_markers_tests::uprobes::Uprobes;

use crate::export::{Program, bpftrace, copy, export, headers, kernel_reads, program, sorted_lines};

static PROBES: LazyLock<Program> = LazyLock::new(|| {
    let folder = fixture::target().join("export");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("probes");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-g", "-I"]).arg(fixture::workspace().join("markers/include"));
    run(gcc.arg(fixture::workspace().join("tests/export/probes.c")).arg("-o").arg(&path));
    program(&path)
});

#[test]
fn the_kernel_arms_and_fetches() {
    kernel_reads(&PROBES, "probes", 20);
    let (exported, _) = export("uprobe", &PROBES.path, &[]);
    assert!(exported.contains("# without d / 2: the kernel does not read floating-point numbers\n"), "{exported}");
}

/// Removes the events of the group `probes`.
struct Remove;

impl Drop for Remove {
    fn drop(&mut self) {
        let _ = Command::new("perf").args(["probe", "-q", "-d", "probes:*"]).output();
    }
}

#[test]
fn perf_records_them() {
    if find("perf").is_none() {
        return;
    }
    // It holds the lock on the names of events.
    let Some(_instance) = Uprobes::open().and_then(|uprobes| uprobes.instance("perf-probes")) else {
        return skipped("what perf records is not tested without the right to use tracefs");
    };
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("probes.sh");
    fs::write(&script, export("perf", &PROBES.path, &[]).0).expect("a script");
    let shown = run(Command::new("sh").arg(&script).arg("-D"));
    let (uprobe, _) = export("uprobe", &PROBES.path, &[]);
    let lines: Vec<&str> = uprobe.lines().filter(|line| line.starts_with("p:")).collect();
    assert_eq!((lines.len(), shown.lines().collect::<Vec<_>>()), (4, lines));
    let _remove = Remove;
    run(Command::new("sh").arg(&script));
    let data = folder.path().join("perf.data");
    let mut record = Command::new("perf");
    record.args(["record", "-q", "-e", "probes:*", "-o"]).arg(&data).arg("--").arg(&PROBES.path);
    assert_eq!(run(&mut record).lines().collect::<Vec<_>>(), PROBES.truth);
    let said = run(Command::new("perf").args(["script", "-F", "event,trace", "-i"]).arg(&data));
    let found: Vec<String> = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let after = |name: &str, address: &str| -> Vec<String> {
        let lines = found.iter().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        lines
            .filter_map(|line| Some(line.split_once(") ")?.1.to_owned()))
            .filter(|line| line.contains(address))
            .collect()
    };
    assert_eq!(
        after("probes:integers", "a="),
        [
            "a=-128 b=65535 c=-2147483648 d=18446744073709551615 e=0 c_3L_1=-6442450945",
            "a=127 b=0 c=2147483647 d=1 e=-1 c_3L_1=6442450940",
            "a=0 b=1 c=2 d=3 e=4 c_3L_1=5",
        ],
        "{said}"
    );
    let mut texts = [after("probes:text_1", "name="), after("probes:text_2", "name=")].concat();
    texts.sort();
    assert_eq!(texts, ["name=\"another\" rest=\"nother\"", "name=\"one\" rest=\"the rest\""], "{said}");
    assert_eq!(after("probes:floats", "n="), ["n=7"], "{said}");
}

#[test]
fn gdb_arms_at_the_start() {
    if find("gdb").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (exported, _) = export("gdb", &PROBES.path, &[]);
    let script = folder.path().join("probes.gdb");
    fs::write(&script, &exported).expect("a script");
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "set width 0", "-ex", "set debuginfod enabled off", "-x"]).arg(&script);
    let start = "set var *(unsigned short *)";
    let line = exported.lines().find(|line| line.starts_with(start)).expect("a switch");
    let switch = format!("output *(unsigned short *){}", line[start.len()..].trim_end_matches(" += 1"));
    // The second run is armed again, and once.
    gdb.args(["-ex", "run > /dev/null", "-ex", "break main", "-ex", "run > /dev/null", "-ex", &switch]);
    let echo = ["-ex", "echo \\n"];
    let said = run(gdb.args(echo).args(["-ex", "smark_disarm_probes", "-ex", &switch]).args(echo).arg(&PROBES.path));
    assert_eq!(sorted_lines(&said, &PROBES), PROBES.expected(&exported), "{said}");
    let shown: Vec<&str> = said.lines().filter(|line| matches!(*line, "0" | "1")).collect();
    assert_eq!(shown, ["1", "0"], "{said}");
    assert!(!exported.contains("# without d / 2"), "{exported}");
}

#[test]
fn gdb_arms_a_program_that_runs() {
    if find("gdb").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("probes.gdb");
    let (exported, _) = export("gdb", &PROBES.path, &[]);
    fs::write(&script, &exported).expect("a script");
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "set width 0", "-ex", "set debuginfod enabled off", "-ex", "break main"]);
    let said = run(gdb.args(["-ex", "run > /dev/null", "-x"]).arg(&script).args(["-ex", "continue"]).arg(&PROBES.path));
    assert_eq!(sorted_lines(&said, &PROBES), PROBES.expected(&exported), "{said}");
}

#[test]
fn readers_of_notes_arm() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = copy(&PROBES, folder.path());
    assert_eq!(run(&mut Command::new(&copy)).lines().collect::<Vec<_>>(), PROBES.truth);
    let mut expected: Vec<&String> = PROBES.truth.iter().filter(|line| !line.starts_with("probes:floats")).collect();
    expected.sort();
    let path = copy.display();
    let script = format!(
        "usdt:{path}:probes:integers {{ printf(\"probes:integers %d %u %d %lu %d %ld\\n\", arg0, arg1, arg2, arg3, arg4, arg5); }}\n\
         usdt:{path}:probes:text {{ printf(\"probes:text %s then %s\\n\", str(arg0), str(arg1)); }}\n"
    );
    if let Some(said) = bpftrace(&["-e", &script], &copy, folder.path()) {
        assert_eq!(sorted_lines(&said, &PROBES).iter().collect::<Vec<_>>(), expected, "{said}");
    }
    if find("gdb").is_some() {
        let file = folder.path().join("notes.gdb");
        let command = |name: &str, format: &str, values: &str| {
            format!(
                "break -probe-stap {name}\ncommands\nsilent\nprintf \"{name} {format}\\n\", {values}\ncontinue\nend\n"
            )
        };
        let values = |count: usize| (0..count).map(|at| format!("$_probe_arg{at}")).collect::<Vec<_>>().join(", ");
        let texts = "(char *)$_probe_arg0, (char *)$_probe_arg1";
        let commands = command("probes:integers", "%d %u %d %lu %d %ld", &values(6))
            + &command("probes:text", "%s then %s", texts);
        fs::write(&file, commands).expect("commands");
        let mut gdb = Command::new("gdb");
        gdb.args(["-nx", "-batch", "-ex", "set width 0", "-ex", "set language c", "-ex", "set debuginfod enabled off"]);
        let said = run(gdb.arg("-x").arg(&file).args(["-ex", "run > /dev/null"]).arg(&copy));
        assert_eq!(sorted_lines(&said, &PROBES).iter().collect::<Vec<_>>(), expected, "{said}");
    }
    if find("perf").is_some() {
        let cache = folder.path().join("perf");
        let perf = || {
            let mut perf = Command::new("perf");
            perf.arg("--buildid-dir").arg(&cache);
            perf
        };
        run(perf().args(["buildid-cache", "--add"]).arg(&copy));
        // perf finds the file offset of the switch.
        let Output { status, stdout, stderr } = tools::output(perf().args(["probe", "-D", "%sdt_probes:integers"]));
        if !status.success() && Uprobes::open().is_none() {
            return skipped("perf probe is not tested without the right to use tracefs");
        }
        let (uprobe, _) = export("uprobe", &PROBES.path, &["probes:integers"]);
        let switch = uprobe.split(['(', ')']).find(|part| part.starts_with("0x")).expect("a switch");
        let said = String::from_utf8_lossy(&stdout).into_owned();
        assert!(said.contains(&format!("({switch})")), "{switch} in {said}{}", String::from_utf8_lossy(&stderr));
    }
}

#[test]
fn what_does_not_arm_says_so() {
    let (exported, _) = export("bpftrace", &PROBES.path, &[]);
    let comments = |text: &str, start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(comments(&exported, "// asleep: a uprobe of bpftrace does not arm it"), 4, "{exported}");
    let (exported, _) = export("stap", &PROBES.path, &[]);
    assert_eq!(comments(&exported, "# asleep: a statement probe of SystemTap does not arm it"), 4, "{exported}");
    let (Some(_), Some(release)) = (find("stap"), headers()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let copy = copy(&PROBES, folder.path());
    let mut stap = Command::new("stap");
    stap.args(["-r", &release]).env("SYSTEMTAP_DIR", folder.path());
    // SystemTap takes the switch for the semaphore of the mark.
    let mark = format!("probe process(\"{}\").mark(\"integers\") {{ println($arg1) }}", copy.display());
    let translated = run(stap.args(["-p3", "-e", &mark]));
    assert!(translated.contains("sdt_sem_offset"), "{translated}");
}
