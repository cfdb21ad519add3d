//! What is watched in containers: processes with namespaces of their own, whose files are not here, or
//! others.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use simple_markers_tests::fixture;
use simple_markers_tests::image;
use simple_markers_tests::tools::{find, output, run, skipped};
use simple_markers_tests::watched::can_watch;

use crate::groups::{Passer, Smark, TestGroup, by_process, compile_passes};
use crate::trace::hits;
use crate::whom::is_root;

/// Puts a program into an empty root folder that no other process has, at `/app/server` and under the
/// path of another program here, with its debug information if there is some, and runs it there.
const CONTAINER: &str = r#"
set -e
mount -t tmpfs none "$1"
mkdir -p "$1/old" "$1/app" "$1$(dirname "$3")"
cp "$2" "$1/app/server"
cp "$2" "$1$3"
if [ -n "$6" ]; then
    mkdir -p "$1$(dirname "$6")"
    cp "$5" "$1$6"
fi
cd "$1"
pivot_root . old
exec "$4" 9
"#;

/// A container and its first process.
struct TestContainer {
    passer: Passer,
    pid: u32,
}

impl TestContainer {
    /// Runs `path`, which is `/app/server` or `here`. `debug` is a file and its path inside.
    fn start(root: &Path, program: &Path, here: &Path, path: &str, debug: Option<(&Path, &str)>) -> Self {
        let namespaces = ["--mount", "--pid", "--user", "--map-root-user", "--fork", "--kill-child"];
        let mut unshare = Command::new("unshare");
        unshare.args(namespaces).args(["sh", "-c", CONTAINER, "sh"]).args([root, program, here]).arg(path);
        let (file, inside) = debug.unwrap_or((Path::new(""), ""));
        let mut passer = Passer::start(unshare.arg(file).arg(inside));
        // It runs when it answers.
        passer.pass(0);
        let id = passer.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("its children");
        Self { pid: children.trim().parse().expect("one child"), passer }
    }

    fn counts(&self) -> BTreeMap<u64, u64> {
        BTreeMap::from([(u64::from(self.pid), self.passer.passes())])
    }
}

fn can_make_containers() -> bool {
    if !can_watch() {
        return false;
    }
    if !is_root() {
        skipped("processes in other namespaces are watched by root");
        return false;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--pid", "--user", "--map-root-user", "--fork", "true"]);
    let is_possible = find("pivot_root").is_some() && output(&mut unshare).status.success();
    if !is_possible {
        skipped("there can be no namespaces of users, mounts and processes here");
    }
    is_possible
}

/// The name of the folder of a container that docker runs with systemd, and its ID.
fn docker_scope(start: &str) -> (String, String) {
    let id = format!("{start}{:08x}{}", std::process::id(), "0123456789abcdef".repeat(4));
    let id = id[..64].to_owned();
    (format!("docker-{id}.scope"), id)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Runs `smark` in a namespace of mounts in which docker has a container of this name.
fn start_with_name(id: &str, name: &str, arguments: &[&str]) -> Smark {
    let script = r#"
        mount -t tmpfs none /var/lib && mkdir -p "/var/lib/docker/containers/$1" || exit 9
        printf '{"ID":"%s","Name":"/%s"}' "$1" "$2" > "/var/lib/docker/containers/$1/config.v2.json"
        shift 2; exec "$@""#;
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", script, "sh", id, name]).arg(fixture::smark()).args(arguments);
    Smark::start_as(&mut unshare)
}

#[test]
fn the_hits_in_a_container_are_its_passes() {
    if !can_make_containers() {
        return;
    }
    let Some(group) = TestGroup::new("smark-test-{}") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile_passes(folder.path(), "passes");
    let root = folder.path().join("root");
    fs::create_dir(&root).expect("a folder");
    // Another program has the path of the second one here.
    let here = folder.path().join("here");
    fs::copy("/bin/true", &here).expect("a copy");
    let (scope, id) = docker_scope("d0");
    let scope = group.below(&scope);
    assert!(!Path::new("/app/server").exists());
    for path in ["/app/server", text(&here)] {
        let mut container = TestContainer::start(&root, &program, &here, path, None);
        let mut outside = Passer::start(Command::new(&program).arg("1"));
        scope.take(container.pid);
        let pid = container.pid.to_string();
        let mut all = vec![
            Smark::start(&["trace", "--json", "-v", "-p", &pid]),
            Smark::start(&["trace", "--json", "-v", "--cgroup", scope.path()]),
            Smark::start(&["trace", "--json", "-v", "--container", &id[..14]]),
            start_with_name(&id, "web", &["trace", "--json", "-v", "--container", "web"]),
        ];
        for smark in &mut all {
            smark.wait_for("watching 1 site of 1 marker in 1 file");
            smark.wait_for(&format!("process {pid} is {} in its namespace", inner(container.pid)));
        }
        for times in [1, 40] {
            container.passer.pass(times);
            outside.pass(2 * times);
        }
        for smark in all {
            let lines = smark.end();
            assert_eq!(by_process(&lines), container.counts(), "{path}: {lines:?}");
        }
    }
}

/// The number of a process in its own namespace.
fn inner(pid: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).expect("its numbers");
    numbers.split_whitespace().last().and_then(|number| number.parse().ok()).expect("a number")
}

#[test]
fn debug_information_is_found_in_a_container() {
    if !can_make_containers() {
        return;
    }
    let (Some(objcopy), Some(strip)) = (find("objcopy"), find("strip")) else {
        return skipped("objcopy and strip are needed");
    };
    let Some(group) = TestGroup::new("smark-test-{}") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let program = compile_passes(folder.path(), "passes");
    let debug = folder.path().join("passes.debug");
    run(Command::new(&objcopy).arg("--only-keep-debug").args([&program, &debug]));
    let (build_id, root) = (image::build_id(&program), folder.path().join("root"));
    fs::create_dir(&root).expect("a folder");
    let by_build_id = format!("/usr/lib/debug/.build-id/{}/{}.debug", &build_id[..2], &build_id[2..]);
    // The second program has a link, by which the file is found in the folder of its path.
    run(Command::new(&strip).arg(&program));
    let linked = folder.path().join("linked");
    run(Command::new(&objcopy).arg(format!("--add-gnu-debuglink={}", text(&debug))).args([&program, &linked]));
    let here = folder.path().join("here");
    fs::copy("/bin/true", &here).expect("a copy");
    let cases =
        [(&program, &*by_build_id), (&linked, "/usr/lib/debug/app/passes.debug"), (&linked, "/app/passes.debug")];
    for (program, inside) in cases {
        let mut container = TestContainer::start(&root, program, &here, "/app/server", Some((&debug, inside)));
        group.take(container.pid);
        let mut smark = Smark::start(&["trace", "--json", "--cgroup", group.path()]);
        smark.wait_for("watching 1 site of 1 marker in 1 file");
        container.passer.pass(25);
        let lines = smark.end();
        assert_eq!(by_process(&lines), container.counts(), "{inside}: {lines:?}");
    }
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
