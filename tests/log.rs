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
    let header = batch.header();
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

/// What Kafka's dump tool (release 4.4) prints of a segment before the decoded key and value.
fn as_kafka_dumps(segment: &Segment, inflater: &mut Inflater) -> Vec<String> {
    let mut lines = Vec::new();
    for span in segment.spans() {
        let Span::Batch(batch) = span else { panic!("{span:?}") };
        let h = batch.header();
        let (position, valid) = (batch.position(), batch.check_crc().is_ok());
        let time = |time: i64| format!("{}: {time}", h.timestamp_type.name());
        let tail = format!(
            "position: {position} {} size: {} magic: {} compresscodec: {} crc: {} isvalid: {valid}",
            time(h.max_timestamp),
            h.length,
            h.magic,
            h.codec.name(),
            h.crc
        );
        let last_sequence = match h.base_sequence {
            -1 => -1,
            base => base.wrapping_add((h.last_offset - h.base_offset) as i32) & i32::MAX,
        };
        let horizon = h.delete_horizon_ms.map_or("OptionalLong.empty".into(), |ms| format!("OptionalLong[{ms}]"));
        lines.push(match h.magic {
            2 => format!(
                "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {last_sequence} producerId: {} \
                 producerEpoch: {} partitionLeaderEpoch: {} isTransactional: {} isControl: {} deleteHorizonMs: \
                 {horizon} {tail}",
                h.base_offset,
                h.last_offset,
                h.count,
                h.base_sequence,
                h.producer_id,
                h.producer_epoch,
                h.partition_leader_epoch,
                h.transactional,
                h.control
            ),
            _ => format!("offset: {} {tail}", h.last_offset),
        });
        for record in batch.records(inflater) {
            let record = record.unwrap();
            let size = |field: Option<&[u8]>| field.map_or(-1, |bytes| bytes.len() as i64);
            let line = format!(
                "| offset: {} {} keySize: {} valueSize: {} ",
                record.offset,
                time(record.timestamp),
                size(record.key),
                size(record.value)
            );
            lines.push(match record.legacy {
                None => format!("{line}sequence: {} headerKeys: []", record.sequence),
                Some(fields) => {
                    format!("{line}isValid: {} crc: {}", record.legacy_crc_valid().unwrap(), fields.crc)
                }
            });
        }
    }
    lines
}

#[test]
fn heads_and_records_are_what_kafka_dumps() {
    let Some(golden) = golden() else { return };
    let mut dumps = Vec::new();
    files_below(&golden, &|name| name.starts_with("dump-log"), &mut dumps);
    let mut inflater = Inflater::new();
    let mut compared = 0;
    for dump in dumps {
        let is_museum = dump.components().any(|part| part.as_os_str() == "museum");
        // Older releases print other fields.
        if is_museum && !dump.ends_with("dump-log-4.4.0.txt") || dump.ends_with("dump-log-offsets.txt") {
            continue;
        }
        let folder = if is_museum { dump.parent().unwrap().join("log") } else { dump.parent().unwrap().to_owned() };
        let text = std::fs::read(&dump).unwrap();
        let text = String::from_utf8_lossy(&text);
        let mut expected = Vec::new();
        let mut segment = None;
        for line in text.lines() {
            if let Some(path) = line.strip_prefix("Dumping ").filter(|path| path.ends_with(".log")) {
                assert!(expected.is_empty(), "{}: {expected:?}", dump.display());
                let opened = Segment::open(&folder.join(path)).unwrap();
                expected = as_kafka_dumps(&opened, &mut inflater);
                expected.reverse();
                segment = Some(opened);
            } else if line.starts_with("Dumping ") {
                // An index.
                segment = None;
            } else if segment.is_some()
                && ["baseOffset: ", "offset: ", "| offset: "].iter().any(|start| line.starts_with(start))
            {
                let ours = expected.pop().unwrap_or("nothing".into());
                assert!(line.starts_with(&ours), "{}\n{:?}\nours:   {ours}\nKafka's: {line}", dump.display(), segment);
                compared += 1;
            }
        }
        assert!(expected.is_empty(), "{}: {expected:?}", dump.display());
    }
    println!("{compared} lines compared");
    assert!(compared > 25_000);
}

