//! `salvage`: which offsets damage can have taken, where heads, base offsets and names are what is damaged.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/wreck.rs"]
mod wreck;

use build::*;
use grouplog::log::Codec;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use wreck::*;

/// Three commits a batch, whose values are their offsets.
fn three(at: i64) -> Bat {
    Bat::of((at..at + 3).map(|at| commit(at, &format!("g{at}"), "orders", 0, 100 + at)).collect())
}

fn batches(count: i64) -> Vec<Vec<u8>> {
    (0..count).map(|i| three(3 * i).bytes()).collect()
}

fn folder(log_dir: &Path, segments: &[(i64, &[Vec<u8>])]) -> PathBuf {
    let dir = log_dir.join("__consumer_offsets-0");
    std::fs::create_dir_all(&dir).unwrap();
    for (base, batches) in segments {
        std::fs::write(dir.join(segment_name(*base)), batches.concat()).unwrap();
    }
    dir
}

struct Case {
    dir: tempfile::TempDir,
    runs: usize,
}

impl Case {
    fn new() -> Case {
        Case { dir: tempfile::tempdir().unwrap(), runs: 0 }
    }

    fn run(&mut self, segments: &[(i64, &[Vec<u8>])], options: &[&str]) -> Salvaged {
        self.runs += 1;
        let own = folder(&self.dir.path().join(format!("log{}", self.runs)), segments);
        let told = salvage(&self.dir.path().join(format!("new{}", self.runs)), options, &[&own]);
        assert!([0, 3].contains(&told.code), "{}", told.said);
        told
    }

    fn replica(&self, segments: &[(i64, &[Vec<u8>])]) -> String {
        folder(&self.dir.path().join("replica"), segments).display().to_string()
    }
}

fn offsets(stretch: &Value) -> (Value, Value) {
    (stretch["firstOffset"].clone(), stretch["lastOffset"].clone())
}

fn set_base(batch: &mut [u8], base: i64) {
    batch[..8].copy_from_slice(&base.to_be_bytes());
}

#[test]
fn a_damaged_last_offset_hides_nothing() {
    let whole = batches(5);
    for wrong in [0, 1, 2, 9, -1] {
        let mut hurt = whole.clone();
        hurt[2][23..27].copy_from_slice(&i32::to_be_bytes(wrong));
        hurt[2][60] ^= 0x55;
        hurt[2][40] ^= 0x55;
        let mut case = Case::new();
        let told = case.run(&[(0, &hurt)], &[]);
        assert_eq!(offsets(told.the("stretch")), (json!(6), json!(8)), "{wrong}: {:#?}", told.lines);
        let replica = case.replica(&[(0, &whole)]);
        let filled = case.run(&[(0, &hurt)], &["--also", &replica]);
        assert_eq!(filled.outcomes(), ["filled"], "{wrong}");
        assert!(filled.batches(0) == whole, "{wrong}");
        let kept = case.run(&[(0, &hurt)], &["--also", &replica, "--keep-doubtful"]);
        assert!(kept.batches(0) == whole, "{wrong}: {:#?}", kept.lines);
    }
    // A count of none hides no key, and at the log's end nobody knows how far it went.
    let mut hurt = whole.clone();
    hurt[4][23..61].fill(0);
    let mut case = Case::new();
    let told = case.run(&[(0, &hurt)], &[]);
    assert_eq!(offsets(told.the("stretch")), (json!(12), Value::Null));
    assert_eq!(told.lost_keys().len(), 3, "{:#?}", told.lines);
    // A replica that ends where the damaged batch says it does may end too soon, but nothing tells.
    let replica = case.replica(&[(0, &whole)]);
    let filled = case.run(&[(0, &hurt)], &["--also", &replica]);
    assert_eq!((filled.outcomes(), filled.batches(0) == whole), (vec!["filled"], true));
    // One that ends sooner fills less than the batch names.
    let mut hurt = whole.clone();
    hurt[4][70] ^= 0x55;
    hurt[4][80] ^= 0x55;
    let mut case = Case::new();
    let replica = case.replica(&[(0, &whole[..4])]);
    let told = case.run(&[(0, &hurt)], &["--also", &replica]);
    assert_eq!(told.outcomes(), ["lost"]);
    assert_eq!(told.the("summary")["endOffset"], 15);
}

