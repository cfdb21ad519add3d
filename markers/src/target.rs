//! `simple_mark!` itself, defined once for each target: the macro of this crate is compiled for the target that the marker is
//! for, and tells the procedural macro, which runs on the host, what that is.

/// Defines the macro for a target. `$d` is a dollar sign, which a macro cannot write otherwise.
// rustfmt indents the macro inside further each time.
#[rustfmt::skip]
macro_rules! define {
    ($d:tt $target:tt) => {
        /// A marker: a named place in the code with a printf format and the variables that are of interest there.
        ///
        /// ```
        /// # use simple_markers::simple_mark;
        /// # let (cmd, rtn, v) = (&7u8, -1i32, vec![1, 2, 3]);
        /// simple_mark!(scsi:queuecommand, "command %p returned %d", cmd, rtn);
        /// simple_mark!(vec:length, "%zu elements", keep len = v.len());
        /// simple_mark!(checkpoint, "here", options(anchor));
        /// ```
        ///
        /// # Syntax
        ///
        /// `simple_mark!(NAME, "FORMAT" [, ARGUMENT]... [, options(anchor)])`
        ///
        /// - **NAME**: identifiers (keywords too) joined by `:`, or a string literal. By convention `subsystem:component`, one
        ///   marker for each name.
        /// - **FORMAT**: a string literal with printf conversions, one for each argument. It is checked against the arguments'
        ///   types when the program is compiled, whether the marker is emitted or not.
        /// - **ARGUMENT**: a place: `x`, `self.queue.depth`, `t.0`, `*p`, `a[3]` (a literal index), or `&x` for its address. A place is
        ///   recorded by name, for a debugger to look up. It is never evaluated, read, moved or copied; for the compiler's
        ///   lints the marker is one shared use of it. It must have a value, not moved out; it may be mutably borrowed.
        /// - **`keep x`**, **`keep len = v.len()`**: the value is evaluated and is guaranteed to be readable at the marker, without any
        ///   debug information: it is an operand of the assembly, and the register stands in the site record.
        /// - **`options(anchor)`**: one `nop` of the marker's own, so that its address is passed when, and only when, the
        ///   marker is.
        ///
        /// # Formats
        ///
        /// `%[flags][width][.precision][length]conversion` as in C, without `%n`:
        ///
        /// | conversion | length | accepts |
        /// | --- | --- | --- |
        /// | `d i` | none / `hh` / `h` | `i8 i16 i32` / `i8` / `i8 i16`; `bool` |
        /// | `d i` | `l ll j` / `z t` | `i64` / `isize` |
        /// | `u o x X b B` | none / `hh` / `h` | `u8 u16 u32` / `u8` / `u8 u16`; `bool` |
        /// | `u o x X b B` | `l ll j` / `z t` | `u64` / `usize` |
        /// | `c` | none | `char`, `u8`, `i8` |
        /// | `s` | none | `str`, `String`, `CStr`, `CString`, `Box`/`Rc`/`Arc`/`Cow` of them, `[u8]` and `Vec<u8>`, `*const c_char` |
        /// | `p` | none | references, raw pointers, `NonNull`, `Box`, `Rc`, `Arc`, function pointers, `Option` of them |
        /// | `e f g a`, capitals | none, `l` | `f32`, `f64` |
        ///
        /// Each also accepts `&T` and `&mut T` of what it accepts, and `Wrapping`, `NonZero`, atomics and `Cell` of an integer that it
        /// accepts. A width or precision of `*` takes an `i32` argument of its own.
        ///
        /// # What `keep` takes and costs
        ///
        /// Integers, `bool`, `char`, floats, pointers and references. The value must be in a register at the marker: nothing
        /// where it is in one anyway, else one move or load; and the optimiser can no longer remove what computes it. The
        /// register holds as many bytes as the conversion says (`%hhu` 1, `%d` 4, `%lu` 8), so a smaller integer is
        /// extended, and an `f32` becomes the `f64` that printf takes. `keep x: i16` and `keep x: f32` keep the type's own width.
        /// The path of the source file must be without `{`, `}` and `$`.
        ///
        /// The expression is evaluated once, where the marker stands, and not at all where markers are off: as with
        /// `debug_assert!`, the program must not depend on its effects.
        ///
        /// # What every marker costs
        ///
        /// No instruction and no loaded byte. Yet the compiler sees a place that it may not move or duplicate at will: a loop
        /// with a marker in its body is not vectorised, and a branch with one is not turned into a conditional move.
        /// At a marker with arguments, memory that code outside of the function could read is up to date. What is behind an
        /// exclusive reference (`&mut self`) may still be held back in a register: `keep` what has to be exact.
        ///
        /// # Where it can stand
        ///
        /// Wherever an expression of type `()` can, but for `const fn`, which cannot hold assembly.
        #[macro_export]
        macro_rules! simple_mark {
            ($d($d marker:tt)*) => {
                $d crate::__private::marker! { $d crate $target $d($d marker)* }
            };
        }
    };
}

/// Calls [`define`] for the first target whose condition holds; for none of them, nothing is emitted.
macro_rules! define_for {
    ($d:tt $($condition:meta => $target:tt,)*) => {
        define_for! { @ $d () $($condition => $target,)* }
    };
    (@ $d:tt ($($before:meta)*) $condition:meta => $target:tt, $($rest:tt)*) => {
        #[cfg(all($condition, not(any($($before,)*))))]
        define! { $d $target }
        define_for! { @ $d ($($before)* $condition) $($rest)* }
    };
    (@ $d:tt ($($before:meta)*)) => {
        #[cfg(not(any($($before,)*)))]
        define! { $d off }
    };
}

define_for! { $
    any(
        simple_marker_off,
        feature = "off",
        miri,
        windows,
        target_vendor = "apple",
        target_family = "wasm",
        target_os = "uefi",
        target_os = "aix",
        target_os = "cygwin",
    ) => off,
    all(target_arch = "x86_64", target_pointer_width = "64") => x86_64,
    all(target_arch = "x86", target_pointer_width = "32") => x86,
    all(target_arch = "aarch64", target_pointer_width = "64") => aarch64,
    target_arch = "riscv32" => riscv32,
    target_arch = "riscv64" => riscv64,
}
