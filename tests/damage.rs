//! The damage matrix: every kind of damage on stretches of every exhibit, of every magic and codec.
//!
//! Of each cell it is asked that the spans tile the file, that every untouched batch is still there byte for byte, that
//! nothing else is taken for a sound batch, that `verify` says something of the right severity at the right place, and
//! that it names the groups whose latest record is lost: those that follow from the sound log.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "damage/hostile.rs"]
mod hostile;
#[path = "damage/kinds.rs"]
mod kinds;
#[path = "damage/laws.rs"]
mod laws;
#[path = "damage/sample.rs"]
mod sample;

use laws::{Cell, Folder, is_sound};
use sample::Sample;
use std::collections::BTreeMap;

/// What went wrong, and how many cells there were of each kind.
#[derive(Default)]
struct Tally {
    cells: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl Tally {
    fn check(&mut self, folder: &Folder, cell: &Cell<'_>) {
        *self.cells.entry(cell.kind.clone()).or_default() += 1;
        let Cell { kind, sample, hurt, .. } = cell;
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cell.check(folder)));
        let outcome = checked.unwrap_or_else(|_| Err("a panic".into()));
        if let Err(why) = outcome {
            let target = sample.range(sample.target);
            self.wrong.push(format!("{kind} at {hurt:?} (target {target:?}) of {}: {why}", sample.name));
        }
    }

    fn join(&mut self, other: Tally) {
        other.cells.into_iter().for_each(|(kind, count)| *self.cells.entry(kind).or_default() += count);
        self.wrong.extend(other.wrong);
    }

    fn finish(self, what: &str) {
        let total: usize = self.cells.values().sum();
        for (kind, count) in &self.cells {
            println!("{count:7} {kind}");
        }
        println!("{total:7} cells of {} kinds: {what}", self.cells.len());
        let mut by_kind = BTreeMap::<&str, Vec<&String>>::new();
        for wrong in &self.wrong {
            by_kind.entry(wrong.split(" at ").next().unwrap()).or_default().push(wrong);
        }
        for (kind, wrong) in &by_kind {
            println!("WRONG {} of {kind}", wrong.len());
            wrong.iter().take(3).for_each(|it| println!("  {it}"));
        }
        assert!(self.wrong.is_empty(), "{} cells are wrong", self.wrong.len());
    }
}

/// Does something with every sample, on two threads.
fn each(samples: &[Sample], check: impl Fn(&Sample, &Folder, &mut Tally) + Sync) -> Tally {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let (folder, mut tally) = (Folder::new(), Tally::default());
        while let Some(sample) = samples.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            check(sample, &folder, &mut tally);
        }
        tally
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut tally = work();
        tally.join(other.join().unwrap());
        tally
    })
}

fn classes(samples: &[Sample]) -> String {
    let mut classes = BTreeMap::<String, usize>::new();
    samples.iter().for_each(|sample| *classes.entry(sample.target().class()).or_default() += 1);
    classes.iter().map(|(class, count)| format!("{count} {class}")).collect::<Vec<_>>().join(", ")
}

/// Does every kind of damage to every sample.
fn damage(samples: &[Sample]) -> Tally {
    each(samples, |sample, folder, tally| {
        let mut wrong = Vec::new();
        let mut check = |mut cell: Cell<'_>| {
            cell.may_invent = exempt(&cell);
            tally.check(folder, &cell);
        };
        kinds::heads(sample, &mut check);
        kinds::records(sample, &mut check);
        kinds::bodies(sample, &mut check);
        kinds::cuts(sample, &mut check);
        kinds::runs(sample, &mut check);
        kinds::shifts(sample, &mut check);
        kinds::moves(sample, &mut check);
        kinds::sealed(sample, &mut check);
        kinds::short_bodies(sample, &mut check, &mut wrong);
        kinds::one_record(sample, &mut check, &mut wrong);
        tally.wrong.extend(wrong);
    })
}

#[test]
fn stretches_of_exhibits() {
    let folder = Folder::new();
    let samples = sample::windows(&|sample| is_sound(&folder, sample));
    println!("{} stretches: {}", samples.len(), classes(&samples));
    damage(&samples).finish("stretches of exhibits");
}

#[test]
fn crafted_logs() {
    let samples = sample::crafted();
    println!("{} stretches: {}", samples.len(), classes(&samples));
    damage(&samples).finish("crafted logs");
}

/// Where nothing can tell a batch inside a value from one that stands in the log: the head around it is destroyed or
/// bytes are missing or too many, so that neither its CRC nor its length leads to its end, and what it holds fits into
/// the log there, by its offsets; or what it holds is compressed, so that no record's length reaches over it; or the file
/// ends with one; or one of several is hit, and looks like a damaged batch of the log behind good ones; or they are sixteen
/// in a row, which a scan believes.
fn exempt(cell: &Cell<'_>) -> bool {
    let Some(nested) = &cell.sample.nested else { return false };
    let shifted = ["cut inside", "run of", "put into", "taken out"].iter().any(|kind| cell.kind.contains(kind));
    let head_gone = ["head", "over the start", "over three", "a stretch"].iter().any(|kind| cell.kind.contains(kind));
    let ends_with_one = cell.bytes.len().checked_sub(nested.unit).is_some_and(|at| {
        let last = grouplog::log::Batch::new(&cell.bytes[at..], at as u64);
        last.is_some_and(|last| last.check_crc().is_ok())
    });
    // It hits one of several, so that the row of them does not end in nothing.
    let one_hit = nested.count > 1 && cell.hurt.start > cell.sample.start(cell.sample.target) + 101 + nested.unit;
    let cut_there = cell.kind.starts_with("cut") && ends_with_one;
    shifted && (nested.compressed || nested.count >= 16 || cut_there || one_hit || head_gone && nested.fits)
}

