use simple_markers::simple_mark;

fn main() {
    let (width, value) = (8i64, 1i32);
    simple_mark!(name, "%*d", width, value);
    simple_mark!(name, "%*d", keep width, value);
    simple_mark!(name, "%*d", keep half = width / 2, keep value);
}
