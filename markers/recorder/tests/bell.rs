//! Threads tell of their next hit when the reader of their rings asks them to.

mod support;

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{Ordering, fence};
use std::sync::mpsc::channel;

use simple_markers_record::buffer::{Layout, control};
use support::child::run;
use support::probe::Descriptor;
use support::reader::{self, Ring, Value};
use support::tool::{self, Buffers};

descriptor!(ONE: "test:one", "%lu", "a", "8", [false]);

static PROBES: [&Descriptor; 1] = [&ONE];

/// Times that the assembly takes, and those that only the slow path takes.
const WAYS: [Buffers; 2] = [tool::RING, Buffers { flags: control::MONOTONIC, ..tool::RING }];

fn hit(number: u64) {
    ONE.hit(&[number]);
}

fn layouts() -> Vec<Layout> {
    PROBES.map(Descriptor::layout).to_vec()
}

/// Tells of the files of a folder.
struct Watch(OwnedFd);

impl Watch {
    fn new(folder: &Path) -> Self {
        let path = CString::new(folder.as_os_str().as_bytes()).unwrap();
        // SAFETY: the path is valid until the call returns, and nobody else knows the descriptor.
        unsafe {
            let watch = libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC);
            assert!(libc::inotify_add_watch(watch, path.as_ptr(), libc::IN_MOVED_TO | libc::IN_MODIFY) >= 0);
            Self(OwnedFd::from_raw_fd(watch))
        }
    }

    /// How many events there were since the last call. The kernel joins equal ones that follow each other.
    fn take(&self) -> usize {
        let (mut events, mut count) = ([0u8; 4096], 0);
        loop {
            // SAFETY: the kernel writes at most so many bytes.
            let size = unsafe { libc::read(self.0.as_raw_fd(), events.as_mut_ptr().cast(), events.len()) };
            let Ok(size @ 1..) = usize::try_from(size) else { return count };
            let mut at = 0;
            while at < size {
                at += 16 + u32::from_ne_bytes(events[at + 12..at + 16].try_into().unwrap()) as usize;
                count += 1;
            }
        }
    }

    /// Waits for an event.
    fn wait(&self) {
        let mut polled = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: there is one element.
        assert_eq!(unsafe { libc::poll(&raw mut polled, 1, 30_000) }, 1, "nothing tells of a hit");
    }
}

/// The numbers that a ring has and that were not read before.
fn read(ring: &mut Ring<'_>) -> Vec<u64> {
    let mut hits = Vec::new();
    ring.read(&mut hits);
    let number = |hit: &reader::Hit| match hit.values[..] {
        [Value::Scalar(number)] => number,
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
fn each_thread_tells_of_one_hit_and_keeps_its_ring() {
    let inner = |parent: &Path| {
        for buffers in WAYS {
            let folder = folder(parent, &buffers.flags.to_string());
            let watch = Watch::new(&folder);
            tool::arm(&folder, buffers, &PROBES);
            // Both ends go with their threads, so none waits for one that has failed.
            let ((go, told), (tell, done)) = (channel(), channel());
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    for round in told {
                        hit(1000 + round);
                        tell.send(()).unwrap();
                    }
                });
                let go = go;
                for round in 0..20 {
                    go.send(round).unwrap();
                    done.recv().unwrap();
                    hit(round);
                    assert!(watch.take() > 0);
                    hit(round);
                    assert_eq!(watch.take(), 0, "nobody asked again");
                    tool::ask();
                }
            });
            hit(20);
            // The files have the names 0 and 1 the first time.
            let files = reader::files(&folder);
            assert_eq!(files.len(), 2);
            let layouts = layouts();
            let mut all: Vec<_> = files.iter().flat_map(|file| read(&mut Ring::open(file, &layouts))).collect();
            all.sort_unstable();
            let mut expected: Vec<_> = (0..20).flat_map(|round| [round, round, 1000 + round]).chain([20]).collect();
            expected.sort_unstable();
            assert_eq!(all, expected);
            tool::disarm(&PROBES);
        }
        assert_eq!(tool::lost(), 0);
    };
    run("each_thread_tells_of_one_hit_and_keeps_its_ring", inner, |_| ());
}

