//! Names and values as C++ means them: a member without `this->`, also in a lambda that captured
//! `this`; static members; and the object that a reference refers to.

use std::sync::Arc;

use super::Reason;
use super::arguments::{Arguments, CastType, PlaceObject, PointerTarget, Stop};
use super::path::Extent;
use super::refusal::Refusal;
use crate::dwarf::{ClassMember, Die, Lookup, Scope, Step};
use crate::types::Shape;

/// How many objects are between a name in a lambda and the member that it means: the closure, and what
/// it captured as `this`.
const OBJECTS: usize = 2;

/// How many references are followed. C++ has none to a reference.
const REFERENCES: usize = 2;

impl Arguments<'_> {
    /// The member of the class around the marker, or of a base of it, that a name means; `None` if
    /// there is none. The members of a closure by LLVM are the variables that it captured.
    pub(super) fn member(
        &self,
        name: &str,
        scope: &Scope,
        stop: &Stop<'_>,
        extent: &mut Extent,
    ) -> Result<Option<PlaceObject>, Refusal> {
        let Some(function) = scope.frames.first().map(|frame| frame.instance) else { return Ok(None) };
        if !self.debug.is_cxx(function) {
            return Ok(None);
        }
        let this = match self.debug.lookup_in_function(scope, &["this"], stop.file, stop.line)? {
            Some(Lookup::Found { variable, is_placed, .. }) => {
                let object = self.variable_object(variable, is_placed, stop, extent)?;
                Some(self.copied_this(object, scope, stop, extent)?)
            }
            Some(Lookup::Several(several)) => {
                let name = "this".into();
                return Err(Refusal::unsupported(Reason::SeveralVariables { name, count: several.len() }));
            }
            _ => None,
        };
        let (mut object, mut objects) = (this, 0..OBJECTS);
        while let (Some(known), Some(_)) = (object.take(), objects.next()) {
            let Some(of) = known.of else { return Ok(None) };
            match self.debug.class_member(of, name)? {
                Some(ClassMember::OfObject) => {
                    return self.step(known, &Step::Member(name.to_owned()), stop).map(Some);
                }
                Some(ClassMember::Static(member)) => return self.static_member(member, stop, extent).map(Some),
                Some(ClassMember::Unknown(why)) => return Err(Refusal::unsupported(Reason::Unsupported(why))),
                None if self.captured(of)? => {
                    object = Some(self.step(known, &Step::Member("this".to_owned()), stop)?);
                }
                None => {}
            }
        }
        // Those of a class are also names in the classes and functions in it.
        for class in self.debug.classes_around(function)? {
            match self.debug.class_member(class, name)? {
                Some(ClassMember::Static(member)) => return self.static_member(member, stop, extent).map(Some),
                Some(ClassMember::Unknown(why)) => return Err(Refusal::unsupported(Reason::Unsupported(why))),
                Some(ClassMember::OfObject) | None => {}
            }
        }
        Ok(None)
    }

    /// What `this` means: in a lambda by LLVM the parameter of that name is the closure, which has what
    /// it captured as a member. If a lambda copied the object (`[*this]`), it is the address of the copy.
    pub(super) fn this(
        &self,
        this: PlaceObject,
        scope: &Scope,
        stop: &Stop<'_>,
        extent: &mut Extent,
    ) -> Result<PlaceObject, Refusal> {
        if !scope.frames.first().is_some_and(|frame| self.debug.is_cxx(frame.instance)) {
            return Ok(this);
        }
        let captured = match (self.copy_of_this(&this, scope, stop, extent)?, this.of) {
            (Some(copy), _) => copy,
            (None, Some(of)) if self.captured(of)? => self.step(this, &Step::Member("this".to_owned()), stop)?,
            (None, _) => return Ok(this),
        };
        if matches!(self.describe(captured.of)?.shape, Shape::Pointer { .. }) {
            return Ok(captured);
        }
        let made = CastType::Pointer(captured.of.map(|of| Arc::new(PointerTarget::Described(of))));
        Ok(PlaceObject { made: Some(made), is_extracted: true, ..self.address_of(captured, stop) })
    }

    /// The object that a lambda by gcc copied (`[*this]`), in place of the variable `this` in its code, which
    /// has no location then.
    fn copied_this(
        &self,
        object: PlaceObject,
        scope: &Scope,
        stop: &Stop<'_>,
        extent: &mut Extent,
    ) -> Result<PlaceObject, Refusal> {
        Ok(self.copy_of_this(&object, scope, stop, extent)?.unwrap_or(object))
    }

    /// The object that a lambda by gcc copied, if the variable `this` in its code is not described. The closure
    /// has it as the member `__this`.
    fn copy_of_this(
        &self,
        this: &PlaceObject,
        scope: &Scope,
        stop: &Stop<'_>,
        extent: &mut Extent,
    ) -> Result<Option<PlaceObject>, Refusal> {
        if this.location.is_ok() {
            return Ok(None);
        }
        let mut described = Extent::default();
        let closure = match self.debug.lookup_in_function(scope, &["__closure"], stop.file, stop.line)? {
            Some(Lookup::Found { variable, is_placed, .. }) => {
                self.variable_object(variable, is_placed, stop, &mut described)?
            }
            _ => return Ok(None),
        };
        match closure.of {
            Some(of) if self.debug.class_member(of, "__this")? == Some(ClassMember::OfObject) => {
                *extent = described;
                self.step(closure, &Step::Member("__this".to_owned()), stop).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Whether a type is a closure, or a pointer to one, that captured `this`.
    fn captured(&self, of: crate::dwarf::TypeRef) -> Result<bool, Refusal> {
        Ok(self.debug.class_member(of, "this")? == Some(ClassMember::OfObject))
    }

    /// A static member of a class, by its declaration.
    pub(super) fn static_member(
        &self,
        member: Die,
        stop: &Stop<'_>,
        extent: &mut Extent,
    ) -> Result<PlaceObject, Refusal> {
        let function = stop.scope.and_then(|scope| scope.frames.first()).map_or(member, |frame| frame.instance);
        match self.debug.definition_of_member(function, member)? {
            Some(variable) => self.variable_object(variable, true, stop, extent),
            None => self.variable_object(member, false, stop, extent),
        }
    }

    /// The object that an object refers to if it is a reference, with the name of the type of the
    /// reference; otherwise the object itself.
    pub(super) fn referred(
        &self,
        object: PlaceObject,
        stop: &Stop<'_>,
    ) -> Result<(PlaceObject, Option<Arc<str>>), Refusal> {
        let (mut object, mut name) = (object, None);
        for _ in 0..REFERENCES {
            let Some(of) = object.of else { break };
            if !self.debug.is_reference(of)? {
                break;
            }
            name = name.or(Some(Arc::clone(&self.describe(Some(of))?.name)));
            object = self.step(object, &Step::Referred, stop)?;
        }
        Ok((object, name))
    }
}
