//! What must hold of a damaged log, whatever the damage.
//!
//! Must not know: how the damage was done.

use crate::build::segment_name;
use crate::sample::{Part, Sample};
use grouplog::audit::verify::{Depth, Verifying, verify};
use grouplog::audit::{Code, Fact, Finding, Severity};
use grouplog::log::{Inflater, Segment, Span};
use grouplog::model::replay::Helper;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

pub type Group = Vec<u8>;

/// A batch's place in the damaged log.
#[derive(Debug, Clone, Copy)]
pub struct Placed {
    /// Its number in the sample.
    pub part: usize,
    pub position: usize,
    /// Not a byte of it was changed.
    pub untouched: bool,
}

/// What `verify` must say at the place of the damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Must {
    Error,
    /// An error or a warning.
    Warning,
    /// Anything: the damage is a normal one.
    Notice,
    /// Nothing: a sound log can look like this.
    Nothing,
}

/// Which groups `verify` must name, because their latest record lies in the damage.
#[derive(Debug, Clone)]
pub struct Lost {
    /// These for sure.
    pub sure: BTreeSet<Group>,
    /// No others; none if damaged keys may name any group.
    pub possible: Option<BTreeSet<Group>>,
}

impl Lost {
    pub fn exactly(groups: BTreeSet<Group>) -> Lost {
        Lost { possible: Some(groups.clone()), sure: groups }
    }

    pub fn none() -> Lost {
        Lost::exactly(BTreeSet::new())
    }

    /// Those that can be read are named, no others are.
    pub fn at_most(groups: BTreeSet<Group>) -> Lost {
        Lost { sure: BTreeSet::new(), possible: Some(groups) }
    }

    pub fn at_least(sure: BTreeSet<Group>) -> Lost {
        Lost { sure, possible: None }
    }
}

/// One damaged log.
pub struct Cell<'s> {
    pub kind: String,
    pub sample: &'s Sample,
    pub bytes: Vec<u8>,
    pub placed: Vec<Placed>,
    /// Where the damage is.
    pub hurt: Range<usize>,
    pub must: Must,
    pub lost: Lost,
    /// Whether no segment follows.
    pub is_last: bool,
    /// Batches inside of values may be taken for real.
    pub may_invent: bool,
}

/// A folder for one damaged log after the other.
pub struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    pub fn new() -> Folder {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("__consumer_offsets-0")).unwrap();
        Folder { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a log, and says which segments it has.
    pub fn put(&self, bytes: &[u8], base: i64, next: Option<i64>) -> Vec<PathBuf> {
        let partition = self.dir.path().join("__consumer_offsets-0");
        for name in crate::common::names_in(&partition) {
            std::fs::remove_file(partition.join(name)).unwrap();
        }
        let mut paths = vec![partition.join(segment_name(base))];
        std::fs::write(&paths[0], bytes).unwrap();
        if let Some(next) = next {
            paths.push(partition.join(segment_name(next)));
            std::fs::write(&paths[1], b"").unwrap();
        }
        paths
    }
}

pub fn findings_of(paths: &[PathBuf]) -> Vec<Finding> {
    let how = Verifying {
        partition: Some(0),
        dir: None,
        log_dir: None,
        depth: Depth::Records,
        max_inflated: 8 << 20,
        helper: Helper::None,
    };
    verify(paths, &how, &mut |_| {}).unwrap().findings
}

/// Whether nothing is wrong with a sample as it is.
pub fn is_sound(folder: &Folder, sample: &Sample) -> bool {
    let paths = folder.put(&sample.bytes(), sample.base(), None);
    findings_of(&paths).iter().all(|it| it.severity == Severity::Info)
}

/// A damaged log to be written, and the groups that lose their latest record.
pub struct Put {
    bytes: Vec<u8>,
    base: i64,
    next: Option<i64>,
    pub lost: BTreeSet<Group>,
}

impl Put {
    pub fn write(&self, folder: &Folder) -> Vec<PathBuf> {
        folder.put(&self.bytes, self.base, self.next)
    }
}

