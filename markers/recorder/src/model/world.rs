//! What the model can be in, and the steps from there within its bounds.

use core::cell::RefCell;
use std::vec::Vec;

use simple_markers_record::buffer::packet as header;

use crate::packet::{self, Begin, Memory};

/// How an interrupted record is kept from being torn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// A restartable sequence.
    Sequence,
    /// The content size is stored only if it is still the one that was read.
    Compare,
    /// Nothing.
    Nothing,
}

/// What the model goes through.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) protocol: Protocol,
    pub(super) overwrites: bool,
    /// Hits outside of handlers.
    pub(super) hits: u8,
    /// Signals; a handler is one hit, and may interrupt another handler.
    pub(super) signals: u8,
    /// How many handlers leave by a jump, and with them what they interrupt.
    pub(super) jumps: u8,
}

/// Places of the ring.
const PACKETS: u8 = 2;

/// Records of a packet.
const ROOM: u8 = 2;

/// Stands for [`header::NO_SEQUENCE`].
const NONE: u8 = u8::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Place {
    sequence: u8,
    closed: bool,
    content: u8,
    records: [[u8; 2]; ROOM as usize],
}

/// A step of a hit.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Step {
    Packet,
    Content,
    Time,
    Value,
    Publish,
    Drop,
    /// What is left of the slow path.
    Slow(Vec<Slow>),
    Done,
}

