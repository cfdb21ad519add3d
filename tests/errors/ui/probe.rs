use simple_markers::simple_probe;

enum State {
    Idle,
}

fn main() {
    let (x, s, state) = (5u64, "text", State::Idle);
    simple_probe!(probe:types, "%d", x);
    simple_probe!(probe:types, "%d", s);
    simple_probe!(probe:types, "%s", x + 1);
    simple_probe!(probe:types, "%p", x);
    simple_probe!(probe:types, "%u", state);
    simple_probe!(probe:types, "%*d", x, 1);
    simple_probe!(probe:moved, "%s", { s });
}
