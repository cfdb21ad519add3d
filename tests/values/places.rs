//! Places of Rust where optimisers put them: parameters, locals, references, strings, slices, enums with niches, boxes, counted pointers,
//! tuples, closures, statics, shadowed names. `//~` says what each is (tests/rust/differential.rs).

use std::cell::Cell;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;

use simple_markers::simple_mark;

#[derive(Clone, Copy)]
struct Point {
    x: i32,
    y: i32,
}

struct Queue {
    id: u64,
    depth: u32,
    name: String,
    corner: Point,
    tags: [u16; 4],
    wrapped: Wrapped,
}

#[derive(Clone, Copy)]
struct Wrapped(u32);

struct Outer {
    queue: Queue,
    shared: Rc<Point>,
    boxed: Box<Point>,
}

static GLOBAL: u32 = 4321;
static mut COUNTER: i32 = 17;

#[inline(never)]
fn opaque<T>(value: T) -> T {
    black_box(value)
}

#[inline(never)]
fn parameters(a: i32, b: u8, c: i16, d: u64, e: bool, f: char, g: usize, h: i8) -> i64 {
    simple_mark!(places:parameters, "%d %u %d %lu %d %c %zu %d", a, b, c, d, e, f, g, h); //~ -3 200 -300 18446744073709551615 1 233 9 -5
    black_box((a, b, c, d));
    i64::from(a) + i64::from(b) + i64::from(c) + d as i64 + i64::from(e) + f as i64 + g as i64 + i64::from(h)
}

#[inline(never)]
fn computed(n: i32) -> i32 {
    let triple = n * 3;
    let shifted = n << 4;
    let wide = i64::from(n) * i64::from(n) - 7;
    simple_mark!(places:computed, "%d %d %ld %d", triple, shifted, wide, n); //~ 9 48 2 3
    black_box(n);
    opaque(n)
}

#[inline(never)]
fn folded() -> i32 {
    let five = 5;
    let wide = 0xffff_fff0_u32;
    let negative = -9_000_000_000_i64;
    let half = 0.5_f64;
    let yes = true;
    simple_mark!(places:folded, "%d %u %ld %f %d", five, wide, negative, half, yes); //~ 5 4294967280 -9000000000 0.5 1
    opaque(five)
}

#[inline(never)]
fn floats(single: f32, double: f64) -> f64 {
    let product = opaque(double * f64::from(single));
    simple_mark!(places:floats, "%f %f %f", single, double, product); //~ 1.5 -2.25 -3.375
    black_box((single, double));
    product
}

#[inline(never)]
fn text(slice: &str, owned: String, bytes: &[u8]) -> usize {
    simple_mark!(places:text, "%s %s", slice, owned); //~ "slice" _
    simple_mark!(places:bytes, "%p %u", bytes, bytes[1]); //~ _ 22
    black_box((slice, bytes));
    slice.len() + owned.len() + bytes.len()
}

#[inline(never)]
fn part(line: &str) -> usize {
    let (first, second) = line.split_at(4);
    let trimmed = second.trim();
    simple_mark!(places:text:part, "%s %s", first, trimmed); //~ "some" "words"
    black_box((first, trimmed));
    first.len() + trimmed.len()
}

#[inline(never)]
fn after_call(n: i32, kept: i32) -> i32 {
    let before = n + 1;
    let result = opaque(n);
    simple_mark!(places:after_call, "%d %d %d", result, kept, before); //~ 11 20 12
    opaque(kept) + result
}

#[inline(never)]
fn tuples(pair: (u32, (u64, i8)), point: Point) -> u64 {
    simple_mark!(places:tuples, "%u %lu %d %d %d", pair.0, pair.1.0, pair.1.1, point.x, point.y); //~ 1 20000000000 -3 4 -5
    black_box((pair, point));
    u64::from(pair.0) + pair.1.0
}

#[inline(never)]
fn split(n: i32) -> i32 {
    let point = Point { x: opaque(n * 2), y: 7 };
    let pair = (point.y, point.x + 1);
    simple_mark!(places:split, "%d %d %d %d", point.x, point.y, pair.0, pair.1); //~ 6 7 7 7
    black_box(point.x);
    point.x + pair.1
}

