//! Laws of compaction, for made-up histories: the groups stay what they are, open transactions too; a second compaction
//! finds nothing more; ends and producers survive; what stays whole stays byte for byte.
//!
//! `GROUPLOG_HISTORIES=10000 cargo test --test compact_laws` tries more histories than every run does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
#[path = "common/histories.rs"]
mod histories;
#[path = "common/naive.rs"]
mod naive;

use build::Bat;
use grouplog::log::Segment;
use grouplog::model::digest::Digests;
use grouplog::model::load::{Loading, Until, load};
use grouplog::model::replay::Helper;
use grouplog::model::rules::Rules;
use grouplog::rewrite::compact::carry_out::{Nowhere, SideFiles, carry_out};
use grouplog::rewrite::compact::clean::{Cleaned, clean};
use grouplog::rewrite::compact::survey::{OpenTransaction, Survey, survey};
use grouplog::rewrite::compact::{Aim, BeyondOpen, Extent};
use grouplog::rewrite::interrupt::Interrupt;
use grouplog::rewrite::out::OutDir;
use histories::*;
use naive::{Event, What};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many histories, unless the environment says otherwise.
const HISTORIES: u64 = 3_000;
/// In milliseconds.
const RETENTION: i64 = 1_000;
/// A time behind all of a history's.
const NOW: i64 = 5_000;
const MAX_INFLATED: usize = 1 << 20;

fn aim(now: i64, extent: Extent, beyond_open: BeyondOpen, segment_bytes: u64) -> Aim {
    Aim {
        now,
        delete_retention_ms: RETENTION,
        segment_bytes,
        extent,
        beyond_open,
        log_start: None,
        max_inflated: MAX_INFLATED,
    }
}

/// A log on disk, and what is known of it.
struct Log {
    paths: Vec<PathBuf>,
    batches: Vec<Bat>,
}

impl Log {
    fn of(paths: Vec<PathBuf>) -> Log {
        let batches = paths.iter().flat_map(|path| build::read_segment(path)).collect();
        Log { paths, batches }
    }

    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        self.paths.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
    }

    /// Its batches' bytes, by base offset.
    fn frames(&self) -> BTreeMap<i64, Vec<u8>> {
        let mut all = BTreeMap::new();
        for path in &self.paths {
            let segment = Segment::open(path).unwrap();
            for span in segment.spans() {
                let grouplog::log::Span::Batch(batch) = span else { panic!("{span:?}") };
                all.insert(batch.header().last_offset, batch.bytes().to_vec());
            }
        }
        all
    }

    fn base(&self) -> i64 {
        build_base(&self.paths[0])
    }

    fn digests(&self) -> Digests {
        let how = Loading {
            rules: Rules::default(),
            until: Until::End,
            log_start: None,
            max_inflated: MAX_INFLATED,
            helper: Helper::None,
            wanted: &|_| true,
        };
        Digests::of(&load(&self.paths, &how, &mut |_| {}).unwrap())
    }

    fn segments(&self) -> Vec<Segment> {
        self.paths.iter().map(|path| Segment::open(path).unwrap()).collect()
    }

    fn survey(&self, aim: &Aim) -> Survey {
        survey(&self.segments(), aim, &Interrupt::default(), &mut |_| {}).unwrap()
    }
}

fn build_base(path: &Path) -> i64 {
    path.file_stem().unwrap().to_str().unwrap().parse().unwrap()
}

fn compact(log: &Log, aim: &Aim, to: &Path) -> (Log, Survey, Cleaned) {
    let segments = log.segments();
    let found = log.survey(aim);
    assert_eq!(found.damage, []);
    let out = OutDir::create(to).unwrap();
    let partition = out.partition(0).unwrap();
    let (cleaned, done) =
        carry_out(&segments, &found, aim, &SideFiles::default(), partition, &Interrupt::default(), &mut |_| {})
            .unwrap();
    out.publish().unwrap();
    let names = done.segments.iter().map(|it| to.join("__consumer_offsets-0").join(it.path.file_name().unwrap()));
    let mut nowhere = Nowhere::default();
    let dry = clean(&segments, &found, aim, &Interrupt::default(), &mut nowhere, &mut |_| {}).unwrap();
    assert_eq!((&dry, nowhere.segments), (&cleaned, done.segments.len() as u64), "a dry run says the same");
    // As with more end markers than are remembered.
    let every = Survey { controls: None, ..log.survey(aim) };
    let looked = clean(&segments, &every, aim, &Interrupt::default(), &mut Nowhere::default(), &mut |_| {}).unwrap();
    assert_eq!(looked, cleaned, "looking at every batch finds the same");
    (Log::of(names.collect()), found, cleaned)
}

