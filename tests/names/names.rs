//! Passes markers whose formats name values, and prints what each of them should say.
#![forbid(unsafe_code)]

use std::hint::black_box;

use simple_markers::simple_mark;

#[derive(Debug)]
enum State {
    Idle,
    Busy = 3,
    Failed = -1,
}

#[derive(Clone, Copy, Debug)]
#[repr(u64)]
enum Wide {
    Small = 1,
    Large = 1 << 40,
}

struct Flags(u32);

impl Flags {
    const READ: Self = Self(1);
    const WRITE: Self = Self(2);

    const fn bits(&self) -> u32 {
        self.0
    }
}

struct Job {
    state: State,
    wide: Wide,
    flags: u32,
}

/// Constants that differ between the copies of a function.
trait Kind {
    const ID: u16;
    const NAME: &'static str;
}

struct One;
struct Two;

impl Kind for One {
    const ID: u16 = 10;
    const NAME: &'static str = "THIS";
}

impl Kind for Two {
    const ID: u16 = 20;
    const NAME: &'static str = "NEXT";
}

#[inline(never)]
fn pass(job: &Job) {
    const LOCAL: u64 = 1 << 40;
    simple_mark!(names:places, "%d{} %lu{} %x{Flags::READ.bits()|Flags::WRITE.bits()}", job.state, job.wide, job.flags, options(anchor));
    let rest = job.flags & !3;
    let mut names = Vec::new();
    names.extend((job.flags & 1 != 0).then(|| "READ".to_owned()));
    names.extend((job.flags & 2 != 0).then(|| "WRITE".to_owned()));
    names.extend((rest != 0 || names.is_empty()).then(|| format!("{rest:#x}")));
    println!("names:places: {:?} {:?} {}", job.state, job.wide, names.join("|"));
    simple_mark!(names:kept, "%d{} %-6lu{LOCAL=LOCAL,ONE=1}.", keep job.state, keep wide = job.wide as u64);
    println!("names:kept: {:?} {:<6}.", job.state, if job.wide as u64 == LOCAL { "LOCAL" } else { "ONE" });
}

#[inline(never)]
fn generic<T: Kind>(id: u16) {
    simple_mark!(names:generic, "%hu{THIS=T::ID,NEXT=T::ID - 10}", keep id);
    println!("names:generic: {}", T::NAME);
}

fn main() {
    for job in [
        Job { state: State::Idle, wide: Wide::Small, flags: 1 },
        Job { state: State::Busy, wide: Wide::Large, flags: 3 },
        Job { state: State::Failed, wide: Wide::Large, flags: 0x42 },
    ] {
        pass(black_box(&job));
    }
    generic::<One>(black_box(10));
    generic::<Two>(black_box(10));
}
