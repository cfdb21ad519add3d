use simple_markers::simple_mark;

fn main() {
    let x = 1i32;
    simple_mark!(name, "format", options());
    simple_mark!(name, "format", options(nop));
    simple_mark!(name, "format", options("anchor"));
    simple_mark!(name, "format", options(anchor, anchor));
    simple_mark!(name, "%d", options(anchor), x);
    simple_mark!(name, "format", options(anchor), options(anchor));
    simple_mark!(name, "format", options(keep, anchor, keep));
    simple_mark!(name, "format", options(keep anchor));
    simple_mark!(name, "format", options(anchor = slow));
    simple_mark!(name, "format", options(anchor = 10));
}
