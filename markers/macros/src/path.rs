//! The check of the source file's path, which is written unescaped into a string of the assembler.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote_spanned;

use crate::syntax::Marker;

/// Items for the declaration's module that check the path at compile time. `in_template` says
/// whether the path is written into a template with placeholders too.
///
/// Evaluating a constant takes a fifth of the time that a marker takes to compile. So there is no
/// constant if the path is known here and passes every check.
pub(crate) fn check(krate: &TokenTree, marker: &Marker, in_template: bool) -> TokenStream {
    if is_written_in_harmless_file(marker.format.span()) {
        return TokenStream::new();
    }
    let check_template = in_template.then(|| {
        quote_spanned! { Span::mixed_site()=>
            const _: () = #krate::__private::check_template_path(#krate::__private::file!());
        }
    });
    quote_spanned! { Span::mixed_site()=>
        const _: () = #krate::__private::check_path(#krate::__private::file!());
        #check_template
    }
}

/// Whether the code at `span` is written in the source, not made by a macro, in a file whose path
/// has only harmless characters. Then the marker's `file!()` is that path, because any macro around
/// the marker is invoked in the same file.
///
/// The compiler shows the origin of a span only in its debug format: `#0` means that no macro made
/// it. If this format changes, and before Rust 1.88, which does not give the file of a span, the
/// answer is no and the constant is evaluated.
fn is_written_in_harmless_file(span: Span) -> bool {
    format!("{span:?}").starts_with("#0 ")
        && span.file().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@~=,:".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Outside of the compiler, spans have another debug format. The same would happen if the
    /// compiler changed it.
    #[test]
    fn what_is_not_known_is_checked() {
        assert!(!is_written_in_harmless_file(Span::call_site()));
    }
}