#[inline(never)]
fn references(shared: &i32, exclusive: &mut i32, nested: &&Point) -> i32 {
    simple_mark!(places:references, "%d %d %d %d", *shared, *exclusive, nested.x, nested.y); //~ 8 9|10 1 2
    black_box((shared, &exclusive, nested));
    *exclusive += 1;
    *shared + *exclusive
}

#[inline(never)]
fn pointers(raw: *const Point, array: &[u16; 4], index: usize) -> u16 {
    // SAFETY: the caller has a reference.
    unsafe {
        simple_mark!(places:pointers, "%d %u %zu", (*raw).y, array[2], index); //~ 2 3 1
        black_box((raw, array));
        array[index] + (*raw).x as u16
    }
}

#[inline(never)]
fn owners(boxed: Box<i32>, counted: &Rc<Point>, atomic: &Arc<Point>) -> i32 {
    simple_mark!(places:owners, "%d %d %d", *boxed, counted.x, atomic.y); //~ 77 1 2
    black_box((&boxed, counted, atomic));
    *boxed + counted.x + atomic.y
}

#[inline(never)]
fn options(some: Option<&u32>, none: Option<Box<u32>>) -> u32 {
    simple_mark!(places:options, "%p %p", some, none); //~ _ 0
    black_box((some, &none));
    some.map_or(0, |value| *value) + none.map_or(1, |value| *value)
}

enum Message {
    Number(u32),
    Pair { left: i64, right: i64 },
    Text(String),
    Nothing,
}

#[inline(never)]
fn payload(message: &Message) -> i64 {
    match message {
        Message::Number(number) => {
            simple_mark!(places:payload:number, "%u", *number); //~ 6
            black_box(number);
            i64::from(*number)
        }
        Message::Pair { left, right } => {
            simple_mark!(places:payload:pair, "%ld %ld", *left, *right); //~ -1 2
            black_box((left, right));
            left + right
        }
        Message::Text(text) => {
            simple_mark!(places:payload:text, "%s", text); //~ _
            black_box(text);
            text.len() as i64
        }
        Message::Nothing => 0,
    }
}

#[inline(never)]
fn niche(value: Option<NonZeroU32>) -> u32 {
    let Some(number) = value else { return 1 };
    let plain = number.get();
    simple_mark!(places:niche, "%u", plain); //~ 99
    black_box(number);
    plain
}

impl Outer {
    #[inline(never)]
    fn method(&mut self, more: u32) -> u64 {
        self.queue.depth += more;
        simple_mark!(places:method, "%lu %u %d %u %u", self.queue.id, self.queue.depth, self.queue.corner.y, self.queue.tags[3], self.queue.wrapped.0); //~ 5 13|23 2 4 8
        simple_mark!(places:method:owners, "%d %d %s", self.shared.x, self.boxed.y, self.queue.name); //~ 1 2 _
        black_box(&self.queue);
        self.queue.id + u64::from(self.queue.depth)
    }
}

#[inline(never)]
fn shadowed(value: i32) -> i32 {
    simple_mark!(places:shadow:first, "%d", value); //~ 10
    let value = opaque(value + 1);
    simple_mark!(places:shadow:second, "%d", value); //~ 11
    black_box(value);
    let inner = {
        let value = opaque(value * 2);
        simple_mark!(places:shadow:inner, "%d", value); //~ 22
        black_box(value);
        value + 1
    };
    simple_mark!(places:shadow:again, "%d %d", value, inner); //~ 11 23
    black_box(value);
    let value = opaque(i64::from(value) + 100);
    simple_mark!(places:shadow:last, "%ld", value); //~ 111
    black_box(value);
    value as i32
}

#[inline(always)]
fn inlined(value: i32) -> i32 {
    let local = value * 7;
    simple_mark!(places:inlined, "%d %d", value, local); //~ 1|2|31 7|14|217
    black_box(local);
    local
}

#[inline(always)]
fn around(value: i32) -> i32 {
    let local = value + 30;
    inlined(local) + local
}

#[inline(never)]
fn three_copies(a: i32) -> i32 {
    let value = inlined(opaque(a));
    opaque(value) + inlined(a + 1) + around(a)
}

