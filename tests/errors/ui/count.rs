use simple_markers::simple_mark;

fn main() {
    let (x, y) = (1i32, 2i32);
    simple_mark!(name, "%d");
    simple_mark!(name, "%d %lu", x);
    simple_mark!(name, "nothing", x);
    simple_mark!(name, "%d", x, y);
    simple_mark!(name, "%d", x, keep z = x + y);
    simple_mark!(name, "%*d", x);
    simple_mark!(name, "%-*.*d", x, y);
}
