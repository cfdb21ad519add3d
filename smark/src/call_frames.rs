//! The call frame information of a file (DWARF 5, 6.4; "Linux Standard Base", 10.6): how the registers of a caller
//! are found from those of the function that it called.
//!
//! `gimli` reads it. `framehop`, which is made of it, is not used: it guesses by frame pointers where there is no
//! information and does not tell, and evaluates no expression that reads memory, which frames of signal handlers
//! have.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gimli::{
    BaseAddresses, CallFrameInstruction, CfaRule, CieOrFde, DebugFrame, EhFrame, EndianArcSlice, Evaluation,
    EvaluationResult, Expression, FrameDescriptionEntry, Location, RegisterRule, RunTimeEndian, UnwindContext,
    UnwindSection, Value, Vendor,
};
use object::{Object as _, ObjectSection as _};
use simple_markers_resolver::debug_files::DebugFile;
use simple_markers_resolver::location::Register;

use crate::registers::{Memory, Registers};
use crate::symbols::{image_bytes, separate};

type SectionBytes = EndianArcSlice<RunTimeEndian>;
type Entry = FrameDescriptionEntry<SectionBytes>;

/// The most operations of an expression.
const OPERATIONS: u32 = 1000;

/// The addresses of the entries of a section, in ascending order, and their offsets.
type Index = Vec<(u64, u64, usize)>;

/// What a file says of its frames.
pub(crate) struct CallFrames {
    exceptions: Option<EhFrame<SectionBytes>>,
    debug: Option<DebugFrame<SectionBytes>>,
    bases: BaseAddresses,
    /// Made when they are first needed. The linker's own (`.eh_frame_hdr`) is not read: with a wrong one `gimli` 0.32
    /// computes addresses that overflow.
    exceptions_index: OnceCell<Index>,
    debug_index: OnceCell<Index>,
}

/// What is known of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) registers: Registers,
    /// Whether it did not call, but was interrupted by a signal.
    pub(crate) is_interrupted: bool,
}

/// Why nothing is known of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallerError {
    /// The file says nothing about the address.
    NoInformation,
    /// Memory is needed that was not copied.
    Memory { address: u64 },
    /// What it says cannot be right, or needs a register that is not known.
    Invalid,
}

impl CallFrames {
    /// Reads a file, and its separate debug file in one of the folders. `None` if it is not an ELF file of
    /// 64 bits.
    pub(crate) fn load(path: &Path, folders: &[PathBuf]) -> Option<Self> {
        Self::read(&image_bytes(path)?, &|image| separate(image, path, folders))
    }

    /// Reads the bytes of a file. `separate` finds its separate debug file.
    fn read(bytes: &[u8], separate: &dyn Fn(&object::File<'_>) -> Option<DebugFile>) -> Option<Self> {
        let image = object::File::parse(bytes).ok()?;
        let endian = if image.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let section = |of: &object::File<'_>, name: &str| {
            let section = of.section_by_name(name)?;
            let bytes = section.uncompressed_data().ok().filter(|bytes| !bytes.is_empty())?;
            Some((SectionBytes::new(Arc::from(&*bytes), endian), section.address()))
        };
        if !image.is_64() {
            return None;
        }
        let address = |name| image.section_by_name(name).map_or(0, |section| section.address());
        let mut bases = BaseAddresses::default().set_text(address(".text")).set_got(address(".got"));
        let exceptions = section(&image, ".eh_frame").map(|(bytes, at)| {
            bases = std::mem::take(&mut bases).set_eh_frame(at);
            let mut section = EhFrame::from(bytes);
            section.set_vendor(vendor(&image));
            section
        });
        let debug = section(&image, ".debug_frame").or_else(|| {
            let opened = separate(&image)?;
            section(&object::File::parse((*opened.bytes).as_ref()).ok()?, ".debug_frame")
        });
        let debug = debug.map(|(bytes, _)| {
            let mut section = DebugFrame::from(bytes);
            section.set_vendor(vendor(&image));
            section
        });
        let (exceptions_index, debug_index) = (OnceCell::new(), OnceCell::new());
        Some(Self { exceptions, debug, bases, exceptions_index, debug_index })
    }

    /// The caller of the function at a link-time address; `None` if the file says that there is none. `bias` is the
    /// distance to run time.
    pub(crate) fn caller(
        &self,
        address: u64,
        bias: u64,
        registers: &Registers,
        memory: &dyn Memory,
    ) -> Result<Option<Caller>, CallerError> {
        let here = FramePoint { address, bias, registers, memory, bases: &self.bases };
        if let Some(section) = &self.exceptions {
            if let Some(entry) = indexed(section, &self.bases, &self.exceptions_index, address) {
                return here.caller(section, &entry);
            }
        }
        let section = self.debug.as_ref().ok_or(CallerError::NoInformation)?;
        let entry = indexed(section, &self.bases, &self.debug_index, address).ok_or(CallerError::NoInformation)?;
        here.caller(section, &entry)
    }
}

