//! The buffers of probes, as a program may write them.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use simple_markers_record::buffer::{packet, ring};
use simple_markers_tracer::recorder::Ring;
use simple_markers_tracer::recorder::ring::{RingError, Sizes};

const SIZES: Sizes = Sizes { packet: 4096, packets: 2 };

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// Writes packet number `number` with these events: time and number of the probe.
fn packet(bytes: &mut [u8], number: u64, is_closed: bool, events: &[(u64, u16)]) {
    let start = ring::SIZE + (number as usize % 2) * 4096;
    let at = |offset: usize| start + offset;
    put(bytes, start, &packet::MAGIC.to_le_bytes());
    put(bytes, at(packet::STREAM), &0u32.to_le_bytes());
    put(bytes, at(packet::CLOSED), &u64::from(is_closed).to_le_bytes());
    let size = packet::HEADER + 16 * events.len();
    put(bytes, at(packet::CONTENT_SIZE), &(8 * size as u64).to_le_bytes());
    put(bytes, at(packet::PACKET_SIZE), &(8 * 4096u64).to_le_bytes());
    put(bytes, at(packet::SEQUENCE), &number.to_le_bytes());
    put(bytes, at(packet::PID), &10u32.to_le_bytes());
    put(bytes, at(packet::TID), &11u32.to_le_bytes());
    for (index, (time, id)) in events.iter().enumerate() {
        let event = at(packet::HEADER + 16 * index);
        put(bytes, event, &time.to_le_bytes());
        put(bytes, event + 8, &id.to_le_bytes());
        put(bytes, event + 10, &2u16.to_le_bytes());
        put(bytes, event + 12, &1u32.to_le_bytes());
    }
}

fn buffer() -> Vec<u8> {
    let mut bytes = vec![0; ring::SIZE + 2 * 4096];
    put(&mut bytes, 0, &ring::MAGIC.to_le_bytes());
    put(&mut bytes, ring::VERSION_AT, &ring::VERSION.to_le_bytes());
    put(&mut bytes, ring::PACKET_SIZE, &4096u32.to_le_bytes());
    put(&mut bytes, ring::PACKETS, &2u32.to_le_bytes());
    put(&mut bytes, ring::PID, &10u32.to_le_bytes());
    put(&mut bytes, ring::LOST, &3u64.to_le_bytes());
    bytes
}

fn file(bytes: &[u8]) -> File {
    let file = tempfile::tempfile().expect("a file");
    file.write_all_at(bytes, 0).expect("it is written");
    file
}

fn read(ring: &mut Ring) -> (Vec<(u64, u16)>, Result<(), RingError>) {
    let mut events = Vec::new();
    let result = ring.read(&mut |header, event| {
        assert!(events.len() < 1000, "a buffer of this size has fewer events");
        events.push((event.time, event.id));
        let _ = header.tid;
    });
    (events, result.map(drop))
}

#[test]
fn packets_are_read_as_they_are_written() {
    let mut bytes = buffer();
    packet(&mut bytes, 0, false, &[(5, 1), (6, 2)]);
    let file = file(&bytes);
    let mut ring = Ring::new(file.try_clone().expect("a second name"), SIZES).expect("a buffer");
    let write = |bytes: &[u8]| file.write_all_at(bytes, 0).expect("it is written");
    assert_eq!(read(&mut ring).0, [(5, 1), (6, 2)]);
    assert_eq!(read(&mut ring).0, []);
    packet(&mut bytes, 0, true, &[(5, 1), (6, 2), (7, 3)]);
    packet(&mut bytes, 1, false, &[(8, 1)]);
    write(&bytes);
    assert_eq!(read(&mut ring).0, [(7, 3), (8, 1)]);
    assert_eq!(ring.lost().expect("a buffer"), 3);
    let mut consumed = [0; 8];
    file.read_exact_at(&mut consumed, ring::CONSUMED as u64).expect("the page");
    assert_eq!(u64::from_le_bytes(consumed), 1);
    put(&mut bytes, ring::CONSUMED, &1u64.to_le_bytes());
    packet(&mut bytes, 1, true, &[(8, 1)]);
    packet(&mut bytes, 2, false, &[(9, 2)]);
    write(&bytes);
    assert_eq!(read(&mut ring).0, [(9, 2)]);
    // A later reader begins with the packet that was not read to its end.
    let mut later = Ring::new(file.try_clone().expect("a second name"), SIZES).expect("a buffer");
    assert_eq!(read(&mut later).0, [(9, 2)]);
}

#[test]
fn what_is_no_buffer_is_refused() {
    let refused = |bytes: &[u8]| Ring::new(file(bytes), SIZES).expect_err("no buffer").to_string();
    assert_eq!(refused(&[]), "the buffer is cut");
    assert_eq!(refused(&vec![0; ring::SIZE]), "the file is no buffer of a probe");
    let mut other = buffer();
    put(&mut other, ring::PACKETS, &3u32.to_le_bytes());
    assert_eq!(refused(&other), "the buffer has other sizes than it should have");
    // It is cut while it is read.
    let mut bytes = buffer();
    packet(&mut bytes, 0, false, &[(5, 1)]);
    let file = file(&bytes);
    let mut ring = Ring::new(file.try_clone().expect("a second name"), SIZES).expect("a buffer");
    file.set_len(ring::SIZE as u64 + 70).expect("it is cut");
    assert_eq!(read(&mut ring).1.expect_err("it is cut").to_string(), "the buffer is cut");
    file.set_len(10).expect("it is cut");
    assert!(matches!(ring.lost(), Err(RingError::Short)));
}

#[test]
fn a_damaged_packet_ends_its_buffer() {
    let mut bytes = buffer();
    packet(&mut bytes, 0, true, &[(5, 1), (6, 2)]);
    packet(&mut bytes, 1, false, &[(7, 3)]);
    let (mut damaged, mut whole) = (0, 0);
    for at in ring::SIZE..ring::SIZE + packet::HEADER + 32 {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            let Ok(mut ring) = Ring::new(file(&bytes), SIZES) else { panic!("the first page is whole") };
            match read(&mut ring) {
                (_, Err(RingError::Damaged { number: 0 })) => damaged += 1,
                (events, Ok(())) => whole += usize::from(events.len() == 3),
                (_, Err(other)) => panic!("{other}"),
            }
        }
    }
    assert!(damaged > 60 && whole > 300, "{damaged} {whole}");
}

#[test]
fn numbers_that_cannot_be_are_no_reason_to_end() {
    let mut bytes = buffer();
    // The last number that there is.
    put(&mut bytes, ring::CONSUMED, &u64::MAX.to_le_bytes());
    put(&mut bytes, ring::LOST, &u64::MAX.to_le_bytes());
    packet(&mut bytes, u64::MAX, true, &[(u64::MAX, u16::MAX)]);
    packet(&mut bytes, 0, false, &[(0, 0)]);
    let mut ring = Ring::new(file(&bytes), SIZES).expect("a buffer");
    assert_eq!(read(&mut ring).0, [(u64::MAX, u16::MAX), (0, 0)]);
    assert_eq!((read(&mut ring).0, ring.lost().expect("a buffer")), (Vec::new(), u64::MAX));
}
