//! Passes probes with arguments of each kind, and prints what they should show.

use simple_markers::simple_probe;

struct Request {
    name: String,
    size: Option<u32>,
    load: f32,
}

#[inline(never)]
fn integers(a: i8, b: u16, c: i32, d: u64, e: bool, f: char) {
    simple_probe!(values:integers, "%hhd %hu %d %lu %d %c %ld", a, b, c, d, e, f, i64::from(c) * 3 - 1);
    println!("values:integers: {a} {b} {c} {d} {} {f} {}", i32::from(e), i64::from(c) * 3 - 1);
}

#[inline(never)]
fn texts(request: &Request, rest: &str, bytes: &[u8]) {
    simple_probe!(values:texts, "%s %s %s %zu %s", request.name, rest, bytes, rest.len(), &request.name[1..]);
    println!(
        "values:texts: {} {rest} {} {} {}",
        request.name,
        String::from_utf8_lossy(bytes),
        rest.len(),
        &request.name[1..]
    );
}

#[inline(never)]
fn floats(request: &Request, wide: f64) {
    simple_probe!(values:floats, "%.3f %.3f %u", request.load, wide / 3.0, request.size.unwrap_or(9));
    println!("values:floats: {:.3} {:.3} {}", request.load, wide / 3.0, request.size.unwrap_or(9));
}

fn main() {
    integers(-128, 65535, i32::MIN, u64::MAX, true, 'x');
    integers(127, 0, i32::MAX, 1 << 63, false, '~');
    let mut request = Request { name: "a name".to_owned(), size: None, load: 0.625 };
    texts(&request, "", b"bytes \xc3\xa9");
    floats(&request, -1e9);
    request = Request { name: "x".repeat(100), size: Some(7), load: -1e5 };
    texts(&request, "the rest", b"");
    floats(&request, 1.0 / 8.0);
}
