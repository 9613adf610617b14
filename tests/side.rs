//! The files beside the segments against the log: silent on what sound brokers leave, and every code at its smallest
//! damage.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use common::{exhibits, names_in};
use grouplog::audit::side::{SideFacts, of_log_dir};
use grouplog::audit::{Code, Finding, Severity};
use grouplog::fault::FaultKind;
use grouplog::log::log_dir::LogDirFiles;
use grouplog::log::{PartitionDir, Segment, Span, Spans};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the checks say of a partition folder.
fn check(path: &Path) -> Vec<Finding> {
    let log_dir = LogDirFiles::around(path).unwrap();
    let dir = PartitionDir::open(path).unwrap();
    let mut facts = SideFacts::new(&dir);
    for file in &dir.segments {
        facts.segment(file);
        let segment = Segment::open(&file.path).unwrap();
        for span in segment.spans() {
            match span {
                Span::Batch(batch) if batch.check_crc().is_ok() => facts.batch(&batch, &batch.header()),
                Span::Batch(batch) => facts.damage(batch.position()..batch.position() + batch.len()),
                Span::Hole(hole) if hole.fault == FaultKind::ZeroTail => facts.zero_tail(hole.length),
                Span::Hole(hole) => facts.damage(hole.position..hole.position + hole.length),
            }
        }
    }
    let mut findings = log_dir.iter().flat_map(of_log_dir).collect::<Vec<_>>();
    findings.extend(facts.finish(log_dir.as_ref()));
    findings
}

/// Findings that sound logs do not have.
fn odd(path: &Path) -> Vec<Finding> {
    check(path).into_iter().filter(|finding| !finding.code.is_normal()).collect()
}

/// Every partition folder of every exhibit, of other topics too.
fn folders() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for exhibit in exhibits() {
        for log_dir in exhibit.log_dirs().iter().map(|name| exhibit.dir.join(name)) {
            found.extend(names_in(&log_dir).iter().map(|name| log_dir.join(name)).filter(|path| path.is_dir()));
        }
    }
    found
}

#[test]
fn silent_on_sound_logs() {
    let mut normal: BTreeMap<&str, usize> = BTreeMap::new();
    let mut count = 0;
    let mut loud = Vec::new();
    for folder in folders() {
        count += 1;
        for finding in check(&folder) {
            assert_eq!(finding.severity, finding.code.severity());
            if finding.code.is_normal() {
                assert_eq!(finding.severity, Severity::Info);
                *normal.entry(finding.code.name()).or_default() += 1;
            } else {
                loud.push(format!("{}: {} {}", folder.display(), finding.code.name(), finding.message));
            }
        }
    }
    println!("{count} folders; normal: {normal:?}");
    assert!(loud.is_empty(), "{}", loud.join("\n"));
    assert!(count > 40 && normal.contains_key("index-untrimmed"));
}

/// A log dir with one partition of a fixture in it, to be damaged.
struct Copied {
    dir: tempfile::TempDir,
    folder: PathBuf,
}

impl Copied {
    fn of(log_dir: &str, partition: &str) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(log_dir);
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(partition);
        std::fs::create_dir(&folder).unwrap();
        let copy = |from: &Path, to: &Path| {
            for name in names_in(from).iter().filter(|name| from.join(name).is_file()) {
                std::fs::write(to.join(name), std::fs::read(from.join(name)).unwrap()).unwrap();
            }
        };
        copy(&from, dir.path());
        copy(&from.join(partition), &folder);
        Copied { dir, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.path(name)).unwrap();
        change(&mut bytes);
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn codes(&self) -> Vec<&'static str> {
        let mut codes: Vec<_> = odd(&self.folder).iter().map(|finding| finding.code.name()).collect();
        codes.sort();
        codes
    }
}

/// Five segments with producers, transactions and three leader epochs, cleaned, and its running broker's files.
fn cleaned() -> Copied {
    Copied::of("cleaned/short-after/log", "__consumer_offsets-1")
}

/// One segment that was never cleaned, with aborted transactions that end at 8, 12 and 14, and one open from 16.
fn aborted() -> Copied {
    Copied::of("tx/log", "__consumer_offsets-1")
}

