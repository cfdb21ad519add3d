//! Puts records in the order of their times.
//!
//! A program takes the time of a record after it reserved the record's space. So a record that is
//! not yet in the ring buffer at a moment gets a later time. If the reader notes the time, then the
//! end of the ring buffer, and then reads up to that end, every record before the noted time was
//! read. All of these can be handed on in their order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Its time, a number that keeps records of one time in the order of the ring buffer, and its bytes.
type Waiting = (u64, u64, Box<[u8]>);

/// Records that wait for earlier ones.
#[derive(Debug, Default)]
pub struct Order {
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// How many records were added.
    added: u64,
}

impl Order {
    /// Adds a record and its time.
    pub fn add(&mut self, time: u64, record: &[u8]) {
        self.waiting.push(Reverse((time, self.added, record.into())));
        self.added = self.added.wrapping_add(1);
    }

    /// The next record before a time; `None` if there is none.
    pub fn next_before(&mut self, time: u64) -> Option<Box<[u8]>> {
        let Reverse((first, ..)) = self.waiting.peek()?;
        if *first >= time {
            return None;
        }
        self.waiting.pop().map(|Reverse((.., record))| record)
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
        let mut upto = |time| -> Vec<u8> { std::iter::from_fn(|| order.next_before(time)).flatten().collect() };
        assert_eq!(upto(5), b"abcd");
        assert_eq!(upto(5), b"");
        assert_eq!(upto(u64::MAX), b"ef");
    }
}
