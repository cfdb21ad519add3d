use simple_markers::simple_mark;

struct Command {
    tag: u64,
}

fn main() {
    let command = Command { tag: 1 };
    let (text, c) = (String::from("text"), c"text");
    let f = 1.0f64;
    simple_mark!(name, "%d", keep command.tag);
    simple_mark!(name, "%d", keep tag = command.tag);
    simple_mark!(name, "%s", keep c);
    simple_mark!(name, "%p", keep s = "text");
    simple_mark!(name, "%f", keep f: f32);
    simple_mark!(name, "%d", keep text);
    simple_mark!(name, "%s", keep text);
}
