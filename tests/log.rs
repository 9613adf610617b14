//! The log layer against real brokers' files: every byte tiled, every CRC right, every record counted.

#![allow(clippy::unwrap_used, clippy::panic)]

use grouplog::log::{Batch, Inflater, Segment, Span, Spans};
use std::path::{Path, PathBuf};

/// The recorded logs, which stand beside the checkout or where GROUPLOG_SHARED says.
fn golden() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("GROUPLOG_SHARED").map_or(beside, PathBuf::from);
    let golden = shared.join("golden");
    if golden.is_dir() {
        return Some(golden);
    }
    println!("SKIPPED: no recorded logs at {} (set GROUPLOG_SHARED)", golden.display());
    None
}

fn files_below(folder: &Path, wanted: &dyn Fn(&str) -> bool, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_below(&path, wanted, found);
        } else if wanted(&path.file_name().unwrap().to_string_lossy()) {
            found.push(path);
        }
    }
}

fn segments(golden: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files_below(golden, &|name| name.ends_with(".log") || name.ends_with(".log.deleted"), &mut found);
    found
}

fn length_of(span: &Span<'_>) -> (u64, u64) {
    match span {
        Span::Batch(batch) => (batch.position(), batch.len()),
        Span::Hole(hole) => (hole.position, hole.length),
    }
}

fn assert_tiles<'a>(spans: Spans<'a>, length: u64, what: &str) -> Vec<Span<'a>> {
    let spans: Vec<_> = spans.collect();
    let mut at = 0;
    for span in &spans {
        let (position, length) = length_of(span);
        assert_eq!(position, at, "{what}");
        assert!(length > 0, "{what}");
        at += length;
    }
    assert_eq!(at, length, "{what}");
    spans
}

fn assert_sound(batch: &Batch<'_>, inflater: &mut Inflater, what: &str) -> usize {
    let header = *batch.header();
    assert_eq!(batch.check_crc(), Ok(()), "{what}");
    let mut records = batch.records(inflater);
    let mut count = 0;
    let mut previous = i64::MIN;
    for record in records.by_ref() {
        let record = record.unwrap_or_else(|bad| panic!("{what}: {bad:?}"));
        assert!(record.offset > previous && record.offset <= header.last_offset, "{what}: {record:?} {header:?}");
        assert_ne!(record.legacy_crc_valid(), Some(false), "{what}");
        previous = record.offset;
        count += 1;
    }
    assert_eq!(records.fault(), None, "{what}");
    assert!(!records.lz4_checksum_wrong() || header.magic == 0, "{what}");
    match header.magic {
        2 => assert_eq!(count, header.count as usize, "{what}"),
        _ => assert!(count > 0 && previous == header.last_offset, "{what}"),
    }
    count
}

#[test]
fn every_recorded_segment_is_sound() {
    let Some(golden) = golden() else { return };
    let mut inflater = Inflater::new();
    let (mut batches, mut records, mut wrong_lz4) = (0, 0, 0);
    for path in segments(&golden) {
        let segment = Segment::open(&path).unwrap();
        let what = path.display().to_string();
        let spans = assert_tiles(segment.spans(), segment.len(), &what);
        let heads = assert_tiles(segment.heads(), segment.len(), &what);
        assert_eq!(spans.len(), heads.len(), "{what}");
        for span in &spans {
            match span {
                Span::Hole(hole) => panic!("{what}: {hole:?}"),
                Span::Batch(batch) => {
                    records += assert_sound(batch, &mut inflater, &what);
                    batches += 1;
                    wrong_lz4 += usize::from(batch.records(&mut inflater).lz4_checksum_wrong());
                }
            }
        }
    }
    println!("{batches} batches, {records} records, {wrong_lz4} with the wrong lz4 checksum");
    assert!(batches > 10_000 && records > 20_000 && wrong_lz4 > 0);
}
