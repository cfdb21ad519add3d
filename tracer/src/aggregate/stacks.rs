//! How often each stack was seen.

use std::collections::HashMap;

use super::key::stack_of;

/// The stacks of the hits of a marker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackCounts {
    /// The stacks, the most frequent first.
    pub stacks: Vec<StackCount>,
    /// The hits whose stack has the place of another one in the kernel's table.
    pub collided: u64,
    /// The hits for whose stacks there was no space.
    pub full: u64,
    /// The hits whose stack the kernel could not read.
    pub unread: u64,
}

/// A stack, and how often it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackCount {
    /// The process; 0 for a stack of the kernel.
    pub process: u32,
    /// The address of the probe, and then the return addresses, the innermost first.
    pub addresses: Vec<u64>,
    /// How many hits had it.
    pub hits: u64,
}

/// Why a stack has no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StackFault {
    /// Another stack has its place in the kernel's table.
    Collided,
    /// There was no space for it.
    Full,
    /// The kernel could not read it.
    Unread,
}

impl StackFault {
    /// The meaning of a negative number that `bpf_get_stackid` returned.
    #[must_use]
    pub(super) fn of(error: i32) -> Self {
        match error {
            -17 => Self::Collided,
            -12 => Self::Full,
            _ => Self::Unread,
        }
    }
}

impl StackCounts {
    /// Made of the keys of a marker, and the stacks by their numbers.
    pub(super) fn new<'k>(keys: impl Iterator<Item = (&'k [u8], u64)>, stacks: &HashMap<u32, Vec<u64>>) -> Self {
        let mut counts = Self::default();
        for (key, hits) in keys {
            match stack_of(key) {
                Some((process, Ok(number))) => match stacks.get(&number) {
                    Some(addresses) => {
                        counts.stacks.push(StackCount { process, addresses: addresses.clone(), hits });
                    }
                    None => counts.unread += hits,
                },
                Some((_, Err(error))) => match StackFault::of(error) {
                    StackFault::Collided => counts.collided += hits,
                    StackFault::Full => counts.full += hits,
                    StackFault::Unread => counts.unread += hits,
                },
                None => counts.unread += hits,
            }
        }
        counts.stacks.sort_by(|one, other| {
            other
                .hits
                .cmp(&one.hits)
                .then_with(|| (one.process, &one.addresses).cmp(&(other.process, &other.addresses)))
        });
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{KEY_PROCESS, KEY_SIZE, KEY_STACK};

    #[test]
    fn errors_are_counted() {
        let key = |number: i64, process: u64| {
            let mut key = vec![0; KEY_SIZE as usize];
            key[KEY_STACK..][..8].copy_from_slice(&number.to_ne_bytes());
            key[KEY_PROCESS..][..8].copy_from_slice(&process.to_ne_bytes());
            key
        };
        // The upper half of an error is 0 on older kernels.
        let old = i64::from(-17i32 as u32);
        let keys = [
            (key(7, 1), 2),
            (key(8, 1), 5),
            (key(-17, 1), 3),
            (key(old, 2), 1),
            (key(-12, 1), 9),
            (key(-14, 1), 4),
            (key(9, 1), 8),
        ];
        let stacks = HashMap::from([(7, vec![1, 2]), (8, vec![3])]);
        let counts = StackCounts::new(keys.iter().map(|(key, hits)| (&key[..], *hits)), &stacks);
        let stack = |addresses: &[u64], hits| StackCount { process: 1, addresses: addresses.to_vec(), hits };
        assert_eq!(counts.stacks, [stack(&[3], 5), stack(&[1, 2], 2)]);
        assert_eq!((counts.collided, counts.full, counts.unread), (4, 9, 12));
    }
}
