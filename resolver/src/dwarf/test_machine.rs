//! A machine for unit tests that evaluate locations.

use crate::address::{RuntimeAddress, Vaddr};
use crate::location::{self, LocationNames, Processor, Register};

/// Registers and memory with made-up contents: each value is computed from its position.
pub(super) struct Fake {
    pub(super) address_size: u8,
}

/// Scrambles a number.
pub(super) fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let number = (number ^ number >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ number >> 33
}

pub(super) const BIAS: u64 = 0x5500_0000;
pub(super) const THREAD: u64 = 0x7700_0000;

impl location::Machine for Fake {
    fn register(&self, register: Register) -> Option<Vec<u8>> {
        let halves = [mix(u64::from(register.0) + 1), mix(u64::from(register.0) + 1000)];
        Some(halves.iter().flat_map(|half| half.to_le_bytes()).collect())
    }

    fn read(&self, address: RuntimeAddress, into: &mut [u8]) -> bool {
        for (index, byte) in into.iter_mut().enumerate() {
            *byte = mix(address.0.wrapping_add(index as u64)) as u8;
        }
        true
    }

    fn bias(&self) -> u64 {
        BIAS
    }

    fn thread_local(&self, offset: u64) -> Option<RuntimeAddress> {
        Some(RuntimeAddress(offset.wrapping_add(THREAD)))
    }

    fn address_size(&self) -> u8 {
        self.address_size
    }

    fn is_big_endian(&self) -> bool {
        false
    }
}

impl LocationNames for Fake {
    fn processor(&self) -> Processor {
        if self.address_size == 4 { Processor::I386 } else { Processor::X86_64 }
    }

    fn address_size(&self) -> u8 {
        self.address_size
    }

    fn symbol(&self, address: Vaddr) -> Option<String> {
        (address.0 >> 12 == 4).then(|| format!("table+{:#x}", address.0 & 0xfff))
    }
}
