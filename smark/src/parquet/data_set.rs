//! A data set: the tables of the hits of a recording.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use simple_markers_tracer::Hit;
use simple_markers_tracer::ctf::Description;
use simple_markers_tracer::plan::{DoubtfulValues, Plan};

use super::end::DataSetEnd;
use super::folder::DataSetFolder;
use super::layout::{MarkerShapes, RowOrigin, TableLayout};
use super::name::folder_name;
use super::table::Table;
use super::{about, columns, recordings};

/// After how many hits the kept bytes are counted.
const OFTEN: u64 = 1 << 14;

/// The most bytes that all tables keep.
const KEPT: usize = 512 << 20;

/// A data set that is written.
pub(crate) struct DataSet<'r> {
    description: &'r Description,
    plan: &'r Plan,
    folder: DataSetFolder,
    origin: RowOrigin,
    tables: Vec<Table>,
    /// The table of each site.
    of_site: Vec<Option<usize>>,
    hits: u64,
    /// The time of the last hit.
    last: Option<u64>,
}

/// What was written.
#[derive(Debug)]
pub(crate) struct DataSetSummary {
    pub(crate) path: PathBuf,
    pub(crate) hits: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl<'r> DataSet<'r> {
    /// The tables of the sites of a recording that `keep` accepts, by their number. `shapes` has
    /// what the whole values of the wanted hits have in common, `lost` is how many hits were lost,
    /// and `most` the most bytes of a file.
    pub(crate) fn new(
        folder: DataSetFolder,
        (description, plan): (&'r Description, &'r Plan),
        keep: &dyn Fn(usize) -> bool,
        shapes: &MarkerShapes,
        doubtful: DoubtfulValues,
        (lost, most): (u64, usize),
    ) -> anyhow::Result<Self> {
        let mut by_name: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
        for (number, site) in plan.sites.iter().enumerate().filter(|(number, _)| keep(*number)) {
            let Some(marker) = plan.markers.get(site.marker) else { continue };
            by_name.entry(Arc::clone(&marker.name)).or_default().push(number);
        }
        let (mut tables, mut of_site) = (Vec::new(), vec![None; plan.sites.len()]);
        for (marker, sites) in by_name {
            let layout = TableLayout::new(&marker, plan, &sites, shapes, doubtful);
            let about = about::of_table(description, plan, &layout, &sites, lost);
            for site in &sites {
                if let Some(of_site) = of_site.get_mut(*site) {
                    *of_site = Some(tables.len());
                }
            }
            tables.push(Table::new(layout, folder.temporary().join(folder_name(&marker)), about, most)?);
        }
        let of = description.origin.as_ref();
        let origin = RowOrigin {
            host: of.and_then(|of| of.host.clone()),
            boot: of.and_then(|of| of.boot.clone()),
            recording: description.uuid_text(),
            clock_offset: description.clock_offset,
        };
        Ok(Self { description, plan, folder, origin, tables, of_site, hits: 0, last: None })
    }

    /// Adds a hit.
    pub(crate) fn add(&mut self, hit: &Hit<'_>) -> anyhow::Result<()> {
        let table = self.of_site.get(hit.number).copied().flatten();
        let Some(table) = table.and_then(|table| self.tables.get_mut(table)) else { return Ok(()) };
        table.add(hit, &self.origin, &self.description.functions)?;
        self.hits += 1;
        self.last = self.last.max(Some(hit.time));
        if self.hits % OFTEN == 0 && self.tables.iter().map(Table::size).sum::<usize>() > KEPT {
            let largest = self.tables.iter_mut().max_by_key(|table| table.size());
            largest.map_or(Ok(()), |table| table.flush(&self.origin))?;
        }
        Ok(())
    }

    /// Ends all files, and gives them their names.
    pub(crate) fn finish(mut self, end: &DataSetEnd) -> anyhow::Result<DataSetSummary> {
        for table in &mut self.tables {
            table.finish(&self.origin)?;
        }
        let Self { description, plan, folder, origin, tables, hits, last, .. } = self;
        recordings::write(folder.temporary(), description, &origin, end, hits, last)?;
        columns::write(folder.temporary(), &origin.recording, plan, tables.iter().map(|table| &table.layout))?;
        let (files, bytes) = (tables.iter().map(|it| it.files).sum(), tables.iter().map(|it| it.bytes).sum());
        Ok(DataSetSummary { path: folder.finish()?, hits, files, bytes })
    }
}
