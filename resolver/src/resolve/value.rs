//! The value of an argument on a machine that is stopped at its site: its bytes, and their meaning.
//!
//! The location asks the machine for registers and memory, and the type gives the bytes a meaning.
//! For the target of a pointer the memory is read again.

use std::ops::Range;
use std::sync::Arc;

use simple_markers_record::{ByteOrder, printf};

use super::{Argument, Encoding};
use crate::address::RuntimeAddress;
use crate::english;
use crate::location::{Location, MAX_VALUE_SIZE, Machine, Piece, Processor, Source, Unreadable};
use crate::types::{self, Limits, MemoryFunction, Object, ReadContext, RenderedText, Shape, Type};

/// The bytes of an argument's value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// The bytes, in the byte order of the image; 0 if optimised out.
    pub bytes: Vec<u8>,
    /// The bits that are optimised out, counted as in [`crate::types::Member::bit_offset`].
    pub gone: Vec<Range<u64>>,
}

impl Argument {
    /// The bytes of the value on a machine that is stopped at the site; `None` if the argument
    /// cannot be read there, or has no size.
    ///
    /// # Errors
    ///
    /// The machine does not have what the location asks for.
    pub fn read(&self, machine: &dyn Machine) -> Result<Option<Bytes>, Unreadable> {
        let (Some(location), Some(size)) = (&self.location, self.size) else { return Ok(None) };
        // Checked before anything of that size is allocated: malformed debug information may have
        // any size.
        if size > MAX_VALUE_SIZE {
            return Err(Unreadable::TooLarge(size));
        }
        let gone = location.optimized_out(size);
        let zeros = |piece: &Piece| match piece.source {
            Source::OptimizedOut | Source::ImplicitPointer { .. } => {
                let bits = piece.bits.unwrap_or_else(|| size.saturating_mul(8)).min(size.saturating_mul(8));
                let bytes = vec![0; usize::try_from(bits.div_ceil(8)).unwrap_or(0)];
                Piece { bits: piece.bits, source: Source::Bytes(bytes.into()), offset: 0 }
            }
            _ => piece.clone(),
        };
        if gone.is_empty() {
            return Ok(Some(Bytes { bytes: location.evaluate(machine, size)?, gone }));
        }
        let known = Location { pieces: location.pieces.iter().map(zeros).collect() };
        Ok(Some(Bytes { bytes: known.evaluate(machine, size)?, gone }))
    }

    /// The whole value in the notation of its language; `None` if the argument cannot be read, or
    /// its type is not known.
    ///
    /// # Errors
    ///
    /// Those of [`Argument::read`].
    pub fn show(&self, machine: &dyn Machine, processor: Processor) -> Result<Option<RenderedText>, Unreadable> {
        let (Some(value), Some(of)) = (self.read(machine)?, self.kind()) else { return Ok(None) };
        let object = Object { bytes: &value.bytes, optimized_out: &value.gone, ..Object::default() };
        Ok(Some(self.with_reading(machine, processor, |reading| types::render(&of, object, reading))))
    }

    /// The value as a conversion of a format (`%-8lu`) prints it. `stars` are the values of its
    /// `*`.
    ///
    /// # Errors
    ///
    /// The argument cannot be read, or its type does not fit the conversion.
    pub fn print(
        &self,
        conversion: &str,
        stars: &[i64],
        machine: &dyn Machine,
        processor: Processor,
    ) -> Result<RenderedText, String> {
        let Some(Ok(printf::Piece::Conversion(conversion))) = printf::parse(conversion.as_bytes()).next() else {
            return Err(english::arguments::no_conversion(conversion));
        };
        let value = self.read(machine).map_err(|error| error.to_string())?;
        let (Some(value), Some(of)) = (value, self.kind()) else {
            return Err(english::arguments::why(self));
        };
        let object = Object { bytes: &value.bytes, optimized_out: &value.gone, ..Object::default() };
        self.with_reading(machine, processor, |reading| types::printf(&conversion, stars, &of, object, reading))
    }

    /// The type. For an argument that the program keeps it is the number type of its operand.
    fn kind(&self) -> Option<Arc<Type>> {
        if let Some(of) = &self.ty {
            return Some(Arc::clone(of));
        }
        let shape = match self.encoding? {
            Encoding::Signed => Shape::Integer { signed: true },
            Encoding::Unsigned => Shape::Integer { signed: false },
            Encoding::Float => Shape::Float,
        };
        Some(Arc::new(Type { name: "".into(), size: self.size, shape }))
    }

    /// Calls `then` with the context in which values of `machine` are read.
    fn with_reading<T>(
        &self,
        machine: &dyn Machine,
        processor: Processor,
        then: impl FnOnce(&ReadContext<'_>) -> T,
    ) -> T {
        let byte_order = if machine.is_big_endian() { ByteOrder::Big } else { ByteOrder::Little };
        let memory = MemoryFunction(|address: u64, into: &mut [u8]| machine.read(RuntimeAddress(address), into));
        then(&ReadContext {
            byte_order,
            language: self.language,
            x87: processor.set().is_some_and(|set| set.x87().is_some()),
            memory: &memory,
            limits: Limits::default(),
            load_bias: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::Register;

    struct Nothing;

    impl Machine for Nothing {
        fn register(&self, _: Register) -> Option<Vec<u8>> {
            None
        }
        fn read(&self, _: RuntimeAddress, _: &mut [u8]) -> bool {
            false
        }
        fn bias(&self) -> u64 {
            0
        }
        fn thread_local(&self, _: u64) -> Option<RuntimeAddress> {
            None
        }
        fn address_size(&self) -> u8 {
            8
        }
        fn is_big_endian(&self) -> bool {
            false
        }
    }

    fn of_size(size: u64, pieces: &[Piece]) -> Argument {
        let location = Some(Location { pieces: pieces.into() });
        Argument { size: Some(size), location, ..Argument::unresolved(&"x".into()) }
    }

    #[test]
    fn what_is_gone_is_zero_and_said() {
        let known = Piece { bits: Some(16), source: Source::Bytes([1, 2].into()), offset: 0 };
        let gone = Piece { bits: Some(16), source: Source::OptimizedOut, offset: 0 };
        let Ok(Some(read)) = of_size(4, &[known, gone]).read(&Nothing) else { panic!("it is readable") };
        assert_eq!(
            (read.bytes.as_slice(), read.gone.as_slice()),
            (&[1, 2, 0, 0][..], &[Range { start: 16, end: 32 }][..])
        );
    }

    #[test]
    fn a_size_that_no_value_has_is_refused_before_it_is_made() {
        let gone = Piece { bits: None, source: Source::OptimizedOut, offset: 0 };
        assert_eq!(of_size(1 << 60, &[gone]).read(&Nothing), Err(Unreadable::TooLarge(1 << 60)));
    }
}
