//! Where the unwinder enters a function: the landing pads in its exception tables (Itanium C++ ABI,
//! "Exception Handling Tables"; LSB 5, 10.5).
//!
//! gcc, clang and rustc write the tables into `.gcc_except_table`. The entry of a function in
//! `.eh_frame` gives the address of its table.

use gimli::constants as dw;
use gimli::{EndianSlice, Pointer, Reader as _, RunTimeEndian, UnwindSection as _};

use super::locations::Locations;
use super::unsupported::ExceptionTableProblem;
use crate::address::Vaddr;

/// A landing pad, and the code whose exceptions it handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LandingPad {
    /// Its address.
    pub(crate) at: Vaddr,
    /// The start of the code that it handles.
    pub(crate) from: Vaddr,
}

impl Locations<'_> {
    /// The landing pads for the code in a range; empty if it has none. `memory` returns the loaded
    /// bytes from an address on.
    ///
    /// # Errors
    ///
    /// An exception table of the range cannot be read.
    pub(super) fn landing_pads<'m>(
        &self,
        range: &std::ops::Range<u64>,
        memory: &dyn Fn(Vaddr) -> Option<&'m [u8]>,
    ) -> Result<Vec<LandingPad>, ExceptionTableProblem> {
        let bad = |error: gimli::Error| ExceptionTableProblem::CallFrame { parser: error.to_string() };
        let bases = self.units.sections.bases();
        let section = self.frame_sections().1;
        let mut pads = Vec::new();
        let mut at = range.start;
        while at < range.end {
            self.units.charge(1).map_err(|_| ExceptionTableProblem::WorkLimit)?;
            // A function has one entry in `.eh_frame`. If the compiler split it, each part has one.
            let Some(offset) = self.eh_frame_at(at) else { break };
            let fde = section.fde_from_offset(&bases, offset.into(), gimli::EhFrame::cie_from_offset).map_err(bad)?;
            let table = match fde.lsda() {
                Some(Pointer::Direct(0)) | None => None,
                Some(Pointer::Direct(table)) => Some(table),
                Some(Pointer::Indirect(_)) => return Err(ExceptionTableProblem::Indirect),
            };
            if let Some(table) = table {
                let bytes = memory(Vaddr(table)).ok_or(ExceptionTableProblem::NotLoaded { table: Vaddr(table) })?;
                let table = ExceptionTable {
                    start: table,
                    size: bytes.len(),
                    rest: EndianSlice::new(bytes, self.units.sections.endian()),
                    address_size: self.units.sections.address_size(),
                };
                self.read(table, fde.initial_address(), &mut pads)?;
            }
            if fde.end_address() <= at {
                break;
            }
            at = fde.end_address();
        }
        Ok(pads)
    }

    fn read(
        &self,
        mut table: ExceptionTable<'_>,
        function: u64,
        pads: &mut Vec<LandingPad>,
    ) -> Result<(), ExceptionTableProblem> {
        let start = Vaddr(table.start);
        let bad = |error: gimli::Error| ExceptionTableProblem::Malformed { table: start, parser: error.to_string() };
        let unknown = || ExceptionTableProblem::Encoding { table: start };
        let start_encoding = table.rest.read_u8().map_err(bad)?;
        let landing_start = match start_encoding == dw::DW_EH_PE_omit.0 {
            true => function,
            false => table.value(start_encoding).map_err(bad)?.ok_or_else(unknown)?,
        };
        if table.rest.read_u8().map_err(bad)? != dw::DW_EH_PE_omit.0 {
            table.rest.read_uleb128().map_err(bad)?;
        }
        let encoding = table.rest.read_u8().map_err(bad)?;
        let size = table.rest.read_uleb128().map_err(bad)?;
        let end = table.at().checked_add(size).ok_or_else(unknown)?;
        while table.at() < end {
            self.units.charge(1).map_err(|_| ExceptionTableProblem::WorkLimit)?;
            let mut field = || table.value(encoding).map_err(bad)?.ok_or_else(unknown);
            let (from, _length, pad) = (field()?, field()?, field()?);
            table.rest.read_uleb128().map_err(bad)?;
            if pad != 0 {
                let (at, from) = (Vaddr(landing_start.wrapping_add(pad)), Vaddr(function.wrapping_add(from)));
                pads.push(LandingPad { at, from });
            }
        }
        Ok(())
    }
}

