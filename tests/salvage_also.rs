//! `salvage --also`: what copies have in part is put together, what none has is told, and no copy does harm.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/wreck.rs"]
mod wreck;

use build::*;
use grouplog::log::Codec;
use std::path::PathBuf;
use wreck::*;

fn one(at: i64) -> Bat {
    Bat::of(vec![commit(at, &format!("g{}", at % 3), "orders", 0, 100 + at)])
}

fn bytes(batches: impl IntoIterator<Item = Bat>) -> Vec<u8> {
    batches.into_iter().flat_map(|batch| batch.bytes()).collect()
}

fn plain(offsets: std::ops::Range<i64>) -> Vec<u8> {
    bytes(offsets.map(one))
}

/// Copies of a partition, each in a log dir of its own.
struct Copies {
    dir: tempfile::TempDir,
}

impl Copies {
    fn new() -> Copies {
        Copies { dir: tempfile::tempdir().unwrap() }
    }

    fn log_dir(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, segments: &[(i64, Vec<u8>)]) -> PathBuf {
        let folder = self.log_dir(name).join("__consumer_offsets-0");
        std::fs::create_dir_all(&folder).unwrap();
        for (base, bytes) in segments {
            std::fs::write(folder.join(segment_name(*base)), bytes).unwrap();
        }
        folder
    }

    fn salvage(&self, own: &str, also: &[&str], options: &[&str]) -> Salvaged {
        let out = self.log_dir(&format!("new-{own}-{}-{}", also.concat(), options.concat()));
        let paths: Vec<PathBuf> = also.iter().map(|name| self.log_dir(name)).collect();
        let mut words: Vec<&str> = options.to_vec();
        paths.iter().for_each(|path| words.extend(["--also", path.to_str().unwrap()]));
        salvage(&out, &words, &[&self.log_dir(own)])
    }
}

fn offsets(salvaged: &Salvaged) -> Vec<i64> {
    let records = read_partition(&salvaged.partition(0)).into_iter().flat_map(|batch| batch.records);
    records.map(|record| record.offset).collect()
}

/// Code, first and last offset of what is lost.
fn lost(salvaged: &Salvaged) -> Vec<(String, Option<i64>, Option<i64>)> {
    let stretches = salvaged.of_kind("stretch");
    let lost = stretches.into_iter().filter(|line| line["outcome"] == "lost");
    lost.map(|line| {
        (line["code"].as_str().unwrap().to_owned(), line["firstOffset"].as_i64(), line["lastOffset"].as_i64())
    })
    .collect()
}

fn overwritten(mut bytes: Vec<u8>, range: std::ops::Range<usize>) -> Vec<u8> {
    bytes[range].fill(0xee);
    bytes
}

#[test]
fn a_copy_is_no_stranger_for_what_stands_beside_its_damage() {
    let copies = Copies::new();
    copies.write("own", &[(0, plain(0..10))]);
    // Its damage reached into the base offset behind it, and nothing else is left of it.
    let size = one(0).bytes().len();
    let mut hurt = one(5).bytes();
    hurt[7] = 4;
    copies.write("rep", &[(0, [overwritten(plain(0..5), 0..5 * size), hurt, plain(10..20)].concat())]);
    let salvaged = copies.salvage("own", &["rep"], &[]);
    assert_eq!(offsets(&salvaged), Vec::from_iter(0..20), "{:#?}", salvaged.lines);
}

#[test]
fn what_lies_between_copies_that_share_nothing_is_lost() {
    let copies = Copies::new();
    copies.write("own", &[(40, plain(40..60))]);
    copies.write("front", &[(0, plain(0..30))]);
    copies.write("behind", &[(70, plain(70..80))]);
    copies.write("whole", &[(0, plain(0..80))]);
    let salvaged = copies.salvage("own", &["front", "behind"], &[]);
    assert_eq!(offsets(&salvaged), Vec::from_iter((0..30).chain(40..60).chain(70..80)));
    let told = ["segment-missing"; 2].map(str::to_owned);
    let [front, behind] = told;
    assert_eq!(lost(&salvaged), [(front, Some(30), Some(39)), (behind, Some(60), Some(69))]);
    for order in [["front", "behind", "whole"], ["whole", "behind", "front"], ["behind", "whole", "front"]] {
        let salvaged = copies.salvage("own", &order, &[]);
        assert_eq!(offsets(&salvaged), Vec::from_iter(0..80), "{order:?}");
        assert_eq!(lost(&salvaged), [], "{order:?}");
    }
}