/// The codes that a change to a file raises; the files are those of `log`.
fn raised(log: &Copied, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Vec<&'static str> {
    assert_eq!(log.codes(), [""; 0], "before the change");
    log.change(name, change);
    log.codes()
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, with: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&with);
}

const NONE: [&str; 0] = [];
const INDEX: &str = "00000000000000001209.index";
const TIMES: &str = "00000000000000001209.timeindex";
const TXNS: &str = "00000000000000000000.txnindex";
const SNAPSHOT: &str = "00000000000000001301.snapshot";
const EPOCHS: &str = "leader-epoch-checkpoint";

/// Sets an entry of the index: offset (of 1209 on) and position.
fn entry(number: usize, offset: u32, position: u32) -> impl FnOnce(&mut Vec<u8>) {
    move |bytes| {
        put(bytes, number * 8, (offset - 1209).to_be_bytes());
        put(bytes, number * 8 + 4, position.to_be_bytes());
    }
}

#[test]
fn offset_indexes() {
    // 1239 at 4190, 1269 at 8390, 1299 at 12590; the segment is 12870 bytes long and ends with 1300.
    let raised = |change: &dyn Fn(&mut Vec<u8>)| raised(&cleaned(), INDEX, change);
    let set = |number, offset, position| raised(&|bytes| entry(number, offset, position)(bytes));
    assert_eq!(set(1, 1269, 8391), ["index-mismatch"], "into a batch");
    assert_eq!(set(1, 1240, 8390), ["index-mismatch"], "the batch begins above");
    assert_eq!(set(1, 1270, 8390), NONE, "a later message of the append");
    assert_eq!(set(1, 1298, 8390), NONE);
    assert_eq!(set(2, 1300, 12590), NONE);
    assert_eq!(set(2, 1301, 12590), ["index-mismatch"], "the segment ends below");
    assert_eq!(set(0, 1268, 4190), NONE, "up to the next entry's batch");
    assert_eq!(set(0, 1269, 4190), ["index-order"], "as the next entry");
    assert_eq!(set(1, 1269, 4190), ["index-order"]);
    assert_eq!(set(0, 1270, 4190), ["index-order"]);
    assert_eq!(set(2, 1299, 12870), ["index-beyond-end"]);
    assert_eq!(set(2, 1299, 12590 + 140), ["index-mismatch"], "1300 is there");
    for (length, codes) in [(5, &["index-cut"][..]), (13, &["index-cut"]), (0, &[]), (8, &[]), (24, &[])] {
        assert_eq!(raised(&|bytes| bytes.truncate(length)), codes, "{length}");
    }
    let log = cleaned();
    std::fs::remove_file(log.path(INDEX)).unwrap();
    assert_eq!(log.codes(), NONE);
    let normal: Vec<_> = check(&log.folder).iter().filter(|it| it.code == Code::IndexMissing).cloned().collect();
    assert_eq!(normal.len(), 1);
    assert_eq!(normal[0].segment.as_deref(), Some(INDEX));
}

#[test]
fn where_a_finding_is() {
    let log = cleaned();
    log.change(INDEX, entry(1, 1240, 8390));
    let finding = odd(&log.folder).remove(0);
    assert_eq!((finding.partition, finding.segment.as_deref(), finding.position), (Some(1), Some(INDEX), Some(8)));
    assert_eq!((finding.offset, finding.severity), (Some(1240), Severity::Warning));
    assert!(finding.message.contains("offset 1240 at byte 8390"), "{}", finding.message);
}

#[test]
fn indexes_and_damaged_logs() {
    const LOG: &str = "00000000000000001209.log";
    // The batch that an entry names is broken: that is not the index's fault.
    assert_eq!(raised(&cleaned(), LOG, |bytes| bytes[8390 + 70] ^= 1), NONE);
    assert_eq!(raised(&cleaned(), LOG, |bytes| bytes[8390 + 16] = 9), NONE);
    // The log was cut behind a batch, or its end is zeros: indexes know what was there.
    let ends = ["checkpoint-beyond-end"; 2];
    let beyond = ["index-beyond-end", "leader-epochs-beyond-end", "snapshot-beyond-end", "time-index-mismatch"];
    let expected: Vec<_> = ends.into_iter().chain(beyond).collect();
    assert_eq!(raised(&cleaned(), LOG, |bytes| bytes.truncate(12590)), expected);
    assert_eq!(raised(&cleaned(), LOG, |bytes| bytes[12590..].fill(0)), expected);
    // A base offset that is another segment's, or goes back (no CRC covers it), is not the other files' fault either.
    assert_eq!(raised(&cleaned(), LOG, |bytes| bytes[8390] = 1), NONE);
    assert_eq!(raised(&cleaned(), LOG, |bytes| bytes[8390 + 6] = 0), NONE);
    assert_eq!(raised(&cleaned(), "00000000000000000723.log", |bytes| bytes[4] = 1), NONE);
    // Zeros behind the last batch are none of it.
    assert_eq!(raised(&cleaned(), LOG, |bytes| bytes.resize(20000, 0)), NONE);
}

