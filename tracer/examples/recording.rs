//! Measures the writer of recordings beside `write!` of the same hits: ns and bytes for each event,
//! the median of several rounds. `benches/recording` runs it.

use std::fmt::Write as _;
use std::time::Instant;

use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::export::fetch::NumberKind::{self, Pointer, Signed, Unsigned};
use simple_markers_tracer::ctf::{Description, Events, Writer};
use simple_markers_tracer::plan::{
    Aggregate, ImageFile, PlannedArgument, PlannedImage, PlannedMarker, PlannedSite, Reading, Source,
};
use simple_markers_tracer::record::{CPU, FIELDS, FieldKind, Layout, NAME, Record, SITE, THREAD, TIME};
use simple_markers_tracer::{Hit, Plan};

const EVENTS: usize = 1_000_000;
const ROUNDS: usize = 9;

fn main() {
    let plan = plan();
    let layouts = [Layout::new([FieldKind::Number; 4])];
    let records = records(layouts[0].size().into());
    let hits = || {
        let records = records.chunks_exact(layouts[0].size().into());
        records.map(|record| Hit::new(Record(record), &plan, &layouts).expect("a hit"))
    };
    let (mut written, mut texts, mut read) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bytes, mut text_bytes) = (0, 0);
    for _ in 0..ROUNDS {
        let mut writer = Writer::new(Description::default(), &plan, 256 << 10);
        // Memory that is touched first costs more than what is measured.
        let mut stream = vec![0; EVENTS * 64];
        stream.clear();
        let start = Instant::now();
        for hit in hits() {
            if let Some(packet) = writer.write(&hit) {
                stream.extend_from_slice(&packet.bytes);
                writer.reuse(packet);
            }
        }
        stream.extend(writer.finish().expect("a packet").bytes);
        written.push(ns(start));
        bytes = stream.len();

        let mut text = String::from_utf8(vec![0; EVENTS * 128]).expect("NUL is UTF-8");
        text.clear();
        let start = Instant::now();
        for hit in hits() {
            print(&hit, &mut text);
        }
        texts.push(ns(start));
        text_bytes = text.len();

        let described = writer.description().plan();
        let start = Instant::now();
        let count = Events::new(writer.description(), &described, &stream).filter(Result::is_ok).count();
        read.push(ns(start));
        assert_eq!(count, EVENTS);
    }
    let (written, texts, read) = (median(written), median(texts), median(read));
    let (bytes, text_bytes) = (bytes as f64 / EVENTS as f64, text_bytes as f64 / EVENTS as f64);
    println!("| | ns for each event | bytes |\n| --- | ---: | ---: |");
    println!("| CTF, written | {written:.0} | {bytes:.1} |");
    println!("| `write!` | {texts:.0} | {text_bytes:.1} |");
    println!("| ratio | {:.1} | {:.2} |", texts / written, bytes / text_bytes);
    println!("| CTF, read | {read:.0} | |");
}

/// The same with `write!`: the line of `smark trace`, by code that knows the format.
fn print(hit: &Hit<'_>, out: &mut String) {
    let record = hit.record().expect("a record").record;
    let field = |index: usize| {
        let bytes = record.0[usize::from(FIELDS) + 8 * index..].first_chunk();
        u64::from_ne_bytes(*bytes.expect("a field"))
    };
    let (seconds, fraction) = (hit.time / 1_000_000_000, hit.time % 1_000_000_000 / 1000);
    let (cpu, process, name) = (hit.cpu, hit.process, hit.thread_name());
    let (tag, sectors, sector, depth) = (field(0), field(1) as u32, field(2), field(3) as i32);
    let _ = writeln!(
        out,
        "{seconds:>4}.{fraction:06} [{cpu:>2}] {name:<15} {process:<15} queue:submit: \
         request {tag}: {sectors} sectors from {sector:#x}, {depth} in flight"
    );
}

fn ns(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e9 / EVENTS as f64
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// A marker with four numbers.
fn plan() -> Plan {
    let argument = |text: &str, field, size, kind: NumberKind| {
        PlannedArgument::new(text.into(), Source::Read(Reading::Number { field, size, kind }))
    };
    Plan {
        images: vec![PlannedImage {
            path: "/io-queue".into(),
            file: ImageFile::default(),
            module: "io-queue".into(),
            build_id: None,
            thread_local_size: None,
            platform: None,
        }],
        markers: vec![PlannedMarker {
            image: 0,
            name: "queue:submit".into(),
            file: "queue.rs".into(),
            line: 1,
            format: "request %lu: %u sectors from %#lx, %d in flight".into(),
            sites: 1,
            task_point: None,
            event: None,
        }],
        sites: vec![PlannedSite {
            image: 0,
            marker: 0,
            function: None,
            address: Vaddr(0x1000),
            probe: Vaddr(0x1000),
            offset: FileOffset(0x1000),
            switch: None,
            entry_stack_pointer: None,
            task: None,
            frame: None,
            inputs: Vec::new(),
            members: Vec::new(),
            notes_task: false,
            filter: None,
            aggregate: Aggregate::Hits,
            recorded: None,
            exit: None,
            arguments: vec![
                argument("tag", 0, 8, Unsigned),
                argument("sectors", 1, 4, Unsigned),
                argument("sector", 2, 8, Pointer),
                argument("depth", 3, 4, Signed),
            ],
        }],
        ..Plan::default()
    }
}

fn records(size: usize) -> Vec<u8> {
    let mut records = vec![0; EVENTS * size];
    for (number, record) in records.chunks_exact_mut(size).enumerate() {
        let number = number as u64;
        let mut put = |at: u16, bytes: &[u8]| record[at.into()..][..bytes.len()].copy_from_slice(bytes);
        put(TIME, &(number * 1234).to_ne_bytes());
        put(THREAD, &10583u32.to_ne_bytes());
        put(THREAD + 4, &10583u32.to_ne_bytes());
        put(SITE, &0u32.to_ne_bytes());
        put(CPU, &((number % 2) as u32).to_ne_bytes());
        put(NAME, b"io-queue");
        for (index, value) in
            [number, number % 64, number.wrapping_mul(0x9e37_79b9) & 0xff_ffff, number % 8].iter().enumerate()
        {
            put(FIELDS + 8 * index as u16, &value.to_ne_bytes());
        }
    }
    records
}