#[test]
fn what_is_doubtful_in_a_copy_changes_nothing() {
    let mut hurt: Vec<Vec<u8>> = (0..30).map(|at| one(at).bytes()).collect();
    let len = hurt[20].len();
    (hurt[20][len - 12], hurt[20][len - 20]) = (hurt[20][len - 12] ^ 0x41, hurt[20][len - 20] ^ 0x13);
    let copies = Copies::new();
    copies.write("own", &[(0, plain(0..10))]);
    copies.write("rep", &[(0, hurt.concat())]);
    copies.write("sound", &[(0, plain(0..30))]);
    let expected: Vec<i64> = (0..20).chain(21..30).collect();
    for options in [&[][..], &["--keep-doubtful"]] {
        let salvaged = copies.salvage("own", &["rep"], options);
        assert_eq!(offsets(&salvaged), expected, "{options:?}: {:#?}", salvaged.lines);
        assert_eq!(lost(&salvaged), [("crc-mismatch".to_owned(), Some(20), Some(20))], "{options:?}");
        for order in [["rep", "sound"], ["sound", "rep"]] {
            assert_eq!(offsets(&copies.salvage("own", &order, options)), Vec::from_iter(0..30), "{order:?}");
        }
    }
    // What is doubtful in the log itself is kept, also where compaction took it in a copy, and not said to be filled.
    copies.write("doubtful", &[(0, hurt.concat())]);
    copies.write("compacted", &[(0, bytes((0..30).filter(|at| *at != 20).map(one)))]);
    let salvaged = copies.salvage("doubtful", &["compacted"], &["--keep-doubtful"]);
    assert_eq!(offsets(&salvaged), Vec::from_iter(0..30));
    assert_eq!(salvaged.outcomes(), ["kept-doubtful"]);
}

#[test]
fn a_last_base_offset_that_is_damaged_in_one_of_two_copies_is_known_by_the_other() {
    for (magic, codec) in [(2, Codec::None), (2, Codec::Gzip), (1, Codec::None), (1, Codec::Gzip)] {
        let batch = |at: i64| Bat { magic, codec, leader_epoch: if magic == 2 { 0 } else { -1 }, ..one(at) };
        let whole: Vec<Vec<u8>> = (0..20).map(|at| batch(at).bytes()).collect();
        let mut hurt = whole.clone();
        hurt[19][6] = 8;
        let copies = Copies::new();
        copies.write("whole", &[(0, whole.concat())]);
        copies.write("hurt", &[(0, hurt.concat())]);
        for (own, also) in [("whole", "hurt"), ("hurt", "whole")] {
            let salvaged = copies.salvage(own, &[also], &[]);
            assert_eq!(offsets(&salvaged), Vec::from_iter(0..20), "{magic} {}: {own}", codec.name());
        }
    }
}

#[test]
fn a_loss_without_an_end_is_filled_as_far_as_a_copy_has_as_much() {
    let size = one(0).bytes().len();
    let copies = Copies::new();
    copies.write("own", &[(0, overwritten(plain(0..30), 10 * size..30 * size))]);
    copies.write("half", &[(0, plain(0..20))]);
    copies.write("whole", &[(0, plain(0..30))]);
    let salvaged = copies.salvage("own", &["half"], &[]);
    assert_eq!(offsets(&salvaged), Vec::from_iter(0..20));
    assert!(matches!(lost(&salvaged).as_slice(), [(_, Some(20), None)]), "{:#?}", salvaged.lines);
    let salvaged = copies.salvage("own", &["whole"], &[]);
    assert_eq!((offsets(&salvaged), lost(&salvaged)), (Vec::from_iter(0..30), vec![]));
}

#[test]
fn what_the_files_beside_a_copy_prove_counts_too() {
    let copies = Copies::new();
    copies.write("own", &[(0, plain(0..10))]);
    copies.write("rep", &[(0, plain(0..10))]);
    assert_eq!(copies.salvage("own", &["rep"], &[]).code, 0);
    let checkpoint = "0\n1\n__consumer_offsets 0 15\n";
    std::fs::write(copies.log_dir("rep").join("recovery-point-offset-checkpoint"), checkpoint).unwrap();
    let salvaged = copies.salvage("own", &["rep"], &["--mend"]);
    assert_eq!(lost(&salvaged), [("log-cut".to_owned(), Some(10), Some(14))], "{:#?}", salvaged.lines);
    // Where both say so, it is one loss.
    std::fs::write(copies.log_dir("own").join("recovery-point-offset-checkpoint"), checkpoint).unwrap();
    let salvaged = copies.salvage("own", &["rep"], &["--keep-doubtful"]);
    assert_eq!(lost(&salvaged), [("log-cut".to_owned(), Some(10), Some(14))], "{:#?}", salvaged.lines);
}