#[inline(always)]
fn ends(value: i32, count: &mut i32) {
    *count = opaque(value + *count);
    simple_mark!(places:ends, "%d %d", value, *count); //~ 5|6 _
}

#[inline(never)]
fn ended(a: i32) -> i32 {
    let mut count = 0;
    ends(a, &mut count);
    ends(a + 1, &mut count);
    opaque(count)
}

#[inline(never)]
fn closures(captured: i32, text: &str) -> i32 {
    let add = |parameter: i32| {
        simple_mark!(places:closure, "%d %d", parameter, captured); //~ 6 40
        black_box((parameter, captured));
        parameter + captured
    };
    let moved = move |n: usize| {
        simple_mark!(places:closure:moved, "%zu %s", n, text); //~ 3 "closure"
        black_box(text);
        n + text.len()
    };
    opaque(add)(6) + opaque(moved)(3) as i32
}

#[inline(never)]
fn loops(values: &[i32]) -> i32 {
    let mut sum = 0;
    for (index, value) in values.iter().enumerate() {
        simple_mark!(places:loop, "%zu %d %d", index, *value, sum); //~ 0|1|2 10|20|30 0|10|30
        sum = opaque(sum + value);
    }
    simple_mark!(places:loop:done, "%d", sum); //~ 60
    black_box(sum);
    sum
}

#[inline(never)]
fn statics() -> i32 {
    // SAFETY: there is one thread.
    unsafe {
        COUNTER += 1;
        simple_mark!(places:statics, "%u %d", GLOBAL, COUNTER); //~ 4321 18|19 ?
        opaque(COUNTER)
    }
}

#[inline(never)]
fn large(value: u128, low: u32) -> u128 {
    let square = value * u128::from(low);
    simple_mark!(places:large, "%u %p", low, &value); //~ 3 _ ?
    black_box(&value);
    square
}

#[inline(never)]
fn generic<T: Copy + Into<i64>>(value: T, cell: &Cell<u32>) -> i64 {
    let wide: i64 = value.into();
    simple_mark!(places:generic, "%ld", wide); //~ -12|200
    cell.set(cell.get() + 1);
    opaque(wide)
}

fn main() {
    let mut outer = Outer {
        queue: Queue { id: 5, depth: 3, name: "queue".to_owned(), corner: Point { x: 1, y: 2 }, tags: [1, 2, 3, 4], wrapped: Wrapped(8) },
        shared: Rc::new(Point { x: 1, y: 2 }),
        boxed: Box::new(Point { x: 1, y: 2 }),
    };
    let point = Point { x: 1, y: 2 };
    let (mut exclusive, cell) = (9, Cell::new(0));
    let mut total = 0_i64;
    for _ in 0..2 {
        total += parameters(-3, 200, -300, u64::MAX, true, 'é', 9, -5);
        total += i64::from(computed(opaque(3)) + folded() + after_call(opaque(11), opaque(20)) + split(opaque(3)));
        total += floats(1.5, -2.25) as i64;
        total += text("slice", "owned".to_owned(), &[11, 22, 33]) as i64;
        total += part(opaque("some words ")) as i64;
        total += tuples((1, (20_000_000_000, -3)), Point { x: 4, y: -5 }) as i64;
        total += i64::from(references(&8, &mut exclusive, &&point));
        total += i64::from(pointers(&point, &[1, 2, 3, 4], 1));
        total += i64::from(owners(Box::new(77), &Rc::new(point), &Arc::new(point)));
        total += i64::from(options(Some(&3), None));
        let messages =
            [Message::Number(6), Message::Pair { left: -1, right: 2 }, Message::Text("text".to_owned()), Message::Nothing];
        total += opaque(messages).iter().map(payload).sum::<i64>();
        total += i64::from(niche(NonZeroU32::new(opaque(99))));
        total += outer.method(10) as i64;
        total += i64::from(shadowed(opaque(10)) + three_copies(opaque(1)) + ended(opaque(5)));
        total += i64::from(closures(opaque(40), "closure") + loops(&opaque([10, 20, 30])) + statics());
        total += large(opaque(1 << 70), 3) as i64;
        total += generic(opaque(-12_i32), &cell) + generic(opaque(200_u8), &cell);
    }
    black_box(total);
}
