use simple_markers::simple_mark;

fn main() {
    match 1u32 {
        1 => simple_mark!(ghost:arm, "text", options(ghost)),
        _ => {}
    }
}
