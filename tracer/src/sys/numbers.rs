//! Numbers that the kernel writes as the names and the texts of its files.

/// The numbers in the names of a folder's files, as those of processes in `/proc`.
pub(super) fn numbers(folder: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The numbers of the CPUs of a kind, ascending: `possible` or `online`. Empty if the kernel does not say.
pub(super) fn cpus(kind: &str) -> Vec<u32> {
    ranges(&std::fs::read_to_string(format!("/sys/devices/system/cpu/{kind}")).unwrap_or_default())
}

/// The numbers in `0-3,8`.
fn ranges(text: &str) -> Vec<u32> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse::<u32>().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_cpus_are_numbers() {
        assert_eq!(ranges("0-1,4\n"), [0, 1, 4]);
        assert_eq!(ranges("0\n"), [0]);
        assert!(ranges("\n").is_empty());
    }
}
