use simple_markers::simple_mark;

fn main() {
    let value = 1i32;
    simple_mark!(name, "%*d");
    simple_mark!(name, "%-*.*f", value);
}