#[test]
fn a_broker_that_writes_meanwhile() {
    // The last segment was mapped when it ended at byte 12590, with 1298; the files beside it were read later.
    let log = cleaned();
    let seen = |disk: u64| {
        let dir = PartitionDir::open(&log.folder).unwrap();
        let last = dir.segments.last().unwrap();
        let bytes = std::fs::read(&last.path).unwrap();
        std::fs::OpenOptions::new().write(true).open(&last.path).unwrap().set_len(disk).unwrap();
        let mut facts = SideFacts::new(&dir);
        for file in &dir.segments {
            facts.segment(file);
            let all = std::fs::read(&file.path).unwrap();
            let seen = if file == last { &bytes[..12590] } else { &all };
            for span in Spans::over(seen, 0, Some(file.base_offset)) {
                let Span::Batch(batch) = span else { panic!("{span:?}") };
                facts.batch(&batch, &batch.header());
            }
        }
        let findings = facts.finish(LogDirFiles::around(&log.folder).unwrap().as_ref());
        findings.into_iter().filter(|it| !it.code.is_normal()).map(|it| it.code.name()).collect::<Vec<_>>()
    };
    assert_eq!(seen(12870), NONE);
    assert_eq!(seen(12590).len(), 6, "cut, not written to");
}

/// Sets an entry of the time index: time, less the one that is there, and offset.
fn time(number: usize, later: i64, offset: u32) -> impl FnOnce(&mut Vec<u8>) {
    move |bytes| {
        let at = number * 12;
        let was = i64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
        put(bytes, at, (was + later).to_be_bytes());
        put(bytes, at + 8, (offset - 1209).to_be_bytes());
    }
}

#[test]
fn time_indexes() {
    let raised = |change: &dyn Fn(&mut Vec<u8>)| raised(&cleaned(), TIMES, change);
    let set = |number, later, offset| raised(&|bytes| time(number, later, offset)(bytes));
    assert_eq!(set(1, 0, 1269), NONE);
    assert_eq!(set(1, 1, 1269), ["time-index-mismatch"], "a later time");
    assert_eq!(set(1, -1, 1269), ["time-index-mismatch"], "an earlier time");
    assert_eq!(set(2, 0, 1301), ["time-index-mismatch"], "behind the end");
    assert_eq!(set(1, 1000, 1269), ["time-index-mismatch", "time-index-order"]);
    assert_eq!(set(1, 0, 1230), ["time-index-order"]);
    for (length, codes) in [(5, &["time-index-cut"][..]), (0, &[]), (12, &[]), (36, &[])] {
        assert_eq!(raised(&|bytes| bytes.truncate(length)), codes, "{length}");
    }
    // 489 to 720 were cleaned away: no batch has these offsets.
    let log = cleaned();
    log.change("00000000000000000723.timeindex", |bytes| put(bytes, 8, [0, 0, 0, 4]));
    assert_eq!(log.codes(), ["time-index-mismatch"]);
}

/// Sets a field of an entry of the transaction index.
fn txn(number: usize, field: usize, value: i64) -> impl FnOnce(&mut Vec<u8>) {
    move |bytes| put(bytes, number * 34 + 2 + field * 8, value.to_be_bytes())
}

