//! Rings that are full, buffers that are replaced or cannot be made, and threads that end.

#[macro_use]
extern crate harness;

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Barrier;

use simple_markers_record::buffer::{CLOCK_COUNTER, CLOCK_MONOTONIC, Layout, control};
use support::child::run;
use support::probe::Descriptor;
use support::reader::{self, Hit, Ring, Value};
use support::tool::{self, Buffers};

descriptor!(TWO: "test:two", "%lu %lu", "a, b", "8 8", [false, false]);

static PROBES: [&Descriptor; 1] = [&TWO];

/// How many hits fit into a packet of 4096 bytes.
const IN_PACKET: u64 = (4096 - 64) / 32;

const GROWING: Buffers = Buffers { packet_size: 4096, packets: 0, flags: 0 };

fn layouts() -> Vec<Layout> {
    PROBES.map(Descriptor::layout).to_vec()
}

fn hit(numbers: std::ops::Range<u64>) {
    for number in numbers {
        TWO.hit(&[number, number ^ 5]);
    }
}

fn numbers(hits: &[Hit]) -> Vec<u64> {
    let number = |hit: &Hit| match hit.values[..] {
        [Value::Scalar(number), Value::Scalar(other)] if other == number ^ 5 => number,
        _ => panic!("{hit:?}"),
    };
    hits.iter().map(number).collect()
}

fn folder(parent: &Path, name: &str) -> std::path::PathBuf {
    let folder = parent.join(name);
    std::fs::create_dir(&folder).unwrap();
    folder
}

#[test]
fn a_full_ring_drops_and_counts() {
    let inner = |parent: &Path| {
        for (flags, clock) in [(0, CLOCK_COUNTER), (control::MONOTONIC, CLOCK_MONOTONIC)] {
            let folder = folder(parent, &flags.to_string());
            tool::arm(&folder, Buffers { flags, ..tool::RING }, &PROBES);
            hit(0..IN_PACKET * 4 + 10);
            let files = reader::files(&folder);
            let layouts = layouts();
            let mut ring = Ring::open(&files[0], &layouts);
            let page = ring.page();
            assert_eq!((page.packet_size, page.packets, page.pid), (4096, 4, std::process::id()));
            assert_eq!((page.clock, page.lost), (clock, 10));
            let mut hits = Vec::new();
            ring.read(&mut hits);
            assert!(numbers(&hits).into_iter().eq(0..IN_PACKET * 4));
            // There is room for four packets again.
            hits.clear();
            hit(1000..1001);
            ring.read(&mut hits);
            assert_eq!(numbers(&hits), [1000]);
            hit(1001..1005);
            ring.read(&mut hits);
            assert_eq!(numbers(&hits), [1000, 1001, 1002, 1003, 1004]);
            assert_eq!(ring.page().lost, 10);
            hit(2000..2000 + IN_PACKET * 4);
            assert_eq!(ring.page().lost, 10 + 5);
        }
        assert_eq!(tool::lost(), 0);
    };
    run("a_full_ring_drops_and_counts", inner, |_| ());
}

#[test]
fn a_ring_takes_the_memory_of_the_packets_that_were_begun() {
    let inner = |folder: &Path| {
        tool::arm(folder, tool::RING, &PROBES);
        for packets in 1..=4 {
            hit(0..IN_PACKET);
            let status = reader::files(folder)[0].metadata().unwrap();
            assert_eq!((status.len(), status.blocks() * 512), (6 * 4096, (packets + 1) * 4096));
        }
    };
    run("a_ring_takes_the_memory_of_the_packets_that_were_begun", inner, |_| ());
}

#[test]
fn arming_anew_makes_new_buffers() {
    let inner = |parent: &Path| {
        for number in 0..20 {
            let folder = folder(parent, &number.to_string());
            let packets = if number % 2 == 0 { 4 } else { 0 };
            tool::arm(&folder, Buffers { packets, ..GROWING }, &PROBES);
            hit(0..number + 1);
            tool::disarm(&PROBES);
            hit(0..1);
            let files = reader::files(&folder);
            assert_eq!(files.len(), 1);
            assert_eq!(files[0].file_name().unwrap().to_str().unwrap(), format!("{}-{number}", std::process::id()));
            let layouts = layouts();
            let mut hits = Vec::new();
            if packets == 0 {
                hits = reader::growing(&files[0], &layouts).hits;
            } else {
                Ring::open(&files[0], &layouts).read(&mut hits);
            }
            assert!(numbers(&hits).into_iter().eq(0..number + 1));
        }
    };
    run("arming_anew_makes_new_buffers", inner, |_| ());
}

