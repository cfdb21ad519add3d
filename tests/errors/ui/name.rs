use simple_markers::simple_mark;

fn main() {
    simple_mark!();
    simple_mark!("", "format");
    simple_mark!("nul\0", "format");
    simple_mark!(3, "format");
    simple_mark!(scsi::queue, "format");
    simple_mark!(scsi:, "format");
    simple_mark!(scsi queue, "format");
    simple_mark!("format %d", x);
}
