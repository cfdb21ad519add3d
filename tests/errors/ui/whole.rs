use simple_markers::{simple_mark, simple_probe};

struct Owner {
    name: String,
    r#type: u8,
}

struct Queue {
    depth: usize,
    owner: Box<Owner>,
    pair: (u8, Owner),
}

fn main() {
    let owner = || Owner { name: String::from("name"), r#type: 2 };
    let queue = &Queue { depth: 1, owner: Box::new(owner()), pair: (1, owner()) };
    // No error: any type, and members behind references and boxes.
    simple_mark!(name, "%p{} %p{*} %p{depth, owner.name,pair.1.type}", queue, *queue, queue);
    simple_mark!(name, "%p{:>8} %p{:x}", queue.depth, keep depth: usize = queue.depth);
    simple_mark!(name, "%p{dept}", queue);
    simple_mark!(name, "%p{owner.nam,pair.2}", queue);
    simple_mark!(name, "%p{owner.nam}", queue, options(ghost));
    simple_mark!(name, "%p{depth,}", queue);
    simple_mark!(name, "%p{depth name}", queue);
    simple_mark!(name, "%p{self}", queue);
    simple_mark!(name, "%p{**********}", queue);
    simple_mark!(name, "%p{:>1$}", queue.depth);
    simple_mark!(name, "%p{}", queue.depth + 1);
    simple_mark!(name, "%p{}", keep queue);
    simple_mark!(name, "%p{depth} %p{:x}", queue, queue.depth, options(keep));
    simple_mark!(name, "%p{:x}", keep depth: u32 = queue.depth);
    simple_mark!(name, "%p{:x}", keep depth = queue.depth);
    simple_probe!(name, "%p{depth}", queue);
}
