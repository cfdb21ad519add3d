//! What is watched in containers, which are found by their names and IDs.

use std::path::Path;
use std::process::{Command, Stdio};

use simple_markers_tests::fixture;
use simple_markers_tests::tools::{find, output, run, skipped};
use simple_markers_tests::watched::can_watch;

use crate::groups::{Passer, Smark, TestGroup, by_process, compile_passes};
use crate::trace::hits;
use crate::whom::is_root;

/// The name of the folder of a container that docker runs with systemd, and its ID.
fn docker_scope(start: &str) -> (String, String) {
    let id = format!("{start}{:08x}{}", std::process::id(), "0123456789abcdef".repeat(4));
    let id = id[..64].to_owned();
    (format!("docker-{id}.scope"), id)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn a_container_that_is_not_found_is_told_with_the_others() {
    if !can_watch() {
        return;
    }
    let Some(group) = TestGroup::new("smark-test-{}") else { return };
    let ((first, one), (second, other)) = (docker_scope("e1"), docker_scope("e2"));
    let (_first, _second) = (group.below(&first), group.below(&second));
    let refused = |name: &str, why: &[&str]| {
        let mut smark = Command::new(fixture::smark());
        let output = output(smark.args(["trace", "--container", name]).stdin(Stdio::null()));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(why.iter().all(|why| said.contains(why)), "{why:?}: {said}");
    };
    let [one, other] = [&one[..12], &other[..12]].map(|id| format!("docker {id}"));
    refused("nobody", &["container nobody: there is none with this name or ID; there are: ", &one, &other]);
    refused("e1", &["there is none with this name or ID"]);
    let [_third, _fourth] = ["ee10a", "ee10b"].map(|start| group.below(&docker_scope(start).0));
    refused("ee10", &["container ee10: there are several: docker ee10a", "docker ee10b"]);
    let mut smark = Command::new(fixture::smark());
    let output = output(smark.args(["trace", "--container", "x", "--cgroup", "y"]).stdin(Stdio::null()));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("cannot be used with"), "{said}");
}

/// Runs podman where the file systems of control groups look as they do with version 2 alone.
fn podman(arguments: &[&str]) -> Command {
    let script = r#"
        if [ ! -e /sys/fs/cgroup/cgroup.procs ]; then
            umount -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup || exit 9
        fi
        exec podman "$@""#;
    let mut podman = Command::new("unshare");
    podman.args(["--mount", "sh", "-c", script, "sh"]).args(arguments);
    podman
}

/// Removes a container when it is dropped.
struct PodmanContainer(String);

impl Drop for PodmanContainer {
    fn drop(&mut self) {
        output(&mut podman(&["rm", "-f", "-t", "0", &self.0]));
        output(&mut podman(&["rmi", "-f", &format!("localhost/{}", self.0)]));
    }
}

#[test]
fn the_hits_in_a_container_of_podman_are_its_passes() {
    if !can_watch() {
        return;
    }
    if !is_root() || find("podman").is_none() {
        return skipped("podman is needed, as root");
    }
    let folder = tempfile::tempdir().expect("a folder");
    compile_passes(folder.path(), "server");
    let name = format!("smark-test-{}", std::process::id());
    let archive = folder.path().join("image.tar");
    run(Command::new("tar").args(["-C", text(folder.path()), "-cf", text(&archive), "server"]));
    let image = format!("localhost/{name}");
    let imported = output(&mut podman(&["import", text(&archive), &image]));
    if !imported.status.success() {
        return skipped(&format!("podman imports no image: {}", String::from_utf8_lossy(&imported.stderr)));
    }
    let container = PodmanContainer(name.clone());
    // What a sandbox refuses to raise or has no controller for.
    let limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--pids-limit", "0", "--privileged"];
    let command =
        [&["run", "-i", "--network", "none", "--name", &name], &limits[..], &[&image, "/server", "5"]].concat();
    let tried = [&["run", "--rm", "--network", "none"], &limits[..], &[&image, "/server"]].concat();
    let tried = output(podman(&tried).stdin(Stdio::null()));
    if !tried.status.success() {
        return skipped(&format!("podman runs no container here: {}", String::from_utf8_lossy(&tried.stderr)));
    }
    let mut passer = Passer::start(&mut podman(&command));
    passer.pass(0);
    let mut smark = Smark::start(&["trace", "--json", "--container", &container.0]);
    smark.wait_for("watching 1 site of 1 marker in 1 file");
    passer.pass(123);
    let lines = smark.end();
    let (found, _) = hits(&lines);
    assert_eq!(by_process(&lines).into_values().collect::<Vec<_>>(), [passer.passes()], "{lines:?}");
    assert!(found.iter().all(|hit| hit["comm"] == "server"));
}
