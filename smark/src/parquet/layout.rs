//! The columns of a table: those that every table has, those of the arguments, and the doubts.

use std::collections::BTreeMap;
use std::sync::Arc;

use simple_markers_tracer::function_names::FunctionNames;
use simple_markers_tracer::plan::{DoubtfulValues, Plan, PlannedSite};
use simple_markers_tracer::tree_shape::TreeShape;
use simple_markers_tracer::{Hit, Missing};

use super::argument::{ArgumentCells, TableArgument};
use super::cell::{Cell, Column, ColumnType, INT32, UINT64};
use super::place_cell::HitDoubt;
use super::rows::RowBuffer;

/// How many columns every table has before the arguments. Each is one leaf.
const OWN: usize = 15;

/// The name of the column with what a hit does not have for sure.
const DOUBTS: &str = "doubts";

/// The column that readers make of the names of folders.
const HOUR: &str = "hour";

/// The shapes of whole values, by the names of the marker and the argument.
#[derive(Clone, Debug)]
pub(crate) struct MarkerShapes {
    shapes: BTreeMap<(Arc<str>, Arc<str>), (TreeShape, usize)>,
    budget: usize,
}

/// How many alternatives, members and names the shape of an argument can have, and those of a data
/// set.
const MOST: usize = 1 << 12;
const MOST_OF_ALL: usize = 1 << 16;

impl Default for MarkerShapes {
    fn default() -> Self {
        Self { shapes: BTreeMap::new(), budget: MOST_OF_ALL }
    }
}

impl MarkerShapes {
    /// Adds the whole values of a hit.
    pub(crate) fn add(&mut self, hit: &Hit<'_>, functions: &dyn FunctionNames) {
        for (argument, value) in hit.arguments() {
            let (Some(shown), Ok(value) | Err(Missing::Doubtful(Some(value)))) = (&argument.shown, value) else {
                continue;
            };
            let Some(tree) = shown.named_tree(&value, hit, functions) else { continue };
            let key = (Arc::clone(&hit.marker.name), Arc::clone(&argument.text));
            let (shape, own) = self.shapes.entry(key).or_insert_with(|| (TreeShape::default(), MOST));
            let budget = self.budget.min(*own);
            let mut left = budget;
            shape.add(&tree, &mut left);
            *own -= budget - left;
            self.budget -= budget - left;
        }
    }

    fn find(&self, marker: &Arc<str>, argument: &Arc<str>) -> Option<&TreeShape> {
        self.shapes.get(&(Arc::clone(marker), Arc::clone(argument))).map(|(shape, _)| shape)
    }
}

/// What every row of a data set has.
#[derive(Clone, Debug, Default)]
pub(super) struct RowOrigin {
    pub(super) host: Option<String>,
    pub(super) boot: Option<String>,
    pub(super) recording: String,
    /// The time in ns since the start of 1970 at which the clock of the hits was 0.
    pub(super) clock_offset: u64,
}

/// What every row of a site has.
#[derive(Clone, Debug)]
pub(super) struct SiteTexts {
    image: String,
    pub(super) build_id: Option<String>,
    pub(super) function: Option<Arc<str>>,
    /// The address, which a hit may not have.
    pub(super) address: String,
    pub(super) source: String,
    /// Where its arguments are among those of the table.
    pub(super) arguments: Vec<usize>,
}

/// The columns of a table.
#[derive(Debug)]
pub(super) struct TableLayout {
    pub(super) marker: Arc<str>,
    pub(super) columns: Vec<Column>,
    pub(super) arguments: Vec<TableArgument>,
    /// By their numbers in the plan.
    sites: BTreeMap<usize, SiteTexts>,
    doubtful: DoubtfulValues,
}

