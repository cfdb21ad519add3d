//! The symbols that a distributor leaves in a stripped image: the section `.gnu_debugdata` is an ELF
//! file, compressed by xz, whose `.symtab` has the functions that `.dynsym` does not have (GDB manual,
//! "MiniDebugInfo").

use std::io::Read as _;

use lzma_rust2::XzReader;

use super::expansion::bound;
use crate::Error;

/// The section's name.
pub const MINI_DEBUG_INFO: &str = ".gnu_debugdata";

/// The most memory that the decoder takes: what `xz -9` needs.
const MEMORY_KIB: u32 = 65 << 10;

/// The ELF file in a section `.gnu_debugdata` with these contents.
///
/// # Errors
///
/// The contents are not compressed by xz, or are damaged, or the file is larger than symbols can be.
pub fn unpack_mini_debug_info(section: &[u8]) -> Result<Vec<u8>, Error> {
    let error = |what: String| Error::Section { section: MINI_DEBUG_INFO.to_owned(), what };
    let most = bound(section.len() as u64);
    let mut file = Vec::new();
    let unpacked = XzReader::new_mem_limit(section, false, MEMORY_KIB).take(most + 1).read_to_end(&mut file);
    unpacked.map_err(|says| error(says.to_string()))?;
    if file.len() as u64 > most {
        let (section_name, compressed) = (MINI_DEBUG_INFO.to_owned(), section.len() as u64);
        let uncompressed = file.len() as u64;
        return Err(Error::TooLarge { section: section_name, compressed, uncompressed, bound: most });
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_xz_is_an_error() {
        for bytes in [&b""[..], b"\x7fELF", b"\xfd7zXZ\0\0", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46"] {
            let error = unpack_mini_debug_info(bytes).expect_err("it is no file");
            assert!(matches!(error, Error::Section { section, .. } if section == ".gnu_debugdata"));
        }
    }
}
