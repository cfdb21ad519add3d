//! Probes in signal handlers that interrupt probes: every hit is recorded or counted, and none is
//! torn.

mod support;

use std::arch::global_asm;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use simple_markers_record::buffer::{Layout, control};
use support::child::{run, run_without_registration};
use support::probe::{Descriptor, text};
use support::reader::{self, Hit, Value};
use support::tool::{self, Buffers};

descriptor!(MAIN: "test:main", "%lu %lu", "n, twice", "8 8", [false, false]);
descriptor!(FIRST: "test:first", "%lu %s", "n, text", "8 s", [false, true]);
descriptor!(SECOND: "test:second", "%lu %lu %lu", "n, m, o", "8 8 8", [false; 3]);

static PROBES: [&Descriptor; 3] = [&MAIN, &FIRST, &SECOND];

/// How many hits there were of each probe.
static HITS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

fn layouts() -> Vec<Layout> {
    PROBES.map(Descriptor::layout).to_vec()
}

fn hit_main() {
    let number = HITS[0].fetch_add(1, Ordering::Relaxed);
    MAIN.hit(&[number, number * 2]);
}

extern "C" fn on_first(_: i32) {
    let number = HITS[1].fetch_add(1, Ordering::Relaxed);
    let letters = [b'a' + (number % 26) as u8; 40];
    let [at, length] = text(&letters[..(number % 41) as usize]);
    FIRST.hit(&[number, at, length]);
}

extern "C" fn on_second(_: i32) {
    let number = HITS[2].fetch_add(1, Ordering::Relaxed);
    SECOND.hit(&[number, number + 1, number + 2]);
}

/// More hits than a ring has room for.
extern "C" fn on_many(_: i32) {
    for _ in 0..3000 {
        on_second(0);
    }
}

fn handle(signal: i32, handler: extern "C" fn(i32), flags: i32) {
    // SAFETY: the handlers only use atomics and probes.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART | flags;
        assert_eq!(libc::sigaction(signal, &action, std::ptr::null_mut()), 0);
    }
}

/// Sends signals to a thread until it is dropped.
struct Flood {
    is_done: &'static AtomicBool,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Flood {
    /// Each with the time between two signals.
    fn start(signals: &'static [i32], pause: Duration) -> Self {
        let is_done: &AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        // SAFETY: ids of this thread, and signals that are handled.
        let (pid, tid) = unsafe { (libc::getpid(), libc::gettid()) };
        let thread = std::thread::spawn(move || {
            let mut number = 0;
            while !is_done.load(Ordering::Relaxed) {
                // SAFETY: as above.
                unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, signals[number % signals.len()]) };
                number += 1;
                let start = Instant::now();
                // The moment is different each time.
                while start.elapsed() < pause * (number as u32 % 7) / 4 {
                    std::hint::spin_loop();
                }
            }
        });
        Self { is_done, thread: Some(thread) }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// Checks each value, and returns the first arguments for each probe.
fn numbers(hits: &[Hit]) -> BTreeMap<u16, Vec<u64>> {
    let mut numbers: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
    for hit in hits {
        let Value::Scalar(number) = hit.values[0] else { panic!("{hit:?}") };
        let rest = match hit.id {
            1 => vec![Value::Scalar(number * 2)],
            2 => {
                let length = (number % 41) as u32;
                vec![Value::Text(vec![b'a' + (number % 26) as u8; length as usize], Some(length))]
            }
            _ => vec![Value::Scalar(number + 1), Value::Scalar(number + 2)],
        };
        assert_eq!(hit.values[1..], rest);
        numbers.entry(hit.id).or_default().push(number);
    }
    numbers
}

fn all_hits() -> u64 {
    HITS.iter().map(|hits| hits.load(Ordering::Relaxed)).sum()
}

/// Hits the main probe for a while, and at least 50 times each handler.
fn pass(time: Duration, mut hit: impl FnMut()) {
    let start = Instant::now();
    let is_enough = || HITS[1].load(Ordering::Relaxed) >= 50 && HITS[2].load(Ordering::Relaxed) >= 50;
    while start.elapsed() < time || !is_enough() {
        for _ in 0..100 {
            hit();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "signals do not arrive");
    }
}

#[test]
fn every_hit_of_every_handler_is_recorded() {
    let inner = |folder: &Path| {
        handle(libc::SIGUSR1, on_first, 0);
        handle(libc::SIGUSR2, on_second, 0);
        for flags in [0, control::MONOTONIC] {
            HITS.iter().for_each(|hits| hits.store(0, Ordering::Relaxed));
            let folder = folder.join(flags.to_string());
            std::fs::create_dir(&folder).unwrap();
            tool::arm(&folder, Buffers { packet_size: 4096, packets: 0, flags }, &PROBES);
            let flood = Flood::start(&[libc::SIGUSR1, libc::SIGUSR2], Duration::from_micros(10));
            pass(Duration::from_millis(400), hit_main);
            drop(flood);
            tool::disarm(&PROBES);
            let files = reader::growing_folder(&folder, &layouts());
            let hits: Vec<Hit> = files.into_values().flat_map(|file| file.hits).collect();
            let mut numbers = numbers(&hits);
            for (id, hits) in (1..).zip(&HITS) {
                let found = numbers.get_mut(&id).unwrap();
                if id == 1 {
                    assert!(found.is_sorted());
                }
                found.sort_unstable();
                let expected: Vec<u64> = (0..hits.load(Ordering::Relaxed)).collect();
                assert!(*found == expected, "probe {id}: {} of {}", found.len(), expected.len());
            }
            assert_eq!(tool::lost(), 0);
        }
    };
    run("every_hit_of_every_handler_is_recorded", inner, |_| ());
}