/// A wrapper whose offset is damaged is written anew with all its records: another log can have them.
#[test]
fn a_copy_gives_what_stays_of_its_damaged_batches() {
    let wrapper = |at: i64| {
        let records = (at..at + 3).map(|at| commit(at, "g", "orders", at as i32 % 3, at)).collect();
        Bat { magic: 0, codec: Codec::Gzip, leader_epoch: -1, ..Bat::of(records) }
    };
    let whole: Vec<Vec<u8>> = (0..10).map(|i| wrapper(3 * i).bytes()).collect();
    let mut hurt = whole.clone();
    hurt[6][7] ^= 0x40;
    let copies = Copies::new();
    copies.write("own", &[(0, whole[..3].concat())]);
    copies.write("hurt", &[(0, hurt.concat())]);
    copies.write("sound", &[(0, whole.concat())]);
    for order in [&["hurt"][..], &["hurt", "sound"], &["sound", "hurt"]] {
        let salvaged = copies.salvage("own", order, &[]);
        assert_eq!(offsets(&salvaged), Vec::from_iter(0..30), "{order:?}: {:#?}", salvaged.lines);
    }
}

/// What was aborted took nobody's place.
#[test]
fn a_value_whose_successors_were_aborted_is_filled() {
    let commit = |at: i64, partition: i32| commit(at, "g", "orders", partition, 100 + at);
    let abort = |at: i64| Bat::marker(Ending::Abort, at, T0 + at, 7, 0);
    let tail = |at: i64| Bat::of(vec![commit(at, 5)]);
    let first = Bat::of(vec![commit(0, 0)]);
    let aborted = Bat::transactional(7, 0, vec![commit(10, 0)]);
    let copies = Copies::new();
    // Of the log, which was cleaned, the first batch is zeros.
    let size = first.bytes().len();
    copies.write("own", &[(0, [vec![0; size], bytes([tail(20), tail(21)])].concat())]);
    copies.write("rep", &[(0, bytes([first.clone(), aborted.clone(), abort(11), tail(20), tail(21)]))]);
    let salvaged = copies.salvage("own", &["rep"], &[]);
    assert!(offsets(&salvaged).contains(&0), "{:#?}", salvaged.lines);
    // A copy that ends before the marker does not know it.
    copies.write("full", &[(0, [vec![0; size], bytes([tail(5), aborted.clone(), abort(11)])].concat())]);
    copies.write("short", &[(0, bytes([first, tail(5), aborted]))]);
    let salvaged = copies.salvage("full", &["short"], &[]);
    assert_eq!(offsets(&salvaged), [0, 5, 10, 11], "{:#?}", salvaged.lines);
}

/// A leader epoch that is damaged where leaders changed is not the start of another story.
#[test]
fn a_damaged_epoch_where_leaders_changed_cuts_nothing_off() {
    let with = |epoch: i32, at: i64| Bat { leader_epoch: epoch, ..one(at) };
    let log = |damaged: i32, end: i64| {
        bytes((0..5).map(|at| with(2, at)).chain([with(damaged, 5)]).chain((6..end).map(|at| with(4, at))))
    };
    let copies = Copies::new();
    for (name, damaged, end) in [("own", 5, 20), ("rep", 4, 15), ("rep-hurt", 6, 15), ("sound", 4, 20)] {
        copies.write(name, &[(0, log(damaged, end))]);
    }
    for (own, also) in [("own", "rep"), ("sound", "rep-hurt"), ("rep-hurt", "sound"), ("own", "rep-hurt")] {
        let salvaged = copies.salvage(own, &[also], &[]);
        assert_eq!(offsets(&salvaged), Vec::from_iter(0..20), "{own} {also}: {:#?}", salvaged.lines);
        assert_eq!(lost(&salvaged), [], "{own} {also}");
    }
}

/// A damaged base offset of a copy puts a batch of another epoch at offsets of ours, which go on as they did in both.
#[test]
fn a_damaged_copy_overrules_nothing() {
    let with = |epoch: i32, at: i64| Bat { leader_epoch: epoch, ..one(at) };
    let log = |compacted: std::ops::Range<i64>| {
        (0..60).filter(move |at| !compacted.contains(at)).map(move |at| with(if at < 40 { 2 } else { 4 }, at).bytes())
    };
    let own: Vec<Vec<u8>> = log(20..25).collect();
    let mut hurt = own.clone();
    // A batch of the later epoch in the gap that compaction left, and some bytes twice.
    let mut stray = with(4, 45).bytes();
    stray[7] = 22;
    hurt.insert(20, stray);
    hurt.insert(20, own[0][..50].to_vec());
    hurt.insert(22, own[1][..50].to_vec());
    let copies = Copies::new();
    copies.write("own", &[(0, own.concat())]);
    copies.write("rep", &[(0, hurt.concat())]);
    let expected: Vec<i64> = (0..20).chain(25..60).collect();
    let salvaged = copies.salvage("own", &["rep"], &[]);
    assert_eq!(offsets(&salvaged), expected, "{:#?}", salvaged.lines);
    // Also where the stray batch stands at offsets that the log has.
    let whole: Vec<Vec<u8>> = log(0..0).collect();
    let mut hurt = whole.clone();
    hurt[20] = with(4, 45).bytes();
    hurt[20][7] = 20;
    copies.write("whole", &[(0, whole.concat())]);
    copies.write("hurt", &[(0, hurt.concat())]);
    let salvaged = copies.salvage("whole", &["hurt"], &[]);
    assert_eq!(offsets(&salvaged), Vec::from_iter(0..60), "{:#?}", salvaged.lines);
}

