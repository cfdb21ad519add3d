//! Folders of `/proc` whose files have numbers as names.

/// The numbers in the names of a folder's files, as those of processes in `/proc`.
pub(super) fn numbers(folder: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