#[test]
fn a_growing_file_goes_on_in_the_next_one() {
    // The first file has 64 MiB, the second 128.
    const COUNT: u64 = 2_300_000;
    let inner = |folder: &Path| {
        for packet_size in [4096, 1 << 20] {
            let folder = self::folder(folder, &packet_size.to_string());
            tool::arm(&folder, Buffers { packet_size, ..GROWING }, &PROBES);
            hit(0..COUNT);
            tool::disarm(&PROBES);
            let files = reader::growing_folder(&folder, &layouts());
            assert_eq!(files.len(), 2);
            let hits: Vec<_> = files.values().flat_map(|file| numbers(&file.hits)).collect();
            assert!(hits.into_iter().eq(0..COUNT));
            std::fs::remove_dir_all(folder).unwrap();
        }
    };
    run("a_growing_file_goes_on_in_the_next_one", inner, |_| ());
}

#[test]
fn a_buffer_that_cannot_be_made_loses_hits_and_nothing_else() {
    let inner = |parent: &Path| {
        let mut lost = 0;
        let mut expect = |folder: &Path, buffers: Buffers, error: i32| {
            // SAFETY: it is the address of the variable of this thread.
            unsafe { *libc::__errno_location() = 77 };
            tool::arm(folder, buffers, &PROBES);
            hit(0..1000);
            lost += 1000;
            assert_eq!((tool::error(), tool::lost()), (error as u32, lost), "{folder:?}");
            // SAFETY: as above.
            assert_eq!(unsafe { *libc::__errno_location() }, 77);
        };
        let empty = folder(parent, "empty");
        expect(&parent.join("missing"), GROWING, libc::ENOENT);
        expect(Path::new("relative"), GROWING, libc::ENOENT);
        expect(&parent.join("x".repeat(430)), GROWING, libc::ENAMETOOLONG);
        for (packet_size, packets) in [(0, 0), (4095, 4), (1 << 27, 0), (4096, 1), (1 << 26, 65), (1 << 12, u32::MAX)] {
            expect(&empty, Buffers { packet_size, packets, flags: 0 }, libc::EINVAL);
        }
        // A file may have 1 MiB: a growing file is smaller, a ring does not fit.
        let limit = libc::rlimit { rlim_cur: (1 << 20) + 5, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: the limit can be lowered.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        expect(&empty, Buffers { packet_size: 1 << 19, packets: 2, flags: 0 }, libc::EFBIG);
        expect(&empty, Buffers { packet_size: 1 << 21, packets: 0, flags: 0 }, libc::EFBIG);
        assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
        tool::arm(&empty, GROWING, &PROBES);
        hit(0..100_000);
        let files = reader::growing_folder(&empty, &layouts());
        assert_eq!(files.len(), 4);
        let mut hits: Vec<_> = files.values().flat_map(|file| numbers(&file.hits)).collect();
        hits.sort_unstable();
        assert!(hits.into_iter().eq(0..100_000));
        let limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, ..limit };
        // SAFETY: as above.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        // The folder goes away while a file grows.
        let gone = folder(parent, "gone");
        tool::arm(&gone, GROWING, &PROBES);
        hit(0..10);
        let moved = parent.join("moved");
        std::fs::rename(&gone, &moved).unwrap();
        hit(10..100_000);
        assert_eq!(tool::error(), libc::ENOENT as u32);
        let file = reader::growing_folder(&moved, &layouts()).into_values().next().unwrap();
        let count = file.hits.len() as u64;
        assert!(numbers(&file.hits).into_iter().eq(0..count));
        assert_eq!(count + file.lost, 100_000);
        assert!(count > 1000);
    };
    run("a_buffer_that_cannot_be_made_loses_hits_and_nothing_else", inner, |_| ());
}