#[test]
fn a_log_is_no_copy_of_itself() {
    let copies = Copies::new();
    copies.write("own", &[(0, plain(0..10))]);
    let salvaged = copies.salvage("own", &["own"], &[]);
    assert_eq!(salvaged.code, 2);
    assert!(salvaged.said.contains("is what is salvaged itself"), "{}", salvaged.said);
}

/// Batches of an old magic beside damage: their want of a leader epoch does not save them from what a copy says.
#[test]
fn a_piece_of_an_older_log_beside_damage_is_contradicted() {
    let old = |at: i64| Bat { magic: 1, leader_epoch: -1, ..Bat::of(vec![commit(at, "h", "orders", 0, at)]) };
    let size = one(0).bytes().len();
    let mut hurt: Vec<Vec<u8>> = (0..30).map(|at| one(at).bytes()).collect();
    hurt[12] = bytes([old(12)]);
    hurt[11] = vec![0xee; size];
    hurt[13] = vec![0xee; size];
    let copies = Copies::new();
    copies.write("own", &[(0, hurt.concat())]);
    copies.write("rep", &[(0, plain(0..30))]);
    let salvaged = copies.salvage("own", &["rep"], &[]);
    assert!(read_partition(&salvaged.partition(0)).iter().all(|batch| batch.magic == 2), "{:#?}", salvaged.lines);
    assert_eq!(offsets(&salvaged), Vec::from_iter(0..30), "{:#?}", salvaged.lines);
}

/// What the files beside the segments say of whose a log is.
fn owned(copies: &Copies, name: &str, topic: &str, cluster: &str) {
    copies.write(name, &[(0, plain(0..10))]);
    let metadata = format!("version: 0\ntopic_id: {topic}");
    std::fs::write(copies.log_dir(name).join("__consumer_offsets-0/partition.metadata"), metadata).unwrap();
    std::fs::write(copies.log_dir(name).join("meta.properties"), format!("version=1\ncluster.id={cluster}\n")).unwrap();
}

#[test]
fn another_clusters_log_is_no_copy() {
    const TOPICS: [&str; 2] = ["yp4OUz_HSA64djhTtT8qLg", "aDIplFJjQpeA25zoc52NPw"];
    const CLUSTERS: [&str; 2] = ["rqGYNJRVS6KAyo_CvPdVDw", "IeDgvMYxRJC9TUnd4WQrkw"];
    let copies = Copies::new();
    owned(&copies, "same", TOPICS[0], CLUSTERS[0]);
    owned(&copies, "topic", TOPICS[1], CLUSTERS[0]);
    owned(&copies, "cluster", TOPICS[0], CLUSTERS[1]);
    copies.write("unknown", &[(0, plain(0..10))]);
    owned(&copies, "own", TOPICS[0], CLUSTERS[0]);
    // Nothing of its own stands at any offset, by which a stranger would be known.
    copies.write("own", &[(0, Vec::new())]);
    copies.write("blank", &[(0, Vec::new())]);
    let cases = [
        ("own", &["topic"][..], Some((TOPICS, "partition.metadata"))),
        ("own", &["cluster"], Some((CLUSTERS, "meta.properties"))),
        ("own", &["same", "cluster"], Some((CLUSTERS, "meta.properties"))),
        // Two copies that are none of each other are none of one log.
        ("blank", &["same", "topic"], Some((TOPICS, "partition.metadata"))),
        ("own", &["same"], None),
        ("own", &["unknown"], None),
        ("blank", &["topic"], None),
    ];
    for (own, also, refused) in cases {
        let salvaged = copies.salvage(own, also, &[]);
        let Some((ids, file)) = refused else {
            assert_eq!(offsets(&salvaged), Vec::from_iter(0..10), "{own} {also:?}: {}", salvaged.said);
            continue;
        };
        assert_eq!((salvaged.code, salvaged.out.exists()), (1, false), "{own} {also:?}: {}", salvaged.said);
        for word in [ids[0], ids[1], file, also[also.len() - 1], "is meant all the same"] {
            assert!(salvaged.said.contains(word), "{word}: {}", salvaged.said);
        }
    }
}
