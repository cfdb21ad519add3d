//! The four functions. `c/points.c` has them in C.

/// The functions that are measured, with the `point!` that is in scope.
macro_rules! functions {
    () => {
        use $crate::State;

        /// Straight line.
        #[inline(never)]
        pub fn line(state: &mut State, value: u32) -> u32 {
            let mixed = value.wrapping_mul(0x9e37_79b9) ^ state.last;
            let count = state.count.wrapping_add(1);
            point!(line, mixed, count);
            state.last = mixed;
            state.count = count;
            mixed.rotate_left(5) ^ count
        }

        /// Branches and small loops: five points.
        #[inline(never)]
        pub fn tokenise(text: &[u8]) -> u32 {
            let (mut tokens, mut depth, mut sum) = (0u32, 0u32, 0u32);
            let mut rest = text;
            while let [byte, after @ ..] = rest {
                let mut size = 1u32;
                rest = after;
                match byte {
                    b' ' | b'\n' => continue,
                    b'a'..=b'z' | b'_' => {
                        while let [b'a'..=b'z' | b'_' | b'0'..=b'9', after @ ..] = rest {
                            size += 1;
                            rest = after;
                        }
                        point!(word, tokens, size);
                        sum = sum.wrapping_add(size);
                    }
                    b'0'..=b'9' => {
                        let mut value = u32::from(byte - b'0');
                        while let [digit @ b'0'..=b'9', after @ ..] = rest {
                            value = value.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'));
                            rest = after;
                        }
                        point!(number, tokens, value);
                        sum = sum.wrapping_add(value);
                    }
                    b'(' => {
                        depth = depth.wrapping_add(1);
                        point!(open, tokens, depth);
                    }
                    b')' => {
                        depth = depth.wrapping_sub(1);
                        point!(close, tokens, depth);
                    }
                    _ => {
                        point!(other, tokens, depth);
                        sum ^= u32::from(*byte);
                    }
                }
                tokens = tokens.wrapping_add(1);
            }
            sum ^ tokens ^ depth
        }

        /// A loop that is vectorised if nothing prevents it.
        #[inline(never)]
        pub fn scale(values: &mut [u32], factor: u32) {
            for value in values {
                let scaled = value.wrapping_mul(factor).wrapping_add(7);
                point!(element, scaled, factor);
                *value = scaled;
            }
        }

        /// A tiny function that is inlined if nothing prevents it.
        #[inline]
        fn advance(state: &mut State, by: u32) -> u32 {
            let position = state.last.wrapping_add(by);
            point!(advance, position, by);
            state.last = position;
            position & 0xfff
        }

        /// Calls it from three places.
        #[inline(never)]
        pub fn three(state: &mut State, value: u32) -> u32 {
            let sum = advance(state, value) ^ advance(state, value >> 3);
            sum ^ advance(state, !value)
        }
    };
}

pub(crate) use functions;

/// The functions of C.
macro_rules! foreign {
    ($($(#[$meta:meta])* $contender:ident: $line:ident $tokenise:ident $scale:ident $three:ident;)*) => {$(
        $(#[$meta])*
        pub mod $contender {
            use $crate::State;

            unsafe extern "C" {
                safe fn $line(state: &mut State, value: u32) -> u32;
                unsafe fn $tokenise(text: *const u8, length: usize) -> u32;
                unsafe fn $scale(values: *mut u32, length: usize, factor: u32);
                safe fn $three(state: &mut State, value: u32) -> u32;
            }

            /// Straight line.
            pub fn line(state: &mut State, value: u32) -> u32 {
                $line(state, value)
            }

            /// Branches and small loops.
            pub fn tokenise(text: &[u8]) -> u32 {
                // SAFETY: it reads the `length` bytes at `text`.
                unsafe { $tokenise(text.as_ptr(), text.len()) }
            }

            /// A loop that can be vectorised.
            pub fn scale(values: &mut [u32], factor: u32) {
                // SAFETY: it reads and writes the `length` numbers at `values`.
                unsafe { $scale(values.as_mut_ptr(), values.len(), factor) }
            }

            /// Three calls of a tiny function.
            pub fn three(state: &mut State, value: u32) -> u32 {
                $three(state, value)
            }
        }
    )*};
}

pub(crate) use foreign;