#[test]
fn batches_inside_values() {
    let samples = sample::nested();
    damage(&samples).finish("batches inside values");
}

/// Whole segments: a stretch of them is damaged, and all else is still there.
#[test]
fn whole_segments() {
    let folder = Folder::new();
    let samples = sample::segments(&|sample| is_sound(&folder, sample));
    let tally = each(&samples, |sample, folder, tally| {
        // Here and there.
        for nth in 0..5 {
            let target = (sample.parts.len() - 1) * nth / 4;
            let sample = Sample { target, ..sample.clone() };
            let mut check = |cell: Cell<'_>| tally.check(folder, &cell);
            kinds::runs(&sample, &mut check);
            kinds::shifts(&sample, &mut check);
            kinds::moves(&sample, &mut check);
            let mut some = 0;
            kinds::heads(&sample, &mut |cell| {
                some += 1;
                if some % 11 == 0 {
                    check(cell);
                }
            });
        }
    });
    tally.finish("whole segments");
}

/// The program says so, too: `verify` and `dump` end with status 3, `dump` writes JSON, and `groups` marks groups
/// whose latest record is lost.
#[test]
fn from_outside() {
    let folder = Folder::new();
    let mut samples = sample::crafted();
    samples.extend(sample::windows(&|sample| is_sound(&folder, sample)).into_iter().step_by(4));
    let mut chosen = Vec::new();
    for (i, sample) in samples.iter().enumerate() {
        let mut cells = Vec::new();
        let mut take = |cell: Cell<'_>| cells.push((cell.must, cell.kind.clone(), cell.put_by()));
        kinds::heads(sample, &mut take);
        kinds::runs(sample, &mut take);
        kinds::cuts(sample, &mut take);
        // No batch's offsets concern `dump`.
        cells.retain(|(must, kind, _)| {
            *must == laws::Must::Error && !kind.ends_with("ffset") && !kind.contains("Epoch")
        });
        let at = (i * 37) % cells.len();
        chosen.push((sample, cells.swap_remove(at)));
    }
    let (mut ran, mut marked) = (0, 0);
    for (sample, (_, kind, put)) in chosen {
        put.write(&folder);
        let what = format!("{kind} of {}", sample.name);
        let run = |args: &[&str]| common::grouplog(folder.path(), args.iter().copied().chain(["__consumer_offsets-0"]));
        let status = |args: &[&str]| (run(args).status.code(), args.join(" "));
        assert_eq!(status(&["verify"]), (Some(3), "verify".to_owned()), "{what}");
        let dump = run(&["dump"]);
        assert_eq!(dump.status.code(), Some(3), "dump of {what}");
        for line in dump.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            serde_json::from_slice::<serde_json::Value>(line).unwrap();
        }
        let groups = run(&["groups", "--format", "json"]);
        assert_eq!(groups.status.code(), Some(3), "groups of {what}");
        let groups: serde_json::Value = serde_json::from_slice(&groups.stdout).unwrap();
        for group in groups.as_array().unwrap() {
            let name = group["group"].as_str().unwrap_or_default().as_bytes().to_vec();
            if put.lost.contains(&name) {
                assert!(group["uncertain"].is_string(), "{what}: {group}");
                marked += 1;
            }
        }
        ran += 1;
    }
    println!("{ran} damaged logs, {marked} groups marked");
    assert!(ran >= 36 && marked > 5);
}

/// Time grows with the length of a file, whatever is in it: twice the length takes no four times as long, and all of it
/// little. GROUPLOG_HOSTILE_MIB makes them longer.
#[test]
fn hostile_files() {
    use grouplog::log::{Span, Spans};
    use std::time::{Duration, Instant};
    let mib: usize = std::env::var("GROUPLOG_HOSTILE_MIB").map_or(2, |text| text.parse().unwrap());
    for (name, bytes) in hostile::files(mib << 20) {
        let begin = Instant::now();
        let (mut at, mut spans, mut sound) = (0, 0, 0);
        for span in Spans::over(&bytes, 0, Some(0)) {
            let (position, length) = match span {
                Span::Batch(batch) => {
                    sound += u64::from(batch.check_crc().is_ok());
                    (batch.position(), batch.len())
                }
                Span::Hole(hole) => (hole.position, hole.length),
            };
            assert_eq!(position, at);
            at += length;
            spans += 1;
        }
        assert_eq!(at, bytes.len() as u64);
        let took = begin.elapsed();
        println!("{took:10.1?} {:9} bytes, {spans} spans, {sound} sound batches: {name}", bytes.len());
        assert!(took < Duration::from_secs(3 * mib as u64 + 2), "{name} took {took:?}");
    }
}
