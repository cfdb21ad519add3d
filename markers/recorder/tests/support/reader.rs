//! A small reader of buffers. It checks all that a reader may rely on.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use simple_markers_record::buffer::event::{Argument, Arguments, Events, MAX_TEXT, MAX_VALUE};
use simple_markers_record::buffer::packet::{self, Header};
use simple_markers_record::buffer::{Layout, ring};

/// A hit that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub id: u16,
    pub cpu: u32,
    pub time: u64,
    pub pid: u32,
    pub tid: u32,
    pub values: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Scalar(u64),
    Text(Vec<u8>, Option<u32>),
    /// Its bytes, its size, and whether they are behind a pointer.
    Whole(Vec<u8>, Option<u32>, bool),
}

/// The layouts of probes 1, 2, ..
pub type Layouts<'a> = &'a [Layout];

/// The files of a folder, without those that are being made.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            !name.starts_with('.') && name != "metadata"
        })
        .collect();
    files.sort();
    files
}

/// The records of a packet in their order, whose times do not go backwards.
fn events(header: &Header, records: &[u8], layouts: Layouts<'_>, hits: &mut Vec<Hit>) {
    let mut time = header.begin;
    for event in Events::new(records) {
        let event = event.expect("a record");
        assert!(event.time >= time, "times go backwards");
        time = event.time;
        let layout = layouts[usize::from(event.id) - 1];
        // Here a probe has texts, or whole values.
        let are_values = if layout.has_values() { u32::MAX } else { 0 };
        let values = Arguments::new(&event, layout, are_values).map(|argument| match argument.expect("the layout") {
            Argument::Scalar(value) => Value::Scalar(value),
            Argument::Text { bytes, length } => {
                assert!(length.is_none_or(|length| bytes.len() == MAX_TEXT.min(length as usize)));
                Value::Text(bytes.to_vec(), length)
            }
            Argument::Value { bytes, size, is_behind } => {
                assert!(size.is_none_or(|size| bytes.len() == MAX_VALUE.min(size as usize)));
                Value::Whole(bytes.to_vec(), size, is_behind)
            }
        });
        let values = values.collect();
        let (id, cpu, pid, tid) = (event.id, event.cpu, header.pid, header.tid);
        hits.push(Hit { id, cpu, time, pid, tid, values });
    }
}

/// What a growing file has.
pub struct Growing {
    pub hits: Vec<Hit>,
    /// Hits that were lost.
    pub lost: u64,
    pub packets: u64,
}

/// Reads a growing file, which has packet after packet up to its end.
pub fn growing(path: &Path, layouts: Layouts<'_>) -> Growing {
    let file = File::open(path).unwrap();
    let size = file.metadata().unwrap().len();
    let (mut offset, mut packets, mut hits, mut lost) = (0, 0, Vec::new(), 0);
    let mut time = 0;
    while offset < size {
        let mut bytes = [0; packet::HEADER];
        file.read_exact_at(&mut bytes, offset).unwrap();
        let header = Header::read(&bytes).unwrap_or_else(|| panic!("{path:?}: no packet at {offset} of {size}"));
        assert_eq!(header.sequence, packets, "{path:?}");
        assert_eq!(header.packet_size % 64, 0);
        assert!(offset + header.packet_size / 8 <= size, "{path:?}: {header:?} at {offset} of {size}");
        assert!(header.begin >= time);
        let mut records = vec![0; header.content().expect("a size") as usize - packet::HEADER];
        file.read_exact_at(&mut records, offset + packet::HEADER as u64).unwrap();
        events(&header, &records, layouts, &mut hits);
        time = hits.last().map_or(0, |hit| hit.time).max(header.begin);
        lost = header.discarded;
        packets += 1;
        offset += header.packet_size / 8;
    }
    assert_eq!(offset, size, "{path:?}");
    Growing { hits, lost, packets }
}

/// Reads all growing files of a folder. The hits of a file are one after the other.
pub fn growing_folder(folder: &Path, layouts: Layouts<'_>) -> BTreeMap<PathBuf, Growing> {
    files(folder).into_iter().map(|path| (path.clone(), growing(&path, layouts))).collect()
}

/// Empties a ring.
pub struct Ring<'a> {
    file: File,
    layouts: Layouts<'a>,
    next: u64,
    /// Bytes of the packet that were read.
    read: u64,
    packet: Vec<u8>,
    /// How many packets were overwritten before they could be read.
    pub missed: u64,
}

impl<'a> Ring<'a> {
    pub fn open(path: &Path, layouts: Layouts<'a>) -> Self {
        let file = File::options().read(true).write(true).open(path).unwrap();
        Self { file, layouts, next: 0, read: 0, packet: Vec::new(), missed: 0 }
    }

    pub fn page(&self) -> ring::Page {
        let mut bytes = [0; ring::SIZE];
        self.file.read_exact_at(&mut bytes, 0).unwrap();
        ring::Page::read(&bytes).expect("a ring")
    }

    fn header(&self, offset: u64) -> Option<Header> {
        let mut bytes = [0; packet::HEADER];
        self.file.read_exact_at(&mut bytes, offset).unwrap();
        Header::read(&bytes)
    }

    /// Appends the hits that are complete and were not read before, and frees the packets.
    pub fn read(&mut self, hits: &mut Vec<Hit>) {
        let layouts = self.layouts;
        self.each(|header, records| events(header, records, layouts, hits));
    }

    /// The number of these hits.
    pub fn count(&mut self) -> u64 {
        let mut count = 0;
        self.each(|_, records| {
            for event in Events::new(records) {
                assert!(event.is_ok());
                count += 1;
            }
        });
        count
    }

    fn each(&mut self, mut records: impl FnMut(&Header, &[u8])) {
        let page = self.page();
        loop {
            let size = u64::from(page.packet_size);
            let offset = ring::SIZE as u64 + self.next % u64::from(page.packets) * size;
            let before = self.header(offset).filter(|header| header.sequence == self.next);
            let Some(before) = before else {
                // Overwritten, or left out: go on with the oldest packet that follows.
                let places = (0..u64::from(page.packets)).map(|place| ring::SIZE as u64 + place * size);
                let sequences = places.filter_map(|offset| self.header(offset)).map(|header| header.sequence);
                let following = sequences.filter(|sequence| (self.next + 1..packet::NO_SEQUENCE).contains(sequence));
                let Some(oldest) = following.min() else { return };
                // It may have been begun after the first look.
                if self.header(offset).is_some_and(|header| header.sequence == self.next) {
                    continue;
                }
                self.missed += oldest - self.next;
                (self.next, self.read) = (oldest, 0);
                self.free();
                continue;
            };
            // One read of a header may have an old size and a new flag, so the size is read again.
            let header = self.header(offset).unwrap();
            let content = header.content().expect("a size");
            assert!(content <= size);
            self.packet.resize(content as usize, 0);
            self.file.read_exact_at(&mut self.packet, offset).unwrap();
            let after = self.header(offset);
            if after.is_none_or(|after| after.sequence != self.next) {
                continue;
            }
            let from = self.read.max(packet::HEADER as u64) as usize;
            records(&header, &self.packet[from..]);
            self.read = content;
            if !before.is_closed {
                return;
            }
            self.next += 1;
            self.read = 0;
            self.free();
        }
    }

    fn free(&self) {
        self.file.write_all_at(&self.next.to_le_bytes(), ring::CONSUMED as u64).unwrap();
    }
}
