use simple_markers::simple_probe;

#[derive(Clone)]
struct Queue {
    depth: usize,
    name: String,
}

fn generic<T>(value: T, dynamic: &dyn std::fmt::Debug) {
    // No error.
    simple_probe!(name, "%p{} %p{}", value, dynamic);
    simple_probe!(name, "{value} {dynamic:?} {value:>8?}");
}

fn main() {
    let queue = Queue { depth: 1, name: String::from("name") };
    let (slice, pointer) = (&[1, 2][..], &raw const queue);
    // No error.
    simple_probe!(name, "{queue:?} {queue.depth} {slice:?} {}", pointer);
    simple_probe!(name, "%p{depth,name} %lu %s", queue, queue.depth as u64 + 1, queue.name);
    generic(queue.clone(), &queue.depth);
    // A place and its members.
    simple_probe!(name, "{} {:?}", queue.depth + 1, queue.clone());
    simple_probe!(name, "%p{}", depth = queue.depth);
    simple_probe!(name, "%p{length}", queue);
    simple_probe!(name, "%p{depth,}", queue);
    simple_probe!(name, "{queue.length} {missing}");
    simple_probe!(name, "{queue.depth} %lu", 1u64);
    simple_probe!(name, "{} {}", queue.depth);
    simple_probe!(name, "{a} {b} {c} {d} {e} {f} {g}", a = slice, b = slice, c = slice, d = slice, e = slice, f = slice, g = slice);
    // A value whose size is not known.
    simple_probe!(name, "%p{}", *slice);
    simple_probe!(name, "%p{}", *queue.name);
}
