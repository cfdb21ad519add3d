//! The check of the source file's path, which stands in a string of the assembler as it is.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote_spanned;

use crate::syntax::{Argument, Marker};

/// What checks the path when the program is compiled, items for the declaration's module.
///
/// To evaluate a constant is a fifth of what a marker takes to compile, so there is none where the path is known here and has nothing in
/// it that any of the checks would refuse.
pub(crate) fn check(krate: &TokenTree, marker: &Marker) -> TokenStream {
    if is_written_in_harmless_file(marker.format.span()) {
        return TokenStream::new();
    }
    let check_template = marker.arguments.iter().any(Argument::is_kept).then(|| {
        quote_spanned! { Span::mixed_site()=>
            const _: () = #krate::__private::check_template_path(#krate::__private::file!());
        }
    });
    quote_spanned! { Span::mixed_site()=>
        const _: () = #krate::__private::check_path(#krate::__private::file!());
        #check_template
    }
}

/// Whether what is at `span` is written, and not made by a macro, in a file whose path has letters, digits and what is harmless.
/// Then the marker's `file!()` is that path: the invocation of whatever macro is around it is in the same file.
///
/// The compiler says what a macro made in the debug format of a span alone: `#0` is what none did. Should that change, or before
/// Rust 1.88, which does not tell a span's file, the answer is no, and the constant is evaluated.
fn is_written_in_harmless_file(span: Span) -> bool {
    format!("{span:?}").starts_with("#0 ")
        && span.file().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@~=,:".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Outside of a compiler a span has no such debug format, as it had not if that changed.
    #[test]
    fn what_is_not_known_is_checked() {
        assert!(!is_written_in_harmless_file(Span::call_site()));
    }
}
