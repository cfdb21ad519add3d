//! `.debug.simple_marker.2` and its strings from arbitrary bytes, in both byte orders.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_record::ByteOrder;
use simple_markers_record::site::{Site, Sites};
use simple_markers_record::strings::Strings;

fuzz_target!(|sections: (&[u8], &[u8])| {
    let (section, strings) = sections;
    let strings = Strings::new(strings);
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut last = None;
        for record in Sites::new(section, order) {
            let offset = record.as_ref().map_or_else(|error| error.offset, |site| site.offset);
            assert!(last < Some(offset) && offset < section.len(), "records go forward and stay inside");
            last = Some(offset);
            let Ok(site) = record else { continue };
            for string in [site.name, site.file, site.format, site.args, site.operands] {
                if let Ok(string) = strings.get(string) {
                    assert!(!string.contains(&0));
                }
            }
            let mut written = Vec::new();
            site.write(&mut written, order);
            let again: Vec<_> = Sites::new(&written, order).collect();
            assert_eq!(again, [Ok(Site { offset: 0, ..site })]);
        }
    }
});
