//! Places as arguments, with fields, elements and dereferences.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    fields(black_box(&Queue { id: 1, lock: Lock { owner: Owner { pid: 2, r#type: 3 } }, tags: [1, 2, 3, 4] }));
    tuples(black_box((1, (2, 3))));
    arrays(black_box([1, 2, 3, 4]), black_box([[1, 2], [3, 4]]));
    raw_pointers(black_box(&Queue { id: 1, lock: Lock { owner: Owner { pid: 2, r#type: 3 } }, tags: [1, 2, 3, 4] }));
    union(black_box(Word { whole: 0x0102_0304 }));
    packed(black_box(&Packed { flag: 1, value: 2 }));
    references(black_box(&1), &mut black_box(2));
    pointers();
    Queue { id: 9, lock: Lock { owner: Owner { pid: 2, r#type: 3 } }, tags: [0; 4] }.method();
    addresses(black_box(1));
    borrowed();
    constant();
}

struct Queue {
    id: u64,
    lock: Lock,
    tags: [u32; 4],
}

struct Lock {
    owner: Owner,
}

struct Owner {
    pid: i32,
    r#type: u8,
}

#[inline(never)]
fn fields(queue: &Queue) {
    simple_mark!(construct:place:field, "queue %lu", queue.id); //~ live 1 time
    simple_mark!(construct:place:nested_field, "owner %d", queue.lock.owner.pid); //~ live 1 time
    simple_mark!(construct:place:raw_field, "type %hhu", queue.lock.owner.r#type); //~ live 1 time
    simple_mark!(construct:place:spaces, "owner %d", queue . lock . owner . pid); //~ live 1 time
    witness(7700);
}

#[inline(never)]
fn tuples(pair: (u32, (u32, u32))) {
    simple_mark!(construct:place:tuple, "%u %u %u", pair.0, pair.1.0, (pair.1).1); //~ live 1 time
    witness(7701);
    black_box(pair);
}

#[inline(never)]
fn arrays(values: [u32; 4], rows: [[u32; 2]; 2]) {
    simple_mark!(construct:place:array, "%u %u", values[3], rows[1][0]); //~ live 1 time
    witness(7702);
    let slice = &values[..];
    simple_mark!(construct:place:slice, "%u", slice[1]); //~ live 1 time
    witness(7703);
    black_box((values, rows));
}

#[inline(never)]
fn raw_pointers(queue: *const Queue) {
    simple_mark!(construct:place:raw_pointer, "%p", queue); //~ live 1 time
    simple_mark!(construct:place:behind_raw_pointer, "%lu %u", (*queue).id, (*queue).tags[2]); //~ live 1 time
    witness(7704);
    // SAFETY: the caller has a reference.
    unsafe {
        simple_mark!(construct:place:unsafe_block, "owner %d", (*queue).lock.owner.pid); //~ live 1 time
        witness(7705);
        simple_mark!(construct:place:kept_raw_pointer, "id %lu", keep id = (*queue).id); //~ live 1 time; keeps 1
        witness(7706);
    }
    let id: *const u64 = black_box(&7);
    simple_mark!(construct:place:dereferenced, "id %lu", *id); //~ live 1 time
    witness(7707);
    let pointer = &raw const id;
    simple_mark!(construct:place:twice_dereferenced, "id %lu", **pointer); //~ live 1 time
    witness(7708);
    let non_null = black_box(NonNull::<u8>::dangling());
    simple_mark!(construct:place:non_null, "%p", non_null); //~ live 1 time
    witness(7709);
}

#[derive(Clone, Copy)]
union Word {
    whole: u32,
    bytes: [u8; 4],
}

#[inline(never)]
fn union(word: Word) {
    simple_mark!(construct:place:union, "%#x, last byte %hhu", word.whole, word.bytes[0]); //~ live 1 time
    witness(7710);
    black_box(word);
}

#[repr(C, packed)]
struct Packed {
    flag: u8,
    value: u32,
}

#[inline(never)]
fn packed(packed: &Packed) {
    // The marker takes no reference to the unaligned field, which would be an error.
    simple_mark!(construct:place:packed, "%hhu %u", packed.flag, packed.value); //~ live 1 time
    witness(7711);
    simple_mark!(construct:place:kept_packed, "%u", keep packed.value); //~ live 1 time; keeps 2
    witness(7712);
}

#[inline(never)]
fn references(shared: &i32, exclusive: &mut i32) {
    simple_mark!(construct:place:reference, "%d at %p", shared, shared); //~ live 1 time
    witness(7713);
    simple_mark!(construct:place:exclusive, "%d %d", exclusive, *exclusive); //~ live 1 time
    witness(7714);
    *exclusive += 1;
    black_box(exclusive);
}

#[inline(never)]
fn pointers() {
    let boxed = black_box(Box::new(1));
    let counted = black_box(Rc::new(2));
    let shared = black_box(Arc::new(3));
    let maybe: Option<&u8> = black_box(Some(&4));
    let function: fn() = black_box(constant);
    let object: &dyn std::fmt::Debug = black_box(&5);
    let slice: &[u8] = black_box(&[6]);
    simple_mark!(construct:place:box, "%p %d", boxed, *boxed); //~ live 1 time
    simple_mark!(construct:place:rc, "%p", counted); //~ live 1 time
    simple_mark!(construct:place:arc, "%p", shared); //~ live 1 time
    simple_mark!(construct:place:option, "%p", maybe); //~ live 1 time
    simple_mark!(construct:place:function, "%p", function); //~ live 1 time
    simple_mark!(construct:place:dyn, "%p", object); //~ live 1 time
    simple_mark!(construct:place:wide, "%p", slice); //~ live 1 time
    witness(7715);
}

impl Queue {
    #[inline(never)]
    fn method(&self) {
        simple_mark!(construct:place:self, "%p %lu %u", self, self.id, self.tags[0]); //~ live 1 time
        witness(7716);
        black_box(self);
    }
}

#[inline(never)]
fn addresses(value: i32) {
    simple_mark!(construct:place:address, "%p", &value); //~ live 1 time
    witness(7717);
    black_box(value);
}

// A marker is only a shared use, so it can name a variable that is borrowed elsewhere.
#[inline(never)]
fn borrowed() {
    let mut value = black_box(1);
    let reader = &value;
    simple_mark!(construct:place:borrowed, "%d %d", value, reader); //~ live 1 time
    witness(7718);
    black_box(reader);
    value += 1;
    let cell = UnsafeCell::new(value);
    simple_mark!(construct:place:cell, "%p", &cell); //~ live 1 time
    witness(7719);
    black_box(cell.into_inner());
}

const LIMIT: u32 = 10;

fn constant() {
    simple_mark!(construct:place:constant, "%u", keep limit = LIMIT); //~ live; keeps 10
    witness(7720);
}
