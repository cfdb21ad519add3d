//! Arming from inside the program, beside tools.

mod support;

use std::path::Path;

use simple_markers_record::buffer::{Layout, control};
use simple_markers_recorder::{ArmError, Probe, arm, disarm, probes};
use support::babeltrace::babeltrace;
use support::child::run;
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
