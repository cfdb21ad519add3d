use simple_markers::simple_mark;

const FORMAT: &str = "format";

fn main() {
    let x = 1i32;
    simple_mark!(name);
    simple_mark!(name,);
    simple_mark!(name "format");
    simple_mark!(name, FORMAT);
    simple_mark!(name, b"format");
    simple_mark!(name, "nul \0");
    simple_mark!(name, "%y", x);
    simple_mark!(name, "%n", &x);
    simple_mark!(name, "100%");
    simple_mark!(name, "%l");
    simple_mark!(name, "%1$d", x);
    simple_mark!(name, "%4294967296d", x);
    simple_mark!(name, "%5%");
    simple_mark!(name, "%Lf", x);
    simple_mark!(name, "%hs %lp", x, x);
    simple_mark!(name, "%d" x);
}
