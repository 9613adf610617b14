//! The mutation run: a hundred thousand mutants of real logs, and of the files beside them, through everything that reads
//! them. Nothing may panic, no byte may lie outside of a span, no law of the targets (fuzz/targets) may break, and time
//! and memory of each are bounded.
//!
//! Mutants follow from their numbers: GROUPLOG_MUTANTS=FROM+COUNT tries others, GROUPLOG_MUTANTS=NUMBER one again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "mutants/corpus.rs"]
mod corpus;
#[path = "mutants/memory.rs"]
mod memory;
#[path = "mutants/mutate.rs"]
mod mutate;
#[path = "damage/sample.rs"]
mod sample;
#[path = "../fuzz/targets/mod.rs"]
mod targets;

use corpus::{Corpus, corpus};
use grouplog::log::{Codec, Inflater};
use mutate::{Dice, Mutant, Source};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use targets::replay::{Effort, Folder};
use targets::scan::Met;
use targets::schema::Scratch;

/// How many are tried.
const MUTANTS: u64 = 100_000;
/// One takes less than a hundredth of that; on a machine that does other things, too, it may wait.
const LONGEST: Duration = Duration::from_secs(2);
/// Four inflaters may live at once, each with its limit and as much again while it grows.
const MOST_MEMORY: usize = 8 * targets::MAX_INFLATED + (8 << 20);

/// The exhibits, and what of a thread is used again.
struct Bench<'s> {
    sources: &'s [Source],
    side_files: &'s [(String, Vec<u8>)],
    corpus: &'s Corpus,
    folder: Folder,
    inflater: Inflater,
    scratch: Scratch,
}

/// What came of all.
#[derive(Default)]
struct Report {
    tried: u64,
    side_files: u64,
    met: Met,
    slowest: (Duration, u64),
    greatest: (usize, u64),
    failures: Vec<(u64, String)>,
}

impl Report {
    fn join(&mut self, other: Report) {
        self.tried += other.tried;
        self.side_files += other.side_files;
        self.met += other.met;
        self.slowest = self.slowest.max(other.slowest);
        self.greatest = self.greatest.max(other.greatest);
        self.failures.extend(other.failures);
    }
}

impl Bench<'_> {
    fn one(&mut self, seed: u64, report: &mut Report) {
        report.tried += 1;
        let mutant = mutate::mutant(seed, self.sources, &mut self.inflater);
        let mut took = Duration::MAX;
        // What was slow once because the machine was busy is not slow again.
        for _ in 0..3 {
            let begin = Instant::now();
            let ((outcome, met), peak) = memory::peak_of(|| self.try_out(seed, &mutant));
            took = took.min(begin.elapsed());
            report.greatest = report.greatest.max((peak, seed));
            if let Err(why) = outcome {
                return self.failed(seed, &mutant, why, report);
            }
            if peak > MOST_MEMORY {
                return self.failed(seed, &mutant, format!("{peak} bytes at once"), report);
            }
            if took < LONGEST {
                report.met += met;
                break;
            }
        }
        report.slowest = report.slowest.max((took, seed));
        if took >= LONGEST {
            self.failed(seed, &mutant, format!("took {took:?}"), report);
        }
        report.side_files += u64::from(seed.is_multiple_of(8));
    }

    fn try_out(&mut self, seed: u64, mutant: &Mutant) -> (Result<(), String>, Met) {
        let mut met = Met::default();
        let tried = catch_unwind(AssertUnwindSafe(|| {
            let Bench { scratch, folder, sources, side_files, corpus, inflater } = self;
            met = targets::scan::run(&mutant.bytes, Some(mutant.base), &mut |key, value| {
                targets::schema::record(key, value, scratch);
            });
            let path = folder.put(&mutant.bytes, mutant.base);
            let effort = if seed % 4 == 1 { Effort::Much } else { Effort::Little };
            targets::replay::run(&path, effort);
            if seed.is_multiple_of(8) {
                beside(seed, folder, side_files, sources);
            }
            std::fs::remove_file(path).unwrap();
            piece(seed, corpus, sources, inflater);
        }));
        (tried.map_err(|panic| words(&*panic)), met)
    }

    fn failed(&self, seed: u64, mutant: &Mutant, why: String, report: &mut Report) {
        let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/mutants");
        let _ = std::fs::create_dir_all(&dir);
        let path = dir.join(format!("{seed}.log"));
        let _ = std::fs::write(&path, &mutant.bytes);
        let again = format!("GROUPLOG_MUTANTS={seed} cargo test --test mutants -- --nocapture");
        let Mutant { story, base, .. } = mutant;
        let text = format!("{why}\n  {story}\n  base offset {base}: {}\n  again: {again}", path.display());
        let _ = std::fs::write(path.with_extension("txt"), &text);
        report.failures.push((seed, text));
    }
}

