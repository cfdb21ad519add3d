use simple_markers::simple_probe;

#[derive(Debug)]
struct Queue {
    depth: usize,
    name: String,
}

union Number {
    whole: u64,
    real: f64,
}

static mut COUNT: u32 = 0;

fn main() {
    let mut queue = Queue { depth: 1, name: String::from("name") };
    let (pointer, number) = (&raw const queue, Number { whole: 7 });
    // No error: it is neither moved nor borrowed for longer.
    simple_probe!(name, "{queue:?} {queue.name}");
    // What only unsafe code may read.
    simple_probe!(name, "%p{}", *pointer);
    simple_probe!(name, "%p{}", number.real);
    simple_probe!(name, "%p{}", COUNT);
    // What is borrowed or moved.
    let depth = &mut queue.depth;
    simple_probe!(name, "{queue:?}");
    *depth += 1;
    let name = queue.name;
    simple_probe!(name, "{queue.depth}");
    simple_probe!(name, "{queue.name}");
    simple_probe!(name, "{queue:?}");
    drop(name);
}
