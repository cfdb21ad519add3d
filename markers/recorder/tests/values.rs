//! What is recorded is what was passed, on the fast path and on the slow path.

#[macro_use]
extern crate harness;

mod support;

use simple_markers_record::buffer::{Layout, value};
use support::babeltrace::babeltrace;
use support::child::{inside, run};
use support::probe::{Descriptor, text};
use support::reader::{self, Value};
use support::tool;

descriptor!(NONE: "test:none", "none", "", "", []);
// Of the next line.
const LINE: u32 = line!() + 1;
descriptor!(TWO: "test:two", "%d %lu", "a, *b.c", "-4 8", [false, false]);
descriptor!(MANY: "test:many", "%f %p %ld %lu", "f, p, l, u, v, v, v, v, v, v, v, v", "8f 8p -8 8 8 8 8 8 8 8 8 8", [false; 12]);
descriptor!(TEXT: "test:text", "%d %s %d", "n, name, m", "-4 s -4", [false, true, false]);
descriptor!(TEXTS: "test:texts", "%s %s %s %s %s %s", "a, b, c, d, e, f", "s s s s s s", [true; 6]);
descriptor!(VALUE: "test:value", "%p{} %d %p{}", "a, n, b", "v -4 v", [true, false, true]; with_values);
descriptor!(VALUES: "test:values", "%p{} %p{} %p{} %p{} %p{} %p{}", "a, b, c, d, e, f", "v v v v v v", [true; 6]; with_values);

fn layouts() -> Vec<Layout> {
    [&NONE, &TWO, &MANY, &TEXT, &TEXTS, &VALUE, &VALUES].map(Descriptor::layout).to_vec()
}

const LENGTHS: [usize; 22] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17, 31, 63, 64, 65, 255, 256, 257, 5000];

fn letters(length: usize) -> Vec<u8> {
    (0..length).map(|at| b'a' + (at * 7 % 26) as u8).collect()
}

/// All kinds of hits, and the values that they have.
fn hits() -> Vec<(u16, Vec<Value>)> {
    let mut expected = Vec::new();
    let scalars = |words: &[u64]| words.iter().map(|&word| Value::Scalar(word)).collect::<Vec<_>>();
    NONE.hit(&[]);
    expected.push((1, vec![]));
    for words in [[0, 0], [-5i64 as u64, u64::MAX], [1, 2]] {
        TWO.hit(&words);
        expected.push((2, scalars(&words)));
    }
    let mut many = [0; 12];
    for (at, word) in many.iter_mut().enumerate() {
        *word = 0x0101_0101_0101_0101 * (at as u64 + 1);
    }
    many[0] = 1.5f64.to_bits();
    MANY.hit(&many);
    expected.push((3, scalars(&many)));
    let stored = |bytes: &[u8]| Value::Text(bytes[..bytes.len().min(256)].to_vec(), Some(bytes.len() as u32));
    for length in LENGTHS {
        // The text ends where the memory ends that can be read.
        let page = Guarded::new(&letters(length));
        let [address, size] = text(page.text());
        TEXT.hit(&[1, address, size, 2]);
        let value = stored(page.text());
        expected.push((4, vec![Value::Scalar(1), value.clone(), Value::Scalar(2)]));
        // As a C string.
        let mut with_nul = letters(length);
        with_nul.push(0);
        let page = Guarded::new(&with_nul);
        TEXT.hit(&[3, page.text().as_ptr() as u64, u64::MAX, 4]);
        let value = if length < 256 { value } else { Value::Text(letters(256), None) };
        expected.push((4, vec![Value::Scalar(3), value, Value::Scalar(4)]));
    }
    // 256 bytes without a NUL, and nothing behind them.
    let page = Guarded::new(&letters(256));
    TEXT.hit(&[5, page.text().as_ptr() as u64, u64::MAX, 6]);
    expected.push((4, vec![Value::Scalar(5), Value::Text(letters(256), None), Value::Scalar(6)]));
    for length in [0, 7, u64::MAX] {
        TEXT.hit(&[7, 0, length, 8]);
        expected.push((4, vec![Value::Scalar(7), Value::Text(vec![], Some(0)), Value::Scalar(8)]));
    }
    for sizes in [[0, 1, 8, 9, 255, 300], [300, 0, 0, 1, 3, 5], [256; 6]] {
        let all = sizes.map(letters);
        let mut words = [0; 12];
        for (words, bytes) in words.chunks_exact_mut(2).zip(&all) {
            words.copy_from_slice(&text(bytes));
        }
        TEXTS.hit(&words);
        expected.push((5, all.iter().map(|bytes| stored(bytes)).collect()));
    }
    let whole = |bytes: &[u8], is_behind| {
        Value::Whole(bytes[..bytes.len().min(512)].to_vec(), Some(bytes.len() as u32), is_behind)
    };
    for length in LENGTHS.into_iter().chain([511, 512, 513]) {
        let page = Guarded::new(&letters(length));
        let place = page.text().as_ptr() as u64;
        // The bytes are behind each word of another place.
        let places: [[u64; 3]; 3] = [[place, 1, 2], [1, place, 2], [1, 2, place]];
        for (number, other) in (0..).zip(&places) {
            let behind = value::word(length, Some(number));
            VALUE.hit(&[place, value::word(length, None), 9, other.as_ptr() as u64, behind]);
            let values = vec![whole(page.text(), false), Value::Scalar(9), whole(page.text(), true)];
            expected.push((6, values));
        }
    }
    let large = letters(5000);
    let huge = [large.as_ptr() as u64, value::word(usize::MAX, None)];
    VALUE.hit(&[huge[0], huge[1], 0, huge[0], value::word(0, None)]);
    let of_huge = Value::Whole(letters(512), None, false);
    expected.push((6, vec![of_huge, Value::Scalar(0), whole(&[], false)]));
    let word = value::word(large.len(), None);
    let six: [u64; 12] = std::array::from_fn(|at| if at % 2 == 0 { large.as_ptr() as u64 } else { word });
    VALUES.hit(&six);
    expected.push((7, vec![whole(&large, false); 6]));
    expected
}

