//! The Rust files of a folder, for tests of the code itself.

use std::path::{Path, PathBuf};

/// The folders of the crates' sources.
pub(crate) const CRATES: [&str; 8] = [
    "markers/macros/src",
    "markers/record/src",
    "markers/recorder/src",
    "resolver/src",
    "smark/src",
    "tracer/events/src",
    "tracer/src",
    "tracer/top/src",
];

/// The files below a folder of the repository that `is_wanted`, by their paths from there, with their
/// syntax.
pub(crate) fn rust_files(folder: &str, is_wanted: impl Fn(&Path) -> bool) -> Vec<(PathBuf, syn::File)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let (mut files, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            let relative = path.strip_prefix(&root).expect("it is below").to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") && is_wanted(&relative) {
                let text = std::fs::read_to_string(&path).expect("a text");
                let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
                files.push((relative, syntax));
            }
        }
    }
    files.sort_by(|one, other| one.0.cmp(&other.0));
    files
}

/// The name of a file without its extension.
pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Whether an item is there only if the compiler is given one of some `cfg` names.
pub(crate) fn has_cfg(attributes: &[syn::Attribute], names: &[&str]) -> bool {
    attributes.iter().any(|attribute| {
        let is = |path: syn::Path| names.iter().any(|name| path.is_ident(name));
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(is)
    })
}