#[test]
fn transaction_indexes() {
    const PRODUCER: usize = 0;
    const FIRST: usize = 1;
    const LAST: usize = 2;
    const STABLE: usize = 3;
    let raised = |change: &dyn Fn(&mut Vec<u8>)| raised(&aborted(), TXNS, change);
    let set = |number, field, value| raised(&|bytes| txn(number, field, value)(bytes));
    assert_eq!(set(0, PRODUCER, 8), ["txn-index-mismatch"], "another producer");
    assert_eq!(set(0, FIRST, 8), ["txn-index-mismatch"], "begins above the first record");
    assert_eq!(set(0, FIRST, 6), NONE, "records that were cleaned away");
    assert_eq!(set(0, LAST, 9), ["txn-index-incomplete", "txn-index-mismatch"], "no marker there");
    assert_eq!(set(0, LAST, 10), ["txn-index-incomplete", "txn-index-mismatch"], "a commit");
    assert_eq!(set(0, STABLE, 10), ["txn-index-mismatch"]);
    assert_eq!(set(0, STABLE, 7), NONE, "another transaction was open");
    assert_eq!(set(2, LAST, 21), ["txn-index-beyond-end", "txn-index-incomplete"]);
    assert_eq!(raised(&|bytes| bytes[..68].rotate_left(34)), ["txn-index-order"]);
    assert_eq!(raised(&|bytes| bytes.truncate(68)), ["txn-index-incomplete"]);
    assert_eq!(raised(&|bytes| bytes.truncate(100)), ["txn-index-cut"]);
    assert_eq!(raised(&|bytes| bytes[1] = 1), ["txn-index-version"]);
    let log = aborted();
    std::fs::remove_file(log.path(TXNS)).unwrap();
    let findings = odd(&log.folder);
    assert_eq!((findings.len(), findings[0].code), (1, Code::TxnIndexIncomplete));
    assert!(findings[0].message.contains("the first of 3"), "{}", findings[0].message);
}

#[test]
fn transaction_indexes_of_cleaned_segments() {
    // 775 to 776, 813 to 814 and 815 to 816 were aborted; the segment begins at 723, the next one at 966.
    const NAME: &str = "00000000000000000723.txnindex";
    assert_eq!(raised(&cleaned(), NAME, |bytes| bytes.clear()), NONE, "none of their records is left");
    assert_eq!(raised(&cleaned(), NAME, txn(2, 2, 965)), NONE, "a marker that was cleaned away");
    assert_eq!(raised(&cleaned(), NAME, txn(2, 2, 966)), ["txn-index-mismatch"], "the next segment's");
    assert_eq!(
        raised(&cleaned(), NAME, |bytes| {
            txn(0, 1, 700)(bytes);
            txn(0, 2, 722)(bytes);
        }),
        ["txn-index-mismatch"],
        "the segment before"
    );
}

/// A snapshot of entries: producer, epoch, last sequence, last offset, and where a transaction is open from.
fn snapshot(entries: &[(i64, i16, i32, i64, i64)]) -> Vec<u8> {
    let mut covered = (entries.len() as i32).to_be_bytes().to_vec();
    for (producer_id, epoch, last_sequence, last_offset, open_from) in entries {
        covered.extend(producer_id.to_be_bytes());
        covered.extend(epoch.to_be_bytes());
        covered.extend(last_sequence.to_be_bytes());
        covered.extend(last_offset.to_be_bytes());
        covered.extend(0i32.to_be_bytes());
        covered.extend(1_700_000_000_000i64.to_be_bytes());
        covered.extend(0i32.to_be_bytes());
        covered.extend(open_from.to_be_bytes());
    }
    [&1i16.to_be_bytes()[..], &crc32c::crc32c(&covered).to_be_bytes(), &covered].concat()
}

#[test]
fn snapshots() {
    let raised = |change: &dyn Fn(&mut Vec<u8>)| raised(&cleaned(), SNAPSHOT, change);
    assert_eq!(raised(&|bytes| bytes[30] ^= 1), ["snapshot-crc"]);
    assert_eq!(raised(&|bytes| bytes[1] = 2), ["snapshot-version"]);
    assert_eq!(raised(&|bytes| bytes.truncate(5)), ["snapshot-malformed"]);
    assert_eq!(raised(&|bytes| bytes.truncate(100)), ["snapshot-crc", "snapshot-malformed"]);
    let renamed = |to: &str| {
        let log = cleaned();
        std::fs::rename(log.path(SNAPSHOT), log.path(to)).unwrap();
        log.codes()
    };
    assert_eq!(renamed("00000000000000001302.snapshot"), ["snapshot-beyond-end"]);
    assert_eq!(renamed("00000000000000001300.snapshot"), NONE, "between batches");
}

