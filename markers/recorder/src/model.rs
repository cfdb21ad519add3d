//! A model of the recorder: one thread, the signals that interrupt it, and a reader. It goes through
//! all orders of their steps, and looks at the buffer after each, as after `kill -9`.
//!
//! Steps are single loads and stores. The order of the stores of the slow path is that of
//! `packet.rs` itself. The steps of the fast path are those of `entry/x86_64.rs`:
//!
//! | step | assembly, for scalars |
//! | --- | --- |
//! | `Packet` | `mov rsi, [rcx + packet]`, after `start` |
//! | `Content` | `mov r9, [rsi + content_size]`, and the comparison with the limit |
//! | `Time` | `mov [r9 + time], rax`: the first word of the record |
//! | `Value` | `mov [r9 + rdx * 8 + 8], rdi`: the last word |
//! | `Publish` | `mov [rsi + content_size], rax`, before `end` |
//! | `Drop` | `lock inc [rsi]`, with the comparisons before it |
//!
//! A signal between `start` and `end` sets the step to `Packet`, as the kernel does with a
//! restartable sequence. Two other protocols are in the model: without this, and with a comparison
//! of the content size instead. Both are wrong, and the model has to find that.
//!
//! The reader sees stores in their order, so it sees the buffer as it was at one moment for each
//! load. On x86-64 stores of another processor are seen like that. On AArch64 those of a header are
//! releases, and so is `Publish`, which comes after the record. There is a barrier behind the first
//! store of a new packet. `order.rs` checks that this is enough.

use std::collections::HashSet;

use world::{Bounds, Protocol, World};

mod order;
mod world;

/// Goes through all worlds, and returns how many there are.
fn explore(bounds: &Bounds) -> Result<usize, &'static str> {
    let start = World::new(bounds);
    let mut seen = HashSet::from([start.clone()]);
    let mut open = std::vec![start];
    while let Some(world) = open.pop() {
        world.check()?;
        if world.hits == 0 && world.frames.is_empty() {
            world.check_end()?;
        }
        for world in world.after(bounds)? {
            if seen.insert(world.clone()) {
                open.push(world);
            }
        }
    }
    Ok(seen.len())
}

const BOUNDS: Bounds = Bounds { protocol: Protocol::Sequence, overwrites: false, hits: 4, signals: 2, jumps: 1 };

#[test]
fn no_order_of_steps_tears_or_loses_a_record() {
    for overwrites in [false, true] {
        let worlds = explore(&Bounds { overwrites, ..BOUNDS }).unwrap();
        std::println!("{worlds} worlds");
        assert!(worlds > 10_000);
    }
}

#[test]
fn handlers_may_fill_packets_while_a_hit_is_interrupted() {
    let bounds = Bounds { overwrites: true, hits: 1, signals: 5, jumps: 0, ..BOUNDS };
    assert!(explore(&bounds).unwrap() > 10_000);
}

#[test]
fn the_model_finds_that_other_protocols_are_wrong() {
    let bounds = Bounds { overwrites: true, hits: 1, signals: 5, jumps: 0, ..BOUNDS };
    assert_eq!(explore(&Bounds { protocol: Protocol::Compare, ..bounds }), Err("a torn record"));
    assert!(explore(&Bounds { protocol: Protocol::Nothing, ..bounds }).is_err());
    assert!(explore(&Bounds { protocol: Protocol::Nothing, ..BOUNDS }).is_err());
}