#[test]
fn neighbours_that_are_damaged_too_share_a_range_once() {
    let whole = batches(6);
    let mut hurt = whole.clone();
    for at in [2, 3] {
        hurt[at][70] ^= 0x55;
        hurt[at][80] ^= 0x55;
    }
    let mut case = Case::new();
    let told = case.run(&[(0, &hurt)], &[]);
    let all: Vec<_> = told.of_kind("stretch").iter().map(|it| offsets(it)).collect();
    assert_eq!(all, [(json!(6), json!(8)), (json!(9), json!(11))], "sound heads that agree are believed");
    hurt[2][23..27].fill(0);
    let mut case = Case::new();
    let told = case.run(&[(0, &hurt)], &[]);
    let all: Vec<_> = told.of_kind("stretch").iter().map(|it| offsets(it)).collect();
    assert_eq!(all, [(json!(6), json!(8)), (json!(9), json!(11))]);
}

#[test]
fn a_damaged_wrapper_may_have_had_every_offset_in_front_of_it() {
    for magic in [0, 1] {
        let whole = Hull::of(magic, Codec::Gzip);
        for victim in [0, VICTIM, BATCHES - 1] {
            let mut hurt = whole.clone();
            Damage::TwoBytes.hurt(&mut hurt, victim);
            let dir = tempfile::tempdir().unwrap();
            let told = salvage(&dir.path().join("new"), &[], &[&hurt.write(&dir.path().join("log"))]);
            let (first, last) = whole.offsets(victim);
            let last = if victim == BATCHES - 1 { Value::Null } else { json!(last) };
            assert_eq!(offsets(told.the("stretch")), (json!(first), last), "{magic} {victim}");
        }
    }
}

#[test]
fn length_and_base_offset_damaged_together_are_one_stretch() {
    let whole = batches(6);
    for byte in [0, 0xff] {
        for from in [0, 3] {
            let mut hurt = whole.clone();
            hurt[3][from..12].fill(byte);
            let mut case = Case::new();
            let told = case.run(&[(0, &hurt)], &[]);
            let stretch = told.the("stretch");
            assert_eq!((&stretch["outcome"], offsets(stretch)), (&json!("lost"), (json!(9), json!(11))), "{stretch:#}");
            assert_eq!(told.lost_keys().len(), 3, "{byte}: {:#?}", told.lines);
            let replica = case.replica(&[(0, &whole)]);
            let filled = case.run(&[(0, &hurt)], &["--also", &replica]);
            assert_eq!((filled.outcomes(), filled.batches(0) == whole), (vec!["filled"], true), "{byte} {from}");
            let verified = common::grouplog(&filled.out, ["verify", "../log1"]);
            let said = String::from_utf8(verified.stdout).unwrap();
            assert!(!said.contains("nothing else is damaged"), "{said}");
            assert!(said.contains("which the CRC does not cover, does not fit either"), "{said}");
        }
        // The length alone.
        let mut hurt = whole.clone();
        hurt[3][8..12].fill(byte);
        let mut case = Case::new();
        let told = case.run(&[(0, &hurt)], &[]);
        assert_eq!((told.outcomes(), told.batches(0) == whole), (vec!["mended"], true));
        let verified = common::grouplog(case.dir.path(), ["verify", "log1"]);
        assert!(!String::from_utf8(verified.stdout).unwrap().contains("does not fit either"));
    }
    // In a compacted log no gap says where it belongs; what has later epochs before it is no older story.
    let mut compacted: Vec<Vec<u8>> = Vec::new();
    for (i, at) in [0, 10, 20, 30, 40].into_iter().enumerate() {
        compacted.push(Bat { leader_epoch: i as i32, ..three(at) }.bytes());
    }
    for hit in [12, 8] {
        let mut hurt = compacted.clone();
        hurt[3][..hit].fill(0);
        let mut case = Case::new();
        let told = case.run(&[(0, &hurt)], &[]);
        assert_eq!(offsets(told.the("stretch")), (json!(23), json!(39)), "{hit}: {:#?}", told.lines);
        assert_eq!(told.outcomes(), ["lost"]);
        let replica = case.replica(&[(0, &compacted)]);
        let filled = case.run(&[(0, &hurt)], &["--also", &replica]);
        assert!(filled.batches(0) == compacted, "{hit}");
    }
}

