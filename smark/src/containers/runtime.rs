//! The names that runtimes give to the control groups of containers.

use std::fmt;
use std::path::Path;

/// What runs a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runtime {
    Docker,
    Podman,
    Containerd,
    CriO,
    /// The folder only says that it belongs to a pod.
    Kubernetes,
}

impl fmt::Display for Runtime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Containerd => "containerd",
            Self::CriO => "cri-o",
            Self::Kubernetes => "kubernetes",
        })
    }
}

/// What a folder begins with, before the ID of a container.
const PREFIXES: [(&str, Runtime); 5] = [
    ("docker-", Runtime::Docker),
    ("libpod-", Runtime::Podman),
    ("cri-containerd-", Runtime::Containerd),
    ("nerdctl-", Runtime::Containerd),
    ("crio-", Runtime::CriO),
];

/// How many digits the ID of a container has.
const DIGITS: usize = 64;

/// The runtime and the ID of the container that a control group belongs to, by its path: with systemd
/// `docker-ID.scope`, otherwise `docker/ID`. A group inside of that one, such as podman's `container`, has none.
pub(super) fn of_folder(path: &Path) -> Option<(Runtime, &str)> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".scope").unwrap_or(name);
    let prefixed = || PREFIXES.iter().find_map(|(prefix, runtime)| Some((*runtime, stem.strip_prefix(prefix)?)));
    let parent = || path.parent()?.file_name()?.to_str();
    let is_of_pod = || path.iter().any(|folder| folder.to_str().is_some_and(|name| name.starts_with("kubepods")));
    let plain = || match parent()? {
        "docker" => Some((Runtime::Docker, stem)),
        _ if is_of_pod() => Some((Runtime::Kubernetes, stem)),
        _ => None,
    };
    prefixed().or_else(plain).filter(|(_, id)| id.len() == DIGITS && is_hexadecimal(id))
}

pub(super) fn is_hexadecimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_containers_are_known() {
        let id = "0123456789abcdef".repeat(4);
        let of = |path: &str| {
            let path = path.replace("ID", &id);
            of_folder(Path::new(&path)).map(|(runtime, found)| (runtime, found == id))
        };
        assert_eq!(of("/system.slice/docker-ID.scope"), Some((Runtime::Docker, true)));
        assert_eq!(of("/docker/ID"), Some((Runtime::Docker, true)));
        assert_eq!(of("/machine.slice/libpod-ID.scope"), Some((Runtime::Podman, true)));
        assert_eq!(of("/libpod_parent/libpod-ID"), Some((Runtime::Podman, true)));
        let pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice";
        assert_eq!(of(&format!("{pod}/cri-containerd-ID.scope")), Some((Runtime::Containerd, true)));
        assert_eq!(of(&format!("{pod}/crio-ID.scope")), Some((Runtime::CriO, true)));
        assert_eq!(of("/kubepods/besteffort/pod1-2/ID"), Some((Runtime::Kubernetes, true)));
        // The monitors of containers, what is inside of one, and other groups.
        for other in [
            "/machine.slice/libpod-conmon-ID.scope",
            "/machine.slice/libpod-ID.scope/container",
            "/docker/buildkit",
            "/user.slice/ID",
            "/kubepods/besteffort/pod1-2",
            "/docker",
            "/",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
