//! Types of Rust's library that are written otherwise than by their members: `1..5`, `127.0.0.1:80`.
//!
//! The members stay those of the type, so that filters name them: `range.start`.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;

use super::tree::{IntervalValue, MemberValue, StructureValue, ValueTree};
use super::wrappers::library_name;
use super::{Shape, Type};

/// A type of Rust's library that is written otherwise than by its members, which it has nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    /// `1..5`, `1..=5`: `start` and `end`, of which one may be missing.
    Interval {
        /// Whether the end is part of it.
        is_closed: bool,
    },
    /// `127.0.0.1:80`: `ip` and `port`, and `scope_id` in version 6.
    Socket,
    /// An enum of which all variants are written as what is in them: `Cow`, `IpAddr`.
    Content,
    /// `OnceCell("a")`: an enum in cells, whose value is in this variant.
    Once {
        /// The name of the variant.
        variant: &'static str,
    },
    /// A value that may be there or not, which only the program knows.
    MaybeUninit,
}

impl Notation {
    /// The notation of a type by its name and its members; `None` for all others.
    pub(super) fn of(of: &Type) -> Option<Self> {
        let is_generic = of.name.contains('<');
        let members = match &of.shape {
            Shape::Struct { members } | Shape::Union { members } => members,
            Shape::Variants(variants) => {
                let mut names = variants.variants.iter().map(|variant| &*variant.name);
                let expected = match library_name(&of.name) {
                    "Cow" if is_generic => ["Borrowed", "Owned"],
                    "IpAddr" | "SocketAddr" => ["V4", "V6"],
                    _ => return None,
                };
                return names.by_ref().eq(expected).then_some(Self::Content);
            }
            _ => return None,
        };
        let has = |names: &[&str]| members.iter().map(|member| &*member.name).eq(names.iter().copied());
        let name = library_name(&of.name);
        let (notation, is_it) = match name {
            "RangeFull" => (Self::Interval { is_closed: false }, has(&[])),
            "SocketAddrV4" => (Self::Socket, has(&["ip", "port"])),
            "SocketAddrV6" => (Self::Socket, has(&["ip", "port", "flowinfo", "scope_id"])),
            _ if !is_generic => return None,
            "Range" => (Self::Interval { is_closed: false }, has(&["start", "end"])),
            "RangeFrom" => (Self::Interval { is_closed: false }, has(&["start"])),
            "RangeTo" => (Self::Interval { is_closed: false }, has(&["end"])),
            "RangeInclusive" => (Self::Interval { is_closed: true }, has(&["start", "end", "exhausted"])),
            "RangeToInclusive" => (Self::Interval { is_closed: true }, has(&["end"])),
            "OnceCell" => (Self::Once { variant: "Some" }, has(&["inner"])),
            "LazyCell" => (Self::Once { variant: "Init" }, has(&["state"])),
            "MaybeUninit" => (Self::MaybeUninit, has(&["uninit", "value"])),
            _ => return None,
        };
        is_it.then_some(notation)
    }
}

/// A structure of Rust's library in its notation; the structure if it has other members.
pub(super) fn in_notation(notation: Notation, value: ValueTree) -> ValueTree {
    let ValueTree::Structure(structure) = &value else { return value };
    let member = |name: &str| structure.members.iter().find(|member| *member.name == *name).map(|member| &member.value);
    let number = |name: &str| match member(name) {
        Some(ValueTree::Integer(integer)) => u32::try_from(integer.bits).ok(),
        _ => None,
    };
    let simple = match notation {
        Notation::Interval { is_closed } if !structure.is_cut => {
            let is_exhausted = member("exhausted") == Some(&ValueTree::Boolean(true));
            let (start, end) = (member("start").cloned(), member("end").cloned());
            Some(ValueTree::Interval(Box::new(IntervalValue { start, end, is_closed, is_exhausted })))
        }
        Notation::Socket => match (member("ip"), number("port").and_then(|port| u16::try_from(port).ok())) {
            (Some(ValueTree::Internet(IpAddr::V6(ip))), Some(port)) => number("scope_id").map(|scope| {
                ValueTree::Socket(SocketAddrV6::new(*ip, port, number("flowinfo").unwrap_or(0), scope).into())
            }),
            (Some(ValueTree::Internet(ip)), Some(port)) => Some(ValueTree::Socket(SocketAddr::new(*ip, port))),
            _ => None,
        },
        Notation::Once { variant: with } => match &*structure.members {
            [MemberValue { value: ValueTree::Variant(variant), .. }] => {
                let value = match &variant.value {
                    ValueTree::Structure(payload) if *variant.name == *with && payload.members.len() == 1 => {
                        payload.members.first().map(|member| member.value.clone())
                    }
                    ValueTree::Structure(_) => Some(ValueTree::Uninitialized),
                    _ => None,
                };
                value.map(|value| {
                    let members = vec![MemberValue { name: "0".into(), value }];
                    let name = Arc::clone(&structure.name);
                    ValueTree::Structure(StructureValue { name, is_tuple: true, members, is_cut: structure.is_cut })
                })
            }
            _ => None,
        },
        _ => None,
    };
    simple.unwrap_or(value)
}
