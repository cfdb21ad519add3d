//! Functions of the program that get the values of hits.

mod support;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use simple_markers_record::buffer::NO_ID;
use simple_markers_recorder::{HandleError, Hit, Probe, Value, Values, arm, disarm, handle, probes, unhandle};

use support::child::{Folder, command, inside, run};
use support::probe::{Descriptor, text};
use support::reader::growing_folder;
use support::tool;

descriptor!(KINDS: "handler:kinds", "%d %u %ld %lu %f %p %s", "a, b, c, d, e, f, g(x, y)", "-4 4 -8 8 8f 8p s",
    [false, false, false, false, false, false, true]);
descriptor!(NONE: "handler:none", "none", "", "", []);
descriptor!(TEXTS: "handler:texts", "%s %s", "first, second", "s s", [true, true]);
descriptor!(NUMBER: "handler:number", "%lu", "n", "8", [false]);

static PROBES: [&Descriptor; 1] = [&NUMBER];

/// What handlers have noted.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn see(text: String) {
    SEEN.lock().unwrap().push(text);
}

fn seen() -> Vec<String> {
    std::mem::take(&mut SEEN.lock().unwrap())
}

fn armed() -> Vec<&'static str> {
    let mut names: Vec<_> = probes().filter(Probe::is_armed).map(|probe| probe.name()).collect();
    names.sort_unstable();
    names
}

fn hit_kinds() {
    let [at, length] = text(b"text");
    KINDS.hit(&[-5i64 as u64, 4_000_000_000, i64::MIN as u64, u64::MAX, 1.5f64.to_bits(), 0x1234, at, length]);
}

type Kinds<'a> = (i32, u32, i64, u64, f64, *const (), &'a [u8]);
type Wide<'a> = (i64, usize, isize, usize, f64, *const (), &'a [u8]);

