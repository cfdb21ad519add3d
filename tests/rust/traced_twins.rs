//! What BPF programs read in generated programs is what the unoptimised twin of each prints at the
//! same pass of the same marker.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use simple_markers_resolver::export::fetch::NumberKind;
use simple_markers_resolver::resolve::resolve;
use simple_markers_tests::oracle::builds::{self, Options, With};
use simple_markers_tests::oracle::corpus::{Generated, Job};
use simple_markers_tests::oracle::twin::{self, Key, Truth};
use simple_markers_tests::watched::can_watch;
use simple_markers_tracer::plan::{Plan, PlannedArgument, Source};
use simple_markers_tracer::planning::PlanSettings;
use simple_markers_tracer::record::stack::StackSettings;
use simple_markers_tracer::sys::{Kernel, Mode, Scope, Session};
use simple_markers_tracer::thread_local::ThreadLocals;
use simple_markers_tracer::{Hit, Missing, Value};

/// The argument of the programs: how often they do their work.
const ROUNDS: &str = "5";

/// What was compared.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Markers whose sites are all watched.
    pub(crate) markers: usize,
    pub(crate) right: usize,
    pub(crate) wrong: usize,
    pub(crate) missing: usize,
    /// Of the right and of the wrong ones, those that were read at the entry of their function.
    pub(crate) right_at_entry: usize,
    pub(crate) wrong_at_entry: usize,
}

/// Compares one value.
pub(crate) fn count(counts: &mut Counts, hit: &Hit<'_>, value: &Result<Value<'_>, Missing<'_>>, truth: &Truth) {
    match value.as_ref().map(|value| is_right(value, truth)) {
        Ok(Some(true)) => counts.right += 1,
        Ok(Some(false)) => {
            note!("{} line {}: {value:?}, and the twin has {truth:?}", hit.marker.name, hit.marker.line);
            counts.wrong += 1;
        }
        Ok(None) => {}
        Err(Missing::Unreadable { .. }) => panic!("{}: {value:?}", hit.marker.name),
        Err(Missing::Unread(_) | Missing::Doubtful(_)) => counts.missing += 1,
        Err(Missing::EntryUnseen) => panic!("{}: an entry was not seen", hit.marker.name),
    }
}

/// The markers of a plan by name, file and line, if all of their sites are watched.
pub(crate) fn watched(plan: &Plan) -> HashMap<Key, usize> {
    let key = |number: usize| {
        let marker = &plan.markers[number];
        (marker.name.to_string(), marker.file.to_string(), marker.line)
    };
    let mut sites: HashMap<usize, usize> = HashMap::new();
    plan.sites.iter().for_each(|site| *sites.entry(site.marker).or_default() += 1);
    let all = sites.into_iter().filter(|(number, count)| plan.markers[*number].sites == *count);
    all.map(|(number, _)| (key(number), number)).collect()
}

/// Whether a value is the one that the twin printed; `None` if there is nothing to compare, because
/// addresses differ between the programs.
fn is_right(value: &Value<'_>, truth: &Truth) -> Option<bool> {
    match value {
        Value::Number { kind: NumberKind::Pointer, .. } => None,
        // `%f` takes a `double`, so a kept `float` is one.
        Value::Number { kind: NumberKind::Float, bits, size: 8 } if truth.bytes.len() == 4 => {
            let single = <[u8; 4]>::try_from(&truth.bytes[..]).map(f32::from_le_bytes).ok()?;
            Some(f64::from_bits(*bits).to_bits() == f64::from(single).to_bits())
        }
        Value::Number { bits, size, .. } => {
            // A reference is shown as what it refers to, and a kept number may be widened.
            let theirs = truth.behind.as_ref().unwrap_or(&truth.bytes);
            let size = theirs.len().min(usize::from(*size));
            let is_address = |bits: u64| theirs.len() == 8 && (1 << 40..1 << 47).contains(&bits);
            let their_bits = <[u8; 8]>::try_from(&theirs[..]).map_or(0, u64::from_le_bytes);
            (size > 0 && !is_address(*bits) && !is_address(their_bits))
                .then(|| bits.to_le_bytes()[..size] == theirs[..size])
        }
        Value::Text { bytes, .. } => truth.behind.as_ref().map(|theirs| theirs.starts_with(bytes)),
        Value::Null | Value::Array { .. } | Value::Whole(_) => None,
    }
}

/// Whether an argument is read at the entry of its function.
fn is_at_entry(hit: &Hit<'_>, argument: &PlannedArgument) -> bool {
    let Source::Read(reading) = &argument.source else { return false };
    let input = reading.field().and_then(|field| hit.site.inputs.get(field));
    input.is_some_and(|input| !input.entry_values().is_empty())
}

