//! The conversions as types: `%lu` is the type `lu`. Error messages print these names.
#![allow(non_camel_case_types, missing_docs, reason = "the names are the conversions")]

/// A conversion with its length modifier: the types it expects, and the right conversion for each
/// type of number.
pub trait Conversion {
    /// The accepted types, for the message.
    type Expected;
    type I8;
    type I16;
    type I32;
    type I64;
    type Isize;
    type U8;
    type U16;
    type U32;
    type U64;
    type Usize;
    type Bool;
    type Char;
    type Float;
}

/// `letter: expected types, then the right conversion for I8 I16 I32 I64 Isize | U8 U16 U32 U64 Usize | Bool Char Float`.
macro_rules! conversions {
    ($($name:ident: $expected:ty, $i8:ident $i16:ident $i32:ident $i64:ident $isize:ident
        | $u8:ident $u16:ident $u32:ident $u64:ident $usize:ident | $bool:ident $char:ident $float:ident;)*) => {$(
        #[derive(Debug)]
        pub enum $name {}
        impl Conversion for $name {
            type Expected = $expected;
            type I8 = $i8;
            type I16 = $i16;
            type I32 = $i32;
            type I64 = $i64;
            type Isize = $isize;
            type U8 = $u8;
            type U16 = $u16;
            type U32 = $u32;
            type U64 = $u64;
            type Usize = $usize;
            type Bool = $bool;
            type Char = $char;
            type Float = $float;
        }
    )*};
}

/// The signed conversions of one letter: without length, then `hh h l ll j z t`.
macro_rules! signed {
    ($($n:ident $hh:ident $h:ident $l:ident $ll:ident $j:ident $z:ident $t:ident;)*) => { conversions! {$(
        $n: (i8, i16, i32, bool), $n $n $n $l $z | u u u lu zu | $n c f;
        $hh: (i8, bool), $hh $h $n $l $z | hhu hu u lu zu | $hh c f;
        $h: (i8, i16, bool), $h $h $n $l $z | hu hu u lu zu | $h c f;
        $l: i64, $n $n $n $l $z | u u u lu zu | $n c f;
        $ll: i64, $n $n $n $ll $z | u u u llu zu | $n c f;
        $j: i64, $n $n $n $j $z | u u u ju zu | $n c f;
        $z: isize, $n $n $n $l $z | u u u lu zu | $n c f;
        $t: isize, $n $n $n $l $t | u u u lu tu | $n c f;
    )*} };
}

/// The unsigned conversions of one letter: without length, then `hh h l ll j z t`.
macro_rules! unsigned {
    ($($n:ident $hh:ident $h:ident $l:ident $ll:ident $j:ident $z:ident $t:ident;)*) => { conversions! {$(
        $n: (u8, u16, u32, bool), d d d ld zd | $n $n $n $l $z | $n c f;
        $hh: (u8, bool), hhd hd d ld zd | $hh $h $n $l $z | $hh c f;
        $h: (u8, u16, bool), hd hd d ld zd | $h $h $n $l $z | $h c f;
        $l: u64, d d d ld zd | $n $n $n $l $z | $n c f;
        $ll: u64, d d d lld zd | $n $n $n $ll $z | $n c f;
        $j: u64, d d d jd zd | $n $n $n $j $z | $n c f;
        $z: usize, d d d ld zd | $n $n $n $l $z | $n c f;
        $t: usize, d d d ld td | $n $n $n $l $t | $n c f;
    )*} };
}

/// The conversions of floats; `l` makes no difference.
macro_rules! floats {
    ($($n:ident $l:ident;)*) => { conversions! {$(
        $n: (f32, f64), d d d ld zd | u u u lu zu | d c $n;
        $l: (f32, f64), d d d ld zd | u u u lu zu | d c $l;
    )*} };
}

signed! {
    d hhd hd ld lld jd zd td;
    i hhi hi li lli ji zi ti;
}

unsigned! {
    u hhu hu lu llu ju zu tu;
    o hho ho lo llo jo zo to;
    x hhx hx lx llx jx zx tx;
    X hhX hX lX llX jX zX tX;
    b hhb hb lb llb jb zb tb;
    B hhB hB lB llB jB zB tB;
}

floats! {
    e le;
    E lE;
    f lf;
    F lF;
    g lg;
    G lG;
    a la;
    A lA;
}

conversions! {
    c: (char, u8, i8), c d d ld zd | c u u lu zu | d c f;
}

/// `%s`, suggested if the argument is text.
#[derive(Debug)]
pub enum s {}

/// `%p`, suggested if the argument is a pointer.
#[derive(Debug)]
pub enum p {}