impl TableLayout {
    /// The columns for the sites of a marker. `sites` has their numbers in the plan.
    pub(super) fn new(
        marker: &Arc<str>,
        plan: &Plan,
        sites: &[usize],
        shapes: &MarkerShapes,
        doubtful: DoubtfulValues,
    ) -> Self {
        let mut columns = Vec::from(own_columns().map(|(column, _)| column));
        let mut arguments: Vec<TableArgument> = Vec::new();
        let mut texts = BTreeMap::new();
        for (number, site) in sites.iter().filter_map(|number| Some((*number, plan.sites.get(*number)?))) {
            let mut positions = Vec::new();
            let mut taken = vec![false; arguments.len()];
            for argument in site.own_arguments() {
                // A second argument of the same text is another one.
                let known = arguments.iter().zip(&taken).position(|(it, taken)| it.text == argument.text && !taken);
                let position = known.unwrap_or_else(|| {
                    let own = columns.iter().map(|it| it.name.as_str()).chain([DOUBTS, HOUR]);
                    let used: Vec<&str> = own.chain(arguments.iter().map(|it| it.name.as_str())).collect();
                    let new = TableArgument::new(argument, &used);
                    arguments.push(new);
                    taken.push(false);
                    arguments.len() - 1
                });
                if let Some(known) = arguments.get_mut(position) {
                    known.add(argument, shapes.find(marker, &argument.text), doubtful);
                }
                if let Some(taken) = taken.get_mut(position) {
                    *taken = true;
                }
                positions.push(position);
            }
            texts.extend(site_texts(plan, site, positions).map(|texts| (number, texts)));
        }
        columns.extend(arguments.iter().flat_map(TableArgument::columns).map(|(_, column)| column));
        columns.push(doubts_column().0);
        Self { marker: Arc::clone(marker), columns, arguments, sites: texts, doubtful }
    }

    /// Each column in its order: its name, what it has, and where its argument is in `arguments`, if it has one.
    pub(super) fn meanings(&self) -> impl Iterator<Item = (&str, &'static str, Option<usize>)> {
        let own = own_columns().map(|(_, meaning)| (meaning, None));
        let of_arguments = self.arguments.iter().enumerate().flat_map(|(position, argument)| {
            argument.columns().into_iter().map(move |(which, _)| (which.meaning(), Some(position)))
        });
        let all = own.into_iter().chain(of_arguments).chain([(doubts_column().1, None)]);
        self.columns.iter().zip(all).map(|(column, (meaning, argument))| (column.name.as_str(), meaning, argument))
    }

    /// The sites: their numbers in the plan, and what every row of them has.
    pub(super) fn sites(&self) -> impl Iterator<Item = (usize, &SiteTexts)> {
        self.sites.iter().map(|(number, texts)| (*number, texts))
    }

    /// Adds a hit to rows of this layout. Returns its time in ns since the start of 1970.
    pub(super) fn add(
        &self,
        rows: &mut RowBuffer,
        hit: &Hit<'_>,
        origin: &RowOrigin,
        functions: &dyn FunctionNames,
    ) -> Option<()> {
        let site = self.sites.get(&hit.number)?;
        let mut doubts = Vec::new();
        self.add_own(rows, hit, site, origin, &mut doubts)?;
        let mut cells: Vec<ArgumentCells<'_>> = self.arguments.iter().map(TableArgument::absent).collect();
        for ((planned, value), position) in hit.arguments().zip(&site.arguments) {
            let (Some(argument), Some(cells)) = (self.arguments.get(*position), cells.get_mut(*position)) else {
                continue;
            };
            *cells = argument.cells(hit, planned, value, functions, self.doubtful, &mut doubts);
        }
        let (mut leaf, mut columns) = (OWN, self.columns.iter().skip(OWN));
        for (argument, cells) in self.arguments.iter().zip(&cells) {
            for cell in cells.of(argument) {
                let Some(column) = columns.next() else { break };
                rows.push(leaf, column, cell);
                leaf += column.of.leaves();
            }
        }
        if let Some(column) = self.columns.last() {
            let doubt = |HitDoubt { place, words }| Cell::Group(vec![Cell::owned(place), Cell::owned(words)]);
            rows.push(leaf, column, &Cell::List(doubts.into_iter().map(doubt).collect()));
        }
        rows.count += 1;
        Some(())
    }

