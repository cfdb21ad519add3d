//! Places whose stores rustc delays or drops. Each function of `functions.rs` marks the place itself
//! (`plain:`), its value (`kept:`), and the place with the address of what contains it (`stored:`).
//!
//! With `--cfg twin`, the program prints the values in place of the markers. All values are `u64`.

/// A module with the functions. `{..}` is the code of a mark of `place` in `root`.
macro_rules! module {
    ($d:tt $module:ident: $name:ident $root:ident $place:ident => { $($mark:tt)* }) => {
        mod $module {
            #[cfg(not(twin))]
            macro_rules! mark {
                ($d $name:ident, $d $root:expr; $d $place:expr) => {
                    $($mark)*
                };
            }
            #[cfg(twin)]
            macro_rules! mark {
                ($d name:ident, $d root:expr; $d place:expr) => {
                    println!(concat!(stringify!($module), ":", stringify!($d name), " {}"), $d place)
                };
            }
            include!("functions.rs");
        }
    };
}

pub struct Inner {
    depth: u64,
}

pub struct Value {
    j: u64,
    k: u64,
}

module! { $ plain: name root place => { simple_markers::simple_mark!(plain:$name, "%lu", $place, options(anchor)) } }
module! { $ kept: name root place => { simple_markers::simple_mark!(kept:$name, "%lu", keep $place, options(anchor)) } }
module! { $ stored: name root place => {
    simple_markers::simple_mark!(stored:$name, "%lu %p", $place, keep &$root, options(anchor))
} }

fn main() {
    plain::run();
    kept::run();
    stored::run();
}
