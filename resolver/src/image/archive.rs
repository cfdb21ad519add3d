//! The contents of a file: one image, or an archive of images (`ar` in the GNU and LLVM variants:
//! `.a`, `.rlib`).

use object::read::archive::{ArchiveFile, ArchiveMember};

use crate::error::parser_says;
use crate::error::{Error, OtherFormat};

/// A member of an archive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectMember<'data> {
    /// The member's name, as recorded in the archive.
    pub name: &'data [u8],
    /// The member's contents.
    pub data: &'data [u8],
}

/// Whether `data` is an archive. Thin archives count.
#[must_use]
pub(crate) fn is_archive(data: &[u8]) -> bool {
    data.starts_with(b"!<arch>\n") || data.starts_with(b"!<thin>\n")
}

/// The members of an archive that are ELF files, in archive order. Other members (symbol tables,
/// the metadata of a crate, LLVM bitcode) are skipped.
///
/// # Errors
///
/// The archive is thin or malformed. A malformed member yields an error and ends the iteration.
pub(crate) fn members(data: &[u8]) -> Result<impl Iterator<Item = Result<ObjectMember<'_>, Error>>, Error> {
    let malformed = |error| Error::Archive { what: parser_says(error) };
    let archive = ArchiveFile::parse(data).map_err(malformed)?;
    if archive.is_thin() {
        return Err(Error::ThinArchive);
    }

    let is_elf = |member: &object::Result<ObjectMember<'_>>| {
        member.as_ref().map_or(true, |member| member.data.starts_with(&object::elf::ELFMAG))
    };
    Ok(archive
        .members()
        .map(move |entry| member(data, entry))
        .filter(is_elf)
        .map(move |member| member.map_err(malformed)))
}

fn member<'data>(
    data: &'data [u8],
    entry: object::Result<ArchiveMember<'data>>,
) -> object::Result<ObjectMember<'data>> {
    let entry = entry?;
    Ok(ObjectMember { name: entry.name(), data: entry.data(data)? })
}

/// The format of data that is not ELF, by its first bytes. `None` if the format is unknown.
pub(super) fn other_format(data: &[u8]) -> Option<OtherFormat> {
    let starts = |magic: &[u8]| data.starts_with(magic);
    Some(match () {
        () if data.is_empty() => OtherFormat::Empty,
        () if starts(b"\xfd7zXZ\0") => OtherFormat::Xz,
        () if starts(b"\x28\xb5\x2f\xfd") => OtherFormat::Zstd,
        () if starts(b"\x1f\x8b") => OtherFormat::Gzip,
        () if starts(b"BC\xc0\xde") => OtherFormat::LlvmBitcode,
        () if starts(b"MZ") => OtherFormat::Pe,
        () if starts(b"\xcf\xfa\xed\xfe") || starts(b"\xce\xfa\xed\xfe") => OtherFormat::MachO,
        () if starts(b"#!") => OtherFormat::Script,
        () => return None,
    })
}