#[test]
fn snapshots_and_what_the_log_shows() {
    // Of producer 7 a commit at 13 in epoch 6, aborted at 14 in epoch 7; of 11 a commit at 16 in epoch 0, still open.
    let with = |offset: i64, entries: &[(i64, i16, i32, i64, i64)]| {
        let log = aborted();
        std::fs::write(log.path(&format!("{offset:020}.snapshot")), snapshot(entries)).unwrap();
        log.codes()
    };
    assert_eq!(with(21, &[(7, 7, -1, -1, -1), (11, 0, 0, 16, 16)]), NONE);
    assert_eq!(with(21, &[]), NONE, "expired");
    assert_eq!(with(21, &[(99, 3, 5, 20, 19)]), NONE, "cleaned away");
    assert_eq!(with(21, &[(7, 8, 0, 20, 20)]), NONE, "cleaned away");
    assert_eq!(with(21, &[(7, 6, 0, 13, -1)]), ["snapshot-mismatch"], "an older epoch");
    assert_eq!(with(14, &[(7, 6, 0, 13, 13)]), NONE, "as it was before the marker");
    assert_eq!(with(14, &[(7, 6, 0, 13, -1)]), ["snapshot-mismatch"], "the transaction is open");
    assert_eq!(with(21, &[(11, 0, 0, 16, -1)]), ["snapshot-mismatch"], "the transaction is open");
    assert_eq!(with(21, &[(11, 0, 0, 16, 17)]), ["snapshot-mismatch"], "from an earlier offset");
    assert_eq!(with(21, &[(11, 0, 0, 15, 16)]), ["snapshot-mismatch"], "an older offset");
    assert_eq!(with(21, &[(11, 0, 1, 16, 16)]), ["snapshot-mismatch"], "another sequence");
    assert_eq!(with(21, &[(11, 0, 3, 18, 16)]), NONE, "a later batch, cleaned away");
    assert_eq!(with(21, &[(7, 7, -1, -1, 13)]), ["snapshot-mismatch"], "a transaction that has ended");
    assert_eq!(with(21, &[(99, 0, 0, 21, -1)]), ["snapshot-mismatch"], "above its own offset");
    assert_eq!(with(21, &[(99, 0, 0, 5, 21)]), ["snapshot-mismatch"], "above its own offset");
    assert_eq!(with(22, &[]), ["snapshot-beyond-end"]);
    // After damage it is not known whether the transaction was still open.
    let log = aborted();
    std::fs::write(log.path("00000000000000000021.snapshot"), snapshot(&[(11, 0, 0, 16, -1)])).unwrap();
    log.change("00000000000000000000.log", |bytes| bytes[2065 + 70] ^= 1);
    assert_eq!(log.codes(), NONE);
}

