//! Arming from inside the program, beside tools.

#[macro_use]
extern crate harness;

mod support;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use simple_markers_record::buffer::{Layout, control};
use simple_markers_recorder::{ArmError, Probe, arm, arm_keeping, disarm, probes};
use support::babeltrace::babeltrace;
use support::child::{Folder, Killed, command, inside, run};
use support::probe::Descriptor;
use support::reader::growing_folder;
use support::tool;

descriptor!(FIRST: "queue:first", "%lu", "a", "8", [false]);
descriptor!(SECOND: "queue:second", "%lu", "a", "8", [false]);
// A copy in another function.
descriptor!(AGAIN: "queue:second", "%lu", "a", "8", [false]);
descriptor!(OTHER: "other:one", "%lu %lu", "a, a", "8 8", [false, false]);

static PROBES: [&Descriptor; 4] = [&FIRST, &SECOND, &AGAIN, &OTHER];

fn hit() {
    FIRST.hit(&[1]);
    SECOND.hit(&[2]);
    AGAIN.hit(&[3]);
    OTHER.hit(&[4, 5]);
}

fn armed() -> Vec<&'static str> {
    let mut names: Vec<_> = probes().filter(Probe::is_armed).map(|probe| probe.name()).collect();
    names.sort_unstable();
    names
}

/// The names of the events that babeltrace2 prints, or as many hits as there should be.
fn assert_recorded(folder: &Path, names: &[&str]) {
    let layouts: Vec<Layout> = probes().map(|probe| layout(probe.name())).collect();
    let count: usize = growing_folder(folder, &layouts).values().map(|file| file.hits.len()).sum();
    assert_eq!(count, names.len());
    if let Some(lines) = babeltrace(folder, &[]) {
        let found: Vec<_> = lines.iter().map(|line| line.split(' ').nth(2).unwrap().trim_end_matches(':')).collect();
        assert_eq!(found, names);
    }
}

fn layout(name: &str) -> Layout {
    if name == "other:one" { OTHER.layout() } else { FIRST.layout() }
}

