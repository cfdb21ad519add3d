//! The records of a marker, as directives of the assembler.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::quote_spanned;
use simple_markers_record::{DECLARATIONS, SITES, STRINGS, assembler, site};

use crate::argument::Argument;
use crate::path;
use crate::syntax::Marker;
use crate::target::Target;

/// The items of a declaration's module: the record of `__simple_marker.1`. `in_template` says whether
/// the path of the source file is written into a template with placeholders too.
pub(crate) fn declaration(krate: &TokenTree, marker: &Marker, in_template: bool) -> TokenStream {
    let Text { name, format, args } = Text::new(marker);
    let start = format!(".pushsection {DECLARATIONS},\"\",%progbits\n.asciz \"{name}\",\"");
    let end = format!("\",\"{format}\",\"{args}\"\n.popsection");
    // The line of a ghost has a zero before it.
    let line = if marker.is_ghost { "\",\"0" } else { "\",\"" };
    let check_path = path::check(krate, marker, in_template);
    quote_spanned! { Span::mixed_site()=>
        #check_path
        #krate::__private::global_asm!(
            #krate::__private::concat!(
                #start, #krate::__private::file!(), #line, #krate::__private::line!(), #end
            ),
            options(raw)
        );
    }
}

/// The size of a page in bytes.
const PAGE: u32 = 4096;

/// A page of the file in front of the switches, once for each image.
///
/// A linker may let two segments share a page of the file: `lld` does so with the last page of what
/// becomes read-only after relocation and the first page of data. The kernel then arms a switch in that
/// page in the wrong mapping when a program starts.
pub(crate) fn space(krate: &TokenTree) -> TokenStream {
    // A retained group is kept by `--gc-sections`.
    let section = format!(
        ".pushsection .data.simple_probe,\"awGR\",%progbits,simple_probe_space,comdat\n\
         .ifndef .Lsimple_probe_space\n\
         .Lsimple_probe_space: .zero {PAGE}\n\
         .endif\n\
         .popsection"
    );
    quote_spanned! { Span::mixed_site()=> #krate::__private::global_asm!(#section, options(raw)); }
}

/// The record of `.debug.simple_marker.2`, as directives.
pub(crate) struct SiteRecord<'a> {
    pub(crate) target: Target,
    pub(crate) flags: u8,
    /// The operands string.
    pub(crate) entries: &'a str,
    /// The placeholder of a probe's switch.
    pub(crate) switch: Option<&'a str>,
}

impl SiteRecord<'_> {
    /// The template: a label, `code`, and the record of the label. The values of the format's words are
    /// its operands.
    pub(crate) fn template(&self, krate: &TokenTree, code: &str, marker: &Marker) -> TokenStream {
        let Self { target, flags, entries, switch } = self;
        let Text { name, args, .. } = Text::new(marker);
        let format = marker.format.in_template();
        let address_size = target.address_size();
        let (length, switch) = match switch {
            None => (site::record_length(address_size), String::new()),
            Some(switch) => (site::probe_record_length(address_size), format!(".{address_size}byte {switch}\n")),
        };
        let start = format!(
            "2:{code}\n\
             .pushsection {STRINGS},\"MS\",%progbits,1\n\
             3: .asciz \"{name}\"\n\
             4: .asciz \""
        );
        let strings = format!(
            "\"\n\
             5: .asciz \"{format}\"\n\
             6: .asciz \"{args}\"\n\
             7: .asciz \"{entries}\"\n\
             .popsection\n\
             .pushsection {SITES},\"\",%progbits\n\
             .2byte {length}\n\
             .byte {flags},{address_size}\n\
             .{address_size}byte 2b\n\
             .4byte "
        );
        let end = format!(",3b,4b,5b,6b,7b\n{switch}.popsection");
        quote_spanned! { Span::mixed_site()=>
            #krate::__private::concat!(
                #start, #krate::__private::file!(), #strings,
                #krate::__private::line!(), ",", #krate::__private::column!(), #end
            )
        }
    }
}

/// The strings of a marker as the assembler reads them.
struct Text {
    name: String,
    format: String,
    args: String,
}

impl Text {
    fn new(marker: &Marker) -> Self {
        let args: Vec<_> = marker.arguments.iter().map(Argument::text).collect();
        Self {
            name: assembler::escape(marker.name.as_bytes()),
            format: assembler::escape(marker.format.declared().as_bytes()),
            args: assembler::escape(args.join(", ").as_bytes()),
        }
    }
}