/// A generator of numbers that is the same on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % below.max(1)
    }
}

#[test]
fn damaged_recorded_segments_still_tile() {
    let Some(golden) = golden() else { return };
    let mut dice = Dice(2024);
    let mut inflater = Inflater::with_limit(8 << 20);
    let (mut kept, mut total) = (0, 0);
    for path in segments(&golden) {
        let clean = std::fs::read(&path).unwrap();
        if clean.is_empty() {
            continue;
        }
        let base = Segment::open(&path).unwrap().base_offset();
        let what = path.display().to_string();
        let clean_positions: Vec<u64> = Spans::over(&clean, 0, base).map(|span| length_of(&span).0).collect();
        for _ in 0..6 {
            let mut bytes = clean.clone();
            let at = dice.roll(bytes.len());
            match dice.roll(3) {
                0 => bytes[at] ^= 1 << dice.roll(8),
                1 => (at..at + 4).for_each(|at| bytes[at % clean.len()] = dice.roll(256) as u8),
                _ => bytes.truncate(at),
            }
            let spans = assert_tiles(Spans::over(&bytes, 0, base), bytes.len() as u64, &what);
            let sound: std::collections::HashSet<u64> = spans
                .iter()
                .filter_map(|span| match span {
                    Span::Batch(batch) if batch.check_crc().is_ok() => Some(batch.position()),
                    _ => None,
                })
                .collect();
            let before_the_end = clean_positions.iter().filter(|position| **position < bytes.len() as u64);
            let lost = before_the_end.filter(|position| !sound.contains(position)).count();
            assert!(lost <= 2, "{what}: {lost} batches lost to one damage at {at}");
            kept += sound.len();
            total += clean_positions.len();
            for span in &spans {
                if let Span::Batch(batch) = span {
                    assert!(batch.records(&mut inflater).count() <= 8 << 20);
                }
            }
        }
    }
    println!("{kept} of {total} batches sound");
}

#[test]
#[cfg(unix)]
fn a_segment_cut_under_the_scan_ends_in_a_hole() {
    use grouplog::fault::FaultKind;
    let Some(golden) = golden() else { return };
    let source = golden.join("cleaned/before/log/__consumer_offsets-0");
    let mut bytes = Vec::new();
    for path in segments(&source) {
        bytes.extend(std::fs::read(path).unwrap());
    }
    let bytes = bytes.repeat(8);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("00000000000000000000.log");
    for cut in [0, 5000, 100_000, bytes.len() / 2 + 13, bytes.len() - 1] {
        std::fs::write(&path, &bytes).unwrap();
        let segment = Segment::open(&path).unwrap();
        let mut spans = segment.spans();
        let first = length_of(&spans.next().unwrap());
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(cut as u64).unwrap();
        let mut at = first.1;
        let mut last = None;
        for span in spans {
            assert_eq!(length_of(&span).0, at);
            at += length_of(&span).1;
            if let Span::Batch(batch) = &span {
                let _ = batch.check_crc();
            }
            last = Some(span);
        }
        assert_eq!(at, bytes.len() as u64);
        assert!(segment.was_cut());
        let Some(Span::Hole(hole)) = last else { panic!("cut at {cut}: {last:?}") };
        assert_eq!(hole.fault, FaultKind::FileCut);
        assert!(hole.position <= cut.max(first.1 as usize) as u64, "{hole:?} {cut}");
    }
}