/// A text at the end of a page; the next page cannot be read.
struct Guarded {
    map: *mut u8,
    size: usize,
    start: usize,
}

impl Guarded {
    fn new(text: &[u8]) -> Self {
        let size = text.len().next_multiple_of(4096).max(4096);
        let (read, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, of which only the last page is made unreadable.
        unsafe {
            let map = libc::mmap(std::ptr::null_mut(), size + 4096, read, flags, -1, 0).cast::<u8>();
            assert_eq!(libc::mprotect(map.add(size).cast(), 4096, libc::PROT_NONE), 0);
            let start = size - text.len();
            map.add(start).copy_from_nonoverlapping(text.as_ptr(), text.len());
            Self { map, size, start }
        }
    }

    fn text(&self) -> &[u8] {
        // SAFETY: the memory is mapped.
        unsafe { std::slice::from_raw_parts(self.map.add(self.start), self.size - self.start) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: nobody else uses it.
        unsafe { libc::munmap(self.map.cast(), self.size + 4096) };
    }
}

fn assert_recorded(folder: &std::path::Path, expected: &[(u16, Vec<Value>)]) -> Vec<reader::Hit> {
    let files = reader::growing_folder(folder, &layouts());
    let all: Vec<_> = files.into_values().flat_map(|file| file.hits).collect();
    let read: Vec<_> = all.iter().map(|hit| (hit.id, hit.values.clone())).collect();
    assert_eq!(read.len(), expected.len());
    for (read, expected) in read.iter().zip(expected) {
        assert_eq!(read, expected);
    }
    all
}

/// Records everything twice: the first hits make the buffer, the second are on the fast path.
fn record(folder: &std::path::Path, flags: u32) {
    let buffers = tool::Buffers { packet_size: 1 << 16, packets: 0, flags };
    tool::arm(folder, buffers, &[&NONE, &TWO, &MANY, &TEXT, &TEXTS, &VALUE, &VALUES]);
    let mut expected = Vec::new();
    for _ in 0..20 {
        expected.extend(hits());
    }
    // SAFETY: getpid has no arguments.
    let (pid, tid) = unsafe { (libc::getpid() as u32, libc::gettid() as u32) };
    for hit in assert_recorded(folder, &expected) {
        assert_eq!((hit.pid, hit.tid), (pid, tid));
        assert!(hit.cpu < 4096, "{}", hit.cpu);
    }
    assert_eq!(tool::lost(), 0);
}

#[test]
fn values_are_recorded() {
    run("values_are_recorded", |folder| record(folder, 0), |_| ());
}

#[test]
fn values_are_recorded_on_the_slow_path() {
    run("values_are_recorded_on_the_slow_path", |folder| record(folder, 2), |_| ());
}

#[test]
fn babeltrace2_reads_what_was_armed_in_the_program() {
    let test = "babeltrace2_reads_what_was_armed_in_the_program";
    let fill = |folder: &std::path::Path| {
        assert_eq!(simple_markers_recorder::arm("other:*", folder.join("none").to_str().unwrap()), Ok(0));
        let folder = folder.join("trace");
        assert_eq!(simple_markers_recorder::arm("test:*", folder.to_str().unwrap()), Ok(7));
        TWO.hit(&[-5i64 as u64, 6]);
        let mut words = [0; 12];
        (words[0], words[1], words[2]) = (1.5f64.to_bits(), 0xabc, -1i64 as u64);
        MANY.hit(&words);
        let [address, size] = text(b"hello");
        TEXT.hit(&[-1i64 as u64, address, size, 2]);
        TEXT.hit(&[1, address, 0, 2]);
        let (bytes, place) = ([1u8, 2, 0xab], [7, bytes_at(b"xy")]);
        let words = [value::word(3, None), value::word(2, Some(1))];
        VALUE.hit(&[bytes.as_ptr() as u64, words[0], 3, place.as_ptr() as u64, words[1]]);
        NONE.hit(&[]);
        // While the program runs.
        check(&folder);
    };
    fn bytes_at(bytes: &'static [u8]) -> u64 {
        bytes.as_ptr() as u64
    }

    run(test, fill, |folder| check(&folder.join("trace")));

    fn check(folder: &std::path::Path) {
        let Some(lines) = babeltrace(folder, &[]) else { return };
        let fields: Vec<_> = lines
            .iter()
            .map(|line| {
                let (_, event) = line.split_once(") test:").unwrap();
                let (name, rest) = event.split_once(": ").unwrap();
                (name, rest.splitn(3, "}, ").nth(2).unwrap_or_default())
            })
            .collect();
        let zeros: String = (2..10).map(|number| format!(", v{} = 0", suffix(number))).collect();
        let array = |bytes: [u8; 8]| {
            let items = bytes.iter().enumerate().map(|(at, byte)| format!("[{at}] = 0x{byte:X}"));
            format!("[ {} ]", items.collect::<Vec<_>>().join(", "))
        };
        let [a, b] = [[1, 2, 0xab, 0, 0, 0, 0, 0], [b'x', b'y', 0, 0, 0, 0, 0, 0]].map(array);
        let value = format!(
            "{{ a__stored = 8, a__size = 3, a__behind = 0, a = {a}, n = 3, b__stored = 8, b__size = 2, b__behind = 1, b = {b} }}"
        );
        fn suffix(number: u32) -> String {
            if number == 2 { String::new() } else { format!("_{}", number - 1) }
        }
        let many = format!("{{ f = 1.5, p = 0xABC, l = -1, u = 0{zeros} }}");
        assert_eq!(
            fields,
            [
                ("two", "{ a = -5, b_c = 6 }"),
                ("many", &many),
                ("text", r#"{ n = -1, name__stored = 8, name__length = 5, name = "hello", m = 2 }"#),
                ("text", r#"{ n = 1, name__stored = 8, name__length = 0, name = "", m = 2 }"#),
                ("value", &value),
                ("none", "{ }"),
            ]
        );
    }
}

#[test]
fn probes_are_listed() {
    if inside("none").is_some() {
        return;
    }
    let probes: Vec<_> = simple_markers_recorder::probes().collect();
    assert_eq!(probes.len(), 7);
    let two = probes.iter().find(|probe| probe.name() == "test:two").unwrap();
    assert_eq!((two.file(), two.format(), two.arguments()), (file!(), "%d %lu", "a, *b.c"));
    assert_eq!(two.line(), LINE);
    assert!(!two.is_armed());
}

fn main() -> std::process::ExitCode {
    harness::main()
}