#[test]
fn zeros_that_reach_into_a_base_offset_are_a_loss() {
    let whole = batches(8);
    let bytes = whole.concat();
    let hit = whole[0].len() + whole[1].len();
    let mut hurt = bytes.clone();
    hurt[..hit + 8].fill(0);
    let mut case = Case::new();
    let told = case.run(&[(0, &[hurt.clone()])], &[]);
    let stretch = told.the("stretch");
    assert_eq!(stretch["outcome"], "lost", "{stretch:#}");
    assert_eq!(offsets(stretch), (json!(3), json!(8)));
    assert!(stretch["message"].as_str().unwrap().contains("base offset 0 of the batch behind it may be damaged too"));
    // The same batch stands at its right place in another copy.
    let replica = case.replica(&[(0, &whole)]);
    let filled = case.run(&[(0, &[hurt])], &["--also", &replica]);
    assert_eq!(
        (filled.outcomes(), filled.batches(0) == whole),
        (vec!["filled", "filled"], true),
        "{:#?}",
        filled.lines
    );
    assert_eq!(filled.the("copy")["conflicts"], 0, "{:#?}", filled.lines);
    // Zeros that were put in front of a sound log take nothing.
    let told = case.run(&[(0, &[[vec![0; 300], bytes].concat()])], &[]);
    assert_eq!(told.outcomes(), ["nothing-missing"]);
    // Zeros up to a batch whose offset others bear out.
    let mut hurt = whole.clone();
    hurt[2].fill(0);
    let told = case.run(&[(0, &hurt)], &[]);
    assert_eq!(offsets(told.the("stretch")), (json!(6), json!(8)));
    assert!(!told.the("stretch")["message"].as_str().unwrap().contains("may be damaged too"));
}

#[test]
fn a_last_batch_far_off_is_put_right_by_a_copy() {
    let whole = batches(6);
    let mut hurt = whole.clone();
    for far in [70_000_000_000_000_000, 1 << 33, 65_551] {
        set_base(&mut hurt[5], far);
        let mut case = Case::new();
        let replica = case.replica(&[(0, &whole)]);
        let told = case.run(&[(0, &hurt)], &["--also", &replica]);
        assert!(told.batches(0) == whole, "{far}: {:#?}", told.lines);
        assert_eq!((told.outcomes(), &told.the("summary")["endOffset"]), (vec!["filled"], &json!(18)));
        assert_eq!(told.the("copy")["added"], json!([]), "{far}");
    }
    // One that stands there in the copy too is believed.
    let mut case = Case::new();
    let replica = case.replica(&[(0, &hurt)]);
    let told = case.run(&[(0, &hurt)], &["--also", &replica]);
    assert!(told.batches(0) == hurt, "{:#?}", told.lines);
}

#[test]
fn a_segment_of_the_wrong_name_keeps_what_it_holds() {
    let whole = batches(12);
    let (a, b, c) = (&whole[..4], &whole[4..8], &whole[8..]);
    type Segments<'b> = Vec<(i64, &'b [Vec<u8>])>;
    let cases: [(&str, Segments<'_>); 7] = [
        ("the last too high", vec![(0, a), (12, b), (1024, c)]),
        ("the last a little too high", vec![(0, a), (12, b), (25, c)]),
        ("the middle too high", vec![(0, a), (18, b), (24, c)]),
        ("the middle as high as can be", vec![(0, a), (24, c), (i64::MAX, b)]),
        ("two swapped", vec![(0, a), (12, c), (24, b)]),
        ("the first and the last swapped", vec![(0, c), (12, b), (24, a)]),
        ("the last of one batch", vec![(0, &whole[..11]), (1024, &whole[11..])]),
    ];
    for (name, segments) in cases {
        let mut case = Case::new();
        let told = case.run(&segments, &[]);
        assert!(told.batches(0) == whole, "{name}: {:#?}", told.lines);
        assert!(told.outcomes().iter().all(|it| *it == "renamed"), "{name}: {:?}", told.outcomes());
        assert_eq!(told.the("summary")["endOffset"], 36, "{name}");
        assert_eq!(told.code, 3, "{name}");
    }
    // A base offset that is wrong does not make a name wrong.
    let mut hurt = c.to_vec();
    set_base(&mut hurt[0], 13);
    let mut case = Case::new();
    let told = case.run(&[(0, a), (12, b), (24, &hurt)], &[]);
    assert_eq!((told.outcomes(), offsets(told.the("stretch"))), (vec!["lost"], (json!(24), json!(26))));
    // An empty segment says where the log ends.
    let mut case = Case::new();
    let told = case.run(&[(0, &whole), (50, &[])], &[]);
    assert_eq!((told.code, &told.the("summary")["endOffset"]), (0, &json!(50)));
}

