//! `salvage`: where batches of one log contradict each other, what most of the log bears out stays; and what a head says
//! that damage has reached is believed least.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;
mod common;
#[path = "common/wreck.rs"]
mod wreck;

use build::*;
use serde_json::json;
use std::path::Path;
use wreck::*;

fn one(at: i64) -> Vec<u8> {
    Bat::of(vec![commit(at, &format!("g{}", at % 3), "orders", 0, 100 + at)]).bytes()
}

fn batches(offsets: std::ops::Range<i64>) -> Vec<Vec<u8>> {
    offsets.map(one).collect()
}

/// Of a partition with these segments, by base offset.
fn salvaged(segments: &[(i64, Vec<u8>)], options: &[&str]) -> (tempfile::TempDir, Salvaged) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("log/__consumer_offsets-0");
    std::fs::create_dir_all(&folder).unwrap();
    for (base, bytes) in segments {
        std::fs::write(folder.join(segment_name(*base)), bytes).unwrap();
    }
    let salvaged = salvage(&dir.path().join("new"), options, &[&folder]);
    (dir, salvaged)
}

fn offsets(salvaged: &Salvaged) -> Vec<i64> {
    let records = read_partition(&salvaged.partition(0)).into_iter().flat_map(|batch| batch.records);
    records.map(|record| record.offset).collect()
}

/// Noise of so many bytes.
fn noise(bytes: usize) -> Vec<u8> {
    vec![0xee; bytes]
}

#[test]
fn two_pieces_that_changed_places_are_put_back() {
    let whole = batches(0..100);
    let mut swapped = whole.clone();
    // Both with torn edges, as where sectors end within batches.
    for (place, from) in (20..28).zip(60..68).chain((60..68).zip(20..28)) {
        swapped[place] = whole[from].clone();
    }
    let edges = [19, 28, 59, 68];
    for edge in edges {
        swapped[edge] = noise(whole[edge].len());
    }
    let (_dir, salvaged) = salvaged(&[(0, swapped.concat())], &[]);
    let kept: Vec<i64> = (0..100).filter(|at| !edges.contains(&(*at as usize))).collect();
    assert_eq!(offsets(&salvaged), kept, "{:#?}", salvaged.lines);
    // Wherever an offset is missing, a stretch says so.
    let told = |at: i64| {
        let range = |line: &serde_json::Value| (line["firstOffset"].as_i64(), line["lastOffset"].as_i64());
        let stretches = salvaged.of_kind("stretch");
        stretches.into_iter().map(range).any(|(first, last)| first.is_some_and(|it| it <= at) && last >= Some(at))
    };
    (0..100).filter(|at| !kept.contains(at)).for_each(|at| assert!(told(at), "{at}: {:#?}", salvaged.lines));
}

/// What compaction left free is no place for a piece of another log.
#[test]
fn a_piece_of_another_log_is_put_nowhere() {
    let mut bytes: Vec<Vec<u8>> = batches(0..3);
    bytes.extend(batches(60..100));
    for (at, batch) in (20..28).zip(batches(10..18)) {
        bytes[at] = batch;
    }
    (bytes[19], bytes[28]) = (noise(99), noise(99));
    let (_dir, salvaged) = salvaged(&[(0, bytes.concat())], &[]);
    let kept: Vec<i64> = (0..3).chain(60..76).chain(86..100).collect();
    assert_eq!(offsets(&salvaged), kept, "{:#?}", salvaged.lines);
}

#[test]
fn a_first_sector_of_another_log_costs_no_more_than_itself() {
    let mut first = noise(30);
    first.extend([one(598), one(599)].concat());
    first.extend(noise(50));
    // Its last batch is of a base offset that no log of this length has.
    first.extend(one(26_869_918));
    first.extend(batches(10..40).concat());
    let (_dir, salvaged) =
        salvaged(&[(0, first), (40, batches(40..80).concat()), (80, batches(80..120).concat())], &[]);
    assert_eq!(offsets(&salvaged), Vec::from_iter(10..120), "{:#?}", salvaged.lines);
}

#[test]
fn of_two_base_offsets_that_collide_the_one_beside_damage_is_wrong() {
    let mut bytes = batches(0..20);
    // The last byte of a base offset and three bytes of the length, which the CRC then puts right.
    bytes[9][7..11].copy_from_slice(&[0x0b, 0x71, 0x02, 0x09]);
    bytes[10] = one(10);
    let (_dir, salvaged) = salvaged(&[(0, bytes.concat())], &[]);
    assert_eq!(offsets(&salvaged), Vec::from_iter((0..9).chain(10..20)), "{:#?}", salvaged.lines);
}

