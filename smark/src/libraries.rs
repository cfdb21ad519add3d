//! The shared libraries that a program gets when it starts.
//!
//! The program's own loader finds them, with the same environment: so `LD_PRELOAD`,
//! `LD_LIBRARY_PATH`, `RUNPATH` and the cache of the loader count as they do for the program.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use simple_markers_tracer::elf;

use crate::files;

/// The libraries of a program, and its loader. Nothing if it is static, or not an ELF file. Those
/// that the loader does not find are missing; then the program does not start either.
pub(crate) fn of(program: &Path) -> anyhow::Result<Vec<PathBuf>> {
    // The loader replaces $ORIGIN by the folder of the path that it gets.
    let program = std::fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
    let Some(bytes) = files::map_regular(&program) else { return Ok(Vec::new()) };
    let Some(loader) = elf::interpreter(&bytes) else { return Ok(Vec::new()) };
    let loader = PathBuf::from(OsString::from_vec(loader.to_vec()));
    // `ld-linux-x86-64.so.2` of glibc, and `ld-musl-x86_64.so.1`. Other programs do not know `--list`.
    if !loader.file_name().is_some_and(|name| name.as_bytes().starts_with(b"ld-")) {
        bail!("its loader {} is not one that lists libraries", loader.display());
    }
    // It maps the libraries and runs no code of them.
    let mut list = Command::new(&loader);
    list.arg("--list").arg(&program).stdin(Stdio::null()).stderr(Stdio::null());
    let output = list.output().with_context(|| format!("its loader {} does not start", loader.display()))?;
    Ok(parse(&output.stdout))
}

/// The paths in lines such as `NAME => PATH (ADDRESS)` and `PATH (ADDRESS)`. What has no path has no
/// file: `linux-vdso.so.1 (ADDRESS)`, `NAME => not found`.
fn parse(list: &[u8]) -> Vec<PathBuf> {
    let path = |line: &[u8]| {
        let line = line.trim_ascii();
        let end = find_last(line, b" (0x")?;
        let (before, _) = line.split_at_checked(end)?;
        let path = match find_last(before, b" => ") {
            Some(arrow) => before.get(arrow.saturating_add(4)..)?,
            None => before,
        };
        path.contains(&b'/').then(|| PathBuf::from(OsStr::from_bytes(path)))
    };
    list.split(|byte| *byte == b'\n').filter_map(path).collect()
}

fn find_last(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).rposition(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_each_loader_is_read() {
        let glibc = b"\tlinux-vdso.so.1 (0x00007ffd6e1f2000)\n\
            \t/tmp/pre load.so (0x00007f1c1a2d4000)\n\
            \t./libhere.so (0x00007f1c1a2cf000)\n\
            \tlibgone.so => not found\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1c1a0ee000)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f1c1a2db000)\n";
        let paths =
            ["/tmp/pre load.so", "./libhere.so", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(parse(glibc), paths.map(PathBuf::from));
        let musl = b"\t/lib/ld-musl-x86_64.so.1 (0x7f6a6a0f1000)\n\
            \tlibz.so => /usr/lib/libz.so (0x7f6a6a0d5000)\n\
            \tlibc.so => /lib/ld-musl-x86_64.so.1 (0x7f6a6a0f1000)\n";
        let paths = ["/lib/ld-musl-x86_64.so.1", "/usr/lib/libz.so", "/lib/ld-musl-x86_64.so.1"];
        assert_eq!(parse(musl), paths.map(PathBuf::from));
        assert_eq!(parse(b"\tstatically linked\n (0x\n => (0x1)\n\xff").len(), 0);
    }
}