fn examine(job: &Job, folder: &Path, kernel: Kernel) -> Counts {
    let sources = [job.source.clone()];
    let twin_image = folder.join("twin");
    builds::twin(&sources, job.with, &twin_image).expect("the twin is built");
    let passes = twin::passes(&twin_image, &[ROUNDS.to_owned()], None, twin::SMALL).expect("the twin runs");
    let image: PathBuf = folder.join(format!("{}-{}", job.with.name(), job.variant));
    builds::program(&sources, &job.builds[0], &image).expect("the program is built");
    let path = image.to_str().expect("UTF-8").to_owned();
    let resolution = resolve(&path, &std::fs::read(&image).expect("the program"));
    let mut plan = Plan::default();
    let settings = PlanSettings { kernel: kernel.offsets, ..PlanSettings::default() };
    for image in &resolution.images {
        plan.add(image, &path, &ThreadLocals::Executable(0), &|_| true, &settings).expect("it can be watched");
    }
    // What a plan file keeps suffices to watch the program.
    for image in &mut plan.images {
        image.build_id.get_or_insert("00".to_owned());
    }
    let file = Plan::from_json(plan.to_json().to_string().as_bytes()).expect("a plan");
    assert_eq!(Plan::from_json(file.to_json().to_string().as_bytes()).as_ref(), Ok(&file));
    assert_eq!((file.sites.len(), file.images.len()), (plan.sites.len(), plan.images.len()));
    for (read, made) in file.sites.iter().zip(&plan.sites) {
        assert_eq!(read.inputs, made.inputs);
        for (read, made) in read.arguments.iter().zip(&made.arguments) {
            match (&read.source, &made.source) {
                (Source::Unread(read), Source::Unread(made)) => {
                    assert_eq!((read.placeholder(), read.words()), (made.placeholder(), made.words()));
                }
                (Source::Doubtful(read), Source::Doubtful(made)) => {
                    assert_eq!(
                        (&read.here, &read.before, read.why.words()),
                        (&made.here, &made.before, made.why.words())
                    );
                }
                (read, made) => assert_eq!(read, made),
            }
        }
    }
    let plan = file;
    let mut session =
        Session::start(&plan, &Scope::All, Mode::Trace { ring: 1 << 25, stacks: StackSettings::NONE }, kernel)
            .expect("it is watched");
    let status = Command::new(&image).arg(ROUNDS).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.expect("it runs");
    session.detach();
    let markers = watched(&plan);
    let mut counts = Counts { markers: markers.len(), ..Counts::default() };
    let mut hits: HashMap<usize, usize> = HashMap::new();
    let truth: HashMap<usize, &[Vec<Truth>]> =
        markers.iter().map(|(key, number)| (*number, passes.of.get(key).map_or(&[][..], Vec::as_slice))).collect();
    let mut each = |hit: &Hit<'_>| {
        let pass = hits.entry(hit.site.marker).or_default();
        if let Some(truth) = truth.get(&hit.site.marker).and_then(|passes| passes.get(*pass)) {
            for ((argument, value), truth) in hit.arguments().zip(truth) {
                let before = (counts.right, counts.wrong);
                count(&mut counts, hit, &value, truth);
                if is_at_entry(hit, argument) {
                    counts.right_at_entry += counts.right - before.0;
                    counts.wrong_at_entry += counts.wrong - before.1;
                }
            }
        }
        *pass += 1;
    };
    session.read(&plan, true, &mut each);
    assert_eq!(session.lost(), Ok(0));
    for (number, truth) in &truth {
        let hits = hits.get(number).copied().unwrap_or(0);
        assert_eq!(hits, truth.len(), "{}: {:?}", job.with.name(), plan.markers[*number]);
    }
    counts
}

#[test]
fn values_are_those_of_the_twins() {
    if !can_watch() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let generated = Generated {
        seeds: 3..4,
        functions: 16,
        kinds: vec!["plain".to_owned()],
        variants: vec!["keep".to_owned(), "place".to_owned()],
    };
    let compilers: Vec<With> = With::ALL.into_iter().filter(|with| builds::is_installed(*with)).collect();
    let options = |with| vec![Options { with, level: "2".to_owned(), lto: "none".to_owned(), dwarf: 5 }];
    let jobs = generated.jobs(folder.path(), &compilers, &options).expect("the sources are written");
    let kernel = Kernel::new();
    let mut at_entry = 0;
    for job in &jobs {
        let counts = examine(job, folder.path(), kernel);
        note!("{} {}: {counts:?}", job.with.name(), job.variant);
        assert!(counts.markers > 5 && counts.right > 100, "{job:?}: {counts:?}");
        assert_eq!(counts.wrong_at_entry, 0, "{job:?}: {counts:?}");
        at_entry += counts.right_at_entry;
        // What is kept is right by construction. Of places the resolver can be wrong
        // (docs/measured/truth.md).
        let most = if job.variant == "keep" { 0 } else { counts.right / 20 };
        assert!(counts.wrong <= most, "{job:?}: {counts:?}");
    }
    assert!(at_entry > 0);
}
