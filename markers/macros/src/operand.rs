//! Kept arguments as operands: how a register of a given width is written for each target.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use simple_markers_record::printf::Length;
use syn::Type;

use crate::pairing::{FormatUse, Pair, kept_type};
use crate::target::Target;

/// A kept argument as an operand of the assembly.
pub(crate) struct Operand {
    /// Its entry in the operands string, with a placeholder `{index}` for the register.
    pub(crate) entry: String,
    /// The register class.
    class: &'static str,
    /// The type that the value is converted to.
    conversion: Value,
}

/// How a kept value is converted for a register.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// `value as TYPE`.
    As(&'static str),
    /// The bits of `value as TYPE`: a float in a general register. Tools of the kernel read no
    /// vector registers.
    Bits(&'static str),
    /// `TYPE` of the value of an enumeration, which is not moved.
    Named(&'static str),
    /// `&raw const *value`: a reference or a pointer, as a raw pointer.
    Pointer,
    /// `&raw const place`: the address of a place.
    Address,
}

impl Operand {
    /// The operand of an argument, number `index` of the template.
    ///
    /// Fails if the target's registers cannot hold it.
    pub(crate) fn new(target: Target, pair: &Pair<'_>, index: usize) -> syn::Result<Self> {
        let (size, float, conversion) = value(target, pair)?;
        if size > target.address_size() && !float {
            return Err(syn::Error::new(
                pair.argument.span(),
                "a 64-bit value does not fit a register of this 32-bit target: mark the place without `keep`, or keep its halves",
            ));
        }
        let signed = matches!(conversion, Value::As(name) | Value::Named(name) if name.starts_with('i'));
        let conversion = match conversion {
            // A double of 64 bits has no general register on a 32-bit target.
            Value::As(name) if float && size <= target.address_size() => Value::Bits(name),
            conversion => conversion,
        };
        let is_vector = float && !matches!(conversion, Value::Bits(_));
        let (class, modifier) = register(target, size, is_vector);
        let sign = if signed { "-" } else { "" };
        let kind = if float { "f" } else { "" };
        let entry = format!("{sign}{size}{kind}@{{{index}{modifier}}}");
        Ok(Self { entry, class, conversion })
    }

    /// `in(class) value` for `expression`. Compile errors point at `span`, the argument.
    pub(crate) fn tokens(&self, krate: &TokenTree, span: Span, expression: &TokenStream) -> TokenStream {
        let span = krate.span().located_at(span);
        let mut krate = krate.clone();
        krate.set_span(span);
        let class = Ident::new(self.class, Span::call_site());
        match self.conversion {
            Value::As(name) => {
                let name = Ident::new(name, span);
                quote_spanned! { span=> in(#class) #expression as #krate::__private::primitive::#name }
            }
            Value::Bits(name) => {
                let bits = Ident::new(if name == "f32" { "bits32" } else { "bits64" }, span);
                let name = Ident::new(name, span);
                quote_spanned! { span=>
                    in(#class) #krate::__private::#bits(#expression as #krate::__private::primitive::#name)
                }
            }
            Value::Named(name) => {
                let name = Ident::new(name, span);
                quote_spanned! { span=>
                    in(#class) #krate::__private::read(&raw const #expression) as #krate::__private::primitive::#name
                }
            }
            Value::Pointer => quote_spanned! { span=> in(#class) &raw const *#expression as *const () },
            Value::Address => quote_spanned! { span=> in(#class) &raw const #expression as *const () },
        }
    }
}

/// Size in bytes, whether it is a float, and how the value is converted: by C's promotions, unless
/// the argument has a width.
fn value(target: Target, pair: &Pair<'_>) -> syn::Result<(u8, bool, Value)> {
    let pointer = target.address_size();
    if pair.shows_address() {
        return Ok((pointer, false, Value::Address));
    }
    if matches!(pair.shown, FormatUse::By(_, specifier) if matches!(specifier.letter(), 'p' | 's')) {
        return Ok((pointer, false, Value::Pointer));
    }
    let name = match pair.argument.width() {
        None if matches!(pair.shown, FormatUse::Formatted) => kept_type(pair.argument)
            .and_then(|of| register_type(&of))
            .ok_or_else(|| syn::Error::new(pair.argument.span(), "a kept value in Rust's notation has a type"))?,
        None => promoted(pair.shown),
        Some(width) => known(width).ok_or_else(|| {
            syn::Error::new(
                syn::spanned::Spanned::span(width),
                "the width of a kept value is a primitive type: an integer, `f32`, `f64`, `bool` or `char`",
            )
        })?,
    };
    let size = match name {
        "i8" | "u8" => 1,
        "i16" | "u16" => 2,
        "i32" | "u32" | "f32" => 4,
        "isize" | "usize" => pointer,
        _ => 8,
    };
    let conversion = if pair.is_named { Value::Named(name) } else { Value::As(name) };
    Ok((size, name.starts_with('f'), conversion))
}

/// The type that C passes for a conversion or a `*`.
pub(crate) fn promoted(shown: FormatUse) -> &'static str {
    let FormatUse::By(length, specifier) = shown else { return "i32" };
    match (specifier.letter(), length) {
        ('d' | 'i', Length::None) => "i32",
        ('d' | 'i', Length::Hh) => "i8",
        ('d' | 'i', Length::H) => "i16",
        ('d' | 'i', Length::Z | Length::T) => "isize",
        ('d' | 'i', _) => "i64",
        ('c', _) | ('u' | 'o' | 'x' | 'X' | 'b' | 'B', Length::None) => "u32",
        ('u' | 'o' | 'x' | 'X' | 'b' | 'B', Length::Hh) => "u8",
        ('u' | 'o' | 'x' | 'X' | 'b' | 'B', Length::H) => "u16",
        ('u' | 'o' | 'x' | 'X' | 'b' | 'B', Length::Z | Length::T) => "usize",
        ('u' | 'o' | 'x' | 'X' | 'b' | 'B', _) => "u64",
        _ => "f64",
    }
}

/// The register's type for a value of the type `width`.
fn known(width: &Type) -> Option<&'static str> {
    match width {
        // Another macro passed the type on as `$t:ty`.
        Type::Group(group) => known(&group.elem),
        Type::Path(path) => register_type(&path.path.get_ident()?.to_string()),
        _ => None,
    }
}

/// The register's type for the primitive type of that name.
fn register_type(name: &str) -> Option<&'static str> {
    const SAME: [&str; 12] = ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "f32", "f64"];
    match name {
        "bool" => Some("u8"),
        "char" => Some("u32"),
        _ => SAME.into_iter().find(|same| *same == name),
    }
}

/// The register class for a value of `size` bytes, and the template modifier that names the
/// register at that width.
fn register(target: Target, size: u8, float: bool) -> (&'static str, &'static str) {
    match (target, float) {
        (Target::X86 | Target::X86_64, true) => ("xmm_reg", ""),
        (Target::X86 | Target::X86_64, false) => match size {
            1 => ("reg_byte", ""),
            2 => ("reg", ":x"),
            4 => ("reg", ":e"),
            _ => ("reg", ":r"),
        },
        (Target::Aarch64, true) => ("vreg", if size == 4 { ":s" } else { ":d" }),
        (Target::Aarch64, false) => ("reg", if size == 8 { ":x" } else { ":w" }),
        (Target::Riscv32 | Target::Riscv64, true) => ("freg", ""),
        (Target::Riscv32 | Target::Riscv64, false) => ("reg", ""),
    }
}
