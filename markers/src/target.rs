//! `simple_mark!` and `simple_probe!` themselves, with one definition for each target. This crate is compiled for the
//! target of the program. The macro passes that target to the procedural macro, which runs on the
//! host.

/// Defines the macro for a target. `$d` is a dollar sign: a macro cannot write one in another way.
// rustfmt indents the inner macro further each time.
#[rustfmt::skip]
macro_rules! define {
    ($d:tt off) => { define! { $d off (@block $d($d block:tt)*) => {} } };
    ($d:tt $target:tt) => { define! { $d $target (@block $d($d block:tt)*) => { let $d($d block)*; } } };
    // `$block` is the rule for the variables of a block, which `#[ghosts]` writes.
    ($d:tt $target:tt $($block:tt)*) => {
        /// Marks a place in the code, with a name, a printf format and the variables that matter
        /// there.
        ///
        /// ```
        /// # use simple_markers::simple_mark;
        /// # let (cmd, rtn, v) = (&7u8, -1i32, vec![1, 2, 3]);
        /// simple_mark!(scsi:queuecommand, "command %p returned %d", cmd, rtn);
        /// simple_mark!(vec:length, "%zu elements", keep len = v.len());
        /// simple_mark!(checkpoint, "here", options(anchor));
        /// simple_mark!(scsi:done, "command %p returned %d", cmd, rtn, options(keep));
        /// ```
        ///
        /// # Syntax
        ///
        /// `simple_mark!(NAME, "FORMAT" [, ARGUMENT]... [, options(keep, anchor)])`
        /// `simple_mark!(NAME, "FORMAT" [, ARGUMENT]... [, options(ghost)]);`
        ///
        /// - **NAME**: identifiers (keywords too) joined by `:`, or a string literal. By convention
        ///   `subsystem:component`, one marker for each name.
        /// - **FORMAT**: a string literal with printf conversions, one for each argument, or with the
        ///   placeholders of `format!`. It is checked against the arguments' types at compile time,
        ///   whether the marker is emitted or not.
        /// - **ARGUMENT**: a place: `x`, `self.queue.depth`, `t.0`, `*p`, `a[3]` (a literal index),
        ///   or `&x` for its address. A place is recorded by name, and tools look it up in the
        ///   debug information. It is never evaluated, read, moved or copied. For the compiler's
        ///   lints the marker is a shared use of it. It must not be moved out; it may be mutably
        ///   borrowed.
        /// - **`keep x`**, **`keep len = v.len()`**: the value is evaluated, and can always be read
        ///   at the marker, even without debug information. It is an operand of the assembly, and
        ///   the site record names the register.
        /// - **`options(anchor)`**: one `nop` of the marker's own, so that its address is passed
        ///   when, and only when, the marker is.
        /// - **`options(anchor = fast)`**: the same, and on x86-64 ten bytes more, which Linux 7.2
        ///   turns into a call while the marker is watched, so that a hit costs less.
        /// - **`options(keep)`**: every argument is kept, as if `keep` stood before each place. An
        ///   argument that says `keep` itself keeps its name and width. `options(keep, anchor)`
        ///   does both.
        /// - **`options(ghost)`**: a marker that the compiler does not see, so that it compiles the same
        ///   code as without it (`docs/markers.md`, "Ghosts"). Its place is in the debug information
        ///   alone. It is a statement, and its places are checked and not used.
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
        /// Each conversion also accepts `&T` and `&mut T` of the types it accepts, and `Wrapping`,
        /// `NonZero`, atomics and `Cell` of such an integer. A width or precision of `*` takes an
        /// `i32` argument of its own.
        ///
        /// Words in braces right behind an integer conversion name the values of its argument:
        /// `%u{IDLE=0,BUSY=1}` prints one of the names, and `%x{Flags::READ.bits()|Flags::WRITE.bits()}`
        /// those of the bits that are set. A value is a constant expression. `%d{}` takes a place of an
        /// enum without fields, and prints the variant that the debug information has for the value.
        ///
        /// `%p{}` takes a place of any type, and shows the whole value as the debug information describes
        /// it; `%p{*}` shows one level of it, and `%p{tag,owner.name}` two members, which must exist.
        /// `%p{:>8}` shows it as `format!` does for `{:>8}`.
        ///
        /// A format with placeholders and without conversions is in the notation of `format!`. A
        /// placeholder names a place (`{self.queue.depth}`), or stands for an argument:
        ///
        /// ```
        /// # use simple_markers::simple_mark;
        /// # struct Client { name: String }
        /// # let (id, client, queue) = (1, Client { name: String::from("a") }, vec![1]);
        /// simple_mark!(queue:submit, "request {id} from {client.name:?}, {} waiting", queue);
        /// ```
        ///
        /// A width and a precision are numbers there, and `keep` needs the type: `keep id: u32`.
        ///
        /// # What `keep` takes and costs
        ///
        /// It takes integers, `bool`, `char`, floats, pointers and references. The value must be in
        /// a register at the marker. This costs nothing if it is in one anyway, else one move or
        /// load. The optimiser can no longer remove the code that computes it. The register holds
        /// as many bytes as the conversion says (`%hhu` 1, `%d` 4, `%lu` 8): a smaller integer is
        /// extended, and an `f32` becomes the `f64` that printf takes. `keep x: i16` and
        /// `keep x: f32` keep the width of the type. The path of the source file must not contain
        /// `{`, `}` or `$`.
        ///
        /// The expression is evaluated once, at the marker. It is not evaluated when markers are
        /// off. As with `debug_assert!`, the program must not depend on its side effects.
        ///
        /// # What every marker costs
        ///
        /// No instruction and no loaded byte. But the compiler may not move or merge a marker: a
        /// loop with a marker in its body is not vectorised, and a branch with a marker is not
        /// turned into a conditional move. At a marker with arguments, memory that code outside of
        /// the function could read is up to date. That excludes what is behind an exclusive
        /// reference (`&mut self`), in a struct passed by value and in a local array: use `keep`
        /// for such a value if it has to be exact. `keep self` with `%p` makes everything behind
        /// the reference exact, also what no register holds, at the price of its stores.
        ///
        /// # Where it is allowed
        ///
        /// Wherever an expression of type `()` is, except in a `const fn`, which cannot contain
        /// assembly. A ghost is allowed wherever a `let` statement is, also in a `const fn`.
        ///
        /// ```
        /// # use simple_markers::simple_mark;
        /// const fn half(x: u32) -> u32 {
        ///     simple_mark!(half, "of %u", x, options(ghost));
        ///     x / 2
        /// }
        /// # assert_eq!(half(4), 2);
        /// ```
        #[macro_export]
        macro_rules! simple_mark {
            $($block)*;
            ($d($d marker:tt)*) => {
                $d crate::__private::marker! { $d crate $target $d($d marker)* }
            };
        }
    };
}