/// An exception table that is being read.
struct ExceptionTable<'m> {
    start: u64,
    size: usize,
    rest: EndianSlice<'m, RunTimeEndian>,
    address_size: u8,
}

impl ExceptionTable<'_> {
    /// The address of the next byte.
    fn at(&self) -> u64 {
        self.start.wrapping_add(self.size.saturating_sub(self.rest.len()) as u64)
    }

    /// A value in a pointer encoding (LSB 5, 10.5.1); `None` for an encoding that these tables do
    /// not use.
    fn value(&mut self, encoding: u8) -> Result<Option<u64>, gimli::Error> {
        let here = self.at();
        let rest = &mut self.rest;
        let value = match dw::DwEhPe(encoding & 0x0f) {
            dw::DW_EH_PE_absptr => rest.read_address(self.address_size)?,
            dw::DW_EH_PE_uleb128 => rest.read_uleb128()?,
            dw::DW_EH_PE_udata2 => rest.read_u16()?.into(),
            dw::DW_EH_PE_udata4 => rest.read_u32()?.into(),
            dw::DW_EH_PE_udata8 | dw::DW_EH_PE_sdata8 => rest.read_u64()?,
            dw::DW_EH_PE_sleb128 => rest.read_sleb128()? as u64,
            dw::DW_EH_PE_sdata2 => i64::from(rest.read_i16()?) as u64,
            dw::DW_EH_PE_sdata4 => i64::from(rest.read_i32()?) as u64,
            _ => return Ok(None),
        };
        Ok(match encoding & 0xf0 {
            0x00 => Some(value),
            0x10 => Some(here.wrapping_add(value)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use simple_markers_record::ByteOrder;

    use super::*;
    use crate::dwarf::{DebugInfo, Sections};
    use crate::location::Processor;

    fn read(bytes: &[u8]) -> Result<Vec<(u64, u64)>, ExceptionTableProblem> {
        let sections = Sections::from_parts([], ByteOrder::Little, Processor::X86_64, 8);
        let info = DebugInfo::new(&sections).locations;
        let rest = EndianSlice::new(bytes, RunTimeEndian::Little);
        let mut pads = Vec::new();
        info.read(ExceptionTable { start: 0x2000, size: bytes.len(), rest, address_size: 8 }, 0x1000, &mut pads)?;
        Ok(pads.into_iter().map(|pad| (pad.at.0, pad.from.0)).collect())
    }

    #[test]
    fn tables_are_read_in_the_encodings_that_compilers_write() {
        // gcc and clang: no base for landing pads, no types, uleb128. The second call has no
        // landing pad.
        assert_eq!(read(&[0xff, 0xff, 0x01, 8, 0x10, 4, 0x30, 0, 0x20, 4, 0, 0]), Ok(vec![(0x1030, 0x1010)]));
        // Landing pads relative to 0x2001 + 0x100, types, udata4.
        let mut table = vec![0x1b, 0, 1, 0, 0, 0x9b, 0x21, 0x03, 13];
        table.extend([0x10, 0, 0, 0, 4, 0, 0, 0, 0x30, 0, 0, 0, 1]);
        assert_eq!(read(&table), Ok(vec![(0x2131, 0x1010)]));
        assert!(read(&[0xff, 0xff, 0x01, 8, 0x10]).is_err());
        assert!(read(&[0x50, 0xff, 0x01, 0]).is_err());
    }
}
