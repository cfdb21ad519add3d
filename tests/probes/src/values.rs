//! Passes probes with values of every kind, and prints what each of them should say. What it prints
//! is written without the macro and its conversions.
//!
//! `probe-values [HOW]`: `threads` passes them on three threads that end, `fork` also in a child,
//! `panic`, `abort` and `kill` end the program like that, behind the last probe. `handle` handles some of
//! them itself, and passes them again for each number that it reads. `unsupported` prints why they cannot be
//! armed on this target.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::CString;
use std::io::Write as _;
use std::num::{NonZero, Wrapping};
use std::sync::Arc;
use std::sync::atomic::{AtomicI16, AtomicU64, Ordering};
use std::thread;

use simple_markers::simple_probe;

/// Prints a line at once, with the name of the probe.
macro_rules! says {
    ($name:literal, $($text:tt)*) => {{
        let line = format!("{}: {}\n", $name, format_args!($($text)*));
        // One call for each line: threads print too.
        std::io::stdout().write_all(line.as_bytes()).expect("standard output");
    }};
}

struct Request<'a> {
    tag: u64,
    path: &'a str,
    parent: Option<&'a u32>,
}

fn numbers(step: i64) {
    let (a, b, c, d, e) = (step as i8, step as i16, step as i32, step, step as isize);
    simple_probe!(values:signed, "%hhd %hd %d %ld %zd", a, b, c, d, e);
    says!("values:signed", "{a} {b} {c} {d} {e}");
    let (a, b, c, d, e) = (step as u8, step as u16, step as u32, step as u64, step as usize);
    simple_probe!(values:unsigned, "%hhu %hx %u %#lx %zu", a, b, c, d, e);
    says!("values:unsigned", "{a} {b:x} {c} {} {e}", if d == 0 { "0".to_owned() } else { format!("{d:#x}") });
    let (x, y) = (step as f32 / 8.0, step as f64 / 1024.0);
    simple_probe!(values:floats, "%.3f %.5f %.1f", x, y, y * 2.0);
    says!("values:floats", "{x:.3} {y:.5} {:.1}", y * 2.0);
    simple_probe!(values:others, "%d %c %c", step % 2 == 0, 'é', b'x');
    says!("values:others", "{} é x", i32::from(step % 2 == 0));
    let (count, small) = (AtomicU64::new(step as u64), AtomicI16::new(-7));
    let (cell, wrapped) = (Cell::new(step as u32), Wrapping(step));
    let positive = NonZero::new(step.unsigned_abs() | 1).expect("one bit is set");
    simple_probe!(values:wrapped, "%lu %hd %u %ld %lu", count, small, cell, wrapped, positive);
    says!(
        "values:wrapped",
        "{} {} {} {} {positive}",
        count.load(Ordering::Relaxed),
        small.load(Ordering::Relaxed),
        cell.get(),
        wrapped.0
    );
    simple_probe!(values:width, "[%*d] [%-6ld] [%.*f]", 6, step as i32, step, 2, y);
    says!("values:width", "[{:6}] [{step:<6}] [{y:.2}]", step as i32);
    simple_probe!(values:none, "nothing");
    says!("values:none", "nothing");
}

fn texts(text: &str) {
    let owned = text.to_owned();
    let (boxed, shared): (Box<str>, Arc<str>) = (text.into(), text.into());
    simple_probe!(values:texts, "<%s> <%s> <%s> <%s>", text, owned, boxed, shared);
    says!("values:texts", "<{text}> <{text}> <{text}> <{text}>");
    let c = CString::new(text).expect("no NUL");
    let cow: Cow<'_, str> = Cow::Borrowed(text);
    simple_probe!(values:other_texts, "<%s> <%s> <%s>", c.as_ptr(), cow, text.as_bytes());
    says!("values:other_texts", "<{text}> <{text}> <{text}>");
}