/// Defines the macro of probes for a target, and how its switch is read there.
#[rustfmt::skip]
macro_rules! define_probe {
    ($d:tt $target:tt) => {
        #[cfg(not(all(rustc_1_87, target_arch = "x86_64")))]
        define_probe! { $d $target load }
        #[cfg(all(rustc_1_87, target_arch = "x86_64"))]
        define_probe! { $d $target goto }
    };
    ($d:tt $target:tt $branch:tt) => {
        /// Marks a place in the code that can be switched on, with a name, a printf format and the
        /// values that matter there.
        ///
        /// ```
        /// # use simple_markers::simple_probe;
        /// # let (request, queue, path) = (&7u64, vec![1, 2, 3], String::from("/etc"));
        /// simple_probe!(queue:push, "request %lu, %zu waiting", request, queue.len());
        /// simple_probe!(file:open, "%s, %u bytes", path, size = path.len() as u32);
        /// ```
        ///
        /// While it is off it costs two instructions on x86-64 (three with a compiler before Rust
        /// 1.87, on AArch64 and on RISC-V), and no argument is evaluated. While it is on, every
        /// argument can be read.
        ///
        /// # Syntax
        ///
        /// `simple_probe!(NAME, "FORMAT" [, ARGUMENT]...)`
        ///
        /// The name, the format and its conversions are those of [`simple_mark!`]. An **ARGUMENT** is
        /// any expression, also **`name = expression`**, or `&x` for the address of `x` if `%p` shows
        /// it. It is evaluated if the probe is on, and only then, so the program must not depend on
        /// its side effects. Its value is borrowed, not moved. An argument without a name is called
        /// as it is written.
        ///
        /// A probe takes at most 12 values; text and a whole value (`%p{}`, `{}`) count as two.
        ///
        /// # Where it is allowed
        ///
        /// Wherever an expression of type `()` is, except in a `const fn`. On targets other than
        /// x86-64, AArch64 and 64-bit RISC-V a probe is checked, and nothing is emitted.
        #[macro_export]
        macro_rules! simple_probe {
            ($d($d probe:tt)*) => {
                $d crate::__private::probe! { $d crate $target $branch $d($d probe)* }
            };
        }
    };
}

/// Defines both macros for the first target whose condition holds, or for `off` if none does.
macro_rules! define_for {
    ($d:tt $($condition:meta => $target:tt,)*) => {
        define_for! { @ $d () $($condition => $target,)* }
    };
    (@ $d:tt ($($before:meta)*) $condition:meta => $target:tt, $($rest:tt)*) => {
        #[cfg(all($condition, not(any($($before,)*))))]
        define! { $d $target }
        #[cfg(all($condition, not(any($($before,)*))))]
        define_probe! { $d $target }
        define_for! { @ $d ($($before)* $condition) $($rest)* }
    };
    (@ $d:tt ($($before:meta)*)) => {
        #[cfg(not(any($($before,)*)))]
        define! { $d off }
        #[cfg(not(any($($before,)*)))]
        define_probe! { $d off }
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
