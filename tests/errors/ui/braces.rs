use simple_markers::{simple_mark, simple_probe};

enum Shape {
    Point,
    Circle(u32),
}

fn main() {
    let (id, u, i, text) = (1u32, 1u64, 1i128, String::from("text"));
    let shape = if id == 1 { Shape::Point } else { Shape::Circle(2) };
    simple_probe!(name, "request {id} %lu", u);
    simple_probe!(name, "{} {:?}", u);
    simple_mark!(name, "{id} %lu", u);
    simple_mark!(name, "%d{}", shape);
    simple_mark!(name, "%lld", i);
    simple_mark!(name, "%lld", keep i);
    simple_mark!(name, "%s", keep text);
    simple_mark!(name, "{{id}} {\"depth\": {%u}} %u{}", id, id);
}