#[test]
fn indexes_of_real_brokers_lead_to_the_record() {
    use grouplog::log::index::{offset_index, position_for_offset, position_for_time, time_index};
    let Some(golden) = golden() else { return };
    let mut inflater = Inflater::new();
    let (mut hinted, mut asked) = (0, 0);
    for path in segments(&golden) {
        let segment = Segment::open(&path).unwrap();
        let Some(base) = segment.base_offset() else { continue };
        let read = |extension| std::fs::read(path.with_extension(extension)).unwrap_or_default();
        let offsets = offset_index(&read("index"), base);
        let times = time_index(&read("timeindex"), base);
        if offsets.entries.is_empty() {
            continue;
        }
        let mut records = Vec::new();
        for span in segment.spans() {
            let Span::Batch(batch) = span else { panic!("{span:?}") };
            for record in batch.records(&mut inflater) {
                let record = record.unwrap();
                records.push((record.offset, record.timestamp, batch.position()));
            }
        }
        for &(offset, timestamp, position) in records.iter().step_by(7) {
            let from = position_for_offset(&segment, &offsets, offset);
            assert!(from <= position, "{}: {offset} at {position}, hint {from}", path.display());
            let from_time = position_for_time(&segment, &times, &offsets, timestamp);
            let first = records.iter().filter(|record| record.1 >= timestamp).map(|record| record.2).min().unwrap();
            assert!(from_time <= first, "{}: {timestamp} at {first}, hint {from_time}", path.display());
            hinted += usize::from(from > 0) + usize::from(from_time > 0);
            asked += 2;
        }
    }
    println!("{hinted} of {asked} questions got a hint");
    assert!(hinted * 3 > asked);
}

#[test]
fn checkpoints_of_real_brokers_are_not_odd() {
    use grouplog::log::checkpoint::{Oddity, leader_epochs, meta_properties, partition_offsets, topic_id};
    let Some(golden) = golden() else { return };
    let mut files = Vec::new();
    files_below(&golden, &|_| true, &mut files);
    let mut seen = 0;
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = || std::fs::read(&path).unwrap();
        seen += 1;
        match name.as_str() {
            "leader-epoch-checkpoint" => assert_eq!(leader_epochs(&bytes()).oddities, [], "{}", path.display()),
            "partition.metadata" => assert!(topic_id(&bytes()).is_some(), "{}", path.display()),
            "meta.properties" => assert!(meta_properties(&bytes()).node_id.is_some(), "{}", path.display()),
            name if name.ends_with("offset-checkpoint") => {
                let oddities = partition_offsets(&bytes()).oddities;
                assert!(oddities.is_empty() || oddities == [Oddity::Empty], "{}: {oddities:?}", path.display());
            }
            _ => seen -= 1,
        }
    }
    assert!(seen > 300, "{seen}");
}

#[test]
fn recorded_folders_are_known() {
    use grouplog::log::dir::{OtherKind, Variant};
    use grouplog::log::{PartitionDir, Place, classify};
    let Some(golden) = golden() else { return };
    let Place::LogDir(log_dir) = classify(&golden.join("admin/log")).unwrap() else { panic!("no log dir") };
    assert_eq!(log_dir.partitions.len(), 4);
    assert!(log_dir.partitions.iter().all(|place| place.variant == Variant::Normal));
    for place in log_dir.partitions {
        let partition = PartitionDir::open(&place.path).unwrap();
        assert_eq!((partition.partition, partition.segments.len()), (Some(place.partition), 1));
        assert!(partition.left_out.is_empty());
        assert!(partition.others.iter().all(|other| other.kind != OtherKind::Unknown), "{partition:?}");
    }
    let share = classify(&golden.join("share/log/__share_group_state-0")).unwrap();
    assert!(matches!(share, Place::Other(grouplog::log::place::Other::InternalTopic(_))), "{share:?}");
    let compacted = golden.join("museum/0.9.0.1-compacted/log/__consumer_offsets-2");
    let partition = PartitionDir::open(&compacted).unwrap();
    assert!(!partition.left_out.is_empty() && !partition.segments.is_empty());
}