#[test]
fn an_epoch_and_a_base_offset_damaged_side_by_side_put_no_record_elsewhere() {
    let batch = |first: i64, last: i64| Bat::of((first..=last).map(|at| commit(at, "g", "t", at as i32, at)).collect());
    let mut bytes: Vec<Vec<u8>> =
        [(0, 4), (5, 9), (11, 12), (30, 34), (35, 39)].map(|(first, last)| batch(first, last).bytes()).to_vec();
    bytes[1][15] ^= 2;
    bytes[2][7] ^= 2;
    assert_eq!(bytes[2][7], 9);
    let (_dir, salvaged) = salvaged(&[(0, bytes.concat())], &[]);
    assert_eq!(offsets(&salvaged), Vec::from_iter((0..10).chain(30..40)), "{:#?}", salvaged.lines);
    assert_eq!(salvaged.of_kind("lost-key").len(), 2, "{:#?}", salvaged.lines);
}

#[test]
fn a_damaged_epoch_becomes_that_of_which_fewer_bits_differ() {
    for (before, damaged, behind, right) in [(2, 5, 4, 4), (2, 6, 4, 2), (3, 7, 3, 3)] {
        let with = |epoch: i32, at: i64| Bat { leader_epoch: epoch, ..Bat::of(vec![commit(at, "g", "t", 0, at)]) };
        let bytes: Vec<u8> = (0..4)
            .map(|at| with(before, at))
            .chain([with(damaged, 4)])
            .chain((5..9).map(|at| with(behind, at)))
            .flat_map(|batch| batch.bytes())
            .collect();
        let (_dir, salvaged) = salvaged(&[(0, bytes)], &[]);
        let epochs: Vec<i32> = read_partition(&salvaged.partition(0)).iter().map(|batch| batch.leader_epoch).collect();
        assert_eq!(epochs[4], right, "{before} {damaged} {behind}: {epochs:?}");
        assert_eq!(salvaged.outcomes(), ["mended"]);
    }
}

#[test]
fn what_is_lost_at_a_known_place_is_told_of_that_place() {
    let batch = |first: i64| Bat::of((first..first + 3).map(|at| commit(at, "g", "t", at as i32, at)).collect());
    let mut bytes: Vec<Vec<u8>> = [0, 3, 6, 9].map(|first| batch(first).bytes()).to_vec();
    // By one: both ranges overlap.
    bytes[1][7] = 4;
    let (_dir, salvaged) = salvaged(&[(0, bytes.concat())], &[]);
    let lost = salvaged.of_kind("lost-key");
    let told: Vec<_> = lost.iter().map(|line| (line["offset"].clone(), line["offsetSaid"].clone())).collect();
    assert_eq!(told, [(json!(3), json!(4)), (json!(4), json!(5)), (json!(5), json!(6))], "{:#?}", salvaged.lines);
}

#[test]
fn a_last_batch_that_is_whole_but_for_its_length_is_no_torn_write() {
    let verified = |folder: &Path| common::grouplog(folder, ["verify", "-q", "."]).status.code();
    for (magic, at) in [(2, 9), (1, 9), (0, 9)] {
        let batch = |at: i64| Bat {
            magic,
            leader_epoch: if magic == 2 { 0 } else { -1 },
            ..Bat::of(vec![commit(at, "g", "t", 0, at)])
        };
        let mut bytes: Vec<Vec<u8>> = (0..5).map(|at| batch(at).bytes()).collect();
        let last = bytes.last_mut().unwrap();
        let len = last.len();
        // The CRC tells of the length only as long as nothing else is damaged.
        (last[at], last[len - 12], last[len - 20]) = (last[at] ^ 0x80, last[len - 12] ^ 0x41, last[len - 20] ^ 0x13);
        let (dir, salvaged) = salvaged(&[(0, bytes.concat())], &[]);
        assert_eq!((salvaged.code, salvaged.outcomes()), (3, vec!["lost"]), "{magic}: {:#?}", salvaged.lines);
        assert_eq!(verified(&dir.path().join("log/__consumer_offsets-0")), Some(3), "{magic}");
        // Cut within, it is a torn write.
        let mut torn: Vec<u8> = (0..5).flat_map(|at| batch(at).bytes()).collect();
        torn.truncate(torn.len() - 3);
        let (dir, salvaged) = self::salvaged(&[(0, torn)], &[]);
        assert_eq!((salvaged.code, salvaged.outcomes()), (0, vec!["normal"]), "{magic}: {:#?}", salvaged.lines);
        assert_eq!(verified(&dir.path().join("log/__consumer_offsets-0")), Some(0), "{magic}");
    }
}