#[test]
fn a_hit_at_the_time_of_the_question_is_read_or_told_of() {
    const ROUNDS: u64 = 20_000;
    let inner = |folder: &Path| {
        let watch = Watch::new(folder);
        // Without the fast path, which only the time excludes.
        tool::arm(folder, WAYS[1], &PROBES);
        let ((go, told), (tell, done)) = (channel(), channel());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                hit(0);
                tell.send(()).unwrap();
                for round in told {
                    (0..round % 50 * 20).for_each(|_| std::hint::spin_loop());
                    hit(round);
                }
            });
            let go = go;
            done.recv().unwrap();
            let layouts = layouts();
            let mut ring = Ring::open(&reader::files(folder)[0], &layouts);
            assert_eq!(read(&mut ring), [0]);
            for round in 1..ROUNDS {
                watch.take();
                go.send(round).unwrap();
                // The thread needs some microseconds to wake up.
                (0..(ROUNDS - round) % 47 * 80).for_each(|_| std::hint::spin_loop());
                tool::ask();
                fence(Ordering::SeqCst);
                let mut hits = read(&mut ring);
                while hits.is_empty() {
                    // It may be the bell of the hit before, for this question. So the next one needs another.
                    watch.wait();
                    watch.take();
                    tool::ask();
                    fence(Ordering::SeqCst);
                    hits = read(&mut ring);
                }
                assert_eq!(hits, [round]);
            }
        });
    };
    run("a_hit_at_the_time_of_the_question_is_read_or_told_of", inner, |_| ());
}

#[test]
fn a_program_that_can_make_no_file_tells_of_hits() {
    let inner = |folder: &Path| {
        let watch = Watch::new(folder);
        tool::arm(folder, tool::RING, &PROBES);
        hit(0);
        let layouts = layouts();
        let mut ring = Ring::open(&reader::files(folder)[0], &layouts);
        assert_eq!(read(&mut ring), [0]);
        // As after `setuid` or `chroot`, with all descriptors in use, and with memory that is locked.
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: it only reads the limit.
        unsafe {
            assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none), 0);
            // Not everybody may.
            libc::mlockall(libc::MCL_CURRENT);
        }
        for round in 1..5 {
            watch.take();
            tool::ask();
            hit(round);
            assert!(watch.take() > 0, "{round}");
            assert_eq!(read(&mut ring), [round]);
        }
        assert_eq!(tool::lost(), 0);
    };
    run("a_program_that_can_make_no_file_tells_of_hits", inner, |_| ());
}

#[test]
fn a_ring_of_another_tool_is_not_kept() {
    let inner = |parent: &Path| {
        for again in [false, true] {
            let (one, two) = (folder(parent, &format!("one {again}")), folder(parent, &format!("two {again}")));
            tool::arm(&one, tool::RING, &PROBES);
            hit(1);
            tool::ask();
            hit(2);
            if again {
                // The same tool begins anew.
                tool::disarm(&PROBES);
                tool::arm(&two, tool::RING, &PROBES);
            } else {
                tool::arm(&two, tool::RING, &PROBES);
                tool::set_owner(1, 1);
            }
            tool::ask();
            hit(3);
            hit(4);
            let layouts = layouts();
            let of = |folder: &Path| -> Vec<u64> {
                let files = reader::files(folder);
                assert_eq!(files.len(), 1);
                read(&mut Ring::open(&files[0], &layouts))
            };
            assert_eq!((of(&one), of(&two)), (vec![1, 2], vec![3, 4]));
        }
    };
    run("a_ring_of_another_tool_is_not_kept", inner, |_| ());
}

#[test]
fn a_child_of_vfork_tells_of_hits_in_the_ring_of_its_parent() {
    extern "C" fn child(_: *mut libc::c_void) -> i32 {
        hit(2);
        // SAFETY: it ends the child.
        unsafe { libc::_exit(0) }
    }
    let inner = |folder: &Path| {
        let watch = Watch::new(folder);
        tool::arm(folder, tool::RING, &PROBES);
        hit(1);
        tool::ask();
        watch.take();
        let mut stack = vec![0u8; 1 << 18];
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the stack ends there, and this thread waits until the child has left it.
        unsafe {
            let top = stack.as_mut_ptr().add(stack.len() - 64).cast();
            let pid = libc::clone(child, top, flags, std::ptr::null_mut());
            assert_eq!(libc::waitpid(pid, std::ptr::null_mut(), 0), pid);
        }
        assert!(watch.take() > 0);
        hit(3);
        assert_eq!((watch.take(), tool::lost()), (0, 0));
        let layouts = layouts();
        assert_eq!(read(&mut Ring::open(&reader::files(folder)[0], &layouts)), [1, 2, 3]);
    };
    run("a_child_of_vfork_tells_of_hits_in_the_ring_of_its_parent", inner, |_| ());
}
