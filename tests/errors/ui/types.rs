use simple_markers::simple_mark;

struct Command {
    tag: u64,
}

fn main() {
    let (i, u, s, z) = (1i32, 1u32, 1u64, 1usize);
    let command = Command { tag: 1 };
    let name = String::from("name");
    simple_mark!(name, "%d", s);
    simple_mark!(name, "%d", command.tag);
    simple_mark!(name, "%x", i);
    simple_mark!(name, "%llx", u);
    simple_mark!(name, "%lu", z);
    simple_mark!(name, "%zu", s);
    simple_mark!(name, "%hhd", i);
    simple_mark!(name, "%c", i);
    simple_mark!(name, "%g", i);
    simple_mark!(name, "%d", 1.0f32.0);
    simple_mark!(name, "%d", name);
    simple_mark!(name, "%d", command);
    simple_mark!(name, "%s", s);
    simple_mark!(name, "%s", command);
    simple_mark!(name, "%p", s);
    simple_mark!(name, "%*d", s, i);
    let pointer = &raw const command;
    let float = 1.5;
    simple_mark!(name, "%lx", pointer);
    simple_mark!(name, "%d", float);
    simple_mark!(name, "%d %u", i, i);
}
