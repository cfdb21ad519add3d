//! Every type that `%s` shows.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char};
use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    owned();
    borrowed(black_box("text"), black_box(c"text"), black_box(b"text"));
}

#[inline(never)]
fn owned() {
    let string = black_box(String::from("string"));
    let bytes = black_box(vec![b'v']);
    let boxed: Box<str> = black_box("boxed".into());
    let counted: Rc<str> = black_box("rc".into());
    let shared: Arc<str> = black_box("arc".into());
    let cow: Cow<'_, str> = black_box("cow".into());
    let terminated: CString = black_box(c"owned".to_owned());
    simple_mark!(construct:text:string, "%s", string); //~ live 1 time
    simple_mark!(construct:text:vec, "%s", bytes); //~ live 1 time
    simple_mark!(construct:text:box, "%s", boxed); //~ live 1 time
    simple_mark!(construct:text:rc, "%s", counted); //~ live 1 time
    simple_mark!(construct:text:arc, "%s", shared); //~ live 1 time
    simple_mark!(construct:text:cow, "%s", cow); //~ live 1 time
    simple_mark!(construct:text:c_string, "%-10.4s|", terminated); //~ live 1 time
    witness(8000);
}

#[inline(never)]
fn borrowed(text: &str, terminated: &CStr, bytes: &[u8; 4]) {
    let slice: &[u8] = bytes;
    let pointer: *const c_char = terminated.as_ptr();
    simple_mark!(construct:text:str, "%s", text); //~ live 1 time
    simple_mark!(construct:text:c_str, "%s", terminated); //~ live 1 time
    simple_mark!(construct:text:bytes, "%s", bytes); //~ live 1 time
    simple_mark!(construct:text:slice, "%s", slice); //~ live 1 time
    simple_mark!(construct:text:c_char, "%s", pointer); //~ live 1 time
    witness(8001);
    simple_mark!(construct:text:kept, "%s", keep pointer); //~ live 1 time
    witness(8002);
}
