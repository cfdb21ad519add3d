//! Passes a probe in several threads and processes when it is told to, and prints what it passes.
//!
//! It reads lines: `hit N` passes the probe N times in each thread and each child, `fork` makes a child, and
//! `passing N` makes a child that passes it N times and ends. Each is answered by a line `done`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use simple_markers::simple_probe;

/// Passes the probe `count` times. The lines of a process are written at once, so they are whole.
fn pass(next: &mut u64, count: u64) {
    let (process, thread) = (std::process::id(), thread_id());
    let mut lines = String::new();
    for _ in 0..count {
        simple_probe!(rounds:hit, "%u %u %lu", process, thread, *next);
        lines.push_str(&format!("{process} {thread} {next}\n"));
        *next += 1;
    }
    std::io::stdout().write_all(lines.as_bytes()).expect("it is read");
}

fn thread_id() -> u32 {
    // SAFETY: it asks for a number.
    u32::try_from(unsafe { libc::gettid() }).expect("a thread")
}

/// A thread that passes the probe as often as it is told.
struct Worker {
    to_do: Sender<u64>,
    done: Receiver<()>,
}

impl Worker {
    fn start() -> Self {
        let ((to_do, wanted), (tell, done)) = (channel(), channel());
        thread::spawn(move || {
            let mut next = 0;
            for count in wanted {
                pass(&mut next, count);
                tell.send(()).expect("somebody waits");
            }
        });
        Self { to_do, done }
    }
}

/// A child that passes the probe as often as it is told.
struct Child {
    to_do: UnixStream,
    done: BufReader<UnixStream>,
}

impl Child {
    fn start() -> Self {
        let (wanted, to_do) = UnixStream::pair().expect("two ends");
        let (done, mut tell) = UnixStream::pair().expect("two ends");
        // SAFETY: the other threads wait, and hold no lock.
        if unsafe { libc::fork() } == 0 {
            drop((to_do, done));
            let mut next = 0;
            for line in BufReader::new(wanted).lines().map_while(Result::ok) {
                pass(&mut next, line.parse().expect("a number"));
                tell.write_all(b"\n").expect("somebody waits");
            }
            end();
        }
        Self { to_do, done: BufReader::new(done) }
    }
}

fn end() -> ! {
    // SAFETY: it ends this process.
    unsafe { libc::_exit(0) }
}

/// A child that passes the probe and ends.
fn fork_and_pass(count: u64) {
    // SAFETY: the other threads wait, and hold no lock.
    let child = unsafe { libc::fork() };
    if child == 0 {
        pass(&mut 0, count);
        end();
    }
    // SAFETY: it waits for our own child.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}

fn main() {
    let threads = std::env::args().nth(1).map_or(0, |threads| threads.parse().expect("how many threads"));
    let workers: Vec<Worker> = (0..threads).map(|_| Worker::start()).collect();
    let (mut children, mut next): (Vec<Child>, u64) = (Vec::new(), 0);
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let (what, count) = line.split_once(' ').unwrap_or((&line, "0"));
        let count = count.parse().expect("a number");
        match what {
            "hit" => {
                workers.iter().for_each(|worker| worker.to_do.send(count).expect("it waits"));
                children.iter_mut().for_each(|child| writeln!(child.to_do, "{count}").expect("it reads"));
                pass(&mut next, count);
                workers.iter().for_each(|worker| worker.done.recv().expect("it ends"));
                for child in &mut children {
                    child.done.read_line(&mut String::new()).expect("it ends");
                }
            }
            "fork" => children.push(Child::start()),
            "passing" => fork_and_pass(count),
            other => panic!("{other}"),
        }
        println!("done");
    }
}
