//! Whether the members in the braces of `%p{..}` are members of the argument.
//!
//! In Rust the macro checks that. In C no compiler does.

use simple_markers_record::value_form::{MemberPath, ValueForm, value_form};

use super::Mismatch;
use crate::dwarf::{DebugInfo, NoSuchPart, Projection, Step, TypeRef};

/// How many pointers and wrappers are followed on the way to one member.
const FOLLOWED: usize = 8;

/// The first member in `form` that a value of that type does not have; `None` if it has all, and if the
/// debug information does not tell.
pub(super) fn mismatch(debug: &DebugInfo<'_>, of: TypeRef, form: &str) -> Option<Mismatch> {
    let Some(ValueForm::Members(paths)) = value_form(form.as_bytes()) else { return None };
    paths.iter().find_map(|path| {
        let why = missing(debug, of, path)?;
        Some(Mismatch::NoMember { path: path.as_str().into(), why })
    })
}

/// Why a type has no member of that path; `None` if it has one, and if that is not known.
fn missing(debug: &DebugInfo<'_>, of: TypeRef, path: MemberPath<'_>) -> Option<NoSuchPart> {
    let mut of = of;
    for member in path.members() {
        let step = Step::Member(member.to_owned());
        let mut followed = 0..FOLLOWED;
        loop {
            followed.next()?;
            match debug.step(of, &step).ok()? {
                Projection::Part { of: inner, again, .. } | Projection::Through { of: inner, again, .. } => {
                    of = inner;
                    if !again {
                        break;
                    }
                }
                Projection::Absent(why) => return Some(why),
                Projection::Static(_) | Projection::Refused(_) => return None,
            }
        }
    }
    None
}
