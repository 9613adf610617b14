//! For the codes on bytes, partitions and batches: the smallest log of which `verify` says it, and one that just is not it.

use crate::build::{Bat, Ending, T0, commit, seal};
use crate::cases::{Case, case};
use crate::setup::Setup;
use grouplog::log::Codec;
use std::os::unix::fs::symlink;

pub fn all() -> Vec<Case> {
    [bytes(), partitions(), order(), codecs(), heads()].into_iter().flatten().collect()
}

/// A commit in a batch of its own.
fn batch(at: i64) -> Bat {
    Bat::of(vec![commit(at, "g", "orders", 0, at)])
}

/// The length of each.
fn length() -> usize {
    batch(0).bytes().len()
}

pub fn verified(batches: Vec<Bat>) -> Setup {
    Setup::batches(batches).verified()
}

fn three() -> Setup {
    verified(vec![batch(0), batch(1), batch(2)])
}

/// A log of one batch that is changed, and given the right CRC again.
pub fn resealed(batch: Bat, change: impl FnOnce(&mut Vec<u8>)) -> Setup {
    verified(vec![batch]).changed(|bytes| {
        change(bytes);
        seal(bytes);
    })
}

/// So many bytes of no sense in front of a batch, which say this of their length.
fn junk(says: i32) -> Setup {
    verified(vec![batch(0)]).changed(|bytes| {
        let mut junk = vec![0x5a; 100];
        junk[8..12].copy_from_slice(&says.to_be_bytes());
        junk[16] = 0;
        bytes.splice(0..0, junk);
    })
}

fn bytes() -> Vec<Case> {
    let two_segments = || Setup::segments(&[vec![batch(0), batch(1)], vec![batch(2)]]).verified();
    let cut = |setup: Setup, by: usize| setup.changed(|bytes| bytes.truncate(bytes.len() - by));
    let zeros = |which: usize| three().changed(|bytes| bytes[which * length()..][..length()].fill(0));
    vec![
        case(
            "torn-batch",
            "a byte less in a segment that others follow, against a batch less",
            cut(two_segments(), 1),
            cut(two_segments(), length()),
        ),
        case("torn-batch", "of the last segment it is an info", cut(three(), 1), cut(three(), length()))
            .severity("info"),
        case(
            "zero-tail",
            "a zero at the end, against a one",
            three().changed(|bytes| bytes.push(0)),
            three().changed(|bytes| bytes.push(1)),
        ),
        case("zero-hole", "zeros for the second of three batches, against the third", zeros(1), zeros(2)),
        case(
            "bad-magic",
            "3, against 2",
            three().changed(|bytes| bytes[length() + 16] = 3),
            three().changed(|bytes| bytes[length() + 16] = 2),
        ),
        case(
            "bad-batch-length",
            "48, against what it has",
            three().changed(|bytes| bytes[length() + 11] = 48),
            three().changed(|bytes| bytes[length() + 11] = (length() - 12) as u8),
        ),
        case("not-a-batch", "a length that leads nowhere, against to the next batch", junk(60), junk(88)),
    ]
}

fn partitions() -> Vec<Case> {
    let linked = |target: &str| {
        let setup = three().beside("elsewhere", b"");
        symlink(target, setup.folder().join("00000000000000000003.log")).unwrap();
        setup
    };
    let long = |bytes: u64| {
        let setup = three();
        let file = std::fs::File::options().write(true).open(setup.folder().join("00000000000000000000.log")).unwrap();
        file.set_len(bytes).unwrap();
        setup
    };
    vec![
        case("segment-too-large", "2147483648 bytes, against one less", long(1 << 31), long((1 << 31) - 1)),
        case(
            "no-segments",
            "an empty folder, against a segment of no bytes",
            Setup::segments(&[]).verified(),
            verified(vec![]),
        ),
        case("segment-unreadable", "a link to nothing, against to a file", linked("nowhere"), linked("elsewhere")),
    ]
}

