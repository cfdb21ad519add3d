//! The name of a module: what `dtrace` and `lsmod` would call a file.

/// The name of a file without its folder, its extension and the extension of a compression:
/// `drivers/scsi_mod.ko` is `scsi_mod`, `libc.so.6` is `libc`. An extension does not start with a
/// digit: `python3.11` stays.
#[must_use]
pub fn module_name(path: &str) -> &str {
    let name = path.rsplit('/').find(|component| !component.is_empty()).unwrap_or(path);
    let unpacked = [".gz", ".xz", ".zst"].iter().find_map(|packed| name.strip_suffix(packed));
    let name = unpacked.filter(|name| !name.is_empty()).unwrap_or(name);
    if let Some((stem, version)) = name.split_once(".so.") {
        if !stem.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return stem;
        }
    }
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && extension.starts_with(|c: char| c.is_ascii_alphabetic()) => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_named_by_their_files() {
        for (path, module) in [
            ("/lib/modules/scsi_mod.ko", "scsi_mod"),
            ("libc.so.6", "libc"),
            ("scsi_mod.ko.xz", "scsi_mod"),
            ("vmlinux.zst", "vmlinux"),
            ("libc.so.6.gz", "libc"),
            (".gz", ".gz"),
            ("libstdc++.so.6.0.30", "libstdc++"),
            ("libfoo.so", "libfoo"),
            ("libfoo-0123.rlib", "libfoo-0123"),
            ("python3.11", "python3.11"),
            ("a/b/", "b"),
            (".hidden", ".hidden"),
            ("vmlinux", "vmlinux"),
            ("", ""),
        ] {
            assert_eq!(module_name(path), module, "{path}");
        }
    }
}
