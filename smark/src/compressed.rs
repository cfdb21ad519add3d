//! Files that are compressed as a whole: kernel modules and images (`.gz`, `.xz`, `.zst`).
//!
//! The first bytes tell the compression, not the name. The size of the result is bounded, whatever
//! size the file declares.

use std::io::{self, BufReader, Read};

use lzma_rust2::XzReader;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

/// Bounds of the unpacked size: the ratio to the file's size, an allowance for small files, and an
/// absolute maximum. Deflate expands at most 1032 times. The other formats can expand zeros
/// further, but not a program.
const RATIO: u64 = 1032;
const SMALL: u64 = 1 << 20;
const LARGEST: u64 = 4 << 30;

/// What a file is compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Xz,
    Zstd,
}

impl Compression {
    /// The compression that the first bytes of a file show; `None` if it is not compressed.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// The unpacked bytes of a file; `None` if `is_wanted` rejects their first bytes.
pub(crate) fn unpack(
    compression: Compression,
    packed: &[u8],
    is_wanted: impl FnOnce(&[u8]) -> bool,
) -> io::Result<Option<Vec<u8>>> {
    match compression {
        Compression::Gzip => read(flate2::bufread::MultiGzDecoder::new(packed), packed, is_wanted),
        Compression::Xz => read(xz(packed), packed, is_wanted),
        Compression::Zstd => read(BufReader::new(Frames { rest: packed, frame: None }), packed, is_wanted),
    }
}

fn read(mut from: impl Read, packed: &[u8], is_wanted: impl FnOnce(&[u8]) -> bool) -> io::Result<Option<Vec<u8>>> {
    let most = (packed.len() as u64).saturating_mul(RATIO).saturating_add(SMALL).min(LARGEST);
    let mut bytes = Vec::new();
    from.by_ref().take(8).read_to_end(&mut bytes)?;
    if !is_wanted(&bytes) {
        return Ok(None);
    }
    from.take(most).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!(
            "refused: it unpacks to more than {most:#x} bytes (the limit is 1032 times its size plus 1 MiB, at most 4 GiB)"
        )));
    }
    Ok(Some(bytes))
}

/// The limit for the memory of a dictionary: four times what `xz -9` needs.
const XZ_MEMORY_KIB: u32 = 256 << 10;

fn xz(packed: &[u8]) -> XzReader<&[u8]> {
    XzReader::new_mem_limit(packed, true, XZ_MEMORY_KIB)
}

/// The frames of a zstd file, one after the other (RFC 8878, 3.1).
struct Frames<'p> {
    rest: &'p [u8],
    frame: Option<StreamingDecoder<&'p [u8], FrameDecoder>>,
}

impl Read for Frames<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(mut frame) = self.frame.take() {
                let read = frame.read(to)?;
                if read > 0 || to.is_empty() {
                    self.frame = Some(frame);
                    return Ok(read);
                }
                self.rest = frame.into_inner();
            }
            match self.rest {
                [] => return Ok(0),
                // A skippable frame: its size, then that many bytes.
                [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, rest @ ..] => {
                    let size = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
                    self.rest = rest.get(size..).ok_or(io::ErrorKind::UnexpectedEof)?;
                }
                rest => self.frame = Some(StreamingDecoder::new(rest).map_err(io::Error::other)?),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_compressed_is_left_alone() {
        assert_eq!(Compression::of(b"\x7fELF"), None);
        assert_eq!(Compression::of(b""), None);
        assert_eq!(Compression::of(b"\x1f\x8b\x08"), Some(Compression::Gzip));
    }

    #[test]
    fn frames_of_zstd_follow_each_other() {
        // Two frames of one raw block each, written by hand from RFC 8878, with a skippable frame
        // between them.
        let frame = |byte| [0x28, 0xb5, 0x2f, 0xfd, 0x20, 3, 0x19, 0, 0, byte, byte, byte];
        let mut packed = frame(b'a').to_vec();
        packed.extend([0x52, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9]);
        packed.extend(frame(b'b'));
        assert_eq!(unpack(Compression::Zstd, &packed, |_| true).unwrap().unwrap(), b"aaabbb");
        assert!(unpack(Compression::Zstd, &packed[..14], |_| true).is_err());
    }

    #[test]
    fn damage_is_an_error() {
        for packed in [&b"\x1f\x8b\x08\0"[..], b"\xfd7zXZ\0\0", b"\x28\xb5\x2f\xfd\x20", b"\x28\xb5\x2f\xfd"] {
            let compression = Compression::of(packed).unwrap();
            assert!(unpack(compression, packed, |_| true).is_err(), "{packed:x?}");
        }
    }
}
