//! Puts records in the order of their times.
//!
//! A program takes the time of a record after it reserved the record's space. So a record that is
//! not yet in the ring buffer at a moment gets a later time. If the reader notes the time, then the
//! end of the ring buffer, and then reads up to that end, every record before the noted time was
//! read. All of these can be handed on in their order.

use std::ops::Range;

/// Records that wait for earlier ones.
#[derive(Debug, Default)]
pub struct Order {
    /// The times of the records, and where their bytes are.
    waiting: Vec<(u64, Range<usize>)>,
    bytes: Vec<u8>,
}

impl Order {
    /// Adds a record and its time.
    pub fn add(&mut self, time: u64, record: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.waiting.push((time, start..self.bytes.len()));
    }

    /// Whether no record waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Hands on the records before a time. Records of one time stay in the order in which they were
    /// added.
    pub fn take_before(&mut self, time: u64, each: &mut dyn FnMut(&[u8])) {
        // The records of each CPU are in order already, which makes this fast.
        self.waiting.sort_by_key(|(time, _)| *time);
        let count = self.waiting.partition_point(|(first, _)| *first < time);
        for (_, range) in self.waiting.drain(..count) {
            each(self.bytes.get(range).unwrap_or_default());
        }
        let mut kept = Vec::new();
        for (_, range) in &mut self.waiting {
            let start = kept.len();
            kept.extend_from_slice(self.bytes.get(range.clone()).unwrap_or_default());
            *range = start..kept.len();
        }
        self.bytes.clear();
        self.bytes.append(&mut kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_in_the_order_of_their_times() {
        let mut order = Order::default();
        for (time, record) in [(5, b"e"), (3, b"b"), (9, b"f"), (3, b"c"), (1, b"a"), (4, b"d")] {
            order.add(time, record);
        }
        let upto = |order: &mut Order, time| {
            let mut taken = Vec::new();
            order.take_before(time, &mut |record| taken.extend_from_slice(record));
            taken
        };
        assert_eq!(upto(&mut order, 5), b"abcd");
        assert_eq!(upto(&mut order, 5), b"");
        order.add(5, b"E");
        order.add(4, b"late");
        assert_eq!(upto(&mut order, 6), b"lateeE");
        assert_eq!(upto(&mut order, u64::MAX), b"f");
    }
}
