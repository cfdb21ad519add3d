//! Requests, and the random numbers they are made from.

/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 512;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write,
    Flush,
}

/// One request to the device.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) tag: u64,
    pub(crate) operation: Operation,
    pub(crate) sector: u64,
    pub(crate) sectors: u32,
    /// How often it has been dispatched.
    pub(crate) attempts: u32,
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Status {
    Good = 0,
    MediumError = 3,
    Busy = 8,
}

impl Request {
    /// The request `tag` of the workload `seed`.
    pub(crate) fn generate(tag: u64, seed: u64) -> Self {
        let draw = scramble(tag ^ seed.rotate_left(32));
        let operation = match draw % 16 {
            0 => Operation::Flush,
            1..=5 => Operation::Write,
            _ => Operation::Read,
        };
        let sectors = if operation == Operation::Flush { 0 } else { 1 + (draw >> 8) as u32 % 64 };
        Self { tag, operation, sector: draw >> 40, sectors, attempts: 0 }
    }

    /// Bytes that the request transfers.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.sectors) * SECTOR
    }
}

/// A hash of `value` (the finaliser of splitmix64).
pub(crate) fn scramble(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
