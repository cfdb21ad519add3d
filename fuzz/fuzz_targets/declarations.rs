//! `__simple_marker.1` from arbitrary bytes: records survive writing and reading. Symbols and
//! variables of ghosts from the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_record::declaration::{Declaration, Declarations};
use simple_markers_record::ghost::{self, Hash};

fuzz_target!(|section: &[u8]| {
    assert!(ghost::from_symbol(0, section).is_none_or(|ghost| ghost.is_ghost && !ghost.name.is_empty()));
    assert!(Hash::from_variable(section).is_none_or(|hash| hash.variable().as_bytes() == section));
    let mut last = 0;
    for record in Declarations::new(section) {
        let offset = record.as_ref().map_or_else(|error| error.offset, |declaration| declaration.offset);
        assert!(offset >= last && offset < section.len(), "records go forward and stay inside");
        last = offset;
        let Ok(declaration) = record else { continue };
        assert!(!declaration.name.is_empty());
        let mut written = Vec::new();
        declaration.write(&mut written);
        let again: Vec<_> = Declarations::new(&written).collect();
        assert_eq!(again, [Ok(Declaration { offset: 0, ..declaration })]);
    }
});