/// Whose instructions beside those of DWARF the entries of a file have.
fn vendor(image: &object::File<'_>) -> Vendor {
    if image.architecture() == object::Architecture::Aarch64 { Vendor::AArch64 } else { Vendor::Default }
}

/// The entry of an address by an index that is made when it is first needed.
fn indexed<S: UnwindSection<SectionBytes>>(
    section: &S,
    bases: &BaseAddresses,
    index: &OnceCell<Index>,
    address: u64,
) -> Option<Entry> {
    let index = index.get_or_init(|| {
        let (mut entries, mut index) = (section.entries(bases), Vec::new());
        // What follows an entry that cannot be read is not known.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            if let Ok(entry) = partial.parse(S::cie_from_offset) {
                index.push((entry.initial_address(), entry.end_address(), entry.offset()));
            }
        }
        index.sort_unstable();
        index
    });
    let after = index.partition_point(|(start, ..)| *start <= address);
    let (_, end, offset) = index.get(after.checked_sub(1)?)?;
    let entry = section.fde_from_offset(bases, S::Offset::from(*offset), S::cie_from_offset);
    entry.ok().filter(|_| address < *end)
}

/// A place in the code, and what is known there.
struct FramePoint<'h> {
    address: u64,
    bias: u64,
    registers: &'h Registers,
    memory: &'h dyn Memory,
    bases: &'h BaseAddresses,
}

impl FramePoint<'_> {
    fn caller<S: UnwindSection<SectionBytes>>(
        &self,
        section: &S,
        entry: &Entry,
    ) -> Result<Option<Caller>, CallerError> {
        let mut context = UnwindContext::new();
        let row = entry.unwind_info_for_address(section, self.bases, &mut context, self.address);
        let row = row.map_err(|_| CallerError::NoInformation)?;
        let frame = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => self.register(register.0)?.wrapping_add_signed(*offset),
            CfaRule::Expression(expression) => {
                let expression = expression.get(section).map_err(|_| CallerError::Invalid)?;
                self.computed(expression, entry, None)?
            }
        };
        let mut registers = *self.registers;
        registers.set_stack_pointer(frame);
        let mut return_address = None;
        let return_register = entry.cie().return_address_register();
        for (register, rule) in row.registers() {
            let old = self.registers.get(Register(register.0));
            let value = match rule {
                RegisterRule::SameValue => old,
                RegisterRule::Offset(offset) => Some(self.word(frame.wrapping_add_signed(*offset))?),
                RegisterRule::ValOffset(offset) => Some(frame.wrapping_add_signed(*offset)),
                RegisterRule::Register(other) => self.registers.get(Register(other.0)),
                RegisterRule::Expression(expression) => {
                    let expression = expression.get(section).map_err(|_| CallerError::Invalid)?;
                    Some(self.word(self.computed(expression, entry, Some(frame))?)?)
                }
                RegisterRule::ValExpression(expression) => {
                    let expression = expression.get(section).map_err(|_| CallerError::Invalid)?;
                    Some(self.computed(expression, entry, Some(frame))?)
                }
                RegisterRule::Constant(value) => Some(*value),
                _ => None,
            };
            if *register == return_register {
                return_address = Some(value);
            }
            // The other columns are no registers.
            registers.set(Register(register.0), value);
        }
        let return_address = match return_address {
            Some(value) => value.ok_or(CallerError::Invalid)?,
            None if self.ends(section, entry) => return Ok(None),
            // It is still in its register, which only a function can say that has called no other one.
            None => self.register(return_register.0)?,
        };
        let is_interrupted = entry.is_signal_trampoline();
        let has_moved = frame != self.registers.stack_pointer() || return_address != self.registers.program_counter();
        registers.set_program_counter(return_address);
        if registers.program_counter() == 0 {
            return Ok(None);
        }
        if !has_moved {
            return Err(CallerError::Invalid);
        }
        Ok(Some(Caller { registers, is_interrupted }))
    }

    /// Whether an entry says that the function has no caller. `gimli` 0.32 does not tell a register that is said to
    /// be undefined from one of which nothing is said.
    fn ends<S: UnwindSection<SectionBytes>>(&self, section: &S, entry: &Entry) -> bool {
        let register = entry.cie().return_address_register();
        let is_end = CallFrameInstruction::Undefined { register };
        let all = [entry.instructions(section, self.bases), entry.cie().instructions(section, self.bases)];
        all.into_iter().any(|mut instructions| {
            std::iter::from_fn(|| instructions.next().ok().flatten()).any(|instruction| instruction == is_end)
        })
    }

    fn register(&self, number: u16) -> Result<u64, CallerError> {
        self.registers.get(Register(number)).ok_or(CallerError::Invalid)
    }

    fn word(&self, address: u64) -> Result<u64, CallerError> {
        self.memory.read(address, 8).ok_or(CallerError::Memory { address })
    }

    /// The value of an expression; `frame` is on the stack of its operations first.
    fn computed(
        &self,
        expression: Expression<SectionBytes>,
        entry: &Entry,
        frame: Option<u64>,
    ) -> Result<u64, CallerError> {
        let invalid = |_| CallerError::Invalid;
        let mut evaluation = Evaluation::new(expression.0, entry.cie().encoding());
        evaluation.set_max_iterations(OPERATIONS);
        if let Some(frame) = frame {
            evaluation.set_initial_value(frame);
        }
        let mut result = evaluation.evaluate().map_err(invalid)?;
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    evaluation.resume_with_register(Value::Generic(self.register(register.0)?))
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let value = self.memory.read(address, size).ok_or(CallerError::Memory { address })?;
                    evaluation.resume_with_memory(Value::Generic(value))
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address.wrapping_add(self.bias))
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    evaluation.resume_with_call_frame_cfa(frame.ok_or(CallerError::Invalid)?)
                }
                _ => return Err(CallerError::Invalid),
            }
            .map_err(invalid)?;
        }
        match evaluation.as_result() {
            [piece] => match piece.location {
                Location::Address { address } => Ok(address),
                _ => Err(CallerError::Invalid),
            },
            _ => Err(CallerError::Invalid),
        }
    }
}

