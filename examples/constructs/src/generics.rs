//! Generic code: a site for each instantiation.

use std::fmt::Debug;
use std::hint::black_box;
use std::marker::PhantomData;

use constructs_library::witness;
use simple_markers::simple_mark;

pub(crate) fn run() {
    two(black_box(1u8));
    two(black_box(1u64));
    lengths(black_box(&[1u8, 2]));
    lengths(black_box(&[1u8, 2, 3]));
    Wrapper(black_box(1u32)).method();
    impl_argument(black_box(1u16));
    associated::<Small>();
    associated::<Large>();
    black_box(Tagged::<u8>(PhantomData)).method();
    constructs_library::instantiated(black_box(&1u8));
    constructs_library::instantiated(black_box(&"text"));
}

#[inline(never)]
fn two<T: Debug>(value: T) {
    // The conversion must be right for every `T`, so it shows an address.
    simple_mark!(construct:generic, "value at %p", &value); //~ live 2 times
    witness(7300);
    black_box(value);
}

#[expect(dead_code, reason = "this is what is tested")]
fn none<T: Debug>(value: T) {
    simple_mark!(construct:never_instantiated, "value at %p", &value); //~ eliminated
    witness(7301);
    black_box(value);
}

#[inline(never)]
fn lengths<const N: usize>(values: &[u8; N]) {
    simple_mark!(construct:const_generic, "%zu bytes", keep length = N); //~ live 2 times
    witness(7302);
    black_box(values);
}

struct Wrapper<T>(T);

impl<T: Copy + Debug> Wrapper<T> {
    #[inline(never)]
    fn method(&self) {
        simple_mark!(construct:generic_method, "wrapped at %p", &self.0); //~ live 1 time
        witness(7303);
        black_box(self.0);
    }

    #[expect(dead_code, reason = "this is what is tested")]
    fn never_called(&self) {
        simple_mark!(construct:generic_method:never_called, "wrapped at %p", &self.0); //~ eliminated
        witness(7304);
    }
}

#[inline(never)]
fn impl_argument(value: impl Into<u64>) {
    let value: u64 = value.into();
    simple_mark!(construct:impl_argument, "value %lu", value); //~ live 1 time
    witness(7305);
    black_box(value);
}

trait Limit {
    const LIMIT: u32;
}

struct Small;
struct Large;

impl Limit for Small {
    const LIMIT: u32 = 1;
}

impl Limit for Large {
    const LIMIT: u32 = 1000;
}

#[inline(never)]
fn associated<T: Limit>() {
    if T::LIMIT > 100 {
        // Only one of the two instantiations has this branch.
        simple_mark!(construct:associated_const, "limit %u", keep limit = T::LIMIT); //~ live 1 time; keeps 1000
        witness(7306);
    }
}

struct Tagged<T>(PhantomData<T>);

impl Tagged<u8> {
    #[inline(never)]
    fn method(&self) {
        simple_mark!(construct:specific_impl, "at %p", self); //~ live 1 time
        witness(7307);
        black_box(self);
    }
}
