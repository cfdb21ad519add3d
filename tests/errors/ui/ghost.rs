use simple_markers::simple_mark;

const fn constant(x: u32) -> u32 {
    simple_mark!(ghost:constant, "%u", x, options(ghost));
    simple_mark!(ghost:constant, "%lu", x, options(ghost));
    x
}

const LIMIT: u32 = 1;

fn main() {
    let x = 1u32;
    simple_mark!(ghost:both, "%u", x, options(ghost, keep));
    simple_mark!(ghost:both, "%u", x, options(anchor, ghost));
    simple_mark!(ghost:kept, "%u", keep x, options(ghost));
    simple_mark!(ghost:kept, "%u", keep y = x + 1, options(ghost));
    simple_mark!(ghost:words, "%u{IDLE=LIMIT}", x, options(ghost));
    simple_mark!(ghost:twice, "text", options(ghost, ghost));
    constant(2);
}
