//! A flight recorder: keeps the newest packets, and drops the oldest ones.

use std::collections::VecDeque;

use super::writer::Packet;

/// The newest packets.
#[derive(Clone, Debug)]
pub struct Flight {
    packets: VecDeque<Packet>,
    size: usize,
    most: usize,
    dropped: u64,
}

impl Flight {
    /// A flight recorder of at most `most` bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { packets: VecDeque::new(), size: 0, most, dropped: 0 }
    }

    /// Adds a packet, and drops the oldest ones that do not fit any more.
    pub fn add(&mut self, packet: Packet) {
        self.size += packet.bytes.len();
        self.packets.push_back(packet);
        while self.size > self.most {
            let Some(oldest) = self.packets.pop_front() else { break };
            self.size -= oldest.bytes.len();
            self.dropped += oldest.events;
        }
    }

    /// Takes the packets out, the oldest first.
    pub fn take(&mut self) -> VecDeque<Packet> {
        self.size = 0;
        std::mem::take(&mut self.packets)
    }

    /// How many events were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_packets_are_kept() {
        let packet = |size: usize, events| Packet { bytes: vec![0; size], events, begin: 0 };
        let mut flight = Flight::new(100);
        for number in 1..=5 {
            flight.add(packet(30, number));
        }
        let kept: Vec<u64> = flight.take().into_iter().map(|packet| packet.events).collect();
        assert_eq!((kept, flight.dropped()), (vec![3, 4, 5], 1 + 2));
        assert_eq!(flight.take().len(), 0);
        flight.add(packet(101, 7));
        assert_eq!((flight.take().len(), flight.dropped()), (0, 10));
    }
}
