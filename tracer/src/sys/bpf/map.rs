//! Maps of BPF.

use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

use super::call::{bpf, open};
use crate::sys::error::{Error, Step};
use crate::sys::numbers::cpus;

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP_ELEM: libc::c_int = 1;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const MAP_DELETE_ELEM: libc::c_int = 3;
const MAP_LOOKUP_AND_DELETE_ELEM: libc::c_int = 21;
const MAP_LOOKUP_BATCH: libc::c_int = 24;
const F_MMAPABLE: u32 = 1 << 10;
/// What the kernel does not support; it is not meant to be seen outside of it.
const ENOTSUPP: i32 = 524;

/// As many keys at once as a map may have.
pub(in crate::sys) const ALL: u32 = u32::MAX;

/// The type of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sys) enum MapType {
    Hash = 1,
    Array = 2,
    PercpuArray = 6,
    /// Stacks, by numbers that the kernel gives them.
    StackTrace = 7,
    /// A hash whose keys that were not used for the longest time are forgotten.
    LruHash = 9,
    Ringbuf = 27,
}

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    flags: u32,
}

/// A map.
#[derive(Debug)]
pub(in crate::sys) struct KernelMap {
    descriptor: OwnedFd,
    key_size: usize,
    /// The size of all values of a key.
    value_size: usize,
    /// How many values a key has.
    copies: usize,
    max_entries: u32,
}

impl KernelMap {
    /// Creates a map. The keys have 4 bytes.
    pub(in crate::sys) fn new(map_type: MapType, value_size: u32, max_entries: u32) -> Result<Self, Error> {
        let is_ring = map_type == MapType::Ringbuf;
        Self::with_keys(map_type, if is_ring { 0 } else { 4 }, value_size, max_entries)
    }

    /// Creates a map of one value, which can be mapped into memory.
    pub(in crate::sys) fn mappable(value_size: u32) -> Result<Self, Error> {
        Self::create(MapType::Array, 4, value_size, 1, F_MMAPABLE)
    }

    /// Creates a map with keys of this size.
    pub(in crate::sys) fn with_keys(
        map_type: MapType,
        key_size: u32,
        value_size: u32,
        max_entries: u32,
    ) -> Result<Self, Error> {
        Self::create(map_type, key_size, value_size, max_entries, 0)
    }

    fn create(map_type: MapType, key_size: u32, value_size: u32, max_entries: u32, flags: u32) -> Result<Self, Error> {
        let mut attributes = MapCreate { map_type: map_type as u32, key_size, value_size, max_entries, flags };
        let descriptor = open(MAP_CREATE, &mut attributes).map_err(|why| {
            // If a map of a few bytes is not refused, the right is there.
            let has_right = || {
                let map_type = MapType::Array as u32;
                let mut small = MapCreate { map_type, key_size: 4, value_size: 8, max_entries: 1, flags: 0 };
                open(MAP_CREATE, &mut small).is_ok()
            };
            let is_memory = why.raw_os_error() == Some(libc::EPERM) && has_right();
            Error::new(if is_memory { Step::Memory } else { Step::Map }, &why)
        })?;
        let copies = if map_type == MapType::PercpuArray { possible_cpus() } else { 1 };
        let value_size = (value_size as usize).next_multiple_of(8) * copies;
        Ok(Self { descriptor, key_size: key_size as usize, value_size, copies, max_entries })
    }

    pub(in crate::sys) fn descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// The sum of the numbers of 8 bytes at a key, over all CPUs; 0 if the key is not there.
    pub(in crate::sys) fn sum(&self, key: u32) -> Result<u64, Error> {
        Ok(self.values(key)?.into_iter().flatten().fold(0, u64::wrapping_add))
    }

    /// The numbers of 8 bytes at a key, for each CPU; empty if the key is not there.
    pub(in crate::sys) fn values(&self, key: u32) -> Result<Vec<Vec<u64>>, Error> {
        let mut value = vec![0u8; self.value_size];
        let to = value.as_mut_ptr() as u64;
        if !self.element(MAP_LOOKUP_ELEM, &key.to_ne_bytes(), to)? {
            return Ok(Vec::new());
        }
        let one = value.len() / self.copies.max(1);
        Ok(value.chunks_exact(one.max(1)).map(|value| words(value).collect()).collect())
    }

