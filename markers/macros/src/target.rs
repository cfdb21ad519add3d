//! The targets that markers are emitted for.

use proc_macro2::Ident;

/// A target that markers are emitted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    X86,
    X86_64,
    Aarch64,
    Riscv32,
    Riscv64,
}

impl Target {
    /// The target of that name; `None` if nothing is emitted.
    pub(crate) fn from_name(name: &Ident) -> syn::Result<Option<Self>> {
        Ok(Some(match name.to_string().as_str() {
            "x86" => Self::X86,
            "x86_64" => Self::X86_64,
            "aarch64" => Self::Aarch64,
            "riscv32" => Self::Riscv32,
            "riscv64" => Self::Riscv64,
            "off" => return Ok(None),
            _ => return Err(syn::Error::new(name.span(), "not called through `simple_mark!`")),
        }))
    }

    /// Whether the assembler has two syntaxes.
    pub(crate) fn is_x86(self) -> bool {
        matches!(self, Self::X86 | Self::X86_64)
    }

    /// Size of an address in bytes.
    pub(crate) fn address_size(self) -> u8 {
        match self {
            Self::X86 | Self::Riscv32 => 4,
            Self::X86_64 | Self::Aarch64 | Self::Riscv64 => 8,
        }
    }
}
