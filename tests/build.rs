//! The log builder of the tests, against golden vectors and against logs of real brokers.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "common/build.rs"]
mod build;

use build::*;
use grouplog::log::Codec;
use std::path::Path;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// GV1, GV5, GV7 and GV8 of the case collection: CRC and framing were verified with an independent parser.
#[test]
fn golden_vectors() {
    let value = Commit::at(42).value(3);
    let key = offset_key("my-group", "t", 0);
    let put = |offset, value| Rec { offset, timestamp: T0, key: Some(key.clone()), value };
    assert_eq!(
        hex(&Bat::of(vec![put(0, Some(value.clone()))]).bytes()),
        "0000000000000000000000630000000002de2ed8ae0000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff000000016200000026000100086d792d67726f757000017400000000300003000000000000002affffffff00000000018bcfe5680000"
    );
    assert_eq!(
        hex(&Bat::of(vec![put(1, None)]).bytes()),
        "00000000000000010000004b00000000025054a2b10000000000000000018bcfe568000000018bcfe56800ffffffffffffffffffffffffffff000000013200000026000100086d792d67726f7570000174000000000100"
    );
    assert_eq!(
        hex(&Bat::transactional(1000, 3, vec![put(3, Some(value))]).bytes()),
        "00000000000000030000006300000000020578bec50010000000000000018bcfe568000000018bcfe5680000000000000003e8000300000000000000016200000026000100086d792d67726f757000017400000000300003000000000000002affffffff00000000018bcfe5680000"
    );
    let mut marker = Bat::marker(Ending::Commit, 4, T0, 1000, 4);
    marker.records[0].value = Some(vec![0, 0, 0, 0, 0, 5]);
    assert_eq!(
        hex(&marker.bytes()),
        "00000000000000040000004200000000024a3ea0080030000000000000018bcfe568000000018bcfe5680000000000000003e80004ffffffff000000012000000008000000010c00000000000500"
    );
    let with_expiry = Commit { expire_timestamp: T0 + 86_400_000, ..Commit::at(42) }.value(1);
    let legacy = Bat { magic: 1, ..Bat::of(vec![put(1, Some(with_expiry))]) };
    assert_eq!(
        hex(&legacy.bytes()),
        "0000000000000001000000459fe701b001000000018bcfe5680000000013000100086d792d67726f757000017400000000".to_owned()
            + "0000001c0001000000000000002a00000000018bcfe568000000018bd50bc400"
    );
}

/// Uncompressed batches of real brokers are written again byte for byte.
#[test]
fn real_batches_come_back_byte_for_byte() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut segments = 0;
    for name in ["example3", "tx", "classic", "consumer", "odd", "share", "streams", "cleaned/short-after"] {
        for (partition, dir) in partitions_in(&fixtures.join(name).join("log")) {
            for file in std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()) {
                if file.extension().is_some_and(|extension| extension == "log") {
                    let again: Vec<u8> = read_segment(&file).iter().flat_map(Bat::bytes).collect();
                    assert_eq!(again, std::fs::read(&file).unwrap(), "{name} {partition} {}", file.display());
                    segments += 1;
                }
            }
        }
    }
    assert!(segments >= 20, "{segments}");
}

#[test]
fn every_magic_and_codec_reads_back() {
    let dir = tempfile::tempdir().unwrap();
    for magic in 0..=2 {
        for codec in codecs(magic) {
            let mut records = vec![commit(7, "g", "t", 0, 1), forget(8, "g", "t", 1), commit(10, "h", "t", 0, 3)];
            if magic == 0 {
                records.iter_mut().for_each(|record| record.timestamp = -1);
            }
            let batch = Bat { magic, codec: *codec, ..Bat::of(records.clone()) };
            let log = write_log(&dir.path().join(format!("{magic}-{}", codec.name())), 0, &[batch]);
            let back = read_segment(&log.join(segment_name(7)));
            let expected_batches = if magic < 2 && *codec == Codec::None { 3 } else { 1 };
            assert_eq!(back.len(), expected_batches, "{magic} {codec:?}");
            let read: Vec<_> = back.into_iter().flat_map(|batch| batch.records).collect();
            assert_eq!(read, records, "{magic} {codec:?}");
        }
    }
}
