//! A ring, which a tool empties. It has memory for the packets that were begun.

use core::sync::atomic::AtomicU64;

use simple_markers_record::buffer::ring;

use super::path::Numbers;
use super::writer::{MappedPacket, Writer};
use crate::packet::{self, Memory as _};
use crate::sys::{self, Errno};

impl Writer {
    pub(super) fn make_ring(&mut self, numbers: &Numbers) -> Result<(), Errno> {
        let first = ring::SIZE as u64 + u64::from(self.packet_size);
        let packets = ring::SIZE as u64 + u64::from(self.packets) * u64::from(self.packet_size);
        let size = packets + ring::BELL as u64;
        if size > sys::largest_file() {
            return Err(libc::EFBIG);
        }
        let (file, mut path) = self.make_file(numbers)?;
        let made = (|| {
            file.set_size(size)?;
            // SAFETY: the kernel chooses the place.
            self.map = unsafe { file.map(sys::NOWHERE, 0, size as usize) }?;
            self.map_size = size as usize;
            match sys::make_present(self.map, first as usize) {
                // An old kernel: all of it, since it has no other way to learn that a disk is full.
                Err(libc::EINVAL) => {
                    file.reserve(0, packets)?;
                    self.present = self.packets;
                }
                result => {
                    result?;
                    self.present = 1;
                }
            }
            Ok(())
        })();
        if let Err(error) = made {
            path.remove(self.number);
            return Err(error);
        }
        let page = MappedPacket(self.map);
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        page.store(ring::PACKET_SIZE, pair(self.packet_size, self.packets));
        page.store(ring::PID, pair(self.pid, self.clock));
        page.store(0, pair(ring::MAGIC, ring::VERSION));
        self.advance_ring();
        path.publish(self.number).inspect_err(|_| path.remove(self.number))
    }

    /// Wakes the reader of a ring. It needs neither a file nor a right that the program may have lost.
    pub(crate) fn ring_bell(&self) {
        let bell = self.map.wrapping_add(self.map_size - ring::BELL);
        // If it fails, the reader looks later.
        let _ = sys::make_hole(bell, ring::BELL);
    }

    /// Begins the next packet of a ring; `false` if there is no room for one.
    pub(crate) fn advance_ring(&mut self) -> bool {
        if self.packets == 0 || self.map.is_null() {
            return false;
        }
        let page = MappedPacket(self.map);
        let lost = self.map.wrapping_add(ring::LOST).cast::<AtomicU64>().cast_const();
        self.lost = lost;
        if !self.packet.is_null() {
            packet::close(&self.memory(), page.load(ring::LOST));
        }
        let packets = u64::from(self.packets);
        let consumed = page.load(ring::CONSUMED);
        if self.overwrites == 0 && self.next >= consumed.saturating_add(packets) {
            let watched = self.map.wrapping_add(ring::CONSUMED).cast::<AtomicU64>();
            self.stop(watched, self.next - packets + 1, lost);
            return false;
        }
        let size = u64::from(self.packet_size);
        let offset = |place: u64| ring::SIZE as u64 + place * size;
        let place = self.next % packets;
        if place >= self.present.into() {
            match sys::make_present(self.map.wrapping_add(offset(place) as usize), size as usize) {
                Ok(()) => self.present = place as u32 + 1,
                // The places that have memory are overwritten.
                Err(_) if self.overwrites != 0 => self.next += packets - place,
                Err(error) => {
                    self.fail(error, lost);
                    return false;
                }
            }
        }
        let offset = offset(self.next % packets);
        packet::begin(&MappedPacket(self.map.wrapping_add(offset as usize)), &self.begin(size));
        self.enter(offset);
        true
    }
}
