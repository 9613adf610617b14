//! Stretches of real and crafted logs to be damaged: batches, each with all that is in it.
//!
//! Must not know: how they are damaged.

#![allow(dead_code, reason = "two tests share it, each uses some")]

use crate::build::{Bat, Commit, Ending, Rec, T0, codecs, commit, forget, offset_key};
use grouplog::log::{Batch, Codec, Header, Inflater, Segment, Span, Spans};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A batch, sound.
#[derive(Clone)]
pub struct Part {
    pub bytes: Vec<u8>,
    pub header: Header,
    /// Its first offset; also of a wrapper.
    pub first: i64,
    pub records: Vec<Rec>,
    /// Where each record lies in the bytes; empty if they are compressed.
    pub places: Vec<Place>,
}

/// Where a record lies in its batch.
#[derive(Clone)]
pub struct Place {
    pub record: Range<usize>,
    pub key: Range<usize>,
    pub value: Range<usize>,
}

impl Part {
    /// Reads a batch. None if anything is odd with it.
    pub fn read(bytes: &[u8], inflater: &mut Inflater) -> Option<Part> {
        let batch = Batch::new(bytes, 0)?;
        batch.check_crc().ok()?;
        let header = batch.header();
        let within = |slice: &[u8]| {
            let start = slice.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr());
            start..start + slice.len()
        };
        let (mut records, mut places) = (Vec::new(), Vec::new());
        let mut read = batch.records(inflater);
        for record in read.by_ref() {
            let record = record.ok()?;
            let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
            let Rec { key, value, .. } =
                Rec { offset: 0, timestamp: 0, key: owned(record.key), value: owned(record.value) };
            records.push(Rec { offset: record.offset, timestamp: record.timestamp, key, value });
            if header.codec == Codec::None {
                let part = |slice: Option<&[u8]>| slice.map_or(0..0, within);
                places.push(Place { record: within(record.bytes), key: part(record.key), value: part(record.value) });
            }
        }
        read.fault().is_none().then_some(())?;
        let first = records.first().filter(|_| header.magic < 2).map_or(header.base_offset, |record| record.offset);
        Some(Part { bytes: bytes.to_vec(), header, first, records, places })
    }

    /// What kind of batch it is.
    pub fn class(&self) -> String {
        let Header { magic, codec, .. } = self.header;
        let kind = match (self.header.control, self.header.transactional, self.records.is_empty()) {
            (_, _, true) => " emptied",
            (true, ..) => " marker",
            (_, true, _) => " transactional",
            _ => "",
        };
        let cleaned = if self.header.delete_horizon_ms.is_some() { " cleaned" } else { "" };
        format!("magic {magic} {}{kind}{cleaned}", codec.name())
    }

    /// What its head holds: names and bytes, in order.
    pub fn fields(&self) -> Vec<(&'static str, Range<usize>)> {
        match (self.header.magic, self.header.codec) {
            (2, _) => vec![
                ("baseOffset", 0..8),
                ("batchLength", 8..12),
                ("partitionLeaderEpoch", 12..16),
                ("magic", 16..17),
                ("crc", 17..21),
                ("attributes", 21..23),
                ("lastOffsetDelta", 23..27),
                ("baseTimestamp", 27..35),
                ("maxTimestamp", 35..43),
                ("producerId", 43..51),
                ("producerEpoch", 51..53),
                ("baseSequence", 53..57),
                ("count", 57..61),
            ],
            (magic, codec) => {
                let mut fields =
                    vec![("offset", 0..8), ("size", 8..12), ("crc", 12..16), ("magic", 16..17), ("attributes", 17..18)];
                let key_at = if magic == 1 { 26 } else { 18 };
                if magic == 1 {
                    fields.push(("timestamp", 18..26));
                }
                fields.push(("keyLength", key_at..key_at + 4));
                let key = self.records.first().and_then(|it| it.key.as_ref()).map_or(0, Vec::len);
                let value_at = key_at + 4 + if codec == Codec::None { key } else { 0 };
                fields.push(("valueLength", value_at..value_at + 4));
                fields
            }
        }
    }

    /// Where the head ends.
    pub fn head_length(&self) -> usize {
        if self.header.magic == 2 { 61 } else { self.fields().last().unwrap().1.end }
    }
}