#[test]
fn what_is_kept_in_doubt_takes_no_offsets_from_what_is_sound() {
    let mut bytes = batches(0..20);
    // The last offset delta would reach far into what follows; the CRC cannot tell where two bytes are wrong.
    let len = bytes[9].len();
    (bytes[9][26], bytes[9][len - 12]) = (0x87, bytes[9][len - 12] ^ 0x41);
    let (_dir, salvaged) = salvaged(&[(0, bytes.concat())], &["--keep-doubtful"]);
    assert_eq!(offsets(&salvaged), Vec::from_iter(0..20), "{:#?}", salvaged.lines);
    assert_eq!(salvaged.outcomes(), ["kept-doubtful"]);
}

/// Batches of 99 bytes and sectors of 512: what a sector begins with is the rest of a batch, or its head.
#[test]
fn a_piece_that_was_put_elsewhere_hides_nothing_behind_it() {
    let whole = batches(0..60).concat();
    for (from, to) in [(0, 4), (3, 9), (9, 3), (1, 2), (8, 0)] {
        let mut swapped = whole.clone();
        let sectors = |at: usize| at * 512..(at + 1) * 512;
        swapped[sectors(from)].copy_from_slice(&whole[sectors(to)]);
        swapped[sectors(to)].copy_from_slice(&whole[sectors(from)]);
        let (_dir, salvaged) = salvaged(&[(0, swapped)], &[]);
        let kept = offsets(&salvaged);
        let size = one(0).len();
        let is_hit = |at: usize| {
            [from, to].iter().any(|sector| at * size < (sector + 1) * 512 && (at + 1) * size > sector * 512)
        };
        let sound: Vec<i64> = (0..60).filter(|at| !is_hit(*at)).map(|at| at as i64).collect();
        let missing: Vec<&i64> = sound.iter().filter(|at| !kept.contains(at)).collect();
        assert!(missing.is_empty(), "{from} {to}: {missing:?} {:#?}", salvaged.lines);
    }
}

#[test]
fn of_the_last_two_batches_the_one_that_fits_its_gap_is_misplaced() {
    for bit in [0x10, 0x80] {
        let mut bytes = batches(0..20);
        bytes[18][5] ^= bit;
        let (_dir, salvaged) = salvaged(&[(0, bytes.concat())], &["--mend"]);
        assert_eq!(offsets(&salvaged), Vec::from_iter(0..20), "{:#?}", salvaged.lines);
        assert_eq!(salvaged.outcomes(), ["mended"]);
    }
}

#[test]
fn a_snapshot_at_the_log_end_tells_of_a_last_base_offset() {
    let mut bytes = batches(0..20);
    bytes[19][3] ^= 8;
    for (end, status, kept) in [(20, 3, 19), (19, 0, 20)] {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("log/__consumer_offsets-0");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(segment_name(0)), bytes.concat()).unwrap();
        std::fs::write(folder.join(format!("{end:020}.snapshot")), []).unwrap();
        let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
        assert_eq!((salvaged.code, offsets(&salvaged).len()), (status, kept), "{end}: {:#?}", salvaged.lines);
    }
}

#[test]
fn a_folder_without_segments_has_lost_them() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("log/__consumer_offsets-0");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("00000000000000000244.snapshot"), []).unwrap();
    let salvaged = salvage(&dir.path().join("new"), &[], &[&dir.path().join("log")]);
    let lost = salvaged.the("stretch");
    assert_eq!(
        (salvaged.code, lost["code"].as_str(), lost["firstOffset"].as_i64()),
        (3, Some("segment-missing"), Some(0))
    );
    assert!(lost["message"].as_str().unwrap().contains("offset 243 at least"), "{lost:#}");
    // What another copy has of it fills that.
    let copy = dir.path().join("copy/__consumer_offsets-0");
    std::fs::create_dir_all(&copy).unwrap();
    std::fs::write(copy.join(segment_name(0)), batches(0..20).concat()).unwrap();
    let salvaged = salvage(&dir.path().join("filled"), &["--also", copy.to_str().unwrap()], &[&dir.path().join("log")]);
    assert_eq!((offsets(&salvaged), salvaged.outcomes()), (Vec::from_iter(0..20), vec!["filled"]));
}

#[test]
fn what_does_not_begin_as_a_batch_is_no_torn_write() {
    for magic in [0u8, 1, 2] {
        // An offset, a length that goes far beyond the file, the magic, and noise.
        let mut bytes = [vec![0; 8], 0x0080_0021i32.to_be_bytes().to_vec(), vec![0; 4], vec![magic]].concat();
        bytes.extend(noise(900));
        let (_dir, salvaged) = salvaged(&[(0, bytes)], &[]);
        assert_eq!((salvaged.code, salvaged.outcomes()), (3, vec!["lost"]), "{magic}");
    }
}

