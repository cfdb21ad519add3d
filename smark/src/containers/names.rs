//! The names of containers, from the files in which runtimes keep them. No daemon is asked.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// The names of a container by its ID, in the files below a root folder. `homes` are those of the users
/// that may run containers themselves.
pub(super) fn names(root: &Path, homes: &[PathBuf], id: &str) -> Vec<String> {
    let mut names: Vec<String> = of_docker(root, id).into_iter().collect();
    let storages = homes.iter().map(|home| home.join(".local/share/containers/storage"));
    for storage in [root.join("var/lib/containers/storage")].into_iter().chain(storages) {
        names.extend(of_podman(&storage, id));
    }
    names.extend(of_pod(root, id));
    names
}

fn read(path: &Path) -> Option<Json> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn of_docker(root: &Path, id: &str) -> Option<String> {
    let config = read(&root.join("var/lib/docker/containers").join(id).join("config.v2.json"))?;
    config.get("Name")?.as_str().map(|name| name.trim_start_matches('/').to_owned())
}

/// A storage has a folder for each of its drivers: `overlay-containers`.
fn of_podman(storage: &Path, id: &str) -> Vec<String> {
    let folders = fs::read_dir(storage).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_list = |folder: &PathBuf| folder.to_str().is_some_and(|name| name.ends_with("-containers"));
    let files = folders
        .filter(is_list)
        .flat_map(|folder| ["containers.json", "volatile-containers.json"].map(|name| folder.join(name)));
    let mut names = Vec::new();
    for list in files.filter_map(|file| read(&file)) {
        let is_it = |container: &&Json| container.get("id").and_then(Json::as_str) == Some(id);
        let found = list.as_array().into_iter().flatten().filter(is_it);
        let of = |container: &Json| container.get("names").and_then(Json::as_array).cloned().unwrap_or_default();
        names.extend(found.flat_map(of).filter_map(|name| name.as_str().map(str::to_owned)));
    }
    names
}

/// The links of the kubelet to the logs: `POD_NAMESPACE_CONTAINER-ID.log`. No part has an underscore.
fn of_pod(root: &Path, id: &str) -> Vec<String> {
    let logs = fs::read_dir(root.join("var/log/containers")).into_iter().flatten().flatten();
    let of = |name: &str| {
        let name = name.strip_suffix(".log")?.strip_suffix(id)?.strip_suffix('-')?;
        let mut parts = name.split('_');
        let (pod, namespace, container) = (parts.next()?, parts.next()?, parts.next()?);
        Some(vec![
            format!("{namespace}/{pod}/{container}"),
            format!("{pod}/{container}"),
            container.to_owned(),
            pod.to_owned(),
        ])
    };
    logs.filter_map(|entry| of(entry.file_name().to_str()?)).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runtime_has_its_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("a file");
        };
        write("var/lib/docker/containers/aa01/config.v2.json", r#"{"ID":"aa01","Name":"/web","State":{}}"#);
        let list = r#"[{"id":"bb02","names":["db","old"],"layer":"1"},{"id":"bb03"}]"#;
        write("var/lib/containers/storage/overlay-containers/containers.json", list);
        write(
            "var/lib/containers/storage/overlay-containers/volatile-containers.json",
            r#"[{"id":"bb04","names":["v"]}]"#,
        );
        write(
            "home/me/.local/share/containers/storage/vfs-containers/containers.json",
            r#"[{"id":"cc05","names":["mine"]}]"#,
        );
        write("var/log/containers/shop-7d4_default_server-dd06.log", "");
        // What is damaged has no name.
        write("var/lib/docker/containers/ee07/config.v2.json", r#"{"Name":"#);
        let homes = [folder.path().join("home/me")];
        let of = |id: &str| names(folder.path(), &homes, id);
        assert_eq!(of("aa01"), ["web"]);
        assert_eq!(of("bb02"), ["db", "old"]);
        assert_eq!((of("bb04"), of("cc05")), (vec!["v".to_owned()], vec!["mine".to_owned()]));
        assert_eq!(of("dd06"), ["default/shop-7d4/server", "shop-7d4/server", "server", "shop-7d4"]);
        assert_eq!([of("bb03"), of("ee07"), of("ff08"), of("6")], [const { Vec::<String>::new() }; 4]);
    }
}