/// Batches in a row, one of which is to be damaged.
#[derive(Clone)]
pub struct Sample {
    pub name: String,
    pub parts: Vec<Part>,
    /// Which.
    pub target: usize,
    /// What its values hold, if they hold batches.
    pub nested: Option<Nested>,
}

/// Batches inside a value.
#[derive(Clone, Copy)]
pub struct Nested {
    pub count: i64,
    /// The batch around them is compressed.
    pub compressed: bool,
    /// One of them has an offset that a batch in its place could have.
    pub fits: bool,
    /// Bytes of each.
    pub unit: usize,
}

impl Sample {
    pub fn bytes(&self) -> Vec<u8> {
        self.parts.iter().flat_map(|part| part.bytes.iter().copied()).collect()
    }

    /// Where a part begins; behind the last one, the end.
    pub fn start(&self, part: usize) -> usize {
        self.parts.iter().take(part).map(|part| part.bytes.len()).sum()
    }

    pub fn range(&self, part: usize) -> Range<usize> {
        self.start(part)..self.start(part + 1)
    }

    /// The first offset: the segment is named after it.
    pub fn base(&self) -> i64 {
        self.parts[0].first
    }

    pub fn target(&self) -> &Part {
        &self.parts[self.target]
    }
}

/// The exhibits' `.log` files, by exhibit.
fn files() -> BTreeMap<String, Vec<PathBuf>> {
    let mut found = BTreeMap::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let roots = [Some(("fixtures", fixtures)), crate::common::golden().map(|golden| ("golden", golden))];
    for (name, root) in roots.into_iter().flatten() {
        files_below(&root, &root, name, &mut found);
    }
    found
}

fn files_below(root: &Path, dir: &Path, name: &str, found: &mut BTreeMap<String, Vec<PathBuf>>) {
    for entry in crate::common::names_in(dir) {
        let path = dir.join(&entry);
        if path.is_dir() {
            files_below(root, &path, name, found);
        } else if entry.ends_with(".log") && dir.display().to_string().contains("__consumer_offsets-") {
            let shown = path.strip_prefix(root).unwrap().display().to_string();
            let exhibit = format!("{name}/{}", shown.split("/log/").next().unwrap());
            found.entry(exhibit).or_default().push(path);
        }
    }
}

/// All batches of a segment, if all of them are sound.
fn parts_of(path: &Path) -> Option<Vec<Part>> {
    let segment = Segment::open(path).unwrap();
    let mut inflater = Inflater::new();
    let part = |span: Span<'_>| match span {
        Span::Batch(batch) => Part::read(batch.bytes(), &mut inflater),
        Span::Hole(_) => None,
    };
    segment.spans().map(part).collect()
}

/// Every segment of `fixtures/` all of whose batches are sound.
pub fn sound_segments() -> impl Iterator<Item = (String, Vec<Part>)> {
    let fixtures = files().into_iter().filter(|(exhibit, _)| exhibit.starts_with("fixtures"));
    let paths = fixtures.flat_map(|(exhibit, paths)| paths.into_iter().map(move |path| (exhibit.clone(), path)));
    paths.filter_map(|(exhibit, path)| {
        let parts = parts_of(&path).filter(|parts| !parts.is_empty())?;
        Some((format!("{exhibit} {}", path.parent().unwrap().file_name().unwrap().display()), parts))
    })
}

/// Names and bytes of the files of `fixtures/` that lie beside segments, but for long runs of zeros at their ends.
pub fn side_files() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    side_files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), &mut found);
    found.sort();
    found.dedup();
    found
}

