use simple_markers::simple_mark;

fn main() {
    let (i, u) = (1i128, 1u128);
    simple_mark!(name, "%lld", i);
    simple_mark!(name, "%llu", u);
    simple_mark!(name, "%llu", keep u);
}
