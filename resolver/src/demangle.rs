//! Symbol names in source notation: Rust names without their hash, C++ names without parameters.
//! Other names are unchanged.

use cpp_demangle::DemangleOptions;

/// The longest demangled name, in bytes. Demangling can make a C++ name exponentially longer.
const LONGEST: usize = 16 << 10;

/// The demangled name of a function. The name is returned unchanged if it cannot be demangled, or
/// if the result would exceed 16 KiB.
#[must_use]
pub(crate) fn demangle(symbol: &[u8]) -> String {
    demangled(symbol, false)
}

/// The same with what distinguishes symbols of one name: the hash of a Rust name, the parameters of
/// a C++ name.
pub(crate) fn demangle_in_full(symbol: &[u8]) -> String {
    demangled(symbol, true)
}

fn demangled(symbol: &[u8], in_full: bool) -> String {
    let name = crate::text::from_bytes(symbol);
    if let Ok(rust) = rustc_demangle::try_demangle(&name) {
        let mut out = LimitedText(String::new());
        let written = match in_full {
            true => std::fmt::write(&mut out, format_args!("{rust}")),
            false => std::fmt::write(&mut out, format_args!("{rust:#}")),
        };
        return match written {
            Ok(()) => out.0,
            Err(_) => name,
        };
    }
    if name.starts_with("_Z") || name.starts_with("__Z") {
        let mut out = LimitedText(String::new());
        let options = DemangleOptions::new().no_return_type();
        let options = if in_full { options } else { options.no_params() };
        if let Ok(symbol) = cpp_demangle::Symbol::new(symbol) {
            if symbol.structured_demangle(&mut out, &options).is_ok() {
                return out.0;
            }
        }
    }
    name
}

/// A string that does not grow beyond [`LONGEST`].
struct LimitedText(String);

impl std::fmt::Write for LimitedText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len().saturating_add(text.len()) > LONGEST {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_people_write_them() {
        assert_eq!(demangle(b"scsi_dispatch_io"), "scsi_dispatch_io");
        assert_eq!(demangle(b"_ZN1t1f17h0123456789abcdefE"), "t::f");
        assert_eq!(demangle(b"_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(demangle(b"_ZN3foo3barEiPKc"), "foo::bar");
        assert_eq!(demangle(b"_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_"), "std::move<int&>");
        assert_eq!(demangle(b"_Zgarbage\xff"), "_Zgarbage\\xff");
    }
}
