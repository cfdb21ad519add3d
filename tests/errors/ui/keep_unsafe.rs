use simple_markers::simple_mark;

static mut COUNT: u64 = 0;

fn main() {
    let tag = 1u64;
    let pointer = &raw const tag;
    // As places they are not read, and need no `unsafe`.
    simple_mark!(name, "%lu %lu", *pointer, COUNT);
    simple_mark!(name, "%lu", keep *pointer);
    simple_mark!(name, "%lu", keep COUNT);
    simple_mark!(name, "%lu", keep tag = *pointer);
    // Only `%p` shows an address. Every other conversion shows the place, which is read.
    simple_mark!(name, "%p", keep &*pointer);
    simple_mark!(name, "%lu", keep &*pointer);
}