#[test]
fn the_recorder_registers_sequences_if_the_c_library_has_none() {
    run_without_registration("every_hit_of_every_handler_is_recorded");
}

#[test]
fn hits_of_handlers_are_received_or_counted() {
    let inner = |folder: &Path| {
        handle(libc::SIGUSR1, on_first, 0);
        // It begins packets anew while a hit is interrupted.
        handle(libc::SIGUSR2, on_many, 0);
        tool::arm(folder, Buffers { packet_size: 4096, packets: 4, flags: 0 }, &PROBES);
        hit_main();
        let layouts = layouts();
        let is_done = AtomicBool::new(false);
        let mut ring = reader::Ring::open(&reader::files(folder)[0], &layouts);
        let mut hits = Vec::new();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut hits = Vec::new();
                while !is_done.load(Ordering::Acquire) {
                    ring.read(&mut hits);
                }
                ring.read(&mut hits);
                hits
            });
            let flood = Flood::start(&[libc::SIGUSR1, libc::SIGUSR2], Duration::from_micros(100));
            pass(Duration::from_millis(400), hit_main);
            drop(flood);
            is_done.store(true, Ordering::Release);
            hits = reader.join().unwrap();
        });
        tool::disarm(&PROBES);
        for (id, numbers) in &mut numbers(&hits) {
            let count = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), count, "probe {id}: a hit twice");
        }
        assert_eq!(hits.len() as u64 + ring.page().lost, all_hits());
        assert_eq!((tool::lost(), ring.missed), (0, 0));
    };
    run("hits_of_handlers_are_received_or_counted", inner, |_| ());
}

#[test]
fn a_flight_recorder_has_the_newest_hits() {
    let inner = |folder: &Path| {
        handle(libc::SIGUSR1, on_first, 0);
        handle(libc::SIGUSR2, on_many, 0);
        tool::arm(folder, Buffers { packet_size: 4096, packets: 4, flags: control::OVERWRITE }, &PROBES);
        let flood = Flood::start(&[libc::SIGUSR1, libc::SIGUSR2], Duration::from_micros(100));
        pass(Duration::from_millis(300), hit_main);
        drop(flood);
        (0..1000).for_each(|_| hit_main());
        let layouts = layouts();
        let mut ring = reader::Ring::open(&reader::files(folder)[0], &layouts);
        let mut hits = Vec::new();
        ring.read(&mut hits);
        assert!(ring.missed > 0);
        assert_eq!(ring.page().lost, 0);
        let last = HITS[0].load(Ordering::Relaxed);
        let numbers = numbers(&hits).remove(&1).unwrap();
        // Four packets, the last one not full.
        assert!(numbers.len() >= 3 * (4096 - 64) / 32, "{}", numbers.len());
        assert!(numbers.iter().copied().eq(last - numbers.len() as u64..last));
    };
    run("a_flight_recorder_has_the_newest_hits", inner, |_| ());
}

#[test]
fn a_hit_needs_little_of_the_stack_of_a_handler() {
    // What the kernel itself needs, and 4 KiB for a hit; the compiler takes more without optimising.
    let size = if cfg!(debug_assertions) { 8 << 10 } else { 4 << 10 };
    let inner = |folder: &Path| {
        handle(libc::SIGUSR1, on_first, libc::SA_ONSTACK);
        handle(libc::SIGUSR2, on_many, libc::SA_ONSTACK);
        // SAFETY: the lowest page of the stack cannot be used, so a hit that needs more crashes.
        unsafe {
            let size = (libc::getauxval(libc::AT_MINSIGSTKSZ) as usize).max(2048) + size;
            let pages = size.next_multiple_of(4096) + 4096;
            let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let map = libc::mmap(std::ptr::null_mut(), pages, access, flags, -1, 0);
            assert_eq!(libc::mprotect(map, 4096, libc::PROT_NONE), 0);
            let stack = libc::stack_t { ss_sp: map.add(4096), ss_flags: 0, ss_size: size };
            assert_eq!(libc::sigaltstack(&stack, std::ptr::null_mut()), 0);
        }
        for (packets, flags) in [(0, 0), (4, 0), (4, control::OVERWRITE), (0, control::MONOTONIC)] {
            tool::arm(folder, Buffers { packet_size: 4096, packets, flags }, &PROBES);
            // SAFETY: the signals are handled.
            unsafe {
                libc::raise(libc::SIGUSR1);
                (0..10).for_each(|_| assert_eq!(libc::raise(libc::SIGUSR2), 0));
            }
        }
    };
    run("a_hit_needs_little_of_the_stack_of_a_handler", inner, |_| ());
}

