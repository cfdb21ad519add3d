//! The registers and the memory of a thread at a hit, and of its callers.

use simple_markers_resolver::location::Register;
use simple_markers_tracer::arch::Platform;
use simple_markers_tracer::record::stack::CopiedStack;

/// How many registers there are at most.
const REGISTERS: usize = 34;

/// The registers of a function, by their numbers in DWARF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    values: [Option<u64>; REGISTERS],
    program_counter: u64,
    stack_pointer: u64,
}

impl Registers {
    /// Those at a hit; `None` if the kernel did not hand them on, or the thread runs no program.
    pub(crate) fn of(stack: &CopiedStack<'_>) -> Option<Self> {
        let mut values = [None; REGISTERS];
        for (number, value) in (0..).zip(&mut values) {
            *value = stack.register(Register(number));
        }
        let (program_counter, stack_pointer) = (stack.instruction_pointer()?, stack.stack_pointer()?);
        Some(Self { values, program_counter, stack_pointer }).filter(|_| program_counter != 0)
    }

    /// Those of which only the address of the code and the stack pointer are known.
    #[cfg(test)]
    pub(crate) fn at(program_counter: u64, stack_pointer: u64) -> Self {
        Self { values: [None; REGISTERS], program_counter, stack_pointer }
    }

    /// A register; `None` if its value is not known.
    pub(crate) fn get(&self, register: Register) -> Option<u64> {
        let platform = Platform::HOST?.conventions();
        match register {
            register if register == platform.stack_pointer() => Some(self.stack_pointer),
            register if platform.register(register) == Some(platform.instruction_pointer()) => {
                Some(self.program_counter)
            }
            register => self.values.get(usize::from(register.0)).copied().flatten(),
        }
    }

    /// Sets a register, if there is one with the number.
    pub(crate) fn set(&mut self, register: Register, value: Option<u64>) {
        let is_stack_pointer = Platform::HOST.is_some_and(|host| host.conventions().stack_pointer() == register);
        if let (Some(value), true) = (value, is_stack_pointer) {
            self.stack_pointer = value;
        }
        if let Some(known) = self.values.get_mut(usize::from(register.0)) {
            *known = value;
        }
    }

    pub(crate) fn stack_pointer(&self) -> u64 {
        self.stack_pointer
    }

    pub(crate) fn set_stack_pointer(&mut self, value: u64) {
        self.stack_pointer = value;
    }

    pub(crate) fn program_counter(&self) -> u64 {
        self.program_counter
    }

    /// Goes on at a return address as it is in memory.
    pub(crate) fn set_program_counter(&mut self, value: u64) {
        self.program_counter = Platform::HOST.map_or(value, |host| host.conventions().code_address(value));
    }
}

/// Memory of a process.
pub(crate) trait Memory {
    /// A number of so many bytes, at most 8; `None` if it is not known.
    fn read(&self, address: u64, size: u8) -> Option<u64>;
}

/// The bytes from an address on.
pub(crate) struct MemoryPart<'m> {
    pub(crate) start: u64,
    pub(crate) bytes: &'m [u8],
}

impl Memory for MemoryPart<'_> {
    fn read(&self, address: u64, size: u8) -> Option<u64> {
        let from = usize::try_from(address.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(from..from.checked_add(size.into())?)?;
        let mut word = [0; 8];
        let at = if cfg!(target_endian = "big") { 8usize.checked_sub(bytes.len())? } else { 0 };
        word.get_mut(at..at.checked_add(bytes.len())?)?.copy_from_slice(bytes);
        Some(u64::from_ne_bytes(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_ends_where_it_was_copied() {
        let memory = MemoryPart { start: 0x1000, bytes: &[1, 2, 3, 4, 5, 6, 7, 8, 9] };
        let read = [(0x1000, 8), (0x1001, 8), (0x1002, 8), (0xfff, 8), (0x1008, 1), (0x1009, 1), (u64::MAX, 8)]
            .map(|(address, size)| memory.read(address, size));
        let first = u64::from_ne_bytes([1, 2, 3, 4, 5, 6, 7, 8]);
        let second = u64::from_ne_bytes([2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(read, [Some(first), Some(second), None, None, Some(9), None, None]);
        assert_eq!((memory.read(0x1000, 0), memory.read(0x1000, 9)), (Some(0), None));
    }
}