/// A step with all signals blocked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Slow {
    Store {
        place: u8,
        offset: usize,
        word: u64,
    },
    /// Looks for a free packet.
    Next,
    Enter(u8),
    Time,
    Value,
    Publish,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Frame {
    hit: u8,
    step: Step,
    place: u8,
    content: u8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Reading {
    Sequence,
    Closed,
    Content { closed: bool },
    Records { closed: bool, content: u8, read: Vec<[u8; 2]> },
    Check { closed: bool, read: Vec<[u8; 2]> },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct World {
    places: [Place; PACKETS as usize],
    consumed: u8,
    /// The writer's packet; `None` while it waits for the reader.
    current: Option<u8>,
    next: u8,
    lost: u8,
    pub(super) frames: Vec<Frame>,
    pub(super) hits: u8,
    signals: u8,
    jumps: u8,
    next_hit: u8,
    /// How many hits a jump has cut off before they were recorded.
    abandoned: u8,
    /// What should be in packets 0, 1, ..
    expected: Vec<Vec<u8>>,
    reading: Reading,
    to_read: u8,
}

/// What was found.
type CheckResult = Result<(), &'static str>;

/// Notes the stores of `packet.rs`.
struct Log(RefCell<Vec<(usize, u64)>>);

impl Memory for Log {
    fn load(&self, _: usize) -> u64 {
        0
    }

    fn store(&self, offset: usize, word: u64) {
        self.0.borrow_mut().push((offset, word));
    }
}

fn stores(place: u8, run: impl FnOnce(&Log)) -> impl Iterator<Item = Slow> {
    let log = Log(RefCell::new(Vec::new()));
    run(&log);
    log.0.into_inner().into_iter().map(move |(offset, word)| Slow::Store { place, offset, word })
}

impl World {
    pub(super) fn new(bounds: &Bounds) -> Self {
        let place = Place { sequence: NONE, closed: false, content: 0, records: [[0; 2]; ROOM as usize] };
        Self {
            places: [place; PACKETS as usize],
            consumed: 0,
            current: None,
            next: 0,
            lost: 0,
            frames: Vec::new(),
            hits: bounds.hits,
            signals: bounds.signals,
            jumps: bounds.jumps,
            next_hit: 1,
            abandoned: 0,
            expected: Vec::new(),
            reading: Reading::Sequence,
            to_read: 0,
        }
    }

    fn begin_hit(&mut self) {
        self.frames.push(Frame { hit: self.next_hit, step: Step::Packet, place: 0, content: 0 });
        self.next_hit += 1;
    }

    fn store(&mut self, place: u8, offset: usize, word: u64) {
        let place = &mut self.places[usize::from(place)];
        match offset {
            header::SEQUENCE => place.sequence = if word == header::NO_SEQUENCE { NONE } else { word as u8 },
            header::CLOSED => place.closed = word != 0,
            // A record has 8 bytes here.
            header::CONTENT_SIZE => place.content = (word / 64 - 8) as u8,
            _ => {}
        }
    }

    /// The steps of the slow path from its entry.
    fn slow(&self) -> Vec<Slow> {
        let mut steps = Vec::new();
        match self.current {
            Some(place) if self.places[usize::from(place)].content < ROOM => {
                steps.extend([Slow::Time, Slow::Value, Slow::Publish]);
            }
            Some(place) => {
                steps.extend(stores(place, |log| packet::close(log, 0)));
                steps.push(Slow::Next);
            }
            None => steps.push(Slow::Next),
        }
        steps
    }

    /// One step of the hit that runs.
    fn step(&mut self, bounds: &Bounds) {
        let Some(mut frame) = self.frames.pop() else { return };
        match &mut frame.step {
            Step::Packet => {
                frame.step = match self.current {
                    Some(place) => {
                        frame.place = place;
                        Step::Content
                    }
                    None => Step::Drop,
                };
            }
            Step::Content => {
                frame.content = self.places[usize::from(frame.place)].content;
                frame.step = if frame.content < ROOM { Step::Time } else { Step::Slow(self.slow()) };
            }
            Step::Time => {
                self.places[usize::from(frame.place)].records[usize::from(frame.content)][0] = frame.hit;
                frame.step = Step::Value;
            }
            Step::Value => {
                self.places[usize::from(frame.place)].records[usize::from(frame.content)][1] = frame.hit;
                frame.step = Step::Publish;
            }
            Step::Publish => {
                let content = self.places[usize::from(frame.place)].content;
                if bounds.protocol == Protocol::Compare && content != frame.content {
                    frame.step = Step::Packet;
                } else {
                    self.publish(frame.place, frame.content, frame.hit);
                    frame.step = Step::Done;
                }
            }
            Step::Drop => {
                let waits = self.current.is_none() && self.next > 0;
                if waits && self.consumed + PACKETS <= self.next {
                    self.lost += 1;
                    frame.step = Step::Done;
                } else {
                    frame.step = Step::Slow(self.slow());
                }
            }
            Step::Slow(steps) => {
                let step = steps.remove(0);
                let is_last = steps.is_empty();
                self.slow_step(bounds, step, &mut frame);
                if is_last && frame.step == Step::Slow(Vec::new()) {
                    frame.step = Step::Done;
                }
            }
            Step::Done => {}
        }
        if frame.step != Step::Done || self.frames.len() + 1 > 1 {
            self.frames.push(frame);
        }
    }

    fn slow_step(&mut self, bounds: &Bounds, step: Slow, frame: &mut Frame) {
        let current = self.current.unwrap_or(0);
        let content = self.places[usize::from(current)].content;
        match step {
            Slow::Store { place, offset, word } => self.store(place, offset, word),
            Slow::Next if !bounds.overwrites && self.next >= self.consumed + PACKETS => {
                self.current = None;
                self.lost += 1;
            }
            Slow::Next => {
                let (sequence, pid, tid) = (self.next.into(), 0, 0);
                let begin = Begin { time: 0, size: 4096, discarded: 0, sequence, pid, tid };
                let place = self.next % PACKETS;
                let mut steps: Vec<Slow> = stores(place, |log| packet::begin(log, &begin)).collect();
                steps.extend([Slow::Enter(place), Slow::Time, Slow::Value, Slow::Publish]);
                frame.step = Step::Slow(steps);
            }
            Slow::Enter(place) => {
                self.current = Some(place);
                self.next += 1;
                self.expected.push(Vec::new());
            }
            Slow::Time => self.places[usize::from(current)].records[usize::from(content)][0] = frame.hit,
            Slow::Value => self.places[usize::from(current)].records[usize::from(content)][1] = frame.hit,
            Slow::Publish => self.publish(current, content, frame.hit),
        }
    }

    fn publish(&mut self, place: u8, content: u8, hit: u8) {
        self.places[usize::from(place)].content = content + 1;
        // Where the record went, and not where the writer is.
        let sequence = self.places[usize::from(place)].sequence;
        if let Some(expected) = self.expected.get_mut(usize::from(sequence)) {
            expected.push(hit);
        }
    }

    /// Whether what is in the packet is what was recorded there.
    fn is_expected(&self, sequence: u8, records: &[[u8; 2]]) -> bool {
        let expected = self.expected.get(usize::from(sequence)).map_or(&[][..], Vec::as_slice);
        records.len() <= expected.len() && records.iter().zip(expected).all(|(record, hit)| *record == [*hit; 2])
    }

    /// Looks at the buffer as after `kill -9`.
    pub(super) fn check(&self) -> CheckResult {
        for place in self.places.iter().filter(|place| place.sequence != NONE) {
            let records = place.records.get(..usize::from(place.content)).ok_or("a content beyond the packet")?;
            if !self.is_expected(place.sequence, records) {
                return Err("a torn record");
            }
        }
        Ok(())
    }

    /// One step of the reader; `None` if it waits.
    fn read(&mut self) -> Option<CheckResult> {
        let place = self.places[usize::from(self.to_read % PACKETS)];
        match self.reading.clone() {
            Reading::Sequence if place.sequence == NONE || place.sequence < self.to_read => return None,
            Reading::Sequence if place.sequence > self.to_read => {
                // Overwritten. The step is one load for each place here.
                let sequences = self.places.iter().map(|place| place.sequence);
                self.to_read = sequences.filter(|&sequence| sequence != NONE).min()?;
                self.consumed = self.to_read;
            }
            Reading::Sequence => self.reading = Reading::Closed,
            Reading::Closed => self.reading = Reading::Content { closed: place.closed },
            Reading::Content { closed } => {
                self.reading = Reading::Records { closed, content: place.content, read: Vec::new() };
            }
            Reading::Records { closed, content, mut read } if read.len() < usize::from(content) => {
                read.push(place.records[read.len()]);
                self.reading = Reading::Records { closed, content, read };
            }
            Reading::Records { closed, read, .. } => self.reading = Reading::Check { closed, read },
            Reading::Check { closed, read } => {
                self.reading = Reading::Sequence;
                if place.sequence != self.to_read {
                    return Some(Ok(()));
                }
                if !self.is_expected(self.to_read, &read) {
                    return Some(Err("the reader gets a torn record"));
                }
                if closed {
                    if read.len() != self.expected[usize::from(self.to_read)].len() {
                        return Some(Err("the reader misses a record of a closed packet"));
                    }
                    self.to_read += 1;
                    self.consumed = self.to_read;
                }
            }
        }
        Some(Ok(()))
    }

    /// All worlds that can follow.
    pub(super) fn after(&self, bounds: &Bounds) -> Result<Vec<Self>, &'static str> {
        let mut after = Vec::new();
        let mut add = |change: &dyn Fn(&mut Self)| {
            let mut world = self.clone();
            change(&mut world);
            after.push(world);
        };
        match self.frames.last() {
            None if self.hits > 0 => add(&|world| {
                world.hits -= 1;
                world.begin_hit();
            }),
            None => {}
            Some(Frame { step: Step::Done, .. }) => {
                add(&|world| drop(world.frames.pop()));
                if self.jumps > 0 && self.frames.len() > 1 {
                    add(&|world| {
                        world.jumps -= 1;
                        world.frames.pop();
                        let interrupted = world.frames.pop();
                        world.abandoned += u8::from(interrupted.is_some_and(|frame| frame.step != Step::Done));
                    });
                }
            }
            Some(_) => add(&|world| world.step(bounds)),
        }
        let is_blocked = self.frames.last().is_none_or(|frame| matches!(frame.step, Step::Slow(_)));
        if self.signals > 0 && !is_blocked && self.frames.len() < 3 {
            add(&|world| {
                world.signals -= 1;
                if let Some(frame) = world.frames.last_mut() {
                    if bounds.protocol == Protocol::Sequence && frame.step != Step::Done {
                        frame.step = Step::Packet;
                    }
                }
                world.begin_hit();
            });
        }
        let mut reader = self.clone();
        match reader.read() {
            Some(Ok(())) => after.push(reader),
            Some(Err(error)) => return Err(error),
            None => {}
        }
        Ok(after)
    }

    /// After the last hit: every hit is in a packet, dropped, or cut off by a jump.
    pub(super) fn check_end(&self) -> CheckResult {
        let recorded: usize = self.expected.iter().map(Vec::len).sum();
        let hits = usize::from(self.next_hit - 1);
        if recorded + usize::from(self.lost) + usize::from(self.abandoned) == hits {
            Ok(())
        } else {
            Err("a hit is neither recorded nor counted")
        }
    }
}
