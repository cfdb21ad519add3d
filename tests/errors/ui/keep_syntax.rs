use simple_markers::simple_mark;

fn main() {
    let tag = 1u64;
    simple_mark!(name, "%lu", keep tag + 1);
    simple_mark!(name, "%lu", keep tag.wrapping_add(1));
    simple_mark!(name, "%lu", keep tag = tag, keep);
    simple_mark!(name, "%lu", keep tag: Vec<u64> = tag);
    simple_mark!(name, "%lu", keep tag = );
}
