use simple_markers::{simple_span, span};

fn main() {
    let _ = simple_span!();
    let _span = simple_span!(span:count, "%u");
    let _span = simple_span!(span:kind, "%d", 1u64);
    let _span = simple_span!(span:options, "%u", 1u32, options(keep));
    let _span = simple_span!(
        span:many, "%u %u %u %u %u %u %u %u %u %u %s",
        0u32, 1u32, 2u32, 3u32, 4u32, 5u32, 6u32, 7u32, 8u32, 9u32, "text"
    );
}

#[span(span:constant)]
const fn constant() {}

#[span]
struct Nothing;

#[span(span:unknown, "%u", missing)]
fn unknown() {}
