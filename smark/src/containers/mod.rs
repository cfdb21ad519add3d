//! Finds the control group of a container: by the names that runtimes give to groups, and by the files
//! in which they keep the names of containers.

mod names;
mod runtime;

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::bail;
use simple_markers_tracer::sys::groups::Group;

use self::runtime::{Runtime, is_hexadecimal, of_folder};

/// The fewest digits of an ID.
const FEWEST: usize = 4;
/// How many digits of an ID are shown.
const SHOWN: usize = 12;

/// A container that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Container {
    id: String,
    runtime: Runtime,
    names: Vec<String>,
    /// Its control group.
    group: PathBuf,
}

impl Container {
    fn shown(&self) -> String {
        let id = self.id.get(..SHOWN).unwrap_or(&self.id);
        match self.names.first() {
            Some(name) => format!("{name} ({} {id})", self.runtime),
            None => format!("{} {id}", self.runtime),
        }
    }
}

/// The control group of the container with a name, or an ID or its first digits.
pub(crate) fn find(name: &str) -> anyhow::Result<Group> {
    let known = match Group::all() {
        Ok(groups) => containers(groups, Path::new("/")),
        Err(why) => {
            refuse_version_1(name)?;
            return Err(why.into());
        }
    };
    match &chosen(&known, name)[..] {
        [container] => Ok(Group::find(&container.group)?),
        [] => {
            refuse_version_1(name)?;
            match &known[..] {
                [] => bail!("container {name}: no control group here has the name of a container"),
                known => bail!("container {name}: there is none with this name or ID; there are: {}", listed(known)),
            }
        }
        several => bail!("container {name}: there are several: {}", listed(several)),
    }
}

/// In the order of their names: that of the groups is the file system's.
fn listed(containers: &[Container]) -> String {
    let mut shown: Vec<String> = containers.iter().map(Container::shown).collect();
    shown.sort();
    shown.join(", ")
}

/// Says that BPF does not see the control groups of a container, if it only has some of version 1.
fn refuse_version_1(name: &str) -> anyhow::Result<()> {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let texts = pids.filter_map(|entry| fs::read_to_string(entry.path().join("cgroup")).ok());
    let groups: Vec<PathBuf> = texts.flat_map(|text| of_version_1(&text)).collect();
    match chosen(&containers(groups, Path::new("/")), name).first() {
        Some(container) => bail!(
            "container {name}: {} is in control groups of version 1 only, which BPF does not see ({}); watch it with -p PID",
            container.shown(),
            container.group.display()
        ),
        None => Ok(()),
    }
}

/// The control groups of version 1 in `/proc/PID/cgroup`.
fn of_version_1(text: &str) -> Vec<PathBuf> {
    let path = |line: &str| line.splitn(3, ':').nth(2).map(PathBuf::from);
    text.lines().filter(|line| !line.starts_with("0::")).filter_map(path).collect()
}

/// The containers that have some of these control groups. The names are in files below a root folder.
fn containers(groups: Vec<PathBuf>, root: &Path) -> Vec<Container> {
    let (mut containers, mut seen) = (Vec::new(), HashSet::new());
    for group in groups {
        let Some((runtime, id)) = of_folder(&group) else { continue };
        let id = id.to_owned();
        // A container may have further groups inside of its first one.
        if seen.insert(id.clone()) {
            let home = if runtime == Runtime::Podman { home(root, &group) } else { None };
            let names = names::names(root, home.as_slice(), &id);
            containers.push(Container { id, runtime, names, group });
        }
    }
    containers
}

/// The home of the user to whom a control group belongs, if that is not root.
fn home(root: &Path, group: &Path) -> Option<PathBuf> {
    let user = fs::metadata(group).ok()?.uid();
    let users = fs::read_to_string(root.join("etc/passwd")).ok()?;
    let home = |line: &str| {
        let mut fields = line.split(':').skip(2);
        let number: u32 = fields.next()?.parse().ok()?;
        (number == user && user != 0).then(|| fields.nth(2).map(PathBuf::from))?
    };
    users.lines().find_map(home)
}

/// Those with a name; if there are none, those whose ID begins with it.
fn chosen(containers: &[Container], name: &str) -> Vec<Container> {
    let has_name = |it: &&Container| it.names.iter().any(|its| its == name);
    let named: Vec<Container> = containers.iter().filter(has_name).cloned().collect();
    if !named.is_empty() || name.len() < FEWEST || !is_hexadecimal(name) {
        return named;
    }
    containers.iter().filter(|it| it.id.starts_with(name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(start: &str) -> String {
        format!("{start:0<64}")
    }

    #[test]
    fn a_container_is_found_by_its_name_or_its_id() {
        let root = tempfile::tempdir().expect("a folder");
        let config = root.path().join("var/lib/docker/containers").join(id("abc1"));
        fs::create_dir_all(&config).expect("folders");
        fs::write(config.join("config.v2.json"), r#"{"Name":"/web"}"#).expect("a file");
        let logs = root.path().join("var/log/containers");
        fs::create_dir_all(&logs).expect("folders");
        for (pod, start) in [("one", "abc2"), ("two", "beef")] {
            fs::write(logs.join(format!("{pod}_default_server-{}.log", id(start))), "").expect("a file");
        }
        let groups = [
            format!("/sys/fs/cgroup/system.slice/docker-{}.scope", id("abc1")),
            format!("/sys/fs/cgroup/system.slice/docker-{}.scope/init.scope", id("abc1")),
            format!("/sys/fs/cgroup/kubepods/pod1/{}", id("abc2")),
            format!("/sys/fs/cgroup/kubepods/pod2/{}", id("beef")),
            "/sys/fs/cgroup/user.slice".to_owned(),
        ];
        let known = containers(groups.iter().map(PathBuf::from).collect(), root.path());
        let found = |name: &str| chosen(&known, name).iter().map(Container::shown).collect::<Vec<_>>();
        let [web, one, two] = [
            "web (docker abc100000000)",
            "default/one/server (kubernetes abc200000000)",
            "default/two/server (kubernetes beef00000000)",
        ];
        assert_eq!(
            known.iter().map(|it| it.group.to_str()).collect::<Vec<_>>(),
            [0, 2, 3].map(|it| Some(&*groups[it]))
        );
        assert_eq!([found("web"), found("abc1"), found(&id("abc1"))], [[web]; 3]);
        assert_eq!([found("one"), found("one/server"), found("abc2")], [[one]; 3]);
        // A name stands before an ID, three digits are none, and several are told.
        assert_eq!(found("server"), [one, two]);
        assert_eq!([found("beef"), found("two")], [[two]; 2]);
        assert_eq!([found("abc"), found("abc10zz"), found("no"), found("")], [const { Vec::<String>::new() }; 4]);
        assert_eq!(listed(&known), format!("{one}, {two}, {web}"));
    }

    #[test]
    fn groups_of_version_1_are_known() {
        let text = format!("4:memory:/docker/{}\n1:name=systemd:/a:b\n0::/\n", id("abc1"));
        assert_eq!(of_version_1(&text), [PathBuf::from(format!("/docker/{}", id("abc1"))), PathBuf::from("/a:b")]);
    }
}