#[test]
fn handlers_get_values_by_their_types() {
    let inner = |_: &Path| {
        hit_kinds();
        assert_eq!(handle::<Kinds<'_>>("handler:kinds", &|_, arguments| see(format!("{arguments:?}"))), Ok(1));
        hit_kinds();
        let expected = format!("(-5, 4000000000, {}, {}, 1.5, 0x1234, {:?})", i64::MIN, u64::MAX, b"text");
        assert_eq!(seen(), std::slice::from_ref(&expected));
        // Wider types, and another handler in place of the first.
        assert_eq!(handle::<Wide<'_>>("*:kinds", &|_, arguments| see(format!("wide {arguments:?}"))), Ok(1));
        hit_kinds();
        assert_eq!(seen(), [format!("wide {expected}")]);
        assert_eq!(handle::<()>("handler:none", &|hit, ()| see(hit.probe().name().to_owned())), Ok(1));
        NONE.hit(&[]);
        assert_eq!(seen(), ["handler:none"]);
        assert_eq!(armed(), ["handler:kinds", "handler:none"]);
        // A closure with a variable, for any probe.
        let count = Box::leak(Box::new(AtomicU64::new(0)));
        let any = Box::leak(Box::new(|hit: &Hit<'_>, values: Values<'_>| {
            let number = count.fetch_add(1, Ordering::Relaxed);
            let names: Vec<_> = hit.probe().argument_names().collect();
            see(format!("{number} {names:?} {:?}", values.collect::<Vec<_>>()));
        }));
        assert_eq!(handle::<Values<'_>>("handler:*", any), Ok(4));
        NONE.hit(&[]);
        hit_kinds();
        let values = [
            Value::Signed(-5),
            Value::Unsigned(4_000_000_000),
            Value::Signed(i64::MIN),
            Value::Unsigned(u64::MAX),
            Value::Float(1.5),
            Value::Pointer(0x1234 as *const ()),
            Value::Text(b"text"),
        ];
        let names = r#"["a", "b", "c", "d", "e", "f", "g(x, y)"]"#;
        assert_eq!(seen(), ["0 [] []".to_owned(), format!("1 {names} {values:?}")]);
        // A null pointer, a C string, bytes that are no text, and a C string without an end.
        let long = vec![b'x'; 300];
        for (words, expected) in [
            ([0, 5, c"c \xff".as_ptr() as u64, u64::MAX], [&b""[..], b"c \xff"]),
            ([long.as_ptr() as u64, 300, long.as_ptr() as u64, u64::MAX], [&long[..], &long[..256]]),
        ] {
            TEXTS.hit(&words);
            let values = expected.map(Value::Text);
            assert!(seen()[0].ends_with(&format!("{values:?}")));
        }
        assert_eq!(unhandle("handler:t*"), Ok(1));
        assert_eq!(unhandle("*"), Ok(3));
        assert_eq!(unhandle("*"), Ok(0));
        assert!(armed().is_empty());
        hit_kinds();
        assert_eq!(seen(), [""; 0]);
    };
    run("handlers_get_values_by_their_types", inner, |_| ());
}

#[test]
fn a_handler_of_other_types_is_refused() {
    let refused = |result: Result<usize, HandleError>| result.unwrap_err().to_string();
    assert_eq!(
        refused(handle::<(u64,)>("handler:texts", &|_, (_,)| ())),
        "the probe handler:texts has 2 arguments, and the handler takes 1"
    );
    assert_eq!(
        refused(handle::<(&[u8], u64)>("handler:texts", &|_, _| ())),
        "the argument `second` of the probe handler:texts is &[u8], and the handler takes u64"
    );
    for (result, is, asked) in [
        (handle::<(i32,)>("handler:number", &|_, _| ()), "u64", "i32"),
        (handle::<(i64,)>("handler:number", &|_, _| ()), "u64", "i64"),
        (handle::<(f64,)>("handler:number", &|_, _| ()), "u64", "f64"),
        (handle::<(*const (),)>("handler:number", &|_, _| ()), "u64", "*const ()"),
    ] {
        assert_eq!(result, Err(HandleError::Type { probe: "handler:number", argument: "n", is, asked }));
    }
    // One of them does not fit, so none gets the handler.
    assert_eq!(
        handle::<(u64,)>("handler:n*", &|_, _| ()),
        Err(HandleError::Count { probe: "handler:none", arguments: 0, asked: 1 })
    );
    assert_eq!(handle::<(u64,)>("no:such", &|_, _| ()), Ok(0));
    assert!(NUMBER.handler.load(Ordering::Relaxed).is_null());
}

/// The numbers that are in a recording.
fn recorded(folder: &Path) -> Vec<u64> {
    // Only this probe is recorded.
    let layouts: Vec<_> = probes().map(|_| NUMBER.layout()).collect();
    let value = |hit: &support::reader::Hit| match hit.values[..] {
        [support::reader::Value::Scalar(value)] => value,
        _ => panic!("{hit:?}"),
    };
    growing_folder(folder, &layouts).values().flat_map(|file| &file.hits).map(value).collect()
}

#[test]
fn a_probe_is_recorded_and_handled_at_once() {
    let inner = |parent: &Path| {
        let folder = |name: &str| parent.join(name);
        let name = |name: &str| folder(name).to_str().unwrap().to_owned();
        let buffers = tool::Buffers { packet_size: 4096, packets: 0, flags: 0 };
        let hit = |number| NUMBER.hit(&[number]);
        assert_eq!(arm("handler:number", &name("one")), Ok(1));
        hit(1);
        assert_eq!(handle::<(u64,)>("handler:number", &|_, (number,)| see(number.to_string())), Ok(1));
        hit(2);
        assert_eq!(disarm("*"), Ok(1));
        hit(3);
        assert_eq!(disarm("*"), Ok(0));
        std::fs::create_dir(folder("two")).unwrap();
        tool::arm(&folder("two"), buffers, &PROBES);
        hit(4);
        tool::disarm(&PROBES);
        hit(5);
        assert_eq!(arm("handler:number", &name("three")), Ok(1));
        hit(6);
        assert_eq!(unhandle("*"), Ok(1));
        hit(7);
        assert_eq!(disarm("*"), Ok(1));
        hit(8);
        // A tool switches the probe off, and has not seen yet that the handler went away.
        NUMBER.id.store(NO_ID, Ordering::Relaxed);
        hit(9);
        assert_eq!(seen(), ["2", "3", "4", "5", "6"]);
        assert_eq!(recorded(&folder("one")), [1, 2]);
        assert_eq!(recorded(&folder("three")), [6, 7]);
        let tool = growing_folder(&folder("two"), &[NUMBER.layout()]);
        assert_eq!(tool.values().map(|file| file.hits.len()).collect::<Vec<_>>(), [1]);
    };
    run("a_probe_is_recorded_and_handled_at_once", inner, |_| ());
}

extern "C" fn on_signal(_: i32) {
    NUMBER.hit(&[100]);
}

#[test]
fn hits_in_a_handler_are_recorded_and_not_handled() {
    let inner = |parent: &Path| {
        let folder = parent.join("trace");
        // SAFETY: the handler only passes a probe.
        unsafe { libc::signal(libc::SIGUSR1, on_signal as *const () as usize) };
        assert_eq!(arm("handler:number", folder.to_str().unwrap()), Ok(1));
        let handler = &|_: &Hit<'_>, (number,): (u64,)| {
            see(number.to_string());
            NUMBER.hit(&[number + 10]);
            // SAFETY: it has no arguments, and a handler.
            unsafe { libc::raise(libc::SIGUSR1) };
            // SAFETY: it is the variable of this thread.
            unsafe { *libc::__errno_location() = 33 };
        };
        assert_eq!(handle::<(u64,)>("handler:number", handler), Ok(1));
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = 77 };
        NUMBER.hit(&[1]);
        NUMBER.hit(&[2]);
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, 77);
        assert_eq!(seen(), ["1", "2"]);
        assert_eq!(recorded(&folder), [11, 100, 1, 12, 100, 2]);
        // A child has the handler too.
        // SAFETY: the child only passes a probe and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            NUMBER.hit(&[3]);
            std::process::exit(i32::from(seen() != ["3"]));
        }
        let mut status = 0;
        // SAFETY: the status is written.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    };
    run("hits_in_a_handler_are_recorded_and_not_handled", inner, |_| ());
}