fn side_files_below(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for name in crate::common::names_in(dir) {
        let path = dir.join(&name);
        if path.is_dir() {
            side_files_below(&path, found);
        } else if grouplog::log::side_file::SideKind::of(&name).is_some() {
            let mut bytes = std::fs::read(&path).unwrap();
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            bytes.truncate(used + 100);
            found.push((name, bytes));
        }
    }
}

/// Batches around the one that is to be damaged.
const BEFORE: usize = 5;
const BEHIND: usize = 6;
const LONGEST: usize = 32 << 10;

/// Short stretches: of each exhibit, for each class of batch in it, one around such a batch. Those that `verify` finds
/// faulty as they are do not serve.
pub fn windows(is_sound: &dyn Fn(&Sample) -> bool) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (exhibit, paths) in files() {
        let mut seen = BTreeMap::<String, usize>::new();
        for path in paths {
            let Some(parts) = parts_of(&path) else { continue };
            for target in spread(&parts) {
                let (from, to) = (target.saturating_sub(BEFORE), (target + BEHIND).min(parts.len()));
                let sample = Sample {
                    name: format!("{exhibit}: {}", parts[target].class()),
                    parts: parts[from..to].to_vec(),
                    target: target - from,
                    nested: None,
                };
                let times = seen.entry(parts[target].class()).or_default();
                if *times == 0 && sample.start(sample.parts.len()) <= LONGEST && is_sound(&sample) {
                    *times += 1;
                    samples.push(sample);
                }
            }
        }
    }
    samples
}

/// Where to look for batches of each class: those in the middle first.
fn spread(parts: &[Part]) -> Vec<usize> {
    let mut order: Vec<_> = (0..parts.len()).collect();
    order.sort_by_key(|i| i.abs_diff(parts.len() / 2));
    order
}

/// Whole segments of some length.
pub fn segments(is_sound: &dyn Fn(&Sample) -> bool) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (exhibit, paths) in files() {
        let mut taken = 0;
        for path in paths {
            let Some(parts) = parts_of(&path).filter(|parts| parts.len() > 20) else { continue };
            let sample = Sample { name: exhibit.clone(), target: parts.len() / 2, parts, nested: None };
            if taken < 2 && is_sound(&sample) {
                taken += 1;
                samples.push(sample);
            }
        }
    }
    samples
}

/// Crafted stretches, one for each magic and codec: several records in each batch, keys that come back, a
/// transaction with its end, an emptied batch.
pub fn crafted() -> Vec<Sample> {
    let mut samples = Vec::new();
    for magic in [0, 1, 2] {
        for &codec in codecs(magic) {
            let bats = crafted_log(magic, codec);
            let mut inflater = Inflater::new();
            let bytes: Vec<u8> = bats.iter().flat_map(Bat::bytes).collect();
            let parts: Vec<_> = Spans::over(&bytes, 0, Some(0))
                .map(|span| match span {
                    Span::Batch(batch) => Part::read(batch.bytes(), &mut inflater).unwrap(),
                    Span::Hole(hole) => panic!("{hole:?}"),
                })
                .collect();
            for target in 0..parts.len() {
                let name = format!("crafted {target}: {}", parts[target].class());
                samples.push(Sample { name, parts: parts.clone(), target, nested: None });
            }
        }
    }
    samples
}

