//! Random values of types of Rust's library: the programs of `tests/src/whole_values/rust.rs` end with
//! this file. It is no module of theirs, so that `{:?}` and debug information have the same names.

use std::borrow::Cow;
use std::cell::{Cell, LazyCell, OnceCell, RefCell};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ffi::{CStr, CString, OsString};
use std::hash::Hash;
use std::io::Write as _;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::{NonZero, Saturating, Wrapping};
use std::ops::{Range, RangeFrom, RangeInclusive, RangeTo};
use std::os::unix::ffi::OsStringExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{self, AtomicBool, AtomicI8, AtomicI32, AtomicU8, AtomicU16, AtomicU64, AtomicUsize};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, RwLock};
use std::time::Duration;

/// Where random values come from.
struct Source {
    state: u64,
    /// How many elements the value may still have.
    left: u64,
}

impl Source {
    fn new(seed: u64) -> Self {
        Self { state: seed, left: 0 }
    }

    /// A value. One in sixteen is large.
    fn value<T: Make>(&mut self) -> T {
        self.left = if self.below(16) == 0 { 3000 } else { 60 };
        T::make(self)
    }

    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// How many elements there are: none, one, a few, or many if the value is large.
    fn size(&mut self) -> usize {
        let wanted = match self.below(10) {
            0 | 1 => 0,
            2 | 3 => 1,
            4..=8 => 2 + self.below(6),
            _ if self.left > 1000 => self.left / 2,
            _ => 16,
        };
        let size = wanted.min(self.left);
        self.left -= size;
        size as usize
    }

    fn text(&mut self) -> String {
        const TEXTS: [&str; 9] =
            ["", "a", "two words", "\"quoted\" 'twice'", "a\nb\t\\\r", "café", "\u{1f600}\0end", "\x1b[0m\x7f", "{[(&,: .."];
        match self.below(12) {
            number @ 0..=8 => TEXTS[number as usize].to_owned(),
            9 => "long ".repeat(self.size()),
            _ => (0..self.size()).map(|_| char::make(self)).collect(),
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        if self.chance(70) { self.text().into_bytes() } else { (0..self.size()).map(|_| u8::make(self)).collect() }
    }
}

/// Makes a random value.
trait Make: Sized {
    fn make(source: &mut Source) -> Self;
}

fn leaked<T: Make>(source: &mut Source) -> &'static T {
    Box::leak(Box::new(T::make(source)))
}

fn several<T: Make, C: FromIterator<T>>(source: &mut Source) -> C {
    (0..source.size()).map(|_| T::make(source)).collect()
}

/// A value that is made when it is needed first.
fn late<T: Make>() -> T {
    static SEED: atomic::AtomicU64 = atomic::AtomicU64::new(1);
    Source::new(SEED.fetch_add(1, atomic::Ordering::Relaxed)).value()
}

/// What a program prints goes to the file that its first argument names.
fn say(text: String) {
    static FILE: OnceLock<std::fs::File> = OnceLock::new();
    let create = || std::fs::File::create(std::env::args_os().nth(1).unwrap()).unwrap();
    FILE.get_or_init(create).write_all(text.as_bytes()).unwrap();
}

macro_rules! integers {
    ($($of:ident)*) => {$(
        impl Make for $of {
            fn make(source: &mut Source) -> Self {
                match source.below(7) {
                    0 => Self::MAX,
                    1 => Self::MIN,
                    2 => 0,
                    3 => (source.below(100)) as Self,
                    4 => Self::MIN.wrapping_add(1),
                    _ => (u128::from(source.number()) << 64 | u128::from(source.number())) as Self,
                }
            }
        }
        impl Make for NonZero<$of> {
            fn make(source: &mut Source) -> Self {
                Self::new($of::make(source)).unwrap_or(Self::MAX)
            }
        }
        impl Make for Wrapping<$of> {
            fn make(source: &mut Source) -> Self {
                Self($of::make(source))
            }
        }
        impl Make for Saturating<$of> {
            fn make(source: &mut Source) -> Self {
                Self($of::make(source))
            }
        }
    )*};
}
integers!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);

