//! What a reader on another processor may see where stores are not seen in the order in which they
//! are made. Of AArch64 the model has: a release is seen after all stores before it, a barrier
//! stands between the stores before and after it, and the stores of one word are seen in their
//! order. The reader loads in its order.

use core::cell::RefCell;
use std::collections::HashSet;
use std::vec::Vec;

use simple_markers_record::buffer::packet::{CLOSED, CONTENT_SIZE, HEADER, SEQUENCE};

use crate::packet::{self, Begin, Memory, bits};

/// Where the two records of a packet are, of a word each.
const RECORDS: [usize; 2] = [HEADER, HEADER + 8];

/// The numbers of the packets that are in the place, one after the other.
const OLD: u64 = 3;
const NEW: u64 = 7;

#[derive(Clone, Copy)]
struct WordStore {
    offset: usize,
    word: u64,
    is_release: bool,
    /// How many barriers there were before.
    barriers: u32,
}

/// The stores of a writer.
#[derive(Default)]
struct Journal {
    stores: RefCell<Vec<WordStore>>,
    barriers: RefCell<u32>,
}

impl Journal {
    fn add(&self, offset: usize, word: u64, is_release: bool) {
        let barriers = *self.barriers.borrow();
        self.stores.borrow_mut().push(WordStore { offset, word, is_release, barriers });
    }
}

impl Memory for Journal {
    fn load(&self, _: usize) -> u64 {
        0
    }

    fn store(&self, offset: usize, word: u64) {
        self.add(offset, word, true);
    }

    fn barrier(&self) {
        *self.barriers.borrow_mut() += 1;
    }
}

/// A packet with two records, which are the packet's number.
fn write(journal: &Journal, sequence: u64) {
    let size = RECORDS.len() as u64 * 8 + HEADER as u64;
    packet::begin(journal, &Begin { time: 0, size, discarded: 0, sequence, pid: 1, tid: 1 });
    for record in RECORDS {
        journal.add(record, sequence, false);
        packet::publish(journal, record as u64 + 8);
    }
    packet::close(journal, 0);
}

/// The stores of the new packet, behind those of the old one, which are seen.
fn stores() -> (usize, Vec<WordStore>) {
    let journal = Journal::default();
    write(&journal, OLD);
    let seen = journal.stores.borrow().len();
    write(&journal, NEW);
    (seen, journal.stores.into_inner())
}

/// All that loads of these words may give.
fn outcomes((first, stores): &(usize, Vec<WordStore>), loads: &[usize]) -> HashSet<Vec<u64>> {
    let mut open = std::vec![((1u64 << first) - 1, Vec::new())];
    let (mut known, mut outcomes) = (HashSet::from([open[0].clone()]), HashSet::new());
    while let Some((seen, loaded)) = open.pop() {
        let is_seen = |store: usize| seen >> store & 1 == 1;
        let Some(&offset) = loads.get(loaded.len()) else {
            outcomes.insert(loaded);
            continue;
        };
        let mut next = Vec::new();
        let newest = (0..stores.len()).rev().find(|&store| is_seen(store) && stores[store].offset == offset);
        let mut more = loaded.clone();
        more.push(newest.map_or(0, |store| stores[store].word));
        next.push((seen, more));
        for (number, store) in stores.iter().enumerate().filter(|(number, _)| !is_seen(*number)) {
            let waits = |(before, other): (usize, &WordStore)| {
                let is_ordered = store.is_release || other.offset == store.offset || other.barriers < store.barriers;
                !is_seen(before) && is_ordered
            };
            if !stores[..number].iter().enumerate().any(waits) {
                next.push((seen | 1 << number, loaded.clone()));
            }
        }
        open.extend(next.into_iter().filter(|state| known.insert(state.clone())));
    }
    outcomes
}

/// The loads of a reader as `buffer::packet` says: number, closed, size, records, number.
const READER: [usize; 6] = [SEQUENCE, CLOSED, CONTENT_SIZE, RECORDS[0], RECORDS[1], SEQUENCE];

/// Whether all packets that the reader believes are right.
fn is_right(outcomes: &HashSet<Vec<u64>>) -> bool {
    let is_one = |loaded: &Vec<u64>| {
        let [first, closed, content, one, two, last] = loaded[..] else { return false };
        let count = (content - bits(HEADER as u64)) / bits(8);
        let is_packet = first == last && [OLD, NEW].contains(&first);
        let are_whole = [one, two].iter().take(count as usize).all(|record| *record == first);
        !is_packet || are_whole && (closed == 0 || count == 2) && (first != OLD || closed == 1)
    };
    assert!(outcomes.iter().any(|loaded| loaded[0] == OLD) && outcomes.iter().any(|loaded| loaded[0] == NEW));
    outcomes.iter().all(is_one)
}

#[test]
fn a_reader_believes_only_whole_packets() {
    assert!(is_right(&outcomes(&stores(), &READER)));
}

#[test]
fn without_the_barrier_or_the_releases_a_reader_is_deceived() {
    let changed = |change: fn(&mut WordStore)| {
        let (seen, mut stores) = stores();
        stores.iter_mut().for_each(change);
        is_right(&outcomes(&(seen, stores), &READER))
    };
    assert!(changed(|_| ()));
    assert!(!changed(|store| store.barriers = 0));
    assert!(!changed(|store| store.is_release &= store.offset != CONTENT_SIZE));
    assert!(!changed(|store| store.is_release &= store.offset != CLOSED));
}

#[test]
fn whether_a_packet_is_closed_is_read_after_its_number() {
    let both = |loads: [usize; 3]| outcomes(&stores(), &loads);
    let full = bits(HEADER as u64 + 16);
    let is_closed_too_early = |loaded: &Vec<u64>, number: usize, closed: usize| {
        loaded[number] == NEW && loaded[closed] == 1 && loaded[2] != full
    };
    assert!(!both([SEQUENCE, CLOSED, CONTENT_SIZE]).iter().any(|loaded| is_closed_too_early(loaded, 0, 1)));
    assert!(both([CLOSED, SEQUENCE, CONTENT_SIZE]).iter().any(|loaded| is_closed_too_early(loaded, 1, 0)));
}