fn references(requests: &[Request<'_>]) {
    for (index, Request { tag, path, parent }) in requests.iter().enumerate() {
        simple_probe!(values:references, "%zu: %lu %s %p", index, tag, path, *parent);
        let address = parent.map_or("(nil)".to_owned(), |parent| format!("{:p}", &raw const *parent));
        says!("values:references", "{index}: {tag} {path} {address}");
    }
}

bitflags::bitflags! {
    #[derive(Clone, Copy)]
    struct Mode: u32 {
        const READ = 1;
        const WRITE = 2;
        const CREATE = 0x40;
    }
}

/// It is not `Copy`.
#[derive(Debug)]
enum State {
    Failed = -1,
    Idle,
    Busy = 300,
}

fn names(state: &State, mode: Mode, whence: i32) {
    const LAST: i32 = libc::SEEK_END;
    simple_probe!(values:enumeration, "%d{} %-6d{SET=libc::SEEK_SET,END=LAST}.", *state, whence);
    let name = match whence {
        libc::SEEK_SET => "SET".to_owned(),
        libc::SEEK_END => "END".to_owned(),
        other => other.to_string(),
    };
    says!("values:enumeration", "{state:?} {name:<6}.");
    let bits = mode.bits();
    simple_probe!(values:flags, "%x{NONE=0|Mode::READ.bits()|Mode::WRITE.bits()}", bits);
    let known = Mode::READ | Mode::WRITE;
    let rest = bits & !known.bits();
    let mut names: Vec<String> = mode.intersection(known).iter_names().map(|(name, _)| name.to_owned()).collect();
    names.extend((rest != 0).then(|| format!("{rest:#x}")));
    says!("values:flags", "{}", if names.is_empty() { "NONE".to_owned() } else { names.join("|") });
}

/// The value of an argument that changes something: it is evaluated only if the probe is on.
fn evaluated(times: &mut u32) {
    simple_probe!(values:evaluated, "%u", {
        *times += 1;
        *times
    });
}

/// The recorder keeps 256 bytes of a text.
#[inline(never)]
fn cut(text: &str, length: usize) {
    let c = CString::new(text).expect("no NUL");
    simple_probe!(values:cut, "<%s> <%s>", text, c.as_ptr());
    says!("values:cut", "<{}..> <{}..>", &text[..length], &text[..length]);
}

fn pass_all() {
    cut(&"0123456789".repeat(30), 256);
    for step in [0, 1, -1, 127, -128, 32_768, -2_147_483_648, i64::MAX, i64::MIN] {
        numbers(step);
    }
    for text in ["", "a", "1234567", "12345678", "123456789", "zwölf Boxkämpfer", "say \"quotes\" \\ %s"] {
        texts(text);
    }
    names(&State::Failed, Mode::empty(), libc::SEEK_SET);
    names(&State::Idle, Mode::READ | Mode::WRITE, libc::SEEK_CUR);
    names(&State::Busy, Mode::WRITE | Mode::CREATE, libc::SEEK_END);
    let parents = [5, 6];
    references(&[
        Request { tag: 1, path: "/etc", parent: parents.first() },
        Request { tag: u64::MAX, path: "", parent: None },
    ]);
}

/// Prints why nothing is armed on a target without a recorder.
fn arm_none() {
    assert!(simple_markers::probes().next().is_none());
    let handled = simple_markers::handle::<simple_markers::Values<'_>>("*", &|_, _| ());
    let armed = simple_markers::arm("*", "recording").expect_err("there is no recorder").to_string();
    assert_eq!(handled.expect_err("there is no recorder").to_string(), armed);
    println!("{armed}");
}

/// Prints what handlers get.
fn handle_some() {
    let handled = simple_markers::handle::<(i32, i32, i32, i64, isize)>("values:signed", &|_, (a, b, c, d, e)| {
        says!("handled", "values:signed: {a} {b} {c} {d} {e}");
    });
    assert_eq!(handled, Ok(1));
    let handled = simple_markers::handle::<simple_markers::Values<'_>>("values:texts", &|hit, values| {
        let texts = values.map(|value| match value {
            simple_markers::Value::Text(text) => format!("<{}>", String::from_utf8_lossy(text)),
            value => format!("{value:?}"),
        });
        says!("handled", "{}: {}", hit.probe().name(), texts.collect::<Vec<_>>().join(" "));
    });
    assert_eq!(handled, Ok(1));
}

fn main() {
    let how = std::env::args().nth(1).unwrap_or_default();
    if how == "handle" {
        handle_some();
    } else if how == "unsupported" {
        return arm_none();
    }
    let mut times = 0;
    evaluated(&mut times);
    evaluated(&mut times);
    says!("evaluated", "{times}");
    pass_all();
    match how.as_str() {
        "threads" => {
            let threads = [0, 1, 2].map(|_| thread::spawn(pass_all));
            threads.into_iter().for_each(|thread| thread.join().expect("a thread that ends"));
        }
        "fork" => {
            // SAFETY: the program has one thread.
            let child = unsafe { libc::fork() };
            pass_all();
            if child > 0 {
                // SAFETY: it waits for our own child.
                unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
            }
        }
        "panic" => panic!("as asked"),
        "abort" => std::process::abort(),
        "kill" => {
            // SAFETY: it ends this process.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        "handle" => {
            for line in std::io::stdin().lines().map_while(Result::ok) {
                numbers(line.parse().expect("a number"));
            }
        }
        _ => {}
    }
}
