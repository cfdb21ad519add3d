use simple_markers::{ghosts, simple_mark};

#[ghosts(all)]
fn with_arguments() {
    simple_mark!(ghosts:arguments, "text");
}

#[ghosts]
struct Queue {
    depth: u32,
}

#[ghosts]
use std::fmt::Debug as _;

#[ghosts]
const LIMIT: u32 = 1;

#[ghosts]
macro_rules! local {
    () => {};
}

trait Work {
    #[ghosts]
    fn required(&self);
}

#[ghosts]
unsafe extern "C" {
    fn foreign();
}

#[ghosts]
impl Queue {
    simple_mark!(ghosts:item, "text");

    fn step(&mut self) {
        simple_mark!(ghosts:types, "%lu", self.depth);
        simple_mark!(ghosts:names, "%u", self.length);
        simple_mark!(ghosts:words, "%u{IDLE=LIMIT}", self.depth);
        simple_mark!(ghosts:count, "%u");
        simple_mark!(ghosts:format);
        simple_mark!(ghosts:operand, "text") == ();
        match self.depth {
            0 => simple_mark!(ghosts:arm, "%lu", self.depth),
            1 => simple_mark!(ghosts:method, "text").clone(),
            _ => {}
        }
        let depth: u32 = simple_mark!(ghosts:value, "text");
    }

    const fn constant(&self) {
        simple_mark!(ghosts:kept, "%u", keep self.depth)
    }
}

fn main() {
    local!();
    with_arguments();
    Queue { depth: LIMIT }.step();
}