/// A line a batch, for whoever looks for the fault.
fn brief(log: &Log) -> String {
    let record = |it: &build::Rec| {
        let key = String::from_utf8_lossy(it.key.as_deref().unwrap_or_default()).escape_debug().to_string();
        format!(" {}:{key}={:?}", it.offset, it.value.as_ref().map(Vec::len))
    };
    let batch = |it: &Bat| {
        let records: String = it.records.iter().map(record).collect();
        let horizon = it.delete_horizon_ms;
        format!(
            "{}-{} p{} e{} {horizon:?}{records}\n",
            it.base_offset, it.last_offset, it.producer_id, it.producer_epoch
        )
    };
    log.batches.iter().map(batch).collect()
}

/// The last data batch of every producer whose epoch is still that of the batch, by last offset.
fn last_batches(batches: &[Bat]) -> BTreeMap<i64, (i64, i64, i16)> {
    let mut epochs = BTreeMap::new();
    let mut last = BTreeMap::new();
    for batch in batches.iter().filter(|batch| batch.producer_id != -1) {
        epochs.insert(batch.producer_id, batch.producer_epoch);
        if !batch.control {
            last.insert(batch.producer_id, (batch.base_offset, batch.last_offset, batch.producer_epoch));
        }
    }
    last.retain(|producer, (.., epoch)| epochs[producer] == *epoch);
    last
}

/// Batches but for what becomes of end markers.
fn without_markers(batches: &[Bat]) -> Vec<&Bat> {
    batches.iter().filter(|batch| !batch.control).collect()
}

fn opens(survey: &Survey) -> Vec<(i64, i64, i16)> {
    let brief = |open: &OpenTransaction| (open.first_offset, open.producer_id, open.producer_epoch);
    survey.open.iter().map(brief).collect()
}

struct Trial {
    what: String,
    old: Log,
    digests: Digests,
    aim: Aim,
}

impl Trial {
    fn holds(&self, new: &Log, law: &str) {
        let what = format!("{}: {law}", self.what);
        let digests = new.digests();
        if digests != self.digests {
            let names: Vec<_> = self.digests.groups.keys().chain(digests.groups.keys()).collect();
            let differing: Vec<_> = names
                .into_iter()
                .filter(|name| self.digests.groups.get(*name) != digests.groups.get(*name))
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .collect();
            panic!("{what}: groups {differing:?}\nold\n{}new\n{}", brief(&self.old), brief(new));
        }
        let (before, after) = (self.old.survey(&self.aim), new.survey(&self.aim));
        assert_eq!(after.end, before.end, "{what}: end");
        assert_eq!(new.base(), self.old.base(), "{what}: log start");
        assert_eq!(opens(&after), opens(&before), "{what}: open transactions");
        assert_eq!(last_batches(&new.batches), last_batches(&self.old.batches), "{what}: producers");
        self.bytes(new, &what);
    }

    /// What stays whole is copied, and what is thinned keeps its head.
    fn bytes(&self, new: &Log, what: &str) {
        let (old, frames) = (self.old.frames(), new.frames());
        let batches = |log: &Log| -> BTreeMap<i64, Bat> {
            log.batches.iter().map(|batch| (batch.last_offset, batch.clone())).collect()
        };
        let (before, after) = (batches(&self.old), batches(new));
        for (last, batch) in &after {
            // A wrapper of magic 0 or 1 ends with its last message.
            let (whole, was) = before.range(last..).next().unwrap();
            assert!(was.magic < 2 || whole == last, "{what}: a batch up to {last} was made up");
            if was == batch {
                assert_eq!(frames[last], old[whole], "{what}: the batch up to {last}");
            }
            assert!(batch.records.iter().all(|record| was.records.contains(record)), "{what}: up to {last}");
            let head = |it: &Bat| Bat {
                records: Vec::new(),
                delete_horizon_ms: None,
                codec: if batch.records.is_empty() { grouplog::log::Codec::None } else { it.codec },
                base_offset: if it.magic < 2 { 0 } else { it.base_offset },
                last_offset: if it.magic < 2 { 0 } else { it.last_offset },
                ..it.clone()
            };
            assert_eq!(head(batch), head(was), "{what}: the head of the batch up to {last}");
        }
    }