/// Batches whose records hold batches that are sound themselves, and that could stand where they lie.
pub fn nested() -> Vec<Sample> {
    let mut samples = Vec::new();
    for inside in [1, 2, 5, 20] {
        // The offset that the outer batch has, the one that follows, one far above, and one long gone.
        for first in [3, 4, 4000, 0] {
            for stored in [false, true] {
                let inner: Vec<u8> =
                    (0..inside).flat_map(|i| Bat::of(vec![commit(first + i, "inner", "t", 0, i)]).bytes()).collect();
                let key = Some(offset_key("outer", "t", 0));
                let outer = Bat::of(vec![
                    Rec { offset: 3, timestamp: T0, key, value: Some(value_around(&inner)) },
                    commit(4, "behind", "t", 0, 1),
                ]);
                let before = (0..3).map(|i| Bat::of(vec![commit(i, "before", "t", 0, i)]).bytes());
                let after = (5..9).map(|i| Bat::of(vec![commit(i, "after", "t", 0, i)]).bytes());
                let outer = if stored { stored_in_gzip(&outer.bytes()) } else { outer.bytes() };
                let all: Vec<Vec<u8>> = before.chain([outer]).chain(after).collect();
                let mut inflater = Inflater::new();
                let parts = all.iter().map(|bytes| Part::read(bytes, &mut inflater).unwrap()).collect();
                let how = if stored { " in gzip" } else { "" };
                let name = format!("{inside} batches from offset {first} on in a value{how}");
                let unit = inner.len() / inside as usize;
                let nested = Nested { count: inside, compressed: stored, fits: first <= 4 && first + inside > 3, unit };
                samples.push(Sample { name, parts, target: 3, nested: Some(nested) });
            }
        }
    }
    samples
}

/// A commit, version 3, with anything as its metadata.
fn value_around(metadata: &[u8]) -> Vec<u8> {
    let mut value = vec![0, 3];
    value.extend_from_slice(&7i64.to_be_bytes());
    value.extend_from_slice(&(-1i32).to_be_bytes());
    value.extend_from_slice(&(metadata.len() as u16).to_be_bytes());
    value.extend_from_slice(metadata);
    value.extend_from_slice(&T0.to_be_bytes());
    value
}

/// The same batch in gzip that does not compress: what it holds stands in the file as it is.
fn stored_in_gzip(batch: &[u8]) -> Vec<u8> {
    let mut out = batch[..61].to_vec();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    std::io::Write::write_all(&mut encoder, &batch[61..]).unwrap();
    out.extend_from_slice(&encoder.finish().unwrap());
    let length = out.len() as i32 - 12;
    out[8..12].copy_from_slice(&length.to_be_bytes());
    out[22] |= 1;
    crate::build::seal(&mut out);
    out
}

fn crafted_log(magic: u8, codec: Codec) -> Vec<Bat> {
    let of = |records: Vec<Rec>| {
        let bat = Bat::of(records);
        // Magic 0 has no times.
        let records =
            bat.records.iter().cloned().map(|it| Rec { timestamp: if magic == 0 { -1 } else { it.timestamp }, ..it });
        Bat { magic, codec, records: records.collect(), ..bat.clone() }
    };
    let old = |at, group: &str, offset| Rec {
        offset: at,
        timestamp: T0 + at,
        key: Some(offset_key(group, "orders", 0)),
        value: Some(Commit { expire_timestamp: T0 + 9_999, ..Commit::at(offset) }.value(1)),
    };
    let mut bats = vec![
        of(vec![commit(0, "alone", "orders", 0, 1), commit(1, "first", "orders", 0, 1), old(2, "twice", 1)]),
        of(vec![old(3, "twice", 2), commit(4, "first", "orders", 1, 5), commit(5, "gone", "orders", 1, 5)]),
        of(vec![commit(6, "größe 🚀", "orders", 0, 7), forget(7, "gone", "orders", 1), commit(8, "last", "t", 0, 1)]),
    ];
    if magic == 2 {
        let records = vec![commit(9, "first", "orders", 0, 3), commit(10, "tx", "orders", 0, 4)];
        bats.push(Bat { codec, ..Bat::transactional(7, 0, records) });
        bats.push(Bat::marker(Ending::Commit, 11, T0 + 11, 7, 0));
        bats.push(Bat { codec, ..Bat::transactional(8, 1, vec![commit(12, "first", "orders", 1, 6)]) });
        bats.push(Bat::marker(Ending::Abort, 13, T0 + 13, 8, 1));
        bats.push(Bat::empty(14, 16, 9, 0));
    }
    bats.push(of(vec![commit(17, "last", "t", 0, 2), commit(18, "twice", "orders", 0, 9)]));
    bats.push(of(vec![commit(19, "last", "t", 1, 2), commit(20, "end", "orders", 0, 9)]));
    bats
}
