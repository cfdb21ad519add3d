//! The next assignment follows without an instruction between, so the location that begins at the
//! site is that of the next value.
use simple_markers::simple_mark;

#[inline(never)]
fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        let r = a % b;
        simple_mark!(updated:gcd, "%lu %lu", a, b);
        a = b;
        b = r;
    }
    a
}

struct Node {
    v: u32,
    next: Option<Box<Node>>,
}

#[inline(never)]
fn walk(mut l: &Node) -> u32 {
    let mut sum = 0;
    loop {
        sum += l.v;
        simple_mark!(updated:walk, "%u %u", l.v, sum);
        match &l.next {
            Some(next) => l = next,
            None => return sum,
        }
    }
}

#[inline(never)]
fn find(bytes: &[u8]) -> Option<usize> {
    bytes.iter().rposition(|byte| *byte == b'\n')
}

#[inline(never)]
fn copied(bytes: &[u8], mut pos: usize, mut count: usize) -> usize {
    loop {
        match find(&bytes[..pos]) {
            None => return 0,
            Some(i) => {
                if count == 0 {
                    return i + 1;
                } else if i == 0 {
                    return 0;
                }
                count -= 1;
                simple_mark!(updated:copied, "%zu %zu", pos, i); //~ pos: rustc
                pos = i;
            }
        }
    }
}

#[inline(never)]
fn unrolled(n: i32) -> i32 {
    let mut sum = 0;
    for i in 0..3 {
        let mut x = n + i;
        if i == 2 {
            x = 3;
            simple_mark!(updated:unrolled, "%d", x);
            x = -1;
        }
        sum += x;
    }
    sum
}

fn main() {
    let n = std::env::args().count() as u64;
    let list = (0..6).fold(None, |next, v| Some(Box::new(Node { v: v + n as u32, next })));
    let text = b"one\ntwo\nthree\nfour\n";
    let start = copied(text, text.len() - n as usize + 1, 2);
    println!("{} {} {} {start}", gcd(84 * n, 36), walk(&list.unwrap()), unrolled(n as i32));
}