impl Cell<'_> {
    /// What is to be written.
    pub fn put_by(&self) -> Put {
        let last = self.sample.parts.iter().map(|part| part.header.last_offset).max().unwrap();
        let next = (!self.is_last).then_some(last + 1);
        Put { bytes: self.bytes.clone(), base: self.sample.base(), next, lost: self.lost.sure.clone() }
    }

    /// What is not as it must be.
    pub fn check(&self, folder: &Folder) -> Result<(), String> {
        let paths = self.put_by().write(folder);
        let segment = Segment::open(&paths[0]).unwrap();
        let spans: Vec<_> = segment.spans().collect();
        let ranges = self.check_tiles(&spans)?;
        self.check_batches(&spans)?;
        let findings = findings_of(&paths);
        self.check_findings(&findings, &ranges).and_then(|()| self.check_lost(&findings)).map_err(|why| {
            let said: Vec<_> = findings.iter().map(|it| format!("  {:?}: {}", it.position, it.message)).collect();
            format!("{why}\n{}", said.join("\n"))
        })
    }

    fn check_tiles(&self, spans: &[Span<'_>]) -> Result<Vec<Range<usize>>, String> {
        let mut ranges = Vec::new();
        let mut at = 0;
        for span in spans {
            let (position, length) = match span {
                Span::Batch(batch) => (batch.position(), batch.len()),
                Span::Hole(hole) => (hole.position, hole.length),
            };
            if position != at || length == 0 {
                return Err(format!("no tile: {span:?} behind {at}"));
            }
            at += length;
            ranges.push(position as usize..at as usize);
        }
        if at as usize != self.bytes.len() {
            return Err(format!("tiles end at {at} of {}", self.bytes.len()));
        }
        Ok(ranges)
    }

    /// Untouched batches are all there; nothing else with a right CRC is.
    fn check_batches(&self, spans: &[Span<'_>]) -> Result<(), String> {
        let batches: BTreeMap<usize, _> = spans
            .iter()
            .filter_map(|span| match span {
                Span::Batch(batch) => Some((batch.position() as usize, batch)),
                Span::Hole(_) => None,
            })
            .collect();
        for placed in self.placed.iter().filter(|placed| placed.untouched) {
            let expected = &self.sample.parts[placed.part].bytes;
            match batches.get(&placed.position) {
                Some(batch) if batch.bytes() == expected.as_slice() => {}
                Some(batch) => return Err(format!("batch {placed:?} is one of {} bytes", batch.len())),
                None => return Err(format!("batch {placed:?} is not there: {}", words(spans))),
            }
        }
        let starts: BTreeSet<_> = self.placed.iter().map(|placed| placed.position).collect();
        match batches.iter().find(|(at, batch)| batch.check_crc().is_ok() && !starts.contains(at)) {
            Some(_) if self.may_invent => Ok(()),
            Some((at, _)) => Err(format!("a batch was made up at {at}: {}", words(spans))),
            None => Ok(()),
        }
    }

    fn check_findings(&self, findings: &[Finding], ranges: &[Range<usize>]) -> Result<(), String> {
        let least = match self.must {
            Must::Nothing => return Ok(()),
            Must::Notice => Severity::Info,
            Must::Warning => Severity::Warning,
            Must::Error => Severity::Error,
        };
        // Damage at an edge is the neighbour's as well.
        let hurt = self.hurt.start.saturating_sub(1)..self.hurt.end + 1;
        let there: BTreeSet<u64> =
            ranges.iter().filter(|it| it.start < hurt.end && hurt.start < it.end).map(|it| it.start as u64).collect();
        let is_there = |position: u64| there.contains(&position);
        let is_about = |it: &Finding| {
            it.position.is_some_and(is_there)
                || it
                    .facts
                    .iter()
                    .any(|(name, fact)| *name == "outlier" && matches!(fact, Fact::Int(at) if is_there(*at as u64)))
        };
        match findings.iter().any(|it| it.severity >= least && is_about(it)) {
            true => Ok(()),
            false => Err(format!("no finding of {} at {there:?}", least.name())),
        }
    }

    fn check_lost(&self, findings: &[Finding]) -> Result<(), String> {
        let lost = findings.iter().filter(|it| it.code == Code::LatestLost);
        let named: BTreeSet<Group> = lost.filter_map(|it| it.group.clone()).collect();
        let text = |groups: Vec<&Group>| {
            groups.iter().map(|group| String::from_utf8_lossy(group).into_owned()).collect::<Vec<_>>().join(", ")
        };
        let missing: Vec<_> = self.lost.sure.difference(&named).collect();
        if !missing.is_empty() {
            return Err(format!("not named: {}", text(missing)));
        }
        let Some(possible) = &self.lost.possible else { return Ok(()) };
        match named.difference(possible).collect::<Vec<_>>() {
            wrong if wrong.is_empty() => Ok(()),
            wrong => Err(format!("wrongly named: {}", text(wrong))),
        }
    }
}

fn words(spans: &[Span<'_>]) -> String {
    let words = spans.iter().map(|span| match span {
        Span::Batch(batch) if batch.check_crc().is_ok() => format!("{}+{}", batch.position(), batch.len()),
        Span::Batch(batch) => format!("{}+{} bad", batch.position(), batch.len()),
        Span::Hole(hole) => format!("{}+{} {}", hole.position, hole.length, hole.fault.code()),
    });
    words.collect::<Vec<_>>().join(" | ")
}

/// The records of a batch, as far as they can be read.
pub fn records_of(bytes: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let mut inflater = Inflater::with_limit(8 << 20);
    let batch = grouplog::log::Batch::new(bytes, 0).unwrap();
    let mut records = batch.records(&mut inflater);
    let good = records.by_ref().flatten().map(|record| record.bytes.to_vec()).collect();
    (good, records.fault().is_some())
}

/// What makes two keys one, and the group in them; None for what is no key of this topic.
fn key_and_group(record: &crate::build::Rec) -> Option<(Vec<u8>, Group)> {
    let key = record.key.as_ref()?;
    let number = i16::from_be_bytes(*key.first_chunk()?);
    let length = usize::from(u16::from_be_bytes(*key.get(2..)?.first_chunk()?));
    let group = key.get(4..4 + length)?.to_vec();
    // Types 0 and 1 are the same thing.
    let identity = if number == 0 { [&[0, 1], &key[2..]].concat() } else { key.clone() };
    (0..=24).contains(&number).then_some((identity, group))
}

/// How the transaction of a producer that is open at a part ends, by the first end marker behind it that counts.
fn ending(parts: &[Part], producer: i64, at: usize, counts: &dyn Fn(usize) -> bool) -> Option<bool> {
    let behind = parts.iter().enumerate().skip(at + 1);
    let marker = behind.filter(|(i, part)| part.header.control && part.header.producer_id == producer && counts(*i));
    let record = marker.map(|(_, part)| part.records.first()).next()??;
    Some(record.key.as_deref() == Some(&[0, 0, 0, 1]))
}

/// The groups that lose the latest record of some key if these batches are lost: worked out from the sound log, by the
/// rules of a coordinator that loads it.
pub fn latest_lost(sample: &Sample, lost: &[usize]) -> BTreeSet<Group> {
    let parts = &sample.parts;
    let waits = |part: &Part, record: &crate::build::Rec| {
        part.header.producer_id != -1 && matches!(record.key.as_deref(), Some([0, 0 | 1, ..]))
    };
    // The last lost record of each key, and its group. What was aborted was never anyone's state.
    let mut last = BTreeMap::<Vec<u8>, (i64, Group)>::new();
    for &i in lost.iter().filter(|i| !parts[**i].header.control) {
        for record in &parts[i].records {
            let aborted =
                waits(&parts[i], record) && ending(parts, parts[i].header.producer_id, i, &|_| true) == Some(false);
            if let Some((key, group)) = key_and_group(record).filter(|_| !aborted) {
                let held = last.entry(key).or_insert((record.offset, group));
                held.0 = held.0.max(record.offset);
            }
        }
    }
    for (i, part) in parts.iter().enumerate().filter(|(i, part)| !lost.contains(i) && !part.header.control) {
        for record in &part.records {
            let counts = !waits(part, record)
                || ending(parts, part.header.producer_id, i, &|j| !lost.contains(&j)) == Some(true);
            if let Some((key, _)) = key_and_group(record).filter(|_| counts)
                && last.get(&key).is_some_and(|(offset, _)| *offset < record.offset)
            {
                last.remove(&key);
            }
        }
    }
    last.into_values().map(|(_, group)| group).collect()
}
