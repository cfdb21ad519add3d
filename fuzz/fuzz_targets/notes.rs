//! `.note.stapsdt` from arbitrary bytes, in both byte orders, and the operands of its arguments for
//! each processor.
#![no_main]

use images::Linked;
use libfuzzer_sys::fuzz_target;
use simple_markers_record::ByteOrder;
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::location::operand::{OperandContext, OperandProblem, SymbolPlace, located};
use simple_markers_resolver::location::{Processor, SizedOperand};
use simple_markers_resolver::resolve::{Origin, resolve};

const PROCESSORS: [Processor; 5] =
    [Processor::X86_64, Processor::I386, Processor::Aarch64, Processor::Riscv64, Processor::Other];

fuzz_target!(|input: (&[u8], &str)| {
    let (section, arguments) = input;
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let file = Linked { order, ..Linked::new() }.section(".note.stapsdt", section.to_vec()).build();
        let resolution = resolve("notes", &file);
        let image = resolution.images.first().expect("the image is whole");
        for offset in image.diagnostics.iter().filter_map(|diagnostic| diagnostic.offset) {
            assert!(offset.0 < section.len() as u64, "notes are inside their section");
        }
        for marker in &image.markers {
            assert!(marker.is_note && !marker.name.is_empty() && !marker.sites.is_empty());
            for site in &marker.sites {
                assert_eq!((site.origin, site.args.len()), (Origin::Note, marker.args.len()));
                assert!(site.args.iter().all(|argument| argument.location.is_some() != argument.reason.is_some()));
            }
        }
    }
    let symbols = |name: &str| match name.len() % 3 {
        0 => Ok(SymbolPlace::Address(Vaddr(0x4000))),
        1 => Ok(SymbolPlace::ThreadLocal(8)),
        _ => Err(OperandProblem::NoSymbol { name: name.into() }),
    };
    for operand in SizedOperand::all(arguments) {
        assert!(arguments.contains(operand.operand));
        for processor in PROCESSORS {
            let context =
                OperandContext { processor, order: ByteOrder::Little, here: Some(Vaddr(0x1000)), symbols: &symbols };
            // The same operand is always at the same place.
            assert_eq!(located(operand.operand, 8, &context), located(operand.operand, 8, &context));
        }
    }
});
