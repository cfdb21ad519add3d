use simple_markers::simple_probe;

fn main() {
    simple_probe!();
    simple_probe!(probe:count, "%u");
    simple_probe!(probe:count, "%u", 1u32, 2u32);
    simple_probe!(probe:options, "%u", 1u32, options(keep));
    simple_probe!(
        probe:many, "%u %u %u %u %u %u %u %u %u %u %u %s",
        0u32, 1u32, 2u32, 3u32, 4u32, 5u32, 6u32, 7u32, 8u32, 9u32, 10u32, "text"
    );
}
