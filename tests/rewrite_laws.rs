//! Laws of rewriting, for made-up histories: without edits it is a copy; framing changes no meaning; spreading the groups
//! over partitions and back changes none; a name given and taken back leaves what was.
//!
//! `GROUPLOG_HISTORIES=10000 cargo test --test rewrite_laws` tries more histories than every run does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

#[path = "common/build.rs"]
mod build;
#[path = "common/histories.rs"]
mod histories;
#[path = "common/naive.rs"]
mod naive;

use build::Rec;
use grouplog::log::Codec;
use grouplog::model::digest::{Digest, Digests};
use grouplog::model::load::{Loading, Until, load};
use grouplog::model::partitioner::partition_of;
use grouplog::model::replay::Helper;
use grouplog::model::rules::{Release, Rules};
use grouplog::rewrite::edit::Edits;
use grouplog::rewrite::edit::feed::Feed;
use grouplog::rewrite::edit::reframe::Shape as Framing;
use grouplog::rewrite::edit::rename::Renames;
use grouplog::rewrite::edit::run::{How, Routing};
use grouplog::rewrite::edit::tally::Edited;
use grouplog::rewrite::edit::write::{Listener, NewLog, Refused, Work, carry_out};
use grouplog::rewrite::interrupt::Interrupt;
use grouplog::rewrite::out::OutDir;
use grouplog::rewrite::salvage::{FileIn, Manner, Salvage, Wreck, survey};
use histories::*;
use naive::Event;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// How many histories, unless the environment says otherwise.
const HISTORIES: u64 = 500;
const MAX_INFLATED: usize = 1 << 20;

/// A partition's log on disk.
#[derive(Clone)]
struct Log {
    partition: i32,
    paths: Vec<PathBuf>,
}

impl Log {
    fn bytes(&self) -> Vec<u8> {
        self.paths.iter().flat_map(|path| std::fs::read(path).unwrap()).collect()
    }

    fn records(&self) -> Vec<Rec> {
        self.paths.iter().flat_map(|path| build::read_segment(path)).flat_map(|batch| batch.records).collect()
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

    fn feed(&self, place: usize) -> Feed {
        let file = |path: &PathBuf| FileIn {
            path: path.clone(),
            base_offset: path.file_stem().unwrap().to_str().unwrap().parse().ok(),
            len: path.metadata().unwrap().len(),
        };
        let wreck = Wreck { own: self.paths.iter().map(file).collect(), ..Wreck::default() };
        let manner = Manner {
            wishes: grouplog::rewrite::survey::Wishes { keep_doubtful: false, mend: false },
            leftovers: grouplog::rewrite::union::Take::Lost,
            max_inflated: MAX_INFLATED,
        };
        let salvage = survey(&wreck, &manner, &Interrupt::default(), &mut |_| {}).unwrap();
        assert!(!salvage.is_damaged(), "{:?}", salvage.log.incidents);
        let end = salvage.end();
        let Salvage { sources, log, .. } = salvage;
        Feed::new(
            place,
            self.partition,
            end,
            sources,
            log.parts.into_iter().map(|part| part.piece).collect(),
            MAX_INFLATED,
        )
    }
}

/// The groups of several logs. One that stands in two counts twice.
fn groups_of(logs: &[Log]) -> Vec<(Vec<u8>, Digest)> {
    let mut all: Vec<_> = logs.iter().flat_map(|log| log.digests().groups).collect();
    all.sort();
    all
}

struct Deaf;

impl Listener for Deaf {
    fn edited(&mut self, _: &Edited<'_>) -> io::Result<()> {
        Ok(())
    }
    fn again(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn done(&mut self) {}
    fn read(&mut self, _: u64) {}
}

/// What is done, and by how much segments grow.
#[derive(Default)]
struct Policy {
    edits: Edits,
    shape: Framing,
    partitions: Option<i32>,
    segment_bytes: Option<u64>,
}

impl Policy {
    fn to(self, logs: &[Log], to: &Path) -> io::Result<Vec<Log>> {
        let interrupt = Interrupt::default();
        let new: Vec<i32> = match self.partitions {
            Some(n) => (0..n).collect(),
            None => logs.iter().map(|log| log.partition).collect(),
        };
        let mut work = Work {
            feeds: logs.iter().enumerate().map(|(place, log)| log.feed(place)).collect(),
            new: new.iter().map(|&partition| NewLog { partition, ..NewLog::default() }).collect(),
            segment_bytes: self.segment_bytes.unwrap_or(1 << 30),
            broker: Release::NEWEST.to_string().parse().unwrap(),
            refused: Refused::Stay,
        };
        let mut how = How {
            edits: self.edits,
            shape: self.shape,
            routing: self.partitions.map_or(Routing::Stay, Routing::Shard),
            max_inflated: MAX_INFLATED,
            interrupt: &interrupt,
        };
        let out = OutDir::create(to).unwrap();
        let outcome = carry_out(&mut work, &mut how, Some(&out), &mut Deaf)?;
        out.publish().unwrap();
        let dry = carry_out(&mut work, &mut how, None, &mut Deaf).unwrap();
        assert_eq!((dry.ran.tally, dry.ran.ends), (outcome.ran.tally, outcome.ran.ends), "a dry run says the same");
        let log = |(partition, done): (&i32, grouplog::rewrite::apply::Done)| {
            let folder = to.join(format!("__consumer_offsets-{partition}"));
            let paths = done.segments.iter().map(|it| folder.join(it.path.file_name().unwrap())).collect();
            Log { partition: *partition, paths }
        };
        Ok(new.iter().zip(outcome.done).map(log).collect())
    }
}

struct Trial {
    what: String,
    old: Log,
    digests: Digests,
    room: tempfile::TempDir,
}

impl Trial {
    fn rewritten(&self, name: &str, policy: Policy) -> Log {
        let old = std::slice::from_ref(&self.old);
        let mut new = policy.to(old, &self.room.path().join(name)).unwrap_or_else(|why| panic!("{}: {why}", self.what));
        new.pop().unwrap()
    }