#[test]
fn a_panic_in_a_handler_aborts() {
    let test = "a_panic_in_a_handler_aborts";
    if inside(test).is_some() {
        assert_eq!(handle::<(u64,)>("handler:number", &|_, (number,)| panic!("number {number}")), Ok(1));
        assert!(std::panic::catch_unwind(|| NUMBER.hit(&[5])).is_err());
        return;
    }
    let folder = Folder::new("panic");
    let output = command(test, folder.path()).output().unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGABRT));
    assert!(String::from_utf8_lossy(&output.stderr).contains("number 5"));
}

#[test]
fn handlers_change_while_threads_hit() {
    static CALLS: [AtomicI32; 2] = [const { AtomicI32::new(0) }; 2];
    let inner = |_: &Path| {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_done.load(Ordering::Relaxed) {
                        NUMBER.hit(&[7]);
                    }
                });
            }
            let mut changes = 0;
            while changes < 2000 || CALLS.iter().any(|calls| calls.load(Ordering::Relaxed) == 0) {
                let first = &|_: &Hit<'_>, (number,): (u64,)| {
                    _ = CALLS[usize::from(number != 7)].fetch_add(1, Ordering::Relaxed);
                };
                let second = &|_: &Hit<'_>, values: Values<'_>| _ = CALLS[values.len()].fetch_add(1, Ordering::Relaxed);
                assert_eq!(handle::<(u64,)>("handler:number", first), Ok(1));
                assert_eq!(handle::<Values<'_>>("handler:number", second), Ok(1));
                assert_eq!(unhandle("handler:number"), Ok(1));
                changes += 1;
            }
            is_done.store(true, Ordering::Relaxed);
        });
        assert!(armed().is_empty());
    };
    run("handlers_change_while_threads_hit", inner, |_| ());
}
