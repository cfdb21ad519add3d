//! Finds simple markers in built programs and says where each one is and what can be read there.
//!
//! A marker is one `simple_mark!` in the source; it costs no instruction, and leaves records in sections of the image that are not
//! loaded ([`record`] reads and writes them). This crate joins those records with what ELF says of the image. Data flows one way:
//!
//! | step | module | from | to |
//! | --- | --- | --- | --- |
//! | image | [`image`] | bytes | sections, segments, symbols, members of an archive |
//! | debug information | [`dwarf`] | sections | names of functions that symbols do not name |
//! | resolution | [`resolve`] | all of these | a [`resolve::Resolution`], a plain value with public fields |
//! | choice | [`select`] | patterns | rows of a resolution |
//! | check | [`mod@check`] | a resolution, a policy, a lock file | findings, and those as bytes |
//! | report | [`report`] | a resolution | text or JSON |
//! | export | [`export`] | a resolution | probes for other tools |
//! | explanation | [`verdicts`] | a code | what it means, an example, the mend |
//!
//! The library takes bytes and does no I/O (whoever uses it may offer files with debug information, [`debug_files`]), and it never panics, whatever the bytes: images are untrusted. The command `smark` is
//! a thin shell over it.
//!
//! # Examples
//!
//! The markers of an image, here a relocatable object made on the spot:
//!
//! ```
//! use object::write::Object;
//! use object::{Architecture, BinaryFormat, Endianness, SectionKind};
//! use simple_markers_resolver::resolve::resolve;
//!
//! let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
//! let section = object.add_section(Vec::new(), b"__simple_marker.1".to_vec(), SectionKind::Other);
//! let declaration = b"scsi:queue\0scsi.c\x0012\0Command %p, lun %d\0cmd, lun\0";
//! object.append_section_data(section, declaration, 1);
//! let image = object.write()?;
//!
//! let resolution = resolve("drivers/scsi_mod.o", &image);
//! for row in resolution.rows() {
//!     println!("{} {} {} {}", row.id, row.image.module, row.function, row.marker.description);
//! }
//!
//! let marker = &resolution.images[0].markers[0];
//! assert_eq!(&*marker.name, "scsi:queue");
//! assert_eq!(&*marker.description, "Command $cmd, lun $lun");
//! // No site records: whether the marker survived is unknown, and a diagnostic says why.
//! assert_eq!(marker.survival, None);
//! assert_eq!(resolution.images[0].diagnostics.len(), 1);
//! # Ok::<(), object::write::Error>(())
//! ```

#![forbid(unsafe_code)]

pub mod address;
pub mod check;
mod code;
mod codes;
pub mod debug_files;
pub mod demangle;
pub mod dwarf;
pub(crate) mod english;
mod error;
pub mod export;
pub mod image;
pub mod location;
mod ranges;
pub mod report;
pub mod resolve;
pub mod select;
pub mod text;
pub mod types;
pub mod verdicts;

pub use error::Error;
pub use simple_markers_record as record;
