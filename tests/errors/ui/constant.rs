use simple_markers::simple_mark;

const fn constant() {
    simple_mark!(name, "format");
}

fn main() {
    constant();
}