#[test]
fn a_copy_of_a_batch_in_place_of_another_moves_nothing() {
    let whole = batches(8);
    for option in [&[][..], &["--mend"]] {
        let mut hurt = whole.clone();
        hurt[5] = whole[1].clone();
        let mut case = Case::new();
        let told = case.run(&[(0, &hurt)], option);
        assert_eq!(told.outcomes(), ["lost"], "{:#?}", told.lines);
        assert_eq!(offsets(told.the("stretch")), (json!(15), json!(17)));
        assert!(told.batches(0) == [&whole[..5], &whole[6..]].concat());
        let replica = case.replica(&[(0, &whole)]);
        let filled = case.run(&[(0, &hurt)], &[option, &["--also", &replica]].concat());
        assert!(filled.batches(0) == whole);
        // Written twice, with a damaged batch behind.
        let mut hurt = whole.clone();
        hurt[5][70] ^= 0x55;
        hurt[5][80] ^= 0x55;
        hurt.insert(5, whole[4].clone());
        let mut case = Case::new();
        let told = case.run(&[(0, &hurt)], option);
        assert_eq!(told.outcomes(), ["lost", "repeated"], "{:#?}", told.lines);
        assert_eq!(offsets(told.of_kind("stretch")[0]), (json!(15), json!(17)));
        // Inserted, it takes nothing.
        let mut hurt = whole.clone();
        hurt.insert(5, whole[1].clone());
        let mut case = Case::new();
        let told = case.run(&[(0, &hurt)], option);
        assert_eq!((told.outcomes(), told.batches(0) == whole), (vec!["repeated"], true));
    }
}

#[test]
fn a_chance_is_no_proof_of_one_changed_byte() {
    // Some of these would fit by one byte somewhere.
    let long: Vec<Rec> = (0..20).map(|at| commit(3 + at, &"x".repeat(90), "orders", at as i32, at)).collect();
    let batch = |records: Vec<Rec>| vec![three(0).bytes(), Bat::of(records).bytes()];
    for (flip, records, proved) in
        [(0x04, long.clone(), true), (0x3c, long, false), (0x3c, vec![commit(3, "x", "o", 0, 1)], true)]
    {
        let whole = batch(records);
        let mut hurt = whole.clone();
        let at = hurt[1].len() - 12;
        hurt[1][at] ^= flip;
        let mut case = Case::new();
        let told = case.run(&[(0, &hurt)], &["--mend"]);
        assert_eq!(told.outcomes(), [if proved { "mended" } else { "lost" }], "{flip}");
        let verified = common::grouplog(case.dir.path(), ["verify", "log1"]);
        let said = String::from_utf8(verified.stdout).unwrap();
        assert_eq!(said.contains("only byte"), proved, "{said}");
    }
}

#[test]
fn lost_keys_of_sound_batches_are_told_at_their_own_offsets() {
    let mut swapped = batches(6);
    swapped.swap(0, 1);
    let mut case = Case::new();
    let told = case.run(&[(0, &swapped)], &[]);
    for line in told.of_kind("lost-key") {
        let offset = line["offset"].as_i64().unwrap();
        assert_eq!(line["group"], format!("g{offset}"), "{line:#}");
    }
}
