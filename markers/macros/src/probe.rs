//! The expansion of a probe: its declaration, its switch, and the code that runs while it is on.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use simple_markers_record::buffer::{Layout, MAX_WORDS};
use simple_markers_record::site;

use crate::argument::Argument;
use crate::check;
use crate::operand::promoted;
use crate::pairing::{FormatUse, Pair};
use crate::record::{self, SiteRecord};
use crate::syntax::{Branch, Marker, ProbeInvocation};
use crate::target::Target;

/// Who the values go to while the probe is on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// A tool that stops at the site.
    Tool,
    /// The recorder of the program too.
    Recorder,
}

/// The expansion of a probe: a block of type `()`.
pub(crate) fn probe(invocation: &ProbeInvocation, pairs: &[Pair<'_>], receiver: Receiver) -> syn::Result<TokenStream> {
    let ProbeInvocation { krate, target, marker, .. } = invocation;
    // A value of 64 bits does not fit a register of a 32-bit target.
    let Some((target, branch)) = target.filter(|(target, _)| target.address_size() == 8) else {
        let checked = checked(krate, marker, pairs);
        return Ok(quote_spanned! { Span::mixed_site()=> { if false { #checked } } });
    };
    let ArmedProbe { items, path, armed } = ArmedProbe::new(krate, target, marker, pairs, receiver)?;
    let switched = switched(krate, target, branch, &path, &armed);
    Ok(quote_spanned! { Span::mixed_site()=> { #items #switched } })
}

/// A probe without the test of its switch.
pub(crate) struct ArmedProbe {
    /// Its declaration and its static.
    pub(crate) items: TokenStream,
    /// The path of the static.
    pub(crate) path: TokenStream,
    /// What is executed if the switch is on.
    pub(crate) armed: TokenStream,
}

impl ArmedProbe {
    pub(crate) fn new(
        krate: &TokenTree,
        target: Target,
        marker: &Marker,
        pairs: &[Pair<'_>],
        receiver: Receiver,
    ) -> syn::Result<Self> {
        let words = Words::new(krate, target, pairs)?;
        let armed = evaluated(krate, pairs, &words.recorded(krate, target, marker, receiver));
        let declaration = record::declaration(krate, marker, true);
        let space = record::space(krate);
        let probe = probe_static(krate, marker, &words, receiver);
        let (inside, outside) = if is_in_block(marker, receiver) { (None, Some(probe)) } else { (Some(probe), None) };
        let items = quote_spanned! { Span::mixed_site()=>
            mod simple_probe_declaration { #declaration #space #inside }
            #outside
        };
        Ok(Self { items, path: path(marker, receiver), armed })
    }
}

/// What is compiled and never executed where nothing is emitted.
pub(crate) fn checked(krate: &TokenTree, marker: &Marker, pairs: &[Pair<'_>]) -> TokenStream {
    evaluated(krate, pairs, &marker.format.check())
}

/// `armed`, executed if the switch is on.
fn switched(krate: &TokenTree, target: Target, branch: Branch, path: &TokenStream, armed: &TokenStream) -> TokenStream {
    let switch = quote! { sym #path };
    if branch == Branch::Goto {
        return quote_spanned! { Span::mixed_site()=>
            // SAFETY: the assembly compares a word of a static and jumps. Nobody writes that word while
            // the compiler could know its value.
            unsafe {
                #krate::__private::asm!(
                    "cmp dword ptr [rip + {}], 0",
                    "jne {}",
                    #switch,
                    label { #armed },
                    options(nomem, nostack)
                );
            }
        };
    }
    let load = load(target);
    quote_spanned! { Span::mixed_site()=>
        let switch: #krate::__private::primitive::u32;
        // SAFETY: the assembly reads a word of a static.
        unsafe {
            #krate::__private::asm!(
                #load, out(reg) switch, #switch, options(nomem, nostack, preserves_flags)
            );
        }
        if switch != 0 { #armed }
    }
}

/// The assembly that loads the switch `{1}` into `{0}`.
pub(crate) fn load(target: Target) -> &'static str {
    match target {
        Target::X86 | Target::X86_64 => "mov {0:e}, dword ptr [rip + {1}]",
        Target::Aarch64 => "adrp {0}, {1}\nldr {0:w}, [{0}, :lo12:{1}]",
        Target::Riscv32 | Target::Riscv64 => "lla {0}, {1}\nlw {0}, 0({0})",
    }
}

/// Whether the static is where the probe is, because its strings have constants that may be local to the
/// function. Otherwise it is in the declaration's module, which hides its name.
fn is_in_block(marker: &Marker, receiver: Receiver) -> bool {
    receiver == Receiver::Recorder && marker.format.has_values()
}

/// The path of the static.
fn path(marker: &Marker, receiver: Receiver) -> TokenStream {
    match is_in_block(marker, receiver) {
        true => quote! { SIMPLE_PROBE_DECLARATION },
        false => quote! { simple_probe_declaration::PROBE },
    }
}

/// The static with the switch.
fn probe_static(krate: &TokenTree, marker: &Marker, words: &Words, receiver: Receiver) -> TokenStream {
    let layout = words.layout();
    let strings = match receiver {
        Receiver::Tool => quote! { "" },
        Receiver::Recorder => {
            let arguments: Vec<_> = marker.arguments.iter().map(Argument::text).collect();
            let name = format!("{}\0", marker.name);
            let rest = format!("\0{}\0{}\0", arguments.join(", "), words.types());
            let before = quote_spanned! { Span::mixed_site()=>
                #krate::__private::concat!(
                    #name, #krate::__private::file!(), "\0", #krate::__private::line!(), "\0"
                )
            };
            match marker.format.has_values() {
                true => marker.format.constant(krate, &before, &rest),
                false => {
                    let rest = format!("{}{rest}", marker.format.declared());
                    quote_spanned! { Span::mixed_site()=> #krate::__private::concat!(#before, #rest) }
                }
            }
        }
    };
    let (visible, name) = match is_in_block(marker, receiver) {
        true => (quote! {}, quote! { SIMPLE_PROBE_DECLARATION }),
        false => (quote! { pub(super) }, quote! { PROBE }),
    };
    quote_spanned! { Span::mixed_site()=>
        // The compiler must not conclude that nobody writes it.
        #[used]
        #[unsafe(link_section = "__simple_probe")]
        #visible static #name: #krate::__private::Probe = #krate::__private::Probe::new(#layout, #strings);
    }
}

/// `inner`, with every argument evaluated and bound to a name first, in their order.
fn evaluated(krate: &TokenTree, pairs: &[Pair<'_>], inner: &TokenStream) -> TokenStream {
    if pairs.is_empty() {
        return inner.clone();
    }
    let expressions = pairs.iter().map(|pair| {
        let span = krate.span().located_at(pair.argument.span());
        match pair.argument {
            Argument::Place(place) | Argument::KeptPlace { place, .. }
                if pair.shows_address() || pair.shows_value() =>
            {
                let place = &place.expression;
                quote_spanned! { span=> &raw const #place }
            }
            Argument::Place(place) | Argument::KeptPlace { place, .. } => {
                let place = &place.expression;
                quote_spanned! { span=> &#place }
            }
            Argument::KeptValue { value, .. } => quote_spanned! { span=> &(#value) },
        }
    });
    let bindings = pairs.iter().enumerate().map(|(index, pair)| binding(krate, index, pair));
    let words = pairs.iter().enumerate().map(|(index, pair)| {
        let binding = binding(krate, index, pair);
        let word = match (pair.shows_value(), pair.is_named) {
            (true, _) => check::whole_words(krate, pair, &binding),
            (false, true) => check::named_word(krate, pair, &binding),
            (false, false) => {
                let word = check::word(krate, pair);
                return quote_spanned! { binding.span()=> let #binding = #word(#binding); };
            }
        };
        quote_spanned! { binding.span()=> let #binding = #word; }
    });
    // `match` keeps temporaries until the values are read.
    quote_spanned! { Span::mixed_site()=>
        match (#(#expressions,)*) { (#(#bindings,)*) => { #(#words)* #inner } }
    }
}

/// The name that the value of argument number `index` is bound to.
fn binding(krate: &TokenTree, index: usize, pair: &Pair<'_>) -> Ident {
    format_ident!("value{index}", span = krate.span().located_at(pair.argument.span()))
}

/// The values of a probe as registers.
struct Words {
    /// `in(reg) value`, one for each word.
    operands: Vec<TokenStream>,
    /// One entry of the operands string for each argument.
    entries: Vec<String>,
    /// What each argument is.
    kinds: Vec<ArgumentKind>,
}

impl Words {
    fn new(krate: &TokenTree, target: Target, pairs: &[Pair<'_>]) -> syn::Result<Self> {
        let mut words = Self { operands: Vec::new(), entries: Vec::new(), kinds: Vec::new() };
        for (index, pair) in pairs.iter().enumerate() {
            let binding = binding(krate, index, pair);
            let first = words.operands.len();
            let kind = ArgumentKind::of(pair);
            if kind.has_two_words() {
                let join = if kind == ArgumentKind::Value { '&' } else { '+' };
                let [start, end] = [first, first + 1].map(|word| register(target, word, 8));
                words.entries.push(format!("8@{start}{join}8@{end}"));
                words.operands.push(quote_spanned! { binding.span()=> in(reg) #binding.0 });
                words.operands.push(quote_spanned! { binding.span()=> in(reg) #binding.1 });
            } else {
                words.entries.push(format!("{}@{}", kind.operand(), register(target, first, kind.size())));
                words.operands.push(quote_spanned! { binding.span()=> in(reg) #binding });
            }
            words.kinds.push(kind);
            if words.operands.len() > MAX_WORDS as usize {
                return Err(syn::Error::new(
                    pair.argument.span(),
                    format!(
                        "a probe has at most {MAX_WORDS} values, and text and a whole value count as two: record the rest \
                         with a second probe"
                    ),
                ));
            }
        }
        Ok(words)
    }

    /// What the recorder reads. There are no more words than a layout has.
    fn layout(&self) -> u32 {
        let has_two_words: Vec<bool> = self.kinds.iter().map(|kind| kind.has_two_words()).collect();
        let layout = Layout::new(&has_two_words).map(|layout| match self.kinds.contains(&ArgumentKind::Value) {
            true => layout.with_values(),
            false => layout,
        });
        layout.map_or(0, |layout| layout.0)
    }

    /// What each argument is, for the recorder: `-4`, `8f`, `8p`, `s`, `v`.
    fn types(&self) -> String {
        self.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" ")
    }

    /// The assembly of the site.
    fn recorded(&self, krate: &TokenTree, target: Target, marker: &Marker, receiver: Receiver) -> TokenStream {
        let Self { operands, entries, .. } = self;
        let (probe, record) = (operands.len(), operands.len() + 1);
        let path = path(marker, receiver);
        let mut symbols = quote! { sym #path, };
        let mut code = " nop".to_owned();
        if receiver == Receiver::Recorder {
            symbols.extend(quote_spanned! { Span::mixed_site()=> sym #krate::__private::simple_marker_record, });
            if target == Target::Aarch64 {
                symbols.extend(quote! { out("x16") _, out("x17") _, out("x30") _, });
                code.push_str(&call_on_aarch64(operands.len(), probe, record));
            } else {
                code.push_str(&call_on_x86_64(operands.len(), probe, record));
            }
        }
        let formatted = marker.format.operands();
        let has_operands = if operands.is_empty() { 0 } else { site::HAS_OPERANDS };
        let (entries, switch) = (entries.join(" "), format!("{{{probe}}}"));
        let record = SiteRecord {
            target,
            flags: site::ANCHORED | site::PROBE | has_operands,
            entries: &entries,
            switch: Some(&switch),
        };
        let template = record.template(krate, &code, marker);
        quote_spanned! { Span::mixed_site()=>
            // SAFETY: the template has a `nop` and directives. The call keeps every register but those
            // that are named, and skips the bytes below the stack pointer that the function may use.
            unsafe {
                #krate::__private::asm!(#template, #(#operands,)* #symbols #formatted options(readonly, nostack));
            }
        }
    }
}

/// The call of the recorder on x86-64: the words on the stack, and over them the first half of the
/// probe's static.
fn call_on_x86_64(words: usize, probe: usize, record: usize) -> String {
    let mut code = "\nlea rsp, [rsp - 128]".to_owned();
    for word in (0..words).rev() {
        code.push_str(&format!("\npush {{{word}:r}}"));
    }
    let size = 128 + 8 * (words + 1);
    code.push_str(&format!("\npush qword ptr [rip + {{{probe}}}]\ncall {{{record}}}\nlea rsp, [rsp + {size}]"));
    code
}

/// The same on AArch64, where the stack pointer is a multiple of 16. The recorder must not read
/// anything before it knows the id, so that is loaded with acquire.
fn call_on_aarch64(words: usize, probe: usize, record: usize) -> String {
    let size = (8 * (words + 1)).next_multiple_of(16);
    let mut code = format!("\nadrp x16, {{{probe}}}\nadd x16, x16, :lo12:{{{probe}}}\nldar x16, [x16]");
    match words {
        0 => code.push_str(&format!("\nstr x16, [sp, #-{size}]!")),
        _ => code.push_str(&format!("\nstp x16, {{0:x}}, [sp, #-{size}]!")),
    }
    for word in (1..words).step_by(2) {
        let at = 8 * (word + 1);
        match word + 1 < words {
            true => code.push_str(&format!("\nstp {{{word}:x}}, {{{}:x}}, [sp, #{at}]", word + 1)),
            false => code.push_str(&format!("\nstr {{{word}:x}}, [sp, #{at}]")),
        }
    }
    code.push_str(&format!("\nbl {{{record}}}\nadd sp, sp, #{size}"));
    code
}

/// What an argument is for the recorder and in the operands string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArgumentKind {
    Integer {
        size: u8,
        signed: bool,
    },
    Float,
    Pointer,
    Text,
    /// A value of any type.
    Value,
}

impl ArgumentKind {
    fn of(pair: &Pair<'_>) -> Self {
        match pair.shown {
            FormatUse::By(_, specifier) if specifier.letter() == 's' => return Self::Text,
            FormatUse::By(_, specifier) if specifier.letter() == 'p' => return Self::Pointer,
            FormatUse::Whole | FormatUse::Formatted => return Self::Value,
            FormatUse::By(..) | FormatUse::Star => {}
        }
        match promoted(pair.shown) {
            "f64" => Self::Float,
            name => Self::Integer {
                size: if name.ends_with("64") || name.ends_with("size") { 8 } else { 4 },
                signed: name.starts_with('i'),
            },
        }
    }

    fn has_two_words(self) -> bool {
        matches!(self, Self::Text | Self::Value)
    }

    fn size(self) -> u8 {
        match self {
            Self::Integer { size, .. } => size,
            Self::Float | Self::Pointer | Self::Text | Self::Value => 8,
        }
    }

    /// The start of its entry in the operands string.
    fn operand(self) -> String {
        match self {
            Self::Integer { size, signed } => format!("{}{size}", if signed { "-" } else { "" }),
            Self::Float => "8f".to_owned(),
            Self::Pointer | Self::Text | Self::Value => "8".to_owned(),
        }
    }

    fn name(self) -> String {
        match self {
            Self::Integer { .. } | Self::Float => self.operand(),
            Self::Pointer => "8p".to_owned(),
            Self::Text => "s".to_owned(),
            Self::Value => "v".to_owned(),
        }
    }
}

/// The placeholder of operand number `index` as a register of `size` bytes.
fn register(target: Target, index: usize, size: u8) -> String {
    let modifier = match (target, size) {
        (Target::X86 | Target::X86_64, 4) => ":e",
        (Target::X86 | Target::X86_64, _) => ":r",
        (Target::Aarch64, 4) => ":w",
        (Target::Aarch64, _) => ":x",
        (Target::Riscv32 | Target::Riscv64, _) => "",
    };
    format!("{{{index}{modifier}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairing::pair;

    #[test]
    fn probes_are_only_for_targets_of_64_bits() {
        let is_emitted = |target: &str| {
            let tokens = format!("crate {target} load a:b, \"text\"").parse().expect("tokens");
            let invocation: ProbeInvocation = syn::parse2(tokens).expect("a probe");
            let pairs = pair(&invocation.marker).expect("pairs");
            let expansion = probe(&invocation, &pairs, Receiver::Tool).expect("an expansion");
            expansion.to_string().contains("asm")
        };
        let emitted = ["x86_64", "x86", "aarch64", "riscv32", "riscv64", "off"].map(is_emitted);
        assert_eq!(emitted, [true, false, true, false, true, false]);
    }
}