#[test]
fn leader_epochs() {
    // Epoch 0 up to 397, epoch 4 from 773 on; the log ends at 1301.
    let with = |text: &str| raised(&cleaned(), EPOCHS, |bytes| *bytes = text.as_bytes().to_vec());
    assert_eq!(with("0\n3\n0 0\n4 653\n6 1301\n"), NONE);
    assert_eq!(with("0\n2\n0 0\n4 773\n"), NONE);
    assert_eq!(with("0\n2\n0 121\n4 398\n"), NONE, "what was between was cleaned away");
    assert_eq!(with("0\n3\n0 0\n2 500\n4 653\n"), NONE, "a leader that wrote nothing, or nothing that is left");
    assert_eq!(with("0\n1\n0 0\n"), ["leader-epochs-mismatch"], "an epoch is missing");
    assert_eq!(with("0\n2\n4 653\n6 1301\n"), ["leader-epochs-mismatch"], "epoch 0 is missing");
    assert_eq!(with(""), ["leader-epochs-mismatch"], "all are missing");
    assert_eq!(with("0\n2\n0 0\n4 397\n"), ["leader-epochs-mismatch"], "begins too early");
    assert_eq!(with("0\n2\n0 0\n4 774\n"), ["leader-epochs-mismatch"], "begins too late");
    assert_eq!(with("0\n2\n0 0\n5 653\n"), ["leader-epochs-mismatch"], "another epoch");
    assert_eq!(with("0\n3\n0 0\n4 653\n6 1302\n"), ["leader-epochs-beyond-end"]);
    assert_eq!(with("0\n3\n0 0\n4 653\n3 700\n"), ["leader-epochs-order"]);
    assert_eq!(with("0\n3\n0 0\n4 653\n6 600\n"), ["leader-epochs-order"]);
    assert_eq!(with("0\n3\n0 0\n4 65"), ["leader-epochs-malformed"], "cut inside a line");
    assert_eq!(with("0\n3\n0 0\n4 653\n"), ["leader-epochs-malformed"], "cut behind a line");
    assert_eq!(with("0\n2\n0 0\n4 x\n"), ["leader-epochs-malformed"]);
    // A broker reads a last line without an end: as it is, and what is cut off may be a digit.
    assert_eq!(with("0\n2\n0 0\n4 653"), ["leader-epochs-malformed"]);
    assert_eq!(with("0\n2\n0 0\n4 65"), ["leader-epochs-malformed", "leader-epochs-mismatch"]);
    assert_eq!(with("1\n2\n0 0\n4 653\n"), ["leader-epochs-malformed"]);
    let log = cleaned();
    std::fs::remove_file(log.path(EPOCHS)).unwrap();
    assert_eq!(log.codes(), NONE);
    assert!(check(&log.folder).iter().any(|finding| finding.code == Code::EpochsMissing));
}

#[test]
fn what_a_broker_stops_at_is_an_error() {
    let severity = |name: &str, text: &str| {
        let log = cleaned();
        std::fs::write(log.path(name), text).unwrap();
        odd(&log.folder).iter().map(|finding| finding.severity).max()
    };
    assert_eq!(severity(EPOCHS, "0\n3\n0 0\n4 653\n"), Some(Severity::Error));
    assert_eq!(severity(EPOCHS, "0\n2\n0 0\n4 653"), Some(Severity::Warning));
    assert_eq!(severity("partition.metadata", ""), Some(Severity::Error));
    assert_eq!(severity("../cleaner-offset-checkpoint", "0\n1\n"), Some(Severity::Error));
    assert_eq!(severity("../cleaner-offset-checkpoint", "0\n1\norders 1 1"), Some(Severity::Warning));
}

#[test]
fn partition_metadata() {
    let with = |text: &str| raised(&cleaned(), "partition.metadata", |bytes| *bytes = text.as_bytes().to_vec());
    assert_eq!(with("version: 0\ntopic_id: D6aWgDg5SHWLKJTbEvQe_w"), NONE);
    assert_eq!(with("version: 0\ntopic_id: D6aWgDg5SHWLKJTbEvQe_w\n"), NONE);
    assert_eq!(with("version: 0\ntopic_id: D6aWgDg5SHWLKJTbEvQe"), ["partition-metadata-malformed"]);
    assert_eq!(with(""), ["partition-metadata-malformed"]);
    let log = cleaned();
    std::fs::remove_file(log.path("partition.metadata")).unwrap();
    assert_eq!(log.codes(), ["partition-metadata-lost"], "a broker with KRaft had this log dir");
    std::fs::write(log.dir.path().join("meta.properties"), "version=0\nbroker.id=1\ncluster.id=x\n").unwrap();
    assert_eq!(log.codes(), NONE);
    assert!(check(&log.folder).iter().any(|finding| finding.code == Code::MetadataMissing));
}