    fn run(&self, room: &Path) -> (u64, u64) {
        let (first, found, cleaned) = compact(&self.old, &self.aim, &room.join("first"));
        self.holds(&first, "one pass");
        self.least(&first, &found);
        let (second, ..) = compact(&first, &self.aim, &room.join("second"));
        self.holds(&second, "two passes");
        assert_eq!(without_markers(&second.batches), without_markers(&first.batches), "{}: again", self.what);
        let (third, ..) = compact(&second, &self.aim, &room.join("third"));
        assert_eq!(third.files(), second.files(), "{}: a third time", self.what);
        // When all that waits for its time may go.
        let later = Aim { now: self.aim.now + RETENTION, ..self.aim };
        let (late, _, gone) = compact(&third, &later, &room.join("late"));
        self.holds(&late, "later");
        let (again, ..) = compact(&late, &later, &room.join("again"));
        assert_eq!(without_markers(&again.batches), without_markers(&late.batches), "{}: later, again", self.what);
        (cleaned.after.records, gone.expired_tombstones.records + gone.expired_markers)
    }

    /// Nothing stays that need not: of every key below the end of the cleaned part one record at most, and none of what
    /// was aborted.
    fn least(&self, new: &Log, found: &Survey) {
        let open = opens(found);
        let is_open = |batch: &Bat| open.iter().any(|it| it.1 == batch.producer_id && it.0 <= batch.base_offset);
        let mut seen = std::collections::BTreeSet::new();
        for batch in new.batches.iter().filter(|batch| !batch.control && batch.base_offset < found.until) {
            let counts = |offset: &i64| !is_open(batch) && !found.hiding.iter().any(|it| it.offset == *offset);
            for record in batch.records.iter().filter(|record| counts(&record.offset)) {
                assert!(seen.insert(record.key.clone().unwrap()), "{}: two records of {record:?}", self.what);
            }
        }
        // Of a key whose last record hides something, that one was passed over.
        let all = found.keys.len();
        assert!((all - found.hiding.len().min(all)..=all).contains(&seen.len()), "{}", self.what);
    }
}

fn history(dice: &mut Dice) -> Option<(Vec<Event>, bool)> {
    if dice.one_in(5) {
        let (events, transactions) = by_the_rules(dice);
        return (!events.is_empty()).then_some((events, transactions));
    }
    let (events, kind) = any_order(dice);
    // A value that cannot be read hides nothing from a replay that goes on behind it, as no coordinator does; to a
    // cleaner it is a value like any other.
    (!kind.spoilt).then_some((events, kind.transactions))
}

#[test]
fn made_up_histories() {
    let histories = std::env::var("GROUPLOG_HISTORIES").map_or(HISTORIES, |text| text.parse().unwrap());
    let (mut tried, mut records, mut kept, mut expired, mut open) = (0, 0, 0, 0, 0);
    let mut seed = 0;
    while tried < histories {
        seed += 1;
        let mut dice = Dice::new(seed);
        let Some((events, transactions)) = history(&mut dice) else { continue };
        let shape = match transactions {
            true => Shape::Magic(2),
            false => *dice.pick(&[Shape::Magic(2), Shape::Magic(2), Shape::Magic(0), Shape::Magic(1), Shape::Mixed]),
        };
        let (folder, paths) = write(&mut dice, &events, shape);
        let extent = *dice.pick(&[Extent::Closed, Extent::All]);
        let beyond = *dice.pick(&[BeyondOpen::Never, BeyondOpen::Forced]);
        let segment_bytes = 1 + dice.below(3_000) as u64;
        let aim = aim(NOW, extent, beyond, segment_bytes);
        let old = Log::of(paths);
        let digests = old.digests();
        let what = format!("seed {seed}, {shape:?}, {extent:?}, {beyond:?}, segments of {segment_bytes} bytes");
        open += u64::from(!old.survey(&aim).open.is_empty());
        let (stays, gone) = Trial { what, old, digests, aim }.run(folder.path());
        tried += 1;
        records += events.iter().filter(|event| matches!(event.what, What::Data { .. })).count();
        kept += stays;
        expired += gone;
    }
    println!(
        "{tried} histories of {records} records, {open} with open transactions: {kept} stay, {expired} went later: all \
         laws hold"
    );
}
