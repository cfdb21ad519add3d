//! Values of types of other crates, which a user describes. Prints for each its name, its address and its
//! text, marks it, and waits.

use std::fmt::Debug;

use bytes::Bytes;
use simple_markers::simple_mark;
use smallvec::SmallVec;

mod shop {
    /// Numbers in memory of its own.
    pub struct Buffer {
        pub start: *const u16,
        pub used: usize,
    }

    impl std::fmt::Debug for Buffer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            // SAFETY: `start` points to `used` numbers that are never freed.
            unsafe { std::slice::from_raw_parts(self.start, self.used) }.fmt(f)
        }
    }
}

mod other {
    #[allow(dead_code)]
    #[derive(Debug)]
    pub struct Buffer {
        pub start: u8,
        pub used: usize,
    }
}

fn kept<T: Debug>(name: &str, value: T) -> &'static T {
    kept_as(name, value, |text| text)
}

/// A value with another text than that of `Debug`.
fn kept_as<T: Debug>(name: &str, value: T, text: impl FnOnce(String) -> String) -> &'static T {
    let value = Box::leak(Box::new(value));
    println!("{name}\t{value:p}\t{}", text(format!("{value:?}")));
    value
}

fn main() {
    let bytes = kept_as("bytes", Bytes::from_static(b"hello"), |text| text[1..].to_owned());
    simple_mark!(views:bytes, "%p{}", *bytes);
    let slice = kept_as("slice", Bytes::from(vec![b'x'; 20]).slice(3..6), |text| text[1..].to_owned());
    simple_mark!(views:slice, "%p{}", *slice);
    let few = kept("few", SmallVec::<[u32; 4]>::from_slice(&[1, 2]));
    simple_mark!(views:few, "%p{}", *few);
    let many = kept("many", (0..6).collect::<SmallVec<[u64; 4]>>());
    simple_mark!(views:many, "%p{}", *many);
    let texts = kept("texts", SmallVec::<[String; 2]>::from_iter(["a".to_owned()]));
    simple_mark!(views:texts, "%p{}", *texts);
    let more_texts = kept("more_texts", ["a", "b", "c"].map(str::to_owned).into_iter().collect::<SmallVec<[String; 2]>>());
    simple_mark!(views:more_texts, "%p{}", *more_texts);
    let numbers = Box::leak(Box::new([7u16, 8, 9]));
    let buffer = kept("buffer", shop::Buffer { start: numbers.as_ptr(), used: 2 });
    simple_mark!(views:buffer, "%p{}", *buffer);
    let other = kept("other", other::Buffer { start: 1, used: 2 });
    simple_mark!(views:other, "%p{}", *other);
    println!("end");
    let _ = std::io::stdin().read_line(&mut String::new());
}