#[test]
fn checkpoints() {
    let with = |file: &str, text: &str| {
        let log = cleaned();
        std::fs::write(log.dir.path().join(file), text).unwrap();
        log.codes()
    };
    for file in ["replication-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint"] {
        assert_eq!(with(file, "0\n1\n__consumer_offsets 1 1301\n"), NONE);
        assert_eq!(with(file, "0\n1\n__consumer_offsets 1 0\n"), NONE, "it lags");
        assert_eq!(with(file, "0\n1\n__consumer_offsets 1 1302\n"), ["checkpoint-beyond-end"]);
        assert_eq!(with(file, "0\n1\n__consumer_offsets 2 99999\n"), NONE, "another partition's");
        assert_eq!(with(file, ""), NONE, "never written");
        assert_eq!(with(file, "0\n2\n__consumer_offsets 1 1301\n"), ["checkpoint-malformed"]);
        assert_eq!(with(file, "0\n1\n__consumer_offsets 1"), ["checkpoint-malformed"]);
        assert_eq!(with(file, "0\n1\n__consumer_offsets 1 1301"), ["checkpoint-malformed"]);
        let twice = "0\n2\n__consumer_offsets 1 1301\n__consumer_offsets 1 1300\n";
        assert_eq!(with(file, twice), ["checkpoint-repeated"]);
    }
    // A log that begins at 723.
    let start = |cleaned_to: i64| {
        let log = cleaned();
        for name in names_in(&log.folder).iter().filter(|name| name.as_str() < "00000000000000000723") {
            std::fs::remove_file(log.path(name)).unwrap();
        }
        let text = format!("0\n1\n__consumer_offsets 1 {cleaned_to}\n");
        std::fs::write(log.dir.path().join("cleaner-offset-checkpoint"), text).unwrap();
        log.codes()
    };
    assert_eq!(start(723), NONE);
    assert_eq!(start(1209), NONE);
    assert_eq!(start(722), ["checkpoint-below-start"]);
    assert_eq!(start(1302), ["checkpoint-beyond-end"]);
}

#[test]
fn what_lies_beside() {
    let with = |name: &str| {
        let log = cleaned();
        std::fs::write(log.path(name), "").unwrap();
        log.codes()
    };
    assert_eq!(with("00000000000000000100.log.deleted"), NONE);
    assert_eq!(with("00000000000000000100.index.deleted"), NONE);
    assert_eq!(with("leader-epoch-checkpoint.tmp"), NONE);
    assert_eq!(with("00000000000000000100.index"), ["orphan-index"]);
    assert_eq!(with("00000000000000000100.snapshot"), ["snapshot-malformed"], "of 0 bytes");
    assert_eq!(with("00000000000000001209.log.cleaned"), ["leftover-cleaning"]);
    assert_eq!(with("00000000000000001209.index.cleaned"), ["leftover-cleaning"]);
    assert_eq!(with("notes.txt"), ["unknown-file"]);
    let log = cleaned();
    std::fs::write(log.path("00000000000000000100.snapshot"), snapshot(&[])).unwrap();
    assert_eq!(log.codes(), NONE, "snapshots need no segment");
    std::fs::remove_file(log.path(INDEX)).unwrap();
    std::fs::create_dir(log.path(INDEX)).unwrap();
    assert_eq!(log.codes(), ["not-a-file"]);
}

/// What stands in the place of a file.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq)]
enum Instead {
    Folder,
    DeadLink,
    Pipe,
}

/// How brokers of 4.4.0 and 3.9.2 started on this log with something else in the place of a file. In the order: folder, dead
/// link, pipe; each after a kill, and after a stop in order. `-`: gave up the log dir; `.`: loaded every record; `0`: empties
/// segments that are sound (4.4.0; 3.9.2 gave up the log dir); `s`: set the partition aside as stray; `w`: waited for ever.
/// Pipes were tried with 4.4.0 alone.
#[cfg(unix)]
const STARTS: [(&str, [&str; 3]); 12] = [
    (EPOCHS, ["--", "--", "ww"]),
    ("partition.metadata", ["--", "ss", "ww"]),
    ("00000000000000000723.index", ["--", "--", "-."]),
    ("00000000000000000723.timeindex", ["-.", "--", "-."]),
    ("00000000000000000723.txnindex", ["--", "..", "--"]),
    ("00000000000000000723.snapshot", ["0.", "0.", "w."]),
    (SNAPSHOT, ["0-", "0-", "ww"]),
    (INDEX, ["--", "--", "--"]),
    (TIMES, ["--", "--", "--"]),
    ("00000000000000000800.index", ["..", "..", ".."]),
    ("00000000000000002000.snapshot", ["..", "..", ".."]),
    ("notes", ["..", "..", ".."]),
];