#[cfg(all(test, target_arch = "x86_64", target_os = "linux"))]
mod tests {
    use super::*;
    use crate::registers::MemoryPart;
    use crate::symbols::VDSO;

    /// The registers of a thread at an address, with a stack of zeros.
    fn registers(address: u64) -> Registers {
        let mut registers = Registers::at(address, 0x1000);
        (0..16).filter(|number| *number != 7).for_each(|number| registers.set(Register(number), Some(0x1010)));
        registers
    }

    #[test]
    fn code_of_the_kernel_has_callers() {
        let bytes = image_bytes(Path::new(VDSO)).expect("a vdso");
        let frames = CallFrames::read(&bytes, &|_| None).expect("an image");
        let image = object::File::parse(bytes.as_ref()).expect("ELF");
        let text = image.section_by_name(".text").expect("code");
        let memory = MemoryPart { start: 0x1000, bytes: &[7; 512] };
        let called = |address| frames.caller(address, 0, &registers(address), &memory);
        let all: Vec<_> = (text.address()..text.address() + text.size()).map(called).collect();
        let is_found = |caller: &&Result<Option<Caller>, CallerError>| {
            let counter = |caller: Caller| caller.registers.program_counter();
            caller.is_ok_and(|caller| caller.map(counter) == Some(0x0707_0707_0707_0707))
        };
        assert!(all.iter().filter(is_found).count() * 2 > all.len(), "{}", all.len());
        assert_eq!(called(u64::MAX - 1), Err(CallerError::NoInformation));
        let nothing = MemoryPart { start: 0, bytes: &[] };
        let found = (text.address()..text.address() + text.size())
            .map(|address| frames.caller(address, 0, &registers(address), &nothing));
        assert!(found.into_iter().any(|caller| matches!(caller, Err(CallerError::Memory { .. }))));
    }

    /// Whatever a file says, there is an answer.
    #[test]
    fn broken_files_are_refused() {
        let whole = image_bytes(Path::new(VDSO)).expect("a vdso");
        let image = object::File::parse(whole.as_ref()).expect("ELF");
        let text = image.section_by_name(".text").expect("code");
        let (start, size) = image.section_by_name(".eh_frame").and_then(|it| it.file_range()).expect("a section");
        let memory = MemoryPart { start: 0x1000, bytes: &[0x42; 256] };
        let mut seed = 1u64;
        let mut below = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % most.max(1)
        };
        for _ in 0..2000 {
            let mut bytes = whole.to_vec();
            for _ in 0..=below(4) {
                bytes[(start + below(size)) as usize] = below(256) as u8;
            }
            let Some(frames) = CallFrames::read(&bytes, &|_| None) else { continue };
            for _ in 0..20 {
                let address = text.address() + below(text.size());
                let _ = frames.caller(address, 0, &registers(address), &memory);
            }
        }
    }
}
