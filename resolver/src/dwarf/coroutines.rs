//! Closures and futures as rustc describes them: `{closure_env#0}`, a structure of what it captures, and
//! `{async_fn_env#0}`, an enum of its states.

use gimli::constants as dw;

use super::types::{TypeRef, Types};
use super::unit::Die;
use super::variants::RawVariant;
use crate::Error;
use crate::types::FutureState;

/// What rustc writes before the name of a variable that is captured by reference.
const BY_REFERENCE: &str = "_ref__";

/// What the name of the structure of a closure or a future has.
const STRUCTURE: &str = "_env#";

/// Whether the type with a name is that of a closure or a future.
pub(super) fn is_closure(name: &str) -> bool {
    name.starts_with('{') && name.contains(STRUCTURE)
}

/// Whether it is that of an `async fn`.
pub(super) fn is_async_fn(name: &str) -> bool {
    name.starts_with("{async_fn_env#")
}

/// The name of a captured variable.
pub(super) fn captured_name(member: &str) -> &str {
    member.strip_prefix(BY_REFERENCE).unwrap_or(member)
}

impl Types<'_> {
    /// The name of a closure or a future with the scopes around it: `shop::main::{closure#0}`.
    pub(super) fn closure_path(&self, die: Die, name: &str) -> Result<String, Error> {
        let mut path = self.scopes_of(die)?;
        let name = name.split_once('<').map_or(name, |(name, _)| name);
        path.push(name.replacen(STRUCTURE, "#", 1));
        Ok(path.join("::"))
    }

    /// The name of a type with the scopes around it.
    pub(super) fn path_of(&self, die: Die, name: &str) -> Result<String, Error> {
        let mut path = self.scopes_of(die)?;
        path.push(name.to_owned());
        Ok(path.join("::"))
    }

    /// The name and the state of a variant of a future, by the name of its structure, without a line. `None` if
    /// it is none.
    pub(super) fn future_state(&self, variant: &RawVariant) -> Result<Option<(String, FutureState)>, Error> {
        let [member] = &*variant.members else { return Ok(None) };
        let Some(TypeRef { die, .. }) = member.of.map(|of| self.strip(of)).transpose()?.flatten() else {
            return Ok(None);
        };
        let name = self.text_name(die)?;
        let state = match &*name {
            "Unresumed" => FutureState::Unresumed,
            "Returned" => FutureState::Returned,
            "Panicked" => FutureState::Panicked,
            name if name.starts_with("Suspend") => FutureState::Suspended { at: None },
            _ => return Ok(None),
        };
        Ok(Some((name, state)))
    }

    /// The entry of the member of a variant, which has the line of the state.
    pub(super) fn variant_member(&self, variant: &RawVariant) -> Result<Option<Die>, Error> {
        let members = self.units.children(variant.die)?;
        Ok(members.into_iter().find(|(_, tag)| *tag == dw::DW_TAG_member).map(|(member, _)| member))
    }
}