#[cfg(unix)]
fn put_instead(path: &Path, what: Instead) {
    let _ = std::fs::remove_file(path);
    match what {
        Instead::Folder => std::fs::create_dir(path).unwrap(),
        Instead::DeadLink => std::os::unix::fs::symlink("/nowhere/at/all", path).unwrap(),
        Instead::Pipe => {
            let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
            assert!(made.success(), "{}", path.display());
        }
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_as_bad_as_a_broker_takes_it() {
    for (name, starts) in STARTS {
        for (what, start) in [Instead::Folder, Instead::DeadLink, Instead::Pipe].into_iter().zip(starts) {
            let log = cleaned();
            put_instead(&log.path(name), what);
            let findings = odd(&log.folder);
            let said: Vec<_> = findings.iter().map(|it| (it.code, it.severity)).collect();
            let is_txn_link = name.ends_with(".txnindex") && start == "..";
            let expected = match start {
                // The broker passes over it, but its transaction index is gone.
                ".." if is_txn_link => (Code::NotAFile, Severity::Warning),
                ".." => (Code::UnknownFile, Severity::Info),
                _ => (Code::NotAFile, Severity::Error),
            };
            assert_eq!(said, [expected], "{name}, {what:?}");
            let message = &findings[0].message;
            assert_eq!(
                message.contains("waits"),
                what == Instead::Pipe && !name.ends_with(".txnindex") && start != ".."
            );
            assert_eq!(message.contains("empty sound segments"), start.starts_with('0'), "{message}");
            assert_eq!(message.contains("stray"), start == "ss", "{message}");
        }
    }
}

/// A broker of 4.4.0 gave up the log dir over a folder or a dead link in the place of each of them, or did not start.
#[cfg(unix)]
#[test]
fn what_is_no_checkpoint() {
    for name in ["recovery-point", "replication", "log-start", "cleaner"] {
        for what in [Instead::Folder, Instead::DeadLink] {
            let log = cleaned();
            put_instead(&log.dir.path().join(format!("{name}-offset-checkpoint")), what);
            let findings = odd(&log.folder);
            let said: Vec<_> = findings.iter().map(|it| (it.code, it.severity)).collect();
            assert_eq!(said, [(Code::NotAFile, Severity::Error)], "{name}, {what:?}");
        }
    }
}

/// Checkpoints are written to a draft first: brokers of 4.4.0 and 3.9.2 gave up the log dir over a folder of its name.
#[test]
fn a_folder_in_the_place_of_a_draft() {
    let log = cleaned();
    std::fs::create_dir(log.path("leader-epoch-checkpoint.tmp")).unwrap();
    assert_eq!(log.codes(), ["not-a-file"]);
    let log = cleaned();
    std::fs::create_dir(log.path("partition.metadata.tmp")).unwrap();
    assert_eq!(log.codes(), ["unknown-file"]);
}

#[test]
fn a_swap_that_counts_has_its_own_indexes() {
    let log = cleaned();
    for name in ["00000000000000001209.log", INDEX, TIMES] {
        std::fs::rename(log.path(name), log.path(&format!("{name}.swap"))).unwrap();
    }
    assert_eq!(log.codes(), ["leftover-cleaning"; 2], "the indexes");
    log.change(&format!("{INDEX}.swap"), entry(1, 1240, 8390));
    assert_eq!(log.codes(), ["index-mismatch", "leftover-cleaning", "leftover-cleaning"]);
}

#[test]
fn no_bytes_make_it_fail() {
    let mut seed = 0x2545_f491_4f6c_dd1du64;
    let mut roll = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below.max(1) as u64) as usize
    };
    let log = cleaned();
    let names: Vec<_> = names_in(&log.folder).into_iter().filter(|name| !name.ends_with(".log")).collect();
    for _ in 0..300 {
        let name = &names[roll(names.len())];
        let was = std::fs::read(log.path(name)).unwrap();
        log.change(name, |bytes| {
            let length = bytes.len();
            match roll(3) {
                0 => bytes.truncate(roll(length)),
                1 => bytes.extend((0..roll(64)).map(|_| 0xff)),
                _ => (0..=roll(8)).filter(|_| length > 0).for_each(|_| bytes[roll(length)] = roll(256) as u8),
            }
        });
        let findings = check(&log.folder);
        assert!(findings.iter().all(|finding| !finding.message.is_empty()));
        std::fs::write(log.path(name), was).unwrap();
    }
}
