//! Images whose labels, statements and blocks claim to be places of ghosts, with any declarations.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use simple_markers_fuzz::ghosts;
use simple_markers_resolver::address::Vaddr;
use simple_markers_resolver::report::{self, TextLayout};
use simple_markers_resolver::resolve::{
    Absence, Exactness, GhostProblem, Origin, Resolution, SitePlace, Survival, resolve,
};

/// The places of ghosts in the seeds: the target reaches each reader.
static SEEDS: LazyLock<()> = LazyLock::new(|| {
    for (seed, origin, expected) in [
        (
            &include_bytes!("../seeds/ghosts/clang")[..],
            Origin::Label,
            &[("g:0", &[0x1014][..]), ("g:1", &[0x1020])][..],
        ),
        (include_bytes!("../seeds/ghosts/gcc"), Origin::Statement, &[("g:0", &[0x1018]), ("g:1", &[0x1020])]),
        (include_bytes!("../seeds/ghosts/rustc"), Origin::Block, &[("g:0", &[0x1014]), ("g:1", &[0x1030])]),
    ] {
        let resolution = resolve("seed", &ghosts::image(&mut &seed[..]));
        for (name, places) in expected {
            let markers = resolution.images.iter().flat_map(|image| &image.markers);
            let sites: Vec<_> =
                markers.filter(|marker| &*marker.name == *name).flat_map(|marker| &marker.sites).collect();
            let found: Vec<_> = sites.iter().map(|site| site.place.clone()).collect();
            let place = |address: &u64| Some(SitePlace::Address(Vaddr(*address)));
            let places: Vec<_> = places.iter().map(place).collect();
            assert_eq!(found, places, "{name} of {origin:?}: {resolution:#?}");
            assert!(sites.iter().all(|site| site.origin == origin));
        }
    }
});

fn assert_ghosts(resolution: &Resolution) {
    for marker in resolution.images.iter().flat_map(|image| &image.markers) {
        if !marker.is_ghost {
            assert_eq!(marker.sites.len(), 1, "the marker with a record");
            continue;
        }
        let is_live = marker.sites.iter().any(|site| site.place.is_some());
        assert_eq!(is_live, marker.survival == Some(Survival::Live));
        let is_unreadable = marker.absence == Some(Absence::Ghost { problem: GhostProblem::Unreadable });
        assert!(marker.sites.is_empty() || !is_unreadable);
        for site in &marker.sites {
            let is_proven = site.exactness == Some(Exactness::Exact);
            assert!(!is_proven || site.origin == Origin::Block, "{site:#?}");
        }
    }
}

fuzz_target!(|input: &[u8]| {
    LazyLock::force(&SEEDS);
    let resolution = resolve("fuzz", &ghosts::image(&mut &input[..]));
    assert_ghosts(&resolution);
    let mut text = Vec::new();
    let layout = TextLayout { colour: false, width: None, verbosity: report::Verbosity::Full };
    report::list::write(&mut text, &resolution.rows(), layout).expect("a vector takes everything");
    assert!(std::str::from_utf8(&text).is_ok());
});