    fn add_own(
        &self,
        rows: &mut RowBuffer,
        hit: &Hit<'_>,
        of: &SiteTexts,
        origin: &RowOrigin,
        doubts: &mut Vec<HitDoubt>,
    ) -> Option<()> {
        let own = rows.leaves.first_chunk_mut::<OWN>()?;
        let [time, marker, host, boot, recording, image, build_id, pid, tid, comm, cpu, task, function, site, source] =
            own;
        time.push_int64(wall_time(hit.time, origin));
        marker.push_text(Some(self.marker.as_bytes()));
        host.push_text(origin.host.as_deref().map(str::as_bytes));
        boot.push_text(origin.boot.as_deref().map(str::as_bytes));
        recording.push_text(Some(origin.recording.as_bytes()));
        image.push_text(Some(of.image.as_bytes()));
        build_id.push_text(of.build_id.as_deref().map(str::as_bytes));
        // None of them is as large as that.
        pid.push_int32(hit.process as i32);
        tid.push_int32(hit.thread as i32);
        comm.push_text(Some(hit.thread_name().as_bytes()));
        cpu.push_int32(hit.cpu as i32);
        match task_of(hit, doubts) {
            Some(number) => _ = task.push(&Cell::Integer(number.into()), 1, 0),
            None => task.push_null(0, 0),
        }
        function.push_text(of.function.as_deref().map(str::as_bytes));
        site.push_text(hit.address.map(|_| of.address.as_bytes()));
        source.push_text(Some(of.source.as_bytes()));
        Some(())
    }
}

/// The time of a hit in ns since the start of 1970.
pub(super) fn wall_time(time: u64, origin: &RowOrigin) -> i64 {
    i64::try_from(origin.clock_offset.saturating_add(time)).unwrap_or(i64::MAX)
}

/// The columns that every table has before the arguments, and what they have.
fn own_columns() -> [(Column, &'static str); OWN] {
    let required = |name| Column::required(name, ColumnType::Text);
    let optional = |name| Column::optional(name, ColumnType::Text);
    let integer = |name| Column::required(name, INT32);
    [
        (Column::required("time", ColumnType::Time), "when it was hit, by the time of day when the recording began"),
        (required("marker"), "the name of the marker"),
        (optional("host"), "the name of the machine"),
        (optional("boot"), "the boot of its kernel"),
        (required("recording"), "the UUID of the recording"),
        (required("image"), "the program or library with the marker"),
        (optional("build_id"), "the build id of it"),
        (integer("pid"), "the process"),
        (integer("tid"), "the thread"),
        (required("comm"), "the name of the thread"),
        (integer("cpu"), "the CPU"),
        (Column::optional("task", UINT64), "the task of an async runtime that the thread ran"),
        (optional("function"), "the function with the marker"),
        (optional("site"), "the link-time address"),
        (required("source"), "the file and the line of the marker"),
    ]
}

fn doubts_column() -> (Column, &'static str) {
    (Column::required(DOUBTS, ColumnType::texts(&["argument", "why"])), "what the hit does not have for sure, and why")
}

fn site_texts(plan: &Plan, site: &PlannedSite, arguments: Vec<usize>) -> Option<SiteTexts> {
    let (image, marker) = (plan.images.get(site.image)?, plan.markers.get(site.marker)?);
    let source = if marker.file.is_empty() { String::new() } else { format!("{}:{}", marker.file, marker.line) };
    Some(SiteTexts {
        image: image.path.clone(),
        build_id: image.build_id.clone(),
        function: site.function.clone(),
        address: site.address.to_string(),
        source,
        arguments,
    })
}

/// The number of the task; `None` if the thread ran none, or if it is not noted.
fn task_of(hit: &Hit<'_>, doubts: &mut Vec<HitDoubt>) -> Option<u64> {
    match hit.task()? {
        Ok(task) => task.map(std::num::NonZero::get),
        Err(missing) => {
            let words = simple_markers_tracer::text::json_why(&missing);
            doubts.push(HitDoubt { place: "task".to_owned(), words });
            None
        }
    }
}
