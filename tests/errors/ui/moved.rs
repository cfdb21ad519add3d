use simple_markers::simple_mark;

struct Command {
    tag: u64,
}

fn main() {
    let command = Command { tag: 1 };
    drop(command);
    simple_mark!(name, "%lu", command.tag);
    let late: i32;
    simple_mark!(name, "%d", late);
    let mut changing = 1i32;
    let exclusive = &mut changing;
    // Not read, so no error: a debugger may look at what is mutably borrowed.
    simple_mark!(name, "%d", changing);
    // Read.
    simple_mark!(name, "%d", keep changing);
    *exclusive = 2;
}
