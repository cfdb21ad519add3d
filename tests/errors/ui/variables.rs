use simple_markers::simple_mark;

struct Command {
    tag: u64,
}

fn main() {
    simple_mark!(name, "%d", unknown);
    let command = Command { tag: 1 };
    simple_mark!(name, "%lu", command.unknown);
    simple_mark!(name, "%lu", command.tag.0);
    simple_mark!(name, "%lu", *command.tag);
}