    fn means_the_same(&self, new: &Log, law: &str) {
        assert_eq!(new.digests(), self.digests, "{}: {law}", self.what);
    }

    fn is_a_copy(&self, segment_bytes: u64) {
        let copy = self.rewritten("copy", Policy::default());
        let cut = self.rewritten("cut", Policy { segment_bytes: Some(segment_bytes), ..Policy::default() });
        for (new, law) in [(&copy, "a copy"), (&cut, "other segments")] {
            assert_eq!(new.bytes(), self.old.bytes(), "{}: {law}", self.what);
        }
    }

    fn is_framed(&self, codec: Codec, upgrade: bool) {
        let shape = Framing { codec: Some(codec), upgrade, renumber: false };
        let new = self.rewritten("framed", Policy { shape, ..Policy::default() });
        assert_eq!(new.records(), self.old.records(), "{}: {codec:?}", self.what);
        self.means_the_same(&new, "another frame");
        let shape = Framing { renumber: true, ..Framing::default() };
        let new = self.rewritten("numbered", Policy { shape, ..Policy::default() });
        assert!(new.records().iter().zip(0..).all(|(record, offset)| record.offset == offset), "{}", self.what);
        self.means_the_same(&new, "other offsets");
    }

    fn is_renamed(&self) {
        let name = |from: &[u8], to: &[u8]| Renames::new(vec![(from.to_vec(), to.to_vec())], Vec::new()).unwrap();
        let to = |from: &[u8], to: &[u8]| Policy {
            edits: Edits { renames: name(from, to), ..Edits::default() },
            ..Policy::default()
        };
        let there = self.rewritten("renamed", to(b"g", b"another-name"));
        assert!(
            !there.digests().groups.contains_key(&b"g"[..]),
            "{}\n{:?}\n{:?}",
            self.what,
            self.old.records(),
            there.records()
        );
        let back = to(b"another-name", b"g").to(&[there], &self.room.path().join("back")).unwrap();
        self.means_the_same(&back[0], "renamed and back");
    }

    /// Whether it could be spread and put together again; if not, because transactions would be mixed up.
    fn is_spread(&self, n: i32) -> bool {
        let to = |n| Policy { partitions: Some(n), ..Policy::default() };
        let old = std::slice::from_ref(&self.old);
        let spread = to(n).to(old, &self.room.path().join("spread")).unwrap();
        assert_eq!(groups_of(&spread), groups_of(old), "{}: over {n}", self.what);
        for log in &spread {
            let is_home = |group: &Vec<u8>| partition_of(group, n) == log.partition;
            assert!(log.digests().groups.keys().all(is_home), "{}: over {n}", self.what);
        }
        match to(1).to(&spread, &self.room.path().join("together")) {
            Ok(one) => {
                self.means_the_same(&one[0], "over many and back");
                true
            }
            Err(why) => {
                assert!(why.to_string().contains("overlap in time"), "{}: {why}", self.what);
                false
            }
        }
    }
}

fn history(dice: &mut Dice) -> Option<(Vec<Event>, bool)> {
    if dice.one_in(3) {
        let (events, transactions) = by_the_rules(dice);
        return (!events.is_empty()).then_some((events, transactions));
    }
    let (events, kind) = any_order(dice);
    Some((events, kind.transactions))
}

#[test]
fn made_up_histories() {
    let histories = std::env::var("GROUPLOG_HISTORIES").map_or(HISTORIES, |text| text.parse().unwrap());
    let codecs = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut tried, mut seed) = (0, 0);
    while tried < histories {
        seed += 1;
        let mut dice = Dice::new(seed);
        let Some((events, transactions)) = history(&mut dice) else { continue };
        let shape = match transactions {
            true => Shape::Magic(2),
            false => *dice.pick(&[Shape::Magic(2), Shape::Magic(2), Shape::Magic(0), Shape::Magic(1), Shape::Mixed]),
        };
        let (_folder, paths) = write(&mut dice, &events, shape);
        let old = Log { partition: 0, paths };
        let digests = old.digests();
        let what = format!("seed {seed}, {shape:?}");
        let trial = Trial { what, old, digests, room: folder() };
        trial.is_a_copy(1 + dice.below(3_000) as u64);
        let codec = *dice.pick(&codecs);
        trial.is_framed(codec, codec == Codec::Zstd || dice.one_in(2));
        trial.is_renamed();
        let back = trial.is_spread(2 + dice.below(6) as i32);
        tried += 1;
        *counts.entry("records").or_default() += events.len() as u64;
        *counts.entry("with transactions").or_default() += u64::from(transactions);
        *counts.entry("refused, since transactions would be mixed up").or_default() += u64::from(!back);
    }
    println!("{tried} histories: {counts:?}: all laws hold");
    let refused = counts["refused, since transactions would be mixed up"];
    assert!(refused * 2 < tried, "too many were refused: {refused} of {tried}");
}