macro_rules! floats {
    ($($of:ident $bits:ident)*) => {$(
        impl Make for $of {
            fn make(source: &mut Source) -> Self {
                let known = [0.0, -0.0, 1.5, 1e-7, 1e16, 1e15, 0.1, Self::NAN, -Self::NAN, Self::INFINITY, Self::NEG_INFINITY,
                    Self::MIN_POSITIVE, Self::MAX, Self::MIN, Self::EPSILON];
                match source.below(3) {
                    0 => known[source.below(known.len() as u64) as usize],
                    1 => (source.below(2000) as Self - 1000.0) / 8.0,
                    _ => Self::from_bits($bits::make(source)),
                }
            }
        }
    )*};
}
floats!(f32 u32 f64 u64);

macro_rules! by {
    ($($of:ty: $source:ident => $value:expr;)*) => {$(
        impl Make for $of {
            fn make($source: &mut Source) -> Self {
                $value
            }
        }
    )*};
}
by! {
    (): _source => ();
    bool: source => source.chance(50);
    char: source => match source.below(4) {
        0 => ['a', '\n', '\'', '"', '\\', '\u{e9}', '\u{10ffff}', '\0', '\u{301}', '\u{200b}'][source.below(10) as usize],
        1 => char::from_u32(source.below(0x11_0000) as u32).unwrap_or('?'),
        _ => (b' ' + source.below(95) as u8) as char,
    };
    String: source => source.text();
    &'static str: source => source.text().leak();
    Box<str>: source => source.text().into();
    Rc<str>: source => source.text().into();
    Arc<str>: source => source.text().into();
    OsString: source => Self::from_vec(source.bytes());
    PathBuf: source => OsString::make(source).into();
    &'static Path: source => Box::leak(PathBuf::make(source).into_boxed_path());
    CString: source => Self::new(source.bytes().into_iter().filter(|byte| *byte != 0).collect::<Vec<_>>()).unwrap();
    &'static CStr: source => Box::leak(CString::make(source).into_boxed_c_str());
    AtomicBool: source => Self::new(bool::make(source));
    AtomicI8: source => Self::new(i8::make(source));
    AtomicI32: source => Self::new(i32::make(source));
    AtomicU8: source => Self::new(u8::make(source));
    AtomicU16: source => Self::new(u16::make(source));
    AtomicU64: source => Self::new(u64::make(source));
    AtomicUsize: source => Self::new(usize::make(source));
    Ordering: source => [Self::Less, Self::Equal, Self::Greater][source.below(3) as usize];
    Duration: source => match source.below(4) {
        0 => Self::ZERO,
        1 => Self::MAX,
        2 => Self::from_millis(source.below(5000)),
        _ => Self::new(source.below(10_000), source.below(1_000_000_000) as u32),
    };
    Ipv4Addr: source => u32::make(source).into();
    Ipv6Addr: source => match source.below(3) {
        0 => Self::LOCALHOST,
        1 => Ipv4Addr::make(source).to_ipv6_mapped(),
        _ => u128::make(source).into(),
    };
    IpAddr: source => if source.chance(50) { Ipv4Addr::make(source).into() } else { Ipv6Addr::make(source).into() };
    SocketAddr: source => (IpAddr::make(source), u16::make(source)).into();
    SocketAddrV4: source => Self::new(Ipv4Addr::make(source), u16::make(source));
    SocketAddrV6: source => Self::new(Ipv6Addr::make(source), u16::make(source), u32::make(source), source.below(3) as u32);
    MaybeUninit<u32>: source => if source.chance(50) { Self::new(u32::make(source)) } else { Self::uninit() };
    PhantomData<u8>: _source => Self;
    Cow<'static, str>: source => if source.chance(50) { source.text().into() } else { Cow::Borrowed(source.text().leak()) };
    Cow<'static, Path>: source => if source.chance(50) { PathBuf::make(source).into() } else { <&Path>::make(source).into() };
    RangeFrom<u16>: source => u16::make(source)..;
    Function: source => if source.chance(50) { nothing } else { other };
}

type Function = fn();

fn nothing() {}

fn other() {
    std::hint::black_box(1);
}