#[test]
fn a_full_disk_loses_hits_and_nothing_else() {
    let inner = |folder: &Path| {
        // SAFETY: a file system for this process, which needs root.
        unsafe {
            if libc::unshare(libc::CLONE_NEWNS) != 0 {
                return tools::skipped("a file system of its own needs root");
            }
            let private = libc::MS_REC | libc::MS_PRIVATE;
            let none = std::ptr::null();
            assert_eq!(libc::mount(none, c"/".as_ptr(), none, private, none.cast()), 0);
            let path = std::ffi::CString::new(folder.to_str().unwrap()).unwrap();
            let options = c"size=1m".as_ptr().cast();
            assert_eq!(libc::mount(c"tmpfs".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), 0, options), 0);
        }
        tool::arm(folder, GROWING, &PROBES);
        hit(0..100_000);
        assert_eq!(tool::error(), libc::ENOSPC as u32);
        let file = reader::growing_folder(folder, &layouts()).into_values().next().unwrap();
        let count = file.hits.len() as u64;
        assert!(numbers(&file.hits).into_iter().eq(0..count));
        assert_eq!(count + file.lost, 100_000);
        tool::arm(folder, Buffers { packet_size: 1 << 16, packets: 64, flags: 0 }, &PROBES);
        hit(0..10);
        assert_eq!(tool::lost(), 10);
        assert_eq!(reader::files(folder).len(), 1);
        // A ring with more packets than there is room for.
        std::fs::remove_file(&reader::files(folder)[0]).unwrap();
        for flags in [0, control::OVERWRITE] {
            let packets = Buffers { packet_size: 1 << 16, packets: 64, flags };
            tool::arm(folder, packets, &PROBES);
            hit(0..100_000);
            let path = reader::files(folder).remove(0);
            let layouts = layouts();
            let mut ring = Ring::open(&path, &layouts);
            let (mut hits, lost) = (Vec::new(), ring.page().lost);
            ring.read(&mut hits);
            let numbers = numbers(&hits);
            if flags == 0 {
                assert_eq!(numbers.len() as u64 + lost, 100_000);
                assert!(numbers.into_iter().eq(0..100_000 - lost));
                assert_eq!(tool::error(), libc::ENOSPC as u32);
            } else {
                assert_eq!((lost, numbers.last()), (0, Some(&99_999)));
                assert!(numbers.is_sorted() && numbers.len() > 20_000, "{}", numbers.len());
            }
            // The next generation gives the memory back.
            tool::arm(folder, GROWING, &PROBES);
            std::fs::remove_file(path).unwrap();
            hit(0..1);
            reader::files(folder).iter().for_each(|path| std::fs::remove_file(path).unwrap());
        }
    };
    run("a_full_disk_loses_hits_and_nothing_else", inner, |_| ());
}

#[test]
fn short_threads_share_files() {
    const THREADS: u64 = 2000;
    const AT_ONCE: u64 = 4;
    const EACH: u64 = 10;
    let inner = |folder: &Path| {
        tool::arm(folder, GROWING, &PROBES);
        let mut expected: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for batch in 0..THREADS / AT_ONCE {
            let threads: Vec<_> = (0..AT_ONCE)
                .map(|thread| {
                    std::thread::spawn(move || {
                        let first = (batch * AT_ONCE + thread) * EACH;
                        hit(first..first + EACH);
                        // SAFETY: it has no arguments.
                        (unsafe { libc::gettid() as u32 }, first)
                    })
                })
                .collect();
            for thread in threads {
                let (tid, first) = thread.join().unwrap();
                // An id may come again.
                expected.entry(tid).or_default().extend(first..first + EACH);
            }
        }
        let files = reader::growing_folder(folder, &layouts());
        // With several threads at once a slot is found in one of two.
        assert!(files.len() <= 40, "{}", files.len());
        let mut found: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for hit in files.values().flat_map(|file| &file.hits) {
            found.entry(hit.tid).or_default().extend(numbers(std::slice::from_ref(hit)));
        }
        for numbers in found.values_mut().chain(expected.values_mut()) {
            numbers.sort_unstable();
        }
        assert!(found == expected);
        assert_eq!(tool::lost(), 0);
    };
    run("short_threads_share_files", inner, |_| ());
}

#[test]
fn threads_that_record_at_once_have_files_of_their_own() {
    const THREADS: u64 = 8;
    const EACH: u64 = 20_000;
    let inner = |folder: &Path| {
        tool::arm(folder, GROWING, &PROBES);
        let barrier = Barrier::new(THREADS as usize);
        let record = &|thread: u64| {
            hit(thread * EACH..thread * EACH + 1);
            // All live now.
            barrier.wait();
            hit(thread * EACH + 1..(thread + 1) * EACH);
        };
        std::thread::scope(|scope| (0..THREADS).for_each(|thread| drop(scope.spawn(move || record(thread)))));
        let files = reader::growing_folder(folder, &layouts());
        assert_eq!(files.len() as u64, THREADS);
        let mut first = BTreeSet::new();
        for file in files.values() {
            let numbers = numbers(&file.hits);
            assert!(numbers.iter().copied().eq(numbers[0]..numbers[0] + EACH));
            assert!(file.hits.is_sorted_by_key(|hit| hit.time));
            first.insert(numbers[0]);
        }
        assert!(first.into_iter().eq((0..THREADS).map(|thread| thread * EACH)));
    };
    run("threads_that_record_at_once_have_files_of_their_own", inner, |_| ());
}

fn main() -> std::process::ExitCode {
    harness::main()
}
