use simple_markers::simple_mark;

struct Request {
    tag: u64,
    name: String,
}

static mut COUNT: u64 = 0;

fn main() {
    let request = Request { tag: 1, name: String::new() };
    let (text, slot) = ("text", &2u32);
    // Each of these compiles without the option.
    simple_mark!(name, "%lu %s", request.tag, request.name, options(keep));
    simple_mark!(name, "%s %lu", text, keep tag = request.tag, options(anchor, keep));
    simple_mark!(name, "%u", slot, options(keep));
    simple_mark!(name, "%p", text, options(keep));
}

fn unsafe_places() {
    simple_mark!(name, "%lu", COUNT);
    simple_mark!(name, "%lu", COUNT, options(keep));
}