macro_rules! of {
    ($([$($parameter:tt)*] $of:ty: $source:ident => $value:expr;)*) => {$(
        impl<$($parameter)*> Make for $of {
            fn make($source: &mut Source) -> Self {
                $value
            }
        }
    )*};
}
of! {
    [T: Make] Option<T>: source => {
        let is_there = source.left > 0 && source.chance(65);
        source.left = source.left.saturating_sub(1);
        is_there.then(|| T::make(source))
    };
    [T: Make, E: Make] Result<T, E>: source => if source.chance(50) { Ok(T::make(source)) } else { Err(E::make(source)) };
    [T: Make] Box<T>: source => Self::new(T::make(source));
    [T: Make] Rc<T>: source => {
        let made = Self::new(T::make(source));
        (0..source.below(3)).for_each(|_| std::mem::forget(made.clone()));
        made
    };
    [T: Make] Arc<T>: source => {
        let made = Self::new(T::make(source));
        (0..source.below(3)).for_each(|_| std::mem::forget(Self::downgrade(&made)));
        made
    };
    [T: Make + 'static] &'static T: source => leaked(source);
    [T: Make] Vec<T>: source => {
        let mut made: Self = several(source);
        made.reserve(source.below(3) as usize);
        made
    };
    [T: Make] Box<[T]>: source => several(source);
    [T: Make] Rc<[T]>: source => several(source);
    [T: Make] Arc<[T]>: source => several(source);
    [T: Make + 'static] &'static [T]: source => Vec::make(source).leak();
    [T: Make, const N: usize] [T; N]: source => std::array::from_fn(|_| T::make(source));
    [T: Make] VecDeque<T>: source => {
        let mut made: Self = several(source);
        // So that it goes on at the beginning of its buffer.
        for _ in 0..source.below(5) {
            if made.pop_front().is_some() {
                made.push_back(T::make(source));
            }
        }
        made
    };
    [T: Make] LinkedList<T>: source => several(source);
    [T: Make + Ord] BinaryHeap<T>: source => several(source);
    [T: Make + Ord] BTreeSet<T>: source => several(source);
    [K: Make + Ord, V: Make] BTreeMap<K, V>: source => {
        let mut made: Self = (0..source.size()).map(|_| (K::make(source), V::make(source))).collect();
        for _ in 0..source.below(6) {
            made.pop_first();
        }
        made
    };
    [T: Make + Hash + Eq] HashSet<T>: source => several(source);
    [K: Make + Hash + Eq, V: Make] HashMap<K, V>: source => {
        let mut made: Self = (0..source.size()).map(|_| (K::make(source), V::make(source))).collect();
        // So that there are deleted entries.
        let count = source.below(4) as usize;
        let mut number = 0;
        made.retain(|_, _| { number += 1; number > count });
        made
    };
    [T: Make] Cell<T>: source => Self::new(T::make(source));
    [T: Make + 'static] RefCell<T>: source => {
        let made = Self::new(T::make(source));
        match source.below(6) {
            0 => std::mem::forget(made.borrow()),
            1 => std::mem::forget(made.borrow_mut()),
            _ => {}
        }
        made
    };
    [T: Make] Mutex<T>: source => {
        let made = Self::new(T::make(source));
        if source.chance(10) {
            let poison = || { let _guard = made.lock(); panic!() };
            let _: Result<(), _> = catch_unwind(AssertUnwindSafe(poison));
        }
        made
    };
    [T: Make] RwLock<T>: source => Self::new(T::make(source));
    [T: Make] Range<T>: source => T::make(source)..T::make(source);
    [T: Make] RangeInclusive<T>: source => T::make(source)..=T::make(source);
    [T: Make] RangeTo<T>: source => ..T::make(source);
    [T: Make] OnceCell<T>: source => if source.chance(60) { T::make(source).into() } else { Self::new() };
    [T: Make] OnceLock<T>: source => if source.chance(60) { T::make(source).into() } else { Self::new() };
    [T: Make] LazyCell<T>: source => {
        let made = Self::new(late::<T> as fn() -> T);
        source.chance(60).then(|| Self::force(&made));
        made
    };
    [T: Make] LazyLock<T>: source => {
        let made = Self::new(late::<T> as fn() -> T);
        source.chance(60).then(|| Self::force(&made));
        made
    };
    [T: Make] Pin<Box<T>>: source => Box::pin(T::make(source));
    [T: Make] ManuallyDrop<T>: source => Self::new(T::make(source));
    [T: Make] Reverse<T>: source => Self(T::make(source));
    [T: Make + Clone + 'static] Cow<'static, [T]>: source => {
        if source.chance(50) { Cow::Owned(several(source)) } else { Cow::Borrowed(Vec::make(source).leak()) }
    };
    [T: Make] (T,): source => (T::make(source),);
    [T: Make, U: Make] (T, U): source => (T::make(source), U::make(source));
    [T: Make, U: Make, V: Make] (T, U, V): source => (T::make(source), U::make(source), V::make(source));
    [T] *const T: source => [std::ptr::null(), std::ptr::dangling(), source.number() as *const T][source.below(3) as usize];
}
