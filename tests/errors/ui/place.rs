use simple_markers::simple_mark;

fn call() -> i32 {
    1
}

fn main() {
    let (x, v, i) = (1i32, vec![1i32], 0usize);
    simple_mark!(name, "%d", call());
    simple_mark!(name, "%zu", v.len());
    simple_mark!(name, "%d", x + 1);
    simple_mark!(name, "%d", -x);
    simple_mark!(name, "%d", 5);
    simple_mark!(name, "%d", v[i]);
    simple_mark!(name, "%d", v[i + 1]);
    simple_mark!(name, "%ld", x as i64);
    simple_mark!(name, "%d", { x });
    simple_mark!(name, "%d", y = x);
    simple_mark!(name, "%p", &mut x);
    simple_mark!(name, "%p", &&x);
    simple_mark!(name, "%s", stringify!(x));
    simple_mark!(name, "%d", keep x + 1);
    simple_mark!(name, "%d", i32::MAX.0);
    simple_mark!(name, "%d", Vec::<i32>::new);
}