fn order() -> Vec<Case> {
    let two = |second: i64| verified(vec![batch(0), batch(second)]);
    let epochs = |first, second| {
        verified(vec![Bat { leader_epoch: first, ..batch(0) }, Bat { leader_epoch: second, ..batch(1) }])
    };
    let before_three = |at: i64| Setup::segments(&[vec![batch(0), batch(at)], vec![batch(3)]]).verified();
    let far = |delta: i64| verified(vec![batch(0), batch(delta)]);
    vec![
        case("offset-order", "0 behind 0, against 1", two(0), two(1)),
        case("offset-range", "3 in front of a segment that begins at 3, against 2", before_three(3), before_three(2)),
        case(
            "offset-range",
            "more than 31 bits above the segment's name is a warning",
            far(1 << 31),
            far((1 << 31) - 1),
        )
        .severity("warning"),
        case("offset-gap", "2 behind 0, against 1", two(2), two(1)),
        case("leader-epoch-order", "0 behind 1, against 1", epochs(1, 0), epochs(1, 1)),
    ]
}

fn codecs() -> Vec<Case> {
    let of = |magic: u8, codec| Bat { magic, codec, ..batch(0) };
    let inflated = length() - 61;
    let limit = |bytes: usize| verified(vec![of(2, Codec::Gzip)]).args(&["--max-inflated", &bytes.to_string()]);
    // As magic 0 has it: over the frame's own magic too.
    let lz4 = |from: usize| {
        resealed(of(2, Codec::Lz4), |bytes| {
            let frame = bytes.windows(4).position(|it| it == [0x04, 0x22, 0x4d, 0x18]).unwrap();
            bytes[frame + 6] = (twox_hash::XxHash32::oneshot(0, &bytes[frame + from..frame + 6]) >> 8) as u8;
        })
    };
    let nested = |inner: Codec| {
        let inner = Bat { magic: 1, codec: inner, ..batch(0) }.bytes();
        verified(vec![of(1, Codec::Gzip)]).changed(|bytes| *bytes = wrapped(&inner))
    };
    vec![
        case(
            "unknown-codec",
            "5, against 4",
            resealed(batch(0), |bytes| bytes[22] = 5),
            verified(vec![of(2, Codec::Zstd)]),
        ),
        case(
            "inflate-failed",
            "a gzip body without its first byte, against with it",
            resealed(of(2, Codec::Gzip), |bytes| bytes[61] = 0),
            resealed(of(2, Codec::Gzip), |bytes| bytes[61] = 0x1f),
        ),
        case("inflated-too-large", "a byte more than the limit, against none", limit(inflated - 1), limit(inflated)),
        case("lz4-header-checksum", "over the frame's magic too, against without it", lz4(0), lz4(4)),
        case(
            "nested-wrapper",
            "gzip in gzip, against a plain message in gzip",
            nested(Codec::Gzip),
            nested(Codec::None),
        ),
    ]
}

/// A message of magic 1 whose value is these messages, in gzip.
fn wrapped(messages: &[u8]) -> Vec<u8> {
    let value = crate::build::compressed(Codec::Gzip, messages);
    let mut covered = vec![1, 1];
    covered.extend_from_slice(&T0.to_be_bytes());
    covered.extend_from_slice(&(-1i32).to_be_bytes());
    covered.extend_from_slice(&(value.len() as i32).to_be_bytes());
    covered.extend_from_slice(&value);
    let mut out = 0i64.to_be_bytes().to_vec();
    out.extend_from_slice(&(covered.len() as i32 + 4).to_be_bytes());
    out.extend_from_slice(&crc32fast::hash(&covered).to_be_bytes());
    out.extend_from_slice(&covered);
    out
}

fn heads() -> Vec<Case> {
    let count = |count: u8| resealed(batch(0), |bytes| bytes[60] = count);
    let latest = |time: i64| resealed(batch(0), |bytes| bytes[35..43].copy_from_slice(&time.to_be_bytes()));
    let control = |kind: u8| {
        let mut marker = Bat::marker(Ending::Commit, 0, T0, 7, 0);
        marker.records[0].key = Some(vec![0, 0, 0, kind]);
        verified(vec![marker])
    };
    vec![
        case(
            "crc-mismatch",
            "a bit of a value, against one of the leader epoch, which no CRC covers",
            three().changed(|bytes| bytes[length() - 10] ^= 1),
            three().changed(|bytes| bytes[2 * length() + 15] ^= 1),
        ),
        case("count-mismatch", "2 of 1, against 1", count(2), count(1)),
        case("timestamp-mismatch", "a millisecond more than the record's, against none", latest(T0 + 1), latest(T0)),
        case("empty-batch", "no record, against one", verified(vec![Bat::empty(0, 0, 7, 0)]), verified(vec![batch(0)])),
        case("bad-control-record", "type 9, against COMMIT", control(9), control(1)),
    ]
}