    /// Removes a key of a hash map that no program writes any more, and returns its value. `None` if the key
    /// is not there.
    pub(in crate::sys) fn take(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut value = vec![0u8; self.value_size];
        let to = value.as_mut_ptr() as u64;
        let is_there = match self.element(MAP_LOOKUP_AND_DELETE_ELEM, key, to) {
            // Before Linux 5.14 this is for queues only.
            Err(why) if why.errno == ENOTSUPP => {
                let is_there = self.element(MAP_LOOKUP_ELEM, key, to)?;
                self.remove(key)?;
                is_there
            }
            result => result?,
        };
        Ok(is_there.then_some(value))
    }

    /// Removes a key of a hash map, if it is there.
    pub(in crate::sys) fn remove(&self, key: &[u8]) -> Result<(), Error> {
        self.element(MAP_DELETE_ELEM, key, 0).map(drop)
    }

    /// Sets the value of a key of 4 bytes.
    pub(in crate::sys) fn set(&self, key: u32, value: &[u8]) -> Result<(), Error> {
        if value.len() != self.value_size {
            return Ok(());
        }
        self.element(MAP_UPDATE_ELEM, &key.to_ne_bytes(), value.as_ptr() as u64).map(drop)
    }

    /// Whether a key is there, after a command. `value` is where the value goes.
    fn element(&self, command: libc::c_int, key: &[u8], value: u64) -> Result<bool, Error> {
        if key.len() != self.key_size {
            return Ok(false);
        }
        let (map, key) = (self.descriptor() as u32, key.as_ptr() as u64);
        match bpf(command, &mut Element { map, unused: 0, key, value, flags: 0 }) {
            Ok(_) => Ok(true),
            Err(why) if why.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            Err(why) => Err(Error::new(Step::Map, &why)),
        }
    }

    /// All keys of a hash map, with their numbers of 8 bytes.
    pub(in crate::sys) fn entries(&self) -> Result<Vec<(Vec<u8>, u64)>, Error> {
        let mut entries = Vec::new();
        let first = |value: &[u8]| words(value).next().unwrap_or(0);
        self.each(ALL, &mut |key, value| entries.push((key.to_vec(), first(value))))?;
        Ok(entries)
    }

    /// Calls `each` for all keys of a hash map and their values, and reads `most` at once, or all if it has fewer. A key that
    /// is there all the time is handed on exactly once.
    pub(in crate::sys) fn each(&self, most: u32, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error> {
        let mut most = most.clamp(1, self.max_entries);
        let room = |size: usize, most: u32| vec![0u8; size * most as usize];
        let (mut keys, mut values) = (room(self.key_size, most), room(self.value_size, most));
        let (mut from, mut to, mut is_first) = (0u64, 0u64, true);
        loop {
            let mut attributes = Batch {
                from: if is_first { 0 } else { &raw mut from as u64 },
                to: &raw mut to as u64,
                keys: keys.as_mut_ptr() as u64,
                values: values.as_mut_ptr() as u64,
                count: most,
                map: self.descriptor() as u32,
                flags: 0,
                map_flags: 0,
            };
            let result = bpf(MAP_LOOKUP_BATCH, &mut attributes);
            let is_last = match result {
                Ok(_) => false,
                Err(why) if why.raw_os_error() == Some(libc::ENOENT) => true,
                // One bucket of the map has more keys than fit. It is read again.
                Err(why) if why.raw_os_error() == Some(libc::ENOSPC) && most < self.max_entries => {
                    most = most.saturating_mul(2).min(self.max_entries);
                    (keys, values) = (room(self.key_size, most), room(self.value_size, most));
                    continue;
                }
                Err(why) => return Err(Error::new(Step::Map, &why)),
            };
            let found = keys.chunks_exact(self.key_size.max(1)).zip(values.chunks_exact(self.value_size.max(1)));
            found.take(attributes.count as usize).for_each(|(key, value)| each(key, value));
            if is_last {
                return Ok(());
            }
            (from, is_first) = (to, false);
        }
    }
}

/// The numbers of 8 bytes in some bytes.
pub(in crate::sys) fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).filter_map(|word| word.first_chunk()).map(|word| u64::from_ne_bytes(*word))
}

#[repr(C)]
struct Batch {
    from: u64,
    to: u64,
    keys: u64,
    values: u64,
    count: u32,
    map: u32,
    flags: u64,
    map_flags: u64,
}

#[repr(C)]
struct Element {
    map: u32,
    unused: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// How many CPUs the kernel has values for (`/sys/devices/system/cpu/possible`).
pub(in crate::sys) fn possible_cpus() -> usize {
    cpus("possible").last().map_or(1, |last| *last as usize + 1)
}
