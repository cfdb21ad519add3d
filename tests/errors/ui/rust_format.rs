use simple_markers::simple_mark;

struct Queue {
    depth: usize,
}

fn main() {
    let (id, queue) = (1u32, &Queue { depth: 1 });
    // No error.
    simple_mark!(name, "request {id} of {queue.depth:>4}, {:#x} {0:?} {n} 5% done {{id}}", id, n = queue.depth);
    simple_mark!(name, "{id} {n}", keep id: u32, keep n = queue.depth as u32);
    // What `format!` refuses too.
    simple_mark!(name, "{} {}", id);
    simple_mark!(name, "{id}", id);
    simple_mark!(name, "{} {4}", id);
    simple_mark!(name, "{id} {}", id, queue.depth, other = id);
    simple_mark!(name, "{} }", id);
    simple_mark!(name, "{} {", id);
    // The same with a place of several names, which `format!` does not take.
    simple_mark!(name, "{} {queue.depth} {}", id);
    simple_mark!(name, "{queue.depth} {4}", id);
    simple_mark!(name, "{queue.depth}", queue.depth);
    simple_mark!(name, "{queue.depth}", id);
    simple_mark!(name, "{queue.depth} }");
    // What only a marker refuses.
    simple_mark!(name, "{:y}", id);
    simple_mark!(name, "{:.*}", 5, id);
    simple_mark!(name, "{:>width$}", id, width = 5);
    simple_mark!(name, "{:%>5}", id);
    simple_mark!(name, "{} {queue[0]}", id);
    simple_mark!(name, "{}", id + 1);
    simple_mark!(name, "{}", keep id);
    simple_mark!(name, "{:?}", id, options(keep));
    simple_mark!(name, "{n} {n}", keep n: u32 = id);
    simple_mark!(name, "{} %d", id, id);
    // Names.
    simple_mark!(name, "{idd}");
    simple_mark!(name, "{queue.dept}");
}
