//! Bytes at a place.

/// Copies bytes to a place. What is beyond the end is left out.
pub(crate) fn put(to: &mut [u8], at: usize, bytes: &[u8]) {
    to.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
}
