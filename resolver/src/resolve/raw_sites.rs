//! The site records of one marker: put in order, without doubles, and counted.

use std::collections::HashMap;

use super::Survival;
use super::join::RawSite;
use super::pc::Pc;

/// Counts the copies at each address, sorts the sites (live ones first, by address), and drops
/// records that repeat a site.
pub(super) fn settle(sites: &mut Vec<RawSite>) {
    count_copies(sites);
    sites.sort_by_key(|site| (site.pc.is_none(), site.pc, site.column, site.operands, site.offset));
    // Two records of one place that keep the same arguments are one site.
    sites.dedup_by_key(|site| (site.pc, site.column, site.operands, site.pc.is_none().then_some(site.offset)));
}

/// Whether a marker with these sorted sites is in the image. `sites_are_known` says whether a
/// marker without a site has none anywhere.
pub(super) fn survival(sites: &[RawSite], sites_are_known: bool) -> Option<Survival> {
    match (sites.first(), sites_are_known) {
        (Some(RawSite { pc: Some(_), .. }), _) => Some(Survival::Live),
        (Some(_), _) => Some(Survival::Discarded),
        (None, true) => Some(Survival::Eliminated),
        (None, false) => None,
    }
}

/// Counts the records at each address: the most that one run has there, and all.
fn count_copies(sites: &mut [RawSite]) {
    if sites.len() < 2 {
        return;
    }
    let mut runs: HashMap<(Pc, u32), u32> = HashMap::new();
    for site in sites.iter() {
        if let Some(pc) = site.pc {
            let count = runs.entry((pc, site.run)).or_default();
            *count = count.saturating_add(1);
        }
    }
    let mut counts: HashMap<Pc, (u32, u32)> = HashMap::new();
    for ((pc, _), count) in runs {
        let (most, all) = counts.entry(pc).or_default();
        (*most, *all) = (count.max(*most), all.saturating_add(count));
    }
    for site in sites {
        (site.copies, site.records) = site.pc.and_then(|pc| counts.get(&pc).copied()).unwrap_or((1, 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::Origin;

    #[test]
    fn copies_are_records_of_one_run() {
        let pc = |address| Some(Pc::linked(address));
        let site = |address, run| RawSite { run, ..RawSite::without_record(pc(address), Origin::Record) };
        // Three records of an unrolled loop, and one record of a function that is in two files.
        let mut sites =
            [site(16, 1), site(16, 1), site(16, 1), site(32, 2), site(32, 4), RawSite { pc: None, ..site(0, 5) }];
        count_copies(&mut sites);
        assert_eq!(sites.map(|site| site.copies), [3, 3, 3, 1, 1, 1]);
        assert_eq!(sites.map(|site| site.records), [3, 3, 3, 2, 2, 1]);
    }
}