// extern "C" fn test_protect(extern "C" fn()) -> u32: 0, or 1 after `test_jump`, which is a
// siglongjmp.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".pushsection .bss.test,\"aw\",@nobits",
    ".balign 8",
    "test_stack: .zero 8",
    ".popsection",
    ".text",
    ".globl test_protect, test_jump",
    ".hidden test_protect, test_jump",
    "test_protect:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "mov qword ptr [rip + test_stack], rsp",
    "call rdi",
    "xor eax, eax",
    "2:",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
    "test_jump:",
    "mov rsp, qword ptr [rip + test_stack]",
    "mov eax, 1",
    "jmp 2b",
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".pushsection .bss.test,\"aw\",@nobits",
    ".balign 8",
    "test_stack: .zero 8",
    ".popsection",
    ".macro test_kept operation",
    "\\operation x19, x20, [sp, #16]",
    "\\operation x21, x22, [sp, #32]",
    "\\operation x23, x24, [sp, #48]",
    "\\operation x25, x26, [sp, #64]",
    "\\operation x27, x28, [sp, #80]",
    "\\operation d8, d9, [sp, #96]",
    "\\operation d10, d11, [sp, #112]",
    "\\operation d12, d13, [sp, #128]",
    "\\operation d14, d15, [sp, #144]",
    ".endm",
    ".text",
    ".globl test_protect, test_jump",
    ".hidden test_protect, test_jump",
    ".balign 4",
    "test_protect:",
    "stp x29, x30, [sp, #-160]!",
    "test_kept stp",
    "adrp x1, test_stack",
    "mov x2, sp",
    "str x2, [x1, :lo12:test_stack]",
    "blr x0",
    "mov w0, #0",
    "2:",
    "test_kept ldp",
    "ldp x29, x30, [sp], #160",
    "ret",
    "test_jump:",
    "adrp x1, test_stack",
    "ldr x2, [x1, :lo12:test_stack]",
    "mov sp, x2",
    "mov w0, #1",
    "b 2b",
    ".purgem test_kept",
);

unsafe extern "C" {
    fn test_protect(run: extern "C" fn()) -> u32;
    fn test_jump() -> !;
}

static MAY_JUMP: AtomicBool = AtomicBool::new(false);
static NEXT: AtomicU64 = AtomicU64::new(0);

/// How many handlers run. Only the outermost one jumps: the others would skip what it has counted and
/// not yet hit.
static HANDLERS: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_jump(_: i32) {
    let is_outermost = HANDLERS.fetch_add(1, Ordering::Relaxed) == 0;
    on_first(0);
    let jumps = is_outermost && MAY_JUMP.swap(false, Ordering::Relaxed);
    HANDLERS.fetch_sub(1, Ordering::Relaxed);
    if jumps {
        // SAFETY: `test_protect` runs in this thread, and the frames between have nothing to drop.
        unsafe { test_jump() };
    }
}

extern "C" fn hit_and_count() {
    MAY_JUMP.store(true, Ordering::Relaxed);
    for _ in 0..1000 {
        let number = NEXT.load(Ordering::Relaxed);
        MAIN.hit(&[number, number * 2]);
        NEXT.store(number + 1, Ordering::Relaxed);
    }
    MAY_JUMP.store(false, Ordering::Relaxed);
}

#[test]
fn a_handler_may_jump_out_of_a_hit() {
    let inner = |folder: &Path| {
        handle(libc::SIGUSR1, on_jump, libc::SA_NODEFER);
        tool::arm(folder, Buffers { packet_size: 4096, packets: 0, flags: 0 }, &PROBES);
        let flood = Flood::start(&[libc::SIGUSR1], Duration::from_micros(20));
        let (start, mut jumps) = (Instant::now(), 0);
        while start.elapsed() < Duration::from_millis(500) || jumps < 100 {
            // SAFETY: it has no arguments.
            jumps += unsafe { test_protect(hit_and_count) };
            assert!(start.elapsed() < Duration::from_secs(60), "signals do not arrive");
        }
        drop(flood);
        tool::disarm(&PROBES);
        let files = reader::growing_folder(folder, &layouts());
        let hits: Vec<Hit> = files.into_values().flat_map(|file| file.hits).collect();
        let numbers = numbers(&hits);
        // A jump after the hit, before it was counted, makes it twice.
        let mut main = numbers[&1].clone();
        assert!(main.is_sorted());
        assert!(main.len() as u64 <= NEXT.load(Ordering::Relaxed) + u64::from(jumps));
        main.dedup();
        assert!(main.iter().copied().take(NEXT.load(Ordering::Relaxed) as usize).eq(0..NEXT.load(Ordering::Relaxed)));
        let mut first = numbers[&2].clone();
        first.sort_unstable();
        assert!(first.iter().copied().eq(0..HITS[1].load(Ordering::Relaxed)));
    };
    run("a_handler_may_jump_out_of_a_hit", inner, |_| ());
}