/// A piece of the corpus, mutated: a key, a value, a payload, a compressed body.
fn piece(seed: u64, corpus: &Corpus, sources: &[Source], inflater: &mut Inflater) {
    let mut dice = Dice::new(seed ^ 0x5555_5555);
    let targets: Vec<_> = corpus.iter().filter(|(target, _)| !matches!(**target, "scan" | "replay")).collect();
    let (target, pieces) = targets[dice.roll(targets.len())];
    let piece = &pieces[dice.roll(pieces.len())];
    let bytes = mutate::side(&mut dice, piece, sources);
    match *target {
        "schema" => targets::schema::run(&bytes),
        "side" => targets::side::run_any(&bytes),
        "codec_gzip" => targets::codec::run(Codec::Gzip, &bytes, inflater),
        "codec_snappy" => targets::codec::run(Codec::Snappy, &bytes, inflater),
        "codec_lz4" => targets::codec::run(Codec::Lz4, &bytes, inflater),
        "codec_zstd" => targets::codec::run(Codec::Zstd, &bytes, inflater),
        other => panic!("no target {other}"),
    }
}

/// A file beside the segments, mutated: alone, and in the folder.
fn beside(seed: u64, folder: &Folder, side_files: &[(String, Vec<u8>)], sources: &[Source]) {
    let mut dice = Dice::new(!seed);
    let (name, bytes) = &side_files[dice.roll(side_files.len())];
    let bytes = mutate::side(&mut dice, bytes, sources);
    targets::side::KINDS.iter().for_each(|kind| targets::side::run(*kind, &bytes));
    let in_log_dir = name.ends_with("offset-checkpoint") || name == "meta.properties";
    let path = if in_log_dir { folder.log_dir().join(name) } else { folder.partition().join(name) };
    std::fs::write(&path, &bytes).unwrap();
    targets::replay::run_folder(folder);
    std::fs::remove_file(path).unwrap();
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("panic: {} at {}", text.unwrap_or("?"), PLACE.take())
}

thread_local! {
    /// Where the last panic was.
    static PLACE: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

/// Which to try, first and how many.
fn which() -> (u64, u64) {
    let Ok(text) = std::env::var("GROUPLOG_MUTANTS") else { return (0, MUTANTS) };
    match text.split_once('+') {
        Some((from, count)) => (from.parse().unwrap(), count.parse().unwrap()),
        None => (text.parse().unwrap(), 1),
    }
}

fn exhibits() -> (Vec<Source>, Vec<(String, Vec<u8>)>) {
    let sources: Vec<_> = sample::sound_segments().map(|(name, parts)| Source { name, parts }).collect();
    let side_files = sample::side_files();
    assert!(sources.len() > 60 && side_files.len() > 100, "{} {}", sources.len(), side_files.len());
    (sources, side_files)
}

/// Writes the corpus for cargo-fuzz, into fuzz/corpus.
#[test]
#[ignore = "only for who fuzzes: see fuzz/README.md"]
fn write_corpus() {
    let (sources, side_files) = exhibits();
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (target, pieces) in corpus(&sources, &side_files) {
        let dir = root.join(target);
        std::fs::create_dir_all(&dir).unwrap();
        println!("{:5} {target}", pieces.len());
        for (i, bytes) in pieces.iter().enumerate() {
            std::fs::write(dir.join(format!("exhibit-{i:04}")), bytes).unwrap();
        }
    }
}

#[test]
fn mutants() {
    let (sources, side_files) = exhibits();
    let corpus = corpus(&sources, &side_files);
    assert_eq!(corpus.len(), 8, "a target without a corpus: {:?}", corpus.keys());
    let (first, count) = which();
    // A panic is a failure that is told of below; its own text would stand in the way.
    if count > 1 {
        std::panic::set_hook(Box::new(|panic| {
            PLACE.set(panic.location().map_or(String::new(), |at| format!("{}:{}", at.file(), at.line())));
        }));
    }
    let begin = Instant::now();
    let next = AtomicU64::new(first);
    let work = || {
        let (folder, inflater) = (Folder::new(), Inflater::with_limit(targets::MAX_INFLATED));
        let mut bench = Bench {
            sources: &sources,
            side_files: &side_files,
            corpus: &corpus,
            folder,
            inflater,
            scratch: Scratch::new(),
        };
        let mut report = Report::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count || report.failures.len() > 200 {
                return report;
            }
            bench.one(seed, &mut report);
        }
    };
    let report = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads().min(count as usize)).map(|_| scope.spawn(work)).collect();
        let mut report = work();
        others.into_iter().for_each(|other| report.join(other.join().unwrap()));
        report
    });
    let _ = std::panic::take_hook();
    tell(&report, begin.elapsed());
    assert_eq!(report.failures.len(), 0);
    assert!(count < MUTANTS || report.met.sound_batches > count && report.met.bad_records > count / 100);
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).clamp(1, 8)
}

fn tell(report: &Report, took: Duration) {
    let Report { tried, side_files, met, slowest, greatest, failures } = report;
    let of_kind = |kind: &str| failures.iter().filter(|(_, why)| why.starts_with(kind)).count();
    let untiled = of_kind("panic: untiled");
    for (seed, why) in failures.iter().take(12) {
        println!("mutant {seed}: {why}");
    }
    println!(
        "{tried} mutants tried, {side_files} of them with a file beside the log; {} panics, {untiled} untiled, {} failures \
         in all; {took:?}",
        of_kind("panic") - untiled,
        failures.len()
    );
    println!(
        "met: {} sound batches, {} records, {} records that do not parse, {} holes",
        met.sound_batches, met.records, met.bad_records, met.holes
    );
    println!("slowest: {:?} (mutant {}); greatest: {} bytes (mutant {})", slowest.0, slowest.1, greatest.0, greatest.1);
}
