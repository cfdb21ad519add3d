//! The command: what it says where, and its exit status.

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use simple_markers_resolver::record::DECLARATIONS;
use support::{Linked, scsi};

/// A folder of files that goes away at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("smark-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("sub")).unwrap();
        fs::write(path.join("scsi_mod.ko"), scsi().build()).unwrap();
        fs::write(path.join("sub/other"), scsi().build()).unwrap();
        fs::write(path.join("plain"), Linked::new().build()).unwrap();
        fs::write(path.join("text"), "hello").unwrap();
        let bad = Linked::new().section(DECLARATIONS, b"a:b\0f.c\x00x\0\0\0".to_vec());
        fs::write(path.join("bad"), bad.build()).unwrap();
        Self(path)
    }

    /// Exit status, standard output and standard error of `smark list` in the folder.
    fn list(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_smark"));
        let output = command.arg("list").args(arguments).current_dir(&self.0).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn exit_status_and_messages() {
    let folder = Folder::new("status");
    let (status, out, err) = folder.list(&["scsi_mod.ko"]);
    assert_eq!((status, out.lines().count(), err.as_str()), (0, 6, ""));

    let (status, out, err) = folder.list(&["plain"]);
    assert_eq!((status, out.as_str(), err.as_str()), (0, "", "smark: plain: no markers\n"));
    assert_eq!(folder.list(&["-q", "plain"]), (0, String::new(), String::new()));

    let (status, out, err) = folder.list(&["text", "scsi_mod.ko", "./nothing", "sub"]);
    assert_eq!((status, out.lines().count()), (2, 6));
    assert_eq!(
        err,
        "smark: text: not an ELF file\nsmark: ./nothing: no such file or directory\nsmark: sub: is a folder, -r looks into it\n"
    );

    let (status, _, err) = folder.list(&["bad"]);
    assert_eq!((status, err.as_str()), (2, "smark: bad: __simple_marker.1 at 0x0: line is not a number\n"));

    let (status, out, err) = folder.list(&["scsi:qeue", "scsi_mod.ko"]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert_eq!(
        err,
        "smark: no marker matches `scsi:qeue` (and no file is called so); closest: scsi:queue, scsi:dead, scsi:gone\n"
    );
    let (status, _, err) = folder.list(&["scsi:dead", "-f", "g", "scsi_mod.ko"]);
    assert_eq!((status, err.as_str()), (1, "smark: no marker matches all the patterns\n"));
    let (status, _, err) = folder.list(&["-f", "main", "-n", "scsi:*", "scsi_mod.ko"]);
    assert_eq!((status, err.as_str()), (1, "smark: no function matches `main`; closest: f, g\n"));

    let (status, _, err) = folder.list(&["nothing"]);
    assert_eq!(status, 2);
    assert_eq!(err, "smark: no FILE to look at: no file is called `nothing`, so it is taken for a PATTERN\n");
    assert_eq!(folder.list(&[]).0, 2);
    assert_eq!(folder.list(&["--nonsense"]).0, 2);
    assert_eq!(folder.list(&["a[", "scsi_mod.ko"]).0, 2);
}

#[test]
fn rows_keep_their_numbers_and_folders_their_order() {
    let folder = Folder::new("order");
    let (status, out, _) = folder.list(&["scsi:alone", "scsi_mod.ko", "sub/other"]);
    assert_eq!(status, 0);
    let ids: Vec<_> = out.lines().skip(1).map(|line| line.trim_start().split(' ').next().unwrap()).collect();
    assert_eq!(ids, ["5", "10"]);

    let (status, out, err) = folder.list(&["-r", "."]);
    assert_eq!((status, err.as_str()), (2, "smark: ./bad: __simple_marker.1 at 0x0: line is not a number\n"));
    let modules: Vec<_> = out.lines().skip(1).map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(modules, [["scsi_mod"; 5], ["other"; 5]].concat());
}

#[cfg(unix)]
#[test]
fn links_inside_folders_are_not_followed() {
    let folder = Folder::new("links");
    std::os::unix::fs::symlink("..", folder.0.join("sub/up")).unwrap();
    std::os::unix::fs::symlink("other", folder.0.join("sub/again")).unwrap();
    let (status, out, err) = folder.list(&["-r", "sub"]);
    assert_eq!((status, out.lines().count(), err.as_str()), (0, 6, ""));
}

#[test]
fn json_is_filtered_by_patterns() {
    let folder = Folder::new("json");
    let (status, out, _) = folder.list(&["--json", "-f", "f", "scsi_mod.ko"]);
    assert_eq!(status, 0);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["images"][0]["markers"].as_array().unwrap().len(), 1);
    // A marker is shown whole: three sites, two of them in `f`.
    assert_eq!(json["images"][0]["markers"][0]["sites"].as_array().unwrap().len(), 3);
}

#[test]
fn colour_is_asked_for() {
    let folder = Folder::new("colour");
    assert!(!folder.list(&["scsi_mod.ko"]).1.contains('\u{1b}'));
    assert!(folder.list(&["--color", "always", "scsi_mod.ko"]).1.contains("\u{1b}[1mscsi:queue\u{1b}[0m"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new("pipe");
    let mut command = Command::new(env!("CARGO_BIN_EXE_smark"));
    // Enough rows that they do not all fit a pipe.
    let files = vec!["scsi_mod.ko"; 2000];
    let command = command.arg("list").args(files).current_dir(&folder.0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn help_has_examples() {
    let help = Command::new(env!("CARGO_BIN_EXE_smark")).args(["list", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("EXAMPLES\n") && help.contains("EXIT STATUS\n"), "{help}");
    let version = Command::new(env!("CARGO_BIN_EXE_smark")).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8(version.stdout).unwrap(), format!("smark {}\n", env!("CARGO_PKG_VERSION")));
}