#[test]
fn probes_are_armed_by_pattern() {
    let inner = |parent: &Path| {
        let (folder, other) = (parent.join("trace"), parent.join("other"));
        let (folder_name, other_name) = (folder.to_str().unwrap(), other.to_str().unwrap());
        assert_eq!(disarm("*"), Ok(0));
        assert_eq!(arm("nothing:*", folder_name), Ok(0));
        assert!(!folder.exists());
        hit();
        assert_eq!(arm("queue:s*", folder_name), Ok(2));
        assert_eq!(armed(), ["queue:second", "queue:second"]);
        hit();
        assert_recorded(&folder, &["queue:second"; 2]);
        // More probes in the same folder, and none in another one.
        assert_eq!(arm("*:one, *first", folder_name), Ok(2));
        assert_eq!(arm("*", other_name), Err(ArmError::OtherFolder));
        hit();
        let all = ["queue:second", "queue:second", "queue:first", "queue:second", "queue:second", "other:one"];
        assert_recorded(&folder, &all);
        assert_eq!(disarm("queue:*"), Ok(3));
        assert_eq!(armed(), ["other:one"]);
        assert_eq!(disarm("*"), Ok(1));
        assert_eq!(disarm("*"), Ok(0));
        hit();
        assert_recorded(&folder, &all);
        // It goes on in its own folder, but not in one that others have made.
        assert_eq!(arm("other:*", folder_name), Ok(1));
        hit();
        assert_eq!(disarm("*"), Ok(1));
        assert_recorded(&folder, &[&all[..], &["other:one"]].concat());
        std::fs::create_dir(&other).unwrap();
        assert_eq!(arm("*", other_name), Err(ArmError::Folder { errno: libc::EEXIST }));
        assert_eq!(arm("*", &format!("/{}", "x".repeat(500))), Err(ArmError::Folder { errno: libc::ENAMETOOLONG }));
        assert!(armed().is_empty());
        let mode = std::os::unix::fs::PermissionsExt::mode(&folder.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o700);
        for file in support::reader::files(&folder) {
            let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
    };
    run("probes_are_armed_by_pattern", inner, |_| ());
}

#[test]
fn a_tool_that_lives_keeps_its_probes() {
    let inner = |parent: &Path| {
        let folder = parent.join("trace");
        let name = folder.to_str().unwrap();
        let buffers = tool::Buffers { packet_size: 4096, packets: 2, flags: control::OVERWRITE };
        tool::arm(parent, buffers, &PROBES);
        let pid = std::process::id();
        assert_eq!(arm("*", name), Err(ArmError::Tool { pid }));
        assert_eq!(disarm("*"), Err(ArmError::Tool { pid }));
        assert_eq!(armed().len(), 4);
        assert_eq!(
            ArmError::Tool { pid: 7 }.to_string(),
            "the tool with process id 7 has armed probes of this program"
        );
        // The tool has ended: another process has its id.
        tool::set_owner(pid, 1);
        assert_eq!(arm("*", name), Ok(4));
        hit();
        assert_recorded(&folder, &["queue:first", "queue:second", "queue:second", "other:one"]);
        tool::arm(parent, buffers, &PROBES);
        // It is gone.
        tool::set_owner(i32::MAX as u32, 5);
        assert_eq!(disarm("*:second"), Ok(2));
        // What the tool has armed has its numbers, so it does not stay armed.
        assert_eq!(armed(), ["other:one", "queue:first"]);
        assert_eq!(arm("*:second", parent.join("second").to_str().unwrap()), Ok(2));
        assert_eq!(armed(), ["queue:second", "queue:second"]);
    };
    run("a_tool_that_lives_keeps_its_probes", inner, |_| ());
}

/// The numbers of the hits that a recording has, in the order of their times.
fn numbers(folder: &Path) -> Vec<u64> {
    let layouts: Vec<Layout> = probes().map(|probe| layout(probe.name())).collect();
    let mut hits: Vec<_> = growing_folder(folder, &layouts).into_values().flat_map(|file| file.hits).collect();
    hits.sort_by_key(|hit| hit.time);
    let number = |hit: &support::reader::Hit| match hit.values[..] {
        [support::reader::Value::Scalar(number)] => number,
        _ => panic!("{hit:?}"),
    };
    hits.iter().map(number).collect()
}

/// Whether these are the last of the numbers up to `end`, at least as many as fit into a MiB.
fn assert_last(numbers: &[u64], end: u64) {
    const IN_MIB: usize = (1 << 20) / 24;
    assert!(numbers.len() >= IN_MIB, "{}", numbers.len());
    assert!(numbers.len() <= IN_MIB * 7 / 3, "{}", numbers.len());
    assert!(numbers.iter().copied().eq(end - numbers.len() as u64..end));
}

#[test]
fn only_the_last_records_are_kept() {
    const COUNT: u64 = 300_000;
    let inner = |parent: &Path| {
        let folder = parent.join("trace");
        assert_eq!(arm_keeping("queue:first", folder.to_str().unwrap(), 1 << 20), Ok(1));
        for number in 0..1000 {
            FIRST.hit(&[number]);
        }
        let room = || -> u64 {
            support::reader::files(&folder).iter().map(|file| file.metadata().unwrap().blocks() * 512).sum()
        };
        assert!(room() <= 256 << 10, "{}", room());
        assert!(numbers(&folder).into_iter().eq(0..1000));
        for number in 1000..COUNT {
            FIRST.hit(&[number]);
        }
        assert_last(&numbers(&folder), COUNT);
        assert!(room() <= 2 << 20, "{}", room());
        assert_eq!(support::reader::files(&folder).len(), 4);
        // Somebody removes a file, and the writer makes another one.
        std::fs::remove_file(&support::reader::files(&folder)[0]).unwrap();
        for number in COUNT..2 * COUNT {
            FIRST.hit(&[number]);
        }
        assert_last(&numbers(&folder), 2 * COUNT);
        assert_eq!((tool::lost(), tool::error()), (0, 0));
    };
    run("only_the_last_records_are_kept", inner, |parent| {
        let folder = parent.join("trace");
        let numbers = numbers(&folder);
        assert_last(&numbers, 600_000);
        if let Some(lines) = babeltrace(&folder, &[]) {
            assert_eq!(lines.len(), numbers.len());
            assert!(lines.last().unwrap().ends_with("{ a = 599999 }"), "{:?}", lines.last());
        }
    });
}

#[test]
fn the_last_records_are_there_after_a_kill() {
    let test = "the_last_records_are_there_after_a_kill";
    if inside(test).is_some() {
        for number in 0.. {
            FIRST.hit(&[number]);
        }
    }
    let parent = Folder::new(test);
    for round in 0..10 {
        let folder = parent.path().join(round.to_string());
        let mut command = command(test, parent.path());
        command.env("SIMPLE_MARKERS_RECORD", "queue:first").env("SIMPLE_MARKERS_OUTPUT", &folder);
        let mut child =
            Killed(command.env("SIMPLE_MARKERS_KEEP", "1").stdout(std::process::Stdio::null()).spawn().unwrap());
        // Until it has gone round once.
        while !(folder.exists() && support::reader::files(&folder).len() == 4) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_micros(3700 * round));
        child.0.kill().unwrap();
        child.0.wait().unwrap();
        // One may just have been hidden, to be written anew.
        let numbers = numbers(&folder);
        assert_last(&numbers, numbers.last().unwrap() + 1);
        if round == 9 {
            babeltrace(&folder, &[]).inspect(|lines| assert_eq!(lines.len(), numbers.len()));
        }
    }
}

#[test]
fn a_size_that_is_none_is_refused() {
    let test = "a_size_that_is_none_is_refused";
    if inside(test).is_some() {
        return assert!(armed().is_empty());
    }
    let folder = Folder::new(test);
    for keep in ["0", "-1", "x", "1048577", "99999999999999999999999"] {
        let mut command = command(test, folder.path());
        let output = command.env("SIMPLE_MARKERS_RECORD", "*").env("SIMPLE_MARKERS_KEEP", keep).output().unwrap();
        support::child::succeeded(&output);
        let said = "simple-markers: nothing is recorded: SIMPLE_MARKERS_KEEP is no number of MiB from 1 to 1048576\n";
        assert_eq!(String::from_utf8_lossy(&output.stderr), said);
    }
}

fn main() -> std::process::ExitCode {
    harness::main()
}