/// Each stands high above what comes behind it, and below the one before: no reason to look at all of them each time.
#[test]
fn tens_of_thousands_of_outliers_take_no_longer_than_their_number() {
    let at = |offset: i64| [&offset.to_be_bytes()[..], &one(0)[8..]].concat();
    let strays = (0..60_000).map(|i| at(1_000_000_000 - 3 * i));
    let bytes: Vec<u8> = (0..10).map(at).chain(strays).chain((10..140_000).map(at)).flatten().collect();
    let (_dir, salvaged) = salvaged(&[(0, bytes)], &[]);
    assert_eq!(salvaged.batches(0).len(), 140_000);
}

#[test]
fn a_bit_that_makes_commits_a_marker_hides_no_key() {
    let batch = |first: i64| Bat::of((first..first + 3).map(|at| commit(at, "g", "t", at as i32, at)).collect());
    // Alone it is what the CRC points to; with a codec that is none of the batch's nothing can be read.
    for (attributes, named, dark) in [(0x20, 3, 0), (0x2b, 0, 3)] {
        let mut bytes: Vec<Vec<u8>> = [0, 3, 6].map(|first| batch(first).bytes()).to_vec();
        bytes[1][22] = attributes;
        let (dir, salvaged) = salvaged(&[(0, bytes.concat())], &[]);
        assert_eq!(salvaged.of_kind("marker-lost").len(), 0, "{:#?}", salvaged.lines);
        assert_eq!(salvaged.of_kind("lost-key").len(), named, "{:#?}", salvaged.lines);
        let stretch = salvaged.the("stretch");
        assert_eq!((&stretch["producerId"], stretch["keysUnreadable"] == true), (&json!(null), dark > 0));
        assert_eq!(salvaged.the("summary")["unreadableRecords"], json!(dark));
        let verified = common::grouplog(&dir.path().join("log"), ["verify", "--format", "jsonl", "."]);
        let text = String::from_utf8(verified.stdout).unwrap();
        assert!(text.contains(&format!("\"readableRecords\":{named},\"unreadableRecords\":{dark}")), "{text}");
    }
}

#[test]
fn a_transaction_index_proves_what_a_cut_took() {
    let data = |at: i64| Bat::transactional(9, 1, vec![commit(at, "g", "t", 0, at), commit(at + 1, "h", "t", 1, at)]);
    let whole = [data(0), Bat::marker(Ending::Abort, 2, T0, 9, 1), data(3), Bat::marker(Ending::Abort, 5, T0, 9, 1)];
    let index = [(0i64, 2i64), (3, 5)].map(|(first, last)| {
        [&0i16.to_be_bytes()[..], &9i64.to_be_bytes(), &first.to_be_bytes(), &last.to_be_bytes(), &0i64.to_be_bytes()]
            .concat()
    });
    // Cut within the marker, a stop explains it: a broker writes to the index after the log. Cut before, it does not.
    for (batches, code, lost) in [(4, 0, None), (3, 3, Some((3, 5)))] {
        let dir = tempfile::tempdir().unwrap();
        let folder = write_log(&dir.path().join("log"), 0, &whole[..batches]);
        let log = folder.join(segment_name(0));
        let mut bytes = std::fs::read(&log).unwrap();
        bytes.truncate(bytes.len() - 20);
        std::fs::write(&log, bytes).unwrap();
        std::fs::write(folder.join("00000000000000000000.txnindex"), index.concat()).unwrap();
        let salvaged = salvage(&dir.path().join("new"), &[], &[&folder]);
        let cut = salvaged.of_kind("stretch").into_iter().find(|line| line["code"] == "log-cut");
        let told = cut.map(|line| (line["firstOffset"].as_i64().unwrap(), line["lastOffset"].as_i64().unwrap()));
        assert_eq!((salvaged.code, told), (code, lost), "{:#?}", salvaged.lines);
    }
}

#[test]
fn a_batch_that_begins_where_bytes_are_missing_of_another_is_kept() {
    // Cut out: the end of one batch, one whole batch, the front of a third; and damage again two batches later.
    let whole = batches(0..12);
    let (second, fourth) = (whole[2].len() - 40, 30);
    let mut bytes =
        [whole[..2].concat(), whole[2][..second].to_vec(), whole[4][whole[4].len() - fourth..].to_vec()].concat();
    bytes.extend(whole[5..7].concat());
    bytes.extend(noise(100));
    bytes.extend(whole[8..].concat());
    let (_dir, salvaged) = salvaged(&[(0, bytes)], &[]);
    assert_eq!(offsets(&salvaged), [0, 1, 5, 6, 8, 9, 10, 11], "{:#?}", salvaged.lines);
}
